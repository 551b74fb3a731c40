"""Files and databases as tables: what is opened, and what is refused before any work."""

import gc
import gzip

import pytest

from setpoint.sources import table_of

duckdb = pytest.importorskip("duckdb", reason="tables of files are counted by DuckDB")
pa = pytest.importorskip("pyarrow", reason="Parquet files are written by it")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet files are written by it")


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


def text(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def found(*args, **more):
    table = table_of(*args, **more)
    gc.collect()  # the connection is the relation's
    return dict(zip(table.columns, map(str, table.types), strict=True)), table.fetchall()


def refused(*args, **more):
    with pytest.raises(ValueError) as error:  # noqa: PT011  (the words are looked at)
        table_of(*args, **more)
    return str(error.value)


def test_parquet_files_and_patterns(tmp_path):
    for k in range(3):
        parquet(tmp_path / f"p{k}.parquet", score=[k + 0.5], y=[k])
    odd = parquet(tmp_path / "a[1].pq", y=[9], score=[9.5])
    rows = [(0.5, 0), (1.5, 1), (2.5, 2)]
    assert found(str(tmp_path / "*.parquet")) == ({"score": "DOUBLE", "y": "BIGINT"}, rows)
    # Columns are found by their names, and a file is not taken for a pattern.
    assert found([tmp_path / "p0.parquet", odd])[1] == [(0.5, 0), (9.5, 9)]


def test_text_is_typed_by_all_of_its_values(tmp_path):
    head = "whole,number,truth,zip,word,gone\n"
    one = text(tmp_path / "a.csv", head + '1,1e-300,true,01067,"x,""y""",NA\n')
    two = tmp_path / "b.csv.gz"
    two.write_bytes(gzip.compress((head + "-3,2,FALSE,1,z,\n").encode()))
    kinds, rows = found([one, two])
    assert kinds == {
        "whole": "BIGINT", "number": "DOUBLE", "truth": "BOOLEAN", "zip": "VARCHAR",
        "word": "VARCHAR", "gone": "DOUBLE",
    }  # fmt: skip
    assert rows == [(1, 1e-300, True, "01067", 'x,"y"', None), (-3, 2.0, False, "1", "z", None)]
    assert found(one, typed=["whole"])[0]["number"] == "VARCHAR"


def test_marks_of_other_countries(tmp_path):
    path = text(tmp_path / "g.csv", "\ufeffscore;y\r\n0,5;ja\r\n1e-3;nein")
    assert found(path, decimal=",")[1] == [(0.5, "ja"), (0.001, "nein")]
    assert found(path)[0]["score"] == "VARCHAR"
    tabs = text(tmp_path / "t.tsv", "a\tb\n1\t2\n")
    assert found(tabs)[1] == found(tabs, separator="\\t")[1] == [(1, 2)]


def test_table_of_a_database(tmp_path):
    path = tmp_path / "risk.duckdb"
    with duckdb.connect(str(path)) as own:
        own.execute("CREATE TABLE scores AS SELECT 0.5::DOUBLE AS score, 1 AS y")
        own.execute("CREATE SCHEMA old; CREATE VIEW old.some AS SELECT * FROM scores")
    before = path.read_bytes()
    assert found(f"{path}::scores")[1] == found(f"{path}::old.some")[1] == [(0.5, 1)]
    assert path.read_bytes() == before
    assert "no table 'score' (did you mean 'scores'?)" in refused(f"{path}::score")
    assert f"name a table in it, {path}::TABLE" in refused(path)
    assert "taken alone, found 2" in refused([f"{path}::scores", tmp_path / "a.csv"])
    assert "no such file" in refused(f"{tmp_path}/no.db::scores")
    text(tmp_path / "bad.db", "x" * 5000)
    assert "cannot be opened as a database" in refused(f"{tmp_path}/bad.db::scores")
    assert "name.duckdb::table" in refused(f"{tmp_path}/a.csv::scores")


def test_what_is_not_a_table_is_refused_by_name(tmp_path):
    good = parquet(tmp_path / "good.parquet", score=[0.5], y=[1])
    assert "allowed are .parquet, .pq, .csv" in refused(tmp_path / "x.xlsx")
    assert refused(tmp_path / "no.csv") == f"{tmp_path / 'no.csv'}: there is no such file"
    assert "no file fits this pattern" in refused(str(tmp_path / "*.csv"))
    assert f"as in '{tmp_path / '*.parquet'}'" in refused(tmp_path)
    assert "no tables are named" in refused([])
    bad = text(tmp_path / "bad.parquet", "not Parquet at all")
    assert "bad.parquet is not a Parquet file, or was cut short (" in refused([good, bad])
    text(tmp_path / "cut.parquet", good.read_bytes()[:-9])
    assert "cut.parquet is not a Parquet file" in refused(tmp_path / "cut.parquet")
    table = text(tmp_path / "a.csv", "a,b\n1,2\n")
    assert "all Parquet or all CSV" in refused([good, table])
    assert "`decimal` is for CSV" in refused(good, decimal=",")


def test_files_of_different_columns_are_refused(tmp_path):
    one = parquet(tmp_path / "1.parquet", score=[0.5], y=[1])
    assert "has a column 'w', and" in refused(
        [one, parquet(tmp_path / "2.pq", score=[0.5], y=[1], w=[1])]
    )
    other = parquet(tmp_path / "3.pq", score=[1], y=[1])
    assert f"'score' is DOUBLE in {one} and BIGINT in {other}" in refused([one, other])
    a, b = text(tmp_path / "a.csv", "a,b\n1,2\n"), text(tmp_path / "b.csv", "b,a\n1,2\n")
    assert "columns stand in another order" in refused([a, b])
    text(b, "a,c\n1,2\n")
    assert "the other has no column 'c'" in refused([a, b])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("a,b\n1,2\n1\n", "a.csv, line 3: 1 fields, where the header has 2"),
        ("a,b\n1,2\n1,2,3\n", "a.csv, line 3: 3 fields, where the header has 2"),
        ("a,a\n1,2\n", "more than one column named 'a'"),
        ("a,b\n", "column names and no rows"),
        ("", "is empty"),
        ("a,b\nK\xf6ln,1\n".encode("latin-1"), "UTF-8"),
        ("K\xf6ln,b\n1,1\n".encode("latin-1"), "is not text in UTF-8"),
    ],
)
def test_text_that_is_not_a_table(tmp_path, content, words):
    assert words in refused(text(tmp_path / "a.csv", content))
