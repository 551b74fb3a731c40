"""Smoothed post-shift: the cut-off on a score for a metric that is only measured.

The metric at every cut-off, drawn over the rank of the cut-off, is a noisy curve on few rows,
and its highest point is chosen by the noise. The highest point of the curve's running mean
does better on new rows wherever the metric is smooth. It is the baseline that "Optimizing
black-box metrics with adaptive surrogates" (Jiang et al., 2020) calls post-shift, and more
than that: there the raw curve decides.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import cutoffs, midway
from setpoint.errors import InputError
from setpoint.parameters import TIED, tied
from setpoint.search import Limits, StoppedError

Measure: TypeAlias = Callable[[Floats], Floats]
Smooth: TypeAlias = Literal["auto"] | int | None

_MANY_ROWS = 3000
_LEAST_WINDOW = 5.0
_AT_ONCE = 4_000_000
"""Shifted scores that are held at a time."""


@dataclass(frozen=True, eq=False)
class Shift:
    """Cut-offs, one a segment, and how they were chosen: by the last curve over their rank."""

    thresholds: Floats
    value: float
    smoothed: float
    ranks: Floats = field(repr=False)
    gains: Floats = field(repr=False)
    means: Floats = field(repr=False)
    window: float
    evaluations: int
    constant: bool
    """Whether no cut-off tried is better than another, on any curve."""


def smoothed_threshold(
    measure: Measure,
    scores: Floats,
    weight: Floats | None = None,
    segments: NDArray[np.int64] | None = None,
    *,
    smooth: Smooth = "auto",
    most: int | None = None,
    rounds: int = 3,
    limits: Limits | None = None,
) -> Shift:
    """The cut-off at which the smoothed curve of a metric, or its `sweep`, is highest."""
    search = _CutoffSearch(measure, scores, weight, smooth, most, limits)
    found = search.along(_Cuts.of(scores, weight, None), np.zeros(len(scores)))
    return found if segments is None else search.by_segment(found, segments, rounds)


def margin(scores: Floats, thresholds: float | Floats) -> Floats:
    """Scores minus cut-offs, finite also where a cut-off is infinite."""
    cut = np.broadcast_to(np.asarray(thresholds, np.float64), scores.shape)
    if np.isinf(cut).any():
        low, high = float(scores.min()), float(scores.max())
        beyond = (high - low) or max(1.0, abs(high))
        cut = np.clip(cut, low - beyond, high + beyond)
    return scores - cut


def window_of(smooth: Smooth, total: float) -> float:
    """The weight of rows that a window holds; 0 for none."""
    if smooth is None:
        return 0.0
    if smooth != "auto":
        return min(float(smooth), total)
    wanted = total / 60.0 if total > _MANY_ROWS else max(_LEAST_WINDOW, total / 8.0)
    return min(wanted, total / 4.0)


def smoothed_at(ranks: Floats, gains: Floats, window: float, at: Floats) -> Floats:
    """Means of a piecewise linear curve over windows, at some ranks."""
    if window <= 0.0:
        return np.interp(at, ranks, gains)
    x = np.concatenate([2 * ranks[0] - ranks[:0:-1], ranks, 2 * ranks[-1] - ranks[-2::-1]])
    y = np.concatenate([2 * gains[0] - gains[:0:-1], gains, 2 * gains[-1] - gains[-2::-1]])
    y = y - gains.max()  # small numbers lose less in the differences below
    area = np.concatenate([[0.0], np.cumsum(np.diff(x) * (y[1:] + y[:-1]) / 2.0)])

    def below(t: Floats) -> Floats:
        i = np.clip(np.searchsorted(x, t, side="right") - 1, 0, len(x) - 2)
        step = t - x[i]
        slope = (y[i + 1] - y[i]) / (x[i + 1] - x[i])
        return np.asarray(area[i] + step * (y[i] + step * slope / 2.0))

    half = window / 2.0
    return np.asarray((below(at + half) - below(at - half)) / window + gains.max())


@dataclass(frozen=True, eq=False)
class _Cuts:
    """The cut-offs on the scores of some rows."""

    values: Floats
    ranks: Floats
    moving: NDArray[np.bool_] | None

    @classmethod
    def of(cls, scores: Floats, weight: Floats | None, moving: NDArray[np.bool_] | None) -> _Cuts:
        if moving is not None:
            scores, weight = scores[moving], None if weight is None else weight[moving]
        values, counts = cutoffs(scores, np.zeros(len(scores), np.uint8), weight, 1)
        return cls(values, counts[0], moving)

    def spread(self, most: int | None) -> NDArray[np.int64]:
        """All cut-offs, or `most` of them, evenly in rank."""
        if most is None or most >= len(self.ranks):
            return np.arange(len(self.ranks))
        wanted = np.linspace(0.0, self.ranks[-1], most)
        above = np.clip(np.searchsorted(self.ranks, wanted), 1, len(self.ranks) - 1)
        nearer = wanted - self.ranks[above - 1] <= self.ranks[above] - wanted
        return np.unique(above - nearer)


@dataclass(eq=False)
class _CutoffSearch:
    measure: Measure
    scores: Floats
    weight: Floats | None
    smooth: Smooth
    most: int | None
    limits: Limits | None
    evaluations: int = 0

    def along(self, cuts: _Cuts, held: Floats) -> Shift:
        """The best cut-off for the moving rows; `held` are the others' shifted scores."""
        sweep = getattr(self.measure, "sweep", None)
        if sweep is not None:
            chosen = np.arange(len(cuts.ranks))
            own = self.scores if cuts.moving is None else np.where(cuts.moving, self.scores, held)
            gains = sweep(own, cuts.moving)
            self.evaluations += len(gains)
        else:
            chosen, gains = self._measured(cuts, cuts.spread(self.most), held)
        window = window_of(self.smooth, float(cuts.ranks[-1]))
        if window and not np.isfinite(gains).all():
            raise InputError(
                f"the metric is infinite or undefined at {int((~np.isfinite(gains)).sum())} of "
                f"{len(gains)} cut-offs, and has no mean there; `smooth=None` takes the best "
                "cut-off"
            )
        ranks = cuts.ranks[chosen]
        means = smoothed_at(ranks, gains, window, ranks)
        i = _middle(ranks, means)
        return Shift(
            midway(cuts.values, chosen[[i]]),
            float(gains[i]),
            float(means[i]),
            ranks,
            gains,
            means,
            window,
            self.evaluations,
            bool(gains.min() >= tied(float(gains.max()))),
        )

    def _measured(
        self, cuts: _Cuts, chosen: NDArray[np.int64], held: Floats
    ) -> tuple[NDArray[np.int64], Floats]:
        """Gains at the cut-offs chosen; at those that were measured where it ends early."""
        size = max(1, _AT_ONCE // max(len(self.scores), 1))
        # Whatever was measured first is spread over all of them.
        order = np.argsort([_reversed_bits(i) for i in range(len(chosen))], kind="stable")
        gains = np.full(len(chosen), np.nan)
        done = np.zeros(len(chosen), np.bool_)
        for start in range(0, len(chosen), size):
            part = order[start : start + size]
            F = np.stack([margin(self.scores, float(t)) for t in midway(cuts.values, chosen[part])])
            if cuts.moving is not None:
                F = np.where(cuts.moving, F, held)
            try:
                gains[part] = self.measure(F)
            except (StoppedError, KeyboardInterrupt) as error:
                known = getattr(self.measure, "known", None)  # of the vectors before the end
                if known is not None:
                    gains[part] = known(F)
                    done[part] = ~np.isnan(gains[part])
                if self.limits is None or cuts.moving is not None or done.sum() < 2:
                    raise
                self.limits.stop(error)
                break
            done[part] = True
        self.evaluations += int(done.sum())
        return chosen[done], gains[done]

    def by_segment(self, found: Shift, segments: NDArray[np.int64], rounds: int) -> Shift:
        """From a common cut-off to one a segment."""
        thresholds = np.repeat(found.thresholds, int(segments.max()) + 1)
        cuts = [_Cuts.of(self.scores, self.weight, segments == s) for s in range(len(thresholds))]
        found = replace(found, thresholds=thresholds)
        with (self.limits or Limits()).keeping(found):
            for _ in range(rounds):
                before = found.thresholds.copy()
                for s, own in enumerate(cuts):
                    if not len(own.values):
                        continue
                    best = self.along(own, margin(self.scores, found.thresholds[segments]))
                    found = replace(found, constant=found.constant and best.constant)
                    now = int((own.values >= found.thresholds[s]).sum())
                    at = own.ranks[now : now + 1]
                    mean = smoothed_at(best.ranks, best.gains, best.window, at)[0]
                    if best.smoothed > mean + TIED * (1.0 + abs(mean)):
                        moved = found.thresholds.copy()
                        moved[s] = best.thresholds[0]
                        value, smoothed = best.value, best.smoothed
                        found = replace(found, thresholds=moved, value=value, smoothed=smoothed)
                if (found.thresholds == before).all():
                    break
        return replace(found, evaluations=self.evaluations)


def _reversed_bits(i: int) -> float:
    """The binary digits of i behind the point, the last one first."""
    out, digit = 0.0, 0.5
    while i:
        out, digit, i = out + digit * (i & 1), 0.5 * digit, i >> 1
    return out


def _middle(ranks: Floats, means: Floats) -> int:
    """The middle of the longest run of highest points."""
    top = np.flatnonzero(means >= tied(float(means.max())))
    runs = np.split(top, np.flatnonzero(np.diff(top) > 1) + 1)
    run = max(runs, key=lambda r: float(ranks[r[-1]] - ranks[r[0]]))
    middle = 0.5 * (ranks[run[0]] + ranks[run[-1]])
    return int(run[np.argmin(np.abs(ranks[run] - middle))])
