"""What goes to stdout: one JSON object, or aligned text."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import click

from setpoint.cli.session import current

__all__ = ["aligned", "print_json"]


def print_json(what: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> None:
    """One JSON object on one line, keys sorted.

    Parameters
    ----------
    what : mapping
        The same in every run on the same input.
    run : mapping, optional
        What differs: paths, times, versions. It stands under "run".
    """
    seconds = {name: round(value, 3) for name, value in current().seconds.items()}
    out = {**what, "run": {**(run or {}), "seconds": seconds}}
    click.echo(json.dumps(_finite(out), sort_keys=True, allow_nan=False))


def _finite(value: Any) -> Any:
    """NaN and infinite numbers as text that ``float`` reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value


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
