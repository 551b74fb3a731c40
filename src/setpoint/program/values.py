"""Values of rows: what each pair of true and decided class is worth, by columns of the row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from setpoint.evidence.codebook import Codebook
from setpoint.evidence.measures import Measure
from setpoint.goals.errors import GoalError
from setpoint.goals.expressions import Expression, Metric
from setpoint.goals.linear import LinearForm
from setpoint.goals.populations import DEFER

__all__ = ["Entries", "entries_of", "part_of"]

Entries: TypeAlias = dict[tuple[int, int], LinearForm]
"""Code of the true class and of the decided one, and what such a row is worth."""


def entries_of(
    e: Metric, label: int | None, book: Codebook, code: Callable[[object, Expression], int]
) -> Entries:
    """What each pair of true and decided class is worth by ``cost``, ``value`` or ``profit``."""
    given: dict[str, Any] = dict(e.params)
    pairs = given.get("costs", given.get("values"))
    if pairs is None:
        return _of_one_class(given, label, book)
    out: Entries = {}
    for (true, decided), worth in pairs:
        out[code(true, e), _answer(decided, e, book, code)] = LinearForm.of(worth)
    return out


def _of_one_class(given: dict[str, Any], label: int | None, book: Codebook) -> Entries:
    """The entries of ``profit``: by whether the true and the decided class are its own."""
    kinds = {(True, True): "tp", (False, True): "fp", (True, False): "fn", (False, False): "tn"}
    n, out = len(book.labels), Entries()
    for true in range(n):
        for decided in range(n):
            worth = given.get(kinds[true == label, decided == label])
            if worth is not None:
                out[true, decided] = LinearForm.of(worth)
        if book.defers and "defer" in given:
            out[true, n] = LinearForm.of(given["defer"])
    return out


def _answer(
    label: object, e: Metric, book: Codebook, code: Callable[[object, Expression], int]
) -> int:
    """The code of what is decided; a class may not have the name of deferring."""
    if label == DEFER and book.defers:
        if DEFER in book.labels:
            raise GoalError(f"{e}: {DEFER!r} is a class of these data, and no decision here")
        return book.n_classes - 1
    return code(label, e)


def part_of(worth: LinearForm, measure: Measure | None) -> float:
    """The factor of a measure in what a row is worth; of None what does not depend on the row."""
    if measure is None:
        return worth.constant
    return measure.sign * dict(worth.terms).get(measure.column, 0.0)
