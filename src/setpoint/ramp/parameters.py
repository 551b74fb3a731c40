"""What the constructor may be given."""

from __future__ import annotations

from collections.abc import Mapping

from setpoint.parameters import Allowed, Number
from setpoint.ramp.start import STARTS
from setpoint.solvers import SearchLimits

__all__ = ["LIMITS", "PARAMETERS", "TRAINING"]

_POSITIVE = Number("a number above 0", 0.0, False, below=float("inf"))

PARAMETERS: Mapping[str, Allowed] = {
    "C": _POSITIVE,
    "start": STARTS,
    "randomized": (False, True),
    "baseline_score_feature": ("auto", False, True),
    "min_positives": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
    "limits": SearchLimits,
    "on_infeasible": ("raise", "nearest"),
}
LIMITS = SearchLimits(tol=1e-3)
"""Where the user sets none."""
TRAINING: Mapping[str, Allowed] = {"tol": _POSITIVE}
"""What limits have to be beside what all are."""
