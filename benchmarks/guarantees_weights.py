"""Promises for rows that weigh something: rare heavy rows, and rows drawn at known chances.

    python benchmarks/guarantees_weights.py [--draws 300] [--worst 1000] [--only PART ...]

*Broken* is the share of draws in which a bound that is just met in the population, or missed by a
hair, is called shown at 5 %: at most .05 and two standard errors of the draws; what misses that is
drawn again ``--worst`` times. ``largest_weight`` is the largest of the design; beside it stands
what becomes of it if the largest weight seen is taken instead.

Parts: ``heavy`` (one row in thousands weighs 20 or 200 times as much, and is bad or good),
``chances`` (rows drawn at chances of .05 to 1 weigh one over these), ``functions`` (several rates),
``rules`` (found and certified, end to end).
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from cma_data import run_with_one_thread
from guarantees_units import LEVEL, DrawnRows, certified, line, main, most, p_of, seeded
from scipy.stats import norm

from setpoint import Confidence, solve
from setpoint.rules import Rule

LIGHT = 0.9
"""The share of the light rows that are good."""

Draw = Callable[[int, np.random.Generator], DrawnRows]


def rows_of(good: np.ndarray, weight: np.ndarray) -> DrawnRows:
    """Rows that are all positive, accepted where they are good."""
    return DrawnRows(np.ones(len(good), np.int64), good.astype(np.int64), None, weight)


def broken(goal: str, draw: Draw, largest: float | None, n: int, draws: int, *name: Any) -> float:
    """The share of the draws that are called shown; without a largest weight, by that seen."""
    rng, found = seeded(goal, n, draws, *name), 0
    for _ in range(draws):
        rows = draw(n, rng)
        assert rows.weight is not None
        own = float(rows.weight.max()) if largest is None else largest
        found += p_of(goal, rows, Confidence(1 - LEVEL, largest_weight=own)) <= LEVEL
    return found / draws


def at_the_bound(
    what: str, made: Callable[[int], float], draws: int, worst: int, beside: str = ""
) -> bool:
    figure = made(draws)
    if figure > LEVEL and worst > draws:
        figure, draws = made(worst), worst
    return line(figure <= most(draws), what, figure, f"<= {most(draws):.3f}", draws, beside)


# ---------------------------------------------------------------------- rare heavy rows
def heavy_rows(weight: float, expected: float, is_good: bool) -> tuple[Draw, float]:
    """Rows of which so many in 1,000 are heavy, and the weighted share that is good."""
    q = expected / 1_000

    def draw(n: int, rng: np.random.Generator) -> DrawnRows:
        heavy = rng.random(n) < q
        good = np.where(heavy, is_good, rng.random(n) < LIGHT)
        return rows_of(good, np.where(heavy, weight, 1.0))

    return draw, ((1 - q) * LIGHT + q * weight * is_good) / (1 - q + q * weight)


def heavy(draws: int, worst: int) -> bool:
    """Rare heavy rows, 1,000 rows, the bound at the truth."""
    fine = True
    for weight in (20.0, 200.0):
        for expected in (0.3, 3.0, 30.0):
            for is_good in (False, True):
                draw, truth = heavy_rows(weight, expected, is_good)
                goal = f"maximize accuracy subject to recall >= {truth + 1e-12!r}"
                name = (weight, expected, is_good)
                what = f"{expected:g} in 1,000 weigh {weight:g}, {'good' if is_good else 'bad'}"
                seen = broken(goal, draw, None, 1_000, draws, *name)
                fine &= at_the_bound(
                    what,
                    lambda k, g=goal, d=draw, w=weight, m=name: broken(g, d, w, 1_000, k, *m),
                    draws, worst, f"largest as seen {seen:.2f}",
                )  # fmt: skip
    return fine


# ---------------------------------------------------------------------- rows drawn at known chances
SMALLEST = 0.05


def chances_of(n: int, rng: np.random.Generator) -> np.ndarray:
    """Chances of rows that were drawn, where those of the population are even from .05 to 1."""
    return np.sqrt(SMALLEST**2 + (1 - SMALLEST**2) * rng.random(n))


def by_chance(n: int, rng: np.random.Generator) -> DrawnRows:
    chance = chances_of(n, rng)
    return rows_of(rng.random(n) < 0.7 + 0.2 * chance, 1 / chance)


def by_stratum(n: int, rng: np.random.Generator) -> DrawnRows:
    """A stratum of .9 of the population and one of .1, drawn equally often."""
    small = rng.random(n) < 0.5
    return rows_of(rng.random(n) < np.where(small, 0.5, 0.9), np.where(small, 0.2, 1.8))


def chances(draws: int, worst: int) -> bool:
    """Weights of one over the chance to be drawn, and those of strata."""
    fine, truth = True, 0.7 + 0.2 * (1 + SMALLEST) / 2
    at, near, strata = (
        f"maximize accuracy subject to recall >= {bound!r}"
        for bound in (truth, truth - 0.03, 0.86 + 1e-12)
    )
    for n, least in ((1_000, 0.33), (5_000, 0.90)):
        fine &= at_the_bound(
            f"chances of .05 to 1, {n:,} rows",
            lambda k, n=n: broken(at, by_chance, 20.0, n, k), draws, worst,
        )  # fmt: skip
        power = broken(near, by_chance, 20.0, n, draws)
        fine &= line(
            power >= least, "  the same with slack .03: passes", power, f">= {least}", draws
        )
        fine &= at_the_bound(
            f"two strata, {n:,} rows",
            lambda k, n=n: broken(strata, by_stratum, 1.8, n, k),
            draws, worst,
        )  # fmt: skip
    return fine


# ---------------------------------------------------------------------- several rates
SHARES = np.array([0.5, 0.1, 0.1, 0.3])
FUNCTIONS: dict[str, Callable[[np.ndarray], float]] = {
    "precision": lambda s: s[3] / (s[1] + s[3]),
    "fbeta(2)": lambda s: 5 * s[3] / (5 * s[3] + 4 * s[2] + s[1]),
    "g_mean": lambda s: math.sqrt(s[3] / (s[2] + s[3]) * s[0] / (s[0] + s[1])),
    "balanced_accuracy": lambda s: (s[3] / (s[2] + s[3]) + s[0] / (s[0] + s[1])) / 2,
}


def entries(weight: float, expected: float, entry: int) -> tuple[Draw, np.ndarray]:
    """Rows of which so many in 1,000 are heavy, all of them of one entry, and weighted shares."""
    q = expected / 1_000
    shares = (1 - q) * SHARES
    shares[entry] += q * weight

    def draw(n: int, rng: np.random.Generator) -> DrawnRows:
        is_heavy = rng.random(n) < q
        at = np.where(is_heavy, entry, rng.choice(4, n, p=SHARES))
        return DrawnRows(at // 2, at % 2, None, np.where(is_heavy, weight, 1.0))

    return draw, shares / shares.sum()


def functions(draws: int, worst: int) -> bool:
    """Several rates, 1,000 rows of which some weigh 20."""
    fine = True
    for text, value in FUNCTIONS.items():
        for expected, entry in ((3.0, 1), (3.0, 2), (30.0, 2)):
            draw, shares = entries(20.0, expected, entry)
            goal = f"maximize accuracy subject to {text} >= {float(value(shares)) + 1e-12!r}"
            name = "accepted" if entry == 1 else "missed"
            fine &= at_the_bound(
                f"{text}, {expected:g} in 1,000 weigh 20, wrongly {name}",
                lambda k, g=goal, d=draw, m=(expected, entry): broken(g, d, 20.0, 1_000, k, *m),
                draws, worst,
            )  # fmt: skip
    return fine


# ---------------------------------------------------------------------- rules, end to end
EVEN = np.linspace(SMALLEST, 1.0, 401)
POSITIVE = 0.4


def true_rates(cut: float) -> tuple[float, float]:
    """Recall and precision of a cut-off; the scores of likely rows lie further apart."""
    caught = float(norm.sf(cut - 1 - EVEN).mean())
    good = POSITIVE * caught
    return caught, float(good / (good + (1 - POSITIVE) * norm.sf(cut)))


def rules(draws: int, worst: int) -> bool:
    """Rules found and certified by weighted rows, beside the same rows without weights."""
    fine, n = True, 1_000
    for goal, at, floor in (
        ("maximize precision subject to recall >= 0.8", 0, 0.8),
        ("maximize recall subject to precision >= 0.65", 1, 0.65),
    ):
        rng, found = seeded(goal, n), np.zeros((2, 2))
        for _ in range(draws):
            chance, y = chances_of(n, rng), (rng.random(n) < POSITIVE).astype(int)
            scores = rng.normal((1 + chance) * y, 1.0)
            for j, weight in enumerate((1 / chance, None)):
                rates = _rates(goal, scores, y, weight)
                found[j] += rates is not None and rates[at] < floor, rates is None
        broke, refused = found[0] / draws
        what = f"{goal.split(' to ')[1]}, {n:,} rows"
        beside = f"refused {refused:.2f}; without weights {found[1][0] / draws:.2f}"
        fine &= line(broke <= most(draws), what, broke, f"<= {most(draws):.3f}", draws, beside)
    return fine


def _rates(goal: str, scores: Any, y: Any, weight: Any) -> tuple[float, float] | None:
    largest = None if weight is None else 1 / SMALLEST
    settings = Confidence(1 - LEVEL, largest_weight=largest)

    def rule() -> Rule:
        return solve(goal, scores, y, sample_weight=weight, confidence=settings).rule

    return certified(rule, true_rates)


PARTS = {"heavy": heavy, "chances": chances, "functions": functions, "rules": rules}


if __name__ == "__main__":
    sys.exit(run_with_one_thread(partial(main, PARTS, __doc__)))
