"""What decisions cost, against accepting nobody, everybody, and the deployed model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.report.codec import plain, read
from setpoint.report.numbers import amount
from setpoint.report.picture import Picture
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["PER", "Prices"]

PER = 10_000
"""Rows that prices and counts of people refer to."""


@section
@dataclass(frozen=True)
class Prices:
    """The objective a row, in the units of the goal's prices.

    Examples
    --------
    >>> Prices("cost", 3.532, (("accepting nobody", 7.0),)).lines()
    ('Cost for 10,000 rows: 35,320; accepting nobody 70,000.',)
    """

    name: ClassVar[str] = "prices"
    title: ClassVar[str] = "In money"
    what: str
    rule: float
    constants: tuple[tuple[str, float], ...]
    deployed: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars."""
        out: dict[str, Any] = plain(self)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Prices:
        """The prices that :meth:`to_dict` wrote."""
        return read(cls, data)

    def lines(self) -> Sequence[str]:
        """One sentence."""
        others = list(self.constants)
        if self.deployed is not None:
            others.append(("the deployed model", self.deployed))
        text = f"{self.what} for {PER:,} rows: {amount(PER * self.rule)}"
        text = "; ".join([text, *(f"{who} {amount(PER * x)}" for who, x in others)])
        return (f"{text[0].upper()}{text[1:]}.",)

    def pictures(self, facts: Facts) -> Iterable[Picture]:
        """The curve of the objective over cut-offs belongs to the operating points."""
        return ()
