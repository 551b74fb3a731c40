"""Estimates of how a metric changes with the surrogates (Algorithms 2 and 3, section 5.3).

All measure the metric at pairs of points on either side of the present one, and fit the
differences by least squares in the differences of the surrogates. An average of products
instead needs ten times the evaluations for the same error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from setpoint.array_types import Floats
from setpoint.blackbox.budget import BudgetedMetric
from setpoint.surrogates.losses import Pointwise
from setpoint.surrogates.problem import Sample

__all__ = ["ESTIMATES", "Differences", "Estimator", "Slope", "fitted"]


_ENOUGH = 0.9
"""Share of the differences that shall not be zero."""

_DOUBLINGS = 8
_FIRST = 0.1
"""The first change of the scores, in their standard deviations."""

_FIRST_LOSS = 0.05
"""The first change of the surrogates, where it is they that are perturbed."""


@dataclass(frozen=True)
class Differences:
    """What pairs of perturbations show."""

    surrogates: Floats
    losses: Floats

    @property
    def moved(self) -> float:
        """The share of pairs between which the metric differs."""
        return float((self.losses != 0.0).mean())


@dataclass(frozen=True)
class Slope:
    """The metric's loss by the surrogates."""

    gradient: Floats
    sigma: float
    differences: Differences


def fitted(differences: Differences, monotone: bool) -> Floats:
    """The gradient (K,) by least squares; without negative entries where `monotone`.

    Examples
    --------
    >>> fitted(Differences(np.eye(2), np.array([0.5, -0.1])), monotone=True)
    array([0.5, 0. ])
    """
    h, d = differences.surrogates, differences.losses
    unit = float(np.abs(d).max())  # of the metric, which may be cents or billions
    if unit == 0.0:
        return np.zeros(h.shape[1])
    found = nnls(h, d / unit)[0] if monotone else np.linalg.lstsq(h, d / unit, rcond=None)[0]
    return np.asarray(found * unit)


ESTIMATES = {"interpolation": _FIRST, "finite-difference": _FIRST_LOSS, "two-step": _FIRST_LOSS}
"""The estimates by name, each with its first sigma."""


@dataclass
class Estimator:
    """Gradients with a size of perturbation that finds its own way."""

    sample: Sample
    metered: BudgetedMetric
    method: str
    m: int
    rng: np.random.Generator
    sigma: float | None = None
    monotone: bool = True

    def __call__(self, models: Floats, last: float | None, most: float) -> Slope:
        """The gradient at some models."""
        first = ESTIMATES[self.method]
        largest = first * 2.0**_DOUBLINGS
        sigma = self.sigma or max(first, (last or 0.0) / 2.0)
        before, found = self.metered.used, []
        while True:
            found.append(self.differences(models, sigma))
            spent = self.metered.used - before
            enough = found[-1].moved >= _ENOUGH or self.sigma is not None
            if enough or spent + 2 * self.m > most or sigma >= largest:
                break
            sigma *= 2.0
        last_one = max(found, key=lambda d: d.moved)
        return Slope(fitted(last_one, self.monotone), sigma, last_one)

    def differences(self, models: Floats, sigma: float) -> Differences:
        """What m antithetic pairs of perturbations show, by the method."""
        if self.method == "interpolation":
            return self._interpolation(models, sigma)
        shape = (self.m, len(self.sample.names))
        around = np.zeros(shape)
        if self.method == "two-step":
            # Section 5.3, around points that are perturbed themselves: the gradient of the metric
            # smoothed by a normal distribution, which exists where the metric has kinks.
            around = 2.0 * sigma * self.rng.normal(size=shape)
        return self._between(models, around, sigma * self.rng.normal(size=shape))

    def _interpolation(self, models: Floats, sigma: float) -> Differences:
        """Algorithm 3: the parameters are perturbed, all folds' alike."""
        sample = self.sample
        spread = sample.scores(models).std()
        # From a change of scores, in their deviations, to one of parameters; alike for all.
        size = sigma * (spread if spread > 0 else 1.0) / sample.length
        z = size * self.rng.normal(size=(self.m, sample.n_parameters))
        up, down = models[:, None, :] + z, models[:, None, :] - z
        surrogates = sample.values(up) - sample.values(down)
        gains = self.metered(np.concatenate([sample.scores(up), sample.scores(down)]))
        return Differences(surrogates, gains[self.m :] - gains[: self.m])

    def _between(self, models: Floats, around: Floats, z: Floats) -> Differences:
        """Algorithm 2: the surrogates are perturbed, through the scores."""
        assert self.sample.on_metric is not None
        (term,) = self.sample.on_metric.terms
        assert isinstance(term, Pointwise)
        f = self.sample.scores(models)
        u = term.values(f[None])[0]
        room = 0.9 * (np.minimum(u, 1.0 - u) if term.kind == "sigmoid" else u)
        centre = np.clip(around, -room / 2.0, room / 2.0)
        z = np.clip(z, -room / 2.0, room / 2.0)
        targets = u + np.concatenate([centre + z, centre - z])
        # Groups do not overlap here, so each row's score moves with that of its own group.
        shifts = term.shifts(f, targets) @ (term.shares > 0)
        gains = self.metered(f + term.sign * shifts)
        return Differences(2.0 * z, gains[self.m :] - gains[: self.m])
