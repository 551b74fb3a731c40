"""Two processes train as one would, and decide everything alike."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from penalty.networks import outcome, plan_of, ring
from setpoint.estimators.modules import unpack
from setpoint.penalty.distributed import Team
from setpoint.penalty.network import train_network

torch = pytest.importorskip("torch", reason="networks need torch")
pytest.importorskip("safetensors", reason="networks are stored with safetensors")
if not torch.distributed.is_available():
    pytest.skip("this torch has no distributed", allow_module_level=True)
nn = torch.nn

TESTS = Path(__file__).parents[1]
PROLOGUE = """
import pickle, sys
from datetime import timedelta
import numpy as np
import torch
import torch.distributed as dist
from penalty.networks import Enough, after, outcome
from penalty.test_distributed import Ending, normalised, small
from setpoint.penalty.checkpoint import Checkpoint
from setpoint.penalty.network import train_network
from setpoint.search.limits import StoppedError
rank, folder = int(sys.argv[1]), sys.argv[2]
dist.init_process_group(
    "gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2,
    timeout=timedelta(seconds=300),
)
"""
EPILOGUE = """
with open(f"{folder}/{rank}.pickle", "wb") as file:
    pickle.dump(found, file)
dist.destroy_process_group()
"""


def small(**options):
    X, y = ring(301)
    weight = 1.0 + np.arange(301) % 3
    return plan_of(X, y, weight=weight, **{"max_epochs": 2, "refresh_every": 2} | options)


def normalised(d):
    return nn.Sequential(nn.Linear(d, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 1))


def in_two(folder, code):
    """What each of two processes leaves in `found`."""
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROLOGUE + code + EPILOGUE, str(rank), str(folder)],
            cwd=TESTS,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        said = [p.communicate(timeout=300)[1] for p in processes]
    finally:
        for p in processes:
            p.kill()
    assert [p.returncode for p in processes] == [0, 0], "\n".join(said)
    return [pickle.loads((folder / f"{rank}.pickle").read_bytes()) for rank in range(2)]


def weights(found):
    return {name: unpack(parts[2]) for name, parts in found[0].items()}


def assert_near(found, expected):
    for name, tensors in weights(expected).items():
        for key, tensor in weights(found)[name].items():
            np.testing.assert_allclose(tensor, tensors[key], rtol=0, atol=1e-5)


# One start for all: two processes take seconds to import torch.
@pytest.mark.long
def test_two_processes_are_as_one(tmp_path):
    code = """
found = {}
plan = small(solver="portfolio")
train_network(plan, "mlp")
found["portfolio"] = outcome(plan)

# The last batch has one row: one of the processes has nothing to do.
plan = small(solver="sigmoid", batch_size=100)
train_network(plan, "mlp")
found["odd"] = outcome(plan)

# Patience and candidates are decided alike, though each normalises its own rows.
plan = small(solver="profiled", max_epochs=40, patience=2, batch_size=50)
train_network(plan, normalised)
found["normalised"] = outcome(plan)

# A checkpoint is written by the first and read by both.
path = f"{folder}/training.checkpoint"
try:
    train_network(small(tick=after(9)), "mlp", Checkpoint(path, {}, 0.0))
except Enough:
    found["stopped"] = "both stopped"
dist.barrier()
plan = small()
train_network(plan, "mlp", Checkpoint(path, {}, 0.0))
found["resumed"] = outcome(plan)

# Only one of them stops.
plan = small(max_epochs=10_000, patience=10_000, tick=after(30) if rank == 1 else lambda: None)
try:
    train_network(plan, "mlp")
except (Enough, StoppedError) as error:
    found["stops"] = type(error).__name__, plan.pool.n_offered

# The scores of one process end first.
plan = small(solver="cross-entropy")
train_network(plan, lambda d: Ending(d, 1, rank == 1))
found["ended"] = outcome(plan)
"""
    zero, one = in_two(tmp_path, code)
    stops = zero.pop("stops"), one.pop("stops")
    assert zero == one
    alone = {"portfolio": small(solver="portfolio"), "resumed": small()}
    alone["odd"] = small(solver="sigmoid", batch_size=100)
    for name, plan in alone.items():
        train_network(plan, "mlp")
        assert_near(zero[name], outcome(plan))
    assert len(zero["normalised"][0]) == 2
    assert zero["stopped"] == "both stopped"
    assert not (tmp_path / "training.checkpoint").exists()
    assert (stops[0][0], stops[1][0]) == ("StoppedError", "Enough")
    assert stops[0][1] == stops[1][1]
    assert zero["ended"][3] == [
        "cross-entropy: the scores were no longer finite; it was stopped there"
    ]


class Ending(nn.Linear):
    """Gives NaN from its fourth batch in training on, in one of the processes."""

    def __init__(self, d, n, ends):
        super().__init__(d, n)
        self.left = 4 if ends else 10_000

    def forward(self, x):
        self.left -= self.training
        return super().forward(x) * (float("nan") if self.left < 0 else 1.0)


def test_parts_are_all_rows():
    for size in (1, 2, 3, 7):
        for n in (0, 1, 2, 10, 64):
            teams = [Team(rank, size) for rank in range(size)]
            rows = [i for team in teams for i in range(n)[team.part(n)]]
            assert rows == list(range(n))
            lengths = [len(range(n)[team.part(n)]) for team in teams]
            assert teams[0].least_part(n) == min([k for k in lengths if k], default=0)
