"""Paths of pictures with fewer letters, as they look the same."""

from __future__ import annotations

import re
from itertools import pairwise

__all__ = ["rounded", "shorter"]

_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_LINES = re.compile(r"M [-\d.e]+ [-\d.e]+(?: L [-\d.e]+ [-\d.e]+)+(?: z)?")


def rounded(text: str) -> str:
    """Numbers to a hundredth of a point.

    Examples
    --------
    >>> rounded("translate(1.23456 -0.001)")
    'translate(1.23 0)'
    """
    return _DECIMALS.sub(_short, text)


def shorter(d: str) -> str:
    """A path of straight lines to a tenth of a point, each step from the last one.

    Examples
    --------
    >>> shorter("M 0 0 L 1.001 0 L 2 0 L 2 5.52 L 3.26 7 z")
    'M0 0h2v5.5l1.3 1.5z'
    """
    path = " ".join(d.split())
    if _LINES.fullmatch(path) is None:
        return rounded(path)
    end = "z" if path.endswith("z") else ""
    kept: list[tuple[int, int]] = []
    for point in path.removesuffix(" z")[2:].split(" L "):
        # In tenths, so that no error adds up.
        x, y = (round(10.0 * float(number)) for number in point.split())
        while len(kept) > 1 and _passes(kept[-2], kept[-1], (x, y)):
            kept.pop()
        if not kept or kept[-1] != (x, y):
            kept.append((x, y))
    steps = [_step(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(kept)]
    # A lone point is drawn where caps are round.
    return f"M{_tenths(kept[0][0])} {_tenths(kept[0][1])}{''.join(steps) or 'h0'}{end}"


def _step(x: int, y: int) -> str:
    if y == 0:
        return f"h{_tenths(x)}"
    if x == 0:
        return f"v{_tenths(y)}"
    return f"l{_tenths(x)}{'' if y < 0 else ' '}{_tenths(y)}"


def _tenths(x: int) -> str:
    sign, (whole, rest) = "-" if x < 0 else "", divmod(abs(x), 10)
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def _passes(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether a level or upright line from the first to the last goes through the middle."""
    for fixed, moving in ((0, 1), (1, 0)):
        if first[fixed] == middle[fixed] == last[fixed]:
            a, b, c = first[moving], middle[moving], last[moving]
            return a <= b <= c or a >= b >= c
    return False


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
