"""Rows in memory as a source: what engines are compared with, and a source for other tests."""

from __future__ import annotations

from decimal import Decimal

import numpy as np

from setpoint.counts import BAD_WEIGHT, INFINITE, MISSING, NO_NUMBER, BinCounts
from setpoint.sources import Rest, Source
from setpoint.sources.source import plain


class ArraySource(Source):
    """Columns as a dict of arrays or lists; None is NULL.

    `nan_is_null`: pandas keeps both as one, and so do engines that read it.
    """

    def __init__(self, columns, *, engine="NumPy", nan_is_null=False):
        self.engine = engine
        self.table = {k: [*v] for k, v in columns.items()}
        self.nan_is_null = nan_is_null
        self.passes = 0

    def schema(self):
        return {k: _kind(v) for k, v in self.table.items()}

    def batches(self, names):
        raise NotImplementedError("it counts by itself, for others to be compared with")

    def rows(self):
        return len(next(iter(self.table.values())))

    def sample(self, score, label, n):
        scores, _ = self._floats(score)
        fine = np.isfinite(scores)
        if label is None:
            return scores[fine][:n]
        labels = np.array([str(v) for v in self.table[label]])[fine]
        each = [scores[fine][labels == v] for v in np.unique(labels)]
        return np.concatenate([own[: n // len(each)] for own in each])

    def count(self, by, binning=None, parts=()):
        levels, codes, scores, fault, weight = self._prepared(by)
        if by.score is None:
            bins = np.zeros(len(fault), np.int64)
        elif binning is None:
            bins = np.unique(scores, return_inverse=True)[1].astype(np.int64)
        else:
            bins = binning.of(scores)
        keep = np.ones(len(fault), bool)
        if parts:
            keep[:] = False
            finite = np.isin(fault, (0, BAD_WEIGHT))
            raw = scores if by.score is None else self._floats(by.score)[0]
            for part in parts:
                inside = np.ones(len(keep), bool)
                if by.score is not None:
                    inside = np.zeros(len(keep), bool)
                    for low, high in part.ranges:
                        inside |= finite & (raw >= low) & (raw <= high)
                keep |= inside & self._has(part, levels, codes)
        if by.score is not None and binning is None:
            # Numbered among the rows that are counted.
            good = keep & (fault == 0) & (weight != 0)
            bins[good] = np.unique(scores[good], return_inverse=True)[1]
        return self._counted(by, levels, codes, scores, fault, weight, bins, keep)

    def _floats(self, name):
        null = np.array([v is None for v in self.table[name]])
        values = np.array([np.nan if v is None else float(v) for v in self.table[name]])
        return values, null | (np.isnan(values) & self.nan_is_null)

    def _prepared(self, by):
        self.passes += 1
        n = self.rows()
        levels, codes = [], []
        for key in by.keys:
            kind = _kind(self.table[key.name])
            values = [plain(v) for v in self.table[key.name]]
            if key.only is not None:
                values = [_among(v, key.only, kind) for v in values]
            places = {}
            codes.append([places.setdefault((type(v), v), len(places)) for v in values])
            levels.append([v for _, v in places])
        fault = np.zeros(n)
        weight = np.ones(n)
        if by.weight is not None:
            weight, _ = self._floats(by.weight)
            fault[~(np.isfinite(weight) & (weight >= 0))] = BAD_WEIGHT
        scores = np.zeros(n)
        if by.score is not None:
            scores, null = self._floats(by.score)
            fault[np.isinf(scores)] = INFINITE
            fault[np.isnan(scores)] = NO_NUMBER
            fault[null] = MISSING
        scores = np.where(fault == 0, scores, 0.0) + 0.0
        return levels, np.array(codes, np.int64).reshape(len(levels), n), scores, fault, weight

    def _has(self, part, levels, codes):
        if not part.keys:
            return np.ones(codes.shape[1], bool)
        out = np.zeros(codes.shape[1], bool)
        for values in part.values:
            own = np.ones(codes.shape[1], bool)
            for k, value in zip(part.keys, values, strict=True):
                same = [type(v) is type(value) and v == value for v in levels[k]]
                own &= np.array(same, bool)[codes[k]]
            out |= own
        return out

    def _counted(self, by, levels, codes, scores, fault, weight, bins, keep):
        bins = np.where(fault == 0, bins, fault).astype(np.int64)
        keep = keep & (weight != 0)
        w = None
        if by.weight is not None:
            w = np.where(fault == 0, weight, 0.0)[keep]
        columns = [(lv, c[keep]) for lv, c in zip(levels, codes, strict=True)]
        counted = count_rows(columns, bins[keep], scores[keep], w, 2.0**by.q)
        return counted


def canonical(counts):
    """Lines as sorted tuples, floats to the bit: equal for equal counts however stored."""
    columns = [counts.column(k) for k in range(len(counts.levels))]
    lines = []
    for i in range(counts.n_lines):
        values = tuple((type(c[i]).__name__, str(c[i])) for c in columns)
        whole = tuple(int(getattr(counts, f)[i]) for f in ("bin", "rows", "weight", "squares"))
        ends = tuple(float(getattr(counts, f)[i]).hex() for f in ("low", "high", "least", "most"))
        lines.append((*values, *whole, *ends, bool(counts.rounded[i])))
    return sorted(lines)


def _kind(values):
    known = [v for v in values if v is not None]
    if all(isinstance(v, bool | np.bool_) for v in known):
        return "boolean"
    if all(isinstance(v, str) for v in known):
        return "text"
    numbers = (int, float, Decimal, np.integer, np.floating)
    return "number" if all(isinstance(v, numbers) for v in known) else "other"


def _among(value, only, kind):
    if value is None:
        return None
    for own in only:
        fits = {
            "boolean": isinstance(own, bool),
            "text": isinstance(own, str),
            "number": isinstance(own, int | float),
        }.get(kind, type(own) is type(value))
        if fits and own == value:
            return own
    return Rest.REST


def count_rows(columns, bins, scores, weight=None, scale=1.0):
    """Count rows in memory: the reference that engines are compared with."""
    n = len(bins)
    ones = np.ones(n, np.int64)
    w = np.ones(n) if weight is None else weight
    whole = ones if weight is None else _whole(w * scale)
    squares = ones if weight is None else _whole(w * w * scale)
    score = np.zeros(n) if scores is None else scores + 0.0
    off = np.zeros(n, bool) if weight is None else np.floor(w * scale) != w * scale
    codes = np.array([c for _, c in columns], np.int64).reshape(len(columns), n)
    levels = tuple(list(levels) for levels, _ in columns)
    return BinCounts(levels, codes, bins, ones, whole, squares, score, score, w, w, off).grouped()


def _whole(values):
    """The nearest integers; halves upwards, for the rounding of engines differs."""
    return np.minimum(np.floor(values + 0.5), 2**62).astype(np.int64)
