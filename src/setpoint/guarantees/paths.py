"""Paths of rules from safe to bold, over cut-offs; windows of cut-offs that are certified."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.special import ndtr
from sklearn.isotonic import isotonic_regression

from setpoint.array_types import Floats
from setpoint.counts import Confusion, Counted, Curve, Evidence
from setpoint.errors import InputError
from setpoint.guarantees.promise import RuleTests, Tried
from setpoint.guarantees.requirements import Requirement, leaves, needs_one_of_several
from setpoint.inference import CountedRates, Trials, quantile, rounded
from setpoint.rules import Band, Rule, Threshold
from setpoint.search import CutoffSet, Segment

# --- Paths: rules from safe to bold, to be tested one after the other -----------------------------


MARGINS: Floats = np.concatenate(
    [
        np.geomspace(60.0, 6.0, 14),
        np.arange(5.75, -3.0, -0.25),
        -np.geomspace(3.0, 60.0, 16),
    ]
)
"""From safe to bold, in standard errors of the rows that are tested."""


@dataclass(frozen=True, eq=False)
class Candidate:
    """A rule of a path, what it does where it was learnt, and what was found with its model."""

    make: Callable[[], Rule]
    counts: Floats  # (entries,)
    margin: float
    score: float
    found: Any = None

    @cached_property
    def rule(self) -> Rule:
        """The rule."""
        return self.make()


def path_rules_of(margins: Floats, values: Floats) -> NDArray[np.int64]:
    """Which rules make the path, from safe to bold.

    Examples
    --------
    >>> path_rules_of(np.array([8.0, 2.1, 0.3, 1.0]), np.array([0.2, 0.6, 0.9, 0.5]))
    array([0, 1, 2])
    """
    usable = (margins > -np.inf) & ~np.isnan(values)
    order = np.lexsort((-values, -margins))
    order = order[usable[order]]
    if not len(order):
        return order
    ranked, best = -margins[order], np.maximum.accumulate(values[order])
    # The first of all rules that are as good.
    first = np.searchsorted(best, best, side="left")
    count = np.searchsorted(ranked, -MARGINS, side="right")
    count = np.unique(np.concatenate([[np.searchsorted(ranked, ranked[0], side="right")], count]))
    at = first[count[count > 0] - 1]
    return np.asarray(order[np.unique(at)])


def starts_of(
    margins: Floats, values: Floats, level: float, tested: float
) -> tuple[int, dict[int, float]]:
    """The rule of a path that promises most, and where tests begin, with which share of the level.

    Examples
    --------
    >>> starts_of(np.array([6.0, 4.0, 2.0, 0.0]), np.array([0.1, 0.7, 0.8, 0.9]), 0.05, 1.0)
    (1, {0: 0.3, 1: 0.7})
    """
    # The margins are of `tested` rows for each one learnt on, whose own error counts too.
    power = ndtr((margins - quantile(level)) / np.sqrt(1.0 + tested))
    gain = np.where(np.isfinite(values), values, 0.0)
    gain -= min(0.0, gain.min())
    target = int(np.argmax(gain * power))
    half, most = (int(np.argmax(gain >= part * gain[target])) for part in (0.5, 0.95))
    if half:
        return target, {0: 0.3, half: 0.7}
    return target, {0: 0.9, most: 0.1} if most else {0: 1.0}


# --- Paths over cut-offs: the best rule with each margin ------------------------------------------


MOST_SEGMENTS = 2
"""Of more thresholds there are too many combinations to try."""

_MOST = (20_000, 447)
"""Thresholds that are tried, of one segment and of each of two: of more some are left out."""

_TOP = 0.1
"""The share of these that are the first ones, where few rows are accepted."""

_RANKS, _WIDTH = 1_000, 0.25
"""Places on a smooth curve, and how far it is smoothed: times the cube root of n, of n rows."""

_MOST_OF_BAND, _CLOSE = 250, 25
"""Cut-offs whose pairs are tried, so many of them on either side of those of the rule found."""


def candidate_path(
    tests: RuleTests,
    evidence: Counted,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
    near: Rule | None = None,
    found: Any = None,
) -> list[Candidate]:
    """Thresholds of one segment or two, or bands of one `near` a band, from safe to bold."""
    cuts = CutoffSet(tests.program.table, evidence)
    if cuts.n_blocks * cuts.kind.k > MOST_SEGMENTS:
        what = "bands" if cuts.defers else "thresholds"
        raise InputError(f"{what} of {cuts.n_blocks} segments are too many to try them all")
    shape = *evidence.marginals.weights.shape, cuts.kind.k + 1
    if isinstance(near, Band):
        numbers = [_pairs_near(s.curve, near) for s in cuts.segments]
    else:
        numbers = [_some(s.curve.n_cutoffs, _MOST[cuts.n_blocks - 1]) for s in cuts.segments]
    few = bool(times.min() < 1.0)
    curves = [replace(s, curve=smoothed(s.curve)) if few else s for s in cuts.segments]
    parts = [_counts(s, n, shape) for s, n in zip(curves, numbers, strict=True)]
    choices = np.stack(np.meshgrid(*(np.arange(len(n)) for n in numbers), indexing="ij"))
    choices = choices.reshape(len(numbers), -1)
    counts = sum(part[:, at] for part, at in zip(parts, choices, strict=True))
    assert isinstance(counts, np.ndarray)
    # What the rows weigh is the same for any rule; how units vary is seen where some are accepted.
    like = cuts.confusion(cuts.constants()[0]) if found is None else found.confusion
    margins, scores = tests.margins(counts, like, times, allowed), tests.scores(counts)
    out = []
    for i in path_rules_of(margins, scores).tolist():
        choice = [{int(n[c[i]]): 1.0} for n, c in zip(numbers, choices, strict=True)]
        rule = partial(cuts.rule, choice)
        out.append(Candidate(rule, counts[:, i].copy(), float(margins[i]), float(scores[i]), found))
    return out


def _some(n_cutoffs: int, most: int) -> NDArray[np.int64]:
    """Cut-offs to try: all where they are few."""
    if n_cutoffs <= most:
        return np.arange(n_cutoffs)
    first = int(_TOP * most)
    rest = np.linspace(first, n_cutoffs - 1, most - first)
    return np.concatenate([np.arange(first), rest.astype(np.int64)])


def _pairs_near(curve: Curve, near: Band) -> NDArray[np.int64]:
    """Pairs of cut-offs to try, ascending: all where they are few."""
    n = curve.n_cutoffs
    some = np.arange(n)
    if n > _MOST_OF_BAND:
        thresholds = -curve.thresholds(np.arange(n))  # they fall
        own = np.searchsorted(thresholds, [-near.high, -near.low])
        close = (own[:, None] + np.arange(-_CLOSE, _CLOSE + 1)).ravel()
        spread = np.linspace(0, n - 1, _MOST_OF_BAND - len(close)).astype(np.int64)
        some = np.unique(np.concatenate([close[(close >= 0) & (close < n)], spread]))
    high, low = np.triu_indices(len(some))
    return np.asarray(some[high] * n + some[low])


def smoothed(curve: Curve) -> Curve:
    """The curve of shares of classes that rise or fall all the way, and evenly."""
    counts, kinds = np.array(curve.counts, float), np.array(curve.kinds).reshape(-1, 2)
    for stratum in np.unique(kinds[:, 0]):
        own = np.flatnonzero(kinds[:, 0] == stratum)
        total = counts[own].sum(axis=0)
        ranks = np.linspace(0.0, total[-1], _RANKS + 1)
        width = _RANKS * _WIDTH / max(total[-1], 1.0) ** (1 / 3)
        for i in own:
            share = np.diff(np.interp(ranks, total, counts[i]))
            share = isotonic_regression(share, increasing=kinds[i, 1] == 0)
            near = np.cumsum(gaussian_filter1d(share, width))
            counts[i] = np.interp(total, ranks, np.append(0.0, near))
    return replace(curve, counts=counts)


def _counts(segment: Segment, numbers: NDArray[np.int64], shape: tuple[int, ...]) -> Floats:
    """What choices of a segment do (entries, m), by stratum, true class and answer."""
    out = np.zeros((*shape, len(numbers)))
    strata, trues = np.array(segment.curve.kinds, np.int64).reshape(-1, 2).T
    for answer, counts in enumerate(segment.answered(numbers)):
        out[strata, trues, answer] = counts
    return out.reshape(-1, len(numbers))


def decided_on(
    rows: Counted, rule: Rule, tests: RuleTests, draws: Floats | None = None
) -> Confusion:
    """What a rule does on rows, as its tests need it; with `draws`, one for each row."""
    if draws is None and not tests.is_measured:
        return rows.confusion(rule)
    assert isinstance(rows, Evidence)  # counts out of core do not hold the values of rows
    if draws is None and rule.randomized:
        return rows.rows.decided(rows.distribution(rule))
    segments = rows.rows.segment if rule.needs_segments else None
    return rows.rows.decided(rule.decide(rows.scores, segments, draws))


# --- Windows of cut-offs that are certified: no path to learn -------------------------------------


_ROUNDING = 1e-9


class MonotoneConstraint(NamedTuple):
    """A statement that loosens as the threshold of a segment moves one way."""

    segment: int
    rises: bool
    constraint: int
    asked: Requirement


def monotone_constraints(evidence: Counted, tests: RuleTests) -> list[MonotoneConstraint]:
    """The statements of a promise, where each loosens as one threshold moves one way; else none."""
    odd = evidence.is_weighted and tests.promise.largest is None
    if odd or evidence.n_scores is not None or evidence.codebook.defers:
        return []
    # Trials and directions are the same whoever is accepted.
    counted = tests.counted(evidence.confusion(Threshold(np.inf)))
    out = []
    for i, part in enumerate(tests.parts):
        if part is None:
            continue
        if needs_one_of_several(part):
            return []
        for x in leaves(part):
            one = _monotone(evidence, counted, x, i)
            if one is None:
                return []
            out.append(one)
    return out


def _monotone(
    evidence: Counted, counted: CountedRates, x: Requirement, number: int
) -> MonotoneConstraint | None:
    added, by_unit = x.added(counted), counted.largest is not None
    if added is None or not (by_unit or x.trials(counted)):
        return None
    added = rounded(added)
    strata, trues = np.nonzero(evidence.marginals.weights)
    own = added[strata, trues]
    of_segment = evidence.codebook.stratum_segment[strata]
    segments = np.unique(of_segment[own.any(axis=1)])
    gain = own[:, 1] - own[:, 0]
    rises = bool((gain >= 0).all())
    fixed = by_unit or ((own[:, 0] != 0) == (own[:, 1] != 0)).all()
    if len(segments) != 1 or not fixed or not (rises or (gain <= 0).all()) or not gain.any():
        return None
    return MonotoneConstraint(int(segments[0]), rises, number, x)


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
        found = _boldest(cuts, tests, side, level / shares, next_rows)
        if found is None:
            return None
        if side.rises:
            first[side.segment] = max(first[side.segment], found)
        else:
            last[side.segment] = min(last[side.segment], found)
    if any(a > b for a, b in zip(first, last, strict=True)):
        return None
    return list(zip(first, last, strict=True))


def _boldest(
    cuts: CutoffSet,
    tests: RuleTests,
    side: MonotoneConstraint,
    level: float,
    next_rows: int | None,
) -> int | None:
    """The boldest cut-off of a segment that passes: p-values move one way with it."""
    choice = [{0: 1.0} for _ in cuts.segments]

    def passes(number: int) -> bool:
        choice[side.segment] = {number: 1.0}
        counted = cuts.confusion(choice)
        if tests.is_measured:
            counted = decided_on(cuts.evidence, cuts.rule(choice), tests)
        one = Tried(counted)
        if next_rows is None:
            return tests.p_values(one).of(side.asked, level).p <= level
        trials = side.asked.trials(tests.counted(counted))
        return trials is not None and p_of_next(trials, next_rows) <= level

    end = cuts.segments[side.segment].curve.n_cutoffs - 1
    safe, bold = (end, -1) if side.rises else (0, end + 1)
    if not passes(safe):
        return None
    while abs(bold - safe) > 1:
        middle = (safe + bold) // 2
        safe, bold = (middle, bold) if passes(middle) else (safe, middle)
    return safe


def p_of_next(found: Trials, next_rows: int) -> float:
    """The chance that a share of successes fails on so many rows to come, for the worst cut-off.

    Examples
    --------
    >>> from setpoint.inference import Trials
    >>> [round(p_of_next(Trials(k, 150, 0.9), 100), 3) for k in (143, 144)]
    [0.051, 0.03]
    """
    from scipy.stats import betabinom

    k, n = found.successes, found.trials
    if k == 0:
        return 1.0
    allowed = np.floor((1.0 - found.share) * next_rows + _ROUNDING)
    return 1.0 - float(betabinom(next_rows, n - k + 1, k).cdf(allowed))
