"""What can be bet on row by row: requirements as what each row adds to them.

A requirement ``A / B >= k`` holds where ``a - k b`` is at least 0 on average, a row of the
population adding `a` above and `b` below the line. A requirement on several rates of different
rows, such as the difference of two groups, holds where the same combination of one row of
each does: rows wait until there is one of every rate, and their mean stands for those that wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.evidence import Confusion
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import column_in_words, value_in_words
from setpoint.guarantees.requirements import (
    Requirement,
    leaves,
    needs_one_of_several,
    requirements_of,
)
from setpoint.inference.profiles import CountedRates
from setpoint.program.fold import Folder, Leaf, Term
from setpoint.program.functions import Affine, RateFunction, Ratio, WeightedSum
from setpoint.program.program import LinkedConstraint, LinkedGoal, ProgramConstraint
from setpoint.program.rates import Rate

__all__ = ["Increments", "Share", "increments_of"]

_TINY = 1e-12

_CANCELLED = 8 * float(np.finfo(float).eps)
"""Relative: what is left where the two parts of ``a - k b`` cancel."""


class Share(NamedTuple):
    """``coef * A / B``, one of the rates that a requirement combines."""

    coef: float
    above: Floats
    below: Floats


@dataclass(frozen=True, eq=False)
class Increments:
    """A requirement as what rows add to it: ``sign * (sum of shares - level) >= 0``."""

    constraint: int
    part: str
    sign: float
    level: float
    shares: tuple[Share, ...]

    @property
    def relation(self) -> str:
        """``">="`` or ``"<="``."""
        return ">=" if self.sign > 0 else "<="

    @property
    def added(self) -> Floats:
        """``x`` (entries,) of each row, where there is one share: its mean is to be >= 0."""
        ((coef, above, below),) = self.shares
        first, second = coef * above, self.level * below
        x = self.sign * (first - second)
        zero = np.abs(x) <= _CANCELLED * np.maximum(np.abs(first), np.abs(second))
        return np.where(zero, 0.0, x)

    @property
    def range(self) -> tuple[float, float]:
        """The smallest and largest x of a row, or of a row of each share."""
        if len(self.shares) == 1:
            return float(self.added.min(initial=0.0)), float(self.added.max(initial=0.0))
        low = high = -self.sign * self.level
        for coef, above, below in self.shares:
            ends = self.sign * coef * (above / np.where(below > 0, below, 1.0))[below > 0]
            low, high = low + float(ends.min()), high + float(ends.max())
        return low, high

    @property
    def looks_at(self) -> Bools:
        """The entries (entries,) whose rows count."""
        return np.asarray(np.any([(s.above != 0) | (s.below != 0) for s in self.shares], axis=0))


def increments_of(goal: LinkedGoal, confusion: Confusion) -> tuple[Increments, ...]:
    """All requirements of a goal's constraints, as what rows add to them.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.program.link import link
    >>> book = Confusion.of_counts(("no", "yes"), [[1, 1], [1, 1], [0, 0]])
    >>> goal = Goal.parse("maximize recall s.t. precision >= 0.9")
    >>> [watched] = increments_of(link(goal, book.codebook), book)
    >>> watched.added.reshape(3, 2).round(3)  # by true and predicted class; unlabelled last
    array([[ 0. , -0.9],
           [ 0. ,  0.1],
           [ 0. ,  0. ]])
    """
    folder = Folder(goal.codebook, confusion.marginals, fixed=False)
    functions = [_constraint(folder, c) for c in goal.constraints]
    counted = CountedRates(folder.table, confusion)
    out: list[Increments] = []
    for i, (linked, folded) in enumerate(zip(goal.constraints, functions, strict=True)):
        part = requirements_of(folded)
        if needs_one_of_several(part):
            raise GoalError(
                f"{linked.written} holds where one of several statements does, and rows can only "
                "be watched for statements that all have to hold: name one of them, for example "
                "with .on(...) or `label`"
            )
        names = _Names(linked, counted)
        found = [_increments(counted, x, i, linked, names) for x in leaves(part)]
        out += _distinct(found)
    return tuple(out)


def _constraint(folder: Folder, c: LinkedConstraint) -> ProgramConstraint:
    """As in a program, but for bounds outside the range, which hangs on the rows there are."""
    if c.difference is None:
        left, right = folder.function(c.left), folder.function(c.right)
        return ProgramConstraint(c.written, c.written.lhs, left, float(right.value(np.zeros(0))))
    side = c.written.lhs - c.written.rhs
    return ProgramConstraint(c.written, side, folder.function(c.difference), 0.0)


def _increments(
    counted: CountedRates, x: Requirement, i: int, linked: LinkedConstraint, names: _Names
) -> Increments:
    shares: list[Share] = []
    const = _gather(counted, x.function, 1.0, shares)
    if const is None or not _apart(shares):
        raise GoalError(
            f"{linked.written} cannot be watched row by row: it is neither one fraction of counts "
            "(recall, precision, F1, predicted rate, churn, costs a row) nor a sum or difference "
            "of rates of different rows (groups, classes); watch bounds on the rates that it is "
            "made of"
        )
    return Increments(i, names.of(x.function), x.sign, x.level - const, tuple(shares))


def _gather(
    counted: CountedRates, x: RateFunction, coef: float, shares: list[Share]
) -> float | None:
    """Add the shares of a function to a list; what is constant in it, or None if it has others."""
    if isinstance(x, WeightedSum):
        total = 0.0
        for k, child in zip(x.coefs, x.children, strict=True):
            const = _gather(counted, child, coef * k, shares)
            if const is None:
                return None
            total += const
        return total
    if not isinstance(x, (Affine, Ratio)):
        return None
    index = sorted(x.features)
    if not index:
        return coef * float(x.value(np.zeros(len(counted.features))))
    weights = counted.fraction_of_entries(x)
    if weights is not None:
        above, below = (part.ravel() for part in weights)
        shares.append(Share(coef, above, below))
        return 0.0
    if isinstance(x, Ratio):
        return None
    return _affine(x, index, counted.event(index), counted.given(index), coef, shares)


def _affine(
    x: Affine, index: list[int], event: Floats, given: Floats, coef: float, shares: list[Share]
) -> float:
    """The shares of a sum of rates: one for each sort of rows that they are measured on."""
    kinds: dict[bytes, list[int]] = {}
    for place in range(len(index)):
        kinds.setdefault(given[place].tobytes(), []).append(place)
    for places in kinds.values():
        coefs = np.array([x.terms[index[p]] for p in places])
        shares.append(Share(coef, np.asarray(coefs @ event[places]), given[places[0]]))
    return coef * x.const


def _apart(shares: list[Share]) -> bool:
    """Whether one share is there, or each is a mean over rows of its own."""
    if len(shares) < 2:
        return bool(shares)
    seen = np.zeros(len(shares[0].below), int)
    for _, above, below in shares:
        inside = below > 0
        if not inside.any() or (np.abs(above[~inside]) > _TINY).any():
            return False
        if np.ptp(below[inside]) > _TINY:
            return False
        seen += inside
    return bool((seen <= 1).all())


# ---------------------------------------------------------------------- words
class _Names:
    """What tells the statements of one constraint apart: groups and classes."""

    def __init__(self, linked: LinkedConstraint, counted: CountedRates) -> None:
        self.classes, self.features = counted.confusion.classes, counted.features
        terms = [linked.left, linked.right]
        self.leaves: dict[Rate, Leaf] = {x.rate: x for term in terms for x in _leaves(term)}
        labels = {rate.label for rate in self.leaves if rate.label is not None}
        self.by_class = len(labels) > 1
        self.several = len({self._of(rate) for rate in self.leaves}) > 1

    def of(self, x: RateFunction) -> str:
        """The groups or classes of a function; of a difference, the first against the second."""
        if not self.several:
            return ""
        if isinstance(x, WeightedSum) and len(x.children) == 2:
            first, second = (self._all(child) for child in x.children)
            if first and second:
                joined = "against" if x.coefs[0] * x.coefs[1] < 0 else "and"
                return f"{first} {joined} {second}"
        return self._all(x)

    def _all(self, x: RateFunction) -> str:
        rates = [self.features[j] for j in sorted(x.features)]
        return " and ".join(filter(None, dict.fromkeys(self._of(rate) for rate in rates)))

    def _of(self, rate: Rate) -> str:
        where = self.leaves[rate].population.where if rate in self.leaves else ()
        parts = [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in where]
        if rate.label is not None and self.by_class:
            parts.append(f"class {value_in_words(self.classes[rate.label])}")
        return ", ".join(parts)


def _leaves(term: Term) -> Iterator[Leaf]:
    if isinstance(term, Leaf):
        yield term
    for inner in (getattr(term, "term", None), *getattr(term, "terms", ())):
        if inner is not None:
            yield from _leaves(inner)


def _distinct(found: list[Increments]) -> list[Increments]:
    """Statements with the same words are distinguished by their bounds."""
    words = [x.part for x in found]
    return [
        x
        if words.count(x.part) == 1
        else Increments(
            x.constraint,
            ", ".join(filter(None, (x.part, f"{x.relation} {x.level:g}"))),
            x.sign,
            x.level,
            x.shares,
        )
        for x in found
    ]
