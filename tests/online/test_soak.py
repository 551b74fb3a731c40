"""Twenty million rows: memory stays flat, and a hundred restarts change nothing."""

import gc
import hashlib
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from online.samples import numbers
from setpoint import OnlineFClassifier

BLOCKS, ROWS, FEATURES = 200, 100_000, 3
RESTARTS = 100


def block(number):
    """Rows of a block; the prior and the scale of a feature move slowly."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    bias = 2.5 + np.sin(number / 30.0)
    y = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.standard_normal(ROWS, dtype=np.float32) > bias
    X[:, 2] *= 1.0 + number / 50.0
    return X, y.view(np.int8)


def resident():
    """Bytes in memory, or None where nothing tells."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * 4096 if statm.exists() else None


@pytest.mark.long
def test_memory_is_flat_and_restarts_change_nothing(tmp_path):
    options = {"classes": [0, 1], "window": 50_000}
    whole, decisions, used, hits, wrong = OnlineFClassifier(**options), [], [], 0, 0
    for number in range(BLOCKS):
        X, y = block(number)
        decided = whole.predict_learn(X, y)
        decisions.append(hashlib.sha256(decided.tobytes()).digest())
        hits += int((decided & y).sum())
        wrong += int((decided != y).sum())
        if number >= 10:
            gc.collect()
            used.append(resident())
    assert whole.n_rows_seen_ == BLOCKS * ROWS
    f = whole.goal_report_.objective.value
    assert f == pytest.approx(2 * hits / (2 * hits + wrong), abs=1e-12)
    assert f > 0.3
    if used[0] is not None:
        assert max(used) - used[0] <= 1e6, used[::10]

    restarts = {}
    for place in np.random.default_rng(1).integers(0, BLOCKS * ROWS, RESTARTS):
        restarts.setdefault(int(place) // ROWS, []).append(int(place) % ROWS)
    parts, path = OnlineFClassifier(**options), tmp_path / "m.skops"
    for number in range(BLOCKS):
        X, y = block(number)
        again, cuts = [], [0, *sorted(restarts.get(number, [])), ROWS]
        for low, high in pairwise(cuts):
            if low < high:
                again.append(parts.predict_learn(X[low:high], y[low:high]))
            if high < ROWS:
                parts.save(path)
                del parts
                parts = OnlineFClassifier.load(path)
        assert hashlib.sha256(np.concatenate(again).tobytes()).digest() == decisions[number]
    assert numbers(parts) == numbers(whole)
    assert parts.goal_report_ == whole.goal_report_
