"""Promises: which constraints of a goal are to hold on new rows, and the test of a rule."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence import Confusion
from setpoint.evidence.codebook import Marginals
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Reduce, walk
from setpoint.goals.goal import Goal
from setpoint.goals.requirements import requirements_of as requirements_in
from setpoint.guarantees.guarantee import Groups, Shown
from setpoint.guarantees.limits import limit_of_constraint
from setpoint.guarantees.margins import margins_of, slack_and_error
from setpoint.guarantees.measured import Ranges, require_bounded_sums
from setpoint.guarantees.p_values import p_value
from setpoint.guarantees.requirements import leaves, requirements_of
from setpoint.guarantees.sequences import level_of_try
from setpoint.inference.profiles import CountedRates
from setpoint.program.fold import Folder
from setpoint.program.program import LinkedGoal, Program
from setpoint.tolerances import SATISFIED

__all__ = ["Promise", "RuleTests", "require_counts"]

INF = float("inf")


@dataclass(frozen=True, eq=False)
class Promise:
    """Which constraints are promised, and how they are tested."""

    linked: LinkedGoal
    confidences: tuple[float | None, ...]
    strict: bool = False
    attempt: int = 1
    ranges: Ranges | None = None

    @classmethod
    def of(
        cls,
        linked: LinkedGoal,
        level: float | None,
        *,
        strict: bool = False,
        attempt: int = 1,
        ranges: Ranges | None = None,
    ) -> Promise:
        """A promise of all constraints, each at its own confidence or else at `level`."""
        require_counts(linked.goal, level, ranges)
        own = tuple(c.confidence or level for c in linked.goal.constraints)
        if all(c is None for c in own):
            raise InputError(
                f"`confidence` promises constraints, and '{linked.goal}' has none: add one, such "
                "as subject to precision >= 0.9"
            )
        return cls(linked, own, strict, attempt, ranges)

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

    def tests(self, marginals: Marginals, *, weighted: bool = False) -> RuleTests:
        """The tests of rules on rows with these marginals, and whether they have weights."""
        if weighted:
            raise GoalError(
                "nothing can be promised for weighted rows: how much a row may ever weigh is not "
                "known from those seen. Leave out `sample_weight`, or the confidence: goals are "
                "then met as well as the rows show"
            )
        return RuleTests(self, marginals)


def require_counts(goal: Goal, level: float | None, ranges: Ranges | None = None) -> None:
    """Refuse to promise a constraint over values of rows whose range is not known.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to precision.weighted(amount) >= 0.5")
    >>> require_counts(goal, None)
    >>> require_counts(goal, 0.95, {"amount": (0.0, 5000.0)})
    >>> require_counts(goal, 0.95)
    Traceback (most recent call last):
    ...
    setpoint.goals.errors.GoalError: precision.weighted("amount") >= 0.5 cannot be promised: it \
counts rows by 'amount', and how large a value may ever get is not known from those seen. \
Give its range, if it has one (`ranges={'amount': (low, high)}` of Confidence), or promise the \
other constraints alone, by writing `with confidence` behind each of them and giving no \
`confidence`; this one is then met as well as the rows show
    """
    for c in goal.constraints:
        if (c.confidence or level) is None:
            continue
        names = [
            n for n in requirements_in((c.lhs, c.rhs)).measure_names if n not in (ranges or {})
        ]
        if names:
            asked = ", ".join(f"{name!r}: (low, high)" for name in names)
            raise GoalError(
                f"{c} cannot be promised: it counts rows by {', '.join(map(repr, names))}, and how "
                "large a value may ever get is not known from those seen. Give its range, if it "
                f"has one (`ranges={{{asked}}}` of Confidence), or promise the other "
                "constraints alone, by writing `with confidence` behind each of them and giving no "
                "`confidence`; this one is then met as well as the rows show"
            )


class RuleTests:
    """The tests of rules on some rows."""

    def __init__(self, promise: Promise, marginals: Marginals) -> None:
        self.promise = promise
        linked = promise.linked
        folder = Folder(linked.codebook, marginals, fixed=False)
        self.program = Program(linked, marginals, folder)
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
        return CountedRates(self.program.table, confusion)

    def value(self, confusion: Confusion) -> float:
        """The objective in the user's units."""
        return float(self.program.value(self.program.rates_of(confusion.counts)))

    def score(self, confusion: Confusion) -> float:
        """The objective, higher is better; what is not a number is worse than any."""
        return self.program.score_at(self.program.rates_of(confusion.counts))

    # ------------------------------------------------------------------ on the rows tested
    def passes(self, confusion: Confusion, *, fractional: bool = False) -> bool:
        """Whether a rule passes the tests of all constraints that are promised."""
        counted = self.counted(confusion)
        for part, level in zip(self.parts, self.promise.levels, strict=True):
            if part is None or level is None:
                continue
            found = p_value(part, counted, level=level, **self._how(fractional))
            if not found.p <= level:
                return False
        return True

    def _how(self, fractional: bool) -> dict[str, Any]:
        return {
            "strict": self.promise.strict, "fractional": fractional, "ranges": self.promise.ranges,
        }  # fmt: skip

    @property
    def is_measured(self) -> bool:
        """Whether tests need the values of rows, and not their counts alone."""
        return bool(self.promise.ranges)

    def require_tests(self, confusion: Confusion) -> None:
        """Refuse constraints over values of rows that have no test, whatever is decided."""
        counted = self.counted(confusion)
        for c, part in zip(self.program.constraints, self.parts, strict=True):
            if part is not None:
                require_bounded_sums(part, counted, c.written)

    def ratio(self, confusion: Confusion, *, among: int, fractional: bool = False) -> float:
        """The largest p-value over its level; a rule passes alone where that is 1 at most."""
        found = self._tested(confusion, fractional, limits=False, among=among)
        return max(s.p_value / level for s, level in found)

    def shown(
        self, confusion: Confusion, *, fractional: bool = False, among: int = 1
    ) -> tuple[Shown, ...]:
        """What the test of each promised constraint finds for a rule, with limits."""
        return tuple(s for s, _ in self._tested(confusion, fractional, limits=True, among=among))

    def _tested(
        self, confusion: Confusion, fractional: bool, *, limits: bool, among: int = 1
    ) -> list[tuple[Shown, float]]:
        counted, promise = self.counted(confusion), self.promise
        out = []
        rows = zip(
            self.program.constraints, self.parts, promise.confidences, promise.levels, strict=True
        )
        for c, part, confidence, level in rows:
            if part is None or level is None or confidence is None:
                continue
            how = self._how(fractional)
            own = level / among
            found = p_value(part, counted, level=own, **how)
            limit = limit_of_constraint(c, counted, level=own, **how) if limits else None
            # The bound may be measured, and the constraint one on a difference.
            plain = c.side == c.written.lhs
            out.append(
                (
                    Shown(
                        str(c.written),
                        confidence,
                        found.p,
                        found.kind,
                        bool(found.p <= own),
                        counted.value(c.function) if plain else None,
                        limit if plain else None,
                    ),
                    level,
                )
            )
        return out

    # ------------------------------------------------------------------ on rows that learn a path
    def margins(self, counts: Floats, squares: Confusion, times: Floats) -> Floats:
        """How safe some rules are (m,): the smallest margin of a promised constraint."""
        counted = self.counted(squares)
        out = np.full(counts.shape[1], np.inf)
        for part in self.parts:
            if part is not None:
                out = np.minimum(out, margins_of(part, counted, counts, times))
        for i in self.others:
            broken = self.program.constraints[i].violation(self.rates(counts)) > SATISFIED
            out = np.where(broken, -np.inf, out)
        return out

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
            return table.of(counts.reshape(self._shape))[None]
        return np.asarray((table.tensors.reshape(len(table), -1) @ counts).T)

    @property
    def _shape(self) -> tuple[int, int, int]:
        book = self.promise.linked.codebook
        return len(book.strata), book.n_classes + 1, book.n_classes
