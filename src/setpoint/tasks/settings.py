"""What a fit on a table is asked for beside its goal, as one value."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.solvers import Confidence
from setpoint.tasks.solver_choice import SolverChoice

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox

__all__ = ["FitSettings"]


@dataclass(frozen=True)
class FitSettings:
    """What was asked for beside the goal; names of columns as they were written."""

    target: str
    pos_label: Any = None
    choice: SolverChoice = field(default_factory=SolverChoice)
    sensitive: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    decide_on: tuple[str, ...] | None = None
    baseline: str | None = None
    baseline_threshold: float | None = None
    randomized: bool = False
    test_size: float = 0.25
    test_by: str | None = None
    random_state: int = 0
    metric: BlackBox | None = None
    surrogate_groups: tuple[str, ...] = ()
    confidence: Confidence | None = None

    def __post_init__(self) -> None:
        for name in ("sensitive", "drop", "decide_on", "surrogate_groups"):
            value = getattr(self, name)
            if isinstance(value, str):  # one column
                object.__setattr__(self, name, (value,))
            elif value is not None:
                object.__setattr__(self, name, tuple(value))

    @property
    def deployed(self) -> Any:
        """The deployed model as classifiers take it: a column, with a threshold of scores."""
        if self.baseline is None or self.baseline_threshold is None:
            return self.baseline
        from setpoint.inputs import Deployed

        return Deployed(self.baseline, self.baseline_threshold)
