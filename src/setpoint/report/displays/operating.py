"""Pictures of a rule among all cut-offs: precision and recall, the objective, and deferral."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals import Expression, Goal, as_goal, constraint_in_words
from setpoint.report.displays import style
from setpoint.report.displays.style import SHARE, Display, Panel
from setpoint.report.facts import Facts
from setpoint.report.numbers import shortened
from setpoint.report.operating import (
    BAND,
    DeferralPoints,
    OperatingCurve,
    OperatingPoints,
    Plane,
    plain_bound,
    precision_band,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


_TICKS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)


# --- The rule among all thresholds: precision over recall, or hits over false alarms --------------


Kind: TypeAlias = Literal["precision-recall", "roc"]

_KINDS = ("precision-recall", "roc")

_GRID = 241
_FEW = 40
"""Up to so many thresholds are marked one by one."""


def plot_operating(
    points: Facts | OperatingPoints,
    goal: Goal | Expression | str | None = None,
    *,
    kind: Kind = "precision-recall",
    deployed: tuple[float, float] | None = None,
    shown: Goal | None = None,
    ax: style.Canvas = None,
) -> Display:
    """Draw what every threshold reaches, where the goal is met, and the point chosen.

    Parameters
    ----------
    points : GoalReport or OperatingPoints
        A report holds them where two classes are decided by thresholds on one score.
    goal : Goal, str or metric, optional
        By default that of the report. Constraints on the whole population are shaded. Those
        that refer to groups, data sets or the deployed model cannot be: a caption names them.
    kind : {"precision-recall", "roc"}
        Precision over recall, or recall over the false positive rate.
    deployed : (recall, precision), optional
        Of the deployed model on the same rows.
    shown : Goal, optional
        With the bounds that are shown, where not all that are asked are.
    ax : Axes or Figure, optional
        By default a new figure. An empty figure is filled.

    Returns
    -------
    Display

    Raises
    ------
    ValueError
        If the report holds no operating points.

    See Also
    --------
    setpoint.report.operating_points : The numbers.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import solve
    >>> y, scores = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.7, 0.9]
    >>> report = solve("maximize f1", scores, y).report
    >>> display = plot_operating(report)
    >>> display.ax_.get_xlabel()
    'of the class, found'
    >>> plt.close(display.figure_)
    """
    style.require_matplotlib()
    if kind not in _KINDS:
        raise InputError(f"`kind` is one of {_KINDS}, got {kind!r}")
    found, goal = style.numbers_of(
        points, goal, OperatingPoints, "operating", "points",
        "the report holds no operating points: it has them where two classes are decided by "
        "thresholds on one score",
    )  # fmt: skip
    asked: Goal = as_goal(goal)
    roc = kind == "roc"
    several = len(found.curves) > 1
    wide = 1.8 if several and not roc else 0.0
    (panel,) = style.panels(ax, (5.4 + 1.8 * several, 4.9) if roc else (7.4 + wide, 4.0))
    recall, right = "of the class, found", "of those accepted, right"
    names = ("of the others, accepted", recall) if roc else (recall, right)
    panel.finish(*names, x=SHARE, y=SHARE)
    panel.ax.set(xlim=(-0.01, 1.01), ylim=(-0.01, 1.03), xticks=_TICKS, yticks=_TICKS)
    if panel.mode == "own" and roc:
        panel.ax.set_box_aspect(1.0)
    view = _View(panel, found, Plane.of(asked, found), roc)
    inside = view.region()
    view.curves(bool(asked.constraints))
    rule = view.place(found.recall, found.precision, found.false_positive_rate)
    today = None
    if deployed is not None and (deployed[1] or not roc):
        today = view.place(*deployed, float(view.plane.fpr(*deployed)) if roc else 0.0)
    for at in (rule, today):
        if at is not None:
            panel.mark(*at)
    view.bounds(view.plane, "asked")
    if shown is not None:
        moved = tuple(c for c in shown.constraints if c not in asked.constraints)
        view.bounds(Plane.of(replace(shown, constraints=moved), found), "shown")
    view.chosen()
    if roc:
        text = f"{SHARE.text(found.false_positive_rate)} false alarms"
    else:
        text = f"{SHARE.text(found.precision)} right"
    panel.dot(*rule, style.RULE, f"the rule: {SHARE.text(found.recall)}\nfound, {text}")
    if today is not None:
        panel.dot(*today, style.DEPLOYED, "deployed model")
    if several:
        panel.legend(beside=True)
    elif found.curves:
        x, y = view.path(found.curves[0])
        some = [int(t * (len(x) - 1)) for t in (0.3, 0.45, 0.6, 0.75, 0.9)]
        panel.words("every threshold", [(float(x[j]), float(y[j])) for j in some], style.BLUE)
    most_inside = [(float(x), float(y)) for x, y in inside[np.argsort(-inside.sum(axis=1))]]
    panel.words("allowed", most_inside, style.GREEN, ways=[(0, 0)], most=1.0)
    panel.caption(_caption(view, asked), 96)
    return panel.display


@dataclass(frozen=True)
class _View:
    """Operating points in a panel: precision over recall, or hits over false alarms."""

    panel: Panel
    points: OperatingPoints
    plane: Plane
    roc: bool

    def place(self, recall: Any, precision: Any, fpr: Any) -> tuple[Any, Any]:
        """Where rates stand in the picture."""
        return (fpr, recall) if self.roc else (recall, precision)

    def plane_of(self, curve: OperatingCurve) -> Plane:
        """The plane with the prior of one segment, which is the precision of everybody."""
        if len(self.points.curves) == 1:
            return self.plane
        prior = curve.precision[-1]
        return Plane(prior, 1.0 - prior, (), (), ())

    def path(self, curve: OperatingCurve, among: Any = slice(None)) -> tuple[Floats, Floats]:
        """The line through thresholds of a segment."""
        fpr, recall = np.array(curve.false_positive_rate), np.array(curve.recall)
        return self.plane_of(curve).path(fpr[among], recall[among], roc=self.roc)

    def region(self) -> Floats:
        """Shade where all constraints hold that a point of the plane settles; places in it."""
        x, y = np.meshgrid(*[np.linspace(0.0, 1.0, _GRID)] * 2)
        slack = self.plane.slack(x, y) if self.roc else self.plane.slack_by_precision(x, y)
        met = slack >= -1e-9
        if not self.plane.constraints or not met.any():
            return np.zeros((0, 2))
        look = {"colors": [style.GREEN], "alpha": style.ALLOWED["alpha"], "zorder": 0.5}
        self.panel.ax.contourf(x, y, slack, levels=[-1e-9, 1e9], **look)
        some = (slice(12, None, 24), slice(24, -24, 24))
        return np.column_stack([x[some].ravel(), y[some].ravel()])[met[some].ravel()]

    def curves(self, goal: bool) -> None:
        """Each segment's thresholds, the hull where rules draw, thicker where the goal is met."""
        curves = self.points.curves
        several, n = len(curves) > 1, len(curves)
        draws = any(len(curve.chosen) > 1 for curve in curves)
        words, band = f"{100 * BAND:g} % interval", style.SHADED | {"zorder": 1.2}
        for i, curve in enumerate(curves):
            name = (curve.name if several else "") or "every threshold"
            ink = self.panel.segment(i, n, name, *self.path(curve))
            if len(curve.recall) <= _FEW:
                # Where nobody is accepted there is no precision to show.
                first = int(not self.roc and curve.false_positive_rate[0] == curve.recall[0] == 0)
                rates = curve.recall, curve.precision, curve.false_positive_rate
                x, y = self.place(*(r[first:] for r in rates))
                self.panel.ax.plot(x, y, ".", color=ink, markersize=5, zorder=2.6)
            if not self.roc and not several:
                low, high = precision_band(curve, self.points)
                over = curve.recall[len(curve.recall) - len(low) :]
                self.panel.ax.fill_between(over, low, high, label=words, **band)
            if goal and any(curve.feasible):
                self.thicker(curve)
            if len(curve.hull) > 1 and (self.roc or (draws and not several)):
                label = "with draws" if i == n - 1 else "_"
                self.panel.ax.plot(*self.path(curve, [*curve.hull]), label=label, **style.HULL)

    def thicker(self, curve: OperatingCurve) -> None:
        """Where thresholds meet every constraint, neighbours joined."""
        met = np.array(curve.feasible)
        met[:1] &= self.roc or curve.false_positive_rate[0] + curve.recall[0] > 0
        label = "meets the whole goal"
        for run in np.split(np.arange(len(met)), np.flatnonzero(np.diff(met)) + 1):
            if not met[run[0]]:
                continue
            look = style.MET | {"marker": "o" if len(run) == 1 else "", "markersize": 4.5}
            self.panel.ax.plot(*self.path(curve, run), label=label, **look)
            label = "_"

    def bounds(self, plane: Plane, what: str) -> None:
        """A line where a constraint is a plain bound on recall, precision or false alarms."""
        for c in plane.constraints:
            rate, level, at_least = plain_bound(c, self.points.labels[1]) or ("", 0.0, False)
            words = f"{'at least' if at_least else 'at most'} {SHARE.text(level)}"
            if rate == ("false positive rate" if self.roc else "recall"):
                self.panel.asked(level, upright=True)
                anchors = [(level, y) for y in (0.04, 0.96, 0.3, 0.7)]
                ways = [(1.0, 0.0), (-1.0, 0.0)]
            elif rate == ("recall" if self.roc else "precision"):
                self.panel.asked(level, upright=False)
                anchors = [(x, level) for x in (0.02, 0.35, 0.5, 0.65)]
                ways = [(1.0, -0.6), (1.0, 0.6)]
            elif rate == "precision" and level > 0:
                # Equal precision is a ray from the origin.
                end = float(plane.fpr(1.0, level))
                self.panel.line([0.0, end], [0.0, 1.0], **style.ASKED)
                anchors = [(end * t, t) for t in (0.5, 0.35, 0.7) if end * t < 0.9]
                ways = [(1.0, -1.0), (1.0, 0.0), (-1.0, 1.0)]
                words = f"precision {words}"
            else:
                continue
            self.panel.words(f"{what}: {words}", anchors, style.INK, ways=ways)

    def chosen(self) -> None:
        """Crosses where the rule draws, or has several thresholds."""
        atoms = [a for curve in self.points.curves for a in curve.chosen]
        if len(atoms) < 2:
            return
        for curve in self.points.curves:
            ends = sorted((a[3], a[2]) for a in curve.chosen)
            if len(ends) > 2:
                ends.append(ends[0])  # mixtures of three lie within their triangle
            path = self.plane_of(curve).path(*zip(*ends, strict=True), roc=self.roc)
            self.panel.ax.plot(*path, color=style.ORANGE, linewidth=1.2, zorder=3.5)
        share, _, recall, fpr, precision = np.array(atoms, np.float64).T
        at, size = self.place(recall, precision, fpr), 18.0 + 60.0 * share
        self.panel.ax.scatter(*at, s=size, label="its thresholds", **style.DRAWN)


def _caption(view: _View, goal: Goal) -> str:
    curves, left_out = view.points.curves, view.plane.left_out
    notes = [f"The class: {shortened(str(view.points.labels[1]))}."]
    if len(curves) == 1:
        (curve,) = curves
        if not view.roc:
            notes.append(f"Band: {100 * BAND:g} % interval at each threshold by itself.")
        if any(curve.feasible) and goal.constraints:
            notes.append("Thicker: meets the whole goal.")
        if len(curve.chosen) > 1:
            notes.append("Crosses: what the rule draws from.")
        if len(curve.hull) > 1 and (view.roc or len(curve.chosen) > 1):
            notes.append("Dotted: what draws among thresholds reach.")
    if left_out:
        names = "; ".join(constraint_in_words(c) for c in left_out)
        notes.append(f"Not shaded, for this plane does not show it: {names}.")
    if len(curves) > 1:
        notes.append("Each curve is of one group; the rule and the shading, of all rows.")
    return " ".join(notes)


# --- The goal's own objective at every cut-off ----------------------------------------------------


def plot_objective(
    points: Facts | OperatingPoints,
    goal: Goal | Expression | str | None = None,
    value: float | None = None,
    *,
    deployed: tuple[float, float] | None = None,
    ax: style.Canvas = None,
) -> Display:
    """Draw the goal's objective over the share of rows that are accepted.

    Parameters
    ----------
    points : GoalReport or OperatingPoints
        Of one threshold for all rows.
    goal : Goal, str or metric, optional
        By default that of the report.
    value : float, optional
        The objective of the rule; by default that of the report, or of its threshold.
    deployed : (share accepted, objective), optional
        Of the deployed model on the same rows.
    ax : Axes or Figure, optional
        By default a new figure. An empty figure is filled.

    Returns
    -------
    Display

    Raises
    ------
    ValueError
        If the objective is not known at every cut-off.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint import solve
    >>> y, scores = [0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.7, 0.9]
    >>> report = solve("minimize cost({(0, 1): 1, (1, 0): 5})", scores, y).report
    >>> display = plot_objective(report)
    >>> display.ax_.get_ylabel()
    'cost per 10,000 rows'
    >>> plt.close(display.figure_)
    """
    none = (
        "the objective at every threshold is known where two classes are decided by one "
        "threshold for all rows"
    )
    found, goal = style.numbers_of(points, goal, OperatingPoints, "operating", "points", none)
    if len(found.curves) != 1 or not found.curves[0].objective:
        raise InputError(none)
    if isinstance(points, Facts) and value is None:
        value = points.objective.value
    (curve,), asked = found.curves, as_goal(goal)
    x, y = np.array(curve.accepted), np.array(curve.objective)
    (panel,) = style.panels(ax, (7.4, 4.0))
    scale = style.scale_of(str(asked.objective))
    drawn = np.where(np.isfinite(y), y, np.nan)
    panel.line(x, drawn, label="every threshold", zorder=2.5, **style.CURVE)
    panel.finish("share of rows accepted, and the score from which on", scale.words, y=scale)
    panel.ax.set_xlim(-0.01, 1.01)
    _leave_room(panel.ax, drawn, *style.range_of_text(str(asked.objective)))
    panel.ax.set_xticks(_TICKS, [_share_and_threshold(curve, t) for t in _TICKS])
    # Where the rule stands: what it accepts in expectation, and its objective.
    at = [curve.thresholds.index(atom[1]) for atom in curve.chosen]
    share = float(sum(atom[0] * x[j] for atom, j in zip(curve.chosen, at, strict=True)))
    if value is None:
        value = y[at[0]] if len(at) == 1 else np.nan
    rule = (share, float(value))
    for dot in (rule, deployed):
        if dot is not None and np.isfinite(dot[1]):
            panel.mark(*dot)
    if np.isfinite(rule[1]):
        words = f"the rule: {scale.text(rule[1])}\nwith {SHARE.text(share)} accepted"
        panel.dot(*rule, style.RULE, words)
    if deployed is not None:
        panel.dot(*deployed, style.DEPLOYED, f"deployed model:\n{scale.text(deployed[1])}")
    for name, j in (("nobody", 0), ("everybody", -1)):
        end = (float(x[j]), float(y[j]))
        if np.isfinite(end[1]):
            panel.ax.plot(*end, "s", color=style.BLUE, markersize=5.5, clip_on=False, zorder=4)
            panel.words(f"{name}: {scale.text(end[1])}", [end], style.BLUE)
    if asked.constraints:
        _shade_allowed(panel, x, np.array(curve.feasible))
        every = "the constraint holds" if len(asked.constraints) == 1 else "all constraints hold"
        some = any(curve.feasible)
        text = f"Shaded: where {every}." if some else "No threshold meets every constraint."
        panel.caption(text, 96, below=50.0)
    return panel.display


def _leave_room(ax: Axes, y: Floats, least: float, most: float) -> None:
    """Room for words above and below a curve; hardly any where there can be no values."""
    known = y[np.isfinite(y)]
    if not len(known):
        return
    low, high = float(known.min()), float(known.max())
    room = 0.34 * (high - low) or 0.05 * max(abs(high), 1.0)
    bottom = max(low - room, min(least - 0.2 * room, low))
    top = min(high + room, max(most + 0.2 * room, high + 0.6 * room))
    ax.set_ylim(bottom, top)


def _share_and_threshold(curve: OperatingCurve, share: float) -> str:
    """A share of rows, and below it the threshold that accepts so many, or just more."""
    at = min(int(np.searchsorted(curve.accepted, share - 1e-12)), len(curve.accepted) - 1)
    threshold = curve.thresholds[at]
    return SHARE.tick(share) + (f"\n{threshold:.3g}" if np.isfinite(threshold) else "\n ")


def _shade_allowed(panel: Panel, x: Floats, met: Any) -> None:
    """Shade the cut-offs that meet every constraint."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], met, [False]]).astype(np.int8)))
    if not len(edges):
        return
    widest = (0.0, 0.0)
    for i, end in edges.reshape(-1, 2):
        # A cut-off by itself is as wide as a line.
        low, high = x[i], max(x[end - 1], x[i] + 0.004)
        panel.ax.axvspan(low, high, **style.ALLOWED)
        for edge in (low, high):
            panel.ax.axvline(edge, **style.ASKED | {"linewidth": 0.7})
        if high - low > widest[1] - widest[0]:
            widest = (float(low), float(high))
    bottom, top = panel.ax.get_ylim()
    middle = 0.5 * sum(widest)
    anchors = [(middle, bottom + t * (top - bottom)) for t in (0.05, 0.93, 0.3, 0.7)]
    ways = [(0, 0), (-1, 0), (1, 0)]
    panel.words("allowed", anchors, style.GREEN, ways=ways, most=30.0)


# --- How many of the decided are wrong, by the share decided --------------------------------------


def plot_deferral(
    points: Facts | DeferralPoints,
    goal: Goal | Expression | str | None = None,
    *,
    ax: style.Canvas = None,
) -> Display:
    """Draw the error among the rows decided over the share decided, with the rule.

    Parameters
    ----------
    points : GoalReport or DeferralPoints
        A report holds them where the goal defers, and a rule was measured on rows with scores
        and labels.
    goal : Goal, str or metric, optional
        By default that of the report. Bounds on the error or accuracy of the decided and on the
        deferral rate of all rows are drawn. A caption names the other constraints.
    ax : Axes or Figure, optional
        By default a new figure. An empty figure is filled.

    Returns
    -------
    Display

    Raises
    ------
    ValueError
        If the report holds no such points.

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
    >>> display = plot_deferral(solve(goal, scores, y).report)
    >>> display.ax_.get_xlabel()
    'share of rows decided'
    >>> plt.close(display.figure_)
    """
    found, goal = style.numbers_of(
        points, goal, DeferralPoints, "deferral", "points",
        "the report holds no errors by share decided: it has them where the goal defers, and a "
        "rule was measured on rows with scores and labels",
    )  # fmt: skip
    wrong: float | None = None
    share: float | None = None
    left_out = []
    for c in as_goal(goal).constraints:
        rate, level, at_least = plain_bound(c) or ("", 0.0, False)
        if rate == "error" and not at_least:
            wrong = min(level, 1.0 if wrong is None else wrong)
        elif rate == "share decided" and at_least:
            share = max(level, share or 0.0)
        else:
            left_out.append(constraint_in_words(c))
    curves = found.curves
    several = len(curves) > 1
    (panel,) = style.panels(ax, (7.4 + 1.8 * several, 4.0))
    # Room above the curves, the rule and the bound; no more than what there can be.
    known = [e for c in curves for e in (*c.error, *(c.chosen or ())[1:])]
    known += [x for x in (found.error, wrong) if x is not None]
    top = min(1.25 * max([*known, 0.004]), 1.03)
    panel.finish("share of rows decided", "of those decided, wrong", x=SHARE, y=SHARE)
    panel.ax.set(xlim=(-0.01, 1.01), ylim=(-0.02 * top, top), xticks=_TICKS)
    steps = found.by == "cut-offs"
    for i, curve in enumerate(curves):
        x, y = np.array(curve.decided), np.array(curve.error)
        if steps and len(x):  # the pair of a point serves for fewer rows too
            x, y = np.append(0.0, x), np.append(y[0], y)
        look = {"drawstyle": "steps-pre" if steps else "default"}
        ink = panel.segment(i, len(curves), curve.name or "every share", x, y, **look)
        if several and curve.chosen is not None:
            panel.ax.plot(*curve.chosen, "o", color=ink, markersize=5.5, clip_on=False, zorder=4)
    if found.error is not None:
        panel.mark(found.decided, found.error)
    if wrong is not None:
        panel.asked(wrong, upright=False)
    if share is not None:
        panel.asked(share, upright=True, span=(0.0, top))
    if wrong is not None or share is not None:
        high = top if wrong is None else min(wrong, top)
        panel.ax.fill_between([share or 0.0, 1.0], -0.02 * top, high, **style.ALLOWED)
    if wrong is not None:
        anchors, ways = [(x, wrong) for x in (0.02, 0.3, 0.5)], [(1, 0.6), (1, -0.6)]
        panel.words(f"asked: at most {SHARE.text(wrong)} wrong", anchors, style.INK, ways=ways)
    if share is not None:
        anchors, ways = [(share, t * top) for t in (0.95, 0.5, 0.7, 0.1)], [(-1, 0), (1, 0)]
        panel.words(f"asked: at least {SHARE.text(share)} decided", anchors, style.INK, ways=ways)
    if found.error is not None:
        words = f"the rule: {SHARE.text(found.error)} wrong\nof {SHARE.text(found.decided)} decided"
        panel.dot(found.decided, found.error, style.RULE, words)
    if several:
        panel.legend(beside=True)
    panel.caption(_deferral_caption(found, left_out), 96)
    return panel.display


def _deferral_caption(points: DeferralPoints, left_out: list[str]) -> str:
    if points.by == "cut-offs":
        notes = ["The line: the least error of two cut-offs that decide as many rows, or more."]
    else:
        notes = ["The line: the rows with the largest posterior are decided first."]
    if points.error is None:
        notes.append("The rule decides no row.")
    if len(points.curves) > 1:
        notes.append("Each line is of one group; the small dots are the rule there.")
    if left_out:
        notes.append(f"Asked too, and not drawn: {'; '.join(left_out)}.")
    return " ".join(notes)
