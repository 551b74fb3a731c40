"""The way of a search: the best rule so far, call by call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from setpoint.report.codec import plain
from setpoint.report.numbers import number
from setpoint.report.picture import Picture
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["SearchTrace", "Step"]

Step: TypeAlias = tuple[int, float, float, float]
"""Call, objective, bound, violation."""


@section
@dataclass(frozen=True)
class SearchTrace:
    """For each call of a search the best rule so far, and what no rule passes."""

    name: ClassVar[str] = "trace"
    title: ClassVar[str] = "How the search went"
    steps: tuple[Step, ...]
    of_passes: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Plain lists; infinite numbers as text that ``float`` reads."""
        return {"steps": plain(self.steps), "of_passes": self.of_passes}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> SearchTrace:
        """The trace that :meth:`to_dict` wrote."""
        steps = tuple((int(call), *map(float, rest)) for call, *rest in data["steps"])
        given = {"of_passes": data["of_passes"], **data, "steps": steps}
        return cls(**given)

    def lines(self) -> Sequence[str]:
        """The picture says it all."""
        return ()

    def pictures(self, facts: Facts) -> Iterator[Picture]:
        """Objective, bound and violation over the calls."""
        if len(self.steps) < 3:
            return
        from setpoint.report.displays import ConvergenceDisplay

        last = self.steps[-1]
        bound = (
            "Where the line and the limit that no rule passes meet, nothing better is left to find."
            if math.isfinite(last[2])
            else "No limit is known that no rule passes."
        )
        steps = "passes over the data" if self.of_passes else "steps"
        yield Picture(
            self.title,
            ConvergenceDisplay(self.steps, facts.goal).plot,
            f"The best objective after each of {last[0]:,} {steps}; at the end {number(last[1])}.",
            f"To the right the search has looked longer. {bound}",
            panels=True,
            detail=True,
        )
