"""Rules over the posteriors of two classes as thresholds on that of the positive class."""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold

__all__ = ["as_thresholds"]

INF = float("inf")


def as_thresholds(rule: Rule, posteriors: Floats) -> Rule | None:
    """A rule over posteriors of two classes written as thresholds."""
    if isinstance(rule, PerSegment) and rule.by == "top":
        return _between(rule, posteriors)
    if isinstance(rule, PerSegment):
        parts = [as_thresholds(part, posteriors) for part in rule.rules]
        found = tuple(part for part in parts if part is not None)
        return PerSegment(found, rule.segments) if len(found) == len(parts) else None
    if isinstance(rule, Mixture):
        atoms = [(p, as_thresholds(part, posteriors)) for p, part in rule.atoms]
        known = tuple((p, part) for p, part in atoms if part is not None)
        return Mixture(known) if len(known) == len(atoms) else None
    return _threshold(rule, posteriors) if isinstance(rule, Argmax) else None


def _threshold(rule: Argmax, posteriors: Floats) -> Threshold | None:
    """Where the total of class 1 passes that of class 0, if it does so from below."""
    G, offset = rule.G, (0.0, 0.0) if rule.offset is None else rule.offset
    none, one = G[0, 1] - G[0, 0], G[1, 1] - G[1, 0]
    start, slope = none + offset[1] - offset[0], one - none
    if slope < 0.0:
        return None
    if slope == 0.0:
        return Threshold(-INF if start > 0.0 else INF)
    return _between(rule, posteriors, -start / slope)


def _between(rule: Rule, posteriors: Floats, at: float = INF) -> Threshold | None:
    """A threshold that separates the rows as the rule does: `at`, or midway where it does not."""
    score, accepted = posteriors[:, 1], rule.decide(posteriors) == 1
    below = score[~accepted].max(initial=-INF)
    above = score[accepted].min(initial=INF)
    if not below < at <= above:  # by rounding
        at = 0.5 * (below + above) if np.isfinite(below) and np.isfinite(above) else above
    return Threshold(float(at)) if below < at <= above else None
