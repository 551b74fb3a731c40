"""What the constructor may be given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError
from setpoint.parameters import Allowed, Number
from setpoint.solvers import AdaptiveSurrogates, FirstModel, SearchLimits, Solver
from setpoint.surrogates.groups import check_surrogates
from setpoint.surrogates.losses import POINTWISE

__all__ = ["LIMITS", "PARAMETERS", "STARTS", "check_surrogates_for"]

STARTS = ("post-shift", "logistic", "zero")

_INF = float("inf")

PARAMETERS: Mapping[str, Allowed] = {
    "limits": SearchLimits,
    "training": FirstModel,
    "penalty": Number("a number above 0", 0.0, False, below=_INF),
}
LIMITS = SearchLimits(evaluations=2000)
"""Where the user sets none."""


def check_surrogates_for(solver: Solver, surrogates: Any) -> tuple[Any, ...]:
    """The kinds of surrogates that a user names, one entry each."""
    kinds = check_surrogates(surrogates)
    pointwise = len(kinds) == 1 and isinstance(kinds[0], str) and kinds[0] in POINTWISE
    if isinstance(solver, AdaptiveSurrogates) and not solver.on_parameters and not pointwise:
        raise InputError(
            f"`gradient={solver.gradient!r}` moves the scores of each surrogate's rows until it "
            f"has a given value, which takes one of {list(POINTWISE)}; 'interpolation' takes any"
        )
    return kinds
