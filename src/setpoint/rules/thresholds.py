"""One cut-off on a score, and two."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.rules import questions as q
from setpoint.rules.base import Array, Ints, Rule, plain_number
from setpoint.rules.codec import CUT_OFF, LONGEST, NUMBER, ClassNames

# --- A decision threshold: positive from a cut-off on ---------------------------------------------


@dataclass(frozen=True)
class Threshold(Rule, written_as="threshold", stored={"threshold": CUT_OFF, "width": NUMBER}):
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

    n_classes = 2
    score_columns = None

    def __post_init__(self) -> None:
        width = plain_number(self.width, "width")
        if not 0.0 <= width < math.inf:
            raise InputError(f"`width` must be at least 0 and finite, got {width!r}")
        object.__setattr__(self, "threshold", plain_number(self.threshold, "threshold"))
        object.__setattr__(self, "width", width)

    @property
    def randomized(self) -> bool:
        """Whether the edge is soft; an infinite threshold has no edge."""
        return self.width > 0.0 and math.isfinite(self.threshold)

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

    def _ranked(self, scores: Floats, segments: Ints | None, code: int, instead: bool) -> Array:
        if instead:
            return np.full(len(scores), 1 - code, np.int64)
        lead = _lead(scores, self.threshold)
        return lead if code == 1 else -lead

    def _answer(self, u: q.Number | None) -> q.Answer:
        t, width = self.threshold, self.width
        if math.isinf(t):
            return int(t < 0.0)
        if width == 0.0:
            return q.Cases(((q.term(">=", q.SCORE, t), 1),), 0)
        # past the ends first: there the quotient may overflow, which is an error in some engines
        ends: list[tuple[q.Applied, q.Answer]] = []
        if math.isfinite(t + width):
            ends.append((q.term("<", t + width, q.SCORE), 1.0))
        if math.isfinite(t - width):
            ends.append((q.term("<", q.SCORE, t - width), 0.0))
        part = q.term("+", q.term("/", q.term("-", q.SCORE, t), width), 0.5)
        unclipped = q.Cases(tuple(ends), part)
        if u is not None:
            return q.drawn(u, unclipped)
        clips = ((q.term(">=", unclipped, 1.0), 1.0), (q.term("<", unclipped, 0.0), 0.0))
        return q.Cases(clips, unclipped)

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


# --- Two cut-offs on one score: decide outside, defer in between ----------------------------------


_DEFER = 2
"""The class index of the rows that are not decided."""


@dataclass(frozen=True)
class Band(Rule, written_as="band", stored={"low": CUT_OFF, "high": CUT_OFF}):
    """Decide 0 when the score is below `low`, 1 when it is at least `high`, and defer between.

    Class 2 is the third answer: the row is deferred.

    Parameters
    ----------
    low : float
        ``-inf`` decides 0 for nobody, ``inf`` for everyone, whatever the score.
    high : float
        At least `low`; where both are equal, nobody is deferred. ``inf`` decides 1 for
        nobody, ``-inf`` for everyone.

    Raises
    ------
    TypeError
        If either is not a number.
    ValueError
        If either is NaN, or `low` is larger than `high`.

    Examples
    --------
    >>> from setpoint.rules import Band, ClassNames
    >>> rule = Band(0.3, 0.8)
    >>> rule.decide([0.2, 0.3, 0.5, 0.8])
    array([0, 2, 2, 1])
    >>> rule.explain(ClassNames(("no", "yes", "defer")))
    "predict 'yes' when the score is at least 0.8, 'no' when it is below 0.3, and defer in between"
    """

    low: float
    high: float

    n_classes = 3
    score_columns = None

    def __post_init__(self) -> None:
        low, high = plain_number(self.low, "low"), plain_number(self.high, "high")
        if low > high:
            raise InputError(f"`low` must be at most `high` ({high!r}), got {low!r}")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        if self.low == math.inf:
            return np.zeros(len(scores), np.int64)
        out = np.full(len(scores), _DEFER, np.int64)
        out[scores < self.low] = 0
        if self.high < math.inf:
            out[scores >= self.high] = 1
        return out

    def _ranked(self, scores: Floats, segments: Ints | None, code: int, instead: bool) -> Array:
        above, below = _lead(scores, self.high), -_lead(scores, self.low)
        if code == _DEFER:
            return np.where(above >= below, 1, 0) if instead else -np.maximum(above, below)
        if instead:  # where the cut-offs are one, nobody is deferred
            other = 1 - code if self.low == self.high else _DEFER
            return np.full(len(scores), other, np.int64)
        return above if code == 1 else below

    def _answer(self, u: q.Number | None) -> q.Answer:
        if math.isinf(self.low) and self.low == self.high:
            return int(self.low < 0.0)
        whens: list[tuple[q.Applied, q.Answer]] = []
        if math.isfinite(self.high):
            whens.append((q.term(">=", q.SCORE, self.high), 1))
        if math.isfinite(self.low):
            whens.append((q.term("<", q.SCORE, self.low), 0))
        return q.Cases(tuple(whens), _DEFER) if whens else _DEFER

    def _words(self, names: ClassNames, digits: int) -> str:
        low, high = self.low, self.high
        if low == high:
            return self._words_without_deferred(names, digits)
        if low == -math.inf and high == math.inf:
            return "defer everyone"
        texts = [f"{value:.{digits}g}" for value in (low, high)]
        while texts[0] == texts[1] and digits < LONGEST:
            digits += 1
            texts = [f"{value:.{digits}g}" for value in (low, high)]
        if high == math.inf:
            return f"predict {names.label(0)} when {names.score} is below {texts[0]}, else defer"
        one = f"predict {names.label(1)} when {names.score} is at least {texts[1]}"
        if low == -math.inf:
            return f"{one}, else defer"
        return f"{one}, {names.label(0)} when it is below {texts[0]}, and defer in between"

    def _words_without_deferred(self, names: ClassNames, digits: int) -> str:
        if math.isinf(self.low):
            return f"predict {names.label(int(self.low < 0.0))} for everyone"
        return (
            f"predict {names.label(1)} when {names.score} is at least {self.low:.{digits}g}, "
            f"else {names.label(0)}, defer nobody"
        )


def _lead(scores: Floats, cut_off: float) -> Floats:
    """How far scores lie above a cut-off (N,)."""
    if math.isinf(cut_off):
        return np.full(len(scores), -cut_off)
    with np.errstate(over="ignore"):
        return scores - cut_off
