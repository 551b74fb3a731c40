"""What a report adds of an adaptive search, and its picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import BlackBoxMetric, Expression, Goal, as_goal
from setpoint.report import SIZE, Display, Facts, Picture, Section, cleaned, number, plural, style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from setpoint.report import Canvas


# --- What a report adds of an adaptive search: its baseline, its gain -----------------------------


_MOST_WEIGHTS = 5

_AXES = 0.6
"""Inches of axis labels below and between panels."""


@dataclass(frozen=True)
class AdaptiveStep:
    """One model on the way of a search.

    Parameters
    ----------
    start : str
        Where its path began.
    used : int
        Evaluations of the metric by then.
    value : float
        The metric, in the user's units.
    weights : tuple of float
        The weighting of the surrogates that the model minimises, as shares.

    Examples
    --------
    >>> from setpoint.surrogates import AdaptiveStep
    >>> step = AdaptiveStep("zero", used=40, value=0.8, weights=(0.75, 0.25))
    >>> step.value, step.weights
    (0.8, (0.75, 0.25))
    """

    start: str
    used: int
    value: float
    weights: tuple[float, ...]


@dataclass(frozen=True)
class AdaptiveSummary(Section):
    """What a search over surrogates found, and what it is compared with.

    Values are those of the metric on its own rows, in the user's units.

    Parameters
    ----------
    baseline : str
        What the search is compared with, in words.
    baseline_value, best_value : float
        The metric of the baseline, and of the best model that was found.
    accepted : bool
        Whether that model is the one returned; otherwise the baseline is.
    why : str
        The reason, in a sentence.
    error : float or None
        Bootstrap standard error of the gain; None where it was not estimated, infinite
        where it could not be.
    n_bootstrap : int
        Draws behind it.
    evaluations : int
        Evaluations of the metric, the bootstrap's among them.
    budget : int or None
        The most evaluations that were allowed.
    search : {"gradient", "weights"}
    gradient : str
        The estimate that was followed.
    start : str
        Where the best path began.
    surrogates : tuple of str
    path : tuple of AdaptiveStep
        Every model in the order of the search, with a weight for each of the surrogates.
    greater_is_better : bool
        Which of two values of the metric is the better one.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from setpoint import AdaptiveSurrogateClassifier
    >>> X, y = make_classification(60, n_features=4, random_state=0)
    >>> clf = AdaptiveSurrogateClassifier("g_mean", solver="surrogate-weights").fit(X, y)
    >>> found = clf.goal_report_.section("adaptive")
    >>> found.accepted == clf.accepted_, found.surrogates
    (True, ('sigmoid of positives', 'sigmoid of negatives'))
    """

    name: ClassVar[str] = "adaptive"
    title: ClassVar[str] = "Against the cut-off alone"

    baseline: str
    baseline_value: float
    best_value: float
    accepted: bool
    why: str
    error: float | None
    n_bootstrap: int
    evaluations: int
    budget: int | None
    search: str
    gradient: str
    start: str
    surrogates: tuple[str, ...]
    path: tuple[AdaptiveStep, ...] = field(default=(), repr=False)
    greater_is_better: bool = True

    def best_step(self) -> AdaptiveStep | None:
        """The best step of the best path, the first of equals; None where it has no step."""
        sense = 1.0 if self.greater_is_better else -1.0
        own = (step for step in self.path if step.start == self.start)
        return max(own, key=lambda step: sense * step.value, default=None)

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The metric along the search, and the weights along its best path."""
        if not self.path:
            return

        found = replace(self, surrogates=tuple(cleaned(name) for name in self.surrogates))
        yield Picture(
            "The metric along the search",
            lambda ax: plot_surrogate_path(found, facts.goal, ax=ax),
            f"The metric of {len(self.path):,} models in the order of the search, best "
            f"{number(self.best_value)}, against the baseline {number(self.baseline_value)}; "
            "below, the weights of the surrogates along the best path.",
            "Each mark is one model, the dashed line the baseline: a model with a cut-off and no "
            "search. Below, what the models of the best path weighed more and less.",
            (SIZE[0], _AXES + sum(_heights(found))),
            panels=True,
        )

    # -- in words -----------------------------------------------------------------------
    def lines(self) -> list[str]:
        """All of it in sentences.

        Examples
        --------
        >>> summary = AdaptiveSummary(
        ...     "logistic regression with a cut-off", 0.41, 0.43, True, "the gain is clear",
        ...     0.008, 200, 1612, 2000, "gradient", "interpolation", "logistic",
        ...     ("sigmoid of positives", "sigmoid of negatives"),
        ... )
        >>> for line in summary.lines():
        ...     print(line)  # doctest: +NORMALIZE_WHITESPACE
        Baseline: logistic regression with a cut-off has 0.4100.
        Best model of the search: 0.4300, better by 0.0200 with a standard error of 0.0080,
        from 200 draws of rows.
        Accepted: the search's model is what was returned. The gain is clear.
        The metric was evaluated 1,612 times of 2,000 allowed.
        The search followed its gradient (interpolation) over 2 surrogates; best start: logistic.
        """
        kept = "Accepted: the search's model" if self.accepted else "Not accepted: the baseline"
        why = self.why.strip().rstrip(".")
        spent = plural(self.evaluations, "time")
        spent += "" if self.budget is None else f" of {self.budget:,} allowed"
        over = plural(len(self.surrogates), "surrogate")
        how = f"followed its gradient ({self.gradient}) over {over}"
        if self.search == "weights":
            how = f"tried weights of {over}"
        out = [
            f"Baseline: {self.baseline} has {number(self.baseline_value)}.",
            f"Best model of the search: {number(self.best_value)}, {self._gain()}.",
            f"{kept} is what was returned." + (f" {why[0].upper()}{why[1:]}." if why else ""),
            f"The metric was evaluated {spent}.",
            f"The search {how}; best start: {self.start}.",
        ]
        step, n = self.best_step(), len(self.surrogates)
        if step is not None and n > 1 and self.best_value != self.baseline_value:
            pairs = sorted(zip(step.weights, self.surrogates, strict=True), key=lambda p: -p[0])
            shown = [f"{name} {100.0 * w:.0f} %" for w, name in pairs[:_MOST_WEIGHTS]]
            shown += [f"and {n - _MOST_WEIGHTS} more"] if n > _MOST_WEIGHTS else []
            out.append(f"Weights of the surrogates at its best step: {'; '.join(shown)}.")
        return out

    def _gain(self) -> str:
        far = self.best_value - self.baseline_value
        if far == 0.0:
            return "no better"
        word = "better" if (far > 0.0) == self.greater_is_better else "worse"
        out = f"{word} by {number(abs(far))}"
        if self.error is None:
            return out
        if not math.isfinite(self.error):
            return f"{out} with an unknown standard error"
        out += f" with a standard error of {number(self.error)}"
        return f"{out}, from {self.n_bootstrap:,} draws of rows" if self.n_bootstrap else out


# --- How an adaptive search went ------------------------------------------------------------------


_MOST_BANDS = 10

_BANDS = [
    (ink, alpha)
    for alpha in (0.6, 0.28)
    for ink in (style.BLUE, style.ORANGE, style.GREEN, style.RED, style.INK)
]

_OTHERS = ((style.GREEN, (0, (5, 2))), (style.MUTED, (0, (1, 1.5))), (style.INK, (0, (6, 2, 1, 2))))
"""Paths beside the best: ink and dashes."""

_WIDE, _LONGEST = 26, 60
"""Characters of a surrogate's name before it is broken, and before it is cut."""

_LINE = 0.185
"""Inches of one line of a name."""


def plot_surrogate_path(
    summary: Facts | AdaptiveSummary,
    goal: Goal | Expression | str | None = None,
    *,
    ax: Canvas = None,
) -> Display:
    """Draw a search over surrogates: the metric model by model, and the weights it went by.

    Parameters
    ----------
    summary : GoalReport or AdaptiveSummary
        A report on a search over surrogates holds a summary.
    goal : Goal, str or metric, optional
        Names the metric; by default that of the report.
    ax : Axes or Figure, optional
        By default a new figure, with the weights along the best path in a panel of their own. An
        empty figure is filled. Axes hold the metric alone.

    Returns
    -------
    Display
        With second axes for the weights, where there are several surrogates.

    Raises
    ------
    ValueError
        If the report is not on a search over surrogates, or the search made no step.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from matplotlib import pyplot as plt
    >>> from setpoint.surrogates import AdaptiveStep, AdaptiveSummary
    >>> first = AdaptiveStep("zero", 40, 0.40, (0.5, 0.5))
    >>> second = AdaptiveStep("zero", 80, 0.43, (0.7, 0.3))
    >>> summary = AdaptiveSummary(
    ...     "logistic regression with a cut-off", 0.41, 0.43, True, "", 0.008, 200, 480, 2000,
    ...     "gradient", "interpolation", "zero", ("sigmoid of positives", "sigmoid of negatives"),
    ...     (first, second),
    ... )
    >>> display = plot_surrogate_path(summary, "f1")
    >>> [ax.get_ylabel() for ax in display.axes_]
    ['f1', 'weights']
    >>> plt.close(display.figure_)
    """
    style.require_matplotlib()
    from matplotlib.ticker import MaxNLocator

    if isinstance(summary, Facts):
        found = summary.section("adaptive")
        if found is None:
            raise InputError(
                "the report is not on a search over surrogates, and only such a search has a path"
            )
        goal, summary = summary.goal, found
    if not isinstance(summary, AdaptiveSummary):
        raise InputTypeError(
            f"`summary` is the adaptive part of a report, got {type(summary).__name__}"
        )
    if not summary.path:
        raise InputError("the search made no step: there is no path to draw")
    heights = _heights(summary)
    panels = style.panels(ax, (6.4, 1.2 + sum(heights)), heights)
    top, bottom = panels[0], panels[-1]
    _metric(top.ax, summary)
    evaluations, name = "evaluations of the metric", "metric"
    if goal is not None:
        measure = as_goal(goal).objective
        name = style.wrapped(str(measure), 30)
        if isinstance(measure, BlackBoxMetric):
            # An import path: it holds no spaces to break it at.
            name = _cut(measure.name, _LONGEST).replace(":", ":\n")
    top.finish(evaluations if top is bottom else "", name)
    if top is not bottom:
        bottom.ax.sharex(top.ax)
        top.ax.tick_params(labelbottom=False)
        _weights(bottom.ax, summary)
        bottom.finish(evaluations, "weights", grid="x")
    # Large numbers of evaluations, in a panel that shares its width with names.
    bottom.ax.tick_params(axis="x", labelsize=style.SMALL)
    bottom.ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    top.legend(columns=1 if top.mode == "tight" else 2)
    return Display(tuple(panel.ax for panel in panels))


def _metric(ax: Axes, summary: AdaptiveSummary) -> None:
    """The metric along each path, the best one first, and the baseline."""
    starts = dict.fromkeys([summary.start, *(step.start for step in summary.path)])
    drawn = {start: [step for step in summary.path if step.start == start] for start in starts}
    best_first = [(start, steps) for start, steps in drawn.items() if steps]
    for i, (start, steps) in enumerate(best_first):
        ink, dashes = _OTHERS[(i - 1) % len(_OTHERS)]
        look: dict[str, Any] = {
            "color": ink, "linestyle": dashes, "linewidth": 1.2, "zorder": 2.5,
            "label": f"from {start}",
        }  # fmt: skip
        if start == summary.start:
            look = {
                "color": style.BLUE, "linestyle": "-", "linewidth": style.LINE, "zorder": 3.0,
                "label": f"from {start} (the best path)",
            }  # fmt: skip
        look |= {"marker": "o", "markersize": 2.5 if len(steps) > 1 else 5.0}
        ax.plot([step.used for step in steps], [step.value for step in steps], **look)
    kept = ("", ", returned") if summary.accepted else (", returned", "")
    name = f"baseline {number(summary.baseline_value)}{kept[0]}"
    dashed: dict[str, Any] = {"color": style.RED, "linewidth": 1.2, "linestyle": (0, (4, 2))}
    ax.axhline(summary.baseline_value, label=name, zorder=2, **dashed)
    if summary.best_value != summary.baseline_value:
        # The best model, at the step that it comes from.
        at = summary.best_step()
        x = max(step.used for step in summary.path) if at is None else at.used
        if at is not None and at.value != summary.best_value:
            # The model of the step with its cut-off set anew.
            ax.plot([x, x], [at.value, summary.best_value], color=style.ORANGE, linewidth=1.0)
        name = f"best {number(summary.best_value)}{kept[1]}"
        mark: dict[str, Any] = {"color": style.ORANGE, "markersize": 7, "linestyle": "none"}
        ax.plot([x], [summary.best_value], "D", label=name, zorder=5, **mark)
    ax.margins(x=0.03, y=0.1)
    ax.set_xlim(ax.get_xlim())


def _bands(summary: AdaptiveSummary) -> list[tuple[str, Floats]]:
    """Names and shares (m,) of the surrogates along the best path, those of few pooled."""
    steps = [step for step in summary.path if step.start == summary.start]
    if not steps or len(summary.surrogates) < 2:
        return []
    shares = np.array([step.weights for step in steps])
    names = [_broken(name) for name in summary.surrogates]
    if len(names) <= _MOST_BANDS:
        return list(zip(names, shares.T, strict=True))
    large = np.sort(np.argsort(-shares.mean(axis=0), kind="stable")[: _MOST_BANDS - 1])
    rest = np.setdiff1d(np.arange(len(names)), large)
    pooled = (f"{len(rest)} others", shares[:, rest].sum(axis=1))
    return [*((names[k], shares[:, k]) for k in large), pooled]


def _heights(summary: AdaptiveSummary) -> tuple[float, ...]:
    """Inches of the panels: what the names of the surrogates need."""
    lines = [1 + name.count("\n") for name, _ in _bands(summary)]
    return (2.4, max(1.3, _LINE * sum(lines) + 0.1)) if lines else (2.4,)


def _weights(ax: Axes, summary: AdaptiveSummary) -> None:
    """Stacked shares; each holds until the path moves on. Names to the right, a line to each."""
    bands = _bands(summary)
    used = [step.used for step in summary.path if step.start == summary.start]
    x = np.array([*used, ax.get_xlim()[1]])
    shares = np.array([np.append(share, share[-1]) for _, share in bands])
    tops = np.cumsum([np.zeros(len(x)), *shares], axis=0)
    middles = (tops[1:, -1] + tops[:-1, -1]) / 2.0
    for foot, top, (ink, alpha) in zip(tops[:-1], tops[1:], _BANDS, strict=False):
        fill: dict[str, Any] = {"facecolor": ink, "alpha": alpha, "edgecolor": "none"}
        ax.fill_between(x, foot, top, step="post", linewidth=0, **fill)
        ax.step(x, top, where="post", color=style.PAPER, linewidth=0.8)
    ax.set_ylim(0.0, 1.0)
    ax.set_yticks([0.0, 0.5, 1.0], ["0", "50 %", "100 %"])
    heights = _spread(middles, [1 + name.count("\n") for name, _ in bands])
    for (name, _), (ink, alpha), middle, y in zip(bands, _BANDS, middles, heights, strict=False):
        line: dict[str, Any] = {"color": ink, "alpha": alpha, "linewidth": 2.0, "clip_on": False}
        ax.plot([1.0, 1.03, 1.06], [middle, y, y], transform=ax.transAxes, **line)
        text: dict[str, Any] = {"color": style.INK, "fontsize": style.SMALL, "parse_math": False}
        text |= {"va": "center", "ha": "left", "annotation_clip": False}
        ax.annotate(name, (1.07, y), xycoords="axes fraction", **text)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _broken(name: str) -> str:
    """A name in lines, with the group on lines of its own."""
    what, comma, where = _cut(name, _LONGEST).partition(", ")
    parts = [f"{what},", where] if comma and len(name) > _WIDE else [what + comma + where]
    lines = [line for part in parts for line in style.wrapped(part, _WIDE).split("\n")]
    return "\n".join(_cut(line, _WIDE) for line in lines)


def _spread(middles: Sequence[float], lines: Sequence[int]) -> Floats:
    """Heights of names in [0, 1], near the bands' middles and clear of each other."""
    half = np.asarray(lines, np.float64) / (2.0 * max(sum(lines), 6))
    y = np.clip(np.asarray(middles, np.float64), half, 1.0 - half)
    for i in range(1, len(y)):
        y[i] = max(y[i], y[i - 1] + half[i - 1] + half[i])
    y[-1] = min(y[-1], 1.0 - half[-1])
    for i in range(len(y) - 2, -1, -1):
        y[i] = min(y[i], y[i + 1] - half[i + 1] - half[i])
    return np.asarray(y)
