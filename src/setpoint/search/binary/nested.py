"""Windows of cut-offs that are certified: no path to learn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Counted, Curve
from setpoint.guarantees import AllHold, Part, Requirement, RuleTests
from setpoint.inference import CountedRates, added_by, rounded, successes_needed, trials_of
from setpoint.search.binary.cutoffs import CutoffSet

_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class MonotoneConstraint:
    """A statement that loosens as the threshold of a segment moves one way."""

    segment: int
    rises: bool
    good: NDArray[np.bool_]
    trials: int
    share: float
    constraint: int

    def successes(self, curve: Curve) -> NDArray[np.int64]:
        """The successes at every cut-off of its segment."""
        good = np.array([self.good[c, t] for c, t in curve.kinds], float)
        # Rejected successes become accepted ones as the threshold falls, or the other way round.
        successes = (good[:, 1] - good[:, 0]) @ curve.counts + good[:, 0] @ curve.counts[:, -1]
        return np.asarray(np.rint(successes), np.int64)


def monotone_constraints(evidence: Counted, tests: RuleTests) -> list[MonotoneConstraint]:
    """The statements of a promise, where each loosens as one threshold moves one way; else none."""
    if evidence.is_weighted or evidence.n_scores is not None or evidence.codebook.defers:
        return []
    # Trials and directions are the same whoever is accepted.
    counted = tests.counted(
        evidence.confusion_of_accepted(np.zeros(evidence.marginals.weights.shape))
    )
    out = []
    for i, part in enumerate(tests.parts):
        for x in () if part is None else _statements(part):
            one = None if x is None else _monotone(evidence, counted, x, i)
            if one is None:
                return []
            out.append(one)
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


def _monotone(
    evidence: Counted, counted: CountedRates, x: Requirement, number: int
) -> MonotoneConstraint | None:
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
    return MonotoneConstraint(int(segments[0]), rises, added > 0, found.trials, found.share, number)


def _added(counted: CountedRates, x: Requirement) -> Floats | None:
    """What a row adds to the sum that has to be at least 0 (strata, n + 1, n)."""
    fraction = counted.fraction(x.function)
    if fraction is None:
        return None
    return rounded(added_by(*fraction.entries, x.level, x.sign))


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
        ok = np.flatnonzero(side.successes(cuts.segments[side.segment].curve) >= least)
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
