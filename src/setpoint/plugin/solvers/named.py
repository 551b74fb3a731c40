"""The paper's algorithms by name: Frank-Wolfe, ellipsoid, GDA, bisection; post-shift."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.blackbox import BudgetedMetric, FormulaMetric, RowMetric, Shift, smoothed_threshold
from setpoint.counts import Evidence
from setpoint.errors import ShapeError, warn_caller
from setpoint.goals import Goal
from setpoint.plugin.parameters import Options
from setpoint.plugin.problem import Achievable
from setpoint.plugin.solvers.steps import Exploration, GoalLosses, Inner, Slack, recombine
from setpoint.program import Affine, Program, RateFunction, Ratio, algebra, link
from setpoint.report import measured_entry
from setpoint.rules import PerSegment, Rule, Threshold
from setpoint.search import (
    Certificate,
    ConstantGoalWarning,
    Found,
    InfeasibleMasterError,
    Limits,
    Optimum,
)
from setpoint.solvers import takes

# --- One algorithm: its form without constraints, and that with them ------------------------------


class Form(NamedTuple):
    """What is run, and the oracle calls where nobody says how many."""

    method: str
    calls: int
    body: Callable[..., None]


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the paper by the name of its solver."""

    solver: str
    free: Form
    constrained: Form
    by_row: bool = False
    losses: Callable[..., GoalLosses] = GoalLosses

    def __call__(
        self,
        space: Achievable,
        program: Program,
        *,
        calls: int | None = None,
        gap: float = 1e-4,
        **own: Any,
    ) -> Optimum:
        """The best mixture of the rules that it gathers."""
        losses = self.losses(space, program, self.solver, by_row=self.by_row)
        method, most, body = self.constrained if losses.phi else self.free
        run = Exploration(space, program, method, most if calls is None else calls, gap)
        return run.finish(lambda: body(run, losses, **own))


# --- Frank-Wolfe (CMA, Algorithm 1) with exact line search ----------------------------------------


_ZETA, _STEPS = 10.0, (0.5, 0.1, 0.001)
"""Of split Frank-Wolfe: weight of the penalty; steps eta, each for an equal part of the calls."""
_TRUSTED = 1e-9


def _smooth_losses(space: Achievable, program: Program, solver: str, **options: Any) -> GoalLosses:
    losses = GoalLosses(space, program, solver, **options)
    if losses.score.has_kinks:
        raise ShapeError(
            f"{program.goal.objective}: {takes('frank-wolfe', asked=True)}, this one has kinks, "
            "where a gradient says too little; 'gda' and 'ellipsoid' take it, and 'auto' "
            "certifies it"
        )
    return losses


def _plain(run: Exploration, losses: GoalLosses) -> None:
    """Algorithm 1 in features, from the uniform mixture of the constants."""
    score = losses.score
    v, value = losses.middle, float(score.value(losses.middle))
    while run.goes_on(v):
        gain = score.gradient(v)
        s = run.ask(-gain)
        left = float(gain @ (s - v))
        # A gradient that a floor bends proves nothing.
        if score.smallest_floored_argument(v) >= _TRUSTED:
            run.learn(value + left)
            if left <= run.gap:
                break
        step = line_search(score, v, s)
        if step == 0.0:
            break  # nothing is left that floating point can tell
        v = (1.0 - step) * v + step * s
        value = float(score.value(v))


def line_search(score: RateFunction, v: Floats, s: Floats) -> float:
    """The step in [0, 1] from v to s with the largest concave score."""

    def loss(step: float) -> float:
        return -float(score.value((1.0 - step) * v + step * s))

    from scipy.optimize import minimize_scalar  # slow to load, and few goals need it

    found = minimize_scalar(loss, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-9})
    return min((0.0, 1.0, float(found.x)), key=loss)


def _split(run: Exploration, losses: GoalLosses) -> None:
    """Algorithm 5: C stays achievable, F feasible, and an augmented Lagrangian joins them."""
    feasible = Slack(losses, under_zero=losses.phi)
    C = losses.middle
    _, F = feasible.minimise(losses.slope(C))
    lam = np.zeros(len(C))
    while run.goes_on(C):
        t = run.made + 1
        at_C, at_F = losses.slope(C), losses.slope(F)
        joint = lam + _ZETA * (C - F)
        s = run.ask(at_C + joint)
        least, f = feasible.minimise(at_F - joint)
        if (
            min(
                losses.score.smallest_floored_argument(C), losses.score.smallest_floored_argument(F)
            )
            >= _TRUSTED
        ):
            # The Lagrangian at `joint` bounds 2 psi from below by its two linear parts.
            psi = -float(losses.score.value(C)) - float(losses.score.value(F))
            psi += float((at_C + joint) @ s - at_C @ C) + least - float(at_F @ F)
            run.learn(-psi / 2.0)
        step = 2.0 / (t + 2)
        C, F = (1.0 - step) * C + step * s, (1.0 - step) * F + step * f
        eta = _STEPS[min(len(_STEPS) * (t - 1) // run.calls, len(_STEPS) - 1)]
        lam = lam + eta * (C - F)


frank_wolfe = Algorithm(
    "frank-wolfe",
    Form("Frank-Wolfe with line search", 5000, _plain),
    Form("split Frank-Wolfe", 10_000, _split),
    losses=_smooth_losses,
)
"""Frank-Wolfe for concave scores; split Frank-Wolfe where there are constraints."""


# --- The ellipsoid method (CMA, Algorithm 3) ------------------------------------------------------


_RADIUS = 1000.0
"""Of the ball around 0 in which multipliers are sought. Bounds hold for any radius."""
_CUTS = 10
"""At most so many cuts for each call of the budget."""
_TINY = 1e-300


class ShrinkingEllipsoid:
    """``{x + J u : |u| <= 1}``, which shrinks around a maximiser."""

    def __init__(self, n: int, radius: float) -> None:
        self.x = np.zeros(n)
        self.J = radius * np.eye(n)

    def cut(self, w: Floats) -> bool:
        """The smallest ellipsoid around the half where ``w @ (y - x) >= 0`` (Algorithm 3a)."""
        n = len(self.x)
        u = self.J.T @ w
        size = float(np.linalg.norm(u))
        if not size > _TINY:
            return False
        u /= size
        Ju = self.J @ u
        self.x = self.x + Ju / (n + 1)
        along = n / (n + 1)
        across = n / np.sqrt(n * n - 1.0) if n > 1 else 1.0
        self.J = across * self.J + (along - across) * np.outer(Ju, u)
        return True


def _shrink(run: Exploration, losses: GoalLosses) -> None:
    """Algorithm 7, which without constraints is Algorithm 3."""
    d = len(losses.low)
    inner = Inner(losses, [algebra.scaled(-1.0, losses.score), *losses.phi])
    duals = ShrinkingEllipsoid(d + len(losses.phi), _RADIUS)
    for _ in range(_CUTS * run.calls):
        if not run.goes_on(losses.middle):
            break
        lam, mu = duals.x[:d], duals.x[d:]
        if float(np.linalg.norm(duals.x)) > _RADIUS:
            w = -duals.x
        elif (mu < 0.0).any():
            w = np.concatenate([np.zeros(d), np.maximum(-mu, 0.0)])
        else:
            C = run.ask(lam)
            least, xi = inner.minimise(-lam, [1.0, *mu])
            run.learn(-(least + float(lam @ C)))
            w = np.concatenate([C - xi, losses.excess(xi)])
        if not duals.cut(w):
            break


ellipsoid = Algorithm(
    "ellipsoid",
    Form("ellipsoid", 1000, _shrink),
    Form("constrained ellipsoid", 1000, _shrink),
)
"""The ellipsoid method for concave scores; ConEllipsoid where there are constraints."""


# --- Gradient descent-ascent (CMA, Algorithm 2) ---------------------------------------------------


STEPS = (0.001, 0.01, 0.1)


class SaddleSearch:
    """One search for a saddle point: xi descends, lambda and mu ascend, C answers lambda."""

    def __init__(self, losses: GoalLosses, eta: float, eta_dual: float) -> None:
        self.losses = losses
        self.eta, self.eta_dual = eta, eta_dual
        self.xi = losses.into_box(np.zeros(len(losses.low)))
        self.lam = np.zeros(len(losses.low))
        self.mu = np.zeros(len(losses.phi))

    def step(self, run: Exploration, inner: Inner | None = None) -> None:
        """One oracle call, and one step of each variable from where all of them stood."""
        losses, xi, lam, mu = self.losses, self.xi, self.lam, self.mu
        C = run.ask(lam)
        if inner is not None:
            least, _ = inner.minimise(-lam, [1.0, *mu])
            run.learn(-(least + float(lam @ C)))
        slope = losses.slope(xi) - lam + losses.excess_slope(xi, mu)
        self.xi = losses.into_box(xi - self.eta * slope)
        self.lam = lam + self.eta_dual * (C - xi)
        if len(mu):
            self.mu = np.maximum(mu + self.eta_dual * losses.excess(xi), 0.0)


def _take_turns(run: Exploration, losses: GoalLosses, steps: Sequence[float] = STEPS) -> None:
    """Algorithm 2 for each pair of step sizes in turn; with constraints ConGDA."""
    descents = [SaddleSearch(losses, *pair) for pair in product(steps, steps)]
    inner = Inner(losses, [algebra.scaled(-1.0, losses.score), *losses.phi])
    while run.goes_on(losses.middle):
        # A bound costs more than a call: each pair tells one before a recombination.
        due = run.is_due(within=len(descents))
        descents[run.made % len(descents)].step(run, inner if due else None)


gda = Algorithm(
    "gda",
    Form("GDA", 5000, _take_turns),
    Form("constrained GDA", 10_000, _take_turns),
    by_row=True,
)
"""Gradient descent-ascent for concave scores; ConGDA where there are constraints."""


# --- Bisection for ratios (CMA, Algorithm 4) ------------------------------------------------------


_ROUNDS = 20
"""With constraints, how often the bracket is halved."""
_NARROW = 1e-12
_FINE = 1e-3


def _ratio_losses(space: Achievable, program: Program, solver: str, **options: Any) -> GoalLosses:
    return GoalLosses(space, program, solver, _ratio(program).above, **options)


def _ratio(program: Program) -> Ratio:
    score = program.score
    if isinstance(score, Affine):
        return Ratio(score, Affine({}, 1.0))
    if not isinstance(score, Ratio):
        other = f"{takes('gda')}, " if score.shape.concave else ""
        raise ShapeError(
            f"{program.goal.objective}: {takes('bisection', asked=True)}, this score is "
            f"{score.shape_name}; {other}{takes('auto')}"
        )
    if program.table.range(score.below)[0] <= _NARROW:
        raise ShapeError(
            f"{program.goal.objective}: `solver='bisection'` takes ratios whose denominator is "
            "above 0 whatever is decided, this one can vanish; 'auto' puts a floor under it"
        )
    return score


def _halve(run: Exploration, _: GoalLosses) -> None:
    """Algorithm 4 for a score: the largest gamma with max A - gamma B >= 0."""
    space, score = run.space, _ratio(run.program)
    b_low, b_high = run.program.table.range(score.below)
    points = [space.features(c) for c in space.constants()]
    v = max(points, key=lambda x: float(score.value(x)))
    # A bracket from a point that is reached, not [0, 1].
    low, high = float(score.value(v)), score.high
    while high - low > _FINE * run.gap and run.goes_on(v):
        gamma = 0.5 * (low + high)
        asked = score.above.plus(score.below.scaled(score.offset - gamma))
        s = run.ask(-asked.gradient(v))
        left, value = float(asked.value(s)), float(score.value(s))
        # What is left of A - gamma B bounds the score from above on either side of gamma.
        high = min(high, gamma + left / (b_low if left > 0 else b_high))
        run.learn(high)
        if value > low:
            v, low = s, value


def _halve_constrained(run: Exploration, losses: GoalLosses) -> None:
    """Algorithm 8: the candidate of a round is the best feasible mixture gathered so far."""
    score = _ratio(run.program)
    descents = [SaddleSearch(losses, *pair) for pair in product(STEPS, STEPS)]
    low, high = score.low, score.high
    best: Optimum | None = None
    v = losses.middle
    for k in range(_ROUNDS):
        gamma = 0.5 * (low + high)
        losses.score = score.above.plus(score.below.scaled(score.offset - gamma))
        while run.made * _ROUNDS < run.calls * (k + 1):
            if not run.goes_on(v):
                return
            descents[run.made % len(descents)].step(run)
        try:
            best = recombine(run.space, run.program, start=None if best is None else best.choice)
        except InfeasibleMasterError:
            low, high = score.low, score.high
            continue
        v = best.v
        if best.value >= gamma:
            low = best.value
        else:
            high = gamma
        low, high = max(low, best.value), max(high, best.value)


bisection = Algorithm(
    "bisection",
    Form("bisection", 100, _halve),
    Form("constrained bisection", 10_000, _halve_constrained),
    by_row=True,
    losses=_ratio_losses,
)
"""Bisection for ratios of linear functions; ConBisection where there are constraints."""


# --- Smoothed post-shift as a solver --------------------------------------------------------------


_FEW_CALLS = 10
_MOST_CALLS = 1000
"""Cut-offs on a curve that a function is called for, where nobody says otherwise."""


def shift_rule(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    metric: RowMetric | None = None,
    neutral: float = 0.0,
) -> Found:
    """The rule that smoothed post-shift finds."""
    n_segments = len(evidence.segments)
    segments = evidence.rows.segment if n_segments > 1 else None
    kind, given = options.smooth, metric
    if metric is None:
        counted = metric = FormulaMetric.of(goal, evidence.rows, np.arange(evidence.n_rows))
        found = smoothed_threshold(
            counted,
            evidence.scores,
            evidence.rows.weight,
            segments,
            smooth=kind,
            sweep=lambda scores, moving: counted.sense * counted.sweep(scores, moving),
        )
    else:
        budget, most = options.limits.evaluations, _MOST_CALLS
        if budget is not None:
            curves = 1 if segments is None else 1 + n_segments
            most = max(2, min(most, budget // curves))
        limits = Limits(max_seconds=options.limits.seconds)
        metered = BudgetedMetric(metric, budget, limits)
        rows = metered, evidence.scores, evidence.rows.weight, segments
        few = most
        if metric.takes == "scores":  # a metric of the ranking shows itself at once
            few = min(most, _FEW_CALLS)
        found = smoothed_threshold(*rows, smooth=kind, most=few, limits=limits)
        if few < most and not found.constant:
            with limits.keeping(found):
                found = smoothed_threshold(*rows, smooth=kind, most=most, limits=limits)
    if found.constant:
        found = replace(found, thresholds=np.full_like(found.thresholds, neutral))
    _warn(found, metric, evidence, neutral)
    rule: Rule = Threshold(float(found.thresholds[0]))
    if evidence.codebook.decide_on:
        rule = PerSegment([Threshold(float(t)) for t in found.thresholds], evidence.segments)
    confusion = evidence.confusion(rule)
    v = (
        np.zeros(0)
        if goal.is_blackbox
        else link(goal, evidence.codebook).at(evidence.marginals).rates_of(confusion.counts)
    )
    value = metric.sense * found.value
    return Found(
        [],
        rule,
        confusion,
        v,
        evidence,
        _why(found, n_segments),
        certificate=Certificate(rivals="rule without draws"),
        n_calls=found.evaluations,
        solver="post-shift",
        objective=None if given is None else measured_entry(goal, metric, value),
    )


def _why(found: Shift, n_segments: int) -> str:
    if found.constant:
        return f"the metric is the same at all {len(found.curve.gains)} cut-offs"
    out = f"the best of {len(found.curve.gains)} cut-offs"
    if found.window:
        out += f" by the curve averaged over {found.window:.4g}"
    return out + (f", then of each of {n_segments} groups in turn" if n_segments > 1 else "")


def _warn(found: Shift, metric: RowMetric, evidence: Evidence, neutral: float) -> None:
    if found.constant:
        warn_caller(
            f"the metric {metric.name} does not depend on the cut-off: it is the same at all "
            f"{len(found.curve.gains)} that were measured; the cut-off is left at {neutral:g}",
            ConstantGoalWarning,
        )
    elif np.isinf(found.thresholds).all() and len(set(found.thresholds.tolist())) == 1:
        label = evidence.classes[int(found.thresholds[0] < 0)]
        warn_caller(
            f"predicting {label!r} for everyone does best by '{metric.name}': check the metric, "
            "and whether the scores say anything about the classes",
            ConstantGoalWarning,
        )
