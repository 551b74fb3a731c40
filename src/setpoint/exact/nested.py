"""Windows of cut-offs that are certified: no path to learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Counted
from setpoint.exact.cutoffs import CutoffSet
from setpoint.guarantees import AllHold, Part, Requirement, RuleTests
from setpoint.inference import CountedRates, added_by, rounded, successes_needed, trials_of

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MonotoneConstraint:
    """A statement that loosens as one threshold moves one way."""

    segment: int
    rises: bool
    successes: NDArray[np.int64]
    trials: int
    share: float
    constraint: int


def sides_of(cuts: CutoffSet, tests: RuleTests) -> list[MonotoneConstraint] | None:
    """The statements of a promise, where each loosens as one threshold moves one way."""
    known = one_way_constraints(cuts.evidence, tests)
    return None if known is None else [_side(cuts, way) for way in known]


def nests(evidence: Counted, tests: RuleTests) -> bool:
    """Whether every constraint that is promised loosens as one threshold moves one way."""
    return bool(one_way_constraints(evidence, tests))


@dataclass(frozen=True, eq=False)
class _OneWay:
    """A statement that loosens as the threshold of a segment moves one way."""

    segment: int
    rises: bool
    good: NDArray[np.bool_]
    trials: int
    share: float
    constraint: int


def one_way_constraints(evidence: Counted, tests: RuleTests) -> list[_OneWay] | None:
    """Which way each statement of a promise loosens; None where one does not."""
    if evidence.is_weighted or evidence.n_scores is not None or evidence.codebook.defers:
        return None
    # Trials and directions are the same whoever is accepted.
    counted = tests.counted(
        evidence.confusion_of_accepted(np.zeros(evidence.marginals.weights.shape))
    )
    out = []
    for i, part in enumerate(tests.parts):
        for x in () if part is None else _statements(part):
            way = None if x is None else _way(evidence, counted, x, i)
            if way is None:
                return None
            out.append(way)
    return out


def _statements(part: Part) -> Iterator[Requirement | None]:
    """What all has to hold; None: one of several would do."""
    if isinstance(part, Requirement):
        yield part
    elif isinstance(part, AllHold):
        for inner in part.parts:
            yield from _statements(inner)
    else:
        yield None


def _way(evidence: Counted, counted: CountedRates, x: Requirement, number: int) -> _OneWay | None:
    added = _added(counted, x)
    found = trials_of(x.function, counted, x.relation, x.level)
    if found is None or added is None:
        return None
    strata, trues = np.nonzero(evidence.marginals.weights)
    own = added[strata, trues]
    of_segment = evidence.codebook.stratum_segment[strata]
    segments = np.unique(of_segment[own.any(axis=1)])
    gain = own[:, 1] - own[:, 0]
    rises = bool((gain >= 0).all())
    fixed = ((own[:, 0] != 0) == (own[:, 1] != 0)).all()
    if len(segments) != 1 or not fixed or not (rises or (gain <= 0).all()) or not gain.any():
        return None
    return _OneWay(int(segments[0]), rises, added > 0, found.trials, found.share, number)


def _side(cuts: CutoffSet, way: _OneWay) -> MonotoneConstraint:
    curve = cuts.segments[way.segment].curve
    good = np.array([way.good[c, t] for c, t in curve.kinds], float)
    # Rejected successes become accepted ones as the threshold falls, or the other way round.
    successes = (good[:, 1] - good[:, 0]) @ curve.counts + good[:, 0] @ curve.counts[:, -1]
    whole = np.rint(successes).astype(np.int64)
    return MonotoneConstraint(way.segment, way.rises, whole, way.trials, way.share, way.constraint)


def _added(counted: CountedRates, x: Requirement) -> Floats | None:
    """What a row adds to the sum that has to be at least 0 (strata, n + 1, n)."""
    weights = counted.fraction_of_entries(x.function)
    if weights is None:
        return None
    return rounded(added_by(*weights, x.level, x.sign))


def certified_windows(
    cuts: CutoffSet, tests: RuleTests, sides: list[MonotoneConstraint], next_rows: int | None = None
) -> list[tuple[int, int]] | None:
    """For each segment the first and the last certified cut-off; None where there is none."""
    windows = {(side.segment, side.rises) for side in sides}
    # The next rows have to meet every statement; on the population the first that fails counts.
    shares = len(windows) if next_rows is None else len(sides)
    first = [0] * len(cuts.segments)
    last = [s.curve.n_cutoffs - 1 for s in cuts.segments]
    for side in sides:
        level = tests.promise.levels[side.constraint]
        assert level is not None
        least = least_successes(side.trials, side.share, level / shares, next_rows)
        ok = np.flatnonzero(side.successes >= least)
        if not len(ok):
            return None
        if side.rises:
            first[side.segment] = max(first[side.segment], int(ok[0]))
        else:
            last[side.segment] = min(last[side.segment], int(ok[-1]))
    if any(a > b for a, b in zip(first, last, strict=True)):
        return None
    return list(zip(first, last, strict=True))


def least_successes(trials: int, share: float, level: float, next_rows: int | None = None) -> int:
    """The fewest successes that certify a share of successes; trials + 1 where none do.

    Examples
    --------
    >>> least_successes(29, 0.9, 0.05), least_successes(28, 0.9, 0.05)
    (29, 29)
    >>> least_successes(150, 0.9, 0.05, next_rows=100)
    144
    """
    if next_rows is None:
        return int(successes_needed([trials], share, level)[0])

    def enough(k: int) -> bool:
        from scipy.stats import betabinom

        allowed = np.floor((1.0 - share) * next_rows + _ROUNDING)
        law = betabinom(next_rows, trials - k + 1, k)
        return k > 0 and float(law.cdf(allowed)) >= 1.0 - level

    low, high = 0, trials + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
