"""What a report adds of an adaptive search: its baseline, its gain, and the way it went."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.errors import InputError
from setpoint.report.codec import plain, read
from setpoint.report.numbers import number
from setpoint.report.picture import SIZE, Picture
from setpoint.report.printable import cleaned
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["AdaptiveStep", "AdaptiveSummary"]

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


@section
@dataclass(frozen=True)
class AdaptiveSummary:
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

    Raises
    ------
    ValueError
        If `search` is another, or a step has other weights.

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

    def __post_init__(self) -> None:
        if self.search not in ("gradient", "weights"):
            raise InputError(f"search is 'gradient' or 'weights', got {self.search!r}")
        for step in self.path:
            if len(step.weights) != len(self.surrogates):
                raise InputError(
                    f"path: a step has {len(step.weights)} weights, and there are "
                    f"{len(self.surrogates)} surrogates"
                )

    def best_step(self) -> AdaptiveStep | None:
        """The best step of the best path, the first of equals; None where it has no step."""
        sense = 1.0 if self.greater_is_better else -1.0
        own = (step for step in self.path if step.start == self.start)
        return max(own, key=lambda step: sense * step.value, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values by name; infinite numbers as text that ``float`` reads."""
        out: dict[str, Any] = plain(self)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> AdaptiveSummary:
        """What :meth:`to_dict` wrote.

        Raises
        ------
        TypeError
            If a field is missing or unknown.
        """
        return read(cls, data)

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The metric along the search, and the weights along its best path."""
        if not self.path:
            return
        from setpoint.surrogates.display import SurrogatePathDisplay

        found = replace(self, surrogates=tuple(cleaned(name) for name in self.surrogates))
        display = SurrogatePathDisplay(found, facts.goal)
        yield Picture(
            "The metric along the search",
            display.plot,
            f"The metric of {len(self.path):,} models in the order of the search, best "
            f"{number(self.best_value)}, against the baseline {number(self.baseline_value)}; "
            "below, the weights of the surrogates along the best path.",
            "Each mark is one model, the dashed line the baseline: a model with a cut-off and no "
            "search. Below, what the models of the best path weighed more and less.",
            (SIZE[0], _AXES + sum(display.heights)),
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
        out = [
            f"Baseline: {self.baseline} has {number(self.baseline_value)}.",
            f"Best model of the search: {number(self.best_value)}, {self._gain()}.",
            f"{self._verdict()} {_sentence(self.why)}".rstrip(),
            f"The metric was evaluated {self._evaluations()}.",
            self._way(),
        ]
        weights = self._weights()
        return [*out, weights] if weights else out

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

    def _verdict(self) -> str:
        if self.accepted:
            return "Accepted: the search's model is what was returned."
        return "Not accepted: the baseline is what was returned."

    def _evaluations(self) -> str:
        out = f"{self.evaluations:,} time{'' if self.evaluations == 1 else 's'}"
        if self.budget is not None:
            out += f" of {self.budget:,} allowed"
        return out

    def _way(self) -> str:
        k = len(self.surrogates)
        over = f"{k} surrogate{'' if k == 1 else 's'}"
        if self.search == "weights":
            how = f"The search tried weights of {over}"
        else:
            how = f"The search followed its gradient ({self.gradient}) over {over}"
        return f"{how}; best start: {self.start}."

    def _weights(self) -> str:
        """The weighting at the best step, the largest first; "" where no step was better."""
        step = self.best_step()
        if step is None or len(self.surrogates) < 2 or self.best_value == self.baseline_value:
            return ""
        pairs = sorted(zip(step.weights, self.surrogates, strict=True), key=lambda p: -p[0])
        shown = [f"{name} {100.0 * w:.0f} %" for w, name in pairs[:_MOST_WEIGHTS]]
        more = f"; and {len(pairs) - _MOST_WEIGHTS} more" if len(pairs) > _MOST_WEIGHTS else ""
        return f"Weights of the surrogates at its best step: {'; '.join(shown)}{more}."


def _sentence(text: str) -> str:
    text = text.strip()
    return f"{text[0].upper()}{text[1:].rstrip('.')}." if text else ""
