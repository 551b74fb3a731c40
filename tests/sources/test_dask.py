"""Rows in pieces: whatever the pieces, who counts them and how often, the counts are the same."""

import os
import signal
import sys
import threading
import time
from decimal import Decimal

import numpy as np
import pytest

from setpoint.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, Binning
from setpoint.sources import GroupBy, Key, source_of
from sources.reference import ArraySource, canonical
from thinning import over

pd = pytest.importorskip("pandas", reason="pieces on dask are pandas frames")
pytest.importorskip("pyarrow", reason="Parquet is read by pyarrow")
dask = pytest.importorskip("dask", reason="of the extra scale")
dd = pytest.importorskip("dask.dataframe", reason="of the extra scale")
distributed = pytest.importorskip("distributed", reason="of the extra scale")

# dask 2026.8 reads Parquet by what pandas 3.1 deprecates.
pytestmark = pytest.mark.filterwarnings(
    r"ignore:The inplace keyword in DataFrame\.reset_index is deprecated"
)

BY = GroupBy((Key("label"), Key("region")), "score", "w")
BINNING = Binning.default(256)


def table(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "score": rng.beta(1, 3, n),
        "label": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        "region": rng.integers(1, 5, n),
        "w": rng.choice([0.0, 0.1, 1.0, 2.5], n),
    })  # fmt: skip


def reference(frame, by=BY, binning=BINNING):
    return canonical(ArraySource(frame).count(by, binning))


def frames_of(columns, npartitions=3):
    with dask.config.set({"dataframe.convert-string": False}):
        frames = dd.from_pandas(pd.DataFrame(columns), npartitions=npartitions, sort=False)
    return source_of(frames)


@over("pieces", [9, 1, 3], every=3)  # joined by eights: the ninth is left for another round
def test_any_pieces_in_any_order(pieces, tmp_path_factory):
    frame = table(900)
    shuffled = frame.sample(frac=1.0, random_state=pieces)
    at = tmp_path_factory.mktemp("pieces")
    for i, rows in enumerate(np.array_split(np.arange(len(frame)), pieces)):
        shuffled.iloc[rows].to_parquet(at / f"{i}.parquet", index=False, row_group_size=40)
    for binning, scheduler in ((BINNING, "synchronous"), (None, "threads")):
        expected = reference(frame, binning=binning)
        with dask.config.set(scheduler=scheduler):
            assert canonical(frames_of(shuffled, pieces).count(BY, binning)) == expected
        assert canonical(source_of(dd.read_parquet(at)).count(BY, binning)) == expected


def test_floats_of_numpy_do_not_tell_null_from_nan():
    nan, inf = np.nan, np.inf
    scores = [0.5, nan, nan, inf, -inf, 0.5, 0.5, 0.5, 0.5, nan, nan]
    weights = [1.0, 1.0, 1.0, 1.0, 1.0, nan, nan, -1.0, inf, 0.0, nan]
    for binning in (BINNING, None):
        found = frames_of({"score": scores, "w": weights}).count(GroupBy((), "score", "w"), binning)
        bad = dict(zip(found.bin.tolist(), found.rows.tolist(), strict=True))
        assert bad.pop(max(bad)) == 1
        assert bad == {NO_NUMBER: 3, INFINITE: 2, BAD_WEIGHT: 4}


def test_masked_and_object_columns():
    source = frames_of({
        "score": pd.array([1, None, 3], "Int64"),
        "object": np.array([Decimal("0.5"), None, Decimal("2.25")], object),
        "flag": pd.array([True, None, False], "boolean"),
        "text": pd.array(["a", None, "b"], "string"),
        "kind": pd.Categorical(["x", None, "y"], categories=["z", "y", "x"]),
        "float": [1.5, float("nan"), -0.0],
        "when": pd.to_datetime(["2024-01-01", None, "2024-01-02"]),
    })  # fmt: skip
    found = source.count(GroupBy((), "score"), BINNING)
    assert (found.bin.min(), found.rows.sum()) == (MISSING, 3)

    def levels(name):
        return source.count(GroupBy((Key(name),))).levels[0]

    assert levels("score") == [None, 1, 3]
    assert levels("flag") == [None, False, True]
    assert levels("text") == [None, "a", "b"]
    assert levels("kind") == [None, "x", "y"]
    assert levels("object") == [None, 0.5, 2.25]
    assert levels("float") == [None, 0.0, 1.5]
    assert not np.signbit(levels("float")[1])
    assert [str(v)[:10] for v in levels("when")] == ["None", "2024-01-01", "2024-01-02"]
    assert source.schema()["when"] == "other"


def test_what_is_refused(monkeypatch):
    source = frames_of({"label": np.array([1, "yes", 1.0], object)}, 1)
    with pytest.raises(TypeError, match=r"^column 'label' is not of one type: "):
        source.count(GroupBy((Key("label"),)))
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ImportError, match=r"pip install 'setpoint\[scale\]'"):
        source.count(BY, BINNING)


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

    return source_of(pieces.map_partitions(add, meta=frame[:0].assign(s=0.0)))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.long
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
    assert canonical(counts) == reference(frame)
    assert victim not in client.run(os.getpid).values()


def tasks_of(dask_scheduler):
    """How many tasks wait or run."""
    return sum(
        task.state in ("waiting", "queued", "no-worker", "processing")
        for task in dask_scheduler.tasks.values()
    )


@pytest.mark.long
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
