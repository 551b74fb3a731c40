"""Where decisions by several scores a row turn: along lines on which two scores move.

One goes up and one down by the same amount, for posteriors sum to one. Along such a line every
total of an argmax is affine, so the decision can turn only where the total of the decided class
meets another one, or where another class comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Bools, Codes, Floats
from setpoint.rules.argmax import Argmax, weighted_sums
from setpoint.rules.base import Rule
from setpoint.rules.mixture import Mixture
from setpoint.rules.per_segment import PerSegment
from setpoint.rules.turning_points import Decide, TurningPoints, never_turning, unknown_rule
from setpoint.rules.value_aware import ValueAware

__all__ = ["on_several_scores"]

_ROUNDING = 1e-14
"""Steps that differ by less than this part of the scores are one."""

_JUST_PAST = 1e-9
"""Such a part of the scores further on something else is decided."""


def on_several_scores(
    rule: Rule, code: int, s: Floats, decided: Codes, decide: Decide, within: tuple[float, float]
) -> TurningPoints:
    """Where the decisions of some rows of one segment turn; `decide` has their draws."""
    out = never_turning(decided)
    n = s.shape[1] - len(rule.value_columns)
    here = np.arange(len(s))
    top = s[:, :n].argmax(axis=1)
    own = n in (rule.n_classes, rule.n_classes - 1)  # a score for each class that is not deferring
    pivot = np.full(len(s), 1) if n == 2 else np.where(decided < n, decided, top) if own else top
    out.column[:], out.score[:] = pivot, s[here, pivot]
    for shift in range(1, n) if n > 1 else [0]:
        other = (pivot + shift) % n
        direction = np.zeros_like(s)
        direction[here, pivot] = 1.0
        if n > 1:
            direction[here, other] = -1.0
        steps = _steps(rule, code, s, direction, decided)
        for sign, far, to, itself in (
            (1.0, out.above, out.above_to, out.at_above),
            (-1.0, out.below, out.below_to, out.at_below),
        ):
            found = _first(rule, steps, sign, s, direction, decided, decide)
            new = out.score + sign * found.step
            left = s[here, other] - sign * found.step
            fits = np.isfinite(found.step) & (new >= within[0]) & (new <= within[1])
            fits &= (n == 1) | ((left >= within[0]) & (left <= within[1]))
            nearer = fits & ~(sign * (far - out.score) <= found.step)
            far[nearer], to[nearer], itself[nearer] = (
                new[nearer],
                found.to[nearer],
                found.at[nearer],
            )
            chosen = nearer & (out.rises == (sign > 0.0))
            out.other[chosen] = other[chosen] if n > 1 else -1
    return out


@dataclass(frozen=True, eq=False)
class _First:
    """How far the decision stays (N,), inf for ever; what comes then; whether it is there at it."""

    step: Floats
    to: Codes
    at: Bools


def _steps(rule: Rule, code: int, s: Floats, direction: Floats, decided: Codes) -> Floats:
    """Signed steps (N, m) along a direction at which the decision may turn; NaN: none."""
    if isinstance(rule, PerSegment):
        if rule.by == "segment":
            return _steps(rule.rules[code], code, s, direction, decided)
        first, second = np.triu_indices(len(rule.rules), 1)
        gaps, slopes = s[:, first] - s[:, second], direction[:, second] - direction[:, first]
        parts = [_quotient(gaps, slopes)]
    elif isinstance(rule, Mixture):
        parts = []
    elif isinstance(rule, (Argmax, ValueAware)):
        return _meetings(rule, s, direction, decided)
    else:
        raise unknown_rule(rule)
    parts += [_steps(part, code, s, direction, decided) for part in rule.children]
    return np.concatenate(parts, axis=1)


def _meetings(rule: Argmax | ValueAware, s: Floats, direction: Floats, decided: Codes) -> Floats:
    """Where the total of the decided class meets that of each other class (N, n)."""
    flat = rule
    if isinstance(rule, ValueAware):
        n = rule.n_posteriors
        moved = np.column_stack([direction[:, :n], s[:, n:]])  # columns of values stay
        flat, s, direction = rule.rule, rule._expanded(s), rule._expanded(moved)
    assert isinstance(flat, Argmax)
    here = np.arange(len(s))
    totals, slopes = flat.totals(s), weighted_sums(direction, flat.G)
    sizes = weighted_sums(np.abs(direction), np.abs(flat.G))
    gaps = totals[here, decided][:, None] - totals
    slopes = slopes - slopes[here, decided][:, None]
    slopes[np.abs(slopes) <= _ROUNDING * (sizes + sizes[here, decided][:, None])] = 0.0
    steps = _quotient(gaps, slopes)
    steps[here, decided] = np.nan
    return steps


def _quotient(gaps: Floats, slopes: Floats) -> Floats:
    """NaN where lines are parallel."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        out = gaps / slopes
    return np.where((slopes == 0.0) | ~np.isfinite(out), np.nan, out + 0.0)


def _first(
    rule: Rule,
    steps: Floats,
    sign: float,
    s: Floats,
    direction: Floats,
    decided: Codes,
    decide: Decide,
) -> _First:
    """The first step of one sign at which the decision turns."""
    n = len(s)
    sizes = np.where(sign * steps >= 0.0, np.abs(steps), np.inf)
    stay = _First(np.full(n, np.inf), np.full(n, -1), np.zeros(n, np.bool_))
    order = np.argsort(sizes, axis=1, kind="stable")
    sizes = np.take_along_axis(sizes, order, axis=1)
    if not sizes.size:
        return stay
    starts = np.column_stack([np.zeros(n), sizes])
    ends = np.column_stack([sizes, np.full(n, np.inf)])
    scale = np.abs(s).max(axis=1)
    for k in range(starts.shape[1]):
        start, end = starts[:, k], ends[:, k]
        todo = np.isinf(stay.step) & np.isfinite(start)
        far = start[todo]
        todo[todo] = end[todo] - far > _ROUNDING * np.maximum(scale[todo], far)
        if not todo.any():
            continue
        with np.errstate(invalid="ignore"):
            middle = np.where(np.isinf(end), 2.0 * start + 1.0, 0.5 * (start + end))
        middle = np.where(todo, middle, 0.0)
        found = decide(s + (sign * middle)[:, None] * direction)
        turned = todo & (found != decided)
        # what comes first of several classes that may come up to the middle
        near = np.where(turned, np.minimum(middle, start + _JUST_PAST * (scale + start)), 0.0)
        first = decide(s + (sign * near)[:, None] * direction)
        found = np.where(first != decided, first, found)
        stay.step[turned], stay.to[turned] = start[turned], found[turned]
        stay.at[turned] = found[turned] < decided[turned]  # ties go to the lowest class
    return stay
