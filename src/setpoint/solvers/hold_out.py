"""One split of the rows, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from setpoint.solvers.settings import Settings

__all__ = ["HoldOut"]


@dataclass(frozen=True, repr=False)
class HoldOut(Settings):
    """Fit the model on some rows, find the rule on the others, and keep that model.

    A share by itself, ``cv=0.2``, fits the model on all rows in the end; its scores are then
    not quite those that the rule was found on.

    Parameters
    ----------
    cv : float, splitter or iterable, optional
        A share of the rows, drawn once and stratified, or one split.

    Examples
    --------
    >>> HoldOut(0.3)
    HoldOut(cv=0.3)
    """

    cv: Any = None
