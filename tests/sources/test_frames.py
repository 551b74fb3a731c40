"""One table on every engine, in three orders: the same counts to the bit as in NumPy."""

from __future__ import annotations

import subprocess
import sys
from decimal import Decimal

import numpy as np
import pytest

from setpoint.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, Binning
from setpoint.sources import (
    GroupBy,
    Key,
    Rest,
    RowFilter,
    TooManyLinesError,
    engines,
    is_lazy,
    source_of,
)
from setpoint.sources import source as sources_of_rows
from sources.reference import ArraySource, canonical

N = 600
ENGINES = ["duckdb-parquet", "duckdb-pandas", "polars"]
SCORES = ["score", "narrow", "whole", "decimal", "bad"]


@pytest.fixture(scope="module")
def table():
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
        # A name as the pass's own helpers have.
        "setpoint_score": rng.random(N),
    }


ORDERS = {"as it is": lambda k: k, "backwards": lambda k: k[::-1], "shuffled": None}


@pytest.fixture(scope="module", params=ENGINES)
def engine(request):
    return request.param


# Every run sees a shuffled table; the long one other orders, too.
SEEN = [pytest.param(k, marks=() if ORDERS[k] is None else pytest.mark.long) for k in ORDERS]


@pytest.fixture(scope="module", params=SEEN)
def sources(request, engine, table, tmp_path_factory):
    """A source on the engine, and the reference."""
    order = np.random.default_rng(1).permutation(N)
    if ORDERS[request.param] is not None:
        order = ORDERS[request.param](np.arange(N))
    columns = {k: v[order] for k, v in table.items()}
    frame, keep = native(engine, columns, tmp_path_factory)
    yield source_of(frame), ArraySource(table, nan_is_null=engine == "duckdb-pandas")
    del keep


def native(engine, columns, tmp_path_factory):
    pa = pytest.importorskip("pyarrow", reason="the table is built with it")
    types = {"decimal": pa.decimal128(10, 3), "number": pa.float64()}
    types |= dict.fromkeys(("bad", "bad_weight"), pa.float64())
    made = pa.table({k: pa.array(list(v), types.get(k)) for k, v in columns.items()})
    if engine == "polars":
        polars = pytest.importorskip("polars", reason="an optional engine")
        return polars.from_arrow(made).lazy(), None
    if engine == "duckdb-parquet":
        duckdb = pytest.importorskip("duckdb", reason="an optional engine")
        parquet = pytest.importorskip("pyarrow.parquet", reason="writes the file")
        path = tmp_path_factory.mktemp("frames") / "table.parquet"
        parquet.write_table(made, path, row_group_size=100)
        connection = duckdb.connect()
        return connection.read_parquet(str(path)), connection
    pytest.importorskip("pandas", reason="holds the rows")
    duckdb = pytest.importorskip("duckdb", reason="an optional engine")
    connection = duckdb.connect()
    return connection.from_df(made.to_pandas()), connection


def same(sources, ask):
    ours, reference = (ask(source) for source in sources)
    assert canonical(ours) == canonical(reference)
    return ours


LABELLED = (Key("region"), Key("label_text"))
BINNING = Binning(np.array([-2.0, -0.5, 0.0, 1e-3, 0.7, 3.0]), np.array([7, 1, 30, 3, 16]))


class TestCount:
    @pytest.mark.parametrize("score", SCORES)
    def test_bins(self, sources, score):
        by = GroupBy(LABELLED, score)
        same(sources, lambda s: s.count(by, BINNING))

    @pytest.mark.parametrize("pieces", [1, 2, 300])
    def test_few_and_many_pieces(self, sources, table, pieces):
        # The first and last piece are wide: scores beyond every edge.
        edges = np.linspace(-2.0, 2.0, pieces + 1)
        binning = Binning(edges, np.arange(pieces) % 5 + 1)
        by = GroupBy((Key("label"),), "score")
        same(sources, lambda s: s.count(by, binning))

    def test_binnings_of_the_house(self, sources, table):
        ranges = [(-1e300, -0.3), (5e-324, 1e-300), (0.25, 0.25), (0.5, 1.5)]
        for binning in (
            Binning.default(256),
            Binning.from_sample(table["score"], 1000),
            Binning.from_ranges(ranges, 100),
        ):
            same(sources, lambda s, b=binning: s.count(GroupBy((Key("label"),), "score"), b))

    @pytest.mark.parametrize("score", SCORES)
    def test_every_score(self, sources, score):
        got = same(sources, lambda s: s.count(GroupBy((Key("label_int"),), score)))
        fine = got.bin >= 0
        assert (got.low[fine] == got.high[fine]).all()
        assert not np.signbit(got.low[got.low == 0]).any()

    @pytest.mark.parametrize("q", [0, 3, 20])
    def test_weights(self, sources, q):
        by = GroupBy(LABELLED, "score", "weight", q)
        got = same(sources, lambda s: s.count(by, BINNING))
        assert got.weight.dtype == np.int64
        assert got.rounded.any()

    def test_bad_rows_have_bins_of_their_own(self, sources):
        by = GroupBy((Key("label_text"),), "bad", "bad_weight")
        for binning in (BINNING, None):
            got = same(sources, lambda s, b=binning: s.count(by, b))
            expected = {INFINITE, BAD_WEIGHT, MISSING}
            expected |= set() if sources[1].nan_is_null else {NO_NUMBER}
            assert set(got.bin[got.bin < 0]) == expected
            assert not got.weight[got.bin < 0].any()

    def test_no_score(self, sources):
        for by in (
            GroupBy(LABELLED),
            GroupBy(LABELLED, None, "bad_weight"),
            GroupBy((), None, "weight"),
            GroupBy(()),
            GroupBy((), "score"),
        ):
            same(sources, lambda s, by=by: s.count(by, BINNING))

    @pytest.mark.parametrize("name", ["label", "label_int", "number", "decimal", "region"])
    def test_keys_of_all_types(self, sources, name):
        got = same(sources, lambda s: s.count(GroupBy((Key(name), Key("label")), "score"), BINNING))
        assert all(type(v) in (int, float, bool, str, type(None)) for v in got.levels[0])

    @pytest.mark.parametrize(
        ("name", "only"),
        [
            ("region", ("south", "it's", "nowhere", 1)),
            ("region", ()),
            ("label", (True, 1, "yes")),
            ("label_int", (1, "1")),
            ("label_int", (True, 0.5, 2**70)),
            ("number", (0.1, 0, 1.0)),
            ("number", ("a",)),
            ("decimal", (0.125, 2)),
            ("narrow", (0.1, float(np.float32(0.1)), 0)),
        ],
    )
    def test_only(self, sources, name, only):
        by = GroupBy((Key(name, only), Key("label_text")), "score", "weight")
        same(sources, lambda s: s.count(by, BINNING))

    def test_many_values_that_matter(self, sources):
        # Engines limit how deep an expression is.
        only = tuple(range(1100))
        same(sources, lambda s: s.count(GroupBy((Key("whole", only),))))

    def test_parts(self, sources):
        keys = (Key("region", ("north", "south")), Key("label"), Key("number"))
        everything = RowFilter((), (), ((-np.inf, -1.0), (0.1, 0.2)))
        some = RowFilter((0,), (("north",), (Rest.REST,)), ((-0.5, 0.0), (0.3, np.inf)))
        both = RowFilter((1, 0), ((True, "south"), (False, None)), ((-1e300, 1e300),))
        raw = RowFilter((2,), ((None,), (0.1,)), ((0.0, 0.5),))
        void = RowFilter((2, 1), (("a", True), (Rest.REST, True)), ((0.0, 0.5),))
        for parts in ([everything], [some, both], [raw, void], [void], [some._replace(ranges=())]):
            for weight in (None, "bad_weight"):
                by = GroupBy(keys, "bad", weight)
                same(sources, lambda s, by=by, p=parts: s.count(by, BINNING, p))
                same(sources, lambda s, by=by, p=parts: s.count(by, None, p))
            same(sources, lambda s, p=parts: s.count(GroupBy(keys), None, p))

    def test_columns_named_like_helpers(self, sources):
        by = GroupBy((Key("setpoint_score"),), "setpoint_score", "weight")
        same(sources, lambda s: s.count(by, BINNING))

    def test_too_many_lines(self, sources, monkeypatch):
        for module in (sources_of_rows, engines):
            monkeypatch.setattr(module, "MOST_LINES", 50)
        with pytest.raises(TooManyLinesError, match=r"51 lines or more: group the column"):
            sources[0].count(GroupBy((), "score"))


class TestThresholds:
    def test_what_reaches_them(self, sources, table):
        for some in (np.sort(table["score"])[::20], np.array([-np.inf, 5e-324]), np.array([])):
            binning = Binning.at(some)
            for score, weight in (("score", None), ("bad", "bad_weight")):
                by = GroupBy((Key("region", ("north", "south")), Key("label")), score, weight)
                got = same(sources, lambda s, by=by, b=binning: s.count(by, b))
                good = got.bin >= 0
                # All scores of a bin reach the same thresholds.
                ends = (got.low[good], got.high[good])
                low, high = (np.searchsorted(some, end, side="right") for end in ends)
                assert np.array_equal(low, high)


class TestRows:
    def test_what_the_table_is(self, sources, engine):
        source, reference = sources
        assert source.rows() == N
        assert source.schema() == reference.schema()
        assert source.engine == ("Polars" if engine == "polars" else "DuckDB")

    def test_a_sample_has_as_many_of_each_label(self, sources, table):
        for label in ("label", "label_text", "label_int"):
            scores = sources[0].sample("bad", label, 100)
            assert np.isfinite(scores).all()
            positive = np.isin(scores, table["score"][table["label"]]).sum()
            assert 40 <= positive <= 60
        assert len(sources[0].sample("bad", None, 50)) == 50
        assert len(sources[0].sample("score", "region", 200)) > 100


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


@pytest.mark.parametrize("engine", ["duckdb", "polars", "dask"])
class TestNumbers:
    def test_thresholds_are_the_floats_that_they_are(self, engine):
        rng = np.random.default_rng(0)
        scores = np.concatenate([rng.random(180), rng.normal(size=180) * 1e-300, rng.random(40)])
        source = source_of(frame_of(engine, {"s": scores}))
        for some in np.sort(scores).reshape(4, 100):
            got = source.count(GroupBy((), "s"), Binning.at(some))
            reached = [got.rows[got.low >= t].sum() for t in some]
            assert reached == [(scores >= t).sum() for t in some]

    def test_sums_beyond_the_integers_of_floats(self, engine):
        w = np.array([2.0**33 + 1, 2.0**33, 1.0, 3.0] * 50)
        frame = frame_of(engine, {"w": w, "g": np.arange(200) % 2})
        got = source_of(frame).count(GroupBy((Key("g"),), None, "w", q=20))
        assert got.weight.tolist() == [50 * (2**33 + 2) << 20, 50 * (2**33 + 3) << 20]
        assert got.weight[0] > 2**53

    def test_weights_beyond_all_integers_do_not_stop_a_pass(self, engine):
        frame = frame_of(engine, {"w": np.array([1e300, 1.0])})
        assert source_of(frame).count(GroupBy((), None, "w")).most.tolist() == [1e300]

    def test_no_rows(self, engine):
        frame = frame_of(engine, {"s": np.empty(0), "g": np.empty(0, np.int64)})
        source = source_of(frame)
        for by in (GroupBy((Key("g"),), "s"), GroupBy((Key("g", (1,)),), "s", "s")):
            assert source.count(by, BINNING).n_lines == 0
            assert source.count(by).n_lines == 0
        assert len(source.sample("s", "g", 10)) == 0


def test_categories_dates_and_bytes():
    polars = pytest.importorskip("polars", reason="an optional engine")
    import datetime

    days = [datetime.date(2024, 1, 1), datetime.date(2024, 1, 2), None]
    frame = polars.LazyFrame(
        {"c": ["a", "b", None], "d": days, "b": [b"x", b"y", b"x"]},
        schema_overrides={"c": polars.Categorical},
    )
    source = source_of(frame)
    assert source.schema() == {"c": "text", "d": "other", "b": "other"}
    got = source.count(GroupBy((Key("c"), Key("d"), Key("b"))))
    assert got.levels == ([None, "a", "b"], [None, *days[:2]], [b"x", b"y"])
    got = source.count(GroupBy((Key("c", ("a",)), Key("d", (days[1], "a")), Key("b", (b"x",)))))
    assert list(zip(*(got.column(k) for k in range(3)), strict=True)) == [
        (None, None, b"x"),
        ("a", Rest.REST, b"x"),
        (Rest.REST, days[1], Rest.REST),
    ]


class TestIsLazy:
    def test_eager_and_other_things_are_not(self):
        assert not any(map(is_lazy, (None, "a.parquet", [1], {"a": [1]}, np.zeros(3), 4)))
        for name, make in (
            ("pandas", lambda m: m.DataFrame({"a": [1]})),
            ("polars", lambda m: m.DataFrame({"a": [1]})),
            ("pyarrow", lambda m: m.table({"a": [1]})),
        ):
            module = pytest.importorskip(name, reason="an optional engine")
            assert not is_lazy(make(module))
            with pytest.raises(TypeError, match="a lazy frame is wanted"):
                source_of(make(module))

    @pytest.mark.parametrize("engine", ["duckdb", "polars", "dask"])
    def test_lazy_frames_are(self, engine):
        assert is_lazy(frame_of(engine, {"a": [1.0]}))

    def test_imports_no_engine(self):
        code = (
            "import sys; import setpoint.sources.engines; "
            "from setpoint.sources import is_lazy; is_lazy([1]); "
            "print(*{'duckdb', 'polars', 'dask', 'pandas', 'pyarrow'} & set(sys.modules))"
        )
        out = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert out.stdout.strip() == ""
