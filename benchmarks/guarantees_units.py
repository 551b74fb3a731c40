"""Promises and intervals by units: rows of one unit depend on each other, units do not.

    python benchmarks/guarantees_units.py [--draws 300] [--worst 1000] [--only PART ...]

Units are drawn from populations whose truth is known: a size from a list, the share of good rows
of the unit from a beta law (for tables of several entries a Dirichlet law) whose mean is known,
and rows at that share; `icc` is their correlation in a unit. *Broken* is the share of draws in
which a bound that is just met, or missed by a hair, is called shown at 5 %: at most .05 and two
standard errors of the draws. What misses that is drawn again, by itself and ``--worst`` times.

Parts: ``bound`` (one rate), ``functions`` (several rates, minima, gaps, churn, deferral, profit),
``cap`` (units above the largest of the rows that chose count as so many), ``recall`` and
``precision`` (rules found and certified, end to end), ``intervals``.
"""

from __future__ import annotations

import argparse
import math
import sys
import warnings
import zlib
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from cma_data import run_with_one_thread, verdict
from scipy.special import expit, logit
from scipy.stats import lognorm, norm, pareto, poisson
from sklearn.base import BaseEstimator, ClassifierMixin

from setpoint import (
    Confidence,
    Dataset,
    Goal,
    GoalError,
    InfeasibleError,
    NotCertifiable,
    PlugInClassifier,
    solve,
)
from setpoint.counts import DEFERRED, Confusion, Rows, Units
from setpoint.errors import EmptyPopulationError
from setpoint.guarantees import Promise, RuleTests, Tried, capped
from setpoint.inference import interval
from setpoint.program import link

LEVEL = 0.05


def most(draws: int) -> float:
    """What a share of the draws may reach where .05 is allowed."""
    return LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def line(
    good: bool | None, what: str, figure: float, bar: str, draws: int, beside: str = ""
) -> bool:
    beside = beside and f"   beside: {beside}"
    print(
        f"{verdict(good)} {what:<58} {figure:6.3f}   {bar:<16} {draws:>6,} draws{beside}",
        flush=True,
    )
    return good is not False


def seeded(*what: Any) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32(repr(what).encode()))


# ---------------------------------------------------------------------- tests of drawn rows
@cache
def parsed(text: str) -> Goal:
    return Goal.parse(text)


class DrawnRows(NamedTuple):
    """Rows as drawn: labels, decisions, the unit of each, and what else is known of them."""

    y: np.ndarray
    decided: np.ndarray
    unit: np.ndarray | None
    weight: np.ndarray | None = None
    columns: dict[str, np.ndarray] | None = None
    baseline: np.ndarray | None = None


def counted(goal: str, rows: DrawnRows, confidence: Confidence, classes: Any = (0, 1)) -> Any:
    """The tests of a goal on some rows, and what was decided there."""
    asked = parsed(goal)
    own = Rows.from_arrays(
        classes, rows.y, len(rows.y), needs=asked.needs, weight=rows.weight, columns=rows.columns,
        baseline=rows.baseline, units=None if rows.unit is None else Units.of(rows.unit),
    )  # fmt: skip
    promise = Promise.of(link(asked, own.codebook), confidence)
    own = capped(own, promise)
    promise = promise.on(own)
    return RuleTests(promise, own.marginals), own.decided(rows.decided)


def p_of(goal: str, rows: DrawnRows, confidence: Confidence, classes: Any = (0, 1)) -> float:
    tests, confusion = counted(goal, rows, confidence, classes)
    return float(tests.p_values(Tried(confusion)).of(tests.parts[0], LEVEL).p)


# ---------------------------------------------------------------------- populations of one rate
POINTS = 2_000
"""Sizes in the list of a population: quantiles of its law."""


class Sized(NamedTuple):
    """A population of units: sizes that are equally likely, the largest, and how the rate goes."""

    sizes: np.ndarray
    slope: float = 0.0

    @property
    def largest(self) -> int:
        return int(self.sizes.max())

    def shares(self, rate: float, most: float = math.inf) -> np.ndarray:
        """The expected share of good rows by size, so that rows, capped, are good at a rate."""
        rank = np.argsort(np.argsort(self.sizes, kind="stable"), kind="stable") / len(self.sizes)
        weight = np.minimum(self.sizes, most)

        def at(shift: float) -> np.ndarray:
            return np.asarray(expit(logit(rate) + shift + self.slope * (rank - 0.5)))

        low, high = -8.0, 8.0
        for _ in range(60):
            middle = (low + high) / 2
            below = weight @ at(middle) < rate * weight.sum()
            low, high = (middle, high) if below else (low, middle)
        return at(low)


def quantiles(law: Any, largest: int) -> np.ndarray:
    at = law.ppf((np.arange(POINTS) + 0.5) / POINTS)
    return np.clip(np.ceil(at), 1, largest).astype(np.int64)


LOGNORMAL = quantiles(lognorm(1.0, scale=5.0), 100)
POPULATIONS = {
    "ten rows each": Sized(np.array([10])),
    "1 + Poisson(3)": Sized(quantiles(poisson(3.0, loc=1), 20)),
    "lognormal": Sized(LOGNORMAL),
    "Pareto": Sized(quantiles(pareto(1.5), 100)),
    "lognormal, larger worse": Sized(LOGNORMAL, -3.0),
    "lognormal, larger better": Sized(LOGNORMAL, 3.0),
    "one of 200 with 100 bad rows": Sized(np.append(np.full(199, 10), 100)),
}
RARE = "one of 200 with 100 bad rows"
RATES, ICC = (0.5, 0.8, 0.95), (0.0, 0.3, 0.9)
CELLS = {
    20: ((0.5, 0.3), (0.8, 0.0), (0.8, 0.9), (0.95, 0.3)),
    200: ((0.5, 0.3), (0.8, 0.0), (0.8, 0.9), (0.95, 0.3)),
    1_000: ((0.8, 0.3),),
}
"""Rates and correlations of rows, by number of units."""


@cache
def shares_of(name: str, rate: float, most: float = math.inf) -> np.ndarray:
    """The expected share of good rows by size."""
    own = POPULATIONS[name]
    if name != RARE:
        return own.shares(rate, most)
    good = rate * own.sizes.sum() / own.sizes[:-1].sum()
    return np.append(np.full(199, good), 0.0)


def units_of_one_rate(
    name: str, shares: np.ndarray, icc: float, n: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Sizes (n,) of units, and how many of the rows of each are good."""
    at = rng.integers(0, len(shares), n)
    size, share = POPULATIONS[name].sizes[at], shares[at]
    if icc > 0:
        inside = (share > 0.0) & (share < 1.0)
        more = 1.0 / icc - 1.0
        a, b = np.where(inside, share, 0.5) * more, np.where(inside, 1.0 - share, 0.5) * more
        share = np.where(inside, rng.beta(a, b), share)
    return size, rng.binomial(size, share)


def rows_of(size: np.ndarray, good: np.ndarray) -> DrawnRows:
    """Rows that are all positive, accepted where they are good."""
    unit = np.repeat(np.arange(len(size)), size)
    place = np.arange(len(unit)) - np.repeat(np.cumsum(size) - size, size)
    return DrawnRows(np.ones(len(unit), np.int64), (place < good[unit]).astype(np.int64), unit)


def broken_at_the_bound(
    name: str, rate: float, icc: float, n: int, draws: int
) -> tuple[float, float, float]:
    """Broken by units, by rows, and by units where the largest is the largest seen."""
    rng, shares = seeded(name, rate, icc, n, draws), shares_of(name, rate)
    goal = f"maximize accuracy subject to recall >= {rate}"
    found = np.zeros(3)
    for _ in range(draws):
        rows = rows_of(*units_of_one_rate(name, shares, icc, n, rng))
        largest = Confidence(1 - LEVEL, largest_unit=POPULATIONS[name].largest)
        found[0] += p_of(goal, rows, largest) <= LEVEL
        found[1] += p_of(goal, rows._replace(unit=None), Confidence(1 - LEVEL)) <= LEVEL
        if name == RARE:
            found[2] += p_of(goal, rows, Confidence(1 - LEVEL)) <= LEVEL
    return tuple(found / draws)


def bound(draws: int, worst: int) -> bool:
    """One rate at its bound, the largest unit known."""
    good, ever = True, 0.0
    for name in POPULATIONS:
        for n, own in CELLS.items():
            cells = {c: broken_at_the_bound(name, *c, n, draws) for c in own}
            at = max(cells, key=lambda c: cells[c][0])
            figure, made = cells[at][0], draws
            if figure > LEVEL and worst > draws:
                figure, made = broken_at_the_bound(name, *at, n, worst)[0], worst
            ever = max(ever, figure)
            beside = f"by rows {max(c[1] for c in cells.values()):.2f}"
            if name == RARE:
                beside += f", L as seen {max(c[2] for c in cells.values()):.2f}"
            what = f"{name}, {n:,} units, worst of {len(own)} ({at[0]}, icc {at[1]})"
            good &= line(figure <= most(made), what, figure, f"<= {most(made):.3f}", made, beside)
    print(f"     the worst of all: {ever:.3f}")
    return good


# ---------------------------------------------------------------------- functions of several rates
class Asked(NamedTuple):
    """A bound, and the shares of entries (truth, decision, group, deployed) in the population."""

    constraint: str
    entries: list[tuple[int, int, int, int]]
    shares: list[float]
    value: Callable[[np.ndarray], float]
    classes: Any = (0, 1)


OF_FUNCTIONS = (
    (30, "1 + Poisson(3)", 0.9), (30, "ten rows each", 0.3), (200, "1 + Poisson(3)", 0.3),
    (1_000, "ten rows each", 0.9),
)  # fmt: skip
TWO = [(0, 0, 0, 0), (0, 1, 0, 0), (1, 0, 0, 0), (1, 1, 0, 0)]
GROUPED = [(y, d, g, 0) for g in (0, 1) for y in (0, 1) for d in (0, 1)]
THREE = [(y, d, 0, 0) for y in range(3) for d in range(3)]
DEPLOYED = [(y, d, 0, b) for b in (0, 1) for y in (0, 1) for d in (0, 1)]
DECIDED = [(y, d, 0, 0) for y in (0, 1) for d in range(3)]
AMOUNTS = np.array([5.0, 20.0, 20.0, 50.0])


def _macro_f1(s: np.ndarray) -> float:
    table = s.reshape(3, 3)
    return float(np.mean(2 * np.diag(table) / (table.sum(0) + table.sum(1))))


FUNCTIONS = {
    "precision": Asked(
        "precision >= {}", TWO, [0.5, 0.1, 0.1, 0.3], lambda s: s[3] / (s[1] + s[3])
    ),
    "F2": Asked(
        "fbeta(2) >= {}", TWO, [0.5, 0.1, 0.1, 0.3],
        lambda s: 5 * s[3] / (5 * s[3] + 4 * s[2] + s[1]),
    ),
    "profit": Asked(
        "profit(tp=amount, fp=-10) >= {}", TWO, [0.5, 0.1, 0.1, 0.3],
        lambda s: s[3] * AMOUNTS[3] - 10 * s[1],
    ),
    "accuracy of those decided": Asked(
        "accuracy.decided >= {}", DECIDED, [0.4, 0.05, 0.1, 0.05, 0.3, 0.1],
        lambda s: (s[0] + s[4]) / (s[0] + s[1] + s[3] + s[4]), (0, 1, DEFERRED),
    ),
    "churn": Asked(
        "churn <= {}", DEPLOYED, [0.4, 0.04, 0.1, 0.04, 0.04, 0.1, 0.04, 0.24],
        lambda s: s[1] + s[3] + s[4] + s[6],
    ),
    "smallest recall of groups": Asked(
        "recall.min(g) >= {}", GROUPED, [0.3, 0.05, 0.01, 0.19, 0.2, 0.05, 0.04, 0.16],
        lambda s: s[7] / (s[6] + s[7]),
    ),
    "difference": Asked(
        "recall.on(g=0) - recall.on(g=1) <= {}", GROUPED,
        [0.3, 0.05, 0.04, 0.16, 0.2, 0.05, 0.06, 0.14],
        lambda s: s[3] / (s[2] + s[3]) - s[7] / (s[6] + s[7]),
    ),
    "G-mean": Asked(
        "g_mean >= {}", TWO, [0.5, 0.1, 0.1, 0.3],
        lambda s: math.sqrt(s[3] / (s[2] + s[3]) * s[0] / (s[0] + s[1])),
    ),
    "macro-F1, 3 classes": Asked(
        "macro_f1 >= {}", THREE, [0.3, 0.06, 0.04, 0.05, 0.22, 0.06, 0.03, 0.05, 0.19], _macro_f1,
        (0, 1, 2),
    ),
}  # fmt: skip


def rows_of_entries(
    asked: Asked, name: str, icc: float, n: int, rng: np.random.Generator
) -> DrawnRows:
    size = POPULATIONS[name].sizes[rng.integers(0, len(POPULATIONS[name].sizes), n)]
    shares = rng.dirichlet((1.0 / icc - 1.0) * np.array(asked.shares), n)
    unit = np.repeat(np.arange(n), size)
    entry = (rng.random((len(unit), 1)) > np.cumsum(shares, axis=1)[unit, :-1]).sum(axis=1)
    y, d, g, b = np.array(asked.entries)[entry].T
    amount = AMOUNTS[entry] if "amount" in asked.constraint else np.zeros(0)
    columns = {"amount": amount} if len(amount) else {"g": g}
    return DrawnRows(y, d, unit, columns=columns, baseline=b)


def broken_function(name: str, sizes: str, icc: float, n: int, draws: int) -> tuple[float, float]:
    """Broken by units, and by rows, at the bound."""
    asked, rng = FUNCTIONS[name], seeded(name, sizes, icc, n, draws)
    truth, found, refused = float(asked.value(np.array(asked.shares))), np.zeros(2), 0
    sign = 1 if ">=" in asked.constraint else -1
    goal = f"maximize accuracy subject to {asked.constraint.format(repr(truth + sign * 1e-12))}"
    known = {"ranges": {"amount": (0, 50)}} if "amount" in goal else {}
    largest = Confidence(1 - LEVEL, largest_unit=POPULATIONS[sizes].largest, **known)
    for _ in range(draws):
        rows = rows_of_entries(asked, sizes, icc, n, rng)
        try:
            found[0] += p_of(goal, rows, largest, asked.classes) <= LEVEL
            rows = rows._replace(unit=None)
            found[1] += p_of(goal, rows, Confidence(1 - LEVEL, **known), asked.classes) <= LEVEL
        except (EmptyPopulationError, GoalError):  # no rows, or the bound is out of reach
            refused += 1
    assert refused <= 0.3 * draws + 1, "most draws have no test"
    return tuple(found / draws)


def functions(draws: int, worst: int) -> bool:
    """Several rates, each drawn, and others, at the bound."""
    good = True
    for name in FUNCTIONS:
        for n, sizes, icc in OF_FUNCTIONS:
            made, (figure, by_rows) = draws, broken_function(name, sizes, icc, n, draws)
            if figure > LEVEL and worst > draws:
                figure, made = broken_function(name, sizes, icc, n, worst)[0], worst
            what, beside = f"{name}, {n:,} units ({sizes}, icc {icc})", f"by rows {by_rows:.2f}"
            good &= line(figure <= most(made), what, figure, f"<= {most(made):.3f}", made, beside)
    return good


# ---------------------------------------------------------------------- units that are too large
def cap(draws: int, worst: int) -> bool:
    """Units above the largest of the rows that chose count as so many, at the capped rate."""
    good, n, icc = True, 200, 0.1
    for name in ("Pareto", "lognormal, larger worse"):
        own = POPULATIONS[name]
        for what, point in (("largest", 1.0), ("90 % point", 0.9)):
            for rate in RATES[1:]:
                rng = seeded("cap", name, what, rate)
                broke = passed = 0
                for _ in range(draws):
                    first = own.sizes[rng.integers(0, len(own.sizes), n)]
                    limit = float(np.quantile(first, point, method="higher"))
                    shares = shares_of(name, rate, limit)
                    rows = rows_of(*units_of_one_rate(name, shares, icc, n, rng))
                    settings = Confidence(1 - LEVEL, largest_unit=limit)
                    goal = "maximize accuracy subject to recall >= {}"
                    broke += p_of(goal.format(rate), rows, settings) <= LEVEL
                    passed += p_of(goal.format(round(rate - 0.1, 2)), rows, settings) <= LEVEL
                figure = broke / draws
                text = f"{name}, {n} units, capped at the {what} of as many, {rate}"
                beside = f"with slack .1 {passed / draws:.2f} pass"
                bar = f"<= {most(draws):.3f}"
                good &= line(figure <= most(draws), text, figure, bar, draws, beside)
    return good


# ---------------------------------------------------------------------- rules, end to end
APART, POSITIVE, NOISE = 1.37, 0.4, 0.05
"""How far the scores of the classes lie apart, positives, and how unlike the rows of a unit."""
SPREAD = math.hypot(1.0, NOISE)


def true_rates(cut: float) -> tuple[float, float]:
    """Recall and precision of a cut-off of the scores below."""
    good = POSITIVE * norm.sf((cut - APART) / SPREAD)
    return float(good / POSITIVE), float(good / (good + (1 - POSITIVE) * norm.sf(cut / SPREAD)))


def scored(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labels and units of n units of ten nearly equal rows."""
    y = (rng.random(n) < POSITIVE).astype(int)
    own = APART * y + rng.normal(size=n)
    unit = np.repeat(np.arange(n), 10)
    return own[unit] + NOISE * rng.normal(size=len(unit)), y[unit], unit + rng.integers(2**60)


Rated = Callable[[float], tuple[float, float]]
"""From a cut-off to what it reaches."""


def certified(run: Callable[[], Any], rates: Rated = true_rates) -> tuple[float, float] | None:
    """Recall and precision of the rule that is certified; None: refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            rule = run()
        except (InfeasibleError, NotCertifiable):
            return None
    return rates(float(rule.threshold))


def recall(draws: int, worst: int) -> bool:
    """A floor of recall: every cut-off on all rows."""
    goal, good = "maximize precision subject to recall >= 0.8", True
    for n in (60, 200, 1_000):
        rng, found = seeded("recall", n), {"units": [], "rows": []}
        for _ in range(draws):
            scores, y, unit = scored(n, rng)
            for way, units in (("units", unit), ("rows", None)):
                found[way].append(
                    certified(
                        lambda s=scores, y=y, u=units: (
                            solve(goal, s, y, units=u, confidence=1 - LEVEL).rule
                        )
                    )
                )
        broke, by_rows = (_share(found[way], 0, 0.8) for way in ("units", "rows"))
        what = f"recall >= .8, every cut-off, {n:,} units of ten rows"
        beside = f"by rows {by_rows:.2f}; refused {_refused(found['units']):.2f}"
        good &= line(broke <= most(draws), what, broke, f"<= {most(draws):.3f}", draws, beside)
    return good


class Given(ClassifierMixin, BaseEstimator):
    """A fitted model whose scores are the rows."""

    classes_ = np.array([0, 1])

    def decision_function(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0]

    def fit(self, X: Any, y: Any) -> Given:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True


def precision(draws: int, worst: int) -> bool:
    """A floor of precision: a path on other rows, as a fit does it, and a part of the same."""
    goal, good = "maximize recall subject to precision >= 0.7", True
    bars = {60: 1.0, 200: 0.55, 1_000: 0.02}
    ways: dict[str, Callable[..., Any]] = {
        "path on as many units": lambda a, b, by: (
            PlugInClassifier(Given(), goal, cv="prefit", confidence=1 - LEVEL)
            .fit(
                a[0][:, None], a[1], units=by and a[2],
                certify_on=Dataset(b[0][:, None], b[1], units=by and b[2]),
            ).rule_
        ),
        "path on a part": lambda a, b, by: solve(
            goal, b[0], b[1], units=by and b[2], confidence=1 - LEVEL
        ).rule,
    }  # fmt: skip
    for n, bar in bars.items():
        rng = seeded("precision", n)
        pairs = [(scored(n, rng), scored(n, rng)) for _ in range(draws)]
        for way, run in ways.items():
            found, others = (
                [certified(lambda a=a, b=b, by=by, run=run: run(a, b, by)) for a, b in pairs]
                for by in (True, None)
            )
            broke, refused = _share(found, 1, 0.7), _refused(found)
            reached = np.mean([0.0 if r is None else r[0] for r in found])
            what = f"precision >= .7, {way}, {n:,} units of ten rows"
            beside = f"by rows {_share(others, 1, 0.7):.2f}"
            good &= line(broke <= most(draws), what, broke, f"<= {most(draws):.3f}", draws, beside)
            fine = refused <= bar if way == "path on as many units" else None
            good &= line(fine, "  refused", refused, f"<= {bar}" if bar < 1 else "", draws)
            line(None, "  recall, refused as 0 (the oracle has .70)", reached, "", draws)
    return good


def _share(found: list[Any], at: int, floor: float) -> float:
    return float(np.mean([rates is not None and rates[at] < floor for rates in found]))


def _refused(found: list[Any]) -> float:
    return float(np.mean([rates is None for rates in found]))


# ---------------------------------------------------------------------- intervals
def confusion_of(text: str, rows: DrawnRows, classes: Any = (0, 1)) -> Confusion:
    asked = parsed(f"maximize {text}")
    own = Rows.from_arrays(
        classes, rows.y, len(rows.y), needs=asked.needs, columns=rows.columns,
        units=None if rows.unit is None else Units.of(rows.unit),
    )  # fmt: skip
    return own.confusion(rows.decided)


def covered(name: str, rate: float, icc: float, n: int, draws: int) -> np.ndarray:
    """How often 95 % and 90 % intervals by units, and 95 % ones by rows, hold the rate."""
    rng, shares = seeded("interval", name, rate, icc, n), shares_of(name, rate)
    wanted, found = parsed("maximize recall").objective, np.zeros(3)
    for _ in range(draws):
        rows = rows_of(*units_of_one_rate(name, shares, icc, n, rng))
        by_unit, by_row = (confusion_of("recall", r) for r in (rows, rows._replace(unit=None)))
        for j, (one, level) in enumerate(((by_unit, 0.95), (by_unit, 0.9), (by_row, 0.95))):
            low, high, _ = interval(wanted, one, level)
            found[j] += low - 1e-9 <= rate <= high + 1e-9
    return found / draws


def covered_function(name: str, text: str, n: int, draws: int, sizes: str, icc: float) -> float:
    """How often the 95 % interval by units holds the value of several rates."""
    asked, rng, held, made = FUNCTIONS[name], seeded("interval", name, n, sizes, icc), 0, 0
    truth, wanted = float(asked.value(np.array(asked.shares))), parsed(f"maximize {text}").objective
    for _ in range(draws):
        rows = rows_of_entries(asked, sizes, icc, n, rng)
        try:
            low, high, _ = interval(wanted, confusion_of(text, rows, asked.classes))
        except EmptyPopulationError:
            continue
        made += 1
        held += low - 1e-9 <= truth <= high + 1e-9
    return held / made


def intervals(draws: int, worst: int) -> bool:
    """Coverage."""
    good = True
    for name, mean, least in (
        ("ten rows each", 0.88, 0.82), ("1 + Poisson(3)", 0.88, 0.82), ("lognormal", 0.86, 0.76),
    ):  # fmt: skip
        for n in (20, 60, 200):
            cells = {
                (rate, icc): covered(name, rate, icc, n, draws) for rate in RATES for icc in ICC
            }
            found = np.array(list(cells.values()))
            at = list(cells)[int(found[:, 0].argmin())]
            beside = f"by rows {found[:, 2].mean():.2f}, least {found[:, 2].min():.2f}"
            what = f"95 %, {name}, {n} units, mean of 9"
            value = found[:, 0].mean()
            good &= line(value >= 0.93, what, value, ">= .93", 9 * draws, beside)
            what = f"  least (rate {at[0]}, icc {at[1]})"
            good &= line(found[:, 0].min() >= 0.93, what, found[:, 0].min(), ">= .93", draws)
            value = found[:, 1].mean()
            good &= line(value >= mean, "90 %, the same, mean of 9", value, f">= {mean}", 9 * draws)
            value = found[:, 1].min()
            good &= line(value >= least, "  least", value, f">= {least}", draws)
    texts = {
        "precision": "precision", "F2": "fbeta(2)", "G-mean": "g_mean",
        "macro-F1, 3 classes": "macro_f1", "difference": "recall.on(g=0) - recall.on(g=1)",
    }  # fmt: skip
    for name, text in texts.items():
        for n in (20, 60, 200):
            own = [
                covered_function(name, text, n, draws, sizes, icc)
                for sizes in ("ten rows each", "1 + Poisson(3)")
                for icc in (0.3, 0.9)
            ]
            what = f"95 %, {name}, {n} units, mean of 4 (least {min(own):.3f})"
            good &= line(np.mean(own) >= 0.93, what, float(np.mean(own)), ">= .93", 4 * draws)
    return good


PARTS = {
    "bound": bound, "functions": functions, "cap": cap, "recall": recall,
    "precision": precision, "intervals": intervals,
}  # fmt: skip


def main(parts: Mapping[str, Callable[[int, int], bool]], doc: str | None) -> int:
    """Run some of the parts of a benchmark, all unless `--only` names them."""
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--worst", type=int, default=1_000)
    parser.add_argument("--only", nargs="+", default=list(parts), choices=list(parts))
    args = parser.parse_args()
    good = True
    for name in args.only:
        print(f"\n{name}: {parts[name].__doc__}")
        good &= parts[name](args.draws, args.worst)
    return int(not good)


if __name__ == "__main__":
    sys.exit(run_with_one_thread(partial(main, PARTS, __doc__)))
