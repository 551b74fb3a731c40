"""The rows that a rule was found on, or others in their place: which are there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError
from setpoint.evidence import Evidence

__all__ = ["require_rows"]


def require_rows(
    what: str, X: Any, y: Any, beside: Mapping[str, Any], evidence: Evidence | None
) -> None:
    """Refuse to go on without rows, or with a part of them."""
    if (X is None) != (y is None):
        raise InputError(f"{what}: `X` and `y` go together")
    if X is not None:
        return
    given = ", ".join(f"`{name}`" for name, value in beside.items() if value is not None)
    if given:
        raise InputError(f"{what}: {given} belongs to rows that `X` and `y` give")
    if evidence is None:
        raise InputError(
            f"{what}: the rows that the rule was found on are not available (copies and model "
            "files do not hold them): give X and y"
        )
