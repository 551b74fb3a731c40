"""One fit on prepared samples: the probe, the baseline, the search, and what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.array_types import Floats
from setpoint.blackbox.budget import BudgetedMetric, RowMetric
from setpoint.blackbox.smoothing import margin
from setpoint.caller import warn_caller
from setpoint.errors import InputError
from setpoint.solvers import AdaptiveSurrogates
from setpoint.surrogates.losses import Own
from setpoint.surrogates.plan import COARSE, FEW, Plan
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.selection import Selected, Selector
from setpoint.surrogates.solvers.adaptive_surrogates import Descent
from setpoint.surrogates.solvers.candidates import Best, Candidate, Step
from setpoint.surrogates.solvers.gradients import Differences, Estimator, fitted
from setpoint.surrogates.solvers.surrogate_weights import WeightSearch

__all__ = ["NotMonotoneWarning", "Search"]


_WIDE = 0.5
"""The probe's change of the scores, in their standard deviations."""

_ROWS_A_MODEL = 15
"""Rows of the metric for each model of a search over weights: more would fit the sample."""

_ITERATIONS = 10
"""Of the training of such a model, in those of a projection."""


class NotMonotoneWarning(UserWarning):
    """A metric gets better as a surrogate gets worse."""


class Search:
    """One fit on prepared samples; its steps are there as soon as they are made."""

    def __init__(
        self,
        sample: Sample,
        metered: BudgetedMetric,
        plan: Plan,
        first: Floats,
        rng: np.random.Generator,
        most: int = 0,
    ) -> None:
        self.sample, self.metered, self.plan = sample, metered, plan
        self.met = Best(most)
        self.first, self.rng = first, rng
        self.steps: Sequence[Step] = ()

    @property
    def metric(self) -> RowMetric:
        """The metric, without its budget."""
        return self.metered.metric

    def run(self) -> Selected:
        """Probe, baseline, search, last cut-off, and whether all that is taken."""
        self._check_own()
        monotone = self._probe()
        selector = Selector(self.sample, self.metered, self.plan, self.rng)
        shift = selector.shifted(self.first)
        models = self.first if shift.constant else selector.moved(self.first, shift)
        baseline = Candidate(self.metered.gain(self.sample.scores(models)), models, "post-shift")
        best = self._searched(baseline.models, monotone)
        if best is None or not best.gain > baseline.gain:
            best = baseline
        elif not shift.constant:
            best = selector.last_cut(best)
        return selector.selected(baseline, best, cuts=not shift.constant)

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
        weights = self.plan.over_weights
        found = self._differences(_WIDE, FEW if weights else self.plan.m)
        if np.ptp(gains) == 0.0 and found.moved == 0.0:
            self._constant(float(gains[0]))
        if weights:
            return True
        wrong, all_wrong = _non_monotone(found)
        if not wrong:
            return True
        names = [self.sample.names[k] for k in wrong]
        turned = "; check `greater_is_better`" if all_wrong else ""
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
        raise InputError(
            f"{self.metric.name} is {self.metric.sense * gain:.6g} for all of {self.metered.used} "
            "different decisions: there is nothing to optimise. Check that it looks at what it is "
            "given"
        )

    # ------------------------------------------------------------------ the search
    def _searched(self, baseline: Floats, monotone: bool) -> Candidate | None:
        plan, solver, sample, metered = self.plan, self.plan.solver, self.sample, self.metered
        known = {"post-shift": baseline, "logistic": self.first, "zero": np.zeros_like(self.first)}
        search: Descent | WeightSearch
        if isinstance(solver, AdaptiveSurrogates):
            sigma = None if solver.sigma == "auto" else float(solver.sigma)
            slope = Estimator(sample, metered, solver.gradient, plan.m, self.rng, sigma, monotone)
            starts = {name: known[name] for name in plan.starts}
            search = Descent(
                sample, metered, slope, starts, float(solver.step), int(solver.max_iter),
                int(solver.inner_iter), plan.reserve, met=self.met,
            )  # fmt: skip
        else:
            most = max(self.metric.n_rows // _ROWS_A_MODEL, 3)
            first, inner = plan.starts[0], _ITERATIONS * int(solver.inner_iter)
            search = WeightSearch(
                sample, metered, first, known[first], most, inner, plan.reserve, met=self.met
            )
        self.steps = search.steps
        with self.metered.limits.keeping(True):  # the baseline, at least
            search.run()
        return search.best


def _non_monotone(found: Differences) -> tuple[list[int], bool]:
    """Surrogates that the metric's loss falls with, beyond three standard errors."""
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
