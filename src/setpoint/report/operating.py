"""What every threshold reaches, and where the rule stands: plain numbers for a picture."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import neg
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Codebook, Counted, Curve, Evidence, Marginals, hull, surest_first
from setpoint.errors import GoalError
from setpoint.goals import EVERYWHERE, Const, Constraint, Goal, Metric
from setpoint.parameters import SATISFIED
from setpoint.program import Accepted, LinkedGoal, Program, link
from setpoint.rules import Band, Mixture, PerSegment, Rule, Threshold, ValueAware, segment_in_words

Numbers = tuple[float, ...]

MOST_POINTS = 256
"""A picture shows no more; vertices of the hull come first."""

_PROBES = 4_096
_STEPS = 256
"""Thresholds that are looked at before the distance between them doubles."""


@dataclass(frozen=True)
class OperatingCurve:
    """The thresholds on one segment's rows, strict to lenient: every one, or a few hundred."""

    name: str
    thresholds: Numbers
    recall: Numbers
    false_positive_rate: Numbers
    precision: Numbers
    accepted: Numbers
    objective: Numbers
    feasible: tuple[bool, ...]
    hull: tuple[int, ...]
    chosen: tuple[tuple[float, float, float, float, float], ...]
    n_points: int


@dataclass(frozen=True)
class OperatingPoints:
    """The curves of a rule over thresholds, and what it reaches on all rows together."""

    curves: tuple[OperatingCurve, ...]
    positives: float
    negatives: float
    recall: float
    false_positive_rate: float
    precision: float
    labels: tuple[Any, Any]
    rows_per_weight: float = 1.0


def operating_points(
    linked: LinkedGoal, evidence: Counted, rule: Rule
) -> Callable[[], OperatingPoints] | None:
    """Where a rule over thresholds stands among all thresholds, worked out when it is looked at."""
    if evidence.n_classes != 2 or evidence.n_scores is not None or rule.score_columns is not None:
        return None
    if isinstance(rule, PerSegment):
        weights = zip(evidence.segments, evidence.segment_weights, strict=True)
        if any(weight and key not in rule.segment_keys for key, weight in weights):
            return None
    rules = [_drawn_among(r) for r in _of_segments(rule, evidence)]
    if not all(isinstance(r, Threshold) and r.width == 0.0 for part in rules for _, r in part):
        return None
    own = np.array([c.dataset is None and c.measure is None for c in evidence.codebook.strata])
    held = evidence.marginals.weights[own][:, :2].sum(axis=0)
    return partial(_points, linked, evidence, rules, own, held) if held.all() else None


def _points(
    linked: LinkedGoal,
    evidence: Counted,
    rules: Sequence[Sequence[tuple[float, Any]]],
    own: NDArray[np.bool_],
    held: Floats,
) -> OperatingPoints:
    """The curves of all segments on the rows of X."""
    program = None
    if len(evidence.segments) == 1:
        # A constraint without rows is not evaluated, nor shown.
        with suppress(GoalError):
            program = linked.at(evidence.marginals)
    curves, accepted = [], np.zeros(2)
    for s, segment_rule in enumerate(rules):
        curve = evidence.curve(s)
        counts = _sums(curve, own)[:2]
        atoms = [(p, _cut(curve, part.threshold)) for p, part in segment_rule]
        for p, j in atoms:
            accepted += p * counts[:, j]
        name = segment_in_words(evidence.segments[s]) if evidence.codebook.decide_on else ""
        if counts[:, -1].all():
            curves.append(_curve(name, curve, own, counts, atoms, program))
    fp, tp = accepted.tolist()
    negatives, positives = held.tolist()
    squares = evidence.confusion(Threshold(np.inf)).products[0, 0]
    return OperatingPoints(
        tuple(curves),
        positives,
        negatives,
        tp / positives,
        fp / negatives,
        tp / (tp + fp) if tp else 0.0,
        (evidence.classes[0], evidence.classes[1]),
        float(held.sum() / squares[own[: len(squares)], :2].sum()),
    )


def _of_segments(rule: Rule, evidence: Counted) -> list[Rule]:
    """The rule of each of the evidence's segments; where there is none nobody is accepted."""
    if not isinstance(rule, PerSegment) or not rule.needs_segments:
        return [rule] * len(evidence.segments)
    known = dict(zip(rule.segment_keys, rule.rules, strict=True))
    return [known.get(key, Threshold(np.inf)) for key in evidence.segments]


def _parts(rule: Rule) -> Iterator[Rule]:
    """A rule, and those that it is made of."""
    yield rule
    for part in rule.children:
        yield from _parts(part)


def _drawn_among(rule: Rule) -> list[tuple[float, Rule]]:
    """What a rule draws among, with probabilities; itself where it does not draw."""
    if not isinstance(rule, Mixture):
        return [(1.0, rule)]
    return [(p * q, r) for p, part in rule.atoms for q, r in _drawn_among(part)]


def _cut(curve: Curve, threshold: float) -> int:
    """How many of the distinct scores, which descend, are at least the threshold."""
    return bisect_right(curve.values, -threshold, key=neg)


def _sums(curve: Curve, own: NDArray[np.bool_]) -> Floats:
    """Accepted weight (3, m + 1) of negatives, positives and all among the rows of X."""
    out = np.zeros((3, curve.n_cutoffs))
    for (stratum, true), row in zip(curve.kinds, curve.counts, strict=True):
        if own[stratum]:
            out[2] += row
            if true < 2:
                out[true] += row
    return out


def _curve(
    name: str,
    curve: Curve,
    own: NDArray[np.bool_],
    counts: Floats,
    atoms: Sequence[tuple[float, int]],
    program: Program | None,
) -> OperatingCurve:
    fp, tp = counts
    probes = _probes(len(fp))
    upper = _upper(fp, tp, probes)
    shown = _shown(fp, tp, probes, upper, [j for _, j in atoms])
    here = curve.counts[:, shown]
    taken = here[[own[stratum] for stratum, _ in curve.kinds]].sum(axis=0)
    feasible: tuple[bool, ...] = ()
    objective: Numbers = ()
    if program is not None:
        accepted = Accepted(program, curve.kinds, curve.counts[:, -1])
        feasible = tuple((accepted.violation(here.T) <= SATISFIED).tolist())
        score = np.nan_to_num(accepted.score(here.T), nan=-np.inf, posinf=np.inf, neginf=-np.inf)
        objective = tuple((program.sense * score).tolist())

    def rates(j: Any) -> tuple[Any, Any, Any]:
        both = tp[j] + fp[j]
        return tp[j] / tp[-1], fp[j] / fp[-1], tp[j] / np.where(both > 0, both, 1.0)

    recall, fpr, precision = (tuple(x.tolist()) for x in rates(shown))
    chosen = tuple((p, curve.threshold(j), *(float(x) for x in rates(j))) for p, j in sorted(atoms))
    return OperatingCurve(
        name,
        tuple(curve.thresholds(shown).tolist()),
        recall,
        fpr,
        precision,
        tuple((taken / taken[-1]).tolist()),
        objective,
        feasible,
        tuple(np.flatnonzero(np.isin(shown, upper)).tolist()),
        chosen,  # type: ignore[arg-type]  # five numbers each
        curve.n_cutoffs,
    )


def _probes(m: int) -> NDArray[np.int64]:
    """Thresholds that say how a long curve runs: every one of a few thousand."""
    if m <= _PROBES:
        return np.arange(m)
    last, start, stride = 1 + m // (_PROBES // 2), 0, 1
    parts = []
    while stride < last and start + _STEPS * stride < m:
        parts.append(np.arange(start, start + _STEPS * stride, stride))
        start += _STEPS * stride
        stride *= 2
    return np.concatenate([*parts, np.arange(start, m - 1, min(stride, last)), [m - 1]])


def _upper(fp: Floats, tp: Floats, probes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Vertices of the upper hull; the lower ones have less recall than chance."""
    vertices = probes[hull(fp[probes], tp[probes])]
    over = tp[vertices] * fp[-1] >= fp[vertices] * tp[-1]
    return np.asarray(vertices[over])


def _shown(
    fp: Floats,
    tp: Floats,
    probes: NDArray[np.int64],
    upper: NDArray[np.int64],
    chosen: Sequence[int],
) -> NDArray[np.int64]:
    """A few hundred cut-offs: the chosen, the hull, the rest evenly along the curve."""
    if len(fp) <= MOST_POINTS:
        return np.arange(len(fp))
    half = MOST_POINTS // 2
    thin = upper[np.unique(np.linspace(0, len(upper) - 1, half).round().astype(np.int64))]
    way = fp[probes] / fp[-1] + tp[probes] / tp[-1]
    along = np.searchsorted(way, np.linspace(0.0, 2.0, MOST_POINTS - half))
    even = probes[np.minimum(along, len(probes) - 1)]
    ends = [0, len(fp) - 1]
    return np.unique(np.concatenate([thin, even, np.array([*chosen, *ends], np.int64)]))


# --- How many of those decided are wrong, by the share that is decided ----------------------------


"""A picture shows no more of a curve."""

_MOST_CUTOFFS = 200
"""Of more cut-offs so many are looked at, with those of the rule: each pair of them."""

_FEWEST = 20
"""Rows decided before an error by the largest posterior is shown."""


@dataclass(frozen=True)
class DeferralCurve:
    """The error among the decided by the share decided, on one segment's rows."""

    name: str
    decided: Numbers
    error: Numbers
    chosen: tuple[float, float] | None


@dataclass(frozen=True)
class DeferralPoints:
    """The curves of a rule that defers, and what it reaches on all rows together."""

    curves: tuple[DeferralCurve, ...]
    by: str
    decided: float
    error: float | None


def deferral_points(evidence: Counted, rule: Rule) -> DeferralPoints | None:
    """Where a rule that defers stands among what other shares decided would cost.

    Examples
    --------
    >>> from setpoint import Goal, solve
    >>> y, scores = [0, 0, 1, 0, 1, 1], [0.1, 0.2, 0.4, 0.6, 0.7, 0.9]
    >>> goal = "minimize cost({(0, 1): 5, (1, 0): 5, (0, 'defer'): 1, (1, 'defer'): 1})"
    >>> points = solve(goal, scores, y).report.section("deferral").points
    >>> round(points.decided, 3), points.error
    (0.667, 0.0)
    """
    book = evidence.codebook
    n = len(book.labels)
    own = np.array([c.dataset is None and c.measure is None for c in book.strata])
    if not book.defers or not evidence.marginals.weights[own, :n].any():
        return None
    by_cuts = evidence.n_scores is None and n == 2
    if not by_cuts and not _has_posteriors(evidence, rule, n):
        return None
    counts, rules = evidence.confusion(rule).counts, _of_segments(rule, evidence)
    curves = []
    for s, segment in enumerate(evidence.segments):
        here = own & (book.stratum_segment == s)
        table = counts[here].sum(axis=0)
        if not table[:n].any():
            continue
        if by_cuts:
            shares, errors = _by_cutoffs(evidence.curve(s), own, rules[s])
        else:
            assert isinstance(evidence, Evidence)
            shares, errors = _by_posterior(evidence, own, s)
        share, error = _reached(table, n)
        name = segment_in_words(segment) if evidence.codebook.decide_on else ""
        chosen = None if error is None else (share, error)
        curves.append(DeferralCurve(name, tuple(shares.tolist()), tuple(errors.tolist()), chosen))
    share, error = _reached(counts[own].sum(axis=0), n)
    return DeferralPoints(tuple(curves), "cut-offs" if by_cuts else "posterior", share, error)


def _reached(table: Floats, n: int) -> tuple[float, float | None]:
    """Share decided of all rows of a table (classes + 1, classes), and the error among them."""
    share = float(table[:, :n].sum() / table.sum())
    known = table[:n, :n]
    decided = float(known.sum())
    return share, float(decided - np.trace(known)) / decided if decided > 0.0 else None


def _has_posteriors(evidence: Counted, rule: Rule, n: int) -> bool:
    """Whether each row has posteriors of the classes."""
    if not isinstance(evidence, Evidence) or evidence.n_scores is None:
        return False
    return evidence.n_scores == n or any(isinstance(r, ValueAware) for r in _parts(rule))


# -- two classes: pairs of cut-offs ---------------------------------------------------------
def _by_cutoffs(curve: Curve, own: NDArray[np.bool_], rule: Rule) -> tuple[Floats, Floats]:
    """For each share decided the least error of a pair of cut-offs that decides as many."""
    sums = _sums(curve, own)
    used = [(r.low, r.high) for r in _parts(rule) if isinstance(r, Band)]
    used += [(r.threshold, r.threshold) for r in _parts(rule) if isinstance(r, Threshold)]
    at = _looked_at(sums, [_cut(curve, t) for band in used for t in band])
    negative, positive, everybody = sums[:, at]
    high, low = np.triu_indices(len(at))  # accepted above the first, rejected below the second
    labelled = negative + positive
    known = labelled[high] + labelled[-1] - labelled[low]
    wrong = negative[high] + positive[-1] - positive[low]
    share = (everybody[high] + everybody[-1] - everybody[low]) / everybody[-1]
    share = np.round(share, 12)  # sums of weights in another order are the same share
    some = known > 0.0
    share, error = share[some], np.clip(wrong[some] / known[some], 0.0, 1.0)
    # From many decided to few, those with less error than all with more decided.
    order = np.lexsort((error, -share))
    share, error = share[order], error[order]
    least = np.minimum.accumulate(error)
    better = np.append(True, least[1:] < least[:-1])
    return _thin(share[better][::-1], error[better][::-1])


def _looked_at(sums: Floats, used: list[int]) -> NDArray[np.int64]:
    """Cut-offs, evenly along both classes, with the ends and those of the rule."""
    m = sums.shape[1]
    if m <= _MOST_CUTOFFS:
        return np.arange(m)
    way = sum((row / row[-1] for row in sums if row[-1] > 0.0), np.zeros(m))
    even = np.searchsorted(way, np.linspace(0.0, way[-1], _MOST_CUTOFFS))
    return np.unique(np.concatenate([[0, m - 1], np.minimum(even, m - 1), used])).astype(np.int64)


# -- posteriors: the largest first ----------------------------------------------------------
def _by_posterior(evidence: Evidence, own: NDArray[np.bool_], s: int) -> tuple[Floats, Floats]:
    """The error among the rows with the largest posteriors, by their share."""
    sums = surest_first(evidence, own, s)
    enough = (sums.rows >= min(_FEWEST, int(sums.rows[-1]))) & (sums.known > 0.0)
    share, error = sums.weight[enough] / sums.total, sums.wrong[enough] / sums.known[enough]
    return _thin(share, np.clip(error, 0.0, 1.0))


def _thin(share: Floats, error: Floats) -> tuple[Floats, Floats]:
    """A few hundred points, evenly by the share decided."""
    if len(share) <= MOST_POINTS:
        return share, error
    even = np.searchsorted(share, np.linspace(share[0], share[-1], MOST_POINTS))
    keep = np.unique(np.minimum(even, len(share) - 1))
    return share[keep], error[keep]


# --- The plane of operating points: where a goal is met, and what it asks for there ---------------


_PIECES = 80
"""Straight pieces of a line across the whole picture, where it bends."""

_FAR = 2.0
"""Slacks beyond are cut off: a picture needs their sign alone."""


@dataclass(frozen=True)
class Plane:
    """All pairs of false positive rate and recall on some rows, and a goal over them."""

    positives: float
    negatives: float
    constraints: tuple[Constraint, ...]
    left_out: tuple[Constraint, ...]
    programs: tuple[Program, ...]

    @classmethod
    def of(cls, goal: Goal, points: OperatingPoints) -> Plane:
        """The plane of the rows that some points were counted on.

        Examples
        --------
        >>> from setpoint import Goal
        >>> points = OperatingPoints((), 10.0, 90.0, 0.5, 0.1, 0.36, ("no", "yes"))
        >>> goal = Goal.parse("maximize recall s.t. precision >= 0.5, recall.min('sex') >= 0.4")
        >>> plane = Plane.of(goal, points)
        >>> [str(c) for c in plane.left_out], plane.slack([0.0, 0.5], [0.5, 0.5]) > 0
        (['recall.min("sex") >= 0.4'], array([ True, False]))
        """
        counts = np.array([[[0.0, points.negatives], [0.0, points.positives], [0.0, 0.0]]])
        codebook, marginals = Codebook.of(points.labels), Marginals.of_counts(counts)
        inside, outside, programs = [], [], []
        for c in goal.constraints:
            alone = Goal("maximize", Metric("accuracy"), (c,))
            needs = alone.needs
            if needs.datasets or needs.names or needs.baseline:
                outside.append(c)
                continue
            try:
                programs.append(link(alone, codebook).at(marginals))
            except GoalError:  # such as a bound that is outside the range on these rows
                outside.append(c)
            else:
                inside.append(c)
        return cls(
            points.positives, points.negatives, tuple(inside), tuple(outside), tuple(programs)
        )

    def slack(self, fpr: Any, recall: Any) -> Floats:
        """How far inside all `constraints` each point is; negative outside, at most 2."""
        x, y = np.asarray(fpr, np.float64), np.asarray(recall, np.float64)
        out = np.full(np.broadcast_shapes(x.shape, y.shape), _FAR)
        for program in self.programs:
            v = self._features(program, x, y)
            (bound,) = program.constraints
            with np.errstate(invalid="ignore"):
                slack = np.asarray(bound.slack(v))
            slack = np.where(np.isnan(slack), -_FAR, slack)
            out = np.minimum(out, np.clip(slack, -_FAR, _FAR))
        return out

    def slack_by_precision(self, recall: Any, precision: Any) -> Floats:
        """The same at points of recall and precision; negative where there is no such point."""
        # Where one of them is 0 there is more than one false positive rate, or none.
        r = np.maximum(np.asarray(recall, np.float64), 1e-9)
        p = np.maximum(np.asarray(precision, np.float64), 1e-9)
        fpr = self.fpr(r, p)
        return np.minimum(self.slack(np.minimum(fpr, 1.0), r), np.maximum(1.0 - fpr, -_FAR))

    def _features(self, program: Program, fpr: Floats, recall: Floats) -> Floats:
        """Features are affine in the two rates: three corners tell them."""
        n, p = self.negatives, self.positives
        none, alarms, hits = (
            program.rates_of(np.array([[*counts, [0.0, 0.0]]]))
            for counts in ([[n, 0], [p, 0]], [[0, n], [p, 0]], [[n, 0], [0, p]])
        )
        return np.asarray(
            none + fpr[..., None] * (alarms - none) + recall[..., None] * (hits - none)
        )

    def precision(self, fpr: Any, recall: Any) -> Floats:
        """Precision at each point; 0 where nobody is accepted."""
        hits = self.positives * np.asarray(recall, np.float64)
        both = hits + self.negatives * np.asarray(fpr, np.float64)
        return np.asarray(hits / np.where(both > 0, both, 1.0))

    def fpr(self, recall: Any, precision: Any) -> Floats:
        """False positive rate at each point with positive precision; above 1: no such point."""
        r, p = np.asarray(recall, np.float64), np.asarray(precision, np.float64)
        return np.asarray(r * self.positives / self.negatives * (1.0 - p) / p)

    def path(
        self, fpr: Sequence[float] | Floats, recall: Sequence[float] | Floats, *, roc: bool
    ) -> tuple[Floats, Floats]:
        """Mixtures of neighbouring points as a line: x and y in the picture."""
        f, r = np.asarray(fpr, np.float64), np.asarray(recall, np.float64)
        if roc or len(f) < 2:
            return (f, r) if roc else (r, self.precision(f, r))
        # Long segments take more pieces.
        pieces = np.ceil(_PIECES * (np.abs(np.diff(f)) + np.abs(np.diff(r)))).astype(np.int64)
        pieces = np.maximum(pieces, 1)
        first = np.repeat(np.arange(len(pieces)), pieces)
        t = (np.arange(len(first)) - np.repeat(np.cumsum(pieces) - pieces, pieces)) / pieces[first]
        f = np.append(f[first] + t * (f[first + 1] - f[first]), f[-1])
        r = np.append(r[first] + t * (r[first + 1] - r[first]), r[-1])
        p = self.precision(f, r)
        if f[0] == r[0] == 0:
            # Drawing between nobody and a threshold keeps the precision of the threshold.
            p[0] = p[1]
        if f[-1] == r[-1] == 0:
            p[-1] = p[-2]
        return r, p


_PLAIN = {
    "recall": ("recall", False),
    "false_negative_rate": ("recall", True),
    "precision": ("precision", False),
    "false_positive_rate": ("false positive rate", False),
    "specificity": ("false positive rate", True),
    "deferral_rate": ("share decided", True),
    "error_rate.decided": ("error", False),
    "accuracy.decided": ("error", True),
}
"""Metrics, the rate in a picture that each is, and whether it is 1 minus that rate."""


def plain_bound(c: Constraint, positive: Any = None) -> tuple[str, float, bool] | None:
    """A rate of all rows, its bound, and whether from below; None where a constraint says more.

    Examples
    --------
    >>> from setpoint import Goal
    >>> goal = Goal.parse("maximize recall subject to specificity >= 0.75")
    >>> plain_bound(goal.constraints[0], "yes")
    ('false positive rate', 0.25, False)
    """
    e, level = c.lhs, c.rhs
    if not isinstance(e, Metric) or not isinstance(level, Const):
        return None
    known = _PLAIN.get(e.name + ".decided" * e.only_decided)
    if known is None or e.population != EVERYWHERE or e.label not in (None, positive):
        return None
    rate, turned = known
    return rate, 1.0 - level.value if turned else level.value, (c.relation == ">=") != turned


BAND = 0.90
"""Confidence of the band around precision, at each threshold by itself."""


def precision_band(curve: OperatingCurve, points: OperatingPoints, level: float = BAND) -> Floats:
    """Clopper and Pearson's limits (2, m) of precision where anybody is accepted."""
    from setpoint.inference import limits_of_shares  # heavy, and of pictures and advice alone

    hits = points.positives * np.array(curve.recall, np.float64)
    accepted = hits + points.negatives * np.array(curve.false_positive_rate, np.float64)
    some, k = accepted > 0, points.rows_per_weight
    return limits_of_shares(k * hits[some], k * accepted[some], 0.5 * (1.0 - level))
