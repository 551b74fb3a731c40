"""A rule as questions about one row, from which it is written in any language.

An answer is the index of a class, None (nothing is decided) or further questions. Inside
the sums of a randomised rule it may also be a number, the probability of class 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals import Key, Label, Other, plain_label


@dataclass(frozen=True)
class NumberLiteral:
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
class SumOfTerms:
    """Two terms or more, added from left to right."""

    terms: tuple[Number, ...]


@dataclass(frozen=True)
class Times:
    """``left * right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Difference:
    """``left - right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class DividedBy:
    """``left / right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class AtLeast:
    """``left >= right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class Less:
    """``left < right``."""

    left: Number
    right: Number


@dataclass(frozen=True)
class AllOf:
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
            (AllOf(tuple(AtLeast(value, other) for other in self.values[j + 1 :])), answer)
            for j, (value, answer) in enumerate(zip(self.values, self.answers, strict=True))
            if j < last
        )
        return Cases(whens, self.answers[last])


Number: TypeAlias = (
    NumberLiteral | Score | Draw | SumOfTerms | Times | Difference | DividedBy | Cases | Largest
)
Condition: TypeAlias = AtLeast | Less | AllOf | IsIn
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
        whens.append((parts[0] if len(parts) == 1 else AllOf(parts), answer))
    return Cases(tuple(whens), None)


def drawn(u: Number, chance: Number) -> Answer:
    """Class 1 with a probability: if and only if `u` is below it."""
    if isinstance(chance, NumberLiteral) and chance.value in (0.0, 1.0):
        return int(chance.value)
    return Cases(((Less(u, chance), 1),), 0)


def as_chance(answer: Answer) -> Number:
    """The probability of class 1, 0 or 1, where nothing is drawn."""
    if isinstance(answer, int):
        return NumberLiteral(float(answer))
    if isinstance(answer, Cases):
        whens = tuple((condition, as_chance(part)) for condition, part in answer.whens)
        return Cases(whens, as_chance(answer.otherwise))
    if isinstance(answer, Largest):
        return Largest(answer.values, tuple(as_chance(part) for part in answer.answers))
    return cast(Number, answer)


# --- What the columns and the classes of an export are called -------------------------------------


@dataclass(frozen=True)
class Names:
    """The columns of a table, as an export looks at them."""

    scores: tuple[str, ...]
    columns: dict[str, str]
    draw: str | None
    labels: tuple[Label, ...]
    other: bool = False


def names_of(
    questions: Questions, score: Any, columns: Any, classes: Any, hash_column: Any
) -> Names:
    """The names that an export uses, checked."""
    known = questions.columns
    for column, values in known.items():
        kind_of(values, f"the values of {column!r} that the rule tells apart")
    labels = labels_of(questions, classes)
    kind_of(labels, "classes")
    called = _columns(tuple(dict.fromkeys((*known, *questions.values))), columns)
    return Names(
        (*_scores(questions, score), *(called[column] for column in questions.values)),
        called,
        _draw(questions, hash_column),
        labels,
        isinstance(score, str) and len(questions.values) > 0,
    )


def labels_of(questions: Questions, classes: Any) -> tuple[Label, ...]:
    """The labels by class index."""
    if classes is None:
        return tuple(range(questions.n_classes))
    labels = tuple(plain_label(label, "classes: a label") for label in classes)
    if isinstance(classes, str) or len(labels) != questions.n_classes:
        raise InputError(
            f"`classes`: the rule decides between {questions.n_classes} classes, got {classes!r}"
        )
    return labels


def kind_of(values: Sequence[Label], what: str) -> str:
    """Whether the values of one column are text, bools or numbers.

    Examples
    --------
    >>> kind_of(("a", "b"), "classes"), kind_of((True, 2), "classes")
    ('text', 'number')
    """
    text = [value for value in values if isinstance(value, str)]
    if text and len(text) < len(values):
        other = next(value for value in values if not isinstance(value, str))
        raise InputError(
            f"{quoted(what)} are of two kinds, text such as {text[0]!r} and {other!r}; a column of "
            "a table holds one kind"
        )
    if text:
        return "text"
    return "bool" if values and all(isinstance(value, bool) for value in values) else "number"


def _scores(questions: Questions, score: Any) -> tuple[str, ...]:
    n = questions.score_columns
    if n is None:
        if not isinstance(score, str):
            raise InputTypeError(
                f"`score`: the rule looks at one score, so name one column, got {score!r}"
            )
        return (_name(score, "score"),)
    n -= len(questions.values)
    beside = ""
    if questions.values:
        beside = f"; the columns {list(questions.values)} are named by `columns`"
        if n == 2 and isinstance(score, str):  # that of the positive class says both
            return (_name(score, "score"), score)
    if isinstance(score, str) or not isinstance(score, Sequence) or len(score) != n:
        raise InputError(
            f"`score`: the rule looks at {n} score{'s' if n > 1 else ''}, so name as many columns, "
            f"in a list in their order, got {score!r}{beside}"
        )
    return tuple(_name(name, "score") for name in score)


def _columns(known: tuple[str, ...], columns: Any) -> dict[str, str]:
    given = {} if columns is None else columns
    if not isinstance(given, Mapping):
        raise InputTypeError(
            "`columns`: a dict from the rule's columns to those of the table, got a "
            f"{type(columns).__name__}"
        )
    for column in given:
        if column not in known:
            looks = f"looks at {list(known)}" if known else "looks at no column beside the score"
            raise InputError(f"`columns`: the rule does not look at {column!r}; it {looks}")
    return {column: _name(given.get(column, column), "columns") for column in known}


def _draw(questions: Questions, hash_column: Any) -> str | None:
    if not questions.draws:
        return None
    if hash_column is None:
        raise InputError(
            "`hash_column` is needed: this rule is randomised. Name a column that holds one "
            "uniform number in [0, 1) for each row, such as a hash of its id divided by the number "
            "of hashes; so the same row is decided the same way each time"
        )
    return _name(hash_column, "hash_column")


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputTypeError(f"{quoted(what)}: a column is named by text, got {value!r}")
    return value
