"""Algorithm 1: descent in the space of the surrogates, from several starts."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from setpoint.array_types import Floats
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.solvers.candidates import Best, Candidate, Step
from setpoint.surrogates.solvers.gradients import Estimator

__all__ = ["Descent"]


_FIRST, _LAST = 2.0, 0.5
"""The step's length at the beginning and the end, in those asked for."""

_STRIDES = 4
"""Doublings of the step by which a plateau is left."""


@dataclass
class _Path:
    start: str
    models: Floats
    best: Candidate
    sigma: float | None = None
    stuck: bool = False


@dataclass
class Descent:
    """The search; what it has found so far is there at any time."""

    sample: Sample
    metered: BudgetedMetric
    estimator: Estimator
    starts: dict[str, Floats]
    step: float
    max_iter: int
    inner: int
    reserve: int
    steps: list[Step] = field(default_factory=list)
    met: Best = field(default_factory=lambda: Best(0))
    _paths: list[_Path] = field(default_factory=list)
    _done: int = 0

    @property
    def best(self) -> Candidate | None:
        """What has the largest gain so far."""
        return max((p.best for p in self._paths), key=lambda f: f.gain, default=None)

    def run(self) -> None:
        """Search until steps or evaluations are used up."""
        try:
            self._begin()
            self.max_iter = int(min(self.max_iter, self._left() // (2 * self.estimator.m + 1)))
            alive = list(self._paths)
            while alive and self._done < self.max_iter:
                # As many rounds are to come as there are paths, the last for one alone.
                steps = (self.max_iter - self._done) // len(alive)
                for path in alive:
                    self._walk(path, max(steps // len(alive), 1))
                alive = sorted((p for p in alive if not p.stuck), key=lambda p: -p.best.gain)
                alive = alive[: max(len(alive) - 1, 1)]
        except BudgetSpentError:
            pass

    def _begin(self) -> None:
        for name, models in self.starts.items():
            gain = self.metered.gain(self.sample.scores(models))
            self.met.offer(Candidate(gain, models, name))
            self._paths.append(_Path(name, models, Candidate(gain, models, name)))

    def _walk(self, path: _Path, n_steps: int) -> None:
        for _ in range(n_steps):
            if self._done >= self.max_iter or path.stuck:
                return
            self._move(path)

    def _move(self, path: _Path) -> None:
        most = self._left()
        if 2 * self.estimator.m + 1 > most:
            raise BudgetSpentError("the budget is spent")
        slope = self.estimator(path.models, path.sigma, most - 1)
        path.sigma = slope.sigma
        norm = float(np.linalg.norm(slope.gradient))
        if norm > 0:
            done = self._done / max(self.max_iter - 1, 1)
            length = self.step * _FIRST * (_LAST / _FIRST) ** done
            self._go(path, length * slope.gradient / norm)
        else:
            self._leave(path)
        self._done += 1

    def _go(self, path: _Path, by: Floats) -> None:
        models, weights = self.sample.stepped(path.models, by, self.inner)
        gain = self.metered.gain(self.sample.scores(models))
        self._keep(path, models, gain, weights)

    def _leave(self, path: _Path) -> None:
        """Off a plateau: each surrogate alone, by growing steps, until the metric moves."""
        here = self.metered.gain(self.sample.scores(path.models))
        n_surrogates = len(self.sample.names)
        stride = self.step
        for _ in range(_STRIDES + 1):
            if n_surrogates > self._left():
                raise BudgetSpentError("the budget is spent")
            tried = [
                self.sample.stepped(path.models, stride * e, self.inner)
                for e in np.eye(n_surrogates)
            ]
            gains = self.metered(np.stack([self.sample.scores(m) for m, _ in tried]))
            k = int(np.argmax(gains))
            if (gains != here).any():
                self._keep(path, tried[k][0], float(gains[k]), tried[k][1])
                return
            stride *= 2.0
        path.stuck = True

    def _keep(self, path: _Path, models: Floats, gain: float, weights: Floats) -> None:
        path.models = models
        self.met.offer(Candidate(gain, models, path.start))
        if gain > path.best.gain:
            path.best = Candidate(gain, models, path.start)
        self.steps.append(Step(path.start, gain, self.metered.used, weights))
        best = self.best
        assert best is not None
        self.metered.record(best.gain)

    def _left(self) -> float:
        left = self.metered.left
        return float("inf") if left is None else left - self.reserve
