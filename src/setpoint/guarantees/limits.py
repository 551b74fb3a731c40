"""One-sided limits that go with the p-values: the strictest bound that a rule would pass."""

from __future__ import annotations

import math
from dataclasses import replace

from setpoint.guarantees.measured import Ranges, bounded_range
from setpoint.guarantees.p_values import p_value
from setpoint.guarantees.requirements import Requirement, requirements_of
from setpoint.inference.profiles import CountedRates
from setpoint.inference.trials import exact_limits
from setpoint.program.program import ProgramConstraint

__all__ = ["limit_of_constraint"]

_STEPS = 24
"""Halvings of the range: beyond, no user sees a difference."""


def limit_of_constraint(
    constraint: ProgramConstraint,
    counted: CountedRates,
    *,
    level: float,
    strict: bool = False,
    fractional: bool = False,
    ranges: Ranges | None = None,
) -> float | None:
    """The strictest bound on a constraint's left side that the same test would pass.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.guarantees.promise import Promise
    >>> from setpoint.program.link import link
    >>> found = Confusion.of_counts(("no", "yes"), [[90, 2], [9, 38], [0, 0]])
    >>> goal = Goal.parse("maximize recall subject to precision >= 0.8")
    >>> rules = Promise.of(link(goal, found.codebook), 0.95).tests(found.marginals)
    >>> counted = rules.counted(found)
    >>> round(limit_of_constraint(rules.program.constraints[0], counted, level=0.05), 3)
    0.851
    """
    x = constraint.function
    part = requirements_of(constraint)
    plain = isinstance(part, Requirement) and part.function is x
    if plain and not (strict or fractional):
        ends = exact_limits(x, counted, level, level)
        if ends is not None:
            return ends[0] if constraint.sign > 0 else ends[1]
    ends = bounded_range(x, counted, ranges) if ranges and counted.is_measured(x) else None
    bottom, top = counted.range(x) if ends is None else ends
    if not (math.isfinite(bottom) and math.isfinite(top)):
        return None

    def passes(bound: float) -> bool:
        moved = requirements_of(replace(constraint, level=bound))
        found = p_value(
            moved,
            counted,
            level=level,
            strict=strict,
            fractional=fractional,
            ranges=ranges,
        )
        return found.p <= level

    loose, hard = (bottom, top) if constraint.sign > 0 else (top, bottom)
    if passes(constraint.level):
        loose = constraint.level
    else:
        hard = constraint.level
    for _ in range(_STEPS):
        middle = 0.5 * (loose + hard)
        loose, hard = (middle, hard) if passes(middle) else (loose, middle)
    return loose
