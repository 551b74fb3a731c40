"""Killed trainings go on and end with the same bits; other files are refused and left alone."""

import signal
import subprocess
import sys
from contextlib import contextmanager, suppress
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from penalty.samples import imbalanced, network, penalty, ring
from setpoint.inputs import CheckpointError
from setpoint.penalty.selection import Checkpoint
from setpoint.search import Limits
from setpoint.solvers import EroAdam, Portfolio, Profiled, Sigmoid
from thinning import over

torch = pytest.importorskip("torch", reason="networks need torch")
safetensors = pytest.importorskip("safetensors", reason="networks are safetensors files")
nn = torch.nn

SETTINGS = {"goal": "maximize f1", "rows": 300, "seed": 0}
ROWS = ring(120)
pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning")
]


def normalised(d):
    return nn.Sequential(
        nn.Linear(d, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), nn.Linear(8, 1)
    )


@pytest.fixture
def path(tmp_path):
    return tmp_path / "training.checkpoint"


# ---------------------------------------------------------------------- going on
SHORT = {"max_epochs": 3, "refresh_every": 2}
SOME = Portfolio(members=(Profiled(), EroAdam()), polish=False)
LINEAR = {"module": "linear", "min_positives": 5}
CASES = {
    "network": lambda **file: network("f1", normalised, SHORT, solver=SOME, **file),
    # A linear model trained as a network, of whose rows only the latest are looked at.
    "many rows": lambda **file: network(
        "f1", "linear", SHORT | {"batch_size": 16}, solver=SOME, **file
    ),
    "notes": lambda **file: network(  # of stages that ended early
        "f1", "mlp", {"max_epochs": 4, "learning_rate": 1e30}, solver="sigmoid", **file
    ),
    "linear": lambda **file: penalty("f1", solver="portfolio", **LINEAR, **file),
    "certified": lambda **file: penalty(
        "maximize recall subject to precision >= 0.5", confidence=0.95, **LINEAR, **file
    ),
}


@contextmanager
def conditions(case, n=None):
    """What a case is trained under: its limits, and SystemExit at its n-th step, as if killed."""
    ticks = []

    def tick(self):
        ticks.append(1)
        if len(ticks) == n:
            raise SystemExit

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Limits, "tick", tick)
        patch.setattr("setpoint.penalty.solvers._ROUNDS", ((9, 8), (3, 8)))
        patch.setattr("setpoint.penalty.solvers._STEPS", 60)
        if case == "many rows":
            patch.setattr("setpoint.penalty.classifier._MOST_SEEN", 60)
            patch.setattr("setpoint.penalty.classifier._MOST_AT_ONCE", 10)
        yield ticks


def trained(case, n=None, **file):
    """All that a training leaves, but for seconds, and its number of steps."""
    X, y = imbalanced(1000) if case == "certified" else ROWS
    with conditions(case, n) as ticks:
        clf = CASES[case](**file).fit(X, y)
    parameters = np.asarray(clf.parameters_).tobytes()
    report = clf.goal_report_
    left = clf.candidates_, parameters, [t[:4] for t in clf.trace_], report.warnings, clf.rule_
    return left, len(ticks)


whole = cache(trained)


@over("case,share", product(CASES, [0.45, 0.6, 0.9, 0.3, 0.75, 0.1, 0.0, 1.0]), every=13)
def test_goes_on_with_the_same_bits(case, share, path):
    outcome, n_steps = whole(case)  # the last step is of the fit, when the file is gone
    file, n = {"checkpoint": path, "checkpoint_every": 0}, 1 + round(share * (n_steps - 2))
    with pytest.raises(SystemExit):
        trained(case, n, **file)
    if case == "network" and share < 0.9:  # is stopped again and again
        for _ in range(3):
            with suppress(SystemExit):
                trained(case, 2, **file)
    torch.rand(5)  # the state of the user's generator does not matter
    again, rest = trained(case, **file)
    assert again == outcome
    assert list(path.parent.iterdir()) == []
    # What was done is not done again, but for steps since the last refresh.
    assert case != "network" or rest <= n_steps - n + 3


@pytest.mark.long
def test_goes_on_after_a_kill(path):
    code = f"""
import os, signal
from penalty import test_checkpoint as tests
from setpoint.search import Limits
ticks = []
def tick(self):
    ticks.append(1)
    if len(ticks) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
Limits.tick = tick
tests.CASES["network"](checkpoint={str(path)!r}, checkpoint_every=0).fit(*tests.ROWS)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == -signal.SIGKILL
    outcome, n_steps = whole("network")
    found, rest = trained("network", checkpoint=path, checkpoint_every=0)
    assert found == outcome
    assert rest <= n_steps - 20 + 3
    assert list(path.parent.iterdir()) == []


def test_that_of_another_training_is_refused(path):
    file = {"checkpoint": path, "checkpoint_every": 0}
    with pytest.raises(SystemExit):
        trained("linear", 100, **file)
    before, (X, y) = path.read_bytes(), ROWS
    clf = CASES["linear"](**file)
    other = CASES["linear"](**file).set_params(solver=Sigmoid())
    with pytest.raises(CheckpointError, match="another training: `solver` was Portfolio"):
        other.fit(X, y)
    with pytest.raises(CheckpointError, match="of another training: the digest of the rows was"):
        clf.fit(X + 1e-9 * np.arange(4), 1 - y[::-1])
    assert path.read_bytes() == before
    Checkpoint(path, SETTINGS).write({"stage": 0})
    with pytest.raises(CheckpointError, match="`device` was not set and is cpu now"):
        Checkpoint(path, SETTINGS | {"device": "cpu"}).read()
    with pytest.raises(CheckpointError, match="`seed` was 0 and is not set now"):
        Checkpoint(path, {"goal": "maximize f1", "rows": 300}).read()


# ---------------------------------------------------------------------- the file
def test_it_is_written_no_more_often_than_asked(path):
    assert Checkpoint(path, SETTINGS, 0.0).due
    assert not Checkpoint(path, SETTINGS, 60.0).due
    with pytest.raises(SystemExit):
        trained("network", 10, checkpoint=path)
    assert not path.exists()


def test_damaged_and_other_files_are_refused_and_left(path):
    checkpoint = Checkpoint(path, SETTINGS)
    checkpoint.write({"scores": np.arange(1000.0), "stage": 3})
    content, rng = path.read_bytes(), np.random.default_rng(0)
    damaged = [content[:n] for n in (0, 8, 100, len(content) - 1)]
    damaged += [content + b"\0", b"PK" + content, bytes(100)]
    for at in rng.integers(0, len(content), 60):
        bits = bytearray(content)
        bits[at] ^= 1 << rng.integers(8)
        damaged.append(bytes(bits))
    for data in damaged:
        path.write_bytes(data)
        with pytest.raises(CheckpointError):
            checkpoint.read()
        assert path.read_bytes() == data
    path.write_bytes(b"setpoint checkpoint 7 0123\n")
    with pytest.raises(CheckpointError, match="in format 7"):
        checkpoint.read()
    path.write_bytes(b"something of the user")
    with pytest.raises(CheckpointError, match="is not a checkpoint; it was left as it is"):
        CASES["network"](checkpoint=path).fit(*ROWS)
    assert path.read_bytes() == b"something of the user"
