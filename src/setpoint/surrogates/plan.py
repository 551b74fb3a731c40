"""How to search, and what the budget is spent on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from setpoint.solvers import AdaptiveSurrogates, Solver, SurrogateWeights
from setpoint.surrogates.parameters import STARTS

__all__ = ["COARSE", "FEW", "Plan"]

COARSE = 10
"""Cut-offs of the probe."""

FEW = 2
"""Perturbations of the probe where no gradients are needed."""

_DRAWS = 50


@dataclass(frozen=True)
class Plan:
    """How to search: the options of the estimator, settled.

    Parameters
    ----------
    m : int
        Pairs of perturbations of a gradient.
    """

    search: str
    gradient: str
    starts: tuple[str, ...]
    m: int
    sigma: float | None
    step: float
    max_iter: int
    inner_iter: int
    smooth: Any
    budget: int

    @classmethod
    def of(cls, estimator: Any, solver: Solver, n_surrogates: int) -> Plan:
        """The plan of an estimator whose parameters were checked.

        Raises
        ------
        ValueError
            If the budget is smaller than one gradient.
        """
        own = {**AdaptiveSurrogates().get_params(), **solver.get_params()}
        m, sigma, start = own["n_perturbations"], own["sigma"], own["start"]
        plan = cls(
            "weights" if isinstance(solver, SurrogateWeights) else "gradient",
            own["gradient"],
            STARTS if start == "auto" else (start,),
            max(10, 3 * n_surrogates) if m == "auto" else int(m),
            None if sigma == "auto" else float(sigma),
            float(own["step"]),
            int(own["max_iter"]),
            int(own["inner_iter"]),
            estimator.smooth,
            int(estimator.budget),
        )
        least = plan
        while least.budget < least.least:  # what is kept for afterwards grows with the budget
            least = replace(least, budget=least.least)
        if least is not plan:
            what = (
                f"one gradient of {2 * plan.m} evaluations"
                if plan.search == "gradient"
                else "models"
            )
            raise ValueError(
                f"budget={plan.budget} is too small: {what}, the cut-off of the baseline and what "
                f"a gain is compared with need {least.budget}"
            )
        return plan

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
        return COARSE + 2 * (self.m if self.search == "gradient" else FEW)

    @property
    def least(self) -> int:
        """Evaluations without which nothing can be found."""
        one = 2 * self.m + 1 if self.search == "gradient" else 3
        return self.probe + self.cutoffs + len(self.starts) + one + self.reserve
