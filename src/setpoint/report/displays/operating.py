"""Pictures of the rule among all thresholds, and of groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from sklearn.utils.validation import check_is_fitted

from setpoint.counts import Evidence
from setpoint.errors import InputError
from setpoint.goals import Const, Expression, Goal, as_goal, constraint_in_words
from setpoint.inputs import DecideOn, decided_inputs
from setpoint.program import link
from setpoint.report.displays import style
from setpoint.report.displays.curves import (
    BAND,
    Plane,
    draw_bounds,
    draw_chosen,
    draw_curves,
    draw_region,
    fitted,
    name_curve,
    name_region,
)
from setpoint.report.displays.scales import SHARE, Allowed, allowed_of, not_drawn, scale_of
from setpoint.report.displays.style import PlacedLabels, scored_rows
from setpoint.report.entry import GroupRow, groups_on
from setpoint.report.facts import Facts
from setpoint.report.numbers import shortened
from setpoint.report.operating import OperatingPoints, operating_points
from setpoint.rules import Rule
from setpoint.search import Randomized, solve_exact

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


# --- OperatingPointDisplay: the rule among all thresholds -----------------------------------------


Kind: TypeAlias = Literal["precision-recall", "roc"]

_KINDS = ("precision-recall", "roc")


class OperatingPointDisplay:
    """What every threshold reaches, where the goal is met, and the point chosen.

    Parameters
    ----------
    points : OperatingPoints
    goal : Goal, str or metric
        Constraints on the whole population are shaded. Those that refer to groups, data
        sets or the deployed model cannot be: a caption names them.
    deployed : (recall, precision), optional
        Of the deployed model on the same rows.
    shown : Goal, optional
        With the bounds that are shown, where not all that are asked are.

    Attributes
    ----------
    points : OperatingPoints
        The curves, one for each segment, and what the whole rule reaches.
    goal : Goal
    plane : Plane
        The constraints that a point of the picture settles, and a test of them.
    ax_ : Axes
    figure_ : Figure

    See Also
    --------
    setpoint.report.operating_points : The numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> y, scores = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.7, 0.9]
    >>> goal = "maximize recall subject to precision >= 0.7"
    >>> display = OperatingPointDisplay.from_predictions(goal, y, scores)
    >>> round(display.points.recall, 4), display.ax_.get_xlabel()
    (0.6667, 'of the class, found')
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(
        self,
        points: OperatingPoints,
        goal: Goal | Expression | str,
        deployed: tuple[float, float] | None = None,
        shown: Goal | None = None,
    ) -> None:
        self.points = points
        self.deployed = deployed
        self.shown = shown
        self.goal = as_goal(goal)
        self.plane = Plane.of(self.goal, points)

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        ax: style.Canvas = None,
        kind: Kind = "precision-recall",
    ) -> Self:
        """Draw a fitted classifier's rule on some rows.

        Parameters
        ----------
        clf : classifier of this library, fitted
            Of two classes, with a rule over thresholds.
        X, y, sample_weight, sensitive_features, baseline, datasets
            As in its ``evaluate``.
        ax, kind
            As in :meth:`plot`.

        Raises
        ------
        TypeError
            If it is not a classifier of this library.
        ValueError
            If its rule has no operating points.
        """
        _check(kind)
        known = fitted(clf)
        check_is_fitted(known)
        goal = Goal.parse(known.goal_report_.goal)
        sides = sample_weight, sensitive_features, baseline
        evidence = known._evidence(goal, X, y, *sides, datasets=datasets)
        return cls(_points(goal, evidence, known.rule_), goal).plot(ax, kind=kind)

    @classmethod
    def from_predictions(
        cls,
        goal: Goal | Expression | str,
        y_true: Any,
        scores: Any,
        *,
        rule: Rule | None = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        decide_on: DecideOn = "auto",
        randomized: Randomized = False,
        ax: style.Canvas = None,
        kind: Kind = "precision-recall",
    ) -> Self:
        """Draw a rule over scores; without one, the best.

        Parameters
        ----------
        goal : Goal, str or metric
        y_true : array-like of shape (N,)
            True labels of two classes.
        scores : array-like of shape (N,) or posteriors (N, 2)
        rule : Rule, optional
            By default the one that solves the goal on these very rows.
        sample_weight, sensitive_features, baseline, datasets, pos_label, decide_on, randomized
            As in :func:`setpoint.solve`. With a rule, it says what it decides on.
        ax, kind
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If there are more than two classes, or the rule has no operating points.
        InfeasibleError
            If no rule meets the constraints, and none is given.
        """
        _check(kind)
        goal = as_goal(goal)
        if rule is not None:
            decide_on = sorted({column for key in rule.segment_keys for column, _ in key})
        evidence = scored_rows(
            goal,
            y_true,
            scores,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
            pos_label=pos_label,
            decide_on=decide_on,
        )
        if rule is None:
            rule = solve_exact(
                link(goal, evidence.codebook).at(evidence.marginals),
                evidence,
                randomized=randomized,
            ).rule
        return cls(_points(goal, evidence, rule), goal).plot(ax, kind=kind)

    @classmethod
    def from_report(
        cls,
        report: Facts,
        *,
        deployed: tuple[float, float] | None = None,
        ax: style.Canvas = None,
        kind: Kind = "precision-recall",
    ) -> Self:
        """Draw what a report knows.

        Parameters
        ----------
        report : GoalReport
        deployed : (recall, precision), optional
            Of the deployed model on the same rows.
        ax, kind
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If it holds no operating points.
        """
        _check(kind)
        found = report.section("operating")
        if found is None:
            raise InputError(
                "the report holds no operating points: it has them where two classes are decided "
                "by thresholds on one score"
            )
        return cls(found.points, report.goal, deployed).plot(ax, kind=kind)

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None, *, kind: Kind = "precision-recall") -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure. An empty figure is filled.
        kind : {"precision-recall", "roc"}
            Precision over recall, or recall over the false positive rate.

        Returns
        -------
        self
            With `ax_` and `figure_`.
        """
        _check(kind)
        roc = kind == "roc"
        several = len(self.points.curves) > 1
        wide = 1.8 if several and not roc else 0.0
        size = (5.4 + 1.8 * several, 4.9) if roc else (7.4 + wide, 4.0)
        self.figure_, (self.ax_,), mode = style.axes(ax, size)
        ax_, points = self.ax_, self.points
        found, right = "of the class, found", "of those accepted, right"
        style.finish(ax_, *(("of the others, accepted", found) if roc else (found, right)))
        ax_.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03))
        for axis in (ax_.xaxis, ax_.yaxis):
            axis.set_ticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
            SHARE.apply(axis)
        if mode == "own" and roc:
            ax_.set_box_aspect(1.0)
        labels = PlacedLabels(ax_)
        inside = draw_region(ax_, self.plane, roc)
        draw_curves(ax_, points, self.plane, roc, bool(self.goal.constraints), labels)
        rule = (points.false_positive_rate, points.recall) if roc else self._rule
        deployed = self._deployed(roc)
        for at in (rule, deployed):
            if at is not None:
                labels.mark(*at)
        draw_bounds(ax_, self.plane, points.labels[1], roc, labels)
        if self.shown is not None:
            moved = tuple(c for c in self.shown.constraints if c not in self.goal.constraints)
            plane = Plane.of(replace(self.shown, constraints=moved), points)
            draw_bounds(ax_, plane, points.labels[1], roc, labels, "shown")
        draw_chosen(ax_, points, self.plane, roc, labels)
        if deployed is not None:
            style.mark_deployed(ax_, *deployed)
            labels.add("deployed model", [deployed], style.INK)
        if several:
            style.legend(ax_, mode, beside=True, columns=2 if mode == "roomy" else 1)
        elif points.curves:
            name_curve(points.curves[0], self.plane, roc, labels)
        name_region(labels, inside)
        style.caption(ax_, mode, self._caption(roc), 96)
        return self

    @property
    def _rule(self) -> tuple[float, float]:
        return self.points.recall, self.points.precision

    def _deployed(self, roc: bool) -> tuple[float, float] | None:
        """Where the deployed model stands; not known where nothing says how many it accepts."""
        if self.deployed is None or not roc:
            return self.deployed
        recall, precision = self.deployed
        return (float(self.plane.fpr(recall, precision)), recall) if precision else None

    def _caption(self, roc: bool) -> str:
        notes = [f"The class: {shortened(str(self.points.labels[1]))}."]
        if not roc and len(self.points.curves) == 1:
            notes.append(f"Band: {100 * BAND:g} % interval at each threshold by itself.")
        if len(self.points.curves) == 1:
            (curve,) = self.points.curves
            if any(curve.feasible) and self.goal.constraints:
                notes.append("Thicker: meets the whole goal.")
            if len(curve.chosen) > 1:
                notes.append("Crosses: what the rule draws from.")
            if len(curve.hull) > 1 and (roc or len(curve.chosen) > 1):
                notes.append("Dotted: what draws among thresholds reach.")
        if self.plane.left_out:
            names = "; ".join(constraint_in_words(c) for c in self.plane.left_out)
            notes.append(f"Not shaded, for this plane does not show it: {names}.")
        if len(self.points.curves) > 1:
            notes.append("Each curve is of one group; the rule and the shading, of all rows.")
        return " ".join(notes)


def _check(kind: str) -> None:
    style.require_matplotlib()
    if kind not in _KINDS:
        raise InputError(f"`kind` is one of {_KINDS}, got {kind!r}")


def _points(goal: Goal, evidence: Evidence, rule: Rule) -> OperatingPoints:
    """The numbers, or an error that says what is possible."""
    if evidence.n_classes != 2 or evidence.n_scores is not None or rule.score_columns is not None:
        what = (
            f"there are {evidence.n_classes} classes"
            if evidence.n_classes != 2
            else "the rule decides by posteriors of each class"
        )
        raise InputError(
            f"operating points are those of thresholds on one score, and {what}; possible are "
            "two classes with one score a row, or GroupRatesDisplay and ConvergenceDisplay"
        )
    found = operating_points(link(goal, evidence.codebook), evidence, rule)
    if found is None:
        own = [c.dataset is None and c.measure is None for c in evidence.codebook.strata]
        held = evidence.marginals.weights[own]
        if not held[:, :2].sum(axis=0).all():
            raise InputError(
                "`y` holds one class only: recall or the false positive rate has no rows"
            )
        raise InputError(
            "the rule has no threshold for some group of these rows; draw it on rows of the groups "
            "that it was found on"
        )
    return found()


# --- GroupRatesDisplay: each group's rate with its interval ---------------------------------------


_MOST = 36
"""Characters of a group's name."""


class GroupRatesDisplay:
    """Each group's rate with its interval, and the bounds that the goal sets on them.

    Parameters
    ----------
    rows : sequence of GroupRow
    goal : Goal, str or metric
        A floor under the smallest or a cap on the largest is a line. A bound on the
        difference or the ratio is a band of that width, laid where it holds most groups.
    level : float
        Confidence of the intervals.

    Attributes
    ----------
    rows : tuple of GroupRow
    goal : Goal
    level : float
    metrics : tuple of str
        One panel each.
    ax_ : Axes
        The first panel.
    axes_ : tuple of Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> y_true, y_pred = [1, 1, 0, 1, 1, 0], [1, 0, 0, 1, 1, 1]
    >>> sex = ["f", "f", "f", "m", "m", "m"]
    >>> display = GroupRatesDisplay.from_predictions(
    ...     "maximize recall subject to recall.difference('sex') <= 0.1",
    ...     y_true,
    ...     y_pred,
    ...     sensitive_features={"sex": sex},
    ... )
    >>> [(row.name, row.value) for row in display.rows]
    [('sex = f', 0.5), ('sex = m', 1.0)]
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    axes_: tuple[Axes, ...]
    figure_: FigureBase

    def __init__(
        self, rows: Sequence[GroupRow], goal: Goal | Expression | str, level: float = 0.95
    ) -> None:
        self.rows = tuple(rows)
        self.goal = as_goal(goal)
        self.level = level
        if not self.rows:
            raise InputError(
                "the goal compares no groups, so there are none to draw; goals that do name a "
                "column in a reducer, as in recall.difference('sex') <= 0.05 or "
                "precision.min('country') >= 0.8"
            )
        self.metrics = tuple(dict.fromkeys(row.metric for row in self.rows))

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        ax: style.Canvas = None,
        metric: str | None = None,
    ) -> Self:
        """Draw what a fitted classifier reaches in each group.

        Parameters
        ----------
        clf : classifier of this library, fitted
        X, y, sample_weight, sensitive_features, baseline, datasets
            As in its ``evaluate``.
        ax, metric
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If its goal compares no groups.
        """
        style.require_matplotlib()
        report = clf.evaluate(
            X,
            y,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
        )
        return cls.from_report(report, ax=ax, metric=metric)

    @classmethod
    def from_predictions(
        cls,
        goal: Goal | Expression | str,
        y_true: Any,
        y_pred: Any,
        *,
        sensitive_features: Any = None,
        sample_weight: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        level: float = 0.95,
        ax: style.Canvas = None,
        metric: str | None = None,
    ) -> Self:
        """Draw what some decisions reach in each group.

        Parameters
        ----------
        goal : Goal, str or metric
        y_true, y_pred : array-like of shape (N,)
            Labels.
        sensitive_features, sample_weight, baseline, datasets, pos_label
            As in :func:`setpoint.evaluate`.
        level : float
            Confidence of the intervals.
        ax, metric
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If the goal compares no groups.
        """
        style.require_matplotlib()
        goal = as_goal(goal)
        inputs, decisions = decided_inputs(
            goal,
            y_true,
            y_pred,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
            pos_label=pos_label,
        )
        linked = link(goal, inputs.rows.codebook)
        groups = groups_on(linked, inputs.confusion(decisions), level)
        return cls(groups, goal, level).plot(ax, metric=metric)

    @classmethod
    def from_report(
        cls, report: Facts, *, ax: style.Canvas = None, metric: str | None = None
    ) -> Self:
        """Draw the groups of a report.

        Raises
        ------
        ValueError
            If its goal compares no groups.
        """
        style.require_matplotlib()
        groups = [g for g in report.groups if g.compared]
        return cls(groups, report.goal, report.level).plot(ax, metric=metric)

    def allowed(self, metric: str) -> tuple[Allowed, ...]:
        """What the goal allows the groups' values of one metric to be."""
        return allowed_of(self.goal, metric, self._of(metric))

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None, *, metric: str | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure with a panel for each metric. An empty figure is
            filled. Axes hold one metric.
        metric : str, optional
            One of `metrics`; by default all of them, in axes given the first.

        Returns
        -------
        self
            With `ax_`, `axes_` and `figure_`.

        Raises
        ------
        ValueError
            If `metric` is not one of them.
        """
        if metric is not None and metric not in self.metrics:
            raise InputError(f"`metric` is one of {list(self.metrics)}, got {metric!r}")
        shown = self.metrics if metric is None else (metric,)
        sizes = [len(self._of(m)) for m in shown]
        n_bounds = [len(self.allowed(m)) for m in shown]
        tall = sum(0.27 * n + 1.0 + 0.2 * k for n, k in zip(sizes, n_bounds, strict=True))
        self.figure_, panels, mode = style.axes(ax, (6.8, max(2.2, tall)), [n + 1.0 for n in sizes])
        for panel, m in zip(panels, shown, strict=False):
            self._panel(panel, m, mode)
        self.axes_, self.ax_ = tuple(panels), panels[0]
        return self

    def _of(self, metric: str) -> list[GroupRow]:
        """The metric's rows, those of the same columns together."""
        rows = [row for row in self.rows if row.metric == metric]
        columns = [tuple(c for c, _ in row.columns) for row in rows]
        order = list(dict.fromkeys(columns))
        return [r for key in order for r, c in zip(rows, columns, strict=True) if c == key]

    def _panel(self, ax: Axes, metric: str, mode: style.Mode) -> None:
        rows, allowed = self._of(metric), self.allowed(metric)
        self._bounds(ax, rows, allowed)
        for y, row in enumerate(rows):
            if row.value is None:
                ax.text(
                    0.02,
                    y,
                    "no rows",
                    transform=ax.get_yaxis_transform(),
                    color=style.MUTED,
                    fontsize=style.SMALL,
                    va="center",
                )
                continue
            outside = any(not a.holds(row) for a in allowed)
            ink = style.RED if outside else style.BLUE
            low = row.value if row.low is None else row.low
            high = row.value if row.high is None else row.high
            ax.plot([low, high], [y, y], color=ink, linewidth=style.LINE, zorder=3)
            ax.plot([row.value], [y], "D" if outside else "o", color=ink, markersize=7.0, zorder=4)
        if any(not a.holds(row) for a in allowed for row in rows):
            ax.plot([], [], "D", color=style.RED, markersize=7.0, label="outside what is allowed")
        scale = scale_of(metric)
        name = style.wrapped(f"{scale.words}, with its {100 * self.level:.4g} % interval", 56)
        style.finish(ax, name, "", grid="x")
        scale.apply(ax.xaxis)
        ax.set_yticks(range(len(rows)), [_name(row) for row in rows], parse_math=False)
        ax.set_ylim(len(rows) - 0.4, -0.6)
        ax.tick_params(axis="y", length=0)
        self._limits(ax, rows, allowed)
        style.legend(ax, mode)
        left_out = not_drawn(self.goal, metric, rows)
        words = [constraint_in_words(c) for c in self.goal.constraints if str(c) in left_out]
        style.caption(ax, mode, f"Not drawn: {'; '.join(words)}." if words else "")

    def _bounds(self, ax: Axes, rows: list[GroupRow], allowed: Sequence[Allowed]) -> None:
        for i, a in enumerate(allowed):
            at = [y for y, row in enumerate(rows) if a.is_for(row)]
            span = (min(at) - 0.5, max(at) + 0.5)
            if a.is_band:
                assert a.low is not None
                assert a.high is not None
                ax.fill_between(
                    [a.low, a.high],
                    span[0],
                    span[1],
                    color=style.GREEN,
                    alpha=style.SHADE,
                    linewidth=0,
                    label=f"allowed: {self._words(a)}",
                    zorder=1,
                )
                ax.vlines([a.low, a.high], *span, colors=style.GREEN, linewidths=0.8, zorder=1.2)
            else:
                edge = a.low if a.low is not None else a.high
                assert edge is not None
                look = style.asked()
                ax.vlines(
                    edge,
                    *span,
                    colors=look["color"],
                    linewidths=1.4,
                    linestyles=look["linestyle"] if i % 2 == 0 else (0, (1, 1.5)),
                    label=f"asked: {self._words(a)}",
                    zorder=2,
                )

    def _words(self, a: Allowed) -> str:
        """A constraint in words, with its number as the axis has it."""
        c = next(c for c in self.goal.constraints if str(c) == a.text)
        how = "at least" if c.relation == ">=" else "at most"
        assert isinstance(c.rhs, Const)
        scale = scale_of(str(c.lhs))
        return style.wrapped(f"{scale.words} {how} {scale.text(c.rhs.value)}", 48)

    @staticmethod
    def _limits(ax: Axes, rows: Sequence[GroupRow], allowed: Sequence[Allowed]) -> None:
        """All intervals and bounds with some air; rates stay within 0 and 1."""
        at = [x for row in rows for x in (row.value, row.low, row.high) if x is not None]
        at += [x for a in allowed for x in (a.low, a.high) if x is not None]
        at = [x for x in at if np.isfinite(x)]
        if not at:
            ax.set_xlim(0.0, 1.0)
            return
        low, high = min(at), max(at)
        air = 0.06 * (high - low) or 0.05
        low, high = low - air, high + air
        if min(at) >= 0 and max(at) <= 1:
            low, high = max(low, -0.01), min(high, 1.01)
        ax.set_xlim(low, high)


def _name(row: GroupRow) -> str:
    name = row.name if len(row.name) <= _MOST else f"{row.name[: _MOST - 1]}…"
    return f"{name}  ({row.rows:,})" if row.rows else name
