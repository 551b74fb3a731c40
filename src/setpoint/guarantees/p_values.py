"""P-values of constraints: how likely such counts are, or better ones, where a bound is broken.

A rule that breaks a constraint on the population gets a p-value up to `level` in at most that
share of samples. Which computation a statement gets follows from what it is made of:

``"binomial"``
    One share in disguise (recall, precision, F1, Jaccard, churn, wins against losses): exact.
``"melding"``
    Two such shares of different rows: differences and ratios of groups or classes.
``"gaffke"``
    One mean of rows with more values: F-beta, costs, paired gains.
``"drawn"``
    Any other function of several rates.
``"betting"``, ``"boxes"``
    What is proved for these, if nothing else will do.
``"trivial"``
    No row could change it.

Where all of several statements have to hold, each is tested at the full level, and the largest
p-value is that of all: a rule that breaks the constraint breaks one of them.
"""

from __future__ import annotations

from typing import NamedTuple

from setpoint.errors import InputError
from setpoint.guarantees.drawing import drawn_p, number_of_draws
from setpoint.guarantees.measured import Ranges, bounded_p
from setpoint.guarantees.melding import melded_p
from setpoint.guarantees.proved import betting_p, boxes_p
from setpoint.guarantees.rates import Rates, rates_in
from setpoint.guarantees.requirements import Every, Part, Requirement, Some
from setpoint.inference.profiles import CountedRates
from setpoint.inference.trials import trials_of

__all__ = ["KINDS", "PValue", "p_value"]

KINDS = ("trivial", "binomial", "betting", "boxes", "melding", "gaffke", "drawn")
"""From what is certain to what is right in the limit."""


class PValue(NamedTuple):
    """A p-value, and how it was computed: of several statements, the least exact way."""

    p: float
    kind: str


def p_value(
    part: Part,
    counted: CountedRates,
    *,
    level: float,
    strict: bool = False,
    fractional: bool = False,
    ranges: Ranges | None = None,
    seed: int = 0,
) -> PValue:
    """The p-value of a constraint from the counts of rows that did not choose the rule.

    Examples
    --------
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.inference.profiles import bind_counted
    >>> from setpoint.metrics import fbeta, precision
    >>> found = Confusion.of_counts(("no", "yes"), [[900, 50], [19, 81], [0, 0]])
    >>> (x, y), counted = bind_counted([precision, fbeta(2)], found)
    >>> p, kind = p_value(Requirement(x, 0.5, 1.0), counted, level=0.05)
    >>> round(p, 4), kind
    (0.0043, 'binomial')
    >>> p, kind = p_value(Requirement(y, 0.7, 1.0), counted, level=0.05)
    >>> round(p, 2), kind
    (0.06, 'gaffke')
    """
    if not 0.0 < level < 1.0:
        raise InputError(f"`level` must lie between 0 and 1, got {level!r}")
    return _Testing(counted, strict, fractional, ranges, seed).test(part, level)


class _Testing:
    """Finds p-values of statements on one set of counts."""

    def __init__(
        self,
        counted: CountedRates,
        strict: bool,
        fractional: bool,
        ranges: Ranges | None,
        seed: int,
    ) -> None:
        self.counted = counted
        self.strict = strict
        self.fractional = fractional
        self.ranges = ranges
        self.seed = seed

    def test(self, part: Part, level: float) -> PValue:
        if isinstance(part, Requirement):
            return self._requirement(part, level)
        if isinstance(part, Every):
            found = [self.test(inner, level) for inner in part.parts]
            return PValue(max((f.p for f in found), default=0.0), _weakest(found))
        able = [inner for inner in part.parts if not _never(inner)]
        m = max(len(able), 1)
        found = [self.test(inner, level / m) for inner in able]
        return PValue(min(1.0, m * min((f.p for f in found), default=1.0)), _weakest(found))

    def _requirement(self, x: Requirement, level: float) -> PValue:
        if self.counted.is_measured(x.function):
            p = bounded_p(x, self.counted, self.ranges or {}, strict=self.strict)
            return PValue(p, "betting" if self.strict else "gaffke")
        if not self.fractional:
            trials = trials_of(x.function, self.counted, x.relation, x.level)
            if trials is not None:
                return PValue(trials.p_value, "binomial")
        rates = rates_in(x.function, self.counted)
        if self.strict or x.function.has_kinks:
            # Drawing is right for smooth functions: a largest of several is drawn too large.
            return self._proved(x, rates)
        kind = "gaffke" if len(rates) == 1 else "drawn"
        if rates.is_empty:
            return PValue(1.0, kind)
        if not self.fractional:
            melded = melded_p(x, rates, level)
            if melded is not None:
                return PValue(melded, "melding")
        return PValue(drawn_p(x, rates, number_of_draws(level), self.seed), kind)

    def _proved(self, x: Requirement, rates: Rates) -> PValue:
        kind = "betting" if rates.is_one else "boxes"
        if rates.is_empty:
            return PValue(1.0, kind)
        if rates.is_one:
            used = rates.used(0)
            one = rates.above[0, used], rates.below[0, used], rates.counts[used]
            return PValue(betting_p(*one, x.level, x.sign), kind)
        return PValue(boxes_p(x, rates, fractional=self.fractional), kind)


def _never(part: Part) -> bool:
    return isinstance(part, Some) and not part.parts


def _weakest(found: list[PValue]) -> str:
    return max((f.kind for f in found), key=KINDS.index, default="trivial")
