"""Where the records of a delimited text begin, and how many fields they have."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["quotes_in_order", "records_of"]

_QUOTE, _END = ord('"'), ord("\n")


def quotes_in_order(data: bytes, separator: str) -> bool:
    r"""Whether quotes stand only around whole values, or doubled inside them.

    Then every quote opens or closes by turns, and a character is inside quotes where an
    odd number of them went before.

    Examples
    --------
    >>> quotes_in_order(b'"a, b",1\n', ","), quotes_in_order(b'5" pipe,1\n', ",")
    (True, False)
    """
    if b'"' not in data:
        return True
    text = np.frombuffer(data, np.uint8)
    at = np.flatnonzero(text == _QUOTE)
    if len(at) % 2:
        return False
    # What may stand before an opening and after a closing quote. The ends count as line ends.
    allowed = np.zeros(256, dtype=bool)
    allowed[[_QUOTE, _END, ord(separator)]] = True
    opening, closing = at[::2], at[1::2]
    before = allowed[text[np.maximum(opening - 1, 0)]]  # the first byte is its own neighbour
    after = allowed[text[np.minimum(closing + 1, len(text) - 1)]]
    return bool(before.all() and after.all())


def records_of(
    data: bytes, separator: str, first: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    r"""The line in which each record begins, and its number of fields.

    Parameters
    ----------
    data : bytes
        Text whose quotes are in order.
    first : int
        The number of the first line.

    Returns
    -------
    lines, counts : arrays of int64, shape (N,)
        Blank lines are left out.

    Examples
    --------
    >>> lines, counts = records_of(b'1,"x\ny"\n\n2,z,3', ",", 2)
    >>> lines.tolist(), counts.tolist()
    ([2, 5], [2, 3])
    """
    text = np.frombuffer(data, np.uint8)
    quotes = np.flatnonzero(text == _QUOTE)
    ends, marks = np.flatnonzero(text == _END), np.flatnonzero(text == ord(separator))
    line_at_end = first + np.arange(len(ends))
    if len(quotes):
        outside = np.searchsorted(quotes, ends) % 2 == 0
        ends, line_at_end = ends[outside], line_at_end[outside]
        marks = marks[np.searchsorted(quotes, marks) % 2 == 0]
    starts = np.concatenate([[0], ends + 1])
    stops = np.concatenate([ends, [len(text)]])
    lines = np.concatenate([[first], line_at_end + 1])
    counts = np.searchsorted(marks, stops) - np.searchsorted(marks, starts) + 1
    filled = stops > starts
    return lines[filled].astype(np.int64), counts[filled].astype(np.int64)
