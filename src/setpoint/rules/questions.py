"""A rule as questions about one row, from which it is written in any language.

An answer is the index of a class, None (nothing is decided) or further questions. Inside
a sum stand numbers: there a class of two is the probability of class 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from setpoint.goals import Key, Other


@dataclass(frozen=True)
class Applied:
    """An operator and what it is applied to; `term` says which there are."""

    op: str
    parts: tuple[Any, ...]
    """Of "in": a column, values, and whether none of them, or nothing, is asked for instead."""


@dataclass(frozen=True)
class Cases:
    """The answer of the first condition that holds, else the last one."""

    whens: tuple[tuple[Applied, Answer], ...]
    otherwise: Answer


@dataclass(frozen=True)
class Largest:
    """The answer at the place of the largest value; ties go to the lowest place."""

    values: tuple[Number, ...]
    answers: tuple[Answer, ...]

    def as_cases(self) -> Cases:
        """By comparing pairs: a value need not beat those before it, for none of them won."""
        pairs = tuple(zip(self.values, self.answers, strict=True))
        whens = tuple(
            (term("and", *(term(">=", value, other) for other in self.values[j:])), answer)
            for j, (value, answer) in enumerate(pairs[:-1], start=1)
        )
        return Cases(whens, self.answers[-1])


Number: TypeAlias = int | float | Applied | Cases | Largest
Answer: TypeAlias = Number | None


def term(op: str, *parts: Any) -> Applied:
    """``+ * - / >= <`` of numbers, ``and`` of conditions; ``score``, ``draw``, ``in`` of a row."""
    return Applied(op, parts)


SCORE, DRAW = term("score", 0), term("draw")


def by_segment(segments: Sequence[Key], answers: Sequence[Answer]) -> Answer:
    """The answer of the segment in which a row is; None where it is in none.

    Examples
    --------
    >>> by_segment([(("sex", "F"),)], [1])
    Cases(whens=((Applied(op='in', parts=('sex', ('F',), False)), 1),), otherwise=None)
    """
    whens: list[tuple[Applied, Answer]] = []
    for segment, answer in zip(segments, answers, strict=True):
        parts = [
            term("in", column, value.than, True)
            if isinstance(value, Other)
            else term("in", column, (value,), False)
            for column, value in segment
            if not isinstance(value, Other) or value.than
        ]
        if not parts:  # everything is other than nothing, and no other segment has room
            return answer
        whens.append((parts[0] if len(parts) == 1 else term("and", *parts), answer))
    return Cases(tuple(whens), None)


def drawn(u: Number, chance: Answer) -> Answer:
    """Class 1 with a probability: if and only if `u` is below it."""
    if isinstance(chance, (int, float)) and chance in (0.0, 1.0):
        return int(chance)
    return Cases(((term("<", u, chance), 1),), 0)
