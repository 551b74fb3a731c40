"""One split of the rows, as a value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from setpoint.errors import InputError
from setpoint.parameters import Number
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
        A share of the rows, drawn once and stratified, or one split. Rows in memory need it.
    rows_for_fit : int, optional
        Tables elsewhere: about how many rows the model is fitted on, chosen by a hash of the row;
        the rule is found on all others. None: 1,000,000.

    Raises
    ------
    ValueError
        If `rows_for_fit` is not a number of rows, or goes with a `cv`.

    Examples
    --------
    >>> HoldOut(0.3)
    HoldOut(cv=0.3)
    >>> HoldOut(rows_for_fit=200_000)
    HoldOut(rows_for_fit=200000)
    """

    allowed: ClassVar = {
        "rows_for_fit": Number("a whole number >= 1 or None", 1.0, integer=True, other=(None,))
    }

    cv: Any = None
    rows_for_fit: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cv is not None and self.rows_for_fit is not None:
            raise InputError(
                "`cv`, `rows_for_fit`: `cv` splits rows in memory, `rows_for_fit` those of a table "
                f"elsewhere, found `cv={self.cv!r}` and `rows_for_fit={self.rows_for_fit!r}`; "
                "leave one of them out"
            )
