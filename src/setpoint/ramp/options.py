"""What the constructor may be given, checked before any work is done."""

from __future__ import annotations

from typing import Any

from setpoint.inputs.options import Number, check_numbers, check_one_of
from setpoint.ramp.start import STARTS

__all__ = ["SOLVERS", "check_options"]

SOLVERS = ("augmented-lagrangian", "cutting-plane")

_ONE_OF: dict[str, tuple[Any, ...]] = {
    "solver": SOLVERS,
    "start": STARTS,
    "chooser": ("max", "center"),
    "svm": ("sdca", "liblinear"),
    "randomized": (False, True),
    "baseline_score_feature": ("auto", False, True),
    "on_infeasible": ("raise", "nearest"),
}
_NUMBERS = {
    "C": Number("a number above 0", 0.0, False, below=float("inf")),
    "tol": Number("a number above 0", 0.0, False, below=float("inf")),
    "min_positives": Number("'auto' or a number >= 0", 0.0, other="auto"),
    "max_seconds": Number("a number above 0 or None", 0.0, False, other=None),
}


def check_options(estimator: Any) -> None:
    """Check the parameters before any fit.

    Raises
    ------
    ValueError
        It names the argument, what was found and what is allowed.
    """
    check_one_of(estimator, _ONE_OF)
    check_numbers(estimator, _NUMBERS)
