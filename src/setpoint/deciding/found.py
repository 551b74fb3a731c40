"""What a family's search found: the one value that every family passes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from setpoint.evidence import Counted, Evidence
from setpoint.report import Entry
from setpoint.search.outcome import Outcome

__all__ = ["Found"]


@dataclass(frozen=True, eq=False)
class Found:
    """What a family's search found."""

    outcome: Outcome
    evidence: Counted
    objective: Entry | None = None
    model: Any = None

    @property
    def rows(self) -> Evidence:
        """The rows that it was found on, where they are here and not counted elsewhere."""
        assert isinstance(self.evidence, Evidence)
        return self.evidence
