"""The best objective as a bound moves, where somebody asked for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.report.numbers import number
from setpoint.report.picture import Picture
from setpoint.report.section import section
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["Frontiers"]


@section
@dataclass(frozen=True)
class Frontiers:
    """Frontiers, one for each bound that was moved.

    Parameters
    ----------
    items : tuple of Frontier
    """

    name: ClassVar[str] = "frontiers"
    title: ClassVar[str] = "What the bounds cost"
    items: tuple[Frontier, ...]

    # frontiers hold arrays
    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars."""
        return {"items": [f.to_dict() for f in self.items]}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Frontiers:
        """The frontiers that :meth:`to_dict` wrote."""
        return cls(tuple(Frontier.from_dict(f) for f in data["items"]))

    def lines(self) -> Sequence[str]:
        """The pictures say it all."""
        return ()

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The best objective over each bound."""
        from setpoint.report.displays import FrontierDisplay

        for frontier in (f.thinned() for f in self.items):
            proof = ""
            if math.isinf(frontier.gap):
                proof = " It is not proved that no rule does better."
            elif frontier.gap > 5e-5:
                proof = f" The best may be better than the line by up to {number(frontier.gap)}."
            strict = "right" if frontier.relation == ">=" else "left"
            yield Picture(
                f"What {frontier.side} costs",
                FrontierDisplay(frontier).plot,
                f"The best {frontier.objective} as the bound on {frontier.side} moves; the goal "
                f"asks for {frontier.relation} {number(frontier.asked)}.",
                f"The line shows the best {frontier.objective} under each bound on "
                f"{frontier.side}; further to the {strict} the bound is stricter. The marked bound "
                f"is the one the goal asks for.{proof}",
            )
