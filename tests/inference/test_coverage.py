"""Nominal 95 % intervals on draws whose truth is known."""

import numpy as np
import pytest

from inference.samples import ONE, binary, confusion, deployed, drawn, expression, grouped
from setpoint.errors import EmptyPopulationError
from setpoint.inference import bind_counted, interval_of

pytestmark = pytest.mark.long

DRAWS = 2000


def exponential(rng, entry):
    return rng.exponential(1.0, len(entry))


def heavy_positives(rng, entry):
    return np.where((entry // 2) % 3 == 1, 10.0, 1.0)


def coverage(text, strata, shares, n, weights=None, seed=0):
    """Shares of the draws in which the interval holds the truth, and their number."""
    rng = np.random.default_rng(seed)
    wanted = expression(text)
    mean = np.ones(shares.size)
    if weights is heavy_positives:
        mean = weights(rng, np.arange(shares.size))
    (bound,), counted = bind_counted(
        [wanted], confusion(strata, shares * mean.reshape(shares.shape))
    )
    truth = counted.value(bound)
    held = []
    for _ in range(DRAWS):
        try:
            (bound,), counted = bind_counted([wanted], drawn(rng, strata, shares, n, weights))
        except EmptyPopulationError:
            continue
        low, high, _ = interval_of(bound, counted, 0.95)
        held.append(low - 1e-9 <= truth <= high + 1e-9)
    assert len(held) > 0.9 * DRAWS
    return np.mean(held)


@pytest.mark.parametrize(("prior", "tpr", "fpr", "n"), [
    (0.2, 0.8, 0.1, 200), (0.1, 0.93, 0.05, 400), (0.05, 0.6, 0.03, 2000), (0.3, 0.5, 0.2, 60),
])  # fmt: skip
@pytest.mark.parametrize("text", ["recall", "precision", "f1", "g_mean", "mcc", "fbeta(2)"])
def test_one_number(text, prior, tpr, fpr, n):
    assert coverage(text, ONE, binary(prior, tpr, fpr), n) >= 0.93


@pytest.mark.parametrize("weights", [exponential, heavy_positives])
@pytest.mark.parametrize("text", ["recall", "precision", "f1", "g_mean"])
def test_weights(text, weights):
    assert coverage(text, ONE, binary(0.2, 0.8, 0.1), 400, weights) >= 0.93


@pytest.mark.parametrize(("m", "n", "tpr", "fpr"), [
    # Equal groups: a naive bootstrap of the gap covers nothing here, the gap it sees is noise.
    *((m, n, 0.8, 0.1) for m, n in [(2, 200), (2, 1000), (5, 500), (5, 3000), (12, 1500)]),
    *((m, n, np.linspace(0.6, 0.9, m), 0.1) for m, n in [(2, 300), (5, 1000), (12, 3000)]),
    # Small groups at the edge.
    (5, 400, 0.95, 0.02), (12, 1000, 0.97, 0.02), (12, 1000, 0.05, 0.02),
])  # fmt: skip
@pytest.mark.parametrize("reducer", ["difference", "ratio", "min", "deviation"])
def test_groups(reducer, m, n, tpr, fpr):
    strata, shares = grouped(m, 0.3, tpr, fpr)
    least = 0.93
    if np.ndim(tpr) == 0 and fpr == 0.1:
        least = 0.94 if m == 2 or reducer == "min" else 0.95
    assert coverage(f"recall.{reducer}(g)", strata, shares, n) >= least


@pytest.mark.parametrize(("n", "changed"), [(150, 0.1), (400, 0.06), (2000, 0.05)])
@pytest.mark.parametrize("text", [
    "churn", "recall - recall.baseline()", "precision - precision.baseline()", "win_loss_ratio",
])  # fmt: skip
def test_against_the_deployed_model(text, n, changed):
    strata, shares = deployed(0.3, 0.7, 0.1, changed)
    assert coverage(text, strata, shares, n) >= 0.93
