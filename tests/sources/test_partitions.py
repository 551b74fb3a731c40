"""Rows in pieces: whatever the pieces, who counts them and how often, the counts are the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from decimal import Decimal

import numpy as np
import pytest

from setpoint.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, BinCounts, Binning
from setpoint.sources import GroupBy, Key, Rest, RowFilter, TooManyLinesError
from setpoint.sources import source as kernel
from setpoint.sources.engines import Partitions, _answer
from setpoint.sources.source import settled
from sources.reference import count_rows

pd = pytest.importorskip("pandas", reason="pieces on dask are pandas frames")
pa = pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet is read by pyarrow")
dask = pytest.importorskip("dask", reason="of the extra scale")
dd = pytest.importorskip("dask.dataframe", reason="of the extra scale")
distributed = pytest.importorskip("distributed", reason="of the extra scale")

# dask 2026.8 reads Parquet by what pandas 3.1 deprecates.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:The inplace keyword in DataFrame\.reset_index is deprecated"
)

BY = GroupBy((Key("label"), Key("region")), "score", "w")
BINNING = Binning.default(256)


def count_piece(frame, by, binning=None, parts=()):
    """Count the rows of one pandas frame, as a worker does."""
    asked = by, binning, tuple(parts), by.score is not None and binning is None
    return _answer(frame, list(frame.columns), asked)


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "score": rng.beta(1, 3, n),
        "label": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        "region": rng.integers(1, 5, n),
        "w": rng.choice([0.0, 0.1, 1.0, 2.5], n),
    })  # fmt: skip


def reference(frame, by=BY, binning=BINNING):
    frame = frame[frame[by.weight] > 0] if by.weight else frame
    columns = []
    for key in by.keys:
        levels = sorted(frame[key.name].unique().tolist())
        place = {v: i for i, v in enumerate(levels)}
        columns.append((levels, frame[key.name].map(place).to_numpy(np.int64)))
    scores = frame[by.score].to_numpy()
    bins = np.unique(scores, return_inverse=True)[1] if binning is None else binning.of(scores)
    weight = frame[by.weight].to_numpy() if by.weight else None
    return count_rows(columns, bins, scores, weight, 2.0**by.q)


def same(a, b):
    assert a.levels == b.levels
    assert [[type(v) for v in vs] for vs in a.levels] == [[type(v) for v in vs] for vs in b.levels]
    for name in BinCounts.__dataclass_fields__:
        if name != "levels":
            x, y = getattr(a, name), getattr(b, name)
            assert x.dtype == y.dtype, name
            assert np.array_equal(x, y), name
            assert np.array_equal(np.signbit(x), np.signbit(y)) or x.dtype == bool, name


def write(folder, frame, pieces, row_group=400):
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        piece = pa.Table.from_pandas(frame.iloc[rows], preserve_index=False)
        pq.write_table(piece, folder / f"{i}.parquet", row_group_size=row_group)
    return str(folder / "*.parquet")


def lines(counts):
    """Lines by the values and the bin: rows, weight, low and high."""
    columns = [counts.column(k).tolist() for k in range(len(counts.levels))]
    values = zip(
        counts.rows.tolist(), counts.weight.tolist(), counts.low.tolist(), counts.high.tolist(),
        strict=True,
    )  # fmt: skip
    return dict(zip(zip(*columns, counts.bin.tolist(), strict=True), values, strict=True))


@pytest.mark.parametrize("binning", [BINNING, None], ids=["bins", "scores"])
@pytest.mark.parametrize("pieces", [1, 3, 7])
@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_any_pieces_in_any_order(tmp_path, binning, pieces, scheduler):
    frame = table()
    expected = reference(frame, binning=binning)
    shuffled = frame.sample(frac=1.0, random_state=pieces)
    write(tmp_path / "files", shuffled, pieces)
    with dask.config.set(scheduler=scheduler):
        source = Partitions(dd.from_pandas(shuffled, npartitions=pieces, sort=False))
        same(source.count(BY, binning), expected)
        # Read from files by dask.
        read = Partitions(dd.read_parquet(tmp_path / "files"))
        same(read.count(BY, binning), expected)


def test_without_weights_keys_or_scores():
    frame = table()
    source = Partitions(dd.from_pandas(frame, npartitions=3))
    for keys in ((), (Key("label"),)):
        by = GroupBy(keys, "score")
        same(source.count(by, BINNING), reference(frame, by))
    counts = source.count(GroupBy((Key("label"),)))
    assert counts.bin.tolist() == [0, 0]
    assert counts.rows.tolist() == frame["label"].value_counts().sort_index().tolist()
    assert source.count(GroupBy(())).rows.tolist() == [len(frame)]


def test_negative_scores_are_numbered_upwards():
    scores = [-1.0, 5e-324, -5e-324, 0.0, -0.0, 7.0, -1.0]
    source = Partitions(dd.from_pandas(pd.DataFrame({"score": scores}), npartitions=3))
    counts = source.count(GroupBy((), "score"))
    assert counts.bin.tolist() == [0, 1, 2, 3, 4]
    assert counts.low.tolist() == [-1.0, -5e-324, 0.0, 5e-324, 7.0]
    assert counts.rows.tolist() == [2, 1, 2, 1, 1]


HOSTILE = {
    "score": [0.5, None, float("nan"), float("inf"), -float("inf"), 0.5, 0.5, 0.5, 0.5, None, None],
    "w": [1.0, 1.0, 1.0, 1.0, 1.0, None, float("nan"), -1.0, float("inf"), 0.0, None],
}


@pytest.mark.parametrize("binning", [BINNING, None], ids=["bins", "scores"])
def test_rows_that_do_not_count(binning):
    masked = pa.table(HOSTILE).to_pandas(types_mapper=pd.ArrowDtype)
    by = GroupBy((), "score", "w", 0)
    good = 0 if binning is None else int(binning.of(np.array([0.5]))[0])
    bad = (0, 0.0, 0.0)
    expected = {
        (MISSING,): (2, *bad),
        (NO_NUMBER,): (1, *bad),
        (INFINITE,): (2, *bad),
        (BAD_WEIGHT,): (4, *bad),
        (good,): (1, 1, 0.5, 0.5),
    }
    frames = Partitions(dd.from_pandas(masked, npartitions=3))
    assert lines(frames.count(by, binning)) == expected
    assert lines(settled(count_piece(masked, by, binning), binning is None)) == expected
    # NumPy's floats do not tell NULL from NaN.
    floats = pd.DataFrame(HOSTILE)
    floats = floats.astype(float)
    expected[MISSING,], expected[NO_NUMBER,] = expected.pop((MISSING,)), (3, *bad)
    del expected[MISSING,]
    assert lines(settled(count_piece(floats, by, binning), binning is None)) == expected


def test_masked_and_object_columns():
    frame = pd.DataFrame({
        "score": pd.array([1, None, 3], "Int64"),
        "object": np.array([Decimal("0.5"), None, Decimal("2.25")], object),
        "flag": pd.array([True, None, False], "boolean"),
        "text": pd.array(["a", None, "b"], "string"),
        "kind": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"]),
        "float": [1.5, float("nan"), -0.0],
        "when": pd.to_datetime(["2024-01-01", None, "2024-01-02"]),
    })  # fmt: skip
    for score in ("score", "object"):
        counts = count_piece(frame, GroupBy((), score), BINNING)
        assert counts.bin.min() == MISSING
        assert counts.rows.sum() == 3

    def levels(name):
        return settled(count_piece(frame, GroupBy((Key(name),)))).levels[0]

    assert levels("score") == [None, 1, 3]
    assert levels("flag") == [None, False, True]
    assert levels("text") == [None, "a", "b"]
    assert levels("kind") == [None, "x", "y"]
    assert levels("object") == [None, 0.5, 2.25]
    assert levels("float") == [None, 0.0, 1.5]
    assert not np.signbit(levels("float")[1])
    assert [str(v)[:10] for v in levels("when")] == ["None", "2024-01-01", "2024-01-02"]


def test_values_that_matter():
    frame = pd.DataFrame({
        "text": ["1", "2", None, "3"], "number": [1, 2, 1, 3], "flag": [True, False, True, True],
    })  # fmt: skip
    source = Partitions(dd.from_pandas(frame, npartitions=2))

    def levels(name, only):
        counts = source.count(GroupBy((Key(name, only),)))
        return dict(zip(counts.column(0).tolist(), counts.rows.tolist(), strict=True))

    assert levels("text", ("1", 2)) == {"1": 1, None: 1, Rest.REST: 2}
    assert levels("text", ()) == {None: 1, Rest.REST: 3}
    assert levels("number", (1.0, "2", True)) == {1: 2, Rest.REST: 2}
    assert levels("number", (True,)) == {True: 2, Rest.REST: 2}  # as in memory
    assert levels("flag", (1,)) == {Rest.REST: 4}
    assert levels("flag", (np.True_,)) == {True: 3, Rest.REST: 1}


def test_parts():
    frame = table()
    by = GroupBy((Key("label"), Key("region", (1, 2))), "score")
    parts = [
        RowFilter((1,), ((1,),), ((0.1, 0.2), (0.15, 0.3))),
        RowFilter((0, 1), (("yes", Rest.REST), ("no", 2)), ((0.25, 0.5),)),
        RowFilter((), (), ((0.9, 1.0),)),
        RowFilter((1,), ((True,),), ((0.0, 1.0),)),
    ]
    rest = frame["region"] > 2
    s = frame["score"]
    inside = (frame["region"] == 1) & s.between(0.1, 0.3)
    couples = ((frame["label"] == "yes") & rest) | (
        (frame["label"] == "no") & (frame["region"] == 2)
    )
    inside |= couples & s.between(0.25, 0.5)
    inside |= s.between(0.9, 1.0)
    source = Partitions(dd.from_pandas(frame, npartitions=3))
    kept = Partitions(dd.from_pandas(frame[inside], npartitions=2))
    for binning in (None, BINNING, Binning.from_ranges([(0.1, 0.5), (0.9, 1.0)], 300)):
        same(source.count(by, binning, parts), kept.count(by, binning))


def test_the_ends_of_a_range_belong():
    scores = [0.1, 0.2, 0.3, None, float("inf"), float("nan")]
    frame = pa.table({"score": scores}).to_pandas(types_mapper=pd.ArrowDtype)
    by = GroupBy((), "score")
    counts = count_piece(frame, by, None, [RowFilter((), (), ((0.1, 0.2),))])
    assert counts.low.tolist() == [0.1, 0.2]
    # Rows that do not count have no place in any range.
    whole_line = [RowFilter((), (), ((-np.inf, np.inf),))]
    assert count_piece(frame, by, BINNING, whole_line).n_rows == 3
    assert count_piece(frame, by, BINNING, [RowFilter((), (), ())]).n_lines == 0


def test_columns_and_rows():
    frame = table(50).assign(flag=True, when=pd.Timestamp("2024-01-01"))
    kinds = {
        "score": "number", "label": "text", "region": "number", "w": "number",
        "flag": "boolean", "when": "other",
    }  # fmt: skip
    frames = Partitions(dd.from_pandas(frame, npartitions=3))
    assert frames.rows() is None
    assert frames.schema() == kinds


def test_sample():
    frame = table(4000)
    frame.loc[:20, "score"] = np.nan
    frame.loc[30:40, "score"] = np.inf
    frame = frame.sort_values("score")
    source = Partitions(dd.from_pandas(frame, npartitions=8, sort=False))
    sample = source.sample("score", "label", 100)
    assert len(sample) == 100
    assert np.isfinite(sample).all()
    yes = set(frame.loc[frame["label"] == "yes", "score"])
    assert 40 <= sum(s in yes for s in sample.tolist()) <= 60
    assert len(source.sample("score", None, 100)) == 100
    # More than there are of a label: all that were found, and more of the others.
    assert len(source.sample("score", "label", 1500)) == 1500


def test_frames_without_rows():
    empty = pd.DataFrame({"s": np.array([], float), "g": pd.array([], "string")})
    source = Partitions(dd.from_pandas(empty, npartitions=1))
    by = GroupBy((Key("g"),), "s")
    for binning in (None, BINNING):
        assert source.count(by, binning).n_lines == 0
    assert source.sample("s", "g", 10).tolist() == []


def test_what_is_refused(monkeypatch):
    source = Partitions(dd.from_pandas(table(100), npartitions=2))
    monkeypatch.setattr(kernel, "MOST_LINES", 90)
    mixed = pd.DataFrame({"label": np.array([1, "yes", 1.0], object)})
    with pytest.raises(TypeError, match=r"^column 'label' is not of one type: "):
        count_piece(mixed, GroupBy((Key("label"),)))
    with pytest.raises(TooManyLinesError):
        source.count(GroupBy((), "score"))


def test_a_missing_package_says_how_to_install_it(monkeypatch):
    source = Partitions(dd.from_pandas(table(10), npartitions=1))
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'setpoint\[scale\]'"):
        source.count(BY, BINNING)


def test_no_engine_is_imported_before_it_is_used():
    code = (
        "import sys, setpoint.sources\n"
        "engines = {'dask', 'distributed', 'duckdb', 'polars', 'numba'}\n"
        "print(*sorted(engines & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def until(happened):
    """Wait for what is sure to happen, on a busy machine too."""
    end = time.monotonic() + 120
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.01)


def held(frame, folder, victim=None):
    """Scores; a piece writes down who counts it, and waits.

    Of a victim: to be killed, while the others wait until it has begun. Else: to be let go.
    """
    me = os.getpid()
    (folder / f"{me}-{id(frame)}").touch()
    if victim is None or me == victim:
        until((folder / "go").exists)
    else:
        until(lambda: any(folder.glob(f"{victim}-*")))
    return frame["score"].to_numpy()


def scored(frame, npartitions, **more):
    """A source whose scores a function computes, piece by piece."""
    pieces = dd.from_pandas(frame, npartitions=npartitions)

    def add(piece):
        return piece.assign(s=held(piece, **more))

    return Partitions(pieces.map_partitions(add, meta=frame[:0].assign(s=0.0)))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_workers_give_the_same_counts(client):
    frame = table()
    frames = Partitions(dd.from_pandas(frame, npartitions=20))
    for binning in (BINNING, None):
        with client.as_current():
            same(frames.count(BY, binning), reference(frame, binning=binning))


def test_a_worker_that_is_killed_changes_nothing(client, tmp_path):
    frame = table()
    victim = next(iter(client.run(os.getpid).values()))
    source = scored(frame, 10, folder=tmp_path, victim=victim)

    def kill():
        until(lambda: any(tmp_path.glob(f"{victim}-*")))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    with client.as_current():
        counts = source.count(GroupBy(BY.keys, "s", "w"), BINNING)
    killer.join()
    same(counts, reference(frame))
    assert victim not in client.run(os.getpid).values()


def tasks_of(dask_scheduler):
    """How many tasks wait or run."""
    return sum(
        task.state in ("waiting", "queued", "no-worker", "processing")
        for task in dask_scheduler.tasks.values()
    )


def test_an_interrupt_ends_a_pass_on_a_cluster(client, tmp_path):
    source = scored(table(), 200, folder=tmp_path)
    main = threading.main_thread().ident

    def interrupt():
        until(lambda: any(tmp_path.iterdir()))
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with client.as_current(), pytest.raises(KeyboardInterrupt):
        source.count(GroupBy((), "s"), BINNING)
    thread.join()
    # What had not begun is dropped: a piece a worker is all that was asked.
    until(lambda: client.run_on_scheduler(tasks_of) == 0)
    (tmp_path / "go").touch()
    assert client.submit(abs, -1).result(timeout=120) == 1
    assert len(list(tmp_path.iterdir())) <= 2 + 1
