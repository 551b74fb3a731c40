"""Rows that count by amounts, drawn at random."""

import numpy as np

from inference.samples import CLASSES, expression
from setpoint import Goal
from setpoint.counts import Column, Rows
from setpoint.errors import EmptyPopulationError
from setpoint.inference import bind_counted, interval_of

AMOUNTS = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "lognormal": lambda rng, n: rng.lognormal(0.0, 1.0, n),
}


def drawn(rng, n, kind):
    """True classes, decisions, amounts and groups of n rows; large amounts are found sooner."""
    y = (rng.random(n) < 0.2).astype(int)
    amount = AMOUNTS[kind](rng, n) * (1 + y)
    decided = (rng.random(n) < np.where(y, 0.6 + 0.3 * (amount > 2.0), 0.1)).astype(int)
    return y, decided, amount, rng.choice(["F", "M"], n)


def counted(text, y, decided, amount, sex, weight=None, baseline=None):
    """A bound expression and the counts it is measured on."""
    goal = Goal.parse(f"maximize {text}")
    rows = Rows.from_arrays(
        CLASSES, y, len(y), needs=goal.needs, weight=weight, baseline=baseline,
        columns={"amount": Column(amount), "sex": Column(sex)},
    )  # fmt: skip
    (bound,), found = bind_counted([expression(text)], rows.confusion(decided))
    return bound, found


def misses(text, kind, n, draws, seed=0, spread=None, level=0.95):
    """Shares of the draws in which the truth lies below the interval, and above it."""

    def sample(n):
        rows = drawn(rng, n, kind)
        return *rows, None if spread is None else rng.lognormal(0.0, spread, n)

    rng = np.random.default_rng(seed)
    bound, found = counted(text, *sample(2_000_000))
    truth = 0.0 if "difference" in text else found.value(bound)
    out = []
    for _ in range(draws):
        try:
            low, high, _ = interval_of(*counted(text, *sample(n)), level)
        except EmptyPopulationError:
            continue
        out.append((truth < low - 1e-9, truth > high + 1e-9))
    assert len(out) > 0.9 * draws
    return np.mean(out, axis=0)
