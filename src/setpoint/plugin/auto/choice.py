"""What a report says of the choice of the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from setpoint.goals.errors import listed
from setpoint.report.codec import plain, read
from setpoint.report.numbers import number
from setpoint.report.picture import Picture
from setpoint.report.section import section

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["ModelChoice", "TriedModel"]


@dataclass(frozen=True)
class TriedModel:
    """How one model did with the best rule over its scores of rows that it had not seen."""

    name: str
    folds: int
    value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    tied: bool = False
    fails: bool = False


@section
@dataclass(frozen=True)
class ModelChoice:
    r"""Which model was chosen, among which, and by how much.

    Examples
    --------
    >>> tried = (TriedModel("logistic", 5, 0.8), TriedModel("boosting", 5, 0.7, -0.1, -0.2, -0.05))
    >>> choice = ModelChoice("logistic", "recall", 5, tried)
    >>> print("\n".join(choice.lines()))
    Chosen: logistic. Of 2 models it does best, each by the best rule over out-of-fold scores.
    logistic: recall 0.8000.
    boosting: recall 0.7000, -0.1000 against the best (-0.2000 to -0.0500).
    """

    name: ClassVar[str] = "models"
    title: ClassVar[str] = "The model, chosen under the goal"

    chosen: str
    objective: str
    folds: int
    tried: tuple[TriedModel, ...]
    left_out: tuple[str, ...] = ()
    stopped: str = ""

    @property
    def ties(self) -> tuple[str, ...]:
        """Models that cannot be distinguished from the best, which is among them."""
        return tuple(one.name for one in self.tried if one.tied)

    @property
    def why(self) -> str:
        """The choice in a few words, for who asks how the rule was found."""
        if self._is_alone:
            return f"the model is {self.chosen}, the simplest: {self.stopped}"
        out = f"the model is {self.chosen}, chosen among {len(self.tried)} under the goal"
        return f"{out}; {self.stopped}" if self.stopped else out

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and scalars."""
        out: dict[str, Any] = plain(self)
        return out

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ModelChoice:
        """The choice that :meth:`to_dict` wrote."""
        return read(cls, data)

    def lines(self) -> Sequence[str]:
        """The choice, then a line for each model."""
        out = [f"Chosen: {self.chosen}. {self._reason}"]
        out += [f"{one.name}: {self._words(one)}." for one in self.tried]
        others = [name for name in self.ties if name != self.chosen]
        if others:
            out.append(f"Cannot be distinguished from {self.chosen}: {listed(others)}.")
        if self.left_out:
            out.append(f"Not tried: {'; '.join(self.left_out)}.")
        if self.stopped and self.chosen:
            out.append(f"{self.stopped[0].upper()}{self.stopped[1:]}.")
        return out

    def pictures(self, facts: Facts) -> Iterable[Picture]:
        """It has none."""
        return ()

    @property
    def _is_alone(self) -> bool:
        """Whether no model could be compared with the simplest."""
        return sum(one.folds == self.folds for one in self.tried) < 2 and bool(self.stopped)

    @property
    def _reason(self) -> str:
        if self._is_alone:
            return "It is the simplest, and no other was judged."
        how = "each by the best rule over out-of-fold scores"
        if any(one.difference == 0.0 and not one.fails for one in self.tried):
            return (
                f"Of {len(self.tried)} models none does better, {how}; it is the simplest of "
                "those that do as well."
            )
        return f"Of {len(self.tried)} models it does best, {how}."

    def _words(self, one: TriedModel) -> str:
        if one.folds < self.folds:
            return f"not judged: ended after {one.folds} of {self.folds} folds"
        out = f"{self.objective} {number(one.value)}"
        if one.difference is not None:
            sign = "+" if one.difference >= 0 else ""
            out += f", {sign}{number(one.difference)} against the best"
            if one.low is not None and one.high is not None:
                out += f" ({number(one.low)} to {number(one.high)})"
        return f"{out}; shown to fail the goal" if one.fails else out
