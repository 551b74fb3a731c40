"""The best objective as a bound moves, where somebody asked for it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.goals.expressions import Metric, Reduce
from setpoint.goals.goal import expression_of
from setpoint.goals.words import in_words
from setpoint.report.numbers import number
from setpoint.report.picture import Picture
from setpoint.report.section import section
from setpoint.search.frontier import Frontier

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["Frontiers", "pictures_of"]

_WIDE = (4.8, 2.9)
"""Inches."""


@section
@dataclass(frozen=True)
class Frontiers:
    """Frontiers, one for each bound that was moved."""

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
        items = tuple(Frontier.from_dict(f) for f in data["items"])
        return cls(**{**data, "items": items})

    def lines(self) -> Sequence[str]:
        """The pictures say it all."""
        return ()

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """The best objective over each bound."""
        return pictures_of(self.items)


def pictures_of(frontiers: Sequence[Frontier]) -> Iterator[Picture]:
    """A picture for each frontier."""
    from setpoint.report.displays import FrontierDisplay

    for frontier in (f.thinned() for f in frontiers):
        proof = ""
        if math.isinf(frontier.gap):
            proof = " It is not proved that no rule does better."
        elif frontier.gap > 5e-5:
            proof = " The band is what the best may be better by."
        strict = "right" if frontier.relation == ">=" else "left"
        side, objective = _words(frontier.side), _words(frontier.objective)
        yield Picture(
            _title(frontier),
            FrontierDisplay(frontier).plot,
            f"The best {objective} as the bound on {side} moves; the goal asks for "
            f"{frontier.relation} {number(frontier.asked)}.",
            f"The line shows the best {objective} under each bound on {side}; further to the "
            f"{strict} the bound is stricter. The mark is the bound that the goal asks for.{proof}",
            _WIDE,
        )


def _title(frontier: Frontier) -> str:
    """What is paid for, in words."""
    side = expression_of(frontier.side)
    words = in_words(side)
    if isinstance(side, Reduce) and side.kind == "difference" and frontier.relation == "<=":
        return f"What a smaller {words} costs"
    if isinstance(side, Metric):
        return f"What a {'higher' if frontier.relation == '>=' else 'lower'} {words} costs"
    return f"What the bound on {words} costs"


def _words(text: str) -> str:
    return in_words(expression_of(text))
