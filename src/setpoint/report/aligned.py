"""A table as text in columns."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["aligned"]


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, every column as wide as it has to be, numbers to the right.

    Examples
    --------
    >>> print(aligned(("name", "value"), [("a", "0.25"), ("bb", "1")]))
    name  value
    a      0.25
    bb        1
    """
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    right = [i > 0 and all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    lines = (
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in table
    )
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix(" %").replace(",", ""))
    except ValueError:
        return text in ("", "-")
    return True
