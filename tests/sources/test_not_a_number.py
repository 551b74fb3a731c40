"""NaN in Parquet files, whose statistics leave it out: DuckDB then takes no row to be NaN."""

import pytest

from setpoint.counts import BAD_WEIGHT, NO_NUMBER, Binning
from setpoint.sources import GroupBy, source_of

pa = pytest.importorskip("pyarrow", reason="writes Parquet files")
pq = pytest.importorskip("pyarrow.parquet", reason="writes Parquet files")


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_rows_of_nan_are_seen(engine, tmp_path):
    module = pytest.importorskip(engine, reason="an optional engine")
    path = str(tmp_path / "t.parquet")
    columns = {"score": [0.1, 0.2, float("nan"), 0.7], "w": [1.0, float("nan"), 1.0, 1.0]}
    pq.write_table(pa.table(columns), path)
    frame = module.read_parquet(path) if engine == "duckdb" else module.scan_parquet(path)
    source = source_of(frame)
    assert sorted(source.sample("score", None, 10)) == [0.1, 0.2, 0.7]
    counts = source.count(GroupBy((), "score"), Binning.default(64))
    assert counts.rows[counts.bin == NO_NUMBER].tolist() == [1]
    weighted = source.count(GroupBy((), None, "w"))
    assert weighted.rows[weighted.bin == BAD_WEIGHT].tolist() == [1]
