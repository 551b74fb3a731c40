import math

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.exporting import RULES, SEX, decided, names_for, rows_at_edges, rules, table_of
from setpoint.rules import PerSegment, Threshold
from thinning import over


def duckdb_of(table):
    duckdb = pytest.importorskip("duckdb", reason="lazy frames of DuckDB")
    return duckdb.connect().from_arrow(table)


def dask_of(table):
    frames = pytest.importorskip("dask.dataframe", reason="lazy frames of dask")
    return frames.from_pandas(table.to_pandas(), npartitions=3)


ENGINES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas with arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "duckdb": duckdb_of,
    "dask": dask_of,
}


def decisions(frame, expression):
    """The column of decisions, None where there is none."""
    out = nw.from_native(frame).select(expression.alias("d"))
    if isinstance(out, nw.LazyFrame):
        out = out.collect()
    return [None if d is None or d != d else d for d in out["d"].to_list()]


def check(rule, engine, n_rows, seed=0):
    rows = rows_at_edges(rule, n_rows, seed)
    table, called = table_of(rule, *rows)
    if engine == "dask":  # it stores bools that may be missing as text
        kept = [all(not isinstance(v, bool) for v in column) for column in rows[1].values()]
        if not all(kept):
            return
    expression = rule.expression(names_for(rule), columns=called, hash_column="u")
    assert decisions(ENGINES[engine](pa.table(table)), expression) == decided(rule, *rows)


@pytest.mark.parametrize("engine", ENGINES)
@over("name", RULES)
def test_every_kind_decides_as_in_python(name, engine):
    check(RULES[name], engine, 60 if engine == "dask" else 2000)


# An example costs an engine a tenth of a second: few by default, all in the long run.
EXAMPLES = 12 if settings.default.max_examples <= 30 else settings.default.max_examples


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "dask"])
@settings(max_examples=EXAMPLES)
@given(rules(), st.integers(0, 5))
def test_any_rule_decides_as_in_python(engine, rule, seed):
    check(rule, engine, 40, seed)


@pytest.mark.parametrize("engine", ENGINES)
@over("classes", [("it's", "ö"), (2, 7), (0.1, 0.3), (False, True)])
def test_labels(engine, classes):
    table = pa.table({"score": [0.2, 0.5, None, math.nan], "sex": ["F", "M", "F", "x"]})
    rule = PerSegment([Threshold(0.2), Threshold(0.6)], SEX)
    found = decisions(ENGINES[engine](table), rule.expression("score", classes=classes))
    assert found == [classes[1], classes[0], None, None]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_narrow_score_is_compared_as_a_double(engine):
    scores = np.array([0.1, 0.2], np.float32)
    table = pa.table({"score": pa.array(scores)})
    t = float(scores[0])
    for threshold in (0.1, t, np.nextafter(t, 1)):
        rule = Threshold(float(threshold))
        found = decisions(ENGINES[engine](table), rule.expression("score"))
        assert found == rule.decide(scores).tolist()


def test_groups_of_every_kind_of_frame():
    rule = PerSegment([Threshold(0.2), Threshold(0.6)], SEX)
    groups = ["F", "M", "F"]
    columns = [
        pd.Series(groups),
        pd.Series(groups, dtype="category"),
        pd.Series(groups, dtype="string"),
        pl.Series(groups),
        pl.Series(groups, dtype=pl.Categorical),
        pl.Series(groups, dtype=pl.Enum(["F", "M"])),
    ]
    for column in columns:
        kind = pd.DataFrame if isinstance(column, pd.Series) else pl.DataFrame
        frame = kind({"score": [0.3, 0.3, 0.1], "sex": column})
        assert decisions(frame, rule.expression("score")) == [1, 0, 0]


def test_whole_numbers_stay_so_where_every_row_is_decided():
    frame = pd.DataFrame({"score": [0.3, 0.7], "sex": ["F", "M"], "age": [1, 1]})
    rule = PerSegment([Threshold(0.2), Threshold(0.8)], SEX)
    found = nw.from_native(frame).select(d=rule.expression("score")).to_native()
    assert found["d"].dtype == np.int64
    assert found["d"].tolist() == [1, 0]


def test_refused_as_in_sql():
    with pytest.raises(ValueError, match="`hash_column` is needed"):
        RULES["mixture"].expression("score")
    with pytest.raises(ValueError, match="3 scores"):
        RULES["argmax"].expression("score")
