"""A rule as questions about one row, from which it is written in any language.

An answer is the index of a class, None (nothing is decided) or further questions. Inside
the sums of a randomised rule it may also be a number, the probability of class 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias, cast

from setpoint.goals.populations import Key, Label, Other

__all__ = [
    "Answer",
    "AtLeast",
    "Below",
    "Cases",
    "Condition",
    "Constant",
    "Difference",
    "Draw",
    "Every",
    "IsIn",
    "Largest",
    "Number",
    "Product",
    "Questions",
    "Quotient",
    "Score",
    "Sum",
    "as_chance",
    "by_segment",
    "drawn",
]


@dataclass(frozen=True)
class Constant:
    """A finite number."""

    value: float


@dataclass(frozen=True)
class Score:
    """A score of the row, by its place; 0 where there is one."""

    index: int


@dataclass(frozen=True)
class Draw:
    """The row's uniform number in [0, 1)."""


@dataclass(frozen=True)
class Sum:
    """Two terms or more, added from left to right."""

    terms: tuple[Number, ...]


@dataclass(frozen=True)
class Product:
    """``left * right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Difference:
    """``left - right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Quotient:
    """``left / right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class AtLeast:
    """``left >= right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Below:
    """``left < right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Every:
    """All of one condition or more."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class IsIn:
    """Whether a column holds one of the values; `others`: none of them, or nothing."""

    column: str
    values: tuple[Label, ...]
    others: bool = False


@dataclass(frozen=True)
class Cases:
    """The answer of the first condition that holds, else the last one."""

    whens: tuple[tuple[Condition, Answer], ...]
    otherwise: Answer


@dataclass(frozen=True)
class Largest:
    """The answer at the place of the largest value; ties go to the lowest place."""

    values: tuple[Number, ...]
    answers: tuple[Answer, ...]

    def as_cases(self) -> Cases:
        """By comparing pairs: a value need not beat those before it, for none of them won."""
        last = len(self.values) - 1
        whens = tuple(
            (Every(tuple(AtLeast(value, other) for other in self.values[j + 1 :])), answer)
            for j, (value, answer) in enumerate(zip(self.values, self.answers, strict=True))
            if j < last
        )
        return Cases(whens, self.answers[last])


Number: TypeAlias = (
    Constant | Score | Draw | Sum | Product | Difference | Quotient | Cases | Largest
)
Condition: TypeAlias = AtLeast | Below | Every | IsIn
Answer: TypeAlias = int | Number | None


@dataclass(frozen=True)
class Questions:
    """A rule as questions, and what they are about."""

    answer: Answer
    n_classes: int
    score_columns: int | None
    segments: tuple[Key, ...]
    draws: bool
    values: tuple[str, ...] = ()

    @property
    def columns(self) -> dict[str, tuple[Label, ...]]:
        """The columns that are looked at, with the values that are distinguished."""
        out: dict[str, dict[Label, None]] = {}
        for segment in self.segments:
            for column, value in segment:
                values = value.than if isinstance(value, Other) else (value,)
                out.setdefault(column, {}).update(dict.fromkeys(values))
        return {column: tuple(values) for column, values in out.items()}


def by_segment(segments: Sequence[Key], answers: Sequence[Answer]) -> Answer:
    """The answer of the segment in which a row is; None where it is in none.

    Examples
    --------
    >>> by_segment([(("sex", "F"),)], [1])
    Cases(whens=((IsIn(column='sex', values=('F',), others=False), 1),), otherwise=None)
    """
    whens: list[tuple[Condition, Answer]] = []
    for segment, answer in zip(segments, answers, strict=True):
        parts = tuple(
            IsIn(column, value.than, others=True)
            if isinstance(value, Other)
            else IsIn(column, (value,))
            for column, value in segment
            if not isinstance(value, Other) or value.than
        )
        if not parts:  # everything is other than nothing, and no other segment has room
            return answer
        whens.append((parts[0] if len(parts) == 1 else Every(parts), answer))
    return Cases(tuple(whens), None)


def drawn(u: Number, chance: Number) -> Answer:
    """Class 1 with a probability: if and only if `u` is below it."""
    if isinstance(chance, Constant) and chance.value in (0.0, 1.0):
        return int(chance.value)
    return Cases(((Below(u, chance), 1),), 0)


def as_chance(answer: Answer) -> Number:
    """The probability of class 1, 0 or 1, where nothing is drawn."""
    if isinstance(answer, int):
        return Constant(float(answer))
    if isinstance(answer, Cases):
        whens = tuple((condition, as_chance(part)) for condition, part in answer.whens)
        return Cases(whens, as_chance(answer.otherwise))
    if isinstance(answer, Largest):
        return Largest(answer.values, tuple(as_chance(part) for part in answer.answers))
    return cast(Number, answer)
