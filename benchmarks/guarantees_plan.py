"""How often as many rows as are planned show what they were planned for.

Drawn are rows of a rule that is as the plan assumes; each draw is tested as a certificate is:
by an exact binomial tail where there is one, else by drawing the cells anew (Gamma) with one
worst row in each rate, or by two Beta limits for two groups. Asked is a chance of 80 %.

``python benchmarks/guarantees_plan.py [--draws 4000] [--confidence 0.95]``.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from cma_data import run_with_one_thread, verdict

from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.guarantees import Pilot, rows_of
from setpoint.inference import at_least

POWER = 0.8
SEED = 7
INNER = 2000
"""Draws of each test that draws."""
NOISE = 2.33
"""Standard errors that a share of draws may lie below what is asked by chance."""
COST = "cost({('yes', 'no'): 5, ('no', 'yes'): 1})"

Test = Callable[[np.ndarray, np.random.Generator], float]
"""The p-value of some counts (strata, 2, 2)."""


class Case(NamedTuple):
    constraint: str
    shares: np.ndarray
    test: Test


# ------------------------------------------------------------------------- populations
def of_rates(prior: float, tpr: float, fpr: float) -> np.ndarray:
    negative = [(1 - prior) * (1 - fpr), (1 - prior) * fpr]
    return np.array([[negative, [prior * (1 - tpr), prior * tpr]]])


def two_groups(first: float, second: float) -> np.ndarray:
    return np.concatenate([0.6 * of_rates(0.3, first, 0.1), 0.4 * of_rates(0.3, second, 0.1)])


# ------------------------------------------------------------------------------- tests
def recall(bound: float) -> Test:
    return lambda c, _: _exact(c[0, 1, 1], c[0, 1].sum(), bound)


def precision(bound: float) -> Test:
    return lambda c, _: _exact(c[0, 1, 1], c[0, :, 1].sum(), bound)


def f1(bound: float) -> Test:
    return lambda c, _: _exact(c[0, 1, 1], c[0].sum() - c[0, 0, 0], bound / (2 - bound))


def false_positive_rate(bound: float) -> Test:
    return lambda c, _: _exact(c[0, 0, 0], c[0, 0].sum(), 1 - bound)


def f2(bound: float) -> Test:
    def p(c: np.ndarray, r: np.random.Generator) -> float:
        tp, fn, fp = (_gamma(c[0, i, j], r) for i, j in ((1, 1), (1, 0), (0, 1)))
        worst = r.exponential(size=INNER)
        return _share(5 * tp / (5 * tp + 4 * (fn + worst) + fp) < bound)

    return p


def g_mean(bound: float) -> Test:
    def p(c: np.ndarray, r: np.random.Generator) -> float:
        rates = [_rate(c[0, k, k], c[0, k, 1 - k], r) for k in (0, 1)]
        return _share(np.sqrt(rates[0] * rates[1]) < bound)

    return p


def cost(bound: float) -> Test:
    def p(c: np.ndarray, r: np.random.Generator) -> float:
        fn, fp = _gamma(c[0, 1, 0], r), _gamma(c[0, 0, 1], r)
        right = _gamma(c[0, 0, 0] + c[0, 1, 1], r)
        worst = r.exponential(size=INNER)
        return _share((5 * (fn + worst) + fp) / (fn + fp + right + worst) > bound)

    return p


def difference(bound: float) -> Test:
    """Melding (Fay, Proschan and Brittain 2015), for both orders of the groups."""

    def p(c: np.ndarray, r: np.random.Generator) -> float:
        k, n = c[:, 1, 1], c[:, 1].sum(axis=1)
        low = [r.beta(k[i], n[i] - k[i] + 1, INNER) if k[i] else 0.0 for i in (0, 1)]
        high = [r.beta(k[i] + 1, n[i] - k[i], INNER) if k[i] < n[i] else 1.0 for i in (0, 1)]
        return max(_share(np.ones(INNER) * (high[i] - low[1 - i]) > bound) for i in (0, 1))

    return p


def balanced_accuracy(bound: float) -> Test:
    def p(c: np.ndarray, r: np.random.Generator) -> float:
        rates = [_rate(c[0, k, k], c[0, k, 1 - k], r) for k in (0, 1)]
        return _share((rates[0] + rates[1]) / 2 < bound)

    return p


def both(one: Test, other: Test) -> Test:
    return lambda c, r: max(one(c, r), other(c, r))


def _exact(k: float, m: float, q: float) -> float:
    return 1.0 if k == 0 else float(at_least(k, m, q))


def _gamma(n: float, r: np.random.Generator) -> np.ndarray:
    return r.standard_gamma(n, INNER)


def _rate(hits: float, misses: float, r: np.random.Generator) -> np.ndarray:
    up, down = _gamma(hits, r), _gamma(misses, r) + r.exponential(size=INNER)
    return up / (up + down)


def _share(bad: np.ndarray) -> float:
    return float((1 + np.count_nonzero(bad)) / (1 + bad.size))


CASES = [
    Case("recall >= 0.9", of_rates(0.1, 0.93, 0.03), recall(0.9)),
    Case("recall >= 0.8", of_rates(0.3, 0.9, 0.1), recall(0.8)),
    Case("precision >= 0.9", of_rates(0.1, 0.8, 0.8 / 9 * 0.07 / 0.93), precision(0.9)),
    Case("precision >= 0.5", of_rates(0.05, 0.6, 0.02), precision(0.5)),
    Case("false_positive_rate <= 0.05", of_rates(0.1, 0.8, 0.04), false_positive_rate(0.05)),
    Case("f1 >= 0.7", of_rates(0.1, 0.8, 0.04), f1(0.7)),
    Case(
        "recall >= 0.8 and false_positive_rate <= 0.05",
        of_rates(0.2, 0.85, 0.04),
        both(recall(0.8), false_positive_rate(0.05)),
    ),
    Case("f_beta(beta=2) >= 0.7", of_rates(0.1, 0.8, 0.04), f2(0.7)),
    Case("f_beta(beta=2) >= 0.76", of_rates(0.1, 0.82, 0.03), f2(0.76)),
    Case("f_beta(beta=2) >= 0.6", of_rates(0.05, 0.85, 0.03), f2(0.6)),
    Case("g_mean >= 0.85", of_rates(0.1, 0.82, 0.06), g_mean(0.85)),
    Case("g_mean >= 0.8", of_rates(0.1, 0.9, 0.06), g_mean(0.8)),
    Case("balanced_accuracy >= 0.8", of_rates(0.05, 0.8, 0.1), balanced_accuracy(0.8)),
    Case(f"{COST} <= 0.15", of_rates(0.1, 0.8, 0.02), cost(0.15)),
    Case(f"{COST} <= 0.13", of_rates(0.1, 0.8, 0.02), cost(0.13)),
    Case("recall.difference(g) <= 0.1", two_groups(0.85, 0.82), difference(0.1)),
    Case("recall.difference(g) <= 0.1", two_groups(0.85, 0.85), difference(0.1)),
    Case("recall.difference(g) <= 0.2", two_groups(0.95, 0.85), difference(0.2)),
]


# ------------------------------------------------------------------------------- the run
def pilot_of(case: Case) -> Pilot:
    """The population itself, as a table of many rows."""
    n = len(case.shares)
    groups = [()] if n == 1 else [(("g", g),) for g in "ab"]
    counts = np.zeros((n, 3, 2))
    counts[:, :2] = np.round(case.shares * 1e9)
    strata = tuple(Stratum(None, key) for key in groups)
    found = Confusion.of_units(Codebook.of(("no", "yes"), strata), counts)
    return Pilot.of(f"maximize accuracy subject to {case.constraint}", found)


def reached(case: Case, n: int, delta: float, draws: int) -> float:
    """The share of draws of `n` rows that show the constraint."""
    r = np.random.default_rng(SEED)
    shares = case.shares.ravel() / case.shares.sum()
    counts = r.multinomial(n, shares, size=draws).reshape(draws, *case.shares.shape)
    return float(np.mean([case.test(c, r) <= delta for c in counts]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=4000)
    parser.add_argument("--confidence", type=float, default=0.95)
    given = parser.parse_args()
    delta, failed = 1.0 - given.confidence, 0
    print(f"{'constraint':62} {'method':7} {'rows':>7}  reached (asked {POWER})")
    for case in CASES:
        pilot = pilot_of(case)
        plans = [pilot.plan(i, delta) for i in range(len(pilot.parts))]
        n = rows_of(plans, POWER)
        assert n is not None
        share = reached(case, n, delta, given.draws)
        noise = NOISE * float(np.sqrt(POWER * (1 - POWER) / given.draws))
        failed += share < POWER - noise
        method = "exact" if all(plan.is_exact for plan in plans) else "normal"
        good = verdict(share >= POWER - noise)
        print(f"{case.constraint:62} {method:7} {n:7,}  {share:.3f}  {good}")
    return int(failed > 0)


if __name__ == "__main__":
    run_with_one_thread(main)
