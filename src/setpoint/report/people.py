"""The counts of a report in people: how many of 10,000 are accepted, found and missed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.goals.populations import Label
from setpoint.report.counts import Counts

__all__ = ["PER", "Part", "in_people", "parts_of"]

PER = 10_000
"""Rows that counts of people refer to."""

_MOST = 3
"""Mistakes between classes that are named."""


@dataclass(frozen=True)
class Part:
    """A part of the rows: what is said of it, how many of 10,000, and whether that is right."""

    words: str
    rows: float
    right: bool


def parts_of(
    counts: Counts, confusion: Sequence[Sequence[float]] | None = None
) -> tuple[Part, ...]:
    """The labelled rows by what is decided: for two classes four parts, else right and wrong.

    Examples
    --------
    >>> found = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
    >>> for part in parts_of(found):
    ...     print(part.words, round(part.rows))
    accepted rightly 700
    accepted wrongly 200
    missed 300
    left out rightly 8800
    """
    found = _of(counts, confusion)
    if not found.labelled > 0.0:
        return ()
    if len(counts.classes) == 2:
        (tn, fp), (fn, tp) = found.confusion[:2]
        named = [
            ("accepted rightly", tp, True),
            ("accepted wrongly", fp, False),
            ("missed", fn, False),
            ("left out rightly", tn, True),
        ]
    else:
        right = sum(x for i, j, x in found.table() if i == j)
        wrong = found.labelled - sum(found.deferred[:-1]) - right
        named = [("decided rightly", right, True), ("decided wrongly", wrong, False)]
    if found.deferred:
        named.append(("deferred", sum(found.deferred[:-1]), False))
    rows = _that_add_up([PER * (x / found.labelled) for _, x, _ in named])
    return tuple(Part(part[0], n, part[2]) for part, n in zip(named, rows, strict=True))


def _that_add_up(rows: list[float]) -> list[float]:
    """Whole numbers with the sum of the rows, by the largest remainders; one of none stays."""
    whole = [math.floor(x) for x in rows]
    order = sorted(range(len(rows)), key=lambda i: whole[i] - rows[i])
    for i in order[: round(sum(rows)) - sum(whole)]:
        whole[i] += 1
    return [float(n) if n or x == 0.0 else min(x, 0.49) for n, x in zip(whole, rows, strict=True)]


def _of(counts: Counts, confusion: Sequence[Sequence[float]] | None) -> Counts:
    """The counts of other decisions on the same rows."""
    if confusion is None:
        return counts
    return Counts.of(counts.n_rows, tuple(counts.classes), np.array(confusion))


def in_people(counts: Counts, confusion: Sequence[Sequence[float]] | None = None) -> str:
    """How many of 10,000 rows are accepted, rightly and wrongly, and missed; "" without labels.

    Examples
    --------
    >>> found = Counts(10_000, ("no", "yes"), ((8412.0, 420.0), (707.0, 461.0), (0.0, 0.0)))
    >>> in_people(found)
    "Of 10,000 rows like these 881 are accepted: 461 rightly, 420 wrongly; 707 of class 'yes' are \
missed."
    >>> table = ((5.0, 1.0), (0.0, 2.0), (0.0, 0.0))
    >>> in_people(Counts(10, ("no", "yes"), table, deferred=(1.0, 1.0, 0.0)))
    "Of 10,000 rows like these 2,000 are deferred to a person; of the others 3,000 are accepted: \
2,000 rightly, 1,000 wrongly; 0 of class 'yes' are missed."
    """
    parts = parts_of(counts, confusion)
    if not parts:
        return ""
    start = f"Of {PER:,} rows like these"
    if counts.deferred and confusion is None:
        parts, left = parts[:-1], parts[-1]
        verb = "is" if round(left.rows) == 1 else "are"
        start = f"{start} {_people(left.rows)} {verb} deferred to a person; of the others"
    if len(counts.classes) == 2:
        tp, fp, fn, *_ = (p.rows for p in parts)
        missed = f"{_people(fn)} of {named(counts.classes[1])} are missed"
        if round(tp + fp) == 0:
            return f"{start} {_people(tp + fp)} are accepted; {missed}."
        return (
            f"{start} {_people(tp + fp)} are accepted: {_people(tp)} rightly, "
            f"{_people(fp)} wrongly; {missed}."
        )
    right, wrong = parts
    text = f"{start} {_people(right.rows)} are decided rightly, {_people(wrong.rows)} wrongly"
    mistakes = _mistakes(_of(counts, confusion))
    return f"{text}; most often {', '.join(mistakes)}." if mistakes else f"{text}."


def named(label: Label) -> str:
    """A class in a sentence.

    Examples
    --------
    >>> named("yes"), named(1)
    ("class 'yes'", 'class 1')
    """
    return f"class {label!r}"


def _mistakes(counts: Counts) -> list[str]:
    """The most frequent mistakes."""
    wrong = [(x, i, j) for i, j, x in counts.table() if i != j and x > 0]
    wrong.sort(key=lambda cell: (-cell[0], cell[1:]))
    classes = counts.classes
    return [
        f"{_people(PER * (x / counts.labelled))} of {named(classes[i])} taken for {classes[j]!r}"
        for x, i, j in wrong[:_MOST]
    ]


def _people(x: float) -> str:
    """A number of people; of a fraction of one it says that there are some."""
    return f"{x:,.0f}" if x >= 0.5 or x == 0 else "fewer than one"
