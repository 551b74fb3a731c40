"""DeferralDisplay: how many of the decided are wrong, by the share decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError
from setpoint.goals.constraints import Constraint
from setpoint.goals.expressions import Const, Expression, Metric
from setpoint.goals.goal import Goal, as_goal
from setpoint.goals.populations import EVERYWHERE
from setpoint.goals.words import constraint_in_words
from setpoint.report.deferral import DeferralCurve, DeferralPoints
from setpoint.report.displays import style
from setpoint.report.displays.curves import LINES
from setpoint.report.displays.fitted import fitted
from setpoint.report.displays.labels import Labels
from setpoint.report.displays.scales import SHARE
from setpoint.report.facts import Facts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

__all__ = ["DeferralDisplay"]

_MOST_NAMED = 8


class DeferralDisplay:
    """The error among the rows decided over the share decided, with the rule.

    Parameters
    ----------
    points : DeferralPoints
    goal : Goal, str or metric
        Bounds on the error or accuracy of the decided and on the deferral rate of all rows are
        drawn. A caption names the other constraints.

    Attributes
    ----------
    points : DeferralPoints
        The curves, one for each segment, and what the whole rule reaches.
    goal : Goal
    most_wrong, least_decided : float or None
        What the goal asks of the error among the decided, and of the share decided.
    ax_ : Axes
    figure_ : Figure

    See Also
    --------
    setpoint.report.deferral_points : The numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import solve
    >>> y, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9]
    >>> goal = "minimize cost({(0, 1): 5, (1, 0): 5, (0, 'defer'): 1, (1, 'defer'): 1})"
    >>> display = DeferralDisplay.from_report(solve(goal, scores, y).report)
    >>> round(display.points.decided, 3), display.points.error, display.ax_.get_xlabel()
    (0.667, 0.0, 'share of rows decided')
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, points: DeferralPoints, goal: Goal | Expression | str) -> None:
        self.points, self.goal = points, as_goal(goal)
        self.most_wrong: float | None = None
        self.least_decided: float | None = None
        left_out = []
        for c in self.goal.constraints:
            found = _plain_bound(c)
            if found is None:
                left_out.append(c)
            elif found[0] == "error":
                self.most_wrong = min(found[1], 1.0 if self.most_wrong is None else self.most_wrong)
            else:
                self.least_decided = max(found[1], self.least_decided or 0.0)
        self._left_out = tuple(left_out)

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
    ) -> Self:
        """Draw a fitted classifier's rule on some rows.

        Parameters
        ----------
        clf : classifier of this library, fitted
            With a goal that defers.
        X, y, sample_weight, sensitive_features, baseline, datasets
            As in its ``evaluate``.
        ax
            As in :meth:`plot`.

        Raises
        ------
        TypeError
            If it is not a classifier of this library.
        ValueError
            If its goal does not defer.
        """
        style.require_matplotlib()
        fitted(clf)
        report = clf.evaluate(
            X,
            y,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
            datasets=datasets,
        )
        return cls.from_report(report, ax=ax)

    @classmethod
    def from_report(cls, report: Facts, *, ax: style.Canvas = None) -> Self:
        """Draw what a report knows.

        Parameters
        ----------
        report : GoalReport
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If its goal does not defer, or rows have no scores.
        """
        style.require_matplotlib()
        found = report.section("deferral")
        if found is None:
            raise InputError(
                "the report holds no errors by share decided: it has them where the goal defers, "
                "and a rule was measured on rows with scores and labels"
            )
        return cls(found.points, report.goal).plot(ax)

    # -- drawing ------------------------------------------------------------------------
    def plot(self, ax: style.Canvas = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : Axes or Figure, optional
            By default a new figure. An empty figure is filled.

        Returns
        -------
        self
            With `ax_` and `figure_`.
        """
        curves = self.points.curves
        several = len(curves) > 1
        self.figure_, (self.ax_,), mode = style.axes(ax, (7.4 + 1.8 * several, 4.0))
        ax_ = self.ax_
        style.finish(ax_, "share of rows decided", "of those decided, wrong")
        top = self._top()
        ax_.set(xlim=(-0.01, 1.01), ylim=(-0.02 * top, top))
        ax_.set_xticks([0.0, 0.2, 0.4, 0.6, 0.8, 1.0])
        for axis in (ax_.xaxis, ax_.yaxis):
            SHARE.apply(axis)
        labels = Labels(ax_)
        for i, curve in enumerate(curves):
            self._line(ax_, labels, curve, i, several)
        if self.points.error is not None:
            labels.mark(self.points.decided, self.points.error)
        self._allowed(ax_, labels, top)
        self._rule(ax_, labels)
        if several:
            style.legend(ax_, mode, beside=True, columns=2 if mode == "roomy" else 1)
        style.caption(ax_, mode, self._caption(), 96)
        return self

    def _top(self) -> float:
        """Room above the curves, the rule and the bound; no more than what there can be."""
        known = [e for c in self.points.curves for e in c.error]
        known += [c.chosen[1] for c in self.points.curves if c.chosen is not None]
        known += [x for x in (self.points.error, self.most_wrong) if x is not None]
        return min(1.25 * max([*known, 0.004]), 1.03)

    def _line(self, ax: Axes, labels: Labels, curve: DeferralCurve, i: int, several: bool) -> None:
        ink, dashes = LINES[i % len(LINES)]
        name = style.wrapped(curve.name or "every share", 30)
        if i >= _MOST_NAMED:
            name = f"and {len(self.points.curves) - i} more" if i == _MOST_NAMED else "_"
        x, y = np.array(curve.decided), np.array(curve.error)
        steps = self.points.by == "cut-offs"
        if steps and len(x):  # the pair of a point serves for fewer rows too
            x, y = np.append(0.0, x), np.append(y[0], y)
        ax.plot(
            x,
            y,
            color=ink,
            linestyle=dashes,
            linewidth=style.LINE,
            drawstyle="steps-pre" if steps else "default",
            label=name,
            zorder=2.5,
        )
        labels.avoid(x, y)
        if several and curve.chosen is not None:
            ax.plot(*curve.chosen, "o", color=ink, markersize=5.5, clip_on=False, zorder=4)

    def _allowed(self, ax: Axes, labels: Labels, top: float) -> None:
        """The bounds, and the corner between them."""
        wrong, share = self.most_wrong, self.least_decided
        if wrong is not None:
            ax.axhline(wrong, **style.asked())
            labels.avoid([0.0, 1.0], [wrong, wrong])
        if share is not None:
            ax.axvline(share, **style.asked())
            labels.avoid([share, share], [0.0, top])
        if wrong is not None or share is not None:
            high = top if wrong is None else min(wrong, top)
            ax.fill_between(
                [share or 0.0, 1.0], -0.02 * top, high, color=style.GREEN, alpha=style.SHADE,
                linewidth=0, zorder=0.5,
            )  # fmt: skip
        if wrong is not None:
            words = f"asked: at most {SHARE.text(wrong)} wrong"
            anchors = [(x, wrong) for x in (0.02, 0.3, 0.5)]
            labels.add(words, anchors, style.INK, ways=[(1, 0.6), (1, -0.6)])
        if share is not None:
            words = f"asked: at least {SHARE.text(share)} decided"
            anchors = [(share, t * top) for t in (0.95, 0.5, 0.7, 0.1)]
            labels.add(words, anchors, style.INK, ways=[(-1, 0), (1, 0)])

    def _rule(self, ax: Axes, labels: Labels) -> None:
        share, error = self.points.decided, self.points.error
        if error is None:
            return
        style.mark_rule(ax, share, error)
        text = f"the rule: {SHARE.text(error)} wrong\nof {SHARE.text(share)} decided"
        labels.add(text, [(share, error)], style.ORANGE)

    def _caption(self) -> str:
        several = len(self.points.curves) > 1
        if self.points.by == "cut-offs":
            notes = ["The line: the least error of two cut-offs that decide as many rows, or more."]
        else:
            notes = ["The line: the rows with the largest posterior are decided first."]
        if self.points.error is None:
            notes.append("The rule decides no row.")
        if several:
            notes.append("Each line is of one group; the small dots are the rule there.")
        if self._left_out:
            names = "; ".join(constraint_in_words(c) for c in self._left_out)
            notes.append(f"Asked too, and not drawn: {names}.")
        return " ".join(notes)


def _plain_bound(c: Constraint) -> tuple[str, float] | None:
    """What a constraint asks of all rows' error among the decided, or of the share decided.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.75")
    >>> _plain_bound(goal.constraints[0])
    ('error', 0.25)
    """
    e, level = c.lhs, c.rhs
    if not isinstance(e, Metric) or not isinstance(level, Const) or e.population != EVERYWHERE:
        return None
    if e.name == "deferral_rate" and c.relation == "<=":
        return "share", 1.0 - level.value
    if e.only_decided and e.name == "error_rate" and c.relation == "<=":
        return "error", level.value
    if e.only_decided and e.name == "accuracy" and c.relation == ">=":
        return "error", 1.0 - level.value
    return None
