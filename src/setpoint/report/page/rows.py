"""The rows of a report as a bar of parts, each with its label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setpoint.report.counts import Counts
from setpoint.report.people import parts_of

__all__ = ["Piece", "pieces_of"]

_KINDS = ("hit", "alarm", "miss", "rest")
_KINDS_OF_MORE = ("hit", "alarm")
_DEFERRED = "deferred"


@dataclass(frozen=True)
class Piece:
    """A piece of the bar; places in percent of the width."""

    kind: str
    start: float
    width: float
    middle: float
    label_at: float
    count: str
    words: str


def pieces_of(
    counts: Counts, confusion: Sequence[Sequence[float]] | None = None
) -> tuple[Piece, ...]:
    """The pieces from left to right; none without labelled rows.

    Examples
    --------
    >>> found = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
    >>> for piece in pieces_of(found):
    ...     print(piece.start, piece.width, piece.count, piece.words)
    0.0 7.0 700 accepted rightly
    7.0 2.0 200 accepted wrongly
    9.0 3.0 300 missed
    12.0 88.0 8,800 left out rightly
    """
    parts = parts_of(counts, confusion)
    total = sum(p.rows for p in parts)
    out: list[Piece] = []
    start = 0.0
    kinds = _KINDS if len(parts) >= len(_KINDS) else _KINDS_OF_MORE
    if len(parts) > len(kinds):
        kinds = (*kinds, _DEFERRED)
    for i, (kind, part) in enumerate(zip(kinds, parts, strict=False)):
        width = 100.0 * part.rows / total
        out.append(
            Piece(
                kind,
                round(start, 2),
                round(width, 2),
                round(start + width / 2.0, 2),
                round(100.0 * (i + 0.5) / len(parts), 2),
                f"{part.rows:,.0f}" if part.rows >= 0.5 or part.rows == 0 else "fewer than one",
                part.words,
            )
        )
        start += width
    return tuple(out)
