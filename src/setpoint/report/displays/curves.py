"""Curves of operating points in a plane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Evidence, Marginals
from setpoint.errors import GoalError, InputTypeError
from setpoint.goals import EVERYWHERE, Const, Constraint, Goal, Metric
from setpoint.inference import clopper_pearson
from setpoint.program import Program, link
from setpoint.report.displays import style
from setpoint.report.displays.scales import SHARE
from setpoint.report.displays.style import PlacedLabels
from setpoint.report.facts import Facts
from setpoint.report.operating import OperatingCurve, OperatingPoints
from setpoint.rules import Rule
from setpoint.search import Frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# --- The plane of operating points: where a goal is met -------------------------------------------


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
            slack = np.nan_to_num(slack, nan=-_FAR, posinf=_FAR, neginf=-_FAR)
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
        corners = [program.rates_of(self._counts(*at)) for at in ((0, 0), (1, 0), (0, 1))]
        origin, by_fpr, by_recall = corners
        return np.asarray(
            origin + fpr[..., None] * (by_fpr - origin) + recall[..., None] * (by_recall - origin)
        )

    def _counts(self, fpr: float, recall: float) -> Floats:
        n, p = self.negatives, self.positives
        return np.array(
            [[[n * (1 - fpr), n * fpr], [p * (1 - recall), p * recall], [0.0, 0.0]]], np.float64
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


def plain_bound(c: Constraint, positive: Any) -> tuple[str, float] | None:
    """A rate of all rows and its bound, where a constraint says no more than that.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to specificity >= 0.75")
    >>> plain_bound(goal.constraints[0], "yes")
    ('false positive rate', 0.25)
    """
    e, level = c.lhs, c.rhs
    if not isinstance(e, Metric) or not isinstance(level, Const):
        return None
    if e.population != EVERYWHERE or e.label not in (None, positive):
        return None
    if e.name in ("recall", "precision"):
        return e.name, level.value
    if e.name == "false_negative_rate":
        return "recall", 1.0 - level.value
    if e.name == "false_positive_rate":
        return "false positive rate", level.value
    if e.name == "specificity":
        return "false positive rate", 1.0 - level.value
    return None


def at_least(c: Constraint) -> bool:
    """Whether the rate that :func:`plain_bound` names is bounded from below.

    Examples
    --------
    >>> from setpoint import Goal
    >>> at_least(Goal.parse("maximize recall subject to specificity >= 0.75").constraints[0])
    False
    """
    turned = isinstance(c.lhs, Metric) and c.lhs.name in ("false_negative_rate", "specificity")
    return (c.relation == ">=") != turned


# --- The parts of a picture of operating points: region, bounds, curves ---------------------------


_GRID = 241
_MOST_NAMED = 8
_FEW = 40
"""Up to so many thresholds are marked one by one."""

BAND = 0.90
"""Confidence of the band around precision, at each threshold by itself."""

# Several segments differ by ink and by dashes, so in greyscale too.
LINES: tuple[tuple[str, Any], ...] = (
    (style.BLUE, "-"),
    (style.INK, (0, (6, 2))),
    (style.MUTED, (0, (1, 1.2))),
    (style.BLUE, (0, (6, 2, 1, 2))),
    (style.INK, (0, (1, 1.2))),
    (style.MUTED, (0, (6, 2))),
    (style.BLUE, (0, (2, 2))),
    (style.INK, (0, (6, 2, 1, 2))),
)


def draw_region(ax: Axes, plane: Plane, roc: bool) -> NDArray[np.float64]:
    """Shade where all constraints hold that a point of the plane settles."""
    if not plane.constraints:
        return np.zeros((0, 2))
    grid = np.linspace(0.0, 1.0, _GRID)
    x, y = np.meshgrid(grid, grid)
    if roc:
        slack = plane.slack(x, y)
    else:
        slack = plane.slack_by_precision(x, y)
    met = slack >= -1e-9
    if not met.any():
        return np.zeros((0, 2))
    ax.contourf(
        x, y, slack, levels=[-1e-9, 1e9], colors=[style.GREEN], alpha=style.SHADE, zorder=0.5
    )
    rows, columns = (slice(12, None, 24), slice(24, -24, 24))
    inside = np.column_stack([x[rows, columns].ravel(), y[rows, columns].ravel()])
    return inside[met[rows, columns].ravel()]


def name_region(labels: PlacedLabels, inside: NDArray[np.float64]) -> None:
    """Say what is shaded, where there is room for it."""
    at = [(float(x), float(y)) for x, y in inside[np.argsort(-inside.sum(axis=1))]]
    labels.add("allowed", at, style.GREEN, ways=[(0, 0)], most=1.0)


def draw_bounds(
    ax: Axes, plane: Plane, positive: Any, roc: bool, labels: PlacedLabels, what: str = "asked"
) -> None:
    """A line where a constraint is a plain bound on recall, precision or false alarms."""
    low, high = 0.0, 1.0
    for c in plane.constraints:
        rate, level = plain_bound(c, positive) or ("", 0.0)
        words = f"{what}: {'at least' if at_least(c) else 'at most'} {SHARE.text(level)}"
        if rate == ("false positive rate" if roc else "recall"):
            ax.axvline(level, **style.asked())
            labels.avoid([level, level], [low, high])
            anchors = [(level, y) for y in (0.04, 0.96, 0.3, 0.7)]
            labels.add(words, anchors, style.INK, ways=[(1, 0), (-1, 0)])
        elif rate == ("recall" if roc else "precision"):
            ax.axhline(level, **style.asked())
            labels.avoid([low, high], [level, level])
            anchors = [(x, level) for x in (0.02, 0.35, 0.5, 0.65)]
            labels.add(words, anchors, style.INK, ways=[(1, -0.6), (1, 0.6)])
        elif rate == "precision" and level > 0:
            # Equal precision is a ray from the origin.
            end = float(plane.fpr(1.0, level))
            ax.plot([0.0, end], [0.0, 1.0], **style.asked())
            labels.avoid([0.0, end], [0.0, 1.0])
            words = f"{what}: precision {words.removeprefix(f'{what}: ')}"
            anchors = [(end * t, t) for t in (0.5, 0.35, 0.7) if end * t < 0.9]
            labels.add(words, anchors, style.INK, ways=[(1, -1), (1, 0), (-1, 1)])


def draw_curves(
    ax: Axes, points: OperatingPoints, plane: Plane, roc: bool, goal: bool, labels: PlacedLabels
) -> None:
    """Each segment's thresholds, the hull where rules draw, thicker where the goal is met."""
    several = len(points.curves) > 1
    draws = any(len(curve.chosen) > 1 for curve in points.curves)
    for i, curve in enumerate(points.curves):
        ink, dashes = LINES[i % len(LINES)]
        name = style.wrapped((curve.name if several else "") or "every threshold", 30)
        if i >= _MOST_NAMED:
            name = f"and {len(points.curves) - i} more" if i == _MOST_NAMED else "_"
        own = _plane_of(curve, plane, several)
        x, y = own.path(curve.false_positive_rate, curve.recall, roc=roc)
        ax.plot(x, y, color=ink, linestyle=dashes, linewidth=style.LINE, label=name, zorder=2.5)
        labels.avoid(x, y)
        if len(curve.recall) <= _FEW:
            ax.plot(*_shown(curve, roc), ".", color=ink, markersize=5, zorder=2.6)
        if not roc and not several:
            _band(ax, curve, points)
        if goal and any(curve.feasible):
            _thicker(ax, curve, own, roc)
        if len(curve.hull) > 1 and (roc or (draws and not several)):
            fpr = [curve.false_positive_rate[j] for j in curve.hull]
            ax.plot(
                *plane.path(fpr, [curve.recall[j] for j in curve.hull], roc=roc),
                color=style.MUTED,
                linewidth=style.THIN,
                linestyle=(0, (1.5, 1.5)),
                label="with draws" if i == len(points.curves) - 1 else "_",
                zorder=2.2,
            )


def name_curve(curve: OperatingCurve, plane: Plane, roc: bool, labels: PlacedLabels) -> None:
    """Of one curve: its name on it."""
    x, y = plane.path(curve.false_positive_rate, curve.recall, roc=roc)
    at = [int(t * (len(x) - 1)) for t in (0.3, 0.45, 0.6, 0.75, 0.9)]
    labels.add("every threshold", [(float(x[j]), float(y[j])) for j in at], style.BLUE)


def draw_chosen(
    ax: Axes, points: OperatingPoints, plane: Plane, roc: bool, labels: PlacedLabels
) -> None:
    """The rule as a full dot; crosses where it draws, or has several thresholds."""
    several = len(points.curves) > 1
    atoms = [a for curve in points.curves for a in curve.chosen]
    if len(atoms) > 1:
        for curve in points.curves:
            ends = sorted((a[3], a[2]) for a in curve.chosen)
            if len(ends) > 2:
                ends.append(ends[0])  # mixtures of three lie within their triangle
            path = _plane_of(curve, plane, several).path(*zip(*ends, strict=True), roc=roc)
            ax.plot(*path, color=style.ORANGE, linewidth=1.2, zorder=3.5)
        ax.scatter(
            [a[3] if roc else a[2] for a in atoms],
            [a[2] if roc else a[4] for a in atoms],
            s=[18.0 + 60.0 * a[0] for a in atoms],
            marker="x",
            color=style.ORANGE,
            linewidths=1.6,
            zorder=4,
            clip_on=False,
            label="its thresholds",
        )
    x, y, text = points.recall, points.precision, f"{SHARE.text(points.precision)} right"
    if roc:
        x, y = points.false_positive_rate, points.recall
        text = f"{SHARE.text(points.false_positive_rate)} false alarms"
    style.mark_rule(ax, x, y)
    text = f"the rule: {SHARE.text(points.recall)}\nfound, {text}"
    labels.add(text, [(x, y)], style.ORANGE)


def _shown(curve: OperatingCurve, roc: bool) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The points of the picture; nobody accepted has no precision to show."""
    if roc:
        return curve.false_positive_rate, curve.recall
    first = int(curve.false_positive_rate[0] == curve.recall[0] == 0)
    return curve.recall[first:], curve.precision[first:]


def precision_band(
    curve: OperatingCurve, points: OperatingPoints, level: float = BAND
) -> NDArray[np.float64]:
    """Clopper and Pearson's limits (2, m) of precision where anybody is accepted."""
    tail = 0.5 * (1.0 - level)
    out = []
    for recall, fpr in zip(curve.recall, curve.false_positive_rate, strict=True):
        hits, alarms = points.positives * recall, points.negatives * fpr
        if hits + alarms > 0:
            k = points.rows_per_weight
            out.append(clopper_pearson(k * hits, k * (hits + alarms), tail, tail))
    return np.array(out, np.float64).reshape(-1, 2).T


def _band(ax: Axes, curve: OperatingCurve, points: OperatingPoints) -> None:
    low, high = precision_band(curve, points)
    recall, _ = _shown(curve, roc=False)
    ax.fill_between(
        recall[len(recall) - len(low) :],
        low,
        high,
        color=style.BLUE,
        alpha=style.SHADE,
        linewidth=0,
        zorder=1.2,
        label=f"{100 * BAND:g} % interval",
    )


def _thicker(ax: Axes, curve: OperatingCurve, plane: Plane, roc: bool) -> None:
    """Where thresholds meet every constraint, neighbours joined."""
    fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
    met = np.array(curve.feasible)
    met[:1] &= roc or fpr[0] + recall[0] > 0
    label = "meets the whole goal"
    for run in np.split(np.arange(len(met)), np.flatnonzero(np.diff(met)) + 1):
        if not met[run[0]]:
            continue
        x, y = plane.path(fpr[run], recall[run], roc=roc)
        ax.plot(
            x,
            y,
            color=style.BLUE,
            linewidth=3.6,
            solid_capstyle="round",
            marker="o" if len(run) == 1 else "",
            markersize=4.5,
            label=label,
            zorder=2.7,
        )
        label = "_"


def _plane_of(curve: OperatingCurve, plane: Plane, several: bool) -> Plane:
    """The plane with the prior of one segment, which is the precision of everybody."""
    if not several:
        return plane
    prior = curve.precision[-1]
    return Plane(prior, 1.0 - prior, (), (), ())


# --- What pictures ask of a fitted classifier of this library -------------------------------------


class FittedClassifier(Protocol):
    """A classifier with a goal, a rule and the rows that it was found on."""

    goal_report_: Facts
    rule_: Rule

    def _evidence(self, goal: Goal, *rows: Any, **named: Any) -> Evidence: ...

    def _frontier(self, **options: Any) -> Frontier: ...


def fitted(clf: Any) -> FittedClassifier:
    """The classifier, if it is one of this library."""
    if not has_method(clf, "_frontier"):
        raise InputTypeError(
            f"`clf` is a fitted classifier of this library, got {class_or_object(clf)}; "
            "from_predictions takes scores of any model"
        )
    return cast(FittedClassifier, clf)


def has_method(x: Any, method: str) -> bool:
    """Whether an object, not a class, has a method."""
    return not isinstance(x, type) and hasattr(x, method)


def class_or_object(x: Any) -> str:
    """What was passed, for a message: a class, or an object of one."""
    return f"the class {x.__name__}" if isinstance(x, type) else f"a {type(x).__name__}"
