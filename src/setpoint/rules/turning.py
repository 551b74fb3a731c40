"""What turns a decision: the least change of a row's score that makes a rule decide otherwise."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
from numpy.typing import ArrayLike

from setpoint.array_types import Codes, Floats
from setpoint.rules.base import Rule
from setpoint.rules.turning_edges import on_one_score
from setpoint.rules.turning_lines import on_several_scores
from setpoint.rules.turning_points import TurningPoints, never_turning, unknown_rule

__all__ = ["drawn_between", "turning_points"]

_BELOW_ONE = np.nextafter(1.0, 0.0)
_CHUNK = 1_000_000
"""Numbers of one block: rows times score columns times classes."""


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
    _check_known(rule)
    s = rule._checked_scores(scores)
    codes = rule._checked_segments(segments, len(s))
    draws = rule._checked_draws(u, len(s))
    out = never_turning(rule._decide(s, codes, draws))
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

            part = on_one_score if s.ndim == 1 else on_several_scores
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


def _check_known(rule: Rule) -> None:
    """Refuse rules of one's own, also where they come from one of these."""
    if type(rule) not in Rule._types.values():
        raise unknown_rule(rule)
    for part in rule.children:
        _check_known(part)
