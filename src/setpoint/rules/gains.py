"""The words of a rule that looks at the values of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.rules.argmax import Argmax
from setpoint.rules.words import ClassNames

__all__ = ["gains_in_words"]

_ROUNDING = 1e-12
"""Differences smaller than this part of what they are taken of are rounding."""


def gains_in_words(columns: tuple[str, ...], rule: Argmax, names: ClassNames, digits: int) -> str:
    """Explain a :class:`~setpoint.rules.ValueAware` rule.

    Examples
    --------
    >>> gain = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 1.0]]
    >>> rule, names = Argmax(gain, [0.0, -5.2]), ClassNames(("genuine", "fraud"))
    >>> gains_in_words(("amount",), rule, names, 4)
    "predict 'fraud' when the probability times amount exceeds 5.2"
    """
    if names.score == ClassNames(names.classes).score:
        names = replace(names, score="the probability")
    texts = [name if name.isidentifier() else f'"{name}"' for name in columns]
    n = rule.score_columns // (1 + len(columns))
    if n == rule.n_classes == 2:
        return _condition(texts, rule, names, digits)
    own = n == rule.n_classes - int(names.defers)
    posteriors = [
        names.score_of(i) if own else f"{names.score} in column {i + 1}" for i in range(n)
    ]
    products = [f"{posterior} x {text}" for text in texts for posterior in posteriors]
    return _plain(rule, n)._listing([*posteriors, *products], names, digits)


def _plain(rule: Argmax, n: int) -> Argmax:
    """Totals that decide alike and read well."""
    G = rule.G.copy()
    offset = np.zeros(rule.n_classes) if rule.offset is None else np.array(rule.offset)
    first = G[:n]
    alike = np.ptp(first, axis=0) <= _ROUNDING * np.abs(first).max(axis=0)
    offset += np.where(alike, first[0], 0.0)
    G[:n] = np.where(alike, 0.0, first)
    sizes = np.abs(G[n:][G[n:] != 0.0])
    if len(sizes) and np.ptp(sizes) <= _ROUNDING * sizes.max():
        G, offset = G / sizes.max(), offset / sizes.max()
    return Argmax(G, offset if offset.any() else None)


def _condition(texts: Sequence[str], rule: Argmax, names: ClassNames, digits: int) -> str:
    """Where the total of class 1 is the larger one: ``constant + sum of terms > 0``."""
    constant, coefficients = _reduced(rule)
    p = names.score
    # products first, for they say the most; coefficients are of p, x_1, p x_1, x_2, p x_2, ...
    terms = list(zip(coefficients[2::2], [f"{p} times {text}" for text in texts], strict=True))
    terms += [(coefficients[0], p), *zip(coefficients[1::2], texts, strict=True)]
    pairs = [(float(c), what) for c, what in terms if c != 0.0]
    one = names.label(1)
    if not pairs:
        return f"predict {one} for {'everyone' if constant > 0.0 else 'nobody'}"
    relation = "exceeds"
    if all(c < 0.0 for c, _ in pairs):
        pairs, constant, relation = [(-c, what) for c, what in pairs], -constant, "is below"
    if len(pairs) == 1:
        c, what = pairs[0]
        return f"predict {one} when {what} {relation} {-constant / c + 0.0:.{digits}g}"
    pairs.sort(key=lambda pair: pair[0] < 0.0)
    text = ""
    for c, what in pairs:
        sign = ("plus " if c > 0.0 else "minus ") if text else ""
        factor = f"{abs(c):.{digits}g}"
        text += f" {sign}{what if factor == '1' else f'{factor} times {what}'}"
    return f"predict {one} when{text} {relation} {-constant + 0.0:.{digits}g}"


def _reduced(rule: Argmax) -> tuple[float, Floats]:
    """The constant, and the coefficients of p, x_1, p x_1, x_2, ... for p of class 1."""
    G = rule.G
    none, one = rule.offset or (0.0, 0.0)
    totals = G.reshape(-1, 2, 2)  # 1 or a column, posterior, class
    gains, sizes = totals[:, :, 1] - totals[:, :, 0], np.abs(totals).sum(axis=2)
    # p_0 = 1 - p: what class 0 gains is a constant, and p gains the difference
    apart = np.stack([gains[:, 0], gains[:, 1] - gains[:, 0]], axis=1)
    size = np.stack([sizes[:, 0], sizes[:, 0] + sizes[:, 1]], axis=1)
    apart[0, 0] += one - none
    size[0, 0] += abs(one) + abs(none)
    apart[np.abs(apart) <= _ROUNDING * size] = 0.0
    return float(apart[0, 0]), apart.reshape(-1)[1:]
