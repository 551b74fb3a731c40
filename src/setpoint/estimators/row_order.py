"""Whether the place of a row in the file, or its fold, tells what its score does not."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from setpoint.array_types import Bools, Codes, Floats
from setpoint.report.findings import sentence

__all__ = ["order_in_words"]

_BINS, _PARTS = 20, 10
"""Bins of the score for the calibration; parts of the file that are compared."""
_LEAST = 10
"""Rows of a class, and rows of others, for each part."""
_ERRORS, _TAIL = 4.0, 3e-5
"""Beyond chance: in standard errors, and as a probability."""
_CORRELATION, _SHARE = 0.05, 0.01
"""What is worth a word in a large table: of neighbours; of the variance, by parts."""


def order_in_words(scores: Floats, true: Codes, fold: Codes | None = None) -> str:
    """What the order tells, with the remedy; "" where it tells nothing beyond chance.

    Examples
    --------
    >>> scores, true = np.full(400, 0.5), np.repeat([0, 1], 200)
    >>> order_in_words(scores, true)[:62]
    'Rows that follow each other err together (correlation 0.99) an'
    >>> order_in_words(scores, np.random.default_rng(0).permutation(true))
    ''
    """
    pairs = [(scores if scores.ndim == 1 else scores[:, 1], true == 1)]
    if scores.ndim == 2 and scores.shape[1] > 2:
        pairs = [(scores[:, code], true == code) for code in range(scores.shape[1])]
    found: dict[str, str] = {}
    for score, hit in pairs:
        found = _of_class(score, hit, fold, _TAIL / len(pairs)) | found
    if not found:
        return ""
    split, if_sorted = ": judge by later rows, or by other units", "nothing is lost"
    if fold is not None:
        split = ", unlike splits by time (`cv=TimeSeriesSplit()`) or by unit (`cv=GroupKFold()`)"
        if_sorted = "shuffled folds are right"
    may = "may " if list(found) == ["labels"] else ""
    if not may:
        found.pop("labels", None)
    what = sentence(" and ".join(found.values()))
    return (
        f"{what}: if new rows come later in time, or belong to new units, rows drawn at random "
        f"{may}flatter{split}; if the table is only sorted, as by class, {if_sorted}."
    )


def _of_class(score: Floats, hit: Bools, fold: Codes | None, tail: float) -> dict[str, str]:
    """What goes beyond chance, in words."""
    n_rows, rarer = len(hit), int(min(hit.sum(), (~hit).sum()))
    n_parts = min(_PARTS, rarer // _LEAST)
    if n_parts < 2:
        return {}
    edges = np.unique(np.quantile(score, np.arange(1, _BINS) / _BINS))
    place = np.searchsorted(edges, score, side="right")
    expected = (np.bincount(place, hit) / np.maximum(np.bincount(place), 1))[place]
    rate, tenths = np.full(n_rows, hit.mean()), np.arange(n_rows) * n_parts // n_rows
    out, correlation = {}, _correlation(hit - expected)
    if correlation:
        out["rows"] = f"rows that follow each other err together (correlation {correlation:.2f})"
    if _differ(hit, expected, tenths, tail):
        out["parts"] = "parts of the file differ beyond chance"
    if not out and (_correlation(hit - rate) or _differ(hit, rate, tenths, tail)):
        out["labels"] = "labels go together in the order of the file"
    if fold is not None and _differ(hit, expected, fold, tail):
        out["folds"] = "folds differ beyond chance"
    return out


def _correlation(residual: Floats) -> float:
    """Of rows that follow each other; 0 where chance explains it."""
    beside = residual[1:] * residual[:-1]
    found = beside.sum() / max(residual @ residual, 1e-300)
    shown = found > _CORRELATION and beside.sum() > _ERRORS * np.sqrt(beside @ beside)
    return float(found) if shown else 0.0


def _differ(hit: Bools, expected: Floats, part: Codes, tail: float) -> bool:
    """Whether the numbers of hits in parts of the rows differ from those expected."""
    variance = np.bincount(part, expected * (1.0 - expected))
    known = variance > 0.0
    far = float((np.bincount(part, hit - expected)[known] ** 2 / variance[known]).sum())
    by_chance = int(known.sum()) - 1
    return far - by_chance > _SHARE * len(hit) and chi2.sf(far, by_chance) < tail
