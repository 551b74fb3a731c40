"""The best mixtures as one bound moves: the columns found for one serve the next."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.functions import Affine
from setpoint.program.program import Program
from setpoint.search.achievable_set import AchievableSet, MixtureWeights
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.master import InfeasibleMasterError, Master
from setpoint.search.mixtures import UnfinishedError, best_mixture
from setpoint.search.optimum import Optimum
from setpoint.tolerances import SATISFIED

__all__ = [
    "FrontierPoints",
    "bound_range",
    "breakpoints",
    "solve_levels",
    "trace_frontier",
]

INF = float("inf")
Corner: TypeAlias = tuple[float, float]
"""Score and strictness: higher is better, and stricter."""

Found: TypeAlias = tuple[Optimum | None, float]
"""A rule, if one was found, and the score that none passes: -inf where it is proved that there
is none, inf where nothing is."""

_EDGE = 1e-9
"""A corner that stands out less, relative to the objective, is rounding."""
MOST_CORNERS = 400


@dataclass(frozen=True)
class FrontierPoints:
    """What the best rules under some bounds reach."""

    bounds: Floats
    values: Floats
    reached: Floats
    gaps: Floats
    choices: tuple[MixtureWeights | None, ...]


def trace_frontier(
    space: AchievableSet,
    program: Program,
    i: int,
    levels: Floats | None,
    points: int,
    gap: float = 0.0,
) -> tuple[FrontierPoints, Literal["lines", "points"]]:
    """The best mixtures as the i-th bound moves: all corners, or those of some levels."""
    sides = (program.objective, program.constraints[i].function)
    try:
        if levels is None and gap == 0.0 and all(isinstance(x, Affine) for x in sides):
            return breakpoints(space, program, i), "lines"
        if levels is None:
            free, strictest = bound_range(space, program, i)
            asked = program.constraints[i].level
            if not np.isfinite(free):  # a divergence, where a class is never predicted
                free = 2.0 * asked - strictest
            inside = min(free, strictest) < asked < max(free, strictest)
            levels = np.linspace(free, strictest, points)
            levels = np.unique(np.append(levels, asked) if inside else levels)
    except InfeasibleMasterError:
        raise InfeasibleError(
            f"without {program.constraints[i]} no rule meets the other constraints either"
        ) from None
    return solve_levels(program, i, levels, _mixtures(space, program, i, gap)), "points"


def solve_levels(
    program: Program, i: int, levels: Floats, solve: Callable[[float], Found]
) -> FrontierPoints:
    """What a search finds under each level of the i-th bound."""
    side = program.constraints[i]
    values, reached = np.full((2, len(levels)), np.nan)
    choices: list[MixtureWeights | None] = [None] * len(levels)
    most = np.full(len(levels), INF)
    bound = INF
    lax_first = np.arange(len(levels))[:: int(side.sign)].tolist()
    for k in lax_first:
        found, passed_by_none = solve(float(levels[k]))
        # No stricter level has a better rule.
        bound = most[k] = min(bound, passed_by_none)
        if found is not None:
            values[k] = float(program.value(found.v))
            reached[k] = float(side.function.value(found.v))
            choices[k] = found.choice
    # A rule that meets a bound meets the laxer ones, where a search may end at less, or nothing.
    for strict, lax in pairwise(lax_first[::-1]):
        better = program.sense * values[strict] > program.sense * values[lax]
        if better or (np.isnan(values[lax]) and not np.isnan(values[strict])):
            values[lax], reached[lax] = values[strict], reached[strict]
            choices[lax] = choices[strict]
    short = np.maximum(most - program.sense * values, 0.0)
    gaps = np.where(np.isnan(values), np.where(most == -INF, 0.0, INF), short)
    return FrontierPoints(levels, values, reached, gaps, tuple(choices))


def _mixtures(
    space: AchievableSet, program: Program, i: int, gap: float
) -> Callable[[float], Found]:
    """The best mixture under one level of the i-th bound after the other, from lax to strict."""
    master = Master(space)
    # Last, so that the rows of the others stay in the linear program.
    others = program.without(i)
    ordered = others.changed(constraints=[*others.constraints, program.constraints[i]])
    found: Optimum | None = None
    hopeless = False

    def solve(level: float) -> Found:
        nonlocal found, hopeless
        asked = ordered.at_level(len(others.constraints), level)
        # What was best under a laxer bound, and meets this one, still is.
        if not hopeless and (found is None or float(asked.violation(found.v)) > SATISFIED):
            try:
                found = best_mixture(space, asked, max(gap, _EDGE), master)
            except InfeasibleMasterError:
                hopeless = True  # under all stricter levels, too
            except UnfinishedError:
                return None, INF
        return (None, -INF) if hopeless or found is None else (found, found.bound)

    return solve


def bound_range(space: AchievableSet, program: Program, i: int) -> tuple[float, float]:
    """Where the i-th bound begins to bind, and the strictest that can be met."""
    side = program.constraints[i]
    others = program.without(i)
    free = float(side.function.value(best_mixture(space, others).v))
    tight = others.changed(side.function, sense=side.sign)
    strictest = float(side.function.value(best_mixture(space, tight).v))
    return free, strictest


def breakpoints(space: AchievableSet, program: Program, i: int) -> FrontierPoints:
    """All corners of the frontier of an affine objective and an affine side."""
    objective, constraint = program.objective, program.constraints[i]
    side = constraint.function
    assert isinstance(objective, Affine)
    assert isinstance(side, Affine)
    others, master = program.without(i), Master(space)
    choice_of: dict[Corner, MixtureWeights] = {}

    def furthest(a: float, b: float) -> Corner:
        """Score and strictness of a mixture with the largest a score + b strictness."""
        mixed = objective.scaled(a).plus(side.scaled(b * constraint.sign * program.sense))
        found = best_mixture(space, others.changed(mixed), 0.0, master)
        f, g = float(objective.value(found.v)), float(side.value(found.v))
        corner = (program.sense * f, constraint.sign * g)
        choice_of.setdefault(corner, found.choice)
        return corner

    first, last = furthest(1.0, 0.0), furthest(0.0, 1.0)
    corners, short = _corners(first, last, furthest)
    kept = _undominated(corners)
    f, g = np.array(kept).T
    gaps = np.array([short.get(corner, 0.0) for corner in kept])
    order = np.argsort(constraint.sign * g)
    bounds = constraint.sign * g[order]
    choices = tuple(choice_of[kept[k]] for k in order.tolist())
    return FrontierPoints(bounds, program.sense * f[order], bounds.copy(), gaps[order], choices)


def _corners(
    first: Corner, last: Corner, furthest: Callable[[float, float], Corner]
) -> tuple[list[Corner], dict[Corner, float]]:
    """Corners between two points; and how far one that was left out beside them may stand out."""
    # The widest first: what is left out in the end lies in the smallest box.
    corners = [first, last]
    heap = [(-INF, first, last)]
    short: dict[Corner, float] = {}
    while heap:
        if len(corners) >= MOST_CORNERS:
            for most, *ends in heap:
                short |= {end: max(-most, short.get(end, 0.0)) for end in ends}
            break
        _, p, q = heapq.heappop(heap)
        a, b = q[1] - p[1], p[0] - q[0]
        size = max(abs(a), abs(b))
        if a <= 0.0 or b < 0.0 or size <= _EDGE:
            continue
        a, b = a / size, b / size
        r = furthest(a, b)
        out = a * (r[0] - p[0]) + b * (r[1] - p[1])
        if out <= _EDGE * (1.0 + abs(p[0])):
            continue
        corners.append(r)
        for s, t in ((p, r), (r, q)):
            heapq.heappush(heap, (-abs(s[0] - t[0]), s, t))
    return corners, short


def _undominated(corners: list[Corner]) -> list[Corner]:
    """Corners from lax to strict, each with less objective than the one before."""
    out: list[Corner] = []
    for f, g in sorted(corners, key=lambda c: (-c[1], -c[0])):
        if not out or f > out[-1][0] + _EDGE * (1.0 + abs(f)):
            out.append((f, g))
    return out
