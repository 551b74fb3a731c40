"""Promises: margins, sequences of tests, and what is guaranteed of a rule."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from setpoint.array_types import Bools, Floats
from setpoint.counts import Codebook, Confusion, Counted, Evidence, Marginals, Rows
from setpoint.errors import GoalError, InputError
from setpoint.goals import Constraint, Reduce, walk
from setpoint.goals import requirements_of as requirements_in
from setpoint.guarantees.p_values import PValues, Ranges
from setpoint.guarantees.requirements import Part, Requirement, Several, leaves, requirements_of
from setpoint.inference import (
    CountedRates,
    KnownWeights,
    Largest,
    Weights,
    clopper_pearson,
    design_effect,
    influence_of,
    share_needed,
)
from setpoint.parameters import SATISFIED
from setpoint.program import LinkedGoal, ProgramConstraint
from setpoint.rules import Rule
from setpoint.solvers import Confidence

# --- What is promised of a rule on new rows, and on which grounds ---------------------------------


Groups: TypeAlias = tuple[tuple[tuple[str, ...], tuple[tuple[Any, ...], ...]], ...]
"""Columns, and the groups by their values that are known."""

State: TypeAlias = Literal["certified", "approximate", "not certified"]

EXACT = ("binomial", "betting", "boxes", "trivial")
"""Kinds of p-values that are proved whatever the rows are like."""

MOST_TIMES = 1000
"""Where more than so many times the rows are needed, the scores hardly reach the bound."""


@dataclass(frozen=True)
class Shown:
    """What the test of one constraint found; `uncapped` is the value of rows as they weigh."""

    text: str
    confidence: float
    p_value: float
    kind: str
    passed: bool
    value: float | None = None
    limit: float | None = None
    # The most rows that a unit is assumed to have in it, and with which it would still pass.
    largest: int | None = field(default=None, metadata={"optional": True})
    largest_allowed: int | None = field(default=None, metadata={"optional": True})
    uncapped: float | None = field(default=None, metadata={"optional": True})

    @property
    def is_exact(self) -> bool:
        """Whether the p-value is proved, and not only measured to be right."""
        return self.kind in EXACT


@dataclass(frozen=True)
class Rung:
    """A rule of a path where it was learnt, and its test: the share of the level; 0: not tested."""

    margin: float
    objective: float
    share: float
    passed: bool


@dataclass(frozen=True)
class Guarantee:
    """What is promised of a rule on new rows.

    Of all draws of the rows tested, at most a share of one minus the confidence gives a rule
    that is called certified and breaks a constraint on the population. It is not the chance
    that a certified rule holds: where nearly all draws are refused, that can be smaller.

    Parameters
    ----------
    state : {"certified", "approximate", "not certified"}
    confidence : float
        The smallest of those of the constraints.
    method : str
        How rules were tried: "every cut-off", "path of rules", "one rule", "list of rules",
        "rules in no order", or "cross-validation".
    constraints : tuple of Shown
        Those that are promised, for this rule.
    rows : int
        Rows tested.
    tried, passed : int
        Rules of the path, and how many of them passed.
    attempt : int
        How often rules were tried on these rows, this time included.
    next_rows : int or None
        The promise is for so many rows to come, that each constraint refers to, and not for the
        population.
    without : float or None
        The objective, on the rows tested, of the rule that meets the constraints where it was
        found and promises nothing.
    reached : float or None
        The objective of this rule on the rows tested.
    assumptions : str
        In words.
    rows_needed : int or None
        With about so many rows that certify the rule that promised most would pass, where it
        did not, if new ones are like these; None: it is not known.
    path : tuple of Rung
        The rules of a path from safe to bold, as they look on the rows that the path was
        learnt on: how many standard errors of the rows tested each lies within its bounds, and
        the objective. Then the share of the level that it was tested at, 0 where it was not
        tested, and whether it passed.
    groups : tuple of (columns, values)
        The groups that the constraints promised are over; of others nothing is promised.
    others : (rows, limit) or None
        Rows of other groups among those set apart, which took no part, and the largest share of
        new rows that such rows may be (95 % confidence); None: no list of groups was there
        before the rows that certify, so these cannot tell.
    binding : str
        A digest of model and rule: of another model or rule nothing is promised.
    units : int
        Units tested, where these are not rows; `units_called` says what they are.
    largest_unit : float or None
        The most that one, or a row with a weight, counts as, if stated; None: it is assumed.
    capped : int
        How many weigh more, and count as that.

    Examples
    --------
    >>> from setpoint import certify
    >>> from setpoint.rules import Threshold
    >>> goal = "maximize recall subject to precision >= 0.8"
    >>> found = certify(Threshold(0.5), goal, [0.9] * 100 + [0.1] * 100, [1] * 95 + [0] * 105)
    >>> found.guarantee.state, found.guarantee.rows, round(found.guarantee.constraints[0].limit, 2)
    ('certified', 200, 0.9)
    """

    state: State
    confidence: float
    method: str
    constraints: tuple[Shown, ...]
    rows: int
    tried: int = 1
    passed: int = 1
    attempt: int = 1
    next_rows: int | None = None
    without: float | None = None
    reached: float | None = None
    assumptions: str = ""
    rows_needed: int | None = None
    path: tuple[Rung, ...] = ()
    binding: str = ""
    groups: Groups = field(default=(), metadata={"optional": True})
    units: int = field(default=0, metadata={"optional": True})
    units_called: str = field(default="", metadata={"optional": True})
    largest_unit: float | None = field(default=None, metadata={"optional": True})
    capped: int = field(default=0, metadata={"optional": True})
    others: tuple[int, float] | None = field(default=None, metadata={"optional": True})

    @property
    def helped_by_rows(self) -> bool:
        """Whether a number of rows is known that would certify, and somebody may have it."""
        return self.rows_needed is not None and self.rows_needed <= MOST_TIMES * self.rows

    @property
    def is_exact(self) -> bool:
        """Whether every p-value is proved, and not only measured to be right."""
        return all(c.is_exact for c in self.constraints)

    @property
    def starts(self) -> dict[int, float]:
        """The rules of a path where tests began, and the share of the level that each had."""
        kept = [0.0, *(rung.share * rung.passed for rung in self.path)]
        own = {i: rung.share - kept[i] for i, rung in enumerate(self.path)}
        return {i: share for i, share in own.items() if share > 0.0}


# --- Margins: how many standard errors a rule lies on the good side of what -----------------------


INF = float("inf")
_BLOCK = 8192
"""Rules at a time."""

_SMALLEST = 1e-300
"""A smaller p-value is this one: 37 standard errors are as good as more."""


def margins_of(part: Part, counted: CountedRates, counts: Floats, times: Floats) -> Floats:
    """The margins (m,) of some rules."""
    if isinstance(part, Requirement):
        return np.concatenate(
            [
                _margins(part, counted, counts[:, i : i + _BLOCK], times)
                for i in range(0, counts.shape[1], _BLOCK)
            ]
        )
    none = np.full(counts.shape[1], INF if part.every else -INF)
    found = [margins_of(inner, counted, counts, times) for inner in part.parts]
    return np.asarray((np.minimum if part.every else np.maximum).reduce([none, *found]))


def _margins(x: Requirement, counted: CountedRates, counts: Floats, times: Floats) -> Floats:
    exact = _of_binomial(x, counted, counts, times) if counted.largest is None else None
    if exact is not None:
        return exact
    slack, error = slack_and_error(x, counted, counts, times)
    with np.errstate(all="ignore"):
        out = np.where(error > 0, slack / error, np.sign(slack) * INF)
    return np.where(np.isnan(out), -INF, out)


def _of_binomial(
    x: Requirement, counted: CountedRates, counts: Floats, times: Floats
) -> Floats | None:
    """Normal quantiles (m,) of the exact p-values to be expected; None for other tests."""
    added, weight = x.added(counted), counted.weight_of_rows(x.function)
    share = None if added is None else share_needed(added)
    if added is None or weight is None or share is None:
        return None
    added = added.ravel()
    rows = counts / (times * weight)[:, None]
    k, f = rows[added > 0].sum(axis=0), rows[added < 0].sum(axis=0)
    tail = np.where(k > 0.0, betainc(np.maximum(k, 1e-300), f + 1.0, share), 1.0)
    return np.asarray(-ndtri(np.maximum(tail, _SMALLEST)))


def slack_and_error(
    x: Requirement, counted: CountedRates, counts: Floats, times: Floats
) -> tuple[Floats, Floats]:
    """How far a statement is met by some rules (m,), and the standard errors (m,) of that."""
    index, event, given = counted.weights(sorted(x.function.features))
    # Of a mean of a column the sums lie in other tables than the rows it is a mean over.
    seen = np.flatnonzero(given.any(axis=0) | event.any(axis=0))
    most = counted.most_of_unit(*event, *given)
    weights, counts = Weights(index, event[:, seen], given[:, seen]), counts[seen]
    unit, v = counted.row_weights[seen], np.zeros(len(counted.features))
    with np.errstate(all="ignore"):
        _, influence = influence_of(x.function, weights, counts, v)
        worst = counts.copy()
        for rows in np.unique(weights.given != 0, axis=0):
            at = np.argmin(np.where(rows[:, None], x.sign * influence, INF), axis=0)
            worst[at, np.arange(counts.shape[1])] += most * unit[at]
        value, influence = influence_of(x.function, weights, worst, v)
        error = np.sqrt(((unit * times[seen])[:, None] * worst * influence**2).sum(axis=0))
        error *= math.sqrt(design_effect(x.function, counted))
    return x.sign * (value - x.level), error


# --- Which of several tests count -----------------------------------------------------------------


FIRST: Mapping[int, float] = {0: 1.0}
"""One start, at the first rule."""


def fallback(
    passes: Callable[[int, float], bool], n: int, starts: Mapping[int, float] = FIRST
) -> list[tuple[float, bool]]:
    """At which share of the level each rule of a path is tested, and whether it passes.

    Examples
    --------
    >>> fallback(lambda i, share: i in (0, 3), 5, {0: 0.3, 3: 0.7})
    [(0.3, True), (0.3, False), (0.0, False), (0.7, True), (0.7, False)]
    """
    # What passes hands its level on; what has no level is not tested. One start: a fixed sequence.
    out, level = [], 0.0
    for i in range(n):
        level += starts.get(i, 0.0)
        passed = level > 0.0 and passes(i, level)
        out.append((level, passed))
        level *= passed
    return out


def holm(ratios: Floats) -> NDArray[np.bool_]:
    """Which rules are certified where they come in no order.

    Examples
    --------
    >>> holm(np.array([0.02, 0.2, 0.01]) / 0.05)
    array([ True, False,  True])
    """
    order = np.argsort(ratios, kind="stable")
    left = np.arange(len(ratios), 0, -1)
    out = np.zeros(len(ratios), bool)
    out[order] = np.logical_and.accumulate(ratios[order] * left <= 1.0)
    return out


def level_of_try(level: float, attempt: int) -> float:
    """The level at which the k-th try on the same rows is tested.

    Examples
    --------
    >>> [round(level_of_try(0.05, k), 4) for k in (1, 2, 3)]
    [0.05, 0.0076, 0.0034]
    """
    return level if attempt == 1 else level * 6.0 / (math.pi * attempt) ** 2


# --- Promises: which constraints of a goal are to hold on new rows --------------------------------


@dataclass(frozen=True, eq=False)
class Promise:
    """Which constraints are promised, and how they are tested."""

    linked: LinkedGoal
    confidences: tuple[float | None, ...]
    strict: bool = False
    attempt: int = 1
    ranges: Ranges | None = None
    largest_weight: float | None = None
    largest_unit: float | None = None
    largest: Largest | None = None
    """Where units are not rows that weigh the same, the most that one could weigh."""

    @classmethod
    def of(cls, linked: LinkedGoal, confidence: float | Confidence) -> Promise:
        """A promise of all constraints, each at its own confidence or else at that given."""
        settings = Confidence.of(confidence)
        own = tuple(c.confidence or settings.level for c in linked.goal.constraints)
        for c, level in zip(linked.goal.constraints, own, strict=True):
            if level is not None:
                _require_ranges(c, settings.ranges or {})
        if all(c is None for c in own):
            raise InputError(
                f"`confidence` promises constraints, and '{linked.goal}' has none: add one, such "
                "as subject to precision >= 0.9"
            )
        stated = settings.largest_weight, settings.largest_unit
        return cls(linked, own, settings.strict, 1, settings.ranges, *stated)

    def on(self, *given: Rows | Counted) -> Promise:
        """The same for rows that may weigh something or belong to units."""
        rows = [r.rows if isinstance(r, Evidence) else r for r in given]
        clustered = [r for r in rows if isinstance(r, Rows) and r.units is not None]
        weighted = any(r.is_weighted for r in rows)
        stated, other = self.largest_weight, self.largest_unit
        if clustered:
            stated, other = other, stated
        if other is not None:
            raise InputError(
                "`largest_weight` is of rows without units, and `units` are given: state "
                "`largest_unit`, in weight where rows have one"
                if clustered
                else "`largest_unit` is of `units`, which are missing"
            )
        if weighted and stated is None:
            asked, one = ("largest_unit", "a unit") if clustered else ("largest_weight", "a row")
            weights = [r.weight for r in rows if isinstance(r, Rows) and r.weight is not None]
            seen = max((float(w.max(initial=0.0)) for w in weights), default=math.nan)
            raise GoalError(
                f"nothing can be promised for weighted rows: how much {one} may ever weigh is not "
                f"known from those seen (largest {seen:.3g}). If your design has a largest weight, "
                f"give it (`{asked}` of Confidence); or leave out `sample_weight`, or the "
                "confidence: goals are then met as well as the rows show"
            )
        if weighted and not all(isinstance(r, Rows) for r in rows):
            raise GoalError("of weighted rows out of core nothing is promised: read them first")
        if stated is not None and (clustered or weighted):
            return replace(self, largest=lambda _: stated)
        return replace(self, largest=_LargestSeen(clustered)) if clustered else self

    def stated(self, rows: Rows) -> float | None:
        """The most that a unit of some rows weighs, if that was stated."""
        return self.largest_weight if rows.units is None else self.largest_unit

    @property
    def confidence(self) -> float:
        """The smallest confidence of a constraint that is promised."""
        return min(c for c in self.confidences if c is not None)

    @property
    def levels(self) -> tuple[float | None, ...]:
        """The level at which each constraint is tested."""
        return tuple(
            None if c is None else level_of_try(1.0 - c, self.attempt) for c in self.confidences
        )

    @property
    def _columns(self) -> list[tuple[str, ...]]:
        """The columns of each reducer over groups in a promised constraint."""
        written = zip(self.linked.goal.constraints, self.confidences, strict=True)
        sides = [side for c, level in written if level is not None for side in (c.lhs, c.rhs)]
        reducers = (e for side in sides for e in walk(side) if isinstance(e, Reduce) and e.columns)
        return list(dict.fromkeys(tuple(sorted(e.columns)) for e in reducers))

    @property
    def groups(self) -> Groups:
        """The groups that promised constraints are over, as far as rows were seen of them."""
        keys = [dict(s.key) for s in self.linked.codebook.strata]
        known = (
            (names, [tuple(k[n] for n in names) for k in keys if k.keys() >= {*names}])
            for names in self._columns
        )
        return tuple((names, tuple(dict.fromkeys(values))) for names, values in known)

    def listed(self, book: Codebook, seen: Marginals, tested: Marginals) -> tuple[Bools, float]:
        """Which strata (strata,) are of groups seen, and a limit of the share of rows of others."""
        strata = book.strata
        kept = np.ones(len(strata), bool)
        for names in self._columns:
            keys = [(s.dataset, *map(dict(s.key).get, names)) for s in strata]
            known = {k for k, w in zip(keys, seen.weights, strict=True) if w.any()}
            kept &= [k in known for k in keys]
        own = np.array([s.dataset is None and s.measure is None for s in strata])
        rows = np.where(own, tested.weights.sum(axis=1), 0.0)
        return kept, clopper_pearson(float(rows[~kept].sum()), float(rows.sum()), high=0.05)[1]


def _require_ranges(c: Constraint, ranges: Ranges) -> None:
    """Refuse to promise a constraint over values of rows whose range is not known.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision.weighted(amount) >= 0.5")
    >>> _require_ranges(goal.constraints[0], {"amount": (0.0, 5000.0)})
    >>> _require_ranges(goal.constraints[0], {})
    Traceback (most recent call last):
    ...
    setpoint.errors.GoalError: precision.weighted("amount") >= 0.5 cannot be promised: it \
counts rows by 'amount', and how large a value may ever get is not known from those seen. \
Give its range, if it has one (`ranges={'amount': (low, high)}` of Confidence), or promise the \
other constraints alone, by writing `with confidence` behind each of them and giving no \
`confidence`; this one is then met as well as the rows show
    """
    names = [n for n in requirements_in((c.lhs, c.rhs)).measure_names if n not in ranges]
    if names:
        asked = ", ".join(f"{name!r}: (low, high)" for name in names)
        raise GoalError(
            f"{c} cannot be promised: it counts rows by {', '.join(map(repr, names))}, and how "
            "large a value may ever get is not known from those seen. Give its range, if it "
            f"has one (`ranges={{{asked}}}` of Confidence), or promise the other "
            "constraints alone, by writing `with confidence` behind each of them and giving no "
            "`confidence`; this one is then met as well as the rows show"
        )


class _LargestSeen(dict[bytes, float]):
    """The most rows that a unit has of the strata and true classes of some entries."""

    def __init__(self, parts: Sequence[Rows]) -> None:
        self.parts = parts

    def __call__(self, entries: Bools) -> float:
        n_plain, n = self.parts[0].codebook.n_plain, entries.shape[1]
        looked = np.asarray(entries.any(axis=2).reshape(-1, n_plain, n).any(axis=0))
        return self[looked.tobytes()]

    def __missing__(self, key: bytes) -> float:
        found = []
        for rows in self.parts:
            assert rows.units is not None
            looked = np.frombuffer(key, bool)[rows.kind]
            found.append(np.bincount(rows.units.place[looked]).max(initial=1))
        self[key] = float(max(found))
        return self[key]


def capped(rows: Rows, promise: Promise) -> Rows:
    """The rows, in which units that weigh more than could be count as if they weighed that."""
    most, sizes = promise.stated(rows), _sizes_of_units(rows)
    if most is None or sizes.max(initial=0.0) <= most:
        return rows
    weight = 1.0 if rows.weight is None else rows.weight
    return rows.weighted(weight * np.minimum(1.0, most / sizes))


def _sizes_of_units(rows: Rows) -> Floats:
    """What the unit of each row (N,) weighs."""
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    if rows.units is None:
        return weight
    return np.asarray(np.bincount(rows.units.place, weight)[rows.units.place], np.float64)


class Tried(NamedTuple):
    """What a rule does on the rows that certify; `fractional` where that is expected of draws."""

    confusion: Confusion
    fractional: bool = False
    rule: Rule | None = None


class RuleTests:
    """The tests of rules on rows with some marginals."""

    def __init__(self, promise: Promise, marginals: Marginals) -> None:
        self.promise = promise
        self.program = promise.linked.at(marginals, fixed=False)
        self._known = KnownWeights({}, {})
        self.parts = tuple(
            None if confidence is None else requirements_of(c)
            for c, confidence in zip(self.program.constraints, promise.confidences, strict=True)
        )

    def at_attempt(self, attempt: int) -> RuleTests:
        """The same tests at the level of another try."""
        out = copy(self)
        out.promise = replace(self.promise, attempt=attempt)
        return out

    @cached_property
    def others(self) -> tuple[int, ...]:
        """Numbers of the constraints that are not promised."""
        return tuple(i for i, part in enumerate(self.parts) if part is None)

    def counted(self, confusion: Confusion) -> CountedRates:
        """The rates of the goal on what a rule does."""
        return CountedRates(self.program.table, confusion, self._known, self.promise.largest)

    def value(self, confusion: Confusion) -> float:
        """The objective in the user's units."""
        return self.counted(confusion).value(self.program.objective)

    def score(self, confusion: Confusion) -> float:
        """The objective, higher is better; what is not a number is worse than any."""
        return self.program.score_at(self.program.rates_of(confusion.counts))

    # ------------------------------------------------------------------ on the rows tested
    def passes(self, one: Tried, share: float = 1.0) -> bool:
        """Whether a rule passes all its tests, each at this share of its level."""
        tests, own = self.p_values(one), [(x, share * level) for _, x, _, level in self.promised]
        return all(bool(tests.of(part, level).p <= level) for part, level in own)

    @property
    def strictest(self) -> float:
        """The smallest level of a promised constraint."""
        return min(level for *_, level in self.promised)

    @property
    def is_measured(self) -> bool:
        """Whether tests need the values of units, and not the counts of rows alone."""
        return bool(self.promise.ranges) or self.promise.largest is not None

    def require_bounded(self, confusion: Confusion) -> None:
        """Refuse constraints over values of units that have no test, whatever is decided."""
        counted, by_unit = self.counted(confusion), self.promise.largest is not None
        for c, part, _, _ in self.promised:
            for x in leaves(part):
                one = counted.fraction(x.function) is not None
                if by_unit and not one and (self.promise.strict or x.function.has_kinks):
                    raise GoalError(
                        f"{c.written} cannot be promised by `strict` tests of units or weights, "
                        "which are proved for one rate: write a bound for each rate"
                    )
                if counted.looks_at_amounts(x.function) and not one:
                    raise GoalError(
                        f"{c.written} cannot be promised: it counts rows by a column of numbers, "
                        "and combines several such rates of different rows. Write a bound for "
                        "each of them, as .min() and .max() of groups do"
                    )

    def ratio(self, one: Tried, share: float = 1.0) -> float:
        """The largest p-value over its level; a rule passes alone where that is 1 at most."""
        tests = self.p_values(one)
        return max(tests.of(part, share * level).p / level for _, part, _, level in self.promised)

    def shown(self, one: Tried, share: float = 1.0) -> tuple[Shown, ...]:
        """What the tests at a share of each level find for a rule, with limits."""
        tests, out = self.p_values(one), []
        for c, part, confidence, level in self.promised:
            own = share * level
            p, kind = tests.of(part, own)
            # The bound may be measured, and the constraint one on a difference.
            plain = c.side == c.written.lhs
            value = tests.counted.value(c.function) if plain else None
            limit = tests.limit(c, own) if plain else None
            out.append(Shown(str(c.written), confidence, p, kind, bool(p <= own), value, limit))
        return tuple(out)

    def p_values(self, one: Tried) -> PValues:
        """The tests of what a rule does."""
        counted = self.counted(one.confusion)
        return PValues(counted, self.promise.strict, one.fractional, self.promise.ranges)

    @property
    def promised(self) -> Iterator[tuple[ProgramConstraint, Part, float, float]]:
        """The promised constraints with what they ask, their confidence, and their level."""
        promise = self.promise
        rows = (self.program.constraints, self.parts, promise.confidences, promise.levels)
        for c, part, confidence, level in zip(*rows, strict=True):
            if part is not None and level is not None and confidence is not None:
                yield c, part, confidence, level

    # ------------------------------------------------------------------ on rows that learn a path
    def margins(
        self,
        counts: Floats,
        squares: Confusion,
        times: Floats,
        allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
    ) -> Floats:
        """How safe some rules are (m,): the smallest margin of a promised constraint."""
        counted = self.counted(squares)
        parts = tuple(part for part in self.parts if part is not None)
        out = margins_of(Several(parts, every=True), counted, counts, times)
        for i in self.others:
            broken = self.program.constraints[i].violation(self.rates(counts)) > SATISFIED
            out = np.where(broken, -np.inf, out)
        return out if allowed is None else np.where(allowed(counts), out, -np.inf)

    def errors(self, confusion: Confusion, times: Floats) -> Floats:
        """The standard error (constraints,) of each side on the rows tested; 0: not promised."""
        counted, out = self.counted(confusion), np.zeros(len(self.parts))
        counts = confusion.counts.reshape(-1, 1)
        for i, part in enumerate(self.parts):
            least = INF
            for x in () if part is None else leaves(part):
                (slack,), (error,) = slack_and_error(x, counted, counts, times)
                if 0.0 < error < INF and slack / error < least:
                    least, out[i] = slack / error, error
        return out

    def scores(self, counts: Floats) -> Floats:
        """The objectives (m,) of some rules, higher is better."""
        return np.asarray(self.program.scores(self.rates(counts)))

    def rates(self, counts: Floats) -> Floats:
        """The rates (m, d) of some rules."""
        table = self.program.table
        if counts.shape[1] == 1:  # of hundreds of classes the tensors fill the memory
            return table.of(counts.reshape(*self.program.marginals.weights.shape, -1))[None]
        return np.asarray((table.tensors.reshape(len(table), -1) @ counts).T)


# --- What is promised of units --------------------------------------------------------------------


_TIMES_LARGER, _MOST_DRAWN = 1_000, 4
"""How much larger a unit is looked for; of how many rates that are drawn, which takes time."""


def with_units(
    guarantee: Guarantee, tests: RuleTests, one: Tried, rows: Rows | Counted
) -> Guarantee:
    """The guarantee with the units of rows, by what these weigh as given, and the largest."""
    weighed = one.confusion.units
    if tests.promise.largest is None or weighed is None or not isinstance(rows, Rows):
        return guarantee
    found, units, sizes = list(guarantee.constraints), rows.units, _sizes_of_units(rows)
    each = sizes if units is None else sizes[units.first]
    called, n = ("rows", 0) if units is None else (units.called, len(units.each))
    assumed = guarantee.assumptions.replace("The rows that", f"The {called} that")
    stated = tests.promise.stated(rows)
    if stated is not None:
        guarantee = replace(guarantee, largest_unit=stated, capped=int((each > stated).sum()))
        counts = weighed.counts_if(np.maximum(sizes / stated, 1.0), one.confusion.counts)
        given = replace(one.confusion, counts=counts)
        own = RuleTests(tests.promise, given.marginals)
        values = (own.counted(given).value(c.function) for c, *_ in own.promised)
        found = [replace(s, uncapped=x) for s, x in zip(found, values, strict=True)]
    for i, (_, part, _, level) in enumerate(() if stated is not None else tests.promised):
        found[i] = s = _with_largest(found[i], part, level, tests.p_values(one))
        up_to = f"; it stands up to {s.largest_allowed:,}" if s.largest_allowed else ""
        what = f"has more rows than {s.largest:,} that count in {s.text}{up_to}"
        assumed += f" None of them, nor of those to come, {what}." * bool(s.largest)
    return replace(
        guarantee, constraints=tuple(found), assumptions=assumed, units=n,
        units_called=called if n else "",
    )  # fmt: skip


def _with_largest(shown: Shown, part: Part, level: float, tests: PValues) -> Shown:
    """What a test found, with the largest unit that was seen, and the largest that would do."""
    counted, parts = tests.counted, list(leaves(part))
    known = (counted.weights(sorted(x.function.features)) for x in parts)
    most = round(max((counted.most_of_unit(*a, *b) for _, a, b in known), default=0.0))
    if not (shown.passed and parts) or (shown.kind == "drawn" and len(parts) > _MOST_DRAWN):
        return replace(shown, largest=most)
    fails = partial(_fails, tests, part, level)
    allowed = bisect_left(range(_TIMES_LARGER * most), x=True, lo=1, key=fails) - 1
    return replace(shown, largest=min(most, allowed), largest_allowed=allowed)


def _fails(tests: PValues, part: Part, level: float, largest: int) -> bool:
    """Whether a test fails if one unit could bring so many rows."""
    tests.counted.largest = lambda _: float(largest)
    return bool(tests.of(part, level).p > level)
