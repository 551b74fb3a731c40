"""Paths of pictures with fewer letters, as they look the same."""

from __future__ import annotations

import re

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
    """A path of straight lines without points that a straight line passes anyway.

    Examples
    --------
    >>> shorter("M 0 0 L 1.001 0 L 2 0 L 2 5.5 z")
    'M0 0 2 0 2 5.5z'
    """
    path = rounded(" ".join(d.split()))
    if _LINES.fullmatch(path) is None:
        return path
    end = "z" if path.endswith("z") else ""
    points = [tuple(p.split()) for p in path.removesuffix(" z")[2:].split(" L ")]
    kept: list[tuple[str, ...]] = []
    for point in points:
        while len(kept) > 1 and _passes(kept[-2], kept[-1], point):
            kept.pop()
        if not kept or kept[-1] != point:
            kept.append(point)
    if len(kept) == 1:  # a point is drawn where caps are round
        kept *= 2
    return f"M{' '.join(' '.join(p) for p in kept)}{end}"


def _passes(first: tuple[str, ...], middle: tuple[str, ...], last: tuple[str, ...]) -> bool:
    """Whether a level or upright line from the first to the last goes through the middle."""
    for fixed, moving in ((0, 1), (1, 0)):
        if first[fixed] == middle[fixed] == last[fixed]:
            a, b, c = (float(p[moving]) for p in (first, middle, last))
            return a <= b <= c or a >= b >= c
    return False


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
