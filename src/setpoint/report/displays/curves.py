"""The plane of operating points: where a goal is met, and what it asks for there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Marginals
from setpoint.errors import GoalError
from setpoint.goals import EVERYWHERE, Const, Constraint, Goal, Metric
from setpoint.inference import limits_of_shares
from setpoint.program import Program, link
from setpoint.report.operating import OperatingCurve, OperatingPoints

_PIECES = 80
"""Straight pieces of a line across the whole picture, where it bends."""

_FAR = 2.0
"""Slacks beyond are cut off: a picture needs their sign alone."""


@dataclass(frozen=True)
class Plane:
    """All pairs of false positive rate and recall on some rows, and a goal over them."""

    positives: float
    negatives: float
    constraints: tuple[Constraint, ...]
    left_out: tuple[Constraint, ...]
    programs: tuple[Program, ...]

    @classmethod
    def of(cls, goal: Goal, points: OperatingPoints) -> Plane:
        """The plane of the rows that some points were counted on.

        Examples
        --------
        >>> from setpoint import Goal
        >>> points = OperatingPoints((), 10.0, 90.0, 0.5, 0.1, 0.36, ("no", "yes"))
        >>> goal = Goal.parse("maximize recall s.t. precision >= 0.5, recall.min('sex') >= 0.4")
        >>> plane = Plane.of(goal, points)
        >>> [str(c) for c in plane.left_out], plane.slack([0.0, 0.5], [0.5, 0.5]) > 0
        (['recall.min("sex") >= 0.4'], array([ True, False]))
        """
        counts = np.array([[[0.0, points.negatives], [0.0, points.positives], [0.0, 0.0]]])
        codebook, marginals = Codebook.of(points.labels), Marginals.of_counts(counts)
        inside, outside, programs = [], [], []
        for c in goal.constraints:
            alone = Goal("maximize", Metric("accuracy"), (c,))
            needs = alone.needs
            if needs.datasets or needs.names or needs.baseline:
                outside.append(c)
                continue
            try:
                programs.append(link(alone, codebook).at(marginals))
            except GoalError:  # such as a bound that is outside the range on these rows
                outside.append(c)
            else:
                inside.append(c)
        return cls(
            points.positives, points.negatives, tuple(inside), tuple(outside), tuple(programs)
        )

    def slack(self, fpr: Any, recall: Any) -> Floats:
        """How far inside all `constraints` each point is; negative outside, at most 2."""
        x, y = np.asarray(fpr, np.float64), np.asarray(recall, np.float64)
        out = np.full(np.broadcast_shapes(x.shape, y.shape), _FAR)
        for program in self.programs:
            v = self._features(program, x, y)
            (bound,) = program.constraints
            with np.errstate(invalid="ignore"):
                slack = np.asarray(bound.slack(v))
            slack = np.where(np.isnan(slack), -_FAR, slack)
            out = np.minimum(out, np.clip(slack, -_FAR, _FAR))
        return out

    def slack_by_precision(self, recall: Any, precision: Any) -> Floats:
        """The same at points of recall and precision; negative where there is no such point."""
        # Where one of them is 0 there is more than one false positive rate, or none.
        r = np.maximum(np.asarray(recall, np.float64), 1e-9)
        p = np.maximum(np.asarray(precision, np.float64), 1e-9)
        fpr = self.fpr(r, p)
        return np.minimum(self.slack(np.minimum(fpr, 1.0), r), np.maximum(1.0 - fpr, -_FAR))

    def _features(self, program: Program, fpr: Floats, recall: Floats) -> Floats:
        """Features are affine in the two rates: three corners tell them."""
        n, p = self.negatives, self.positives
        none, alarms, hits = (
            program.rates_of(np.array([[*counts, [0.0, 0.0]]]))
            for counts in ([[n, 0], [p, 0]], [[0, n], [p, 0]], [[n, 0], [0, p]])
        )
        return np.asarray(
            none + fpr[..., None] * (alarms - none) + recall[..., None] * (hits - none)
        )

    def precision(self, fpr: Any, recall: Any) -> Floats:
        """Precision at each point; 0 where nobody is accepted."""
        hits = self.positives * np.asarray(recall, np.float64)
        both = hits + self.negatives * np.asarray(fpr, np.float64)
        return np.asarray(hits / np.where(both > 0, both, 1.0))

    def fpr(self, recall: Any, precision: Any) -> Floats:
        """False positive rate at each point with positive precision; above 1: no such point."""
        r, p = np.asarray(recall, np.float64), np.asarray(precision, np.float64)
        return np.asarray(r * self.positives / self.negatives * (1.0 - p) / p)

    def path(
        self, fpr: Sequence[float] | Floats, recall: Sequence[float] | Floats, *, roc: bool
    ) -> tuple[Floats, Floats]:
        """Mixtures of neighbouring points as a line: x and y in the picture."""
        f, r = np.asarray(fpr, np.float64), np.asarray(recall, np.float64)
        if roc or len(f) < 2:
            return (f, r) if roc else (r, self.precision(f, r))
        # Long segments take more pieces.
        pieces = np.ceil(_PIECES * (np.abs(np.diff(f)) + np.abs(np.diff(r)))).astype(np.int64)
        pieces = np.maximum(pieces, 1)
        first = np.repeat(np.arange(len(pieces)), pieces)
        t = (np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[first]
        f = np.append(f[first] + t * (f[first + 1] - f[first]), f[-1])
        r = np.append(r[first] + t * (r[first + 1] - r[first]), r[-1])
        p = self.precision(f, r)
        if f[0] == r[0] == 0:
            # Drawing between nobody and a threshold keeps the precision of the threshold.
            p[0] = p[1]
        if f[-1] == r[-1] == 0:
            p[-1] = p[-2]
        return r, p


_PLAIN = {
    "recall": ("recall", False),
    "false_negative_rate": ("recall", True),
    "precision": ("precision", False),
    "false_positive_rate": ("false positive rate", False),
    "specificity": ("false positive rate", True),
    "deferral_rate": ("share decided", True),
    "error_rate.decided": ("error", False),
    "accuracy.decided": ("error", True),
}
"""Metrics, the rate in a picture that each is, and whether it is 1 minus that rate."""


def plain_bound(c: Constraint, positive: Any = None) -> tuple[str, float, bool] | None:
    """A rate of all rows, its bound, and whether from below; None where a constraint says more.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to specificity >= 0.75")
    >>> plain_bound(goal.constraints[0], "yes")
    ('false positive rate', 0.25, False)
    """
    e, level = c.lhs, c.rhs
    if not isinstance(e, Metric) or not isinstance(level, Const):
        return None
    known = _PLAIN.get(e.name + ".decided" * e.only_decided)
    if known is None or e.population != EVERYWHERE or e.label not in (None, positive):
        return None
    rate, turned = known
    return rate, 1.0 - level.value if turned else level.value, (c.relation == ">=") != turned


BAND = 0.90
"""Confidence of the band around precision, at each threshold by itself."""


def precision_band(curve: OperatingCurve, points: OperatingPoints, level: float = BAND) -> Floats:
    """Clopper and Pearson's limits (2, m) of precision where anybody is accepted."""
    hits = points.positives * np.array(curve.recall, np.float64)
    accepted = hits + points.negatives * np.array(curve.false_positive_rate, np.float64)
    some, k = accepted > 0, points.rows_per_weight
    return limits_of_shares(k * hits[some], k * accepted[some], 0.5 * (1.0 - level))
