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
