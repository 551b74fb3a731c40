"""Ranges of functions of the rates over many boxes of accepted counts at once.

Counts only grow along a curve of cut-offs. Between two cut-offs they lie in the box between the
counts of the two, and so does whatever a threshold between them reaches.
"""

from __future__ import annotations

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.accepted_rates import AcceptedRates
from setpoint.program.functions import INF, Affine, Node, RateFunction, Ratio

__all__ = ["most_in_parts", "range_over_boxes"]

_STEPS = 6
"""Dinkelbach's method ends in so few over small boxes; it may stop anywhere."""
_MOST_PARTS, _MOST_CUTS = 2**18, 32
"""Parts of all boxes together, and cuts of one side."""
_ROUNDING = 1e-12
"""Of what the terms of a form reach: a bound is not missed by a last bit."""


def range_over_boxes(
    rows: AcceptedRates,
    x: RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Bounds (m,) on a function of the rates over boxes of accepted weights.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence.codebook import Codebook, Marginals
    >>> from setpoint.program.link import link
    >>> counts = Marginals(np.array([[6.0, 4.0, 0.0]]), np.array([[1.0, 1.0, np.inf]]))
    >>> for metric in ("recall", "precision"):
    ...     program = link(Goal.parse(f"maximize {metric}"), Codebook.of((0, 1))).at(counts)
    ...     rows = AcceptedRates(program.table, [(0, 0), (0, 1)])
    ...     low, high = np.array([[1.0], [3.0]]), np.array([[2.0], [4.0]])
    ...     print(np.round(range_over_boxes(rows, program.objective, low, high), 3).tolist())
    [[0.75], [1.0]]
    [[0.6], [0.8]]
    """
    if isinstance(x, Affine):
        least, most = _of_form(rows.form(x, rest), low, high)
    elif isinstance(x, Ratio):
        above, below = rows.form(x.above, rest), rows.form(x.below, rest)
        top = _most_of_ratio(above, below, low, high) + x.offset
        bottom = x.offset - _most_of_ratio(-above, below, low, high)
        if x.at_zero != x.offset:
            reaches = _of_form(below, low, high)[0] <= 0.0
            top = np.where(reaches, np.maximum(top, x.at_zero), top)
            bottom = np.where(reaches, np.minimum(bottom, x.at_zero), bottom)
        least, most = bottom, top
    else:
        assert isinstance(x, Node)
        parts = [range_over_boxes(rows, c, low, high, rest) for c in x.children]
        with np.errstate(all="ignore"):
            least, most = x.interval(*parts)
    least = np.where(np.isnan(least), -INF, least)
    most = np.where(np.isnan(most), INF, most)
    return np.maximum(least, x.low), np.minimum(most, x.high)


def most_in_parts(
    rows: AcceptedRates,
    x: RateFunction,
    low: Floats,
    high: Floats,
    rest: Floats | None = None,
) -> Floats:
    """An upper bound (m,) on a function over boxes, each cut into parts."""
    kinds, m = low.shape
    cuts = int((_MOST_PARTS / max(m, 1)) ** (1.0 / max(kinds, 1)))
    if isinstance(x, (Affine, Ratio)) or cuts < 2 or not m:
        return range_over_boxes(rows, x, low, high, rest)[1]
    cuts = min(cuts, _MOST_CUTS)
    steps = np.stack(np.meshgrid(*[np.arange(cuts)] * kinds, indexing="ij")).reshape(kinds, 1, -1)
    width = ((high - low) / cuts)[:, :, None]
    first = low[:, :, None] + width * steps
    last = np.where(steps == cuts - 1, high[:, :, None], low[:, :, None] + width * (steps + 1))
    most = range_over_boxes(rows, x, first.reshape(kinds, -1), last.reshape(kinds, -1), rest)[1]
    return np.asarray(most.reshape(m, -1).max(axis=1))


def _of_form(form: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """The range of an affine form over each box: at one corner for each end."""
    slopes = form[:-1, None]
    a, b = slopes * low, slopes * high
    room = _ROUNDING * (np.abs(b).sum(axis=0) + abs(form[-1]))
    least = np.minimum(a, b).sum(axis=0) + form[-1] - room
    return least, np.maximum(a, b).sum(axis=0) + form[-1] + room


def _most_of_ratio(above: Floats, below: Floats, low: Floats, high: Floats) -> Floats:
    """A bound on the largest ``A/B`` over each box, for B at least 0; 0/0 is 0."""
    a, b = above[:-1, None], below[:-1, None]
    smallest = _of_form(below, low, high)[0]
    with np.errstate(all="ignore"):
        g = np.zeros(low.shape[1])
        for _ in range(_STEPS):
            corner = np.where(a - g * b > 0.0, high, low)
            top, bottom = (a * corner).sum(axis=0), (b * corner).sum(axis=0)
            new = (top + above[-1]) / (bottom + below[-1])
            g = np.where(np.isfinite(new), new, g)
        left = _most_of(a - g * b, above[-1] - g * below[-1], low, high)
        bound = g + np.maximum(left, 0.0) / smallest
        # Without a smallest B, the sign of A is all that is known.
        positive = _most_of(a, above[-1], low, high) > 0.0
        unknown = np.where(positive, INF, 0.0)
    return np.where((smallest > 0.0) & np.isfinite(bound), bound, unknown)


def _most_of(slopes: Floats, const: Floats | float, low: Floats, high: Floats) -> Floats:
    """The largest ``slopes @ S + const`` over each box, with room for rounding."""
    a, b = slopes * low, slopes * high
    room = _ROUNDING * (np.abs(b).sum(axis=0) + np.abs(const))
    return np.asarray(np.maximum(a, b).sum(axis=0) + const + room)
