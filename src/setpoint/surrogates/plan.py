"""How to search, and what the budget is spent on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from setpoint.errors import InputError
from setpoint.solvers import AdaptiveSurrogates, SearchLimits, SurrogateWeights
from setpoint.surrogates.parameters import LIMITS, STARTS

__all__ = ["COARSE", "FEW", "Plan"]

COARSE = 10
"""Cut-offs of the probe."""

FEW = 2
"""Perturbations of the probe where no gradients are needed."""

_DRAWS = 50


@dataclass(frozen=True)
class Plan:
    """How to search: the options of the estimator, settled."""

    solver: AdaptiveSurrogates | SurrogateWeights
    m: int
    budget: int

    @classmethod
    def of(cls, solver: Any, limits: SearchLimits, n_surrogates: int) -> Plan:
        """The plan for parameters that were checked."""
        m = getattr(solver, "n_perturbations", "auto")
        m = max(10, 3 * n_surrogates) if m == "auto" else int(m)
        budget = limits.filled(LIMITS).evaluations
        assert budget is not None
        plan = cls(solver, m, int(budget))
        least = plan
        while least.budget < least.least:  # what is kept for afterwards grows with the budget
            least = replace(least, budget=least.least)
        if least is not plan:
            one = f"one gradient of {2 * m} evaluations"
            what = "models" if plan.over_weights else one
            raise InputError(
                f"`evaluations={plan.budget}` are too few: {what}, the cut-off of the "
                f"baseline and what a gain is compared with need {least.budget}"
            )
        return plan

    @property
    def smooth(self) -> Any:
        """Cut-offs over which the metric is averaged."""
        return self.solver.smooth

    @property
    def over_weights(self) -> bool:
        """Whether each evaluation trains a model, and there are no gradients."""
        return isinstance(self.solver, SurrogateWeights)

    @property
    def starts(self) -> tuple[str, ...]:
        """Where paths begin, the first one first."""
        return STARTS if self.solver.start == "auto" else (self.solver.start,)

    @property
    def cutoffs(self) -> int:
        """Cut-offs that may be measured on one model's scores."""
        return max(5, self.budget // 10)

    @property
    def draws(self) -> int:
        """Draws of rows by which a gain is judged."""
        return min(_DRAWS, max(10, self.budget // 20))

    @property
    def reserve(self) -> int:
        """Evaluations kept for the last cut-off and for judging the gain."""
        return self.cutoffs + 2 + 2 * self.draws

    @property
    def probe(self) -> int:
        """Evaluations of the probe."""
        return COARSE + 2 * (FEW if self.over_weights else self.m)

    @property
    def least(self) -> int:
        """Evaluations without which nothing can be found."""
        one = 3 if self.over_weights else 2 * self.m + 1
        return self.probe + self.cutoffs + len(self.starts) + one + self.reserve
