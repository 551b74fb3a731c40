"""The searches: along the metric's gradient, and over the surrogates' weights."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize, nnls

from setpoint.array_types import Floats
from setpoint.blackbox import BudgetedMetric, BudgetSpentError
from setpoint.surrogates.losses import Pointwise
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.summary import AdaptiveStep

# --- What both searches find: the moves that they made, and the best models -----------------------


@dataclass(frozen=True)
class KeptModels:
    """Models (folds, d + 1) that may be kept, their gain, and where their path began."""

    gain: float
    models: Floats
    start: str


@dataclass
class BestCandidates:
    """The candidates with the largest gains, of all that were met."""

    most: int
    found: list[KeptModels] = field(default_factory=list)

    def offer(self, candidate: KeptModels) -> None:
        """Keep it, if it is one of the best; of equals the earlier."""
        self.found = sorted([*self.found, candidate], key=lambda c: -c.gain)[: self.most]


@dataclass
class SurrogateSearch:
    """What both searches do: models are judged by the metric, and what was found is there."""

    sample: Sample
    metered: BudgetedMetric
    inner: int
    reserve: int
    steps: list[AdaptiveStep] = field(default_factory=list, kw_only=True)
    met: BestCandidates = field(default_factory=lambda: BestCandidates(0), kw_only=True)

    @property
    def best(self) -> KeptModels | None:
        """What has the largest gain so far."""
        raise NotImplementedError

    def run(self) -> None:
        """Search until steps, models or evaluations are used up."""
        with suppress(BudgetSpentError):
            self._run()

    def _run(self) -> None:
        raise NotImplementedError

    def _judged(self, models: Floats, start: str, gain: float | None = None) -> KeptModels:
        """Models that may be kept, their gain asked of the metric where it is not known yet."""
        if gain is None:
            gain = self.metered.gain(self.sample.scores(models))
        found = KeptModels(gain, models, start)
        self.met.offer(found)
        return found

    def _note(self, found: KeptModels, weights: Floats) -> None:
        value = self.metered.metric.sense * found.gain
        shares = tuple(weights.tolist())
        self.steps.append(AdaptiveStep(found.start, self.metered.used, value, shares))
        assert self.best is not None
        self.metered.record(self.best.gain)

    @property
    def _left(self) -> float:
        left = self.metered.left
        return float("inf") if left is None else left - self.reserve

    def _need(self, evaluations: int) -> None:
        if evaluations > self._left:
            raise BudgetSpentError("the budget is spent")


# --- How a metric changes with the surrogates (Algorithms 2 and 3) --------------------------------


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

    def __call__(self, models: Floats, last: float | None, most: float) -> tuple[Floats, float]:
        """The gradient (K,) of the metric's loss at some models, and the sigma it is from."""
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
        return fitted(max(found, key=lambda d: d.moved), self.monotone), sigma

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


# --- Algorithm 1: descent in the space of the surrogates, from several starts ---------------------


_LONGEST, _SHORTEST = 2.0, 0.5
"""The step's length at the beginning and the end, in those asked for."""

_STRIDES = 4
"""Doublings of the step by which a plateau is left."""


@dataclass
class _Path:
    now: KeptModels
    best: KeptModels
    sigma: float | None = None
    stuck: bool = False


@dataclass
class Descent(SurrogateSearch):
    """Along gradients, from several starts."""

    estimator: Estimator
    starts: dict[str, Floats]
    step: float
    max_iter: int
    _paths: list[_Path] = field(default_factory=list)
    _done: int = 0

    @property
    def best(self) -> KeptModels | None:
        """What has the largest gain so far."""
        return max((p.best for p in self._paths), key=lambda f: f.gain, default=None)

    def _run(self) -> None:
        for name, models in self.starts.items():
            found = self._judged(models, name)
            self._paths.append(_Path(found, found))
        self.max_iter = int(min(self.max_iter, self._left // (2 * self.estimator.m + 1)))
        alive = list(self._paths)
        while alive and self._done < self.max_iter:
            # As many rounds are to come as there are paths, the last for one alone.
            steps = max((self.max_iter - self._done) // len(alive) // len(alive), 1)
            for path in alive:
                for _ in range(steps):
                    if self._done < self.max_iter and not path.stuck:
                        self._move(path)
            alive = sorted((p for p in alive if not p.stuck), key=lambda p: -p.best.gain)
            alive = alive[: max(len(alive) - 1, 1)]

    def _move(self, path: _Path) -> None:
        self._need(2 * self.estimator.m + 1)
        gradient, path.sigma = self.estimator(path.now.models, path.sigma, self._left - 1)
        norm = float(np.linalg.norm(gradient))
        if norm > 0:
            done = self._done / max(self.max_iter - 1, 1)
            length = self.step * _LONGEST * (_SHORTEST / _LONGEST) ** done
            by = length * gradient / norm
            self._keep(path, *self.sample.stepped(path.now.models, by, self.inner))
        else:
            self._leave(path)
        self._done += 1

    def _leave(self, path: _Path) -> None:
        """Off a plateau: each surrogate alone, by growing steps, until the metric moves."""
        here = self.metered.gain(self.sample.scores(path.now.models))
        n_surrogates = len(self.sample.names)
        stride = self.step
        for _ in range(_STRIDES + 1):
            self._need(n_surrogates)
            axes = stride * np.eye(n_surrogates)
            tried = [self.sample.stepped(path.now.models, by, self.inner) for by in axes]
            gains = self.metered(np.stack([self.sample.scores(m) for m, _ in tried]))
            k = int(np.argmax(gains))
            if (gains != here).any():
                self._keep(path, *tried[k], float(gains[k]))
                return
            stride *= 2.0
        path.stuck = True

    def _keep(
        self, path: _Path, models: Floats, weights: Floats, gain: float | None = None
    ) -> None:
        path.now = self._judged(models, path.now.start, gain)
        if path.now.gain > path.best.gain:
            path.best = path.now
        self._note(path.now, weights)


# --- One model for each weighting of the surrogates, Nelder and Mead's way ------------------------


_FIRST_WEIGHT = 1.0
"""The first simplex: each weight in turn times e."""


@dataclass
class WeightSearch(SurrogateSearch):
    """Over the logarithms of the surrogates' weights; the metric is asked once a model."""

    start: str
    models: Floats
    most: int
    best: KeptModels | None = None
    """What has the largest gain so far, the first of equals."""

    def _run(self) -> None:
        self.best = self._judged(self.models, self.start)
        k = len(self.sample.names)
        if k == 1:  # one model, and nothing to weigh
            self._loss(np.empty(0))
            return
        simplex = np.zeros((k, k - 1))
        simplex[1:] = _FIRST_WEIGHT * np.eye(k - 1)
        options: Any = {"maxfev": self.most, "initial_simplex": simplex}
        options |= {"xatol": 1e-3, "fatol": 1e-6}
        minimize(self._loss, simplex[0], method="Nelder-Mead", options=options)

    def _loss(self, logs: Floats) -> float:
        self._need(1)
        weights = np.exp(np.append(logs, 0.0) - max(logs.max(initial=0.0), 0.0))
        weights /= weights.sum()
        found = self._judged(self.sample.weighed(self.models, weights, self.inner), self.start)
        if self.best is None or found.gain > self.best.gain:
            self.best = found
        self._note(found, weights)
        return -found.gain
