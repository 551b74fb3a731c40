"""A decision threshold: positive from a cut-off on."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.rules.base import Ints, Rule, plain_number
from setpoint.rules.codec import cut_off_of, number_of, written_cut_off
from setpoint.rules.export.questions import (
    Answer,
    AtLeast,
    Below,
    Cases,
    Condition,
    Constant,
    Difference,
    Number,
    Quotient,
    Score,
    Sum,
    drawn,
)
from setpoint.rules.words import ClassNames

__all__ = ["Threshold"]


@dataclass(frozen=True)
class Threshold(Rule, written_as="threshold"):
    """Decide positive when the score is at least the threshold.

    With a width, the edge is soft: ``P(+) = clip((s - threshold) / width + 1/2, 0, 1)``.

    Parameters
    ----------
    threshold : float
        ``-inf`` decides positive for everyone, ``inf`` for nobody, whatever the score.
    width : float
        At least 0, finite; 0 is the hard edge ``P(+) = [s >= threshold]``.

    Raises
    ------
    TypeError
        If either is not a number.
    ValueError
        If either is NaN, or the width negative or infinite.

    Examples
    --------
    >>> from setpoint.rules import ClassNames, Threshold
    >>> Threshold(0.5).decide([0.2, 0.5, 0.9])
    array([0, 1, 1])
    >>> Threshold(0.5, width=0.4).distribution([0.2, 0.4, 0.5, 0.9])[:, 1]
    array([0.  , 0.25, 0.5 , 1.  ])
    >>> Threshold(0.43121).explain(ClassNames(("no", "yes")))
    "predict 'yes' when the score is at least 0.4312"
    """

    threshold: float
    width: float = 0.0

    def __post_init__(self) -> None:
        width = plain_number(self.width, "width")
        if not 0.0 <= width < math.inf:
            raise InputError(f"`width` must be at least 0 and finite, got {width!r}")
        object.__setattr__(self, "threshold", plain_number(self.threshold, "threshold"))
        object.__setattr__(self, "width", width)

    @property
    def n_classes(self) -> int:
        """Always 2."""
        return 2

    @property
    def score_columns(self) -> None:
        """Always None: one score a row."""
        return None

    @property
    def randomized(self) -> bool:
        """Whether the edge is soft; an infinite threshold has no edge."""
        return self.width > 0.0 and math.isfinite(self.threshold)

    def _fields(self) -> dict[str, Any]:
        return {"threshold": written_cut_off(self.threshold), "width": self.width}

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], where: str) -> Threshold:
        threshold = cut_off_of(fields["threshold"], f"{where}.threshold")
        return cls(threshold, number_of(fields["width"], f"{where}.width"))

    def _positive(self, scores: Floats) -> Floats:
        if math.isinf(self.threshold):
            return np.full(len(scores), 1.0 if self.threshold < 0.0 else 0.0)
        if self.width == 0.0:
            return (scores >= self.threshold).astype(np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return np.clip((scores - self.threshold) / self.width + 0.5, 0.0, 1.0)

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        positive = self._positive(scores)
        return (positive > (0.0 if u is None else u)).astype(np.int64)

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        positive = self._positive(scores)
        return np.column_stack([1.0 - positive, positive])

    def _margins(self, scores: Floats, segments: Ints | None, code: int) -> Floats:
        if math.isinf(self.threshold):
            lead = np.full(len(scores), -self.threshold)
        else:
            with np.errstate(over="ignore"):
                lead = scores - self.threshold
        return lead if code == 1 else -lead

    def _answer(self, u: Number) -> Answer:
        if math.isinf(self.threshold):
            return int(self.threshold < 0.0)
        if self.width > 0.0:
            return drawn(u, self._unclipped())
        return Cases(((AtLeast(Score(0), Constant(self.threshold)), 1),), 0)

    def _chance(self) -> Number:
        if not self.randomized:
            return super()._chance()
        x = self._unclipped()
        zero, one = Constant(0.0), Constant(1.0)
        return Cases(((AtLeast(x, one), one), (Below(x, zero), zero)), x)

    def _unclipped(self) -> Number:
        """What `_positive` clips."""
        t, width = self.threshold, self.width
        # past the ends first: there the quotient may overflow, which is an error in some engines
        ends: list[tuple[Condition, Answer]] = []
        if math.isfinite(t + width):
            ends.append((Below(Constant(t + width), Score(0)), Constant(1.0)))
        if math.isfinite(t - width):
            ends.append((Below(Score(0), Constant(t - width)), Constant(0.0)))
        part = Sum((Quotient(Difference(Score(0), Constant(t)), Constant(width)), Constant(0.5)))
        return Cases(tuple(ends), part)

    def _cuts(self) -> tuple[float, ...] | None:
        if self.randomized:
            return None
        return (self.threshold,) if math.isfinite(self.threshold) else ()

    def clause(self, names: ClassNames, digits: int) -> str:
        """For whom the rule decides positive, without the verb."""
        if self.threshold == -math.inf:
            return "for everyone"
        if self.threshold == math.inf:
            return "for nobody"
        if self.width == 0.0:
            return f"when {names.score} is at least {self.threshold:.{digits}g}"
        low = f"{self.threshold - self.width / 2:.{digits}g}"
        high = f"{self.threshold + self.width / 2:.{digits}g}"
        return (
            f"with a probability that rises from 0 to 1 as {names.score} goes from {low} to {high}"
        )

    def _words(self, names: ClassNames, digits: int) -> str:
        return f"predict {names.label(1)} {self.clause(names, digits)}"
