"""What the constructor may be given, checked before any work is done."""

from __future__ import annotations

from typing import Any

from setpoint.inputs.options import Number, check_numbers, check_one_of
from setpoint.surrogates.gradients import ESTIMATES
from setpoint.surrogates.losses import POINTWISE
from setpoint.surrogates.parts import check_surrogates

__all__ = ["SEARCHES", "STARTS", "check_options"]

SEARCHES = ("gradient", "weights")
STARTS = ("post-shift", "logistic", "zero")

_ONE_OF: dict[str, tuple[Any, ...]] = {
    "gradient": tuple(ESTIMATES),
    "search": SEARCHES,
    "start": ("auto", *STARTS),
}
_NUMBERS = {
    "budget": Number("a whole number >= 1", 1.0, below=float("inf"), integer=True),
    "max_iter": Number("a whole number >= 1", 1.0, below=float("inf"), integer=True),
    "n_perturbations": Number("'auto' or a whole number >= 2", 2.0, integer=True, other="auto"),
    "sigma": Number("'auto' or a number above 0", 0.0, False, other="auto"),
    "step": Number("a number above 0", 0.0, False, below=float("inf")),
    "inner_iter": Number("a whole number >= 1", 1.0, below=float("inf"), integer=True),
    "max_seconds": Number("a number above 0 or None", 0.0, False, other=None),
    "C": Number("a number above 0", 0.0, False, below=float("inf")),
    "penalty": Number("a number above 0", 0.0, False, below=float("inf")),
    "epochs": Number("a whole number >= 1", 1.0, below=float("inf"), integer=True),
}


def check_options(estimator: Any) -> tuple[Any, ...]:
    """Check the parameters before any fit; return the kinds of surrogates.

    Raises
    ------
    ValueError, TypeError
        It names the argument, what was found and what is allowed.
    """
    check_one_of(estimator, _ONE_OF)
    check_numbers(estimator, _NUMBERS)
    smooth = estimator.smooth
    count = Number("", 1.0, below=float("inf"), integer=True, other="auto")
    if smooth is not None and not count.takes(smooth):
        raise ValueError(f"smooth is 'auto', None or a whole number >= 1, got {smooth!r}")
    kinds = check_surrogates(estimator.surrogates)
    pointwise = len(kinds) == 1 and isinstance(kinds[0], str) and kinds[0] in POINTWISE
    if estimator.search == "gradient" and estimator.gradient != "interpolation" and not pointwise:
        raise ValueError(
            f"gradient={estimator.gradient!r} moves the scores of each surrogate's rows until it "
            f"has a given value, which takes one of {list(POINTWISE)}; 'interpolation' takes any"
        )
    return kinds
