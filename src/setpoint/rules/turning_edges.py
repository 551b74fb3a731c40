"""Where decisions by one score a row turn: at edges of steps, or inside a soft edge.

The rule's cut-offs divide the scores into steps, and the decision is constant in each: the edges
of the nearest steps with another decision are exact. A soft edge has no steps: there the edge is
found by halving the range of float64, to the last bit.
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.rules.band import Band
from setpoint.rules.base import Rule
from setpoint.rules.mixture import Mixture
from setpoint.rules.per_segment import PerSegment
from setpoint.rules.threshold import Threshold
from setpoint.rules.turning_points import Decide, TurningPoints, never_turning, unknown_rule

__all__ = ["on_one_score"]


def on_one_score(
    rule: Rule, code: int, s: Floats, decided: Codes, decide: Decide, _: tuple[float, float]
) -> TurningPoints:
    """Where the decisions of some rows of one segment turn; `decide` has their draws."""
    out = never_turning(decided)
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
        raise unknown_rule(rule)
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
