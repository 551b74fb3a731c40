"""Arrays as text for a page: the raw numbers, little-endian, compressed, in base64."""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.evidence import Evidence
from setpoint.evidence.curves import Curve
from setpoint.goals.populations import value_in_words
from setpoint.program.rates import Kind

_KINDS: dict[str, np.dtype[Any]] = {
    "f64": np.dtype("<f8"),
    "u8": np.dtype("u1"),
    "u16": np.dtype("<u2"),
    "i32": np.dtype("<i4"),
}
_LEVEL = 6


def packed(values: NDArray[Any]) -> dict[str, Any]:
    """An array in the narrowest kind of number that holds all of it exactly.

    Examples
    --------
    >>> import numpy as np
    >>> text = packed(np.array([0.0, 3.0, 250.0]))
    >>> text["t"], text["n"], unpacked(text).tolist()
    ('u8', 3, [0, 3, 250])
    """
    flat = np.ravel(values)
    kind = _kind(flat)
    data = zlib.compress(flat.astype(_KINDS[kind]).tobytes(), _LEVEL)
    return {"z": base64.b64encode(data).decode("ascii"), "t": kind, "n": len(flat)}


def unpacked(text: dict[str, Any]) -> NDArray[Any]:
    """The array that :func:`packed` wrote."""
    data = zlib.decompress(base64.b64decode(text["z"]))
    found: NDArray[Any] = np.frombuffer(data, _KINDS[text["t"]])
    return found


def _kind(flat: NDArray[Any]) -> str:
    if flat.dtype.kind not in "iub":
        whole = np.isfinite(flat).all() and (flat == np.rint(flat)).all()
        if not whole or (np.signbit(flat) & (flat == 0.0)).any():
            return "f64"
    low, high = (float(flat.min()), float(flat.max())) if len(flat) else (0.0, 0.0)
    if low >= 0.0 and high < 2**16:
        return "u8" if high < 2**8 else "u16"
    return "i32" if low >= -(2**31) and high < 2**31 else "f64"


def plain(value: Any) -> Any:
    """What JSON can hold: numbers that it lacks become the words for them.

    Examples
    --------
    >>> plain({"a": [1.0, float("inf")], "b": None})
    {'a': [1.0, 'Infinity'], 'b': None}
    """
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return value


# --- Rows with scores, and the columns by which a page shows groups of them -----------------------


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column whose groups a page shows side by side."""

    name: str
    values: tuple[str, ...]
    codes: Codes
    named: bool

    def take(self, index: NDArray[Any]) -> GroupColumn:
        """Some of the rows."""
        return replace(self, codes=self.codes[index])


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows that a page is about."""

    evidence: Evidence
    groups: tuple[GroupColumn, ...] = ()
    where: str = ""
    deployed: Codes | None = None

    def take(self, index: NDArray[Any]) -> ScoredRows:
        """Some of the rows, by index or mask."""
        deployed = None if self.deployed is None else self.deployed[index]
        groups = tuple(g.take(index) for g in self.groups)
        return replace(self, evidence=self.evidence.take(index), groups=groups, deployed=deployed)

    @cached_property
    def pooled(self) -> Evidence:
        """The same rows for one threshold for all."""
        rows = self.evidence.rows
        book = replace(rows.codebook, decide_on=())
        return Evidence(replace(rows, codebook=book), self.evidence.scores)

    @cached_property
    def curve(self) -> Curve:
        """All cut-offs of one threshold for all."""
        return self.pooled.curve(0)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """Stratum and true class of the rows that there are, copies by measures too."""
        return self.curve.kinds

    @cached_property
    def weight(self) -> Floats:
        """The weight of each row (N,)."""
        rows = self.evidence.rows
        return np.ones(rows.n_rows) if rows.weight is None else rows.weight

    def accepted(self, share: Floats) -> Floats:
        """The weight of each kind (K,) that a decision accepts."""
        rows = self.evidence.rows
        tables = (self.weight, *rows.by_measure)
        n, plain = rows.codebook.n_classes + 1, rows.codebook.n_plain
        sums = [np.bincount(rows.kind, w * share, plain * n).reshape(plain, n) for w in tables]
        whole = np.concatenate(sums)
        return np.array([whole[c, t] for c, t in self.kinds])


def columns_of_strata(evidence: Evidence, names: Sequence[str]) -> tuple[GroupColumn, ...]:
    """The columns that strata tell apart, where the values of rows themselves are not kept."""
    book, stratum = evidence.codebook, evidence.rows.stratum
    out = []
    for name in names:
        keys = [dict(s.key).get(name) for s in book.strata[: book.n_plain]]
        values = list(dict.fromkeys(keys))
        place = np.array([values.index(k) for k in keys])
        words = tuple("other" if v is None else str(value_in_words(v)) for v in values)
        out.append(GroupColumn(name, words, place[stratum], True))
    return tuple(out)


# --- Bins of a curve: which cut-offs a page holds -------------------------------------------------


_STEEP = 1.5
"""Bins hold more scores the lower these are: where few are accepted each one counts."""


def chosen_cuts(m: int, most: int, always: Iterable[int] = ()) -> Codes:
    """The cut-offs of m distinct scores that a page holds, ascending, both ends among them.

    Examples
    --------
    >>> chosen_cuts(4, 8).tolist()
    [0, 1, 2, 3, 4]
    >>> chosen_cuts(1000, 8, [500]).tolist()
    [0, 1, 69, 193, 354, 500, 545, 761, 1000]
    """
    if m <= most:
        return np.arange(m + 1)
    first = most // 8
    way = np.linspace(0.0, 1.0, most - first)
    rest = first + np.rint((m - first) * way**_STEEP).astype(np.int64)
    kept = np.concatenate([np.arange(first + 1), rest, np.fromiter(always, np.int64)])
    return np.unique(np.clip(kept, 0, m))


def short_thresholds(curve: Curve, cuts: Codes) -> Floats:
    """A threshold for each cut-off, with as few digits as tell its two neighbours apart.

    Examples
    --------
    >>> values = np.array([0.91237, 0.5123, 0.5122])
    >>> short_thresholds(Curve(values, np.zeros((1, 4)), ((0, 1),)), np.arange(4)).tolist()
    [inf, 0.7, 0.51225, -inf]
    """
    out = curve.thresholds(cuts)
    inside = np.flatnonzero((cuts > 0) & (cuts < len(curve.values)))
    upper = curve.values[cuts[inside] - 1]
    lower = curve.values[cuts[inside]]
    middle = out[inside]
    with np.errstate(all="ignore"):
        size = np.where(middle == 0.0, 0.0, np.floor(np.log10(np.abs(middle))))
    left = np.ones(len(inside), bool)
    for digits in range(1, 17):
        place = (digits - 1 - size).astype(np.int64)
        fine = left & (place >= -22) & (place <= 22)
        with np.errstate(all="ignore"):
            up = 10.0 ** np.abs(place).astype(float)
            rounded = np.where(place >= 0, np.rint(middle * up) / up, np.rint(middle / up) * up)
        good = fine & (lower < rounded) & (rounded <= upper)
        out[inside[good]] = rounded[good]
        left &= ~good
        if not left.any():
            break
    return out


class ShownBins:
    """A curve at some of its cut-offs."""

    def __init__(self, curve: Curve, cuts: Codes, kinds: tuple[Kind, ...]) -> None:
        self.cuts, self.kinds = cuts, kinds
        self.thresholds = short_thresholds(curve, cuts)
        place = {kind: i for i, kind in enumerate(curve.kinds)}
        self.counts: Floats = np.zeros((len(kinds), len(cuts)))
        for k, kind in enumerate(kinds):
            if kind in place:
                self.counts[k] = curve.counts[place[kind], cuts]

    @property
    def m(self) -> int:
        """Number of bins."""
        return len(self.cuts) - 1

    @property
    def is_open(self) -> NDArray[np.bool_]:
        """Which bins (m,) join several distinct scores."""
        return np.asarray(np.diff(self.cuts) > 1)

    def place(self, cut: int) -> int:
        """Where a cut-off of the curve stands among those held; it is one of them."""
        return int(np.searchsorted(self.cuts, cut))

    def of(self, scores: Floats) -> Codes:
        """The bin of each score: the first one whose cut-off accepts it."""
        return np.searchsorted(-self.thresholds[1:], -scores, side="left").astype(np.int64)

    def counted(self, rows: ScoredRows) -> Floats:
        """The weight (K, m) of each kind in each bin, of these or other rows."""
        own = rows.evidence.rows
        bin_of = self.of(rows.evidence.scores)
        n, plain = own.codebook.n_classes + 1, own.codebook.n_plain
        out = np.zeros((len(self.kinds), self.m))
        tables = (rows.weight, *own.by_measure)
        kind_of = own.kind.astype(np.int64)
        for copy, weight in enumerate(tables):
            code = np.full(plain * n, -1)
            for k, (c, t) in enumerate(self.kinds):
                if c // plain == copy:
                    code[(c % plain) * n + t] = k
            held = code[kind_of]
            inside = held >= 0
            sums = np.bincount(
                held[inside] * self.m + bin_of[inside],
                weight[inside],
                len(self.kinds) * self.m,
            )
            out += sums.reshape(out.shape)
        return out

    def columns(self, rows: ScoredRows) -> list[Floats]:
        """For each column of groups the weight (values * 3, m) by value, true class and bin."""
        bin_of = self.of(rows.evidence.scores)
        true = rows.evidence.rows.true.astype(np.int64)
        out: list[Floats] = []
        for group in rows.groups:
            code = (group.codes * 3 + true) * self.m + bin_of
            size = 3 * len(group.values)
            sums: Floats = np.bincount(code, rows.weight, size * self.m).astype(np.float64)
            out.append(sums.reshape(size, self.m))
        return out

    def payload(self, columns: list[Floats]) -> dict[str, Any]:
        """What the page reads."""
        return {
            "thresholds": packed(self.thresholds),
            "open": packed(self.is_open) if self.is_open.any() else None,
            **self.tally(np.diff(self.counts, axis=1), columns),
        }

    def tally(self, counts: Floats, columns: list[Floats]) -> dict[str, Any]:
        """What is counted in the bins: of other rows nothing else is written."""
        return {
            "m": self.m,
            "counts": packed(counts),
            "columns": [packed(c) for c in columns],
        }
