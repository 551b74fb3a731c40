"""Promises: margins, sequences of tests, and what is guaranteed of a rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc, ndtri

from setpoint.array_types import Bools, Floats
from setpoint.counts import Confusion, Counted, Evidence, Marginals, Rows
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
    """What the test of one constraint found."""

    text: str
    confidence: float
    p_value: float
    kind: str
    passed: bool
    value: float | None = None
    limit: float | None = None

    @property
    def is_exact(self) -> bool:
        """Whether the p-value is proved, and not only measured to be right."""
        return self.kind in EXACT


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
        Where nothing is certified: with about so many rows that certify the safest rule would
        pass, if new ones are like these; None: it is not known.
    path : tuple of (margin, objective)
        The rules of a path in the order of the tests, as they look on the rows that the path was
        learnt on: how many standard errors of the rows tested each lies within its bounds, and
        the objective. The first `passed` of them passed.
    groups : tuple of (columns, values)
        The groups that the constraints promised are over; of others nothing is promised.
    binding : str
        A digest of model and rule: of another model or rule nothing is promised.

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
    path: tuple[tuple[float, float], ...] = ()
    binding: str = ""
    groups: Groups = field(default=(), metadata={"optional": True})

    @property
    def helped_by_rows(self) -> bool:
        """Whether a number of rows is known that would certify, and somebody may have it."""
        return self.rows_needed is not None and self.rows_needed <= MOST_TIMES * self.rows

    @property
    def is_exact(self) -> bool:
        """Whether every p-value is proved, and not only measured to be right."""
        return all(c.is_exact for c in self.constraints)


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
    exact = None if counted.largest else _of_binomial(x, counted, counts, times)
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


def fixed_sequence(passed: Iterable[bool]) -> int:
    """How many rules of a path are certified: those before the first that fails its test.

    Examples
    --------
    >>> fixed_sequence([True, True, False, True])
    2
    """
    n = 0
    for one in passed:
        if not one:
            return n
        n += 1
    return n


def holm(ratios: Floats) -> NDArray[np.bool_]:
    """Which rules are certified where they come in no order.

    Examples
    --------
    >>> holm(np.array([0.02, 0.2, 0.01]) / 0.05)
    array([ True, False,  True])
    """
    order = np.argsort(ratios, kind="stable")
    left = np.arange(len(ratios), 0, -1)
    n = fixed_sequence((ratios[order] * left <= 1.0).tolist())
    out = np.zeros(len(ratios), bool)
    out[order[:n]] = True
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
        stated = self.largest_unit if clustered else self.largest_weight
        if weighted and stated is None:
            asked = "largest_unit" if clustered else "largest_weight"
            weights = [r.weight for r in rows if isinstance(r, Rows) and r.weight is not None]
            seen = max((float(w.max(initial=0.0)) for w in weights), default=math.nan)
            raise GoalError(
                "nothing can be promised for weighted rows: how much one may ever weigh is not "
                f"known from those seen (largest {seen:.3g}). If your design has a largest weight, "
                f"give it (`{asked}` of Confidence); or leave out `sample_weight`, or the "
                "confidence: goals are then met as well as the rows show"
            )
        if weighted and not all(isinstance(r, Rows) for r in rows):
            raise GoalError("of weighted rows out of core nothing is promised: read them first")
        if stated is not None and (clustered or weighted):
            return replace(self, largest=lambda _: stated)
        return replace(self, largest=_LargestSeen(clustered)) if clustered else self

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
    def groups(self) -> Groups:
        """The groups that promised constraints are over, as far as rows were seen of them."""
        written = zip(self.linked.goal.constraints, self.confidences, strict=True)
        sides = [side for c, level in written if level is not None for side in (c.lhs, c.rhs)]
        found: dict[tuple[str, ...], None] = {
            tuple(sorted(e.columns)): None
            for side in sides
            for e in walk(side)
            if isinstance(e, Reduce) and e.columns
        }
        keys = [dict(s.key) for s in self.linked.codebook.strata]
        known = (
            (names, [tuple(k[n] for n in names) for k in keys if k.keys() >= {*names}])
            for names in found
        )
        return tuple((names, tuple(dict.fromkeys(values))) for names, values in known)


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
    if rows.weight is None and rows.units is None:
        return rows
    most = promise.largest_weight if rows.units is None else promise.largest_unit
    weight = np.ones(rows.n_rows) if rows.weight is None else rows.weight
    total = weight
    if rows.units is not None:
        total = np.asarray(np.bincount(rows.units.place, weight)[rows.units.place], np.float64)
    if most is None or total.max(initial=0.0) <= most:
        return rows
    return rows.weighted(weight * np.minimum(1.0, most / total))


def decided_on(
    rows: Counted, rule: Rule, tests: RuleTests, draws: Floats | None = None
) -> Confusion:
    """What a rule does on rows, as its tests need it; with `draws`, one for each row."""
    if draws is None and not tests.is_measured:
        return rows.confusion(rule)
    assert isinstance(rows, Evidence)  # counts out of core do not hold the values of rows
    if draws is None and rule.randomized:
        return rows.rows.decided(rows.distribution(rule))
    segments = rows.rows.segment if rule.needs_segments else None
    return rows.rows.decided(rule.decide(rows.scores, segments, draws))


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
        return float(self.program.value(self.program.rates_of(confusion.counts)))

    def score(self, confusion: Confusion) -> float:
        """The objective, higher is better; what is not a number is worse than any."""
        return self.program.score_at(self.program.rates_of(confusion.counts))

    # ------------------------------------------------------------------ on the rows tested
    def passes(self, one: Tried) -> bool:
        """Whether a rule passes the tests of all constraints that are promised."""
        tests = self.p_values(one)
        return all(bool(tests.of(part, level).p <= level) for _, part, _, level in self.promised)

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

    def ratio(self, one: Tried, among: int = 1) -> float:
        """The largest p-value over its level; a rule passes alone where that is 1 at most."""
        tests = self.p_values(one)
        return max(tests.of(part, level / among).p / level for _, part, _, level in self.promised)

    def shown(self, one: Tried, among: int = 1) -> tuple[Shown, ...]:
        """What the test of each promised constraint finds for a rule, with limits."""
        tests, out = self.p_values(one), []
        for c, part, confidence, level in self.promised:
            own = level / among
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
