"""Numbers as people read them: shares in per cent, counts, amounts."""

from __future__ import annotations

import math

__all__ = ["amount", "count", "number", "percent", "plural"]


def number(x: float | None) -> str:
    """A number in four decimals, or more digits where it is small.

    Examples
    --------
    >>> number(0.91237), number(0.00001234), number(22695.3), number(float("inf")), number(None)
    ('0.9124', '1.23e-05', '22,695.3', 'inf', '-')
    """
    if x is None:
        return "-"
    if x == 0:
        return "0"
    if abs(x) < 5e-4:
        return f"{x:.3g}"
    if abs(x) < 1000:
        return f"{x:.4f}"
    return f"{x:,.6g}" if abs(x) < 1e6 else f"{x:,.0f}"


def percent(share: float | None) -> str:
    """A share in per cent with one digit; more where it would read as nothing or all.

    Examples
    --------
    >>> percent(0.4992), percent(0.00004), percent(1.0), percent(0.99996), percent(None)
    ('49.9 %', '0.004 %', '100 %', '99.996 %', '-')
    """
    if share is None:
        return "-"
    if not math.isfinite(share):
        return f"{share}"
    whole = 100.0 * share
    if whole == 0.0:
        return "0 %"
    near = min(abs(whole), abs(100.0 - abs(whole)))
    if near == 0.0 or near >= 0.05:
        text = f"{whole:.1f}"
        return f"{text.removesuffix('.0') if abs(whole) == 100.0 else text} %"
    digits = min(2 - math.floor(math.log10(near)) - 2, 8)
    return f"{whole:.{digits}f} %"


def count(x: float) -> str:
    """A count of rows; weights with one decimal.

    Examples
    --------
    >>> count(1234.0), count(2.5)
    ('1,234', '2.5')
    """
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:,.1f}"


def amount(x: float) -> str:
    """An amount of money, or of anything that is not a share.

    Examples
    --------
    >>> amount(35320.4), amount(3.532), amount(-0.02)
    ('35,320', '3.53', '-0.02')
    """
    if not math.isfinite(x):
        return f"{x}"
    if x == 0 or abs(x) >= 100:
        return f"{x:,.0f}"
    return f"{x:.2f}" if abs(x) >= 0.01 else f"{x:.3g}"


def plural(n: int, word: str) -> str:
    """A count of something.

    Examples
    --------
    >>> plural(1, "row"), plural(1500, "row")
    ('1 row', '1,500 rows')
    """
    return f"{n:,} {word}" + ("" if n == 1 else "s")
