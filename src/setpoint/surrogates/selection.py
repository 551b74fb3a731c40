"""From candidates to the model that is kept: its cut-off, and whether its gain is believed."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.blackbox.binding import FormulaMetric
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError, RowMetric
from setpoint.blackbox.smoothing import Shift, margin, smoothed_threshold
from setpoint.goals.errors import EmptyPopulationError
from setpoint.surrogates.plan import Plan
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.solvers.candidates import Candidate

__all__ = ["Selected", "Selector", "drawn_rows", "errors_wanted", "gain_error"]


_TRIES = 10


def errors_wanted(n_surrogates: int) -> float:
    """The standard errors that a gain has to exceed: one for two surrogates.

    Examples
    --------
    >>> errors_wanted(2), round(errors_wanted(10), 2)
    (1.0, 2.24)
    """
    return float(np.sqrt(max(n_surrogates, 2) / 2.0))


def drawn_rows(metric: RowMetric, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rows drawn with replacement, as many of each class as there are."""
    sides = [np.flatnonzero(metric.true == side) for side in (0, 1)]
    for _ in range(_TRIES):
        rows = np.concatenate([rng.choice(side, len(side)) for side in sides])
        try:
            metric.take(rows)
        except EmptyPopulationError:
            continue
        break
    return rows


def gain_error(
    metered: BudgetedMetric, scores: Floats, n_draws: int, rng: np.random.Generator
) -> tuple[float, Floats]:
    """The bootstrap standard error of a gain, and the values that it comes from."""
    draws = [drawn_rows(metered.metric, rng) for _ in range(n_draws)]
    values = metered.drawn(draws, scores)
    found = values[~np.isnan(values).any(axis=1)]
    if len(found) < 2:
        return float("inf"), found
    return float(np.std(found[:, 0] - found[:, 1], ddof=1)), found


@dataclass(frozen=True, eq=False)
class Selected:
    """The models that are kept, and what they are compared with."""

    models: Floats
    baseline: Floats
    scores: Floats
    value: float
    baseline_value: float
    best_value: float
    accepted: bool
    why: str
    error: float | None
    draws: Floats
    start: str
    cuts: bool


@dataclass(frozen=True, eq=False)
class Selector:
    """The end of a search, on the same samples and the same budget."""

    sample: Sample
    metered: BudgetedMetric
    plan: Plan
    rng: np.random.Generator

    def shifted(self, models: Floats) -> Shift:
        """The smoothed cut-off; a goal with a formula costs no evaluations for it."""
        f, metric = self.sample.scores(models), self.metered.metric
        sweep = None
        if isinstance(metric, FormulaMetric):

            def sweep(scores: Floats, moving: NDArray[np.bool_] | None) -> Floats:
                return metric.sense * metric.sweep(scores, moving)

        return smoothed_threshold(
            self.metered, f, metric.weight, smooth=self.plan.smooth, most=self.plan.cutoffs,
            sweep=sweep,
        )  # fmt: skip

    def moved(self, models: Floats, shift: Shift) -> Floats:
        """Models whose scores are at least 0 where the cut-off was reached."""
        cut = float(shift.thresholds[0])
        if np.isinf(cut):  # everybody or nobody, by a cut-off beyond all scores
            f = self.sample.scores(models)
            cut = float(f[0] - margin(f, cut)[0])
        out = models.copy()
        out[:, -1] -= cut
        return out

    def last_cut(self, found: Candidate) -> Candidate:
        """The models with the smoothed cut-off, where that does not lose on the sample."""
        limits = self.metered.limits
        if limits.stopped:
            return found
        moved, after = found.models, found.gain
        with limits.keeping(True), suppress(BudgetSpentError):
            moved = self.moved(found.models, self.shifted(found.models))
            after = self.metered.gain(self.sample.scores(moved))
        return Candidate(after, moved, found.start) if after > found.gain else found

    def selected(self, baseline: Candidate, best: Candidate, *, cuts: bool) -> Selected:
        """The best models where their gain is beyond its standard errors, else the baseline."""
        sense, limits = self.metered.metric.sense, self.metered.limits
        gain = best.gain - baseline.gain
        pair = np.stack([self.sample.scores(c.models) for c in (best, baseline)])
        error, values, astray = None, np.empty((0, 2)), ""
        if gain > 0 and not limits.stopped:
            astray = self._check_refit(best.models, baseline.gain)
            if not astray:
                with limits.keeping(True):  # unjudged, at least
                    error, values = gain_error(self.metered, pair, self.plan.draws, self.rng)
        if not gain > 0:
            accepted, why = False, "nothing better than the baseline was found"
        elif astray:
            accepted, why = False, astray
        elif error is None:
            accepted = True
            why = f"{limits.stopped}, so its best is taken without the gain being judged"
        else:
            wanted = errors_wanted(len(self.sample.names))
            accepted = gain > wanted * error
            why = (
                f"the gain of {gain:.4g} is {'more' if accepted else 'not more'} than "
                f"{_errors(wanted)}, {wanted * error:.4g}"
            )
        kept, row = (best, 0) if accepted else (baseline, 1)
        return Selected(
            kept.models, baseline.models, pair[row], sense * kept.gain, sense * baseline.gain,
            sense * best.gain, accepted, why, error, values[:, row], best.start, cuts,
        )  # fmt: skip

    def _check_refit(self, models: Floats, base_gain: float) -> str:
        """Why the model of all rows is not to be kept, if it differs from the judged ones."""
        own = self.sample.own_scores(models)
        if own is None:
            return ""
        gain = self.metered.gain(own)
        if gain >= base_gain:
            return ""
        return (
            f"the model of all rows reaches {self.metered.metric.sense * gain:.4g} even on rows "
            "that it was trained on, so it is not the one that the folds' models speak for"
        )


def _errors(wanted: float) -> str:
    return (
        "one bootstrap standard error" if wanted == 1 else f"{wanted:.3g} bootstrap standard errors"
    )
