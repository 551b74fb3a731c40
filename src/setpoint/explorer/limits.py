"""The goal as the page computes it: bins, bounds, and limits."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.counts import Confusion, Curve, Evidence
from setpoint.errors import InputError
from setpoint.goals import (
    Const,
    Expression,
    Goal,
    Label,
    goal_in_words,
    in_words,
    literal,
    value_in_words,
)
from setpoint.inference import interval_of
from setpoint.program import Accepted, ProgramConstraint, link, range_of
from setpoint.program import functions as fn
from setpoint.report import CountedGoal, unit_of
from setpoint.search import CutoffSet, least_violation, sweep

# --- Arrays as text for a page: the raw numbers, little-endian, compressed ------------------------


_KINDS: dict[str, np.dtype[Any]] = {
    "u8": np.dtype("u1"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
    "f64": np.dtype("<f8"),
}
"""The narrowest first."""
_LEVEL = 6


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """An array in the narrowest kind of number that holds all of it exactly.

    Examples
    --------
    >>> import numpy as np
    >>> text = packed(np.array([0.0, 3.0, 250.0]))
    >>> text["t"], text["n"]
    ('u8', 3)
    """
    flat = np.ravel(values).astype("<f8")
    with np.errstate(invalid="ignore"):  # NaN and infinite values
        written = {kind: flat.astype(narrow) for kind, narrow in _KINDS.items()}
    exact = flat.tobytes()  # the sign of zero counts
    kind = next(k for k, x in written.items() if x.astype("<f8").tobytes() == exact)
    data = zlib.compress(written[kind].tobytes(), _LEVEL)
    return {"z": base64.b64encode(data).decode("ascii"), "t": kind, "n": len(flat)}


# --- Rows with scores, and the columns by which a page shows groups of them -----------------------


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column whose groups a page shows side by side."""

    name: str
    values: tuple[str, ...]
    codes: Codes
    named: bool

    @classmethod
    def of(
        cls, name: str, values: Sequence[Any], levels: Sequence[Any], codes: Codes, named: bool
    ) -> GroupColumn:
        """Rows whose codes stand for `levels`, shown in the order of `values`."""
        place = np.array([values.index(v) for v in levels], np.int64)
        words = tuple("other" if v is None else str(value_in_words(v)) for v in values)
        return cls(name, words, place[codes], named)


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows that a page is about, and the share of each that others accept."""

    evidence: Evidence
    groups: tuple[GroupColumn, ...] = ()
    where: str = ""
    accepted_by: Mapping[str, Floats] = field(default_factory=dict)

    def take(self, index: NDArray[Any], where: str) -> ScoredRows:
        """Some of the rows, by index or mask."""
        groups = tuple(replace(g, codes=g.codes[index]) for g in self.groups)
        others = {name: share[index] for name, share in self.accepted_by.items()}
        return ScoredRows(self.evidence.take(index), groups, where, others)

    @cached_property
    def pooled(self) -> Evidence:
        """The same rows for one threshold for all."""
        rows = self.evidence.rows
        book = replace(rows.codebook, decide_on=())
        return Evidence(replace(rows, codebook=book), self.evidence.scores)

    @cached_property
    def curve(self) -> Curve:
        """All cut-offs of one threshold for all."""
        return self.pooled.curve(0)

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row (N,)."""
        rows = self.evidence.rows
        return np.ones(rows.n_rows) if rows.weight is None else rows.weight

    def accepted(self, share: Floats) -> Floats:
        """The weight of each kind (K,) that a decision accepts."""
        counts = self.evidence.rows.confusion(np.column_stack([1.0 - share, share])).counts
        return np.array([counts[c, t, 1] for c, t in self.curve.kinds])


# --- Bins of a curve: which cut-offs a page holds -------------------------------------------------


_STEEP = 1.5
"""Bins hold more scores the lower these are: where few are accepted each one counts."""


def chosen_cuts(m: int, most: int, always: Iterable[int] = ()) -> Codes:
    """The cut-offs of m distinct scores that a page holds, ascending, both ends among them.

    Examples
    --------
    >>> chosen_cuts(4, 8).tolist()
    [0, 1, 2, 3, 4]
    >>> chosen_cuts(1000, 8, [500]).tolist()
    [0, 1, 69, 193, 354, 500, 545, 761, 1000]
    """
    if m <= most:
        return np.arange(m + 1)
    first = most // 8
    way = np.linspace(0.0, 1.0, most - first)
    rest = first + np.rint((m - first) * way**_STEEP).astype(np.int64)
    kept = np.concatenate([np.arange(first + 1), rest, np.fromiter(always, np.int64)])
    return np.unique(np.clip(kept, 0, m))


def short_thresholds(curve: Curve, cuts: Codes) -> Floats:
    """A threshold for each cut-off, with as few digits as tell its two neighbours apart.

    Examples
    --------
    >>> values = np.array([0.91237, 0.5123, 0.5122])
    >>> short_thresholds(Curve(values, np.zeros((1, 4)), ((0, 1),)), np.arange(4)).tolist()
    [inf, 0.7, 0.51225, -inf]
    """
    out = curve.thresholds(cuts)
    inside = np.flatnonzero((cuts > 0) & (cuts < len(curve.values)))
    upper = curve.values[cuts[inside] - 1]
    lower = curve.values[cuts[inside]]
    middle = out[inside]
    with np.errstate(all="ignore"):
        size = np.where(middle == 0.0, 0.0, np.floor(np.log10(np.abs(middle))))
    for digits in range(16, 0, -1):  # fewer digits go over more
        place = (digits - 1 - size).astype(np.int64)
        with np.errstate(all="ignore"):
            up = 10.0 ** np.abs(place).astype(float)
            rounded = np.where(place >= 0, np.rint(middle * up) / up, np.rint(middle / up) * up)
        good = (np.abs(place) <= 22) & (lower < rounded) & (rounded <= upper)
        out[inside[good]] = rounded[good]
    return out


class ShownBins:
    """A curve at some of its cut-offs."""

    def __init__(self, curve: Curve, cuts: Codes, thresholds: Floats | None = None) -> None:
        self.cuts, self.kinds = cuts, curve.kinds
        self.thresholds = short_thresholds(curve, cuts) if thresholds is None else thresholds
        self.counts: Floats = curve.counts[:, cuts].astype(float)

    @property
    def m(self) -> int:
        """Number of bins."""
        return len(self.cuts) - 1

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which bins (m,) join several distinct scores."""
        return np.asarray(np.diff(self.cuts) > 1)

    def place(self, cut: int) -> int:
        """Where a cut-off of the curve stands among those held; it is one of them."""
        return int(np.searchsorted(self.cuts, cut))

    def payload(self, rows: ScoredRows) -> dict[str, Any]:
        """What the page reads."""
        return {
            "thresholds": packed(self.thresholds),
            "open": packed(self.is_open) if self.is_open.any() else None,
            **self.tally(rows),
        }

    def tally(self, rows: ScoredRows) -> dict[str, Any]:
        """What is counted in the bins: of other rows nothing else is written."""
        # The bin of each score: the first one whose cut-off accepts it.
        bin_of = np.searchsorted(-self.thresholds[1:], -rows.evidence.scores, side="left")
        # Of each column of groups: the weight by value, true class and bin.
        groups = [(g.codes * 3 + rows.evidence.rows.true, 3 * len(g.values)) for g in rows.groups]
        columns = [
            np.bincount(code * self.m + bin_of, rows.weight, size * self.m) for code, size in groups
        ]
        return {
            "m": self.m,
            "counts": packed(np.diff(self.counts, axis=1)),
            "columns": [packed(c) for c in columns],
        }


# --- Functions of the rates as plain data ---------------------------------------------------------


_NAMES: dict[type[fn.RateFunction], str] = {
    fn.WeightedSum: "sum",
    fn.ProductNode: "product",
    fn.QuotientNode: "quotient",
    fn.Absolute: "abs",
    fn.Log: "log",
    fn.Sqrt: "sqrt",
    fn.Max: "max",
    fn.Min: "min",
    fn.MaxMinusMin: "spread",
    fn.MinOverMax: "minmax",
    fn.PowerMean: "power",
}


def node_of(x: fn.RateFunction) -> dict[str, Any]:
    """A function as a tree: its kind, its numbers, its parts, and the range that is known.

    Examples
    --------
    >>> node_of(fn.Affine({0: 2.0}, 1.0, {0: (0.0, 1.0)}))
    {'low': 1.0, 'high': 3.0, 'k': 'affine', 'terms': [[0, 2.0]], 'const': 1.0}
    """
    out: dict[str, Any] = {"low": float(x.low), "high": float(x.high)}
    if isinstance(x, fn.Affine):
        terms = [[int(j), float(a)] for j, a in x.terms.items()]
        return out | {"k": "affine", "terms": terms, "const": x.const}
    if isinstance(x, fn.Ratio):
        ends = {"offset": float(x.offset), "atZero": float(x.at_zero)}
        return out | {"k": "ratio", "of": [node_of(x.above), node_of(x.below)], **ends}
    name = _NAMES.get(type(x))
    if name is None:
        raise InputError(f"`goal`: a page has no formula for {type(x).__name__}")
    out |= {"k": name, "of": [node_of(c) for c in x.children]}
    if isinstance(x, fn.WeightedSum):
        out["coefs"] = list(x.coefs)
    if isinstance(x, fn.PowerMean):
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
    def start(self) -> tuple[int, bool]:
        """The best cut-off under the bounds asked and true, or the nearest to these and false."""
        cuts = CutoffSet(self.pooled.table, self.rows.pooled, most=0)
        found = sweep(cuts, cuts.segments[0], self.pooled.score, self.pooled.constraints)
        if found.cutoff >= 0:
            return found.cutoff, True
        return least_violation(self.pooled, cuts.segments[0])[0], False

    def formulas(self) -> dict[str, Any]:
        """The weights of rows in the rates and the functions over these."""
        a = self.accepted
        return {
            **{name: getattr(a, name) for name in ("totals", "rejected", "accepted", "rest")},
            "objective": self._side(self.goal.objective, self.program.objective),
            "constraints": [
                self._side(c.side, c.function) | {"relation": c.written.relation, "level": c.level}
                for c in self.program.constraints
            ],
        }

    def payload(self, bins: ShownBins, positive: Label) -> dict[str, Any]:
        """What the page reads of the goal, but for its limits."""
        out, (cut, feasible) = self.formulas(), self.start
        rates = self.accepted.rates(bins.counts.T)
        for c, own in zip(self.program.constraints, out["constraints"], strict=True):
            with np.errstate(all="ignore"):
                side = np.asarray(c.function.value(rates))
            own.update(_slider(c, side), text=str(c.written))
        return {
            "goal": str(self.goal),
            "words": goal_in_words(self.goal, positive),
            "sense": int(self.program.sense),
            **out,
            "template": {"goal": _template(self.goal)},
            "start": {"cut": bins.place(cut), "feasible": feasible},
        }

    @staticmethod
    def _side(x: Expression, function: fn.RateFunction) -> dict[str, Any]:
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
    if high - low <= 2.0:
        first, last = low, high
    step = 10.0 ** math.floor(math.log10(((last - first) or 1.0) / _STEPS * 2.0))
    digits = max(0, -round(math.log10(step)))
    return {
        "movable": isinstance(c.written.rhs, Const),
        "range": [
            round(math.floor(first / step) * step, digits),
            round(math.ceil(last / step) * step, digits),
        ],
        "step": step,
        "reach": ends,
    }


def _template(goal: Goal) -> list[str | int]:
    """The goal's text in pieces: between them stand the bounds, by the constraints' numbers."""
    pieces: list[str | int] = [f"{goal.sense} {goal.objective}"]
    for i, c in enumerate(goal.constraints):
        pieces.append(" and " if i else " subject to ")
        if isinstance(c.rhs, Const):
            sure = "" if c.confidence is None else f" with confidence {literal(c.confidence)}"
            pieces += [f"{c.lhs} {c.relation} ", i, sure]
        else:
            pieces.append(str(c))
    return pieces


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
    plain = [k for k, (c, _) in enumerate(bins.kinds) if c < rows.evidence.codebook.n_plain]
    share = np.asarray(bins.counts[plain].sum(axis=0))
    half = _PLACES // 2
    if rows.evidence.is_weighted:
        half = int(np.clip(_COUNTED // max(rows.evidence.n_rows, 1), 16, _PLACES)) // 2
    near = np.geomspace(min(3.0, share[-1]), share[-1], half)
    even = np.linspace(0.0, share[-1], half)
    at = np.searchsorted(share, np.concatenate([near, even]))
    every = np.concatenate([at, [0, always, bins.m]])
    return np.unique(np.clip(every, 0, bins.m))


def sure_places(scores: Floats) -> Codes:
    """How many of the highest scores each place accepts, from the scores alone.

    Examples
    --------
    >>> sure_places(np.linspace(0.0, 1.0, 200))[:4].tolist()
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
    ends = ends_at(bound, bins, places, [1.0 - LEVEL])
    objective, *constraints = [{"low": packed(x[:, 0]), "high": packed(x[:, 1])} for x in ends[0]]
    return {"level": LEVEL, "objective": objective, "constraints": constraints}


def sure_limits(bound: BoundGoal, bins: ShownBins, places: Codes) -> dict[str, Any]:
    """For each level and constraint the limits on the side of the bound."""
    constraints = bound.program.constraints
    several = max(1, len(constraints) * len(places))
    ends = ends_at(bound, bins, places, [(1.0 - level) / several for level in LEVELS])
    limits = [
        [packed(x[:, 0 if c.sign > 0 else 1]) for c, x in zip(constraints, sides[1:], strict=True)]
        for sides in ends
    ]
    return {"levels": list(LEVELS), "places": packed(places), "limits": limits, "why": None}


def ends_at(bound: BoundGoal, bins: ShownBins, places: Codes, tails: Sequence[float]) -> Floats:
    """Both limits of each side at each place, for some chances to be wrong: (t, sides, p, 2)."""
    sides = [0.0, *(c.level for c in bound.program.constraints)]
    out = np.empty((len(tails), len(sides), len(places), 2))
    for place, j in enumerate(places.tolist()):
        found = CountedGoal(bound.goal, _confusion(bound.rows, bins, j), None)
        functions = [found.objective.bound, *(c.both.bound for c in found.constraints)]
        for i, x in enumerate(functions):
            # Where the right side is a number on these rows, the page shows the left one.
            shown = i == 0 or isinstance(bound.goal.constraints[i - 1].rhs, Const)
            for out_of, tail in zip(out[:, i, place], tails, strict=True):
                out_of[:] = -np.inf, np.inf
                if x is not None:
                    low, high, _ = interval_of(x, found.counted, 1.0 - 2.0 * tail)
                    out_of[:] = np.add([low, high], 0.0 if shown else sides[i])
    return out


def _confusion(rows: ScoredRows, bins: ShownBins, cut: int) -> Confusion:
    evidence = rows.evidence
    if evidence.is_weighted:
        decided = (evidence.scores >= bins.thresholds[cut]).astype(np.int64)
        return evidence.rows.confusion(decided)
    accepted = np.zeros(evidence.marginals.weights.shape)
    for (c, t), weight in zip(bins.kinds, bins.counts[:, cut], strict=True):
        accepted[c, t] = weight
    return evidence.confusion_of_accepted(accepted)
