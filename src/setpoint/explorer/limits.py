"""Functions of the rates as plain data, from which a page computes the same values."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.errors import GoalError, InputError
from setpoint.evidence import Confusion
from setpoint.exact.cutoffs import CutoffSet, least_violation, sweep
from setpoint.explorer.bins import ScoredRows, ShownBins, packed
from setpoint.goals.expressions import Const, Expression
from setpoint.goals.goal import Goal, goal_in_words, in_words
from setpoint.goals.populations import Constraint, Label, literal
from setpoint.goals.table import range_of
from setpoint.inference.intervals import interval_of
from setpoint.inference.profiles import CountedRates
from setpoint.program.algebra import Folder
from setpoint.program.functions import (
    Absolute,
    Affine,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    PowerMean,
    ProductNode,
    QuotientNode,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)
from setpoint.program.linking import link
from setpoint.program.program import Accepted, ProgramConstraint
from setpoint.report.numbers import unit_of

_NAMES: dict[type[RateFunction], str] = {
    WeightedSum: "sum",
    ProductNode: "product",
    QuotientNode: "quotient",
    Absolute: "abs",
    Log: "log",
    Sqrt: "sqrt",
    Max: "max",
    Min: "min",
    MaxMinusMin: "spread",
    MinOverMax: "minmax",
    PowerMean: "power",
}


def node_of(x: RateFunction) -> dict[str, Any]:
    """A function as a tree: its kind, its numbers, its parts, and the range that is known.

    Examples
    --------
    >>> node_of(Affine({0: 2.0}, 1.0, {0: (0.0, 1.0)}))
    {'low': 1.0, 'high': 3.0, 'k': 'affine', 'terms': [[0, 2.0]], 'const': 1.0}
    """
    out: dict[str, Any] = {"low": float(x.low), "high": float(x.high)}
    if isinstance(x, Affine):
        terms = [[int(j), float(a)] for j, a in x.terms.items()]
        return out | {"k": "affine", "terms": terms, "const": x.const}
    if isinstance(x, Ratio):
        ends = {"offset": float(x.offset), "atZero": float(x.at_zero)}
        return out | {"k": "ratio", "of": [node_of(x.above), node_of(x.below)], **ends}
    name = _NAMES.get(type(x))
    if name is None:
        raise InputError(f"`goal`: a page has no formula for {type(x).__name__}")
    out |= {"k": name, "of": [node_of(c) for c in x.children]}
    if isinstance(x, WeightedSum):
        out["coefs"] = list(x.coefs)
    if isinstance(x, PowerMean):
        out["order"] = x.order
    return out


# --- A goal on the rows of a page: its formulas ---------------------------------------------------


_STEPS = 500
"""About so many steps of a slider."""


class BoundGoal:
    """A goal linked to the rows of a page."""

    def __init__(self, goal: Goal, rows: ScoredRows) -> None:
        self.goal, self.rows = goal, rows
        self.linked = link(goal, rows.evidence.codebook)
        self.program = self.linked.at(rows.evidence.marginals)
        self.pooled = link(goal, rows.pooled.codebook).at(rows.pooled.marginals)
        curve = rows.curve
        self.accepted = Accepted(self.program, curve.kinds, curve.counts[:, -1])

    @cached_property
    def _best(self) -> tuple[int, bool]:
        cuts = CutoffSet(self.pooled.table, self.rows.pooled, most=0)
        found = sweep(cuts, cuts.segments[0], self.pooled.score, self.pooled.constraints)
        if found.cutoff >= 0:
            return found.cutoff, True
        return least_violation(self.pooled, cuts.segments[0])[0], False

    @property
    def start(self) -> int:
        """The best cut-off of the curve under the bounds asked, or the nearest to these."""
        return self._best[0]

    @property
    def is_feasible(self) -> bool:
        """Whether the start meets the bounds."""
        return self._best[1]

    def sides_at(self, counts: Floats) -> Floats:
        """The left side of each constraint (c, n) at accepted weights (K, n)."""
        v = self.accepted.rates(counts.T)
        with np.errstate(all="ignore"):
            sides = [np.asarray(c.function.value(v)) for c in self.program.constraints]
        return np.array(sides).reshape(len(sides), counts.shape[1])

    def formulas(self) -> dict[str, Any]:
        """The weights of rows in the rates and the functions over these."""
        a = self.accepted
        return {
            "totals": a.totals.tolist(),
            "rejected": a.rejected.tolist(),
            "accepted": a.accepted.tolist(),
            "rest": a.rest.tolist(),
            "objective": self._side(self.goal.objective, self.program.objective),
            "constraints": [
                self._side(c.side, c.function) | {"relation": c.written.relation, "level": c.level}
                for c in self.program.constraints
            ],
        }

    def payload(self, bins: ShownBins, positive: Label) -> dict[str, Any]:
        """What the page reads of the goal, but for its limits."""
        out = self.formulas()
        sides = self.sides_at(bins.counts)
        for c, own, side in zip(self.program.constraints, out["constraints"], sides, strict=True):
            own.update(_slider(c, side), text=str(c.written))
        return {
            "goal": str(self.goal),
            "words": goal_in_words(self.goal, positive),
            "sense": int(self.program.sense),
            **out,
            "template": _template(self.goal),
            "start": {"cut": bins.place(self.start), "feasible": self.is_feasible},
        }

    @staticmethod
    def _side(x: Expression, function: RateFunction) -> dict[str, Any]:
        return {
            "text": str(x),
            "words": in_words(x),
            "unit": unit_of(x),
            "function": node_of(function),
        }


def _slider(c: ProgramConstraint, side: Floats) -> dict[str, Any]:
    """Where a bound can be moved to, and in which steps."""
    low, high = range_of(c.side)
    reached = side[np.isfinite(side)]
    ends = [float(reached.min()), float(reached.max())] if len(reached) else [0.0, 1.0]
    first, last = min(ends[0], c.level), max(ends[1], c.level)
    if math.isfinite(low) and math.isfinite(high) and high - low <= 2.0:
        first, last = low, high
    width = last - first if last > first else 1.0
    step = 10.0 ** math.floor(math.log10(width / _STEPS * 2.0))
    first, last = math.floor(first / step) * step, math.ceil(last / step) * step
    digits = max(0, -round(math.log10(step)))
    return {
        "movable": isinstance(c.written.rhs, Const),
        "range": [round(first, digits), round(last, digits)],
        "step": step,
        "reach": ends,
    }


def _template(goal: Goal) -> dict[str, Any]:
    """The goal's text in pieces: between them stand the bounds, by the constraints' numbers."""
    pieces: list[str | int] = [f"{goal.sense} {goal.objective}"]
    for i, c in enumerate(goal.constraints):
        pieces.append(" and " if i else " subject to ")
        pieces += _in_pieces(c, i)
    return {"goal": pieces}


def _in_pieces(c: Constraint, i: int) -> list[str | int]:
    if not isinstance(c.rhs, Const):
        return [str(c)]
    sure = "" if c.confidence is None else f" with confidence {literal(c.confidence)}"
    return [f"{c.lhs} {c.relation} ", i, sure]


# --- Limits of a goal's sides along the curve: at each cut-off by itself --------------------------


LEVEL = 0.95
"""Confidence of each limit by itself."""

LEVELS = (0.8, 0.9, 0.95, 0.99)
"""How sure one may ask to be."""

_PLACES = 128
_SURE_PLACES = 64
_FEWEST_ROWS = 20
"""The strictest place accepts about so many rows."""
_COUNTED = 40_000_000
"""Rows times places that may be gone through, where counts alone do not give squares."""


def places_of(bins: ShownBins, rows: ScoredRows, always: int) -> Codes:
    """The cut-offs, by their number among the bins, at which limits are computed."""
    share = _accepted(bins, rows)
    near = np.geomspace(min(3.0, share[-1]), share[-1], _most(rows, _PLACES) // 2)
    even = np.linspace(0.0, share[-1], _most(rows, _PLACES) // 2)
    at = np.searchsorted(share, np.concatenate([near, even]))
    every = np.concatenate([at, [0, always, bins.m]])
    return np.unique(np.clip(every, 0, bins.m))


def sure_places(scores: Floats, weight: Floats) -> Codes:
    """How many of the highest scores each place accepts, from the scores alone.

    Examples
    --------
    >>> sure_places(np.linspace(0.0, 1.0, 200), np.ones(200))[:4].tolist()
    [20, 22, 23, 25]
    """
    n = len(scores)
    if n <= _FEWEST_ROWS:
        return np.array([n])
    half = _SURE_PLACES // 2
    near = np.geomspace(_FEWEST_ROWS, n, half)
    even = np.linspace(0.0, n, half + 1)[1:]
    return np.unique(np.rint(np.concatenate([near, even[even >= _FEWEST_ROWS]])).astype(np.int64))


def limits_at(bound: BoundGoal, bins: ShownBins, places: Codes) -> dict[str, Any]:
    """One-sided limits at 95 % of the objective and of each constraint at some cut-offs."""
    found = [_Counted(bound, _confusion(bound.rows, bins, j)) for j in places.tolist()]
    sides = []
    for i in range(len(bound.program.constraints) + 1):
        ends = np.array([x.ends(i, 1.0 - LEVEL) for x in found]).reshape(-1, 2)
        sides.append({"low": packed(ends[:, 0]), "high": packed(ends[:, 1])})
    return {"level": LEVEL, "objective": sides[0], "constraints": sides[1:]}


def sure_limits(bound: BoundGoal, bins: ShownBins, places: Codes) -> dict[str, Any]:
    """For each level and constraint the limits on the side of the bound."""
    constraints = bound.program.constraints
    found = [_Counted(bound, _confusion(bound.rows, bins, j)) for j in places.tolist()]
    of_levels = []
    for level in LEVELS:
        tail = (1.0 - level) / max(1, len(constraints) * len(places))
        of_level = []
        for i, c in enumerate(constraints, 1):
            end = 0 if c.sign > 0 else 1
            of_level.append(packed(np.array([x.ends(i, tail)[end] for x in found])))
        of_levels.append(of_level)
    return {"levels": list(LEVELS), "places": packed(places), "limits": of_levels, "why": None}


class _Counted:
    """The sides of a goal counted on one decision."""

    def __init__(self, bound: BoundGoal, confusion: Confusion) -> None:
        self.bound = bound
        folder = Folder(confusion.codebook, confusion.marginals, fixed=False)
        linked = bound.linked
        terms = [linked.objective]
        terms += [c.left if c.difference is None else c.difference for c in linked.constraints]
        self.sides: list[RateFunction | None] = []
        for term in terms:
            try:
                self.sides.append(folder.function(term))
            except GoalError:
                self.sides.append(None)
        self.counted = CountedRates(folder.table, confusion)

    def ends(self, i: int, tail: float) -> tuple[float, float]:
        """Both limits of a side, each wrong with a probability of at most `tail`."""
        x = self.sides[i]
        if x is None:
            return -np.inf, np.inf
        found = interval_of(x, self.counted, 1.0 - 2.0 * tail)
        # Where the right side is a number on these rows, the page shows the left one.
        shift = 0.0
        if i > 0 and self.bound.linked.constraints[i - 1].difference is not None:
            shift = self.bound.program.constraints[i - 1].level
        return found.low + shift, found.high + shift


def _confusion(rows: ScoredRows, bins: ShownBins, cut: int) -> Confusion:
    evidence = rows.evidence
    if evidence.rows.is_weighted:
        decided = (evidence.scores >= bins.thresholds[cut]).astype(np.int64)
        return evidence.rows.confusion(decided)
    accepted = np.zeros(evidence.marginals.weights.shape)
    for (c, t), weight in zip(bins.kinds, bins.counts[:, cut], strict=True):
        accepted[c, t] = weight
    return evidence.confusion_of_accepted(accepted)


def _accepted(bins: ShownBins, rows: ScoredRows) -> Floats:
    """The weight of the rows that each cut-off accepts."""
    plain = rows.evidence.codebook.n_plain
    own = [k for k, (c, _) in enumerate(bins.kinds) if c < plain]
    return np.asarray(bins.counts[own].sum(axis=0))


def _most(rows: ScoredRows, most: int) -> int:
    if not rows.evidence.rows.is_weighted:
        return most
    return int(np.clip(_COUNTED // max(rows.evidence.n_rows, 1), 16, most))
