"""Killed trainings go on and end with the same bits; other files are refused and left alone."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from penalty.networks import Enough, after, outcome, plan_of, ring
from setpoint.inputs import CheckpointError
from setpoint.penalty.classifier import train_network
from setpoint.penalty.problem import Cut, Lifted
from setpoint.penalty.selection import Checkpoint, pool_state, restore_pool
from setpoint.penalty.solvers import train_linear
from thinning import thinned

torch = pytest.importorskip("torch", reason="networks need torch")
safetensors = pytest.importorskip("safetensors", reason="networks are safetensors files")
nn = torch.nn

TESTS = Path(__file__).parents[1]
SETTINGS = {"goal": "maximize f1", "rows": 300, "seed": 0}


def normalised(d):
    return nn.Sequential(
        nn.Linear(d, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)
    )


def small(**options):
    X, y = ring(300)
    options = {"solver": "portfolio", "max_epochs": 3, "refresh_every": 2} | options
    return plan_of(X, y, **options)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "training.checkpoint"


@pytest.fixture(scope="module")
def uninterrupted():
    plan = small()
    train_network(plan, normalised)
    return outcome(plan)


# ---------------------------------------------------------------------- going on
# 5 batches an epoch, 3 epochs and 8 stages: 120 ticks.
@pytest.mark.parametrize("n", thinned([1, 4, 14, 16, 39, 52, 68, 83, 99, 113, 120], 3))
def test_goes_on_with_the_same_bits(path, n, uninterrupted):
    with pytest.raises(Enough):
        train_network(small(tick=after(n)), normalised, Checkpoint(path, SETTINGS, 0.0))
    assert path.exists()
    torch.rand(5)  # the state of the user's generator does not matter
    plan = small()
    train_network(plan, normalised, Checkpoint(path, SETTINGS, 0.0))
    assert outcome(plan) == uninterrupted
    assert list(path.parent.iterdir()) == []


def test_goes_on_after_being_stopped_again_and_again(path, uninterrupted):
    for _ in range(100):
        plan = small(tick=after(17))
        try:
            train_network(plan, normalised, Checkpoint(path, SETTINGS, 0.0))
        except Enough:
            continue
        break
    assert outcome(plan) == uninterrupted


def test_writing_changes_nothing(path, uninterrupted):
    plan = small()
    train_network(plan, normalised, Checkpoint(path, SETTINGS, 0.0))
    assert outcome(plan) == uninterrupted


def test_goes_on_after_a_kill(path):
    code = f"""
from penalty.test_checkpoint import SETTINGS, normalised, small
from setpoint.penalty.selection import Checkpoint
from setpoint.penalty.classifier import train_network
checkpoint = Checkpoint({str(path)!r}, SETTINGS, 0)
train_network(small(max_epochs=2000, patience=2000), normalised, checkpoint)
"""
    process = subprocess.Popen([sys.executable, "-c", code], cwd=TESTS)
    until = time.monotonic() + 300
    while time.monotonic() < until:
        state = Checkpoint(path, SETTINGS).read()
        if state and state["descent"]["epoch"] > 0:
            break
        assert process.poll() is None, "the training ended by itself"
        time.sleep(0.02)
    process.kill()
    process.wait()
    state = Checkpoint(path, SETTINGS).read()
    assert state["stage"] == 0
    done = state["descent"]["epoch"]
    assert done > 0
    # From here to the end of this many epochs, against a training that nobody killed.
    epochs = {"max_epochs": done + 2, "patience": 5000, "solver": "cross-entropy"}
    plans = small(**epochs), small(**epochs)
    train_network(plans[0], normalised)
    train_network(plans[1], normalised, Checkpoint(path, SETTINGS))
    assert outcome(plans[0]) == outcome(plans[1])
    assert list(path.parent.iterdir()) == []


def test_many_rows_go_on_from_the_rows_seen_last(path, monkeypatch):
    monkeypatch.setattr("setpoint.penalty.classifier._MOST_SEEN", 60)
    whole, again = small(batch_size=16), small(batch_size=16)
    train_network(whole, "linear")
    with pytest.raises(Enough):
        train_network(
            small(batch_size=16, tick=after(205)), "linear", Checkpoint(path, SETTINGS, 0.0)
        )
    train_network(again, "linear", Checkpoint(path, SETTINGS, 0.0))
    assert outcome(whole) == outcome(again)


def test_notes_of_stages_that_ended_stay(path):
    options = {"learning_rate": 1e30, "solver": "sigmoid", "max_epochs": 4}
    whole, again = small(**options), small(**options)
    train_network(whole, "mlp")
    assert len(whole.notes) == 3
    with pytest.raises(Enough):
        train_network(small(**options, tick=after(5)), "mlp", Checkpoint(path, SETTINGS, 0.0))
    train_network(again, "mlp", Checkpoint(path, SETTINGS, 0.0))
    assert outcome(whole) == outcome(again)


def test_linear_models_go_on_between_stages(path, monkeypatch):
    monkeypatch.setattr("setpoint.penalty.solvers._ROUNDS", ((9, 20), (3, 20)))
    whole, ticks = small(), []
    train_linear(whole, polished=True)
    train_linear(small(tick=lambda: ticks.append(1)), polished=True)
    for n in (3, len(ticks) // 3, len(ticks) - 10):
        with pytest.raises(Enough):
            train_linear(small(tick=after(n)), True, Checkpoint(path, SETTINGS, 0.0))
        again = small()
        train_linear(again, True, Checkpoint(path, SETTINGS, 0.0))
        assert outcome(again) == outcome(whole)
        assert not path.exists()


def test_finished_stages_are_skipped(path):
    ticks = []
    with pytest.raises(Enough):
        train_network(small(tick=after(110)), normalised, Checkpoint(path, SETTINGS, 0.0))
    train_network(small(tick=lambda: ticks.append(1)), normalised, Checkpoint(path, SETTINGS, 0.0))
    assert len(ticks) < 20


# ---------------------------------------------------------------------- the file
def test_values_come_back_exactly(path):
    rng = np.random.default_rng(0)
    state = {
        "numbers": [
            0.1,
            -np.inf,
            np.inf,
            3,
            True,
            None,
            "text",
            np.float64(1 / 3),
            np.int64(2**60),
        ],
        "tuple": (1, (2.5, "a")),
        "cut": Cut(np.inf, 1.0, 2.0, 0.3, 0.0),
        "lifted": Lifted(-np.inf, 0.25, True),
        "arrays": {"a": rng.normal(size=(3, 2)), "empty": np.zeros(0), "scalar": np.array(2)},
        "strided": np.arange(12).reshape(3, 4).T,
        "bytes": bytes(range(256)),
        "nothing": [{}, [], (), b""],
    }
    checkpoint = Checkpoint(path, SETTINGS)
    assert checkpoint.read() is None
    checkpoint.write(state)
    found = checkpoint.read()
    for name in ("numbers", "tuple", "cut", "lifted", "bytes", "nothing"):
        assert found[name] == state[name], name
    assert type(found["cut"]) is Cut
    assert type(found["lifted"]) is Lifted
    for name, array in state["arrays"].items():
        np.testing.assert_array_equal(found["arrays"][name], array, strict=True)
    np.testing.assert_array_equal(found["strided"], state["strided"])


def test_it_is_written_no_more_often_than_asked(path):
    assert Checkpoint(path, SETTINGS, 0.0).due
    assert not Checkpoint(path, SETTINGS, 60.0).due
    train_network(small(), normalised, Checkpoint(path, SETTINGS))
    assert not path.exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SETTINGS | {"seed": 1, "rows": 301}, "rows was 300 and is 301 now"),
        (
            SETTINGS | {"goal": "maximize g_mean"},
            "`goal` was maximize f1 and is maximize g_mean now",
        ),
        (SETTINGS | {"device": "cpu"}, "`device` was not set and is cpu now"),
        ({"goal": "maximize f1", "rows": 300}, "`seed` was 0 and is not set now"),
    ],
)
def test_that_of_another_training_is_refused(path, settings, message):
    Checkpoint(path, SETTINGS).write({"stage": 0})
    before = path.read_bytes()
    for train in (
        lambda c: train_network(small(), "mlp", c),
        lambda c: train_linear(small(), True, c),
    ):
        with pytest.raises(CheckpointError, match=message):
            train(Checkpoint(path, settings))
    assert path.read_bytes() == before


def test_settings_may_be_tuples_and_numbers_of_numpy(path):
    settings = {"shape": (3, 4), "rate": np.float64(0.1), "n": np.int64(7), "none": None}
    Checkpoint(path, settings).write({"a": 1})
    assert Checkpoint(path, settings).read() == {"a": 1}


def test_damaged_files_are_refused_and_left(path):
    checkpoint = Checkpoint(path, SETTINGS)
    checkpoint.write({"scores": np.arange(1000.0), "stage": 3})
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    damaged = [whole[:n] for n in (0, 1, 7, 8, 100, len(whole) // 2, len(whole) - 1)]
    damaged += [whole + b"\0", b"PK" + whole, b"\x80\x04.", b'{"a": 1}', bytes(100)]
    for at in rng.integers(0, len(whole), 200):
        bits = bytearray(whole)
        bits[at] ^= 1 << rng.integers(8)
        damaged.append(bytes(bits))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(CheckpointError):
            checkpoint.read()
        assert path.read_bytes() == data


def test_other_files_are_refused_and_left(path):
    from safetensors.numpy import save_file

    save_file({"weight": np.zeros(3)}, path)
    before = path.read_bytes()
    with pytest.raises(CheckpointError, match="is not a checkpoint; it was left as it is"):
        train_network(small(), "mlp", Checkpoint(path, SETTINGS))
    assert path.read_bytes() == before
    path.write_bytes(b"setpoint checkpoint 7 0123\n")
    with pytest.raises(CheckpointError, match="in format 7"):
        Checkpoint(path, SETTINGS).read()
    with pytest.raises(CheckpointError, match="is a folder; a checkpoint is a file"):
        Checkpoint(path.parent, SETTINGS)
    with pytest.raises(CheckpointError, match="no folder"):
        Checkpoint(path.parent / "nowhere" / "a", SETTINGS)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(path):
    path.parent.chmod(0o500)
    with pytest.raises(CheckpointError, match="cannot be written"):
        Checkpoint(path, SETTINGS)


def test_pools_come_back():
    plan, other = small(), small()
    train_network(plan, "linear")
    state = pool_state(plan)
    restore_pool(other, state)
    assert outcome(other) == outcome(plan)
    assert list(other.pool.best) == list(plan.pool.best)
    assert other.pool.champion == plan.pool.champion
