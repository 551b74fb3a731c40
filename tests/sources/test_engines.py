"""One table on every engine, in three orders: the same counts to the bit as in NumPy."""

import datetime
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from setpoint.counts import BAD_WEIGHT, NO_NUMBER, Binning
from setpoint.sources import GroupBy, Key, Rest, RowFilter, TooManyLinesError, is_lazy, source_of
from sources.reference import ArraySource, canonical
from thinning import over

N = 600
ENGINES = [
    "duckdb-parquet",
    "polars",
    "dask",
    pytest.param("duckdb-pandas", marks=pytest.mark.long),
]
LAZY = ["duckdb", "polars", "dask"]
SCORES = ["score", "narrow", "whole", "decimal", "bad"]


def rows():
    """Scores, weights and groups of every kind that is awkward."""
    rng = np.random.default_rng(5)
    score = rng.normal(size=N)
    score[::7] = np.round(score[::7], 1)
    score[:8] = [0.0, -0.0, 5e-324, -5e-324, 1e300, -1e300, 1e-200, 1e-300]
    bad = score.astype(object)
    bad[3::50], bad[4::60], bad[5::70], bad[6::80] = None, np.nan, np.inf, -np.inf
    weight = np.round(rng.exponential(size=N), 3)
    weight[::9], weight[1::9] = 0.0, 2.5
    bad_weight = weight.astype(object)
    bad_weight[3::40], bad_weight[4::50], bad_weight[5::60] = None, np.inf, -1.0
    bad_weight[6::70], bad_weight[7::80] = np.nan, -0.0
    groups = np.array(["north", "south", "it's", None, "Zürich"], object)
    label = rng.random(N) < 0.2
    return {
        "score": score,
        "narrow": score.clip(-1e30, 1e30).astype(np.float32),
        "whole": rng.integers(-5, 2**53, N) // rng.integers(1, 2**40, N),
        "decimal": np.array([Decimal(int(k)) / 8 for k in rng.integers(-50, 50, N)], object),
        "bad": bad,
        "label": label,
        "label_text": np.where(label, "yes", "no").astype(object),
        "label_int": label.astype(np.int64),
        "region": groups[rng.integers(0, 5, N)],
        "number": np.array([1.0, -0.0, 0.1, None, np.nan], object)[rng.integers(0, 5, N)],
        "weight": weight,
        "bad_weight": bad_weight,
        "setpoint_score": rng.random(N),  # a name as the helpers of a pass have
    }


ROWS = rows()
ORDERS = {
    "shuffled": np.random.default_rng(1).permutation(N),
    "as it is": np.arange(N),
    "backwards": np.arange(N)[::-1],
}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    return request.param


@pytest.fixture(
    scope="module",
    params=[pytest.param(k, marks=pytest.mark.long if i else ()) for i, k in enumerate(ORDERS)],
)
def sources(request, engine, tmp_path_factory):
    """A source on the engine, and the reference."""
    columns = {name: values[ORDERS[request.param]] for name, values in ROWS.items()}
    frame, keep = native(engine, columns, tmp_path_factory)
    yield source_of(frame), ArraySource(ROWS, nan_is_null=engine == "duckdb-pandas")
    del keep


def native(engine, columns, tmp_path_factory):
    pa = pytest.importorskip("pyarrow", reason="the table is built with it")
    types = {"decimal": pa.decimal128(10, 3), "number": pa.float64()}
    types |= dict.fromkeys(("bad", "bad_weight"), pa.float64())
    made = pa.table({k: pa.array(list(v), types.get(k)) for k, v in columns.items()})
    if engine == "polars":
        polars = pytest.importorskip("polars", reason="an optional engine")
        return polars.from_arrow(made).lazy(), None
    if engine == "dask":
        dask = pytest.importorskip("dask.dataframe", reason="an optional engine")
        pandas = pytest.importorskip("pandas", reason="holds the pieces")
        frame = made.to_pandas(types_mapper=pandas.ArrowDtype)
        return dask.from_pandas(frame, npartitions=2, sort=False), None
    duckdb = pytest.importorskip("duckdb", reason="an optional engine")
    connection = duckdb.connect()
    if engine == "duckdb-parquet":
        parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
        path = tmp_path_factory.mktemp("engines") / "table.parquet"
        parquet.write_table(made, path, row_group_size=100)
        return connection.read_parquet(str(path)), connection
    return connection.from_df(made.to_pandas()), connection


def same(sources, *asked):
    ours, reference = (source.count(*asked) for source in sources)
    assert canonical(ours) == canonical(reference)
    assert ours.weight.dtype == np.int64


LABELLED = (Key("region"), Key("label_text"))
KEYS = (Key("region", ("north", "south")), Key("label"), Key("number"))
BY_LABEL = GroupBy((Key("label"),), "score")
BINNING = Binning(np.array([-2.0, -0.5, 0.0, 1e-3, 0.7, 3.0]), np.array([7, 1, 30, 3, 16]))
RANGES = [(-1e300, -0.3), (5e-324, 1e-300), (0.25, 0.25), (0.5, 1.5)]
ONLY = [
    ("region", ("south", "it's", "nowhere", 1)),
    ("region", ()),
    ("label", (True, 1, "yes")),
    ("label", (1,)),
    ("label_int", (1, "1")),
    ("label_int", (True, 0.5, 2**70)),
    ("number", (0.1, 0, 1.0)),
    ("number", ("a",)),
    ("decimal", (0.125, 2)),
    ("narrow", (0.1, float(np.float32(0.1)), 0)),
]
ASKED = [
    *((GroupBy(LABELLED, score), BINNING) for score in SCORES),
    # The first and last piece are wide: scores beyond every edge.
    *(
        (BY_LABEL, Binning(np.linspace(-2.0, 2.0, pieces + 1), np.arange(pieces) % 5 + 1))
        for pieces in (1, 300)
    ),
    (BY_LABEL, Binning.from_sample(ROWS["score"], 1000)),
    (BY_LABEL, Binning.from_ranges(RANGES, 100)),
    (GroupBy(LABELLED, None, "bad_weight"), BINNING),
    (GroupBy(()), BINNING),
    (GroupBy((), "score"), BINNING),
    *((GroupBy((Key(*one), Key("label_text")), "score", "weight"), BINNING) for one in ONLY),
    (GroupBy((Key("label_int"),), "score"),),
    *((GroupBy(LABELLED, "score", "weight", q), BINNING) for q in (0, 20)),
    *((GroupBy((Key("label_text"),), "bad", "bad_weight"), one) for one in (BINNING, None)),
    *(
        (GroupBy((Key(name), Key("label")), "score"), BINNING)
        for name in ("label_int", "number", "decimal")
    ),
    *(
        (GroupBy(KEYS[:2], "bad", "bad_weight"), Binning.at(np.array(some)))
        for some in (np.sort(ROWS["score"])[::20], [-np.inf, 5e-324], [])
    ),
    (GroupBy((Key("whole", tuple(range(1100))),)),),  # engines limit how deep an expression is
    (GroupBy((Key("setpoint_score"),), "setpoint_score", "weight"), BINNING),
]
EVERYTHING = RowFilter((), (), ((-np.inf, -1.0), (0.1, 0.2)))
SOME = RowFilter((0,), (("north",), (Rest.REST,)), ((-0.5, 0.0), (0.3, np.inf)))
BOTH = RowFilter((1, 0), ((True, "south"), (False, None)), ((-1e300, 1e300),))
RAW = RowFilter((2,), ((None,), (0.1,)), ((0.0, 0.5),))
NOWHERE = RowFilter((0,), (("west",),), ((0.0, 0.5),))  # a value that does not matter
VOID = RowFilter((2, 1), (("a", True), (Rest.REST, True)), ((0.0, 0.5),))


@over("asked", ASKED, every=2)
def test_the_counts_are_those_of_numpy(sources, asked):
    same(sources, *asked)


@over("parts", [
    [RAW, VOID], [EVERYTHING], [BOTH, SOME._replace(ranges=()), EVERYTHING], [SOME, BOTH],
    [NOWHERE],
], every=2)  # fmt: skip
def test_parts_of_the_rows(sources, parts):
    for binning in (BINNING, None):
        same(sources, GroupBy(KEYS, "bad", "bad_weight"), binning, parts)
    same(sources, GroupBy(KEYS), None, parts)


def test_too_many_lines(sources, monkeypatch):
    for module in ("source", "engines"):
        monkeypatch.setattr(f"setpoint.sources.{module}.MOST_LINES", 50)
    with pytest.raises(TooManyLinesError, match="51 lines or more: group the column"):
        sources[0].count(GroupBy((), "score"))


def test_what_the_table_is(sources, engine):
    source, reference = sources
    assert source.rows() == (None if engine == "dask" else N)
    assert source.schema() == reference.schema()
    assert source.engine == {"polars": "Polars", "dask": "dask"}.get(engine, "DuckDB")


def test_a_sample_has_as_many_of_each_label(sources):
    source, _ = sources
    for label in ("label", "label_text", "label_int"):
        scores = source.sample("bad", label, 100)
        assert np.isfinite(scores).all()
        assert 40 <= np.isin(scores, ROWS["score"][ROWS["label"]]).sum() <= 60
    assert len(source.sample("bad", None, 50)) == 50
    # More than there are of a label: all of them, and more of the others.
    assert len(source.sample("score", "region", 200)) > 100


def frame_of(engine, columns):
    pa = pytest.importorskip("pyarrow", reason="the table is built with it")
    if engine == "polars":
        return pytest.importorskip("polars", reason="an optional engine").LazyFrame(columns)
    if engine == "dask":
        dask = pytest.importorskip("dask.dataframe", reason="an optional engine")
        pandas = pytest.importorskip("pandas", reason="an optional engine")
        return dask.from_pandas(pandas.DataFrame(columns), npartitions=2)
    duckdb = pytest.importorskip("duckdb", reason="an optional engine")
    return duckdb.connect().from_arrow(pa.table(columns))


@pytest.mark.parametrize("engine", LAZY)
def test_floats_and_integers_of_any_size(engine):
    rng = np.random.default_rng(0)
    scores = np.concatenate([rng.random(180), rng.normal(size=180) * 1e-300, rng.random(40)])
    source = source_of(frame_of(engine, {"s": scores}))
    for some in np.sort(scores).reshape(4, 100):
        found = source.count(GroupBy((), "s"), Binning.at(some))
        reached = [found.rows[found.low >= t].sum() for t in some]
        assert reached == [(scores >= t).sum() for t in some]
    # Sums beyond the integers of floats, and weights beyond all integers.
    w = np.array([2.0**33 + 1, 2.0**33, 1.0, 3.0] * 50)
    frame = frame_of(engine, {"w": w, "g": np.arange(200) % 2})
    found = source_of(frame).count(GroupBy((Key("g"),), None, "w", q=20))
    assert found.weight.tolist() == [50 * (2**33 + 2) << 20, 50 * (2**33 + 3) << 20]
    assert found.weight[0] > 2**53
    frame = frame_of(engine, {"w": np.array([1e300, 1.0])})
    found = source_of(frame).count(GroupBy((), None, "w", q=20))
    assert (found.weight.tolist(), found.most.tolist()) == ([2**62 + 2**20], [1e300])
    # Halves are rounded upwards, and said to be rounded.
    frame = frame_of(engine, {"s": np.arange(4.0), "w": np.array([0.5, 1.5, 2.5, 2.0])})
    found = source_of(frame).count(GroupBy((), "s", "w", 0))
    assert (found.weight.tolist(), found.squares.tolist()) == ([1, 2, 3, 2], [0, 2, 6, 4])
    assert found.rounded.tolist() == [True, True, True, False]


@pytest.mark.parametrize("engine", LAZY)
def test_no_rows(engine):
    source = source_of(frame_of(engine, {"s": np.empty(0), "g": np.empty(0, np.int64)}))
    for by in (GroupBy((Key("g"),), "s"), GroupBy((Key("g", (1,)),), "s", "s")):
        assert source.count(by, BINNING).n_lines == 0
        assert source.count(by).n_lines == 0
    assert len(source.sample("s", "g", 10)) == 0


@pytest.mark.parametrize("engine", ["duckdb", "polars"])
def test_nan_that_the_statistics_of_a_parquet_file_leave_out(engine, tmp_path):
    """DuckDB takes no row to be NaN by them."""
    module = pytest.importorskip(engine, reason="an optional engine")
    pa, pq = (pytest.importorskip(m, reason="writes it") for m in ("pyarrow", "pyarrow.parquet"))
    path = str(tmp_path / "t.parquet")
    columns = {"score": [0.1, 0.2, float("nan"), 0.7], "w": [1.0, float("nan"), 1.0, 1.0]}
    pq.write_table(pa.table(columns), path)
    source = source_of((module.read_parquet if engine == "duckdb" else module.scan_parquet)(path))
    assert sorted(source.sample("score", None, 10)) == [0.1, 0.2, 0.7]
    counts = source.count(GroupBy((), "score"), Binning.default(64))
    assert counts.rows[counts.bin == NO_NUMBER].tolist() == [1]
    weighted = source.count(GroupBy((), None, "w"))
    assert weighted.rows[weighted.bin == BAD_WEIGHT].tolist() == [1]


def test_categories_dates_and_bytes():
    polars = pytest.importorskip("polars", reason="an optional engine")
    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), None]
    frame = polars.LazyFrame(
        {"c": ["a", "b", None], "d": days, "b": [b"x", b"y", b"x"]},
        schema_overrides={"c": polars.Categorical},
    )
    source = source_of(frame)
    assert source.schema() == {"c": "text", "d": "other", "b": "other"}
    found = source.count(GroupBy((Key("c"), Key("d"), Key("b"))))
    assert found.levels == ([None, "a", "b"], [None, *days[:2]], [b"x", b"y"])
    found = source.count(GroupBy((Key("c", ("a",)), Key("d", (days[1], "a")), Key("b", (b"x",)))))
    assert list(zip(*(found.column(k) for k in range(3)), strict=True)) == [
        (None, None, b"x"),
        ("a", Rest.REST, b"x"),
        (Rest.REST, days[1], Rest.REST),
    ]


def test_what_is_lazy():
    assert all(is_lazy(frame_of(engine, {"a": [1.0]})) for engine in LAZY)
    assert not any(map(is_lazy, (None, "a.parquet", [1], {"a": [1]}, np.zeros(3), 4)))
    for name, make in (
        ("pandas", lambda m: m.DataFrame({"a": [1]})),
        ("polars", lambda m: m.DataFrame({"a": [1]})),
        ("pyarrow", lambda m: m.table({"a": [1]})),
    ):
        eager = make(pytest.importorskip(name, reason="an optional engine"))
        assert not is_lazy(eager)
        with pytest.raises(TypeError, match="a lazy frame is wanted"):
            source_of(eager)


def test_no_engine_is_imported_before_it_is_used():
    code = (
        "import sys; import setpoint.sources.engines; "
        "from setpoint.sources import is_lazy; is_lazy([1]); "
        "engines = {'dask', 'distributed', 'duckdb', 'polars', 'pandas', 'pyarrow', 'numba'}; "
        "print(*engines & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
