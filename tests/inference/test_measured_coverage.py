"""Nominal 95 % intervals of sums of amounts, on draws whose truth is known."""

import pytest

from inference.measured_samples import misses

pytestmark = pytest.mark.long

DRAWS = 1000

TEXTS = [
    "recall.weighted(amount)", "profit(tp=amount - 1, fp=-1)", "precision.weighted(amount)",
    "profit(tp=amount - 1, fp=-1).difference(sex)", "recall.weighted(amount) + recall",
]  # fmt: skip


@pytest.mark.parametrize("n", [300, 1000, 5000])
@pytest.mark.parametrize("text", TEXTS)
def test_exponential_amounts(text, n):
    below, above = misses(text, "exponential", n, DRAWS)
    assert max(below, above) <= 0.045
    assert below + above <= 0.07


@pytest.mark.parametrize("n", [300, 1000, 5000])
@pytest.mark.parametrize("text", TEXTS)
def test_lognormal_amounts(text, n):
    """The largest amounts carry the sum, and no interval of so few rows sees all of that."""
    assert misses(text, "lognormal", n, DRAWS).sum() <= (0.1 if n < 5000 else 0.08)


@pytest.mark.parametrize("n", [200, 600, 2000])
@pytest.mark.parametrize("text", TEXTS[:2])
@pytest.mark.parametrize(("spread", "most"), [(0.0, 0.07), (0.6, 0.08)], ids=["equal", "moderate"])
def test_limits_of_weighted_rows(text, n, spread, most):
    """One-sided limits of 95 %, whose weights spread as little or as much as usual."""
    below, above = misses(text, "exponential", n, DRAWS, spread=spread, level=0.9)
    assert max(below, above) <= most


@pytest.mark.parametrize("n", [200, 600, 2000])
def test_limits_of_rows_of_which_a_few_weigh_most(n):
    """No typical row is light where heavy ones carry the sum: one is drawn by its weight."""
    below, _ = misses("recall.weighted(amount)", "exponential", n, DRAWS, spread=1.3, level=0.9)
    assert below <= 0.09
