"""What stands above a report that its rows do not know: files, a command, cautions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setpoint.errors import InputTypeError

__all__ = ["Header"]


@dataclass(frozen=True)
class Header:
    """Where a report comes from, and what to beware of beside what its rows say.

    Examples
    --------
    >>> Header("bank.csv", command="setpoint fit bank.csv --goal {goal}").table
    'bank.csv'
    """

    table: str = ""
    model: str = ""
    command: str = ""
    cautions: Sequence[str] = ()

    def __post_init__(self) -> None:
        if isinstance(self.cautions, str):
            raise InputTypeError("`cautions` is a sequence of sentences, got one text")
        object.__setattr__(self, "cautions", tuple(self.cautions))
