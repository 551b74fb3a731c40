"""Ladders over cut-offs: each rung the best thresholds with a margin, found by trying them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.evidence import Counted
from setpoint.exact.cutoff_set import CutoffSet, Segment
from setpoint.guarantees.ladder import Rung, rungs_of
from setpoint.guarantees.promise import RuleTests

__all__ = ["MOST_SEGMENTS", "cutoff_ladder"]

MOST_SEGMENTS = 2
"""Of more thresholds there are too many combinations to try."""

_MOST = (20_000, 447)
"""Cut-offs that are tried, of one segment and of each of two: of more some are left out."""

_TOP = 0.1
"""The share of these that are the first ones, where few rows are accepted."""


def cutoff_ladder(
    tests: RuleTests,
    evidence: Counted,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> list[Rung]:
    """The rungs over thresholds of one segment or two, from safe to bold."""
    cuts = CutoffSet(tests.program.table, evidence)
    if cuts.n_blocks > MOST_SEGMENTS:
        raise InputError(f"thresholds of {cuts.n_blocks} segments are too many to try them all")
    shape = len(evidence.strata), 3, 2
    numbers = [_some(s.curve.n_cutoffs, _MOST[cuts.n_blocks - 1]) for s in cuts.segments]
    parts = [_counts(s, n, shape) for s, n in zip(cuts.segments, numbers, strict=True)]
    choices = np.stack(np.meshgrid(*(np.arange(len(n)) for n in numbers), indexing="ij"))
    choices = choices.reshape(len(numbers), -1)
    counts = sum(part[:, at] for part, at in zip(parts, choices, strict=True))
    assert isinstance(counts, np.ndarray)
    nobody = cuts.confusion(cuts.constants()[0])
    margins, scores = tests.margins(counts, nobody, times), tests.scores(counts)
    if allowed is not None:
        margins = np.where(allowed(counts), margins, -np.inf)
    out = []
    for i in rungs_of(margins, scores).tolist():
        choice = [{int(n[c]): 1.0} for n, c in zip(numbers, choices[:, i], strict=True)]
        out.append(
            Rung(cuts.rule(choice), float(margins[i]), float(scores[i]), cuts.confusion(choice))
        )
    return out


def _some(n_cutoffs: int, most: int) -> NDArray[np.int64]:
    """Cut-offs to try: all where they are few."""
    if n_cutoffs <= most:
        return np.arange(n_cutoffs)
    first = int(_TOP * most)
    rest = np.linspace(first, n_cutoffs - 1, most - first)
    return np.concatenate([np.arange(first), rest.astype(np.int64)])


def _counts(segment: Segment, cutoffs: NDArray[np.int64], shape: tuple[int, ...]) -> Floats:
    """What the cut-offs of a segment do (entries, m), by stratum, true and decided class."""
    out = np.zeros((*shape, len(cutoffs)))
    curve = segment.curve
    for (stratum, true), counts in zip(curve.kinds, curve.counts, strict=True):
        out[stratum, true, 1] = counts[cutoffs]
        out[stratum, true, 0] = counts[-1] - counts[cutoffs]
    return out.reshape(-1, len(cutoffs))
