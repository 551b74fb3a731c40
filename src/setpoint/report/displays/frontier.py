"""Pictures of frontiers and of deferral."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from setpoint.errors import InputError
from setpoint.goals import (
    EVERYWHERE,
    Const,
    Constraint,
    Expression,
    Goal,
    Metric,
    as_goal,
    constraint_in_words,
)
from setpoint.inputs import DecideOn
from setpoint.parameters import SATISFIED
from setpoint.report.displays import style
from setpoint.report.displays.curves import LINES, fitted
from setpoint.report.displays.scales import (
    SHARE,
    drawstyle_of,
    known_line,
    not_excluded,
    out_of_reach,
    scale_of,
    shown_bounds,
)
from setpoint.report.displays.style import PlacedLabels, scored_rows
from setpoint.report.facts import Facts
from setpoint.report.operating import DeferralCurve, DeferralPoints
from setpoint.search import Frontier, Randomized, Vary, vary_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase


# --- FrontierDisplay: the best objective as one bound moves ---------------------------------------


_LINE = 0.01
"""Of the height of the axes: about the width of the line."""

_FEW = 40
"""Up to so many marks are large."""


class FrontierDisplay:
    """What a stricter bound costs: the best objective over the bound of one constraint.

    Parameters
    ----------
    frontier : Frontier

    Attributes
    ----------
    frontier : Frontier
    ax_ : Axes
    figure_ : Figure

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> import numpy as np
    >>> from setpoint.search.frontier import Frontier
    >>> at, best = np.array([0.5, 0.7, 0.9]), np.array([0.95, 0.8, 0.4])
    >>> goal, vary = "maximize recall subject to precision >= 0.8", "precision >= 0.8"
    >>> frontier = Frontier(
    ...     goal, vary, "recall", "precision", ">=", 0.8, at, best, at, "lines"
    ... )
    >>> display = FrontierDisplay(frontier).plot()
    >>> display.ax_.get_ylabel(), round(float(display.value_asked), 2)
    ('best recall', 0.6)
    >>> plt.close(display.figure_)
    """

    ax_: Axes
    figure_: FigureBase

    def __init__(self, frontier: Frontier) -> None:
        self.frontier = frontier

    # -- where the numbers come from --------------------------------------------------
    @classmethod
    def from_estimator(
        cls,
        clf: Any,
        X: Any = None,
        y: Any = None,
        *,
        vary: Vary = None,
        values: Any = None,
        ax: style.Canvas = None,
        **rows: Any,
    ) -> Self:
        """Draw the frontier of a fitted classifier's goal.

        Parameters
        ----------
        clf : classifier of this library, fitted
        X, y : optional
            Rows; by default those that its rule was found on.
        vary, values
            As in :meth:`from_predictions`.
        ax
            As in :meth:`plot`.
        **rows
            What else belongs to the rows of X, as in its ``evaluate``.
        """
        style.require_matplotlib()
        return cls(fitted(clf)._frontier(vary=vary, values=values, X=X, y=y, **rows)).plot(ax)

    @classmethod
    def from_predictions(
        cls,
        goal: Goal | Expression | str,
        y_true: Any,
        scores: Any,
        *,
        vary: Vary = None,
        values: Any = None,
        randomized: Randomized = False,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        pos_label: Any = None,
        decide_on: DecideOn = "auto",
        ax: style.Canvas = None,
    ) -> Self:
        """Draw the frontier of thresholds on scores of two classes.

        Parameters
        ----------
        goal : Goal, str or metric
        y_true : array-like of shape (N,)
        scores : array-like of shape (N,) or posteriors (N, 2)
        vary : Constraint, str or int, optional
            Which bound moves: a constraint, its text, the text of its left side, or its
            number. One that the goal lacks is added. By default the only one.
        values : sequence of float, optional
            Bounds to look at; by default all that matter.
        randomized, sample_weight, sensitive_features, baseline, datasets, pos_label, decide_on
            As in :func:`setpoint.solve`.
        ax
            As in :meth:`plot`.

        Raises
        ------
        ValueError
            If there are more than two classes, or `vary` is not a constraint.
        """
        style.require_matplotlib()
        from setpoint.search import frontier_exact

        # A constraint that is added may refer to columns of its own.
        goal, moving = vary_of(as_goal(goal), vary)
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
        return cls(frontier_exact(goal, evidence, moving, values, randomized=randomized)).plot(ax)

    @classmethod
    def from_report(cls, report: Facts, i: int = 0, *, ax: style.Canvas = None) -> Self:
        """Draw the i-th frontier of a report.

        Raises
        ------
        ValueError
            If it holds none of that number.
        """
        style.require_matplotlib()
        found = report.section("frontiers")
        if found is None:
            raise InputError(
                "the report holds no frontier: ask for one with FrontierDisplay.from_estimator or "
                "from_predictions"
            )
        if not 0 <= i < len(found.items):
            raise InputError(f"`i` is a number from 0 to {len(found.items) - 1}, got {i}")
        return cls(found.items[i]).plot(ax)

    @property
    def value_asked(self) -> float:
        """The best objective at the bound that the goal sets; NaN where it is not known."""
        f = self.frontier
        if f.kind == "points" and not np.isclose(f.bounds, f.asked, rtol=0.0, atol=1e-12).any():
            return float("nan")
        return f.at(f.asked)

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
        f = self.frontier
        self.figure_, (self.ax_,), mode = style.axes(ax, (6.8, 4.0))
        ax_ = self.ax_
        below, left = scale_of(f.side), scale_of(f.objective)
        how = "at least" if f.relation == ">=" else "at most"
        style.finish(
            ax_,
            style.wrapped(f"{below.words} {how}", 56),
            style.wrapped(f"best {left.words}", 56),
        )
        below.apply(ax_.xaxis)
        left.apply(ax_.yaxis)
        low, high = shown_bounds(f)
        x, y = known_line(f, low, high)
        if len(x):
            marked = f.kind == "points"
            ax_.plot(
                x,
                y,
                color=style.BLUE,
                drawstyle=drawstyle_of(f),
                linewidth=style.THIN if marked else style.LINE,
                marker="." if marked else "",
                markersize=7.0 if len(x) <= _FEW else 3.5,
                label=f"best {f.objective}",
                zorder=3,
            )
        ax_.set_xlim(low, high)
        ax_.margins(y=0.08)
        open_ = self._beyond(ax_, low, high)
        labels = PlacedLabels(ax_)
        labels.avoid(*not_excluded(f, low, high)[:2])
        self._infeasible(ax_, low, high, labels)
        self._asked(ax_, labels)
        others = [
            constraint_in_words(c) for c in Goal.parse(f.goal).constraints if str(c) != f.vary
        ]
        kept = f"With {' and '.join(others)}. " if others else ""
        style.caption(
            ax_, mode, kept + self._proof() + (" Shaded: not ruled out." if open_ else "")
        )
        return self

    def _beyond(self, ax: Axes, low: float, high: float) -> bool:
        """What may be had beyond the line at most, where that is wider than the line anywhere."""
        x, y, past = not_excluded(self.frontier, low, high)
        bottom, top = ax.get_ylim()
        wide = np.abs(past - y) > _LINE * (top - bottom)
        # A stretch has two ends.
        wide = (wide[::2] | wide[1::2]).repeat(2)
        if not wide.any():
            return False
        ax.fill_between(
            x,
            y,
            past,
            where=wide.tolist(),
            color=style.BLUE,
            alpha=style.SHADE,
            linewidth=0,
            label="not ruled out",
        )
        return True

    def _infeasible(self, ax: Axes, low: float, high: float, labels: PlacedLabels) -> None:
        """Grey and hatched where no rule meets the bound."""
        span = out_of_reach(self.frontier, low, high)
        if span is None:
            return
        ax.axvspan(
            *span, facecolor="none", edgecolor=style.GRID, hatch="///", linewidth=0, zorder=0.6
        )
        ax.axvspan(*span, color=style.RED, alpha=0.06, linewidth=0, zorder=0.5)
        edge = span[0] if self.frontier.relation == ">=" else span[1]
        unknown = self.frontier.gaps[np.isnan(self.frontier.values)]
        if low < edge < high:
            ax.axvline(edge, color=style.RED, linewidth=1.0, zorder=1.5)
        middle = sum(span) / 2
        bottom, top = ax.get_ylim()
        labels.avoid([middle] * 2, [bottom + t * (top - bottom) for t in (0.15, 0.85)])
        ax.text(
            middle,
            0.5,
            "no rule found" if np.isinf(unknown).any() else "no rule meets it",
            transform=ax.get_xaxis_transform(),
            color=style.RED,
            fontsize=style.SMALL,
            ha="center",
            va="center",
            rotation=0 if (span[1] - span[0]) / (high - low) > 0.4 else 90,
            clip_on=True,
        )

    def _asked(self, ax: Axes, labels: PlacedLabels) -> None:
        """A line at the bound asked, a dot at the best rule there, and words beside them."""
        f, value = self.frontier, self.value_asked
        ax.axvline(f.asked, **style.asked())
        bottom, top = ax.get_ylim()
        labels.avoid([f.asked, f.asked], [bottom, top])
        best = f"\nbest: {scale_of(f.objective).text(value)}" if np.isfinite(value) else ""
        if best:
            style.mark_rule(ax, f.asked, value)
            labels.mark(f.asked, value)
        text = f"asked: {scale_of(f.side).text(f.asked)}"
        heights = [bottom + t * (top - bottom) for t in (0.06, 0.9, 0.3, 0.6)]
        anchors = [(f.asked, h) for h in ([value] if best else heights)]
        ink = style.ORANGE if best else style.INK
        labels.add(text + best, anchors, ink)

    def _proof(self) -> str:
        f = self.frontier
        number = scale_of(f.objective).text
        if f.kind != "points" and SATISFIED < f.gap < np.inf:
            kind = "Rules without draws" if f.kind == "steps" else "The best mixtures"
            return f"{kind}; what is left out is worth up to {number(f.gap)}."
        caption = {
            "steps": "Rules without draws; every step is shown.",
            "lines": "The best mixtures; every breakpoint is shown.",
            "points": "Known at the marks alone.",
        }[f.kind]
        if not np.isfinite(f.gap):
            return f"{caption} Better rules may exist."
        if f.gap > SATISFIED:
            return f"{caption} No rule is better by more than {number(f.gap)}."
        return caption


# --- DeferralDisplay: how many of the decided are wrong, by the share decided ---------------------


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
        labels = PlacedLabels(ax_)
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

    def _line(
        self, ax: Axes, labels: PlacedLabels, curve: DeferralCurve, i: int, several: bool
    ) -> None:
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

    def _allowed(self, ax: Axes, labels: PlacedLabels, top: float) -> None:
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

    def _rule(self, ax: Axes, labels: PlacedLabels) -> None:
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
