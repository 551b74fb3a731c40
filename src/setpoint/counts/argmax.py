"""The oracle's kernel: weighted argmax and its features, fused, over class-major scores.

Blocks of rows are decided class by class without a branch, then counted. Which row is
added where is fixed by its place, not by the width of a vector register. Rows of one segment
lie side by side, so that no row looks up what decides it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from setpoint.array_types import Bools, Codes, Floats, Integers
from setpoint.compiled import kernel
from setpoint.errors import InputError

if TYPE_CHECKING:
    from setpoint.counts.evidence import Evidence


# An addition waits for the last one to the same bin, so row i adds in lane i % 4 and the
# lanes are summed at the end. Among many bins the last one was seldom the same.
_LANES = 4
_MANY = 4096
_BLOCK = 1024  # rows at a time: best and decided class stay in the first cache
_MASKED = 4  # classes up to which counting by masks beats adding into bins


def argmax_features(
    scores_cm: Floats,
    W: Floats,
    B: Floats,
    starts: Integers | None = None,
    stratum: Integers | None = None,
    true: Integers | None = None,
    weight: Floats | None = None,
    n_strata: int = 1,
    *,
    soft: bool = False,
) -> tuple[Floats, Floats]:
    """Weighted argmax and its diagonal and column features in one pass: the oracle.

    Examples
    --------
    >>> eta = np.array([[0.7, 0.4, 0.5], [0.3, 0.6, 0.5]])
    >>> one, zero = np.ones((1, 2)), np.zeros((1, 2))
    >>> argmax_features(eta, one, zero, true=np.array([0, 0, 0]))
    (array([[2., 0.]]), array([[2., 1.]]))
    >>> argmax_features(eta, one, zero, soft=True)[0]
    array([[1.2, 0.6]])
    """
    scores_cm = np.ascontiguousarray(scores_cm, dtype=np.float64)
    W = np.ascontiguousarray(W, dtype=np.float64)
    B = np.ascontiguousarray(B, dtype=np.float64)
    n = scores_cm.shape[0]
    if W.shape != B.shape or W.ndim != 2 or W.shape[1] != n or not 0 < n < 1 << 16:
        raise InputError(f"W {W.shape} and B {B.shape} must be (n_segments, {n}), n below 65,536")
    true = None if soft else true
    ends = np.array([0, scores_cm.shape[1]] if starts is None else starts, np.int64)
    best = np.empty(_BLOCK)
    # Narrow classes keep the select narrow: two to three times faster than int64.
    pred: Integers = np.empty(_BLOCK, np.uint8 if n <= 256 else np.uint16)
    if stratum is None and n <= _MASKED:
        diag, col = np.zeros((n_strata, n)), np.zeros((n_strata, n))
        diag[0], col[0] = _features_masked(scores_cm, W, B, ends, true, weight, best, pred)
        return diag, col
    lanes = _LANES if n_strata * n <= _MANY else 1
    bins = np.zeros((2, lanes, n_strata * n))
    _features(scores_cm, W, B, ends, stratum, true, weight, best, pred, bins[0], bins[1])
    diag, col = bins[:, 0] if lanes == 1 else bins.sum(axis=1)
    return diag.reshape(n_strata, n), col.reshape(n_strata, n)


@kernel(plain=True)
def _decide(
    scores: Floats,
    W: Floats,
    B: Floats,
    segment: int,
    start: int,
    size: int,
    best: Floats,
    pred: Integers,
) -> None:
    """Decide rows of one segment. Four classes a sweep spare three of four stores."""
    n = scores.shape[0]
    stop = start + size
    w, b, row = W[segment, 0], B[segment, 0], scores[0, start:stop]
    for i in range(size):
        best[i] = w * row[i] - b
        pred[i] = 0
    j = 1
    while j + 4 <= n:
        w0, w1, w2, w3 = W[segment, j], W[segment, j + 1], W[segment, j + 2], W[segment, j + 3]
        b0, b1, b2, b3 = B[segment, j], B[segment, j + 1], B[segment, j + 2], B[segment, j + 3]
        r0, r1 = scores[j, start:stop], scores[j + 1, start:stop]
        r2, r3 = scores[j + 2, start:stop], scores[j + 3, start:stop]
        for i in range(size):
            top, choice = best[i], int(pred[i])
            value = w0 * r0[i] - b0
            choice, top = (j, value) if value > top else (choice, top)
            value = w1 * r1[i] - b1
            choice, top = (j + 1, value) if value > top else (choice, top)
            value = w2 * r2[i] - b2
            choice, top = (j + 2, value) if value > top else (choice, top)
            value = w3 * r3[i] - b3
            choice, top = (j + 3, value) if value > top else (choice, top)
            best[i], pred[i] = top, choice
        j += 4
    while j < n:
        w, b, row = W[segment, j], B[segment, j], scores[j, start:stop]
        for i in range(size):
            top, choice = best[i], int(pred[i])
            value = w * row[i] - b
            choice, top = (j, value) if value > top else (choice, top)
            best[i], pred[i] = top, choice
        j += 1


@kernel(plain=True)
def _features(
    scores: Floats,
    W: Floats,
    B: Floats,
    starts: Codes,
    stratum: Integers | None,
    true: Integers | None,
    weight: Floats | None,
    best: Floats,
    pred: Integers,
    diag: Floats,
    col: Floats,
) -> None:
    """Add into diag and col (lanes, strata * n)."""
    n, last = scores.shape[0], len(diag) - 1
    for segment in range(len(W)):
        stop = starts[segment + 1]
        for start in range(starts[segment], stop, _BLOCK):
            size = min(_BLOCK, stop - start)
            _decide(scores, W, B, segment, start, size, best, pred)
            for i in range(size):
                row = start + i
                j = np.uint64(pred[i])
                gain = scores[j, row] if true is None else np.float64(true[row] == j)
                at = j if stratum is None else np.uint64(stratum[row]) * np.uint64(n) + j
                w = 1.0 if weight is None else weight[row]
                diag[i & last, at] += w * gain
                col[i & last, at] += w


@kernel()
def _features_masked(
    scores: Floats,
    W: Floats,
    B: Floats,
    starts: Codes,
    true: Integers | None,
    weight: Floats | None,
    best: Floats,
    pred: Integers,
) -> tuple[Floats, Floats]:
    """As `_features` for few classes and one stratum: a lane for each place in a block."""
    n = scores.shape[0]
    diag = np.zeros((n, _BLOCK))
    col = np.zeros((n, _BLOCK))
    for segment in range(len(W)):
        for start in range(starts[segment], starts[segment + 1], _BLOCK):
            stop = min(start + _BLOCK, starts[segment + 1])
            size = stop - start
            _decide(scores, W, B, segment, start, size, best, pred)
            for j in range(n):
                credit, held = diag[j], col[j]
                row = scores[j, start:stop]
                labels = None if true is None else true[start:stop]
                weights = None if weight is None else weight[start:stop]
                for i in range(size):
                    w = 1.0 if weights is None else weights[i]
                    w = w if pred[i] == j else 0.0
                    held[i] += w
                    if labels is None:
                        credit[i] += w * row[i]
                    else:
                        credit[i] += w if labels[i] == j else 0.0
    return diag.sum(axis=1), col.sum(axis=1)


# --- Blocks: rows that are counted apart ----------------------------------------------------------


class Blocks(NamedTuple):
    """Rows that are counted apart."""

    code: Integers | None
    n: int


ONE_BLOCK = Blocks(None, 1)


class BlockCodes:
    """Block and stratum of each row as one code, kept for the blocks asked for last."""

    def __init__(self, stratum: Codes, n_strata: int, order: Codes | slice = slice(None)) -> None:
        self.n_strata = n_strata
        self._stratum = stratum[order]
        self._order = order
        self._last: tuple[Integers, int, Codes] | None = None

    def of(self, block: Integers | None, n_blocks: int) -> Codes | None:
        """``block * n_strata + stratum`` (N,) in order; None where that is 0 everywhere."""
        if block is None or n_blocks == 1:
            return None if self.n_strata == 1 else self._stratum
        last = self._last
        if last is not None and last[0] is block and last[1] == n_blocks:
            return last[2]
        if block.shape != self._stratum.shape:
            raise InputError(f"blocks {block.shape} are not those of {self._stratum.size} rows")
        if block.size and not 0 <= int(block.min()) <= int(block.max()) < n_blocks:
            raise InputError(f"`blocks` must lie within [0, {n_blocks})")
        code = block[self._order].astype(np.int64) * self.n_strata + self._stratum
        self._last = block, n_blocks, code
        return code


# --- Decisions of a loss tensor: a matrix product in blocks ---------------------------------------


_TOTALS = 1 << 16
"""Totals of one block: they stay in the second cache."""
_ROUNDING = 2.0**-51
"""Of a product and its sum, twice over."""
_LEAST, _MOST = 256, 8192
"""Rows of one block: below, the product is slow; above, the calls no longer cost."""


def decide_by_segment(scores_cm: Floats, starts: Codes, G: Floats) -> Codes:
    """``argmax_j (scores @ G[segment])_j`` of rows in the order of their segments.

    Examples
    --------
    >>> eta = np.array([[0.7, 0.4], [0.3, 0.6]])
    >>> decide_by_segment(eta, np.array([0, 2]), np.array([[[1.0, 0.0], [0.0, 3.0]]]))
    array([1, 1])
    """
    out = np.empty(scores_cm.shape[1], np.int64)
    n = G.shape[2]
    rows = min(max(_TOTALS // n, _LEAST), _MOST)
    flat, best, near = np.empty(n * rows), np.empty(rows), np.empty(rows)
    one, zero = np.ones((1, n)), np.zeros((1, n))
    for segment, turned in enumerate(np.ascontiguousarray(np.swapaxes(G, 1, 2), np.float64)):
        last = int(starts[segment + 1])
        for start in range(int(starts[segment]), last, rows):
            stop = min(start + rows, last)
            totals = flat[: n * (stop - start)].reshape(n, stop - start)
            block = scores_cm[:, start:stop]
            np.matmul(turned, block, out=totals)
            _decide(totals, one, zero, 0, 0, stop - start, best, out[start:stop])
            reach = np.abs(turned).max() * max(block.max(), -block.min())
            margin = _ROUNDING * len(block) ** 2 * reach
            _settle(totals, block, turned, margin, best, near, out[start:stop])
    return out


@kernel()
def _settle(
    totals: Floats,
    scores: Floats,
    turned: Floats,
    margin: float,
    best: Floats,
    near: Floats,
    out: Codes,
) -> None:
    """Decide anew between the classes whose totals are within a margin of the best."""
    n, size = totals.shape
    for i in range(size):
        best[i] -= margin
        near[i] = 0.0
    for j in range(n):
        row = totals[j]
        for i in range(size):
            # In floats: the loop then runs four rows at a time.
            near[i] += 1.0 if row[i] >= best[i] else 0.0
    for i in range(size):
        if near[i] < 2.0:
            continue
        choice, top = -1, 0.0
        for j in range(n):
            if totals[j, i] >= best[i]:
                total = 0.0
                for k in range(len(scores)):
                    total += scores[k, i] * turned[j, k]
                if choice < 0 or total > top:
                    choice, top = j, total
        out[i] = choice


# --- Columns of scores: posteriors ----------------------------------------------------------------


def side_by_side(scores: Floats, values: Sequence[Floats]) -> Floats:
    """Posteriors with columns of values behind them (N, n + values).

    Examples
    --------
    >>> side_by_side(np.array([0.25]), [np.array([8.0])])
    array([[0.75, 0.25, 8.  ]])
    """
    both = np.column_stack([1.0 - scores, scores]) if scores.ndim == 1 else scores
    return np.column_stack([both, *values])


class ScoreColumns(NamedTuple):
    """What the columns of scores (N, n + values) are, and what totals are linear in.

    Examples
    --------
    >>> scores = np.array([[0.75, 0.25, 8.0]])
    >>> ScoreColumns(2, False, ("amount",)).expanded(scores)
    array([[0.75, 0.25, 6.  , 2.  ]])
    >>> ScoreColumns(2, True).expanded(scores[:, :2])
    array([[0.75, 0.25, 0.  ]])
    """

    n_labels: int
    defers: bool = False
    values: tuple[str, ...] = ()

    def posteriors(self, scores: Floats) -> Floats:
        """The posteriors (N, n), with a column of zeros where rules may defer."""
        if not (self.values or self.defers):
            return scores
        own = scores[:, : self.n_labels]
        if not self.defers:
            return np.ascontiguousarray(own)
        return np.concatenate([own, np.zeros((len(own), 1))], axis=1)

    def expanded(self, scores: Floats) -> Floats:
        """What totals are linear in (N, n * (1 + values)): posteriors, and these times values."""
        own = self.posteriors(scores)
        if not self.values:
            return own
        values = [scores[:, [self.n_labels + k]] for k in range(len(self.values))]
        return np.concatenate([own, *(own * x for x in values)], axis=1)

    def rows_of(self, G: Floats) -> Floats:
        """The rows of a matrix (n * (1 + values), n) that refer to classes of rows.

        Examples
        --------
        >>> ScoreColumns(2, True).rows_of(np.arange(9.0).reshape(3, 3))
        array([[0., 1., 2.],
               [3., 4., 5.]])
        """
        if not self.defers:
            return G
        parts = G.reshape(1 + len(self.values), self.n_labels + 1, -1)
        return np.asarray(parts[:, : self.n_labels].reshape(-1, G.shape[-1]))


# --- Rows from the surest to the least sure, by their largest posterior ---------------------------


class Surest(NamedTuple):
    """Sums over the rows whose largest posterior is no smaller than one after the other."""

    rows: Codes
    weight: Floats
    known: Floats
    wrong: Floats
    total: float


def surest_first(evidence: Evidence, strata: Bools, segment: int) -> Surest:
    """The rows of some strata in one segment; equal posteriors stand together.

    Examples
    --------
    >>> from setpoint.counts import Evidence
    >>> eta = np.array([[0.9, 0.1], [0.4, 0.6], [0.3, 0.7]])
    >>> rows = Evidence.from_arrays((0, 1), eta, np.array([0, 0, 1]))
    >>> surest_first(rows, np.array([True]), 0).wrong
    array([0., 0., 1.])
    """
    rows, n = evidence.rows, len(evidence.codebook.labels)
    posterior = evidence.credit.class_posteriors(rows, evidence.posteriors)[:, :n]
    at = np.flatnonzero(strata[rows.stratum] & (rows.segment == segment))
    weight = np.ones(len(at)) if rows.weight is None else rows.weight[at]
    top = posterior[at].max(axis=1)
    order = np.argsort(-top, kind="stable")
    top, weight, at = top[order], weight[order], at[order]
    true = rows.true[at]
    known = weight * (true < n)
    wrong = known * (posterior[at].argmax(axis=1) != true)
    last = np.append(top[1:] < top[:-1], True)
    held, labelled, missed = (np.cumsum(x)[last] for x in (weight, known, wrong))
    return Surest(np.flatnonzero(last) + 1, held, labelled, missed, float(weight.sum()))
