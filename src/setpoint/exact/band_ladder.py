"""Ladders over pairs of cut-offs: each rung the best band with a margin, found by trying pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence import Counted, Curve
from setpoint.exact.cutoff_pairs import CutoffPairs
from setpoint.guarantees.ladder import Rung, rungs_of
from setpoint.guarantees.promise import RuleTests
from setpoint.rules import Band

__all__ = ["band_ladder"]

_MOST = 250
"""Cut-offs of one segment whose pairs are tried; of more some are left out."""

_CLOSE = 25
"""Of these, so many on either side of each cut-off of the rule that was found."""


def band_ladder(tests: RuleTests, evidence: Counted, times: Floats, near: Band) -> list[Rung]:
    """The rungs over bands of one segment, from safe to bold."""
    pairs = CutoffPairs(tests.program.table, evidence)
    if pairs.n_blocks > 1:
        raise InputError(f"bands of {pairs.n_blocks} segments are too many to try them all")
    (segment,) = pairs.segments
    some = _some(segment.curve, near)
    at_high, at_low = np.triu_indices(len(some))
    high, low = some[at_high], some[at_low]
    counts = _counts(segment.curve, len(evidence.strata), high, low)
    nobody = pairs.confusion(pairs.constants()[0])
    margins, scores = tests.margins(counts, nobody, times), tests.scores(counts)
    out = []
    for i in rungs_of(margins, scores).tolist():
        choice = [{segment.number(int(high[i]), int(low[i])): 1.0}]
        out.append(
            Rung(pairs.rule(choice), float(margins[i]), float(scores[i]), pairs.confusion(choice))
        )
    return out


def _some(curve: Curve, near: Band) -> NDArray[np.int64]:
    """Cut-offs to try, ascending: all where they are few."""
    n = curve.n_cutoffs
    if n <= _MOST:
        return np.arange(n)
    thresholds = -np.array([curve.threshold(k) for k in range(n)])  # they fall
    own = np.searchsorted(thresholds, [-near.high, -near.low])
    close = (own[:, None] + np.arange(-_CLOSE, _CLOSE + 1)).ravel()
    spread = np.linspace(0, n - 1, _MOST - len(close)).astype(np.int64)
    return np.unique(np.concatenate([close[(close >= 0) & (close < n)], spread]))


def _counts(curve: Curve, n_strata: int, high: NDArray[np.int64], low: NDArray[np.int64]) -> Floats:
    """What bands do (entries, m), by stratum, true class and answer."""
    out = np.zeros((n_strata, 4, 3, len(high)))
    for (stratum, true), counts in zip(curve.kinds, curve.counts, strict=True):
        accepted, decided = counts[high], counts[low]
        out[stratum, true, 1] = accepted
        out[stratum, true, 2] = decided - accepted
        out[stratum, true, 0] = counts[-1] - decided
    return out.reshape(-1, len(high))
