import math
import sqlite3
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rules.exporting import RULES, SEX, TWO, decided, names_for, rows_at_edges, rules, table_of
from setpoint.goals import Other
from setpoint.rules import Argmax, Mixture, PerSegment, Threshold
from setpoint.rules.sql import DIALECTS
from thinning import over

INF = float("inf")
CLASSES = ("it's", 'a "b"; DROP TABLE t; --\\\'', "ö\n", "[d]`")


def in_duckdb(sql, table):
    duckdb = pytest.importorskip("duckdb", reason="runs SQL in DuckDB")
    with duckdb.connect() as con:
        con.register("t", pa.table(table))
        return [row[0] for row in con.sql(f"SELECT {sql} AS d FROM t").fetchall()]


def in_sqlite(sql, table):
    con = sqlite3.connect(":memory:")
    names = ", ".join(DIALECTS["sqlite"].name(name) for name in table)
    con.execute(f"CREATE TABLE t ({names})")
    places = ", ".join("?" * len(table))
    con.executemany(f"INSERT INTO t VALUES ({places})", zip(*table.values(), strict=True))
    out = [row[0] for row in con.execute(f"SELECT {sql} AS d FROM t ORDER BY rowid")]
    con.close()
    return out


ENGINES = {"duckdb": in_duckdb, "sqlite": in_sqlite}


def check(rule, engine, n_rows, seed=0, classes=None):
    rows = rows_at_edges(rule, n_rows, seed)
    table, called = table_of(rule, *rows)
    sql = rule.to_sql(
        names_for(rule), dialect=engine, columns=called, classes=classes, hash_column="u"
    )
    wanted = decided(rule, *rows)
    if classes is not None:
        wanted = [None if j is None else classes[j] for j in wanted]
    assert ENGINES[engine](sql, table) == wanted


@pytest.mark.parametrize("engine", ENGINES)
@over("name", RULES)
def test_every_kind_decides_as_in_python(name, engine):
    check(RULES[name], engine, 3000)


@pytest.mark.parametrize("engine", ENGINES)
@given(rules(), st.integers(0, 5))
def test_any_rule_decides_as_in_python(engine, rule, seed):
    check(rule, engine, 60, seed)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["by two columns", "by segment, by top"])
def test_labels(name, engine):
    rule = RULES[name]
    check(rule, engine, 300, classes=CLASSES[: rule.n_classes])
    check(rule, engine, 300, classes=(0.1, 2.5e-7, 3.0)[: rule.n_classes])
    if rule.n_classes == 2:
        check(rule, engine, 300, classes=(False, True))


@pytest.mark.parametrize("engine", ENGINES)
def test_names_that_try_to_end_the_statement(engine):
    score, group = 'a "b"; DROP TABLE t; --', "c]`' /*"
    rule = PerSegment([Threshold(0.3), Threshold(0.6)], SEX)
    table = {score: [0.5, 0.5, 0.5], group: ["F", "M", "x"]}
    sql = rule.to_sql(score, dialect=engine, columns={"sex": group}, classes=("n", "y"))
    assert ENGINES[engine](sql, table) == ["y", "n", None]


def floats(n):
    """Floats of all sizes, subnormal ones too."""
    bits = np.random.default_rng(0).integers(0, 2**64, size=n, dtype=np.uint64).tolist()
    found = [struct.unpack("d", struct.pack("Q", b))[0] for b in bits]
    return [f for f in found if math.isfinite(f)] + [5e-324, 0.1, 1e300, 2.0**53, 2.0**62, -3.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_is_read_as_the_same_float(engine):
    known = floats(1500)
    texts = ", ".join(f"({DIALECTS[engine].number(f)})" for f in known)
    if engine == "sqlite":
        con = sqlite3.connect(":memory:")
        assert [row[0] for row in con.execute(f"VALUES {texts}")] == known
        con.close()
    else:
        duckdb = pytest.importorskip("duckdb", reason="runs SQL in DuckDB")
        with duckdb.connect() as con:
            assert [row[0] for row in con.sql(f"VALUES {texts}").fetchall()] == known


def test_a_narrow_score_is_compared_as_a_double():
    t = float(np.float32(0.1))
    table = {"score": pa.array([0.1, 0.2], pa.float32())}
    for threshold in (0.1, t, np.nextafter(t, 1)):
        wanted = Threshold(threshold).decide(np.array([0.1, 0.2], np.float32)).tolist()
        assert in_duckdb(Threshold(threshold).to_sql("score", dialect="duckdb"), table) == wanted
    narrow = PerSegment([Threshold(0.0)] * 2, [(("g", 0.5),), (("g", t),)])
    table["g"] = table["score"]
    assert in_duckdb(narrow.to_sql("score", dialect="duckdb"), table) == [1, None]


def test_decimals_and_whole_numbers():
    table = {
        "score": pa.array([1, 2, None]).cast(pa.decimal128(22, 3)),
        "g": pa.array([1, 2, 1], pa.int8()),
    }
    rule = PerSegment([Threshold(1.0), Threshold(INF)], [(("g", 1.0),), (("g", Other((1,))),)])
    assert in_duckdb(rule.to_sql("score", dialect="duckdb"), table) == [1, 0, None]


@pytest.mark.parametrize("dialect", DIALECTS)
@over("name", RULES)
def test_parsers_read_every_dialect(name, dialect):
    sqlglot = pytest.importorskip("sqlglot", reason="parses SQL")
    rule = RULES[name]
    classes = CLASSES[: rule.n_classes]
    looked_at = [column for column, _ in (rule.segment_keys or ((),))[0]]
    called = {column: f"the {column}" for column in [*looked_at, *rule.value_columns]}
    sql = rule.to_sql(
        names_for(rule), dialect=dialect, columns=called, classes=classes, hash_column="u"
    )
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
    mixed = TWO.to_sql("s", hash_column="h")
    assert mixed.count("CASE") == 2
    assert "CAST(\"h\" AS DOUBLE PRECISION) < CAST('0.7' AS DOUBLE PRECISION) THEN 1" in mixed


def test_a_draw_is_ignored_where_nothing_is_drawn():
    assert "h" not in Threshold(0.5).to_sql("s", hash_column="h").replace("THEN", "")


@over(
    ("rule", "given", "error", "message"),
    [
        (TWO, {}, ValueError, r"`hash_column` is needed: .* uniform number in \[0, 1\)"),
        (Threshold(0.5, 0.1), {}, ValueError, "`hash_column` is needed"),
        (TWO, {"hash_column": 3}, TypeError, "`hash_column`: a column is named by text, got 3"),
        (
            Threshold(0.5),
            {"dialect": "oracle"},
            ValueError,
            "`dialect` is one of 'ansi', .*'oracle'",
        ),
        (
            Threshold(0.5),
            {"score": ["s"]},
            TypeError,
            r"one score, so name one column, got \['s'\]",
        ),
        (Threshold(0.5), {"score": ""}, TypeError, "`score`: a column is named by text, got ''"),
        (Threshold(0.5), {"score": "a\0"}, ValueError, "holds '.x00', which this dialect"),
        (Threshold(0.5), {"score": "`", "dialect": "bigquery"}, ValueError, "cannot write"),
        (Threshold(0.5), {"columns": {"sex": "s"}}, ValueError, "no column beside the score"),
        (RULES["argmax"], {}, ValueError, "3 scores, so name as many columns, .* got 's'"),
        (RULES["argmax"], {"score": ["a", "b"]}, ValueError, "3 scores"),
        (RULES["one score"], {}, ValueError, "1 score, so"),
        (
            RULES["value"],
            {"score": ["a", "b", "c"]},
            ValueError,
            r"2 scores, .* got \['a', 'b', 'c'\]; the columns \['amount'\] are named by `columns`",
        ),
        (RULES["value"], {"score": ["a", "b"], "columns": {"fee": "f"}}, ValueError, "amount"),
        (
            RULES["by segment"],
            {"columns": {"age": "a"}},
            ValueError,
            r"'age'; it looks at \['sex'\]",
        ),
        (RULES["by segment"], {"columns": {"sex": 1}}, TypeError, "`columns`: a column is named"),
        (RULES["by segment"], {"columns": ["sex"]}, TypeError, "a dict .* got a list"),
        (Threshold(0.5), {"classes": ("a",)}, ValueError, r"2 classes, got \('a',\)"),
        (Threshold(0.5), {"classes": "ab"}, ValueError, "2 classes, got 'ab'"),
        (
            Threshold(0.5),
            {"classes": ("a", 1)},
            ValueError,
            "`classes` are of two kinds, text such",
        ),
        (Threshold(0.5), {"classes": ("a", None)}, TypeError, "classes: a label must be"),
        (Threshold(0.5), {"classes": ("a", "\ud800")}, ValueError, "cannot write"),
        (
            PerSegment([Threshold(0.5)] * 2, [(("x", "1"),), (("x", 2),)]),
            {},
            ValueError,
            "the values of 'x' that the rule tells apart are of two kinds",
        ),
    ],
)
def test_refused(rule, given, error, message):
    with pytest.raises(error, match=message):
        rule.to_sql(given.pop("score", "s"), **given)


def test_a_rule_of_ones_own_is_refused():
    class Own(Threshold):
        pass

    with pytest.raises(TypeError, match="no Own"):
        Mixture([(1.0, Own(0.5))]).to_sql("s")


def test_columns_of_values_are_called_as_they_are():
    sql = RULES["value"].to_sql(["p", "q"], dialect="duckdb", classes=("no", "yes"))
    table = {"p": [0.5, 0.2, 0.2], "q": [0.5, 0.8, 0.8], "amount": [0.0, 7.0, None]}
    assert in_duckdb(sql, table) == ["no", "yes", None]


def test_everything_is_other_than_nothing():
    rule = PerSegment([Argmax.weighted([1, 2])], [(("x", Other(())),)])
    assert '"x"' not in rule.to_sql(["a", "b"])
