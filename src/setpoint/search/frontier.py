"""The best mixtures as one bound moves: the columns found for one serve the next."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Codes, Floats
from setpoint.errors import GoalError, InputError, InputTypeError, nearest
from setpoint.goals import Constraint, Goal
from setpoint.parameters import SATISFIED
from setpoint.program import Affine, Program
from setpoint.search.achievable import AchievableSet, MixtureWeights, Optimum, nothing
from setpoint.search.linear_program import UnfinishedError
from setpoint.search.master import InfeasibleMasterError, Master
from setpoint.search.mixtures import best_mixture

INF = float("inf")
Relation: TypeAlias = Literal[">=", "<="]
Corner: TypeAlias = tuple[float, float]
"""Score and strictness: higher is better, and stricter."""

_EDGE = 1e-9
"""A corner that stands out less, relative to the objective, is rounding."""
MOST_CORNERS = 400


def trace_frontier(
    space: AchievableSet,
    program: Program,
    i: int,
    levels: Floats | None,
    points: int,
    gap: float = 0.0,
) -> Frontier:
    """The best mixtures as the i-th bound moves: all corners, or those of some levels."""
    sides = (program.objective, program.constraints[i].function)
    try:
        if levels is None and gap == 0.0 and all(isinstance(x, Affine) for x in sides):
            return breakpoints(space, program, i)
        if levels is None:
            free, strictest = bound_range(space, program, i)
            asked = program.constraints[i].level
            if not np.isfinite(free):  # a divergence, where a class is never predicted
                free = 2.0 * asked - strictest
            inside = min(free, strictest) < asked < max(free, strictest)
            levels = np.linspace(free, strictest, points)
            levels = np.unique(np.append(levels, asked) if inside else levels)
    except InfeasibleMasterError:
        from setpoint.search.infeasibility import InfeasibleError

        raise InfeasibleError(
            f"without {program.constraints[i]} no rule meets the other constraints either"
        ) from None
    return solve_levels(program, i, levels, _mixtures(space, program, i, gap))


def solve_levels(
    program: Program, i: int, levels: Floats, solve: Callable[[float], Optimum]
) -> Frontier:
    """What a search finds under each level of the i-th bound."""
    side = program.constraints[i]
    values, reached = np.full((2, len(levels)), np.nan)
    choices: list[MixtureWeights | None] = [None] * len(levels)
    most = np.full(len(levels), INF)
    bound = INF
    lax_first = np.arange(len(levels))[:: int(side.sign)].tolist()
    for k in lax_first:
        found = solve(float(levels[k]))
        # No stricter level has a better rule.
        bound = most[k] = min(bound, found.bound)
        if found.choice:
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
    words, gaps = words_of(program, i), shown_gaps(gaps)
    return Frontier(*words, levels, values, reached, "points", gaps, choices=tuple(choices))


def _mixtures(
    space: AchievableSet, program: Program, i: int, gap: float
) -> Callable[[float], Optimum]:
    """The best mixture under one level of the i-th bound after the other, from lax to strict."""
    master = Master(space)
    # Last, so that the rows of the others stay in the linear program.
    others = program.without(i)
    ordered = replace(others, constraints=(*others.constraints, program.constraints[i]))
    found: Optimum | None = None

    def solve(level: float) -> Optimum:
        nonlocal found
        asked = ordered.at_level(len(others.constraints), level)
        # What was best under a laxer bound, and meets this one, still is; so is that there is none.
        if found is None or (found.choice and float(asked.violation(found.v)) > SATISFIED):
            try:
                found = best_mixture(space, asked, max(gap, _EDGE), master)
            except InfeasibleMasterError:
                found = nothing(space, certain=True)
            except UnfinishedError:
                return nothing(space, certain=False)
        return found

    return solve


def bound_range(space: AchievableSet, program: Program, i: int) -> tuple[float, float]:
    """Where the i-th bound begins to bind, and the strictest that can be met."""
    side = program.constraints[i]
    others = program.without(i)
    free = float(side.function.value(best_mixture(space, others).v))
    tight = replace(others, objective=side.function, sense=side.sign)
    strictest = float(side.function.value(best_mixture(space, tight).v))
    return free, strictest


def breakpoints(space: AchievableSet, program: Program, i: int) -> Frontier:
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
        found = best_mixture(space, replace(others, objective=mixed), 0.0, master)
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
    words, values, gaps = words_of(program, i), program.sense * f[order], shown_gaps(gaps[order])
    return Frontier(*words, bounds, values, bounds.copy(), "lines", gaps, choices=choices)


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


# --- Frontiers: the best objective as one bound moves ---------------------------------------------


Vary: TypeAlias = "Constraint | str | int | None"

_FEWEST = 7
"""Bounds that a thin frontier has at least: the ends, those that can be met, what is asked."""
_LINE = 1.0 / 250.0
"""Of the extent of the values: less than the width of a line in a picture."""


@dataclass(frozen=True, eq=False)
class Frontier:
    """The best objective as the bound of one constraint moves, in the user's units.

    Parameters
    ----------
    goal : str
        The goal as text.
    vary : str
        The constraint whose bound moves.
    objective, side : str
        What is optimised, and what is bounded.
    relation : {">=", "<="}
    asked : float
        The bound that the goal sets.
    bounds : array of shape (m,)
        Ascending.
    values : array of shape (m,)
        The best objective under each bound, the other constraints kept; NaN where no rule
        meets them all.
    reached : array of shape (m,)
        The bounded side at that rule.
    kind : {"steps", "lines", "points"}
        What holds between two bounds. "steps": rules without draws; the objective is that
        of the next bound on the strict side. "lines": mixtures; it is linear in between.
        Both have all breakpoints, if `gap` is 0. "points": `values` are those of the bounds
        alone.
    gaps : array of shape (m,), optional
        By how much each value may fall short of the best; with steps also one on the lax
        side, up to the next bound, and with lines one on either side. Infinite where nothing
        is proved, also not that there is no rule. By default 0.
    thresholds : array of shape (m,), optional
        Where one threshold decides everybody.
    choices : tuple of m choices
        What the rule of each point is made of, None where there is no rule; empty where the
        frontier was read from a file.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import Evidence, frontier
    >>> scores, true = np.array([0.9, 0.7, 0.4, 0.2]), np.array([1, 0, 1, 0])
    >>> rows = Evidence.from_arrays(("no", "yes"), scores, true)
    >>> found = frontier(rows, "maximize recall subject to precision >= 0.6")
    >>> found.bounds.round(2), found.values, found.at(0.8)
    (array([0.67, 1.  ]), array([1. , 0.5]), 0.5)
    """

    goal: str
    vary: str
    objective: str
    side: str
    relation: Relation
    asked: float
    bounds: Floats
    values: Floats
    reached: Floats
    kind: Literal["steps", "lines", "points"]
    gaps: Floats = field(default_factory=lambda: np.zeros(0))
    thresholds: Floats | None = None
    choices: tuple[MixtureWeights | None, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not len(self.gaps):
            object.__setattr__(self, "gaps", np.zeros(len(self.bounds)))

    @property
    def gap(self) -> float:
        """The largest of `gaps` where a rule is known."""
        return float(self.gaps[~np.isnan(self.values)].max(initial=0.0))

    @overload
    def at(self, bounds: float) -> float: ...
    @overload
    def at(self, bounds: ArrayLike) -> Floats: ...
    def at(self, bounds: Any) -> float | Floats:
        """The best objective under other bounds; NaN where no rule meets them.

        Parameters
        ----------
        bounds : float or array

        Returns
        -------
        float or array
            Of the shape of `bounds`. With "points" linear between two of them, which is a
            guess, and NaN outside.
        """
        k = np.asarray(bounds, dtype=np.float64)
        found = self._at(k)
        return found if k.ndim else float(found)

    def _at(self, k: Floats) -> Floats:
        known = ~np.isnan(self.values)
        x, y = self.bounds[known], self.values[known]
        if not len(x):
            return np.full(k.shape, np.nan)
        if self.relation == "<=":
            x, y, k = -x[::-1], y[::-1], -k
        # Ascending in strictness now: no bound so far is stricter than the last.
        inside = k <= x[-1] + SATISFIED
        if self.kind == "steps":
            at = np.searchsorted(x, k - SATISFIED)
            found = y[np.minimum(at, len(y) - 1)]
        else:
            found = np.interp(k, x, y)
        if self.kind == "points":
            inside &= k >= x[0] - SATISFIED
        return np.where(inside, found, np.nan)

    def sampled(self, levels: Floats) -> Frontier:
        """Of a frontier of steps: what holds at some bounds."""
        strict = self.bounds if self.relation == ">=" else -self.bounds[::-1]
        k = levels if self.relation == ">=" else -levels
        at = np.searchsorted(strict, k - SATISFIED)
        none = at == len(strict)
        if self.relation == "<=":
            at = len(strict) - 1 - at

        found = self._taken(np.where(none, len(strict), at))
        gaps = np.where(none, 0.0, found.gaps)
        return replace(found, bounds=levels, gaps=gaps, kind="points")

    def thinned(self, most: int = 300) -> Frontier:
        """At most so many of the bounds, the ends and the one asked among them.

        Where these are enough, those that are left out differ from their neighbours by less
        than the line of a picture is wide. Otherwise they are spread over bounds and values.
        The gap of a bound that stays grows by what is left out beside it.

        Parameters
        ----------
        most : int
            At least 7.

        Raises
        ------
        ValueError
            If it is less.
        """
        if most < _FEWEST:
            raise InputError(
                f"`most` is at least {_FEWEST}, for the ends and the bound asked, got {most}"
            )
        m = len(self.bounds)
        if m <= most:
            return self
        moved = _way(self.values)
        keep = self._strictest(np.floor(moved / _LINE))
        if len(keep) > most - _FEWEST + 1:
            way = _way(self.bounds) + moved
            keep = self._strictest(np.floor(way / way[-1] * (most - _FEWEST)))
        strict = self.asked - SATISFIED if self.relation == ">=" else self.asked + SATISFIED
        side: Literal["left", "right"] = "left" if self.relation == ">=" else "right"
        asked = int(np.searchsorted(self.bounds, strict, side)) - (self.relation == "<=")
        # With lines the bound asked lies between two of them.
        lax = asked - 1 if self.relation == ">=" else asked + 1
        known = np.flatnonzero(~np.isnan(self.values))
        ends = [0, *known[:1], *known[-1:], m - 1]
        keep = np.unique(np.clip([*keep, *ends, lax, asked], 0, m - 1))
        thin = self._taken(keep)
        if self.kind == "points":
            return thin
        lost = np.abs(self.values - thin.at(self.bounds))
        short = np.where(np.isnan(lost), 0.0, lost + self.gaps)
        gaps = thin.gaps.copy()
        right = np.searchsorted(keep, np.arange(m))
        left = right - (keep[right] != np.arange(m))
        # Under a bound that is left out steps take the stricter value, lines one between both.
        if self.kind == "lines" or self.relation == ">=":
            np.maximum.at(gaps, right, short)
        if self.kind == "lines" or self.relation == "<=":
            np.maximum.at(gaps, left, short)
        return replace(thin, gaps=gaps)

    def _strictest(self, cells: Floats) -> Codes:
        """The strictest bound of each cell."""
        ends = np.diff(cells) != 0.0
        strict = np.append(ends, True) if self.relation == ">=" else np.append(True, ends)
        return np.flatnonzero(strict)

    def _taken(self, index: Codes) -> Frontier:
        """Some of the bounds by their numbers; the number after the last is of no rule."""

        def take(x: Floats) -> Floats:
            return np.asarray(np.append(x, np.nan)[index])

        choices = (*self.choices, None)
        return replace(
            self,
            bounds=take(self.bounds),
            values=take(self.values),
            reached=take(self.reached),
            gaps=take(self.gaps),
            thresholds=None if self.thresholds is None else take(self.thresholds),
            choices=tuple(choices[k] for k in index.tolist()) if self.choices else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain scalars and lists; NaN and infinite numbers as text that ``float`` reads."""
        out = {name: _plain(value) for name, value in vars(self).items() if name != "choices"}
        return {name: value for name, value in out.items() if value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Frontier:
        """The frontier that :meth:`to_dict` wrote."""
        arrays = ("bounds", "values", "reached", "gaps", "thresholds")
        out: dict[str, Any] = {
            k: np.array(v, np.float64) if k in arrays else v for k, v in data.items()
        }
        out["asked"] = float(data["asked"])
        return cls(**out)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Frontier) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


def _way(x: Floats) -> Floats:
    """How far numbers have moved up to each of them; up to the last by 1."""
    with np.errstate(invalid="ignore"):
        step = np.abs(np.diff(x))
    step = np.where(np.isfinite(step), step, 0.0)
    return np.append(0.0, np.cumsum(step) / max(float(step.sum()), 1e-300))


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [x if np.isfinite(x) else str(x) for x in value.tolist()]
    if isinstance(value, float) and not np.isfinite(value):
        return str(value)
    return value


def _side_text(text: str) -> str:
    """A left side as goals print it, however its names are quoted."""
    with suppress(GoalError):
        goal = Goal.parse(f"maximize {text}")
        if not goal.constraints:
            return str(goal.objective)
    return text.strip()


def vary_of(goal: Goal, vary: Vary) -> tuple[Goal, int]:
    """The goal, and which of its constraints moves; one that it lacks is added."""
    if goal.is_blackbox:
        raise GoalError(
            f"'{goal}' has no bound to move: a goal without a formula has no constraints"
        )
    own = goal.constraints
    texts = [str(c) for c in own]
    if vary is None:
        if len(own) == 1:
            return goal, 0
        what = "pass a constraint such as 'precision >= 0.9'"
        if own:
            what = f"the goal has {len(own)}; pass `vary`, one of {_either(texts)}"
        raise GoalError(f"`vary` says which bound moves: {what}")
    if isinstance(vary, (int, np.integer)) and not isinstance(vary, bool):
        if not 0 <= vary < len(own):
            raise GoalError(f"`vary` is a number from 0 to {len(own) - 1}, got {vary}")
        return goal, int(vary)
    if isinstance(vary, str):
        side = _side_text(vary)
        sides = [i for i, c in enumerate(own) if str(c.lhs) == side]
        if len(sides) == 1:
            return goal, sides[0]
        if sides:
            raise GoalError(
                f"`vary={vary!r}` is the left side of several constraints: say which, "
                f"{_either([texts[i] for i in sides])}"
            )
        if ">=" not in vary and "<=" not in vary and "≥" not in vary and "≤" not in vary:
            left_sides = [str(c.lhs) for c in own]
            raise GoalError(
                f"`vary={vary!r}` is the left side of no constraint ({nearest(vary, left_sides)}); "
                "a new one is written with its bound"
            )
        parsed = Goal.parse(f"{goal.sense} {goal.objective} subject to {vary}").constraints
        if len(parsed) != 1:
            raise GoalError(f"`vary` is one constraint, got {len(parsed)}: {vary!r}")
        vary = parsed[0]
    if not isinstance(vary, Constraint):
        raise InputTypeError(
            f"`vary` is a constraint, its text or its number, got {type(vary).__name__}"
        )
    if vary in own:
        return goal, own.index(vary)
    if vary.confidence is None:  # without one it names its constraint all the same
        bare = [replace(c, confidence=None) for c in own]
        if bare.count(vary) == 1:
            return goal, bare.index(vary)
    alike = [str(c) for c in own if c.lhs == vary.lhs and c.relation == vary.relation]
    if alike:
        raise GoalError(
            f"`vary={str(vary)!r}` would be a second bound beside {alike[0]!r}: "
            f"`vary={str(vary.lhs)!r}` moves that one"
        )
    return goal.subject_to(vary), len(own)


def _either(texts: list[str]) -> str:
    return " or ".join(f"'{text}'" for text in texts)


def levels_of(values: Any) -> Floats | None:
    """Bounds to look at: one-dimensional, finite, ascending, each once."""
    if values is None:
        return None
    try:
        levels = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputTypeError(f"`values` is a list of numbers, got {values!r:.60}") from None
    if levels.ndim != 1 or not len(levels) or not np.isfinite(levels).all():
        raise InputError(
            f"`values` is a list of finite numbers, got the shape {levels.shape}"
            + ("" if np.isfinite(levels).all() else " with NaN or infinite ones")
        )
    return np.unique(levels)


def words_of(program: Program, i: int) -> tuple[str, str, str, str, Relation, float]:
    """What a frontier says of its goal and of the bound that moves."""
    moving, goal = program.constraints[i], program.goal
    texts = str(goal), str(moving.written), str(goal.objective), str(moving.side)
    return *texts, moving.written.relation, moving.level


def shown_gaps(gaps: Floats) -> Floats:
    """Gaps without what a search cannot tell from none."""
    return np.where(gaps > SATISFIED, gaps, 0.0)
