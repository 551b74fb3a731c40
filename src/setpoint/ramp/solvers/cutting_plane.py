"""Algorithm 2: the dual of Problem 3 by cutting planes, and weights from the cuts' mixture.

``z(v) = min_w Psi(w, v)`` is concave in the multipliers v, and for any w whatever the affine
function Psi(w, .) lies above it (Goh, Cotter, Gupta and Friedlander, "Satisfying real-world
goals with dataset constraints", section 2.2 and appendix E). The paper returns the last SVM's
weights, which miss the rows; the shares that the linear program gives to the cuts mix all of
them into weights that meet the rows and cost no more than the upper bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.ramp.solvers.hypograph import Hypograph, Peak
from setpoint.ramp.solvers.majorizer import Majorizer
from setpoint.ramp.solvers.svm import SVM

__all__ = ["CHOOSERS", "Convex", "cutting_planes"]


CHOOSERS = ("max", "center")
_FIRST_CAP, _WIDENING = 4.0, 4.0
"""The box of multipliers grows only while the maximum lies at its end."""
_AT_END = 0.999
_SHARE = 0.25
"""Of the height that is left above the lower bound: how exact an SVM has to be."""
_OF_MISSED = 0.02
"""Of what is paid for missed rows: no exact solution is needed where there is none."""
_MOST_CUTS = 300


@dataclass(frozen=True)
class Convex:
    """Problem 3 solved."""

    w: Floats
    v: Floats
    upper: float
    lower: float
    kept: list[Floats]
    xi: Floats
    n_cuts: int
    n_passes: int
    closed: bool


def cutting_planes(
    majorizer: Majorizer,
    svm: SVM,
    known: Sequence[Floats],
    *,
    eps: float = 1e-4,
    of_gain: float = 0.0,
    cap: float = 300.0,
    chooser: str = "max",
    xi: Floats | None = None,
    rng: np.random.Generator | None = None,
) -> Convex:
    """Maximise the dual of Problem 3 over multipliers in [0, cap]^m."""
    if chooser not in CHOOSERS:
        raise InputError(f"`chooser={chooser!r}`: {nearest(chooser, CHOOSERS)}")
    search = _Search(majorizer, min(cap, _FIRST_CAP))
    for w in known:
        search.cut(w)
    rng = rng or np.random.default_rng(0)
    while True:
        peak = search.mixed()
        gap = eps * max(1.0, abs(peak.value)) + _OF_MISSED * search.missed(peak)
        gap = max(gap, of_gain * (search.at_first() - peak.value))
        closed = peak.value - search.lower <= gap
        at_end = bool((peak.v >= _AT_END * search.model.cap).any())
        if closed and at_end and search.model.cap < cap:
            search.model.widen(min(cap, _WIDENING * search.model.cap))
            continue
        if closed or search.n_cuts >= _MOST_CUTS:
            break
        v, height = peak.v, peak.value
        if chooser == "center":
            v, height = search.model.centre(search.lower, rng)
        a, c = majorizer.costs(v)
        solved = svm.solve(a, c, xi, max(0.5 * gap, _SHARE * (height - search.lower)))
        xi = solved.xi
        search.n_passes += solved.n_passes
        search.lower = max(search.lower, solved.dual + majorizer.constant(v))
        search.cut(solved.w)
    if xi is None:
        xi = np.zeros(len(majorizer.problem.kind))
    kept = [w for w, share in zip(search.weights, peak.shares, strict=True) if share > 0.0]
    return Convex(
        search.mixture(peak), peak.v, peak.value, search.lower, kept, xi,
        search.n_cuts, search.n_passes, closed,
    )  # fmt: skip


class _Search:
    """The cuts so far, the weights behind them and the best lower bound."""

    def __init__(self, majorizer: Majorizer, cap: float) -> None:
        self.majorizer = majorizer
        self.model = Hypograph(majorizer.n_constraints, cap)
        self.weights: list[Floats] = []
        self.first: tuple[float, Floats] | None = None
        # No hinge is below 0, so without any multiplier the constant is a lower bound.
        self.lower = majorizer.constant(np.zeros(majorizer.n_constraints))
        self.n_cuts = self.n_passes = 0

    def cut(self, w: Floats) -> None:
        tick = self.majorizer.problem.tick
        if tick is not None:
            tick()
        cut = self.majorizer.cut(w)
        self.model.add(*cut)
        self.first = self.first or cut
        self.weights.append(w)
        self.n_cuts += 1
        self.n_passes += 1

    def mixture(self, peak: Peak) -> Floats:
        return np.asarray(peak.shares @ np.array(self.weights))

    def at_first(self) -> float:
        """The largest value within the box of the first cut."""
        assert self.first is not None
        b, g = self.first
        return b + self.model.cap * float(np.maximum(g, 0.0).sum())

    def missed(self, peak: Peak) -> float:
        """What the mixture pays, at the most, for rows that it misses."""
        return float(peak.v @ np.maximum(self.model.slope(peak), 0.0))

    def mixed(self) -> Peak:
        """The maximum, after the mixture behind it has become a cut of its own."""
        peak = self.model.peak()
        if np.count_nonzero(peak.shares) < 2:
            return peak
        self.cut(self.mixture(peak))
        return self.model.peak()
