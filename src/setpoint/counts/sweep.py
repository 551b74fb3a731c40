"""Sweeps over cut-offs: ratios of affine forms, ranks and bins."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.compiled import kernel
from setpoint.counts.confusion import INFINITE, NO_NUMBER
from setpoint.parameters import SATISFIED, TIED

if TYPE_CHECKING:
    from setpoint.counts.evidence import Evidence


# --- Ratios of affine forms over accepted counts, at every cut-off --------------------------------


ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Of what the terms of a form reach: what prefix sums leave of their own totals."""


class Ratios(NamedTuple):
    """An objective and the bounds on R other ratios over the counts of K kinds, for kernels."""

    forms: Floats
    zeros: Floats
    offsets: Floats
    lower: Floats
    upper: Floats


def zeros_of(forms: Floats, totals: Floats, rounding: float = ROUNDING) -> Floats:
    """Magnitude (...,) up to which forms (..., K + 1) are zero but for rounding."""
    zeros: Floats = rounding * (np.abs(forms) @ np.append(totals, 1.0))
    return zeros


@kernel(plain=True)
def affine(counts: Floats, start: int, size: int, form: Floats, out: Floats) -> None:
    """Values of a form at cut-offs start to start + size."""
    n_kinds = counts.shape[0]
    for i in range(size):
        out[i] = form[n_kinds]
    for k in range(n_kinds):
        slope = form[k]
        if slope != 0.0:
            row = counts[k, start : start + size]
            for i in range(size):
                out[i] += slope * row[i]


@kernel(plain=True, error_model="numpy")
def ratio(
    counts: Floats,
    start: int,
    size: int,
    forms: Floats,
    zero: Floats,
    offset: float,
    num: Floats,
    den: Floats,
    out: Floats,
) -> None:
    """Values of a ratio at cut-offs start to start + size; `num` and `den` are scratch."""
    affine(counts, start, size, forms[0], num)
    affine(counts, start, size, forms[1], den)
    for i in range(size):
        a, b = num[i], den[i]
        undefined = abs(b) <= zero[1]
        beyond = 0.0 if abs(a) <= zero[0] else np.copysign(np.inf, a)
        out[i] = offset + (beyond if undefined else a / b)


@kernel(error_model="numpy", inline="always")
def ratio_at(forms: Floats, zero: Floats, offset: float, x: float, y: float) -> float:
    """One ratio over two kinds, at accepted weights x and y."""
    a = forms[0, 2] + forms[0, 0] * x + forms[0, 1] * y
    b = forms[1, 2] + forms[1, 0] * x + forms[1, 1] * y
    if abs(b) > zero[1]:
        return float(offset + a / b)
    return float(offset if abs(a) <= zero[0] else offset + np.copysign(np.inf, a))


# --- Exact sweep of an objective and constraints over every cut-off -------------------------------


_BLOCK = 1024  # cut-offs at a time, a power of two: the buffers stay in the first cache


class BestCutoff(NamedTuple):
    """What a sweep found."""

    cutoff: int
    value: float
    n_feasible: int
    violation: float = 0.0
    below: int = -1
    above: int = -1


def best_of(
    counts: Floats,
    ratios: Ratios,
    *,
    required: Floats | None = None,
    tiebreak: Callable[[Codes], int] | None = None,
    near: int = -1,
    least_violation: bool = False,
) -> BestCutoff:
    """The best of some columns of counts.

    Examples
    --------
    >>> from setpoint.counts.sweep import zeros_of
    >>> counts = np.array([[0.0, 1.0, 1.0, 2.0], [0.0, 0.0, 1.0, 1.0]])
    >>> forms = np.array([[[0, 1, 0], [0, 0, 1.0]], [[0, 1, 0], [1, 1, 0]]])
    >>> ratios = Ratios(forms, zeros_of(forms, counts[:, -1]), np.zeros(2), np.array([0.9]),
    ...                 np.array([np.inf]))
    >>> found = best_of(counts, ratios, required=np.array([[1.0, 1.0, -2.0]]),
    ...                 least_violation=True)
    >>> found.cutoff, found.n_feasible, round(found.violation, 6)
    (2, 0, 0.4)
    """
    if required is None:
        required = np.empty((0, counts.shape[0] + 1))
    ties, values, n_feasible, below, above, least = sweep(
        counts, *ratios, required, SATISFIED, near, least_violation
    )
    if len(ties):
        at = 0 if tiebreak is None or len(ties) == 1 else tiebreak(ties)
        return BestCutoff(int(ties[at]), float(values[at]), n_feasible, 0.0, below, above)
    if least_violation:
        slack = least + TIED * (1.0 + least)
        ties, values, *_ = sweep(counts, *ratios, required, slack, -1, False)
    if not len(ties):
        return BestCutoff(-1, -np.inf, 0, np.inf)
    at = 0 if tiebreak is None else tiebreak(ties)
    index, value = int(ties[at]), float(values[at])
    there = np.ascontiguousarray(counts[:, index : index + 1])
    *_, least = sweep(there, *ratios, required, SATISFIED, -1, True)
    return BestCutoff(index, value, 0, least)


@kernel(plain=True)
def _violations(
    counts: Floats,
    start: int,
    size: int,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
    required: Floats,
    num: Floats,
    den: Floats,
    val: Floats,
    worst: Floats,
) -> None:
    """The largest violation of each cut-off; not a number where it is left out, or a value none."""
    for i in range(size):
        worst[i] = 0.0
    for h in range(required.shape[0]):
        affine(counts, start, size, required[h], num)
        for i in range(size):
            worst[i] = worst[i] if num[i] >= -SATISFIED else np.nan
    for r in range(lower.size):
        ratio(counts, start, size, forms[r + 1], zeros[r + 1], offsets[r + 1], num, den, val)
        low, high = lower[r], upper[r]
        for i in range(size):
            # inf - inf is no larger, so that a bound met at infinity counts as met.
            short, past = low - val[i], val[i] - high
            most = short if short > worst[i] else worst[i]  # noqa: FURB136
            most = past if past > most else most  # noqa: FURB136
            worst[i] = np.nan if np.isnan(val[i]) else most


@kernel(plain=True)
def _largest(values: Floats, worst: Floats, slack: float, size: int) -> float:
    """Largest of the feasible values, -inf if none; overwrites `values`."""
    for i in range(size):
        values[i] = values[i] if worst[i] <= slack else -np.inf
    values[size:] = -np.inf
    half = values.size // 2
    while half > 0:  # halves against each other: vector instructions, unlike a running maximum
        for i in range(half):
            other = values[half + i]
            values[i] = max(values[i], other)
        half //= 2
    return float(values[0])


@kernel(plain=True)
def sweep(
    counts: Floats,
    forms: Floats,
    zeros: Floats,
    offsets: Floats,
    lower: Floats,
    upper: Floats,
    required: Floats,
    slack: float,
    near: int,
    find_least: bool,
) -> tuple[Codes, Floats, int, int, int, float]:
    """The kernel of :func:`best_of`: a bound may be missed by `slack`; if by more, by how much."""
    n_cutoffs = counts.shape[1]
    n_blocks = (n_cutoffs + _BLOCK - 1) // _BLOCK
    top = np.full(n_blocks, -np.inf)
    n_good = np.zeros(n_blocks, dtype=np.int64)
    num, den, val = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    worst = np.empty(_BLOCK)
    below, above, least = -1, -1, np.inf
    for block in range(n_blocks):
        start = block * _BLOCK
        size = min(_BLOCK, n_cutoffs - start)
        _violations(
            counts, start, size, forms, zeros, offsets, lower, upper, required,
            num, den, val, worst,
        )  # fmt: skip
        n = 0
        for i in range(size):
            n += worst[i] <= slack
        n_good[block] = n
        if n:
            ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
            top[block] = _largest(val, worst, slack, size)
            if near >= 0 and above < 0:
                for i in range(size):
                    if worst[i] <= slack and start + i < near:
                        below = start + i
                    elif worst[i] <= slack and above < 0:
                        above = start + i
        elif find_least:
            for i in range(size):
                least = worst[i] if worst[i] < least else least  # noqa: FURB136
    n_feasible = n_good.sum()
    if n_feasible == 0:
        return np.empty(0, np.int64), np.empty(0), 0, -1, -1, least

    # Ties are judged against the best of all, not along the way: closeness is not
    # transitive. Only blocks that reach it are looked at again.
    best = top.max()
    level = best if np.isinf(best) else best - TIED * (1.0 + abs(best))
    ties, values, n_ties = np.empty(n_feasible, np.int64), np.empty(n_feasible), 0
    for block in range(n_blocks):
        if n_good[block] == 0 or top[block] < level:
            continue
        start = block * _BLOCK
        size = min(_BLOCK, n_cutoffs - start)
        _violations(
            counts, start, size, forms, zeros, offsets, lower, upper, required,
            num, den, val, worst,
        )  # fmt: skip
        ratio(counts, start, size, forms[0], zeros[0], offsets[0], num, den, val)
        for i in range(size):
            if worst[i] <= slack and val[i] >= level:
                ties[n_ties], values[n_ties] = start + i, val[i]
                n_ties += 1
    return ties[:n_ties].copy(), values[:n_ties].copy(), n_feasible, below, above, 0.0


# --- Rows ranked by how far one answer leads ------------------------------------------------------


class RankedCuts:
    """The cuts along the lead of one answer over the best other one, in one segment."""

    def __init__(self, leads: Floats, gains: Floats) -> None:
        order = np.argsort(-leads, kind="stable")
        ranked = leads[order]
        ends = np.append(np.flatnonzero(ranked[1:] != ranked[:-1]), len(ranked) - 1)
        self.leads = ranked[ends]
        sums = np.cumsum(gains[order], axis=0)[ends]
        self.sums = np.concatenate([np.zeros((1, gains.shape[1])), sums])

    @property
    def present(self) -> int:
        """The cut that is there: a lead above 0."""
        return int(np.searchsorted(-self.leads, 0.0, side="left"))

    def lead(self, cut: int) -> float:
        """A lead that as many blocks lie above."""
        if cut == 0:
            return float(self.leads[0]) + 1.0
        if cut == len(self.leads):
            return float(self.leads[-1]) - 1.0
        return float(0.5 * (self.leads[cut - 1] + self.leads[cut]))


class RankedAnswers:
    """Totals of answers, which can be shifted, and what the answers add to some sums.

    Examples
    --------
    >>> from setpoint.counts import Evidence
    >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]))
    >>> accepted = np.zeros((1, 1, 3, 2))
    >>> accepted[..., 1] = 1.0
    >>> ranked = RankedAnswers(rows, effects_of(rows, accepted), [rows.columns])
    >>> ranked.sums, ranked.cuts(0, 1)[0].sums[:, 0]
    (array([[1.]]), array([0., 1., 2.]))
    """

    def __init__(self, evidence: Evidence, effects: Floats, totals: list[Floats]) -> None:
        self.n = evidence.n_classes
        self._segments = evidence.by_segment.rows
        self._effects = effects
        self._totals = totals
        self.shifts = np.zeros((len(totals), self.n))
        self.sums = np.array([self._sum(s) for s in range(len(totals))])

    def cuts(self, segment: int, code: int) -> tuple[RankedCuts, Floats]:
        """The cuts of one answer, and what the segment's rows add (d,) where none gets it."""
        effects, totals = self._effects[:, self._segments[segment]], self._totals[segment].copy()
        own, at = totals[:, code].copy(), np.arange(len(totals))
        totals[:, code] = -np.inf
        other = totals.argmax(axis=1)
        without = effects[other, at]
        cuts = RankedCuts(own - totals[at, other], effects[code] - without)
        return cuts, np.asarray(without.sum(axis=0))

    def shift(self, segment: int, code: int, by: float) -> None:
        """Make the totals of one answer smaller."""
        self.shifts[segment, code] += by
        self._totals[segment][:, code] -= by
        self.sums[segment] = self._sum(segment)

    def _sum(self, segment: int) -> Floats:
        decided = self._totals[segment].argmax(axis=1)
        effects = self._effects[:, self._segments[segment]]
        return np.asarray(effects[decided, np.arange(len(decided))].sum(axis=0))


def effects_of(evidence: Evidence, tensors: Floats) -> Floats:
    """What each answer adds to some sums (n, N, d) on each row."""
    rows, n, plain = evidence.rows, evidence.n_classes, evidence.codebook.n_plain
    if evidence.credit.by_posteriors:
        credit = evidence.posteriors
    else:
        credit = np.zeros((evidence.n_rows, n + 1))
        credit[np.arange(evidence.n_rows), rows.true] = 1.0
    weights = [np.ones(evidence.n_rows) if rows.weight is None else rows.weight, *rows.by_measure]
    out = np.zeros((n, evidence.n_rows, len(tensors)))
    for k, weight in enumerate(weights):
        for c in range(plain):
            own = slice(None) if plain == 1 else rows.stratum == c
            for code in range(n):
                of = tensors[:, c + k * plain, : credit.shape[1], code]
                if of.any():
                    out[code, own] += (credit[own] @ of.T) * weight[own, None]
    return out


# --- Binnings: non-decreasing functions from scores to whole numbers ------------------------------


PIECES = 10
"""Pieces of a binning: an engine finds the piece of a row with three or four comparisons."""

_LARGEST = 1e300
"""A scale or a width beyond it may overflow: such a piece is one bin."""

_MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF


@dataclass(frozen=True, eq=False)
class Binning:
    """Pieces of the line, each cut into equal bins.

    Examples
    --------
    >>> binning = Binning(np.array([0.0, 0.5, 1.0]), np.array([2, 1]))
    >>> binning.of(np.array([-3.0, 0.1, 0.3, 0.5, 0.9, 1.0, 7.0]))
    array([0, 0, 1, 3, 3, 3, 3])
    """

    edges: Floats
    parts: Codes

    @property
    def first(self) -> Codes:
        """Number of the first bin of each piece (J,); rounding may put a score one bin higher."""
        return np.append(0, np.cumsum(self.parts[:-1] + 1))

    @property
    def scale(self) -> Floats:
        """Bins of each piece in a unit of score (J,); 0 where the piece is one bin."""
        with np.errstate(over="ignore"):
            width = np.diff(self.edges)
            scale = self.parts / width
        fine = (width < _LARGEST) & (scale < _LARGEST) & (self.parts > 1)
        return np.where(fine, scale, 0.0)

    @property
    def n_bins(self) -> int:
        """Numbers of bins are below it."""
        return int((self.parts + 1).sum())

    def of(self, scores: Floats) -> Codes:
        """The bin of each score (N,); of NaN and infinity a number below 0."""
        out = np.empty(len(scores), np.int64)
        _fill_bins(np.asarray(scores, np.float64), self.edges, self.first, self.scale, out)
        return out

    @classmethod
    def at(cls, thresholds: Floats) -> Binning:
        """Bins between finite thresholds: scores of one reach the same of them."""
        inner = np.unique(thresholds[np.isfinite(thresholds)])
        ends = inner[[0, -1]] if len(inner) else np.zeros(2)
        with np.errstate(over="ignore"):
            below, above = np.nextafter(ends, [-np.inf, np.inf])
        edges = np.concatenate([[below], inner, [above]])
        return cls(edges, np.ones(len(edges) - 1, np.int64))

    @classmethod
    def from_sample(cls, scores: Floats, n_bins: int, pieces: int = PIECES) -> Binning:
        """Pieces of about as many scores of a sample each; without a sample, bins for shares."""
        if not len(scores):
            return cls.default(n_bins)
        # A quarter of the pieces halves the top again and again: few rows are accepted there, and
        # scores thin out, so that equal bins of one piece would hold very different numbers.
        top = pieces // 4
        shares = np.linspace(0.0, 1.0, pieces - top + 1)
        shares = np.append(shares[:-1], 1.0 - (1.0 - shares[-2]) * 0.5 ** np.arange(1, top + 1))
        shares = np.append(shares, 1.0)
        edges = np.unique(np.quantile(scores, shares, method="lower"))
        return cls._even(edges, n_bins)

    @classmethod
    def default(cls, n_bins: int) -> Binning:
        """Bins for scores of any kind: most between 0 and 1, by powers of two beyond."""
        near = np.append(0.0, 2.0 ** -np.arange(11.0, 1.0, -1.0))
        beyond = 2.0 ** np.arange(0.0, 1000.0, 200.0)
        edges = np.unique(np.concatenate([-beyond, near, 1.0 - near, beyond]))
        return cls._even(edges, n_bins)

    @classmethod
    def from_ranges(cls, ranges: Sequence[tuple[float, float]], n_bins: int) -> Binning:
        """Bins inside some ranges (lowest, highest); every end of a range begins a piece."""
        ends = np.unique(np.array(ranges, np.float64).ravel())
        steps = max(min(256 // len(ranges), 64), 2)
        inner = [_steps(low, high, steps) for low, high in ranges]
        # The last end begins a piece, too: it is parted from the number just below it.
        beyond = [_score(_key(float(ends[-1])) + 1)]
        edges = np.unique(np.concatenate([ends, beyond, *inner]))
        return cls._even(edges[np.isfinite(edges)], max(n_bins, len(edges)))

    @classmethod
    def _even(cls, edges: Floats, n_bins: int) -> Binning:
        """As many bins in each piece; no piece is so wide that a difference overflows."""
        if edges[0] < -_LARGEST or edges[-1] > _LARGEST:
            edges = np.union1d(edges, [0.0])
        if len(edges) == 1:
            edges = np.append(edges, _score(_key(float(edges[0])) + 1))
        pieces = len(edges) - 1
        return cls(edges, np.full(pieces, max(n_bins // pieces, 1), np.int64))


@kernel(plain=True)
def _fill_bins(scores: Floats, edges: Floats, first: Codes, scale: Floats, out: Codes) -> None:
    last = first.size
    for i in range(scores.size):
        s = scores[i]
        if not np.isfinite(s):
            out[i] = NO_NUMBER if np.isnan(s) else INFINITE
            continue
        s = min(max(s, edges[0]), edges[last])
        low, high = 0, last - 1  # the last edge but one that is reached
        while low < high:
            middle = (low + high + 1) // 2
            if s >= edges[middle]:
                low = middle
            else:
                high = middle - 1
        offset = np.int64(np.floor((s - edges[low]) * scale[low])) if scale[low] > 0.0 else 0
        out[i] = first[low] + offset


def _steps(low: float, high: float, n: int) -> Floats:
    """Numbers between two at equal steps of the order of floats."""
    # Python's integers: differences of two keys pass 2**63.
    a, b = _key(low), _key(high)
    keys = sorted({a + (b - a) * i // n for i in range(1, n)} - {a, b})
    return np.array([_score(key) for key in keys], np.float64)


def _key(score: float) -> int:
    bits = int(np.float64(score).view(np.int64))
    return bits if bits >= 0 else -(bits & _MAGNITUDE)


def _score(key: int) -> float:
    magnitude = float(np.int64(abs(key)).view(np.float64))
    return magnitude if key >= 0 else -magnitude
