"""Twenty million rows: memory stays flat, and the report still counts every one."""

import gc
from pathlib import Path

import numpy as np
import pytest

from online.samples import online

BLOCKS, ROWS, FEATURES = 200, 100_000, 3


def block(number):
    """Rows of a block; the prior and the scale of a feature move slowly."""
    rng = np.random.default_rng(number)
    X = rng.standard_normal((ROWS, FEATURES), dtype=np.float32)
    bias = 2.5 + np.sin(number / 30.0)
    y = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.standard_normal(ROWS, dtype=np.float32) > bias
    X[:, 2] *= 1.0 + number / 50.0
    return X, y.view(np.int8)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is not told here")
def test_memory_is_flat():
    clf, used, hits, wrong = online(window=50_000), [], 0, 0
    for number in range(BLOCKS):
        X, y = block(number)
        decided = clf.predict_learn(X, y)
        hits += int((decided & y).sum())
        wrong += int((decided != y).sum())
        if number >= 10:
            gc.collect()
            used.append(int(Path("/proc/self/statm").read_text().split()[1]) * 4096)
    assert clf.n_rows_seen_ == BLOCKS * ROWS
    f = clf.goal_report_.objective.value
    assert f == pytest.approx(2 * hits / (2 * hits + wrong), abs=1e-12)
    assert f > 0.3
    assert max(used) - used[0] <= 1e6, used[::10]
