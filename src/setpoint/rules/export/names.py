"""What the columns and the classes of an export are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals.populations import Label, plain_label
from setpoint.rules.export.questions import Questions

__all__ = ["Names", "kind_of", "labels_of", "names_of"]


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
