"""OFO: F of the rows so far over 1 + beta^2 (Busa-Fekete and others, 2015)."""

from __future__ import annotations

from typing import Any

from setpoint.online import state as at
from setpoint.online.compiled import inner

__all__ = ["ofo"]


@inner
def ofo(p: float, y: int, decided: int, weight: float, state: Any) -> None:
    """One row of OFO: F of the rows so far over 1 + beta^2; OFO-RB counts posteriors."""
    seen = p if state.solver == at.OFO_RB else float(y)
    state.gain += weight * seen * decided
    state.cost += weight * (state.beta2 * seen + decided)
    if state.cost > 0.0:
        state.threshold = state.gain / state.cost
