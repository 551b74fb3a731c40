"""A rule written as SQL, as Python or as an expression of data frames decides as `decide` does."""

import math
import sqlite3

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules.exporting import (
    GAIN,
    PLACES,
    RULES,
    SEX,
    TWO,
    decided,
    names_for,
    rows_at_edges,
    rules,
    table_of,
)
from setpoint.goals import Other
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from thinning import over

INF = float("inf")
DIALECTS = (
    "ansi", "bigquery", "clickhouse", "databricks", "duckdb", "mysql", "postgres", "redshift",
    "snowflake", "spark", "sqlite", "trino", "tsql",
)  # fmt: skip
CLASSES = ("it's", 'a "b"; DROP TABLE t; --\\\'', "ö\n", "[d]`")


# ---------------------------------------------------------------------- what runs them
def duckdb():
    return pytest.importorskip("duckdb", reason="runs SQL and lazy frames of DuckDB").connect()


def in_duckdb(sql, table):
    with duckdb() as con:
        con.register("t", pa.table(table))
        return [row[0] for row in con.sql(f"SELECT {sql} AS d FROM t").fetchall()]


def in_sqlite(sql, table):
    con = sqlite3.connect(":memory:")
    names = ", ".join('"' + name.replace('"', '""') + '"' for name in table)
    con.execute(f"CREATE TABLE t ({names})")
    places = ", ".join("?" * len(table))
    con.executemany(f"INSERT INTO t VALUES ({places})", zip(*table.values(), strict=True))
    out = [row[0] for row in con.execute(f"SELECT {sql} AS d FROM t ORDER BY rowid")]
    con.close()
    return out


def dask_of(table):
    frames = pytest.importorskip("dask.dataframe", reason="lazy frames of dask")
    return frames.from_pandas(table.to_pandas(), npartitions=3)


FRAMES = {
    "pandas": lambda table: table.to_pandas(),
    "pandas with arrow": lambda table: table.to_pandas(types_mapper=pd.ArrowDtype),
    "polars": pl.from_arrow,
    "polars, lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "frames of duckdb": lambda table: duckdb().from_arrow(table),
    "dask": dask_of,
}
SQL = {"duckdb": in_duckdb, "sqlite": in_sqlite}


def by_expression(frame, expression):
    """The column of decisions, None where there is none."""
    out = nw.from_native(frame).select(expression.alias("d"))
    if isinstance(out, nw.LazyFrame):
        out = out.collect()
    return [None if d is None or d != d else d for d in out["d"].to_list()]


def function_of(source, name="decide"):
    """The function, in a world that has nothing but float."""
    names = {"__builtins__": {"float": float}}
    exec(compile(source, "exported", "exec"), names)  # noqa: S102  (our own source)
    assert set(names) == {"__builtins__", name}
    return names[name]


def by_python(rule, scores, columns, u, classes):
    decide = function_of(rule.to_python(classes=classes))
    rows = list(zip(*scores, strict=True)) if rule.score_columns is not None else scores[0]
    if rule.value_columns:
        n = rule.score_columns - len(rule.value_columns)
        rows = [row[:n] for row in rows]
        columns = columns | dict(zip(rule.value_columns, scores[n:], strict=True))
    return [
        decide(row, columns={name: v[i] for name, v in columns.items()}, u=u[i])
        for i, row in enumerate(rows)
    ]


def check(rule, engine, n_rows, seed=0, classes=None):
    rows = rows_at_edges(rule, n_rows, seed)
    wanted = [None if j is None else (classes or range(99))[j] for j in decided(rule, *rows)]
    table, called = table_of(rule, *rows)
    how = {"columns": called, "hash_column": "u", "classes": classes}
    if engine == "python":
        found = by_python(rule, *rows, classes)
    elif engine in SQL:
        found = SQL[engine](rule.to_sql(names_for(rule), dialect=engine, **how), table)
    elif engine == "dask" and any(isinstance(v, bool) for c in rows[1].values() for v in c):
        return  # it stores bools that may be missing as text
    else:
        found = by_expression(
            FRAMES[engine](pa.table(table)), rule.expression(names_for(rule), **how)
        )
    assert found == wanted


QUICK = ["python", "sqlite", "polars"]
SLOW = ["duckdb", *(name for name in FRAMES if name != "polars")]
# An example costs a frame a tenth of a second: few by default, all in the long run.
FEW = 12 if settings.default.max_examples <= 30 else settings.default.max_examples


@pytest.mark.parametrize("engine", ["sqlite", "pandas", "polars"])
def test_one_name_is_the_probability_of_the_second_class(engine):
    rng = np.random.default_rng(0)
    p, amount = rng.random(50).round(3), rng.exponential(size=50).round(2)
    wanted = GAIN.decide(np.stack([1 - p, p, amount], axis=1)).tolist()
    table = {"p": p.tolist(), "amount": amount.tolist()}
    if engine in SQL:
        found = SQL[engine](GAIN.to_sql("p", dialect=engine), table)
    else:
        found = by_expression(FRAMES[engine](pa.table(table)), GAIN.expression("p"))
    assert found == wanted


@pytest.mark.parametrize("engine", QUICK)
@over("name", RULES)
def test_every_kind_decides_as_in_python(name, engine):
    check(RULES[name], engine, 200)


@over("engine", SLOW)
@over("name", RULES, every=12)
def test_every_kind_decides_in_slower_engines_as_in_python(name, engine):
    check(RULES[name], engine, 60)


@pytest.mark.parametrize("engine", [
    *QUICK, *(pytest.param(e, marks=pytest.mark.long) for e in SLOW if e != "dask"),
])  # fmt: skip
@settings(max_examples=FEW)
@given(rules(), st.integers(0, 5))
def test_any_rule_decides_as_in_python(engine, rule, seed):
    check(rule, engine, 40, seed)


@over("engine", [*QUICK, "duckdb", "pandas", "dask"])
@over("name, classes", [
    ("by two columns", CLASSES[:2]), ("by two columns", ("it's", '""" + "\\')),
    ("by two columns", (0.1, 2.5e-7)), ("by two columns", (False, True)),
    ("by two columns", (2, 7)), ("by segment, by top", CLASSES[:3]),
    ("by segment, by top", (0.1, 2.5e-7, 3.0)),
])  # fmt: skip
def test_labels(engine, name, classes):
    check(RULES[name], engine, 40, classes=classes)


@over("engine", ["duckdb", *FRAMES])
def test_a_narrow_score_is_compared_as_a_double(engine):
    scores = np.array([0.1, 0.2], np.float32)
    table = {"score": pa.array(scores)}
    t = float(scores[0])
    for threshold in (0.1, t, float(np.nextafter(t, 1))):
        rule = Threshold(threshold)
        if engine == "duckdb":
            found = in_duckdb(rule.to_sql("score", dialect="duckdb"), table)
        else:
            found = by_expression(FRAMES[engine](pa.table(table)), rule.expression("score"))
        assert found == rule.decide(scores).tolist()


# ---------------------------------------------------------------------- frames
@over("kind, column", [
    (pd.DataFrame, pd.Series), (pd.DataFrame, lambda v: pd.Series(v, dtype="category")),
    (pd.DataFrame, lambda v: pd.Series(v, dtype="string")), (pl.DataFrame, pl.Series),
    (pl.DataFrame, lambda v: pl.Series(v, dtype=pl.Categorical)),
    (pl.DataFrame, lambda v: pl.Series(v, dtype=pl.Enum(["F", "M"]))),
])  # fmt: skip
def test_groups_of_every_kind_of_frame(kind, column):
    rule = PerSegment([Threshold(0.2), Threshold(0.6)], SEX)
    frame = kind({"score": [0.3, 0.3, 0.1], "sex": column(["F", "M", "F"])})
    found = nw.from_native(frame).select(d=rule.expression("score"))["d"]
    assert found.to_list() == [1, 0, 0]
    assert found.dtype.is_integer()  # where every row is decided


def test_numbers_of_other_libraries():
    narrow = np.float32(0.1)
    for threshold in (0.1, float(narrow)):
        decide = function_of(Threshold(threshold).to_python())
        assert decide(narrow) == Threshold(threshold).decide(np.array([narrow]))[0]
        assert decide(1) == 1
        assert decide(math.nan) is decide(None) is None
    decide = function_of(PerSegment([Threshold(0.1)] * 3, PLACES).to_python())
    assert decide(0.5, columns=pd.Series({"age": np.int64(1), "place": "it's"})) == 1


def test_what_a_function_needs_has_to_be_given():
    for rule, scores, error, message in (
        (TWO, 0.5, TypeError, "'u'"), (RULES["by segment"], 0.5, TypeError, "'columns'"),
        (RULES["argmax"], [0.5, 0.5], ValueError, "unpack"),
    ):  # fmt: skip
        with pytest.raises(error, match=message):
            function_of(rule.to_python())(scores)
    assert function_of(Threshold(0.5).to_python("is_fraud"), "is_fraud")(0.5) == 1
    for name in ("a b", "def", "float", "", "x(): pass\ndef y"):
        with pytest.raises(ValueError, match="a function of Python cannot be called"):
            Threshold(0.5).to_python(name)


# ---------------------------------------------------------------------- SQL
@over("engine", SQL)
def test_names_that_try_to_end_the_statement(engine):
    score, group = 'a "b"; DROP TABLE t; --', "c]`' /*"
    rule = PerSegment([Threshold(0.3), Threshold(0.6)], SEX)
    table = {score: [0.5, 0.5, 0.5], group: ["F", "M", "x"]}
    sql = rule.to_sql(score, dialect=engine, columns={"sex": group}, classes=("n", "y"))
    assert SQL[engine](sql, table) == ["y", "n", None]


@over("engine", SQL)
def test_a_number_is_read_as_the_same_float(engine):
    bits = np.random.default_rng(0).integers(0, 2**64, size=300, dtype=np.uint64)
    known = bits.view(np.float64)  # subnormal ones too
    known = [*known[np.isfinite(known)], 5e-324, 0.1, 1e300, 2.0**53, 2.0**62, -3.0]
    keys = [(("k", i),) for i in range(len(known))]
    sql = PerSegment([Threshold(f) for f in known], keys).to_sql("s", dialect=engine)
    scores = np.concatenate([known, np.nextafter(known, -INF)])
    found = SQL[engine](sql, {"s": scores.tolist(), "k": [*range(len(known))] * 2})
    assert found == [1] * len(known) + [0] * len(known)


def test_groups_of_narrow_numbers_decimals_and_whole_numbers():
    t = float(np.float32(0.1))
    narrow = pa.array([0.1, 0.2], pa.float32())
    rule = PerSegment([Threshold(0.0)] * 2, [(("g", 0.5),), (("g", t),)])
    table = {"score": narrow, "g": narrow}
    assert in_duckdb(rule.to_sql("score", dialect="duckdb"), table) == [1, None]
    decimals = pa.array([1, 2, None]).cast(pa.decimal128(22, 3))
    table = {"score": decimals, "g": pa.array([1, 2, 1], pa.int8())}
    rule = PerSegment([Threshold(1.0), Threshold(INF)], [(("g", 1.0),), (("g", Other((1,))),)])
    assert in_duckdb(rule.to_sql("score", dialect="duckdb"), table) == [1, 0, None]


@over("dialect, name", [(d, name) for d in DIALECTS for name in RULES], every=11)
def test_parsers_read_every_dialect(dialect, name):
    sqlglot = pytest.importorskip("sqlglot", reason="parses SQL")
    rule = RULES[name]
    classes = CLASSES[: rule.n_classes]
    looked_at = [column for column, _ in (rule.segment_keys or ((),))[0]]
    called = {column: f"the {column}" for column in [*looked_at, *rule.value_columns]}
    how = {"columns": called, "classes": classes, "hash_column": "u"}
    sql = rule.to_sql(names_for(rule), dialect=dialect, **how)
    read = None if dialect == "ansi" else dialect
    tree = sqlglot.parse_one(f"SELECT {sql} AS d FROM t", dialect=read)
    names = {column.name for column in tree.find_all(sqlglot.exp.Column)}
    wanted = {names_for(rule)} if rule.score_columns is None else set(names_for(rule))
    assert names == wanted | set(called.values()) | ({"u"} if rule.randomized else set())
    literals = {text.this for text in tree.find_all(sqlglot.exp.Literal) if text.is_string}
    literals |= {text.this for text in tree.find_all(sqlglot.exp.National)}
    assert literals & set(classes) or rule == RULES["nobody"]
    assert not {text for text in literals if "'" in text} - {"it's", *classes}


def test_what_is_written():
    assert Threshold(-INF).to_sql("s", dialect="postgres") == (
        "CASE\n"
        '  WHEN CAST("s" AS DOUBLE PRECISION) IS NULL OR CAST("s" AS DOUBLE PRECISION) = '
        "CAST('NaN' AS DOUBLE PRECISION) THEN NULL\n"
        "  ELSE 1\n"
        "END"
    )
    assert Threshold(0.5).to_sql("s", dialect="tsql", classes=("n", "Ö")) == (
        "CASE\n"
        "  WHEN CAST([s] AS FLOAT) IS NULL THEN NULL\n"
        "  WHEN CAST([s] AS FLOAT) >= CAST('0.5' AS FLOAT) THEN N'Ö'\n"
        "  ELSE 'n'\n"
        "END"
    )
    assert "h" not in Threshold(0.5).to_sql("s", hash_column="h").replace("THEN", "")
    everything = PerSegment([Argmax.weighted([1, 2])], [(("x", Other(())),)])
    assert '"x"' not in everything.to_sql(["a", "b"])


def test_columns_of_values_are_called_as_they_are():
    sql = RULES["value"].to_sql(["p", "q"], dialect="duckdb", classes=("no", "yes"))
    table = {"p": [0.5, 0.2, 0.2], "q": [0.5, 0.8, 0.8], "amount": [0.0, 7.0, None]}
    assert in_duckdb(sql, table) == ["no", "yes", None]


class Own(Threshold):
    """A rule that the library does not know."""


HALF, ONE, OF_X = Threshold(0.5), Argmax(np.eye(2)), RULES["value"]


@over("rule, score, given, error, message", [
    (TWO, "s", {}, ValueError, r"`hash_column` is needed: .* uniform number in \[0, 1\)"),
    (TWO, "s", {"hash_column": 3}, TypeError, "`hash_column`: a column is named by text, got 3"),
    (HALF, "s", {"dialect": "oracle"}, ValueError, "`dialect` is one of 'ansi', .*'oracle'"),
    (HALF, ["s"], {}, TypeError, r"one score, so name one column, got \['s'\]"),
    (HALF, "", {}, TypeError, "`score`: a column is named by text, got ''"),
    (HALF, "a\0", {}, ValueError, "holds '.x00', which this dialect"),
    (HALF, "`", {"dialect": "bigquery"}, ValueError, "cannot write"),
    (HALF, "s", {"columns": {"sex": "s"}}, ValueError, "no column beside the score"),
    (RULES["argmax"], "s", {}, ValueError, "3 scores, so name as many columns, .* got 's'"),
    (OF_X, ["a", "b", "c"], {}, ValueError,
     r"2 scores, .* got \['a', 'b', 'c'\]; the columns \['amount'\] are named by `columns`"),
    (OF_X, ["a", "b"], {"columns": {"fee": "f"}}, ValueError, "amount"),
    (RULES["by segment"], "s", {"columns": {"age": "a"}}, ValueError, r"'age'; it looks at \['s"),
    (RULES["by segment"], "s", {"columns": {"sex": 1}}, TypeError, "`columns`: a column is named"),
    (RULES["by segment"], "s", {"columns": ["sex"]}, TypeError, "a dict .* got a list"),
    (HALF, "s", {"classes": ("a",)}, ValueError, r"2 classes, got \('a',\)"),
    (HALF, "s", {"classes": ("a", 1)}, ValueError, "`classes` are of two kinds, text such"),
    (HALF, "s", {"classes": ("a", None)}, TypeError, "classes: a label must be"),
    (HALF, "s", {"classes": ("a", "\ud800")}, ValueError, "cannot write"),
    (PerSegment([HALF] * 2, [(("x", "1"),), (("x", 2),)]), "s", {}, ValueError,
     "the values of 'x' that the rule tells apart are of two kinds"),
    (Mixture([(1.0, Own(0.5))]), "s", {}, TypeError, "no Own"),
])  # fmt: skip
def test_refused(rule, score, given, error, message):
    with pytest.raises(error, match=message):
        rule.to_sql(score, **given)


def test_frames_and_functions_ask_for_the_same():
    for rule, message in ((TWO, "`hash_column` is needed"), (RULES["argmax"], "3 scores")):
        with pytest.raises(ValueError, match=message):
            rule.expression("s")
    with pytest.raises(ValueError, match="2 classes, got"):
        HALF.to_python(classes=("a", "b", "c"))
