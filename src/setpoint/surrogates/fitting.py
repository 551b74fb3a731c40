"""From checked rows to models: folds, starts, the probe, the search, the last cut-off."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.blackbox.binding import FormulaMetric
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError, RowMetric
from setpoint.blackbox.smoothing import Shift, margin, smoothed_threshold
from setpoint.caller import warn_caller
from setpoint.surrogates.accepting import errors_wanted, gain_error
from setpoint.surrogates.losses import Own
from setpoint.surrogates.plan import COARSE, FEW, Plan
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.solvers.adaptive_surrogates import Descent, Step
from setpoint.surrogates.solvers.gradients import Differences, Estimator, fitted
from setpoint.surrogates.solvers.surrogate_weights import WeightSearch
from setpoint.typing import Floats

__all__ = ["NotMonotoneWarning", "Search", "Searched"]


_WIDE = 0.5
"""The probe's change of the scores, in their standard deviations."""

_ROWS_A_MODEL = 15
"""Rows of the metric for each model of a search over weights: more would fit the sample."""


class NotMonotoneWarning(UserWarning):
    """A metric gets better as a surrogate gets worse."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What a fit found.

    Parameters
    ----------
    models : array of shape (folds, d + 1)
        The ones to keep: accepted ones, or the baseline's.
    scores : array of shape (n,)
        Theirs on the metric's rows.
    value, baseline_value, best_value : float
        In the user's units, on the metric's rows.
    error : float or None
        Bootstrap standard error of the gain; None where there was none to judge.
    draws : array of shape (draws,)
        Values of the models kept on drawn rows.
    start : str
        Where the best path began.
    cuts : bool
        Whether the metric depends on the cut-off.
    """

    models: Floats
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


class Search:
    """One fit on prepared samples; its steps are there as soon as they are made.

    Parameters
    ----------
    first : array of shape (folds, d + 1)
        Logistic regressions, or the last layers of trained networks.
    limits : Limits
        Of `metered`; each step is recorded.
    """

    def __init__(
        self,
        sample: Sample,
        metered: BudgetedMetric,
        plan: Plan,
        first: Floats,
        rng: np.random.Generator,
    ) -> None:
        self.sample, self.metered, self.plan = sample, metered, plan
        self.first, self.rng, self.limits = first, rng, metered.limits
        self.steps: Sequence[Step] = ()

    @property
    def metric(self) -> RowMetric:
        """The metric, without its budget."""
        return self.metered.metric

    def run(self) -> Searched:
        """Probe, baseline, search, last cut-off, and whether all that is taken.

        Raises
        ------
        ValueError
            If the metric is constant.
        """
        self._check_own()
        monotone = self._probe()
        shift = self._shifted(self.first)
        baseline = self.first if shift.constant else self._moved(self.first, shift)
        base_scores = self.sample.scores(baseline)
        base_gain = float(self.metered(base_scores[None])[0])
        found = self._searched(baseline, monotone)
        best, gain, start = baseline, base_gain, "post-shift"
        if found is not None and found.gain > gain:
            best, gain, start = found.models, found.gain, found.start
            best, gain = self._last_cut(best, gain, shift.constant)
        return self._judged(baseline, base_scores, base_gain, best, gain, start, shift.constant)

    # ------------------------------------------------------------------ before
    def _check_own(self) -> None:
        """The user's own surrogates, before the metric is asked anything."""
        fold = self.sample.folds[-1]
        scores = fold.train.scores(self.first[-1])
        for term in fold.losses.terms:
            if isinstance(term, Own):
                term.check(scores, np.random.default_rng(0))

    def _probe(self) -> bool:
        """Whether the metric falls as surrogates rise; an error if it never moves."""
        f = self.sample.scores(self.first)
        ranks = np.linspace(0.0, 1.0, COARSE)
        cuts = np.quantile(f, ranks, method="inverted_cdf")
        gains = self.metered(np.stack([margin(f, t) for t in cuts]))
        weights = self.plan.search == "weights"
        found = self._differences(_WIDE, FEW if weights else self.plan.m)
        if np.ptp(gains) == 0.0 and found.moved == 0.0:
            self._constant(float(gains[0]))
        if weights:
            return True
        wrong, all_wrong = _non_monotone(found)
        if not wrong:
            return True
        names = [self.sample.names[k] for k in wrong]
        turned = "; check greater_is_better" if all_wrong else ""
        warn_caller(
            f"{self.metric.name} is not monotone in the surrogates: it gets better as "
            f"{', '.join(names)} get{'' if len(names) > 1 else 's'} worse{turned}. Gradients are "
            "fitted without that assumption",
            NotMonotoneWarning,
        )
        return False

    def _differences(self, sigma: float, m: int) -> Differences:
        estimator = Estimator(self.sample, self.metered, "interpolation", m, self.rng)
        return estimator.differences(self.first, sigma)

    def _constant(self, gain: float) -> None:
        raise ValueError(
            f"{self.metric.name} is {self.metric.sense * gain:.6g} for all of {self.metered.used} "
            "different decisions: there is nothing to optimise. Check that it looks at what it is "
            "given"
        )

    # ------------------------------------------------------------------ the search
    def _searched(self, baseline: Floats, monotone: bool) -> Any:
        plan = self.plan
        known = {
            "post-shift": baseline,
            "logistic": self.first,
            "zero": np.zeros_like(self.first),
        }
        search: Descent | WeightSearch
        if plan.search == "weights":
            most = max(self.metric.n_rows // _ROWS_A_MODEL, 3)
            first = plan.starts[0]
            search = WeightSearch(
                self.sample, self.metered, first, known[first], most, 10 * plan.inner_iter,
                plan.reserve,
            )  # fmt: skip
        else:
            slope = Estimator(
                self.sample, self.metered, plan.gradient, plan.m, self.rng, plan.sigma, monotone
            )
            starts = {name: known[name] for name in plan.starts}
            search = Descent(
                self.sample, self.metered, slope, starts, plan.step, plan.max_iter,
                plan.inner_iter, plan.reserve,
            )  # fmt: skip
        self.steps = search.steps
        with self.limits.keeping(True):  # the baseline, at least
            search.run()
        return search.best

    # ------------------------------------------------------------------ after
    def _shifted(self, models: Floats) -> Shift:
        """The smoothed cut-off; a goal with a formula costs no evaluations for it."""
        f, metric = self.sample.scores(models), self.metric
        sweep = None
        if isinstance(metric, FormulaMetric):

            def sweep(scores: Floats, moving: NDArray[np.bool_] | None) -> Floats:
                return metric.sense * metric.sweep(scores, moving)

        return smoothed_threshold(
            self.metered, f, metric.weight, smooth=self.plan.smooth, most=self.plan.cutoffs,
            sweep=sweep,
        )  # fmt: skip

    def _moved(self, models: Floats, shift: Shift) -> Floats:
        """Models whose scores are at least 0 where the cut-off was reached."""
        cut = float(shift.thresholds[0])
        if np.isinf(cut):  # everybody or nobody, by a cut-off beyond all scores
            f = self.sample.scores(models)
            cut = float(f[0] - margin(f, cut)[0])
        out = models.copy()
        out[:, -1] -= cut
        return out

    def _last_cut(self, models: Floats, gain: float, constant: bool) -> tuple[Floats, float]:
        """The models with the smoothed cut-off, where that does not lose on the sample."""
        if constant or self.limits.stopped:
            return models, gain
        moved, after = models, gain
        with self.limits.keeping(True), suppress(BudgetSpentError):
            moved = self._moved(models, self._shifted(models))
            after = float(self.metered(self.sample.scores(moved)[None])[0])
        return (moved, after) if after > gain else (models, gain)

    def _check_refit(self, models: Floats, base_gain: float) -> str:
        """Why the model of all rows is not to be kept, if it went elsewhere than the judged ones.

        What folds find is not convex: each may end on another side of a valley.
        """
        own = self.sample.own_scores(models)
        if own is None:
            return ""
        gain = float(self.metered(own[None])[0])
        if gain >= base_gain:
            return ""
        return (
            f"the model of all rows reaches {self.metric.sense * gain:.4g} even on rows that it "
            "was trained on, so it is not the one that the folds' models speak for"
        )

    def _error(self, pair: Floats) -> tuple[float | None, Floats]:
        """The standard error of the gain, if there is the patience for it."""
        error: float | None = None
        values = np.empty((0, 2))
        with self.limits.keeping(True):
            error, values = gain_error(self.metered, pair, self.plan.draws, self.rng)
        return error, values

    def _judged(
        self,
        baseline: Floats,
        base_scores: Floats,
        base_gain: float,
        best: Floats,
        gain: float,
        start: str,
        constant: bool,
    ) -> Searched:
        sense = self.metric.sense
        scores = self.sample.scores(best)
        error, values, astray = None, np.empty((0, 2)), ""
        if gain > base_gain and not self.limits.stopped:
            astray = self._check_refit(best, base_gain)
            if not astray:
                error, values = self._error(np.stack([scores, base_scores]))
        if not gain > base_gain:
            accepted, why = False, "nothing better than the baseline was found"
        elif astray:
            accepted, why = False, astray
        elif error is None:
            accepted = True
            why = f"{self.limits.stopped}, so its best is taken without the gain being judged"
        else:
            wanted = errors_wanted(len(self.sample.names))
            accepted = gain - base_gain > wanted * error
            why = (
                f"the gain of {gain - base_gain:.4g} is {'more' if accepted else 'not more'} than "
                f"{_errors(wanted)}, {wanted * error:.4g}"
            )
        draws = values[:, 0 if accepted else 1]
        return Searched(
            best if accepted else baseline,
            scores if accepted else base_scores,
            sense * (gain if accepted else base_gain),
            sense * base_gain,
            sense * gain,
            accepted,
            why,
            error,
            draws,
            start,
            not constant,
        )


def _errors(wanted: float) -> str:
    return (
        "one bootstrap standard error" if wanted == 1 else f"{wanted:.3g} bootstrap standard errors"
    )


def _non_monotone(found: Differences) -> tuple[list[int], bool]:
    """Surrogates that the metric's loss falls with, beyond three standard errors.

    And whether none that matters goes the other way.
    """
    h, d = found.surrogates, found.losses
    n, k = h.shape
    if n <= k or np.linalg.matrix_rank(h) < k:
        return [], False
    g = fitted(found, monotone=False)
    residual = d - h @ g
    variance = residual @ residual / (n - k)
    error = np.sqrt(variance * np.diag(np.linalg.inv(h.T @ h)))
    large = np.abs(g) > 0.2 * np.abs(g).max()
    wrong = np.flatnonzero((g < -3.0 * error) & large)
    return wrong.tolist(), bool((g[large] < 0).all())
