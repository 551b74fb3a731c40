"""How often the three verdicts of a report are wrong, and how often they say something.

A bound is called *shown* if the one-sided 95 % limit lies on its allowed side, *shown to
fail* if that of the other side lies beyond it. Drawn are the rows of a rule whose true
value is the bound exactly, and of one that is two standard errors better.

``python benchmarks/verdicts.py [--draws 1000] [--rows 300 1000 5000]``.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from cma_data import run_with_one_thread, verdict

from setpoint import Goal
from setpoint.counts import Codebook, Confusion, Stratum
from setpoint.errors import EmptyPopulationError
from setpoint.inference import CountedRates, interval_of, verdict_of
from setpoint.program import Linker

LEVEL = 0.90
"""Both ends are then one-sided limits at 95 %."""
WRONG, RIGHT = 0.05, 0.60
"""At the bound *shown* in no more draws, two standard errors better in no fewer."""
NOISE = 1.64
"""Standard errors that a share of draws may lie off its target by chance."""
SEED = 20
COST = "cost({('yes', 'no'): 5, ('no', 'yes'): 1})"

BINARY, THREE = ("no", "yes"), ("a", "b", "c")
Weights = Callable[[np.random.Generator, int], np.ndarray]


class Population(NamedTuple):
    """Shares (strata, n + 1, n) of the cells, and where a better rule would have them."""

    classes: tuple[str, ...]
    strata: tuple[Stratum, ...]
    shares: np.ndarray


class Case(NamedTuple):
    name: str
    text: str
    relation: str
    population: Population
    better: np.ndarray
    """Shares of a rule that is better; the rule looked for is a mixture with it."""
    weights: Weights | None = None
    targeted: bool = True


# ---------------------------------------------------------------------- populations
def of_rates(prior: float, tpr: float, fpr: float) -> np.ndarray:
    negative = [(1 - prior) * (1 - fpr), (1 - prior) * fpr]
    return np.array([negative, [prior * (1 - tpr), prior * tpr], [0.0, 0.0]])


def two_groups() -> Population:
    """Three rows in ten are of the second group, in which the rule is worse."""
    strata = tuple(Stratum(None, (("g", g),)) for g in "ab")
    shares = np.stack([0.7 * of_rates(0.3, 0.85, 0.08), 0.3 * of_rates(0.25, 0.7, 0.12)])
    return Population(BINARY, strata, shares)


def rare() -> Population:
    """One row in ten is positive."""
    return Population(BINARY, (Stratum(),), of_rates(0.1, 0.7, 0.03)[None])


def three_classes() -> Population:
    of_true = np.array([[0.8, 0.15, 0.05], [0.15, 0.75, 0.1], [0.1, 0.2, 0.7]])
    table = np.array([0.6, 0.25, 0.15])[:, None] * of_true
    return Population(THREE, (Stratum(),), np.vstack([table, np.zeros(3)])[None])


def deployed() -> Population:
    """A rule that decides one row in eight otherwise than the deployed one, and better."""
    strata = tuple(Stratum(None, (), b) for b in (0, 1))
    shares = np.zeros((2, 3, 2))
    # Of negatives and of positives: what both decide, by deployed and new class.
    shares[:, 0] = 0.7 * np.array([[0.84, 0.04], [0.06, 0.06]])
    shares[:, 1] = 0.3 * np.array([[0.16, 0.11], [0.05, 0.68]])
    return Population(BINARY, strata, shares)


def all_right(p: Population) -> np.ndarray:
    out = np.zeros_like(p.shares)
    for k in range(len(p.classes)):
        out[:, k, k] = p.shares[:, k].sum(axis=1)
    return out


def none_accepted(p: Population) -> np.ndarray:
    out = np.zeros_like(p.shares)
    out[..., 0] = p.shares.sum(axis=2)
    return out


def unchanged(p: Population) -> np.ndarray:
    out = np.zeros_like(p.shares)
    for c, stratum in enumerate(p.strata):
        out[c, :, stratum.baseline] = p.shares[c].sum(axis=1)
    return out


def of_alike_groups(p: Population) -> np.ndarray:
    """Every group with the rates of the first."""
    rates = p.shares[0, :2] / p.shares[0, :2].sum(axis=1, keepdims=True)
    out = np.zeros_like(p.shares)
    out[:, :2] = p.shares[:, :2].sum(axis=2, keepdims=True) * rates
    return out


# ---------------------------------------------------------------------- drawing
def drawn(p: Population, shares: np.ndarray, n: int, weights: Weights | None, rng):
    if weights is None:
        counts = rng.multinomial(n, shares.ravel() / shares.sum()).reshape(shares.shape)
        return of_table(p, counts, counts, counts)
    cell = rng.choice(shares.size, n, p=shares.ravel() / shares.sum())
    w = weights(rng, n)
    sums = (np.bincount(cell, x, shares.size).reshape(shares.shape) for x in (w, w * w))
    return of_table(p, *sums, np.bincount(cell, minlength=shares.size).reshape(shares.shape))


def of_table(p: Population, counts, squares, rows) -> Confusion:
    rows = rows.sum(axis=2).astype(np.int64)
    smallest = np.where(rows > 0, 1.0, np.inf)
    counts, squares = counts.astype(float), squares.astype(float)
    book = Codebook.of(p.classes, p.strata)
    return Confusion(book, counts, squares[None, None], rows, smallest)


def log_normal(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.exp(rng.normal(0.0, 0.7, n))


class Measured:
    """A metric, linked once and folded for each confusion."""

    def __init__(self, text: str, p: Population) -> None:
        shares = np.rint(1e6 * p.shares)
        codebook = of_table(p, shares, shares, shares).codebook
        self.codebook = codebook
        self.side = Goal.parse(f"maximize {text}").objective

    def __call__(self, where: Confusion) -> tuple[float, float, float]:
        """Value and limits; nothing is known of a population without rows."""
        linker = Linker(self.codebook, where.marginals, fixed=False)
        try:
            x = linker.function(self.side)
        except EmptyPopulationError:
            return math.nan, -math.inf, math.inf
        counted = CountedRates(linker.table, where)
        low, high, _ = interval_of(x, counted, LEVEL)
        return counted.value(x), low, high

    def truth(self, p: Population, shares: np.ndarray) -> float:
        counts = 1e9 * shares
        where = of_table(p, counts, counts, counts)
        linker = Linker(self.codebook, where.marginals, fixed=False)
        x = linker.function(self.side)
        return CountedRates(linker.table, where).value(x)


class Figures(NamedTuple):
    at_bound: float
    fails: float
    """Shown to fail at the bound."""
    better: float
    moved: float
    """Shown where the bound, and not the rule, is two standard errors away."""


def figures(case: Case, n: int, draws: int) -> Figures:
    rng = np.random.default_rng(SEED)
    p, measured = case.population, Measured(case.text, case.population)
    bound = measured.truth(p, p.shares)
    sign = 1.0 if case.relation == ">=" else -1.0

    def many(shares: np.ndarray) -> np.ndarray:
        return np.array([measured(drawn(p, shares, n, case.weights, rng)) for _ in range(draws)])

    def shares_of(found: np.ndarray, bound: float) -> tuple[float, float]:
        said = [verdict_of(low, high, bound, case.relation) for _, low, high in found]
        return said.count("shown") / draws, said.count("shown to fail") / draws

    found = many(p.shares)
    error = float(np.nanstd(found[:, 0]))
    goal = bound + sign * 2.0 * error

    def mixed(share: float) -> np.ndarray:
        return (1.0 - share) * p.shares + share * case.better

    low, high = 0.0, 1.0
    if sign * (measured.truth(p, case.better) - goal) < 0:
        power = math.nan  # no rule is that good
    else:
        for _ in range(50):
            middle = (low + high) / 2
            far = sign * (measured.truth(p, mixed(middle)) - goal) >= 0
            low, high = (low, middle) if far else (middle, high)
        power = shares_of(many(mixed(high)), bound)[0]
    return Figures(*shares_of(found, bound), power, shares_of(found, bound - sign * 2 * error)[0])


def cases() -> list[Case]:
    g, r, t, d = two_groups(), rare(), three_classes(), deployed()
    right, alike = all_right(g), of_alike_groups(g)
    ten = [("recall", ">=", right), ("precision", ">=", right), ("f1", ">=", right)]
    ten += [("accuracy", ">=", right), ("predicted_rate", "<=", none_accepted(g))]
    ten += [("balanced_accuracy", ">=", right), ("g_mean", ">=", right)]
    ten += [("recall.difference(g)", "<=", alike), (COST, "<=", right)]
    out = [Case(text, text, relation, g, better) for text, relation, better in ten]
    out.append(Case("macro_f1, 3 classes", "macro_f1", ">=", t, all_right(t)))

    def more(text: str, relation: str, p: Population, better: np.ndarray, name: str = "", **how):
        out.append(Case(text + name, text, relation, p, better, **how, targeted=False))

    more("precision.min(g)", ">=", g, right)
    more("recall.min(g)", ">=", g, right)
    more("predicted_rate.ratio(g)", ">=", g, alike)
    more("churn", "<=", d, unchanged(d))
    for text in ("recall", "precision", "f1", "g_mean", "mcc", "fbeta(2)", "fbeta(0.5)"):
        more(text, ">=", r, all_right(r), ", 10 % positive")
    for text in ("recall", "precision", "f1", "g_mean"):
        more(text, ">=", g, right, ", weighted", weights=log_normal)
    for text in ("accuracy", "recall.mean()", "recall.min()", "precision(label='c')"):
        more(text, ">=", t, all_right(t), ", 3 classes")
    for text in ("recall", "precision", "f1", "accuracy", "g_mean"):
        more(f"{text} - {text}.baseline()", ">=", d, all_right(d))
    more(f"{COST} - ({COST}).baseline()", "<=", d, all_right(d))
    return out


def run(some: Sequence[Case], rows: Sequence[int], draws: int) -> bool:
    most = WRONG + NOISE * math.sqrt(WRONG * (1 - WRONG) / draws)
    least = RIGHT - NOISE * math.sqrt(RIGHT * (1 - RIGHT) / draws)
    print(f"{draws:,} draws; at the bound: target <= {WRONG:g} (by chance {most:.3f});")
    print(f"two standard errors better: target >= {RIGHT:g} (by chance {least:.3f})")
    print(
        f"     {'':<28} {'rows':>6} {'shown':>8} {'to fail':>8} {'better':>8} {'bound moved':>12}"
    )
    good = True
    for case in some:
        for n in rows:
            f = figures(case, n, draws)
            fine = max(f.at_bound, f.fails) <= most
            fine &= n < 1000 or not f.better < least
            good &= fine or not case.targeted
            print(
                f"{verdict(fine)} {case.name[:28]:<28} {n:6,} {f.at_bound:8.3f} {f.fails:8.3f} "
                f"{f.better:8.3f} {f.moved:12.3f}",
                flush=True,
            )
    return good


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--rows", type=int, nargs="+", default=[300, 1000, 5000])
    parser.add_argument("--only", default="", help="a part of the name")
    options = parser.parse_args()
    some = [c for c in cases() if options.only in c.name]
    return int(not run(some, options.rows, options.draws))


if __name__ == "__main__":
    run_with_one_thread(main)
