"""What turns a decision: the least change of a row's score from which on a rule decides otherwise.

One score a row is cut into steps by the rule's cut-offs; the decision is constant in each step,
and the edges of the nearest steps with another decision are exact. A soft edge has no steps:
there the edge is found by halving the range of float64, to the last bit.

Of several scores a row two move at once, one up and one down by the same amount, for posteriors
sum to one. Along such a line every total of an argmax is affine, so the decision can turn only
where the total of the decided class meets another one, or where another class comes on top.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from setpoint.errors import InputError
from setpoint.rules.argmax import Argmax, weighted_sums
from setpoint.rules.band import Band
from setpoint.rules.base import Rule
from setpoint.rules.mixture import Mixture
from setpoint.rules.per_segment import PerSegment
from setpoint.rules.threshold import Threshold
from setpoint.rules.value_aware import ValueAware
from setpoint.typing import Bools, Codes, Floats

__all__ = ["TurningPoints", "drawn_between", "turning_points"]

_BELOW_ONE = np.nextafter(1.0, 0.0)
_ROUNDING = 1e-14
"""Steps that differ by less than this part of the scores are one."""

_JUST_PAST = 1e-9
"""Such a part of the scores further on something else is decided."""

_CHUNK = 1_000_000
"""Numbers of one block: rows times score columns times classes."""


@dataclass(frozen=True, eq=False)
class TurningPoints:
    """Where the decision of each row turns; all arrays have one entry a row.

    Parameters
    ----------
    decided : int array
        The class that is decided.
    column, other : int array
        The score that moves, and the one that moves as far the other way; -1: no other one.
        Where there is one score a row, `column` is 0.
    score : array
        That score.
    above, below : array
        The nearest value above and below it at which the decision turns; NaN: at none.
    above_to, below_to : int array
        What is decided there; -1: nothing else.
    at_above, at_below : bool array
        Whether the decision has turned at that value itself, and not only past it.
    """

    decided: Codes
    column: Codes
    other: Codes
    score: Floats
    above: Floats
    below: Floats
    above_to: Codes
    below_to: Codes
    at_above: Bools
    at_below: Bools

    @property
    def rises(self) -> Bools:
        """Whether the nearer of both lies above (N,); of equally near ones the one above."""
        with np.errstate(invalid="ignore", over="ignore"):
            up, down = self.above - self.score, self.score - self.below
        return np.asarray(np.isnan(self.below) | (~np.isnan(self.above) & ~(down < up)))

    @property
    def at(self) -> Floats:
        """The nearer of both (N,); NaN where no value of the score turns the decision."""
        return np.where(self.rises, self.above, self.below)

    @property
    def change(self) -> Floats:
        """The least change of the score that turns the decision (N,), signed; NaN: none does.

        0 where the score is its cut-off: anything beyond turns the decision.
        """
        with np.errstate(invalid="ignore", over="ignore"):
            return np.where(np.isnan(self.at), np.nan, self.at - self.score)

    @property
    def to(self) -> Codes:
        """What is decided then (N,); -1: nothing else."""
        return np.where(self.rises, self.above_to, self.below_to)

    @property
    def at_itself(self) -> Bools:
        """Whether the decision has turned at `at`, and not only past it (N,)."""
        return np.where(self.rises, self.at_above, self.at_below)


def turning_points(
    rule: Rule,
    scores: ArrayLike,
    segments: ArrayLike | None = None,
    u: ArrayLike | None = None,
    *,
    within: tuple[float, float] = (-np.inf, np.inf),
) -> TurningPoints:
    """The least change of each row's score that turns its decision, all else as it is.

    A rule that draws keeps the row's draw: the decision turns where it would with the same one.

    Of several scores a row the one of the decided class moves, of two that of class 1, of a class
    without a score the largest one; and another score as far the other way, that with which the
    least change does. Columns of values stay.

    Parameters
    ----------
    rule : Rule
    scores, segments, u
        As in :meth:`Rule.decide`.
    within : (float, float)
        What several scores a row can be: (0, 1) for posteriors.

    Returns
    -------
    TurningPoints

    Raises
    ------
    ValueError
        As in :meth:`Rule.decide`; if the rule is none of this library's.

    Examples
    --------
    >>> from setpoint.rules import Argmax, Threshold, turning_points
    >>> turning_points(Threshold(0.5), [0.25, 0.5, 0.75]).change
    array([ 0.25,  0.  , -0.25])
    >>> found = turning_points(Argmax.weighted([1, 1, 3]), [[0.5, 0.375, 0.125]])
    >>> found.to, found.change, found.other
    (array([2]), array([-0.03125]), array([2]))
    """
    s = rule._checked_scores(scores)
    codes = rule._checked_segments(segments, len(s))
    draws = rule._checked_draws(u, len(s))
    out = _empty(rule._decide(s, codes, draws))
    n_columns = 1 if s.ndim == 1 else s.shape[1] * rule.n_classes
    step = max(1, _CHUNK // n_columns)
    for code in [0] if codes is None else np.unique(codes).tolist():
        rows = np.arange(len(s)) if codes is None else np.flatnonzero(codes == code)
        for start in range(0, len(rows), step):
            here = rows[start : start + step]
            own = None if draws is None else draws[here]
            those = None if codes is None else codes[here]

            def decide(x: Floats, those: Codes | None = those, own: Floats | None = own) -> Codes:
                return rule._decide(x, those, own)

            part = _on_one_score if s.ndim == 1 else _on_several_scores
            found = part(rule, code, s[here], out.decided[here], decide, within)
            for f in fields(found):
                getattr(out, f.name)[here] = getattr(found, f.name)
    return out


def drawn_between(rule: Rule, code: int | None = None) -> tuple[float, float] | None:
    """The scores from the first of which on a row may be drawn, until the second, where it is sure.

    Parameters
    ----------
    rule : Rule
    code : int, optional
        The segment, where the rule looks at one.

    Returns
    -------
    (float, float) or None
        None where nothing is drawn, or the rule is not one of two classes by one score.

    Examples
    --------
    >>> from setpoint.rules import Mixture, Threshold
    >>> drawn_between(Mixture([(0.5, Threshold(0.25)), (0.5, Threshold(0.75))]))
    (0.25, 0.75)
    """
    if not rule.randomized or rule.n_classes != 2 or rule.score_columns is not None:
        return None
    s, u = np.full(2, -np.inf), np.array([0.0, _BELOW_ONE])
    codes = None if code is None else np.full(2, code)
    found = turning_points(rule, s, codes, u)
    ends = np.where(found.decided == 1, -np.inf, np.nan_to_num(found.above, nan=np.inf))
    return None if ends[0] == ends[1] else (float(ends[0]), float(ends[1]))


Decide = Callable[[Floats], Codes]


def _empty(decided: Codes) -> TurningPoints:
    """What never turns, to be filled."""
    n = len(decided)
    none, never, no = np.full((3, n), -1), np.full((3, n), np.nan), np.zeros((2, n), np.bool_)
    return TurningPoints(
        decided,
        column=np.zeros(n, np.int64),
        other=none[0],
        score=never[0],
        above=never[1],
        below=never[2],
        above_to=none[1],
        below_to=none[2],
        at_above=no[0],
        at_below=no[1],
    )


# ------------------------------------------------------------------------- one score a row


def _on_one_score(
    rule: Rule, code: int, s: Floats, decided: Codes, decide: Decide, _: tuple[float, float]
) -> TurningPoints:
    out = _empty(decided)
    out.score[:] = s
    edges = _edges(rule, code)
    if edges is None:
        cut = _edge_by_halving(decide, len(s))
        positive = decided == 1
        out.above[:], out.below[:] = (
            np.where(positive, np.nan, cut),
            np.where(positive, cut, np.nan),
        )
        out.above_to[:], out.below_to[:] = np.where(
            np.isnan([out.above, out.below]), -1, [[1], [0]]
        )
        out.at_above[:] = ~np.isnan(out.above)
        return out
    # step k lies from edges[k - 1] on; the lowest has no start
    there = np.searchsorted(edges, s, side="right")
    answers = [decide(np.full(len(s), start)) for start in (-np.inf, *edges)]
    for k in range(len(edges), 0, -1):  # the nearest edge above comes last
        turns = (there < k) & (answers[k] != decided)
        out.above[turns], out.above_to[turns] = edges[k - 1], answers[k][turns]
    for k in range(len(edges)):  # the nearest edge below comes last
        turns = (there > k) & (answers[k] != decided)
        out.below[turns], out.below_to[turns] = edges[k], answers[k][turns]
    out.at_above[:] = out.above_to >= 0
    return out


def _edges(rule: Rule, code: int) -> Floats | None:
    """Scores from which on a rule may decide otherwise, ascending; None where an edge is soft."""
    if isinstance(rule, Threshold):
        found = None if rule.randomized else [rule.threshold]
    elif isinstance(rule, Band):
        found = [rule.low, rule.high]
    elif isinstance(rule, PerSegment) and rule.by == "segment":
        return _edges(rule.rules[code], code)
    elif isinstance(rule, Mixture):
        parts = [_edges(part, code) for part in rule.children]
        known = [part for part in parts if part is not None]
        found = np.concatenate(known).tolist() if len(known) == len(parts) else None
    else:
        raise _unknown(rule)
    return None if found is None else np.unique([x for x in found if np.isfinite(x)])


def _edge_by_halving(decide: Decide, n: int) -> Floats:
    """The smallest score from which on class 1 is decided; NaN where none or every one is."""
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    never = (decide(low) == 1) | (decide(high) == 0)
    a, b = _ordered(low.view(np.int64)), _ordered(high.view(np.int64))
    while (open_ := b > a + 1).any():
        middle = (a & b) + ((a ^ b) >> 1)
        positive = decide(_ordered(middle).view(np.float64)) == 1
        b, a = np.where(open_ & positive, middle, b), np.where(open_ & ~positive, middle, a)
    return np.where(never, np.nan, _ordered(b).view(np.float64) + 0.0)


def _ordered(bits: Codes) -> Codes:
    """The bits of floats as integers in the same order, and back."""
    return bits ^ ((bits >> 63) & np.int64(2**63 - 1))


# --------------------------------------------------------------------- several scores a row


def _on_several_scores(
    rule: Rule, code: int, s: Floats, decided: Codes, decide: Decide, within: tuple[float, float]
) -> TurningPoints:
    out = _empty(decided)
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
        raise _unknown(rule)
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


def _unknown(rule: Rule) -> InputError:
    return InputError(
        f"`rule`: a rule of type {type(rule).__name__} does not say where its decisions turn"
    )
