"""One model for each weighting of the surrogates, Nelder and Mead's way."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.optimize import minimize

from setpoint.array_types import Floats
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError
from setpoint.surrogates.problem import Sample
from setpoint.surrogates.solvers.candidates import Best, Candidate, Step

__all__ = ["WeightSearch"]


_FIRST = 1.0
"""The first simplex: each weight in turn times e."""


@dataclass
class WeightSearch:
    """Search over the logarithms of the surrogates' weights; the metric is asked once a model."""

    sample: Sample
    metered: BudgetedMetric
    start: str
    models: Floats
    most: int
    inner: int
    reserve: int
    steps: list[Step] = field(default_factory=list)
    best: Candidate | None = None
    met: Best = field(default_factory=lambda: Best(0))

    def run(self) -> None:
        """Search until the models or evaluations are used up."""
        try:
            gain = self.metered.gain(self.sample.scores(self.models))
            self.best = Candidate(gain, self.models, self.start)
            self.met.offer(self.best)
            k = len(self.sample.names)
            if k == 1:  # one model, and nothing to weigh
                self._loss(np.empty(0))
                return
            simplex = np.zeros((k, k - 1))
            simplex[1:] = _FIRST * np.eye(k - 1)
            options: Any = {
                "maxfev": self.most,
                "initial_simplex": simplex,
                "xatol": 1e-3,
                "fatol": 1e-6,
            }
            minimize(self._loss, simplex[0], method="Nelder-Mead", options=options)
        except BudgetSpentError:
            pass

    def _loss(self, logs: Floats) -> float:
        left = self.metered.left
        if left is not None and left <= self.reserve:
            raise BudgetSpentError("the budget is spent")
        weights = np.exp(np.append(logs, 0.0) - max(logs.max(initial=0.0), 0.0))
        weights /= weights.sum()
        found = self.sample.weighed(self.models, weights, self.inner)
        gain = self.metered.gain(self.sample.scores(found))
        self.met.offer(Candidate(gain, found, self.start))
        if self.best is None or gain > self.best.gain:
            self.best = Candidate(gain, found, self.start)
        self.steps.append(Step(self.start, gain, self.metered.used, weights))
        self.metered.record(self.best.gain)
        return -gain
