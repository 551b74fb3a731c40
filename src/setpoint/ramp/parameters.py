"""What the constructor may be given."""

from __future__ import annotations

from collections.abc import Mapping

from setpoint.parameters import SECONDS, Allowed, Number
from setpoint.ramp.start import STARTS

__all__ = ["PARAMETERS"]

_POSITIVE = Number("a number above 0", 0.0, False, below=float("inf"))

PARAMETERS: Mapping[str, Allowed] = {
    "C": _POSITIVE,
    "tol": _POSITIVE,
    "start": STARTS,
    "randomized": (False, True),
    "baseline_score_feature": ("auto", False, True),
    "min_positives": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
    "max_seconds": SECONDS,
    "on_infeasible": ("raise", "nearest"),
}
