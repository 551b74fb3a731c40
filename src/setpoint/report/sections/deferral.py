"""How many of those decided are wrong, were more or fewer rows decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.report.deferral import DeferralPoints
from setpoint.report.numbers import percent
from setpoint.report.picture import Picture
from setpoint.report.printable import shortened
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["DeferralSection"]

_WIDE = (4.8, 2.9)
"""Inches."""

_MOST_CURVES = 12
"""More are a tangle; the groups have a picture of their own."""


@section
@dataclass(frozen=True)
class DeferralSection:
    """The curves of a rule that defers."""

    name: ClassVar[str] = "deferral"
    title: ClassVar[str] = "Decided and deferred"
    points: DeferralPoints

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars."""
        return self.points.to_dict()

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> DeferralSection:
        """The section that :meth:`to_dict` wrote."""
        return cls(DeferralPoints.from_dict(data))

    def lines(self) -> Sequence[str]:
        """One sentence."""
        share, error = self.points.decided, self.points.error
        if error is None:
            return ("The rule decides no row that has a label.",)
        return (
            f"The rule decides {percent(share)} of the rows and defers the others; "
            f"{percent(error)} of those decided are wrong.",
        )

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The error among the decided over the share decided."""
        curves = self.points.curves
        if not 1 <= len(curves) <= _MOST_CURVES:
            return
        from setpoint.report.displays import DeferralDisplay

        points = replace(
            self.points, curves=tuple(replace(c, name=shortened(c.name)) for c in curves)
        )
        yield Picture(
            "Errors by share decided",
            DeferralDisplay(points, facts.goal).plot,
            "The share of the decided that is wrong over the share of rows decided. "
            + self.lines()[0],
            "To the right more rows are decided, and fewer are left to a person. Higher up more of "
            "those decided are wrong. The full dot is the rule.",
            _WIDE,
        )
