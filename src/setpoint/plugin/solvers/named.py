"""The eight algorithms of the confusion-matrix paper by name, without constraints and with.

Called with a space of whole rules as columns, a program, the number of oracle `calls`, and the
`gap` at which the run ends: no mixture is better by more. All end with the exact recombination of
what they gathered: an Optimum, "optimal" where a bound closed to within `gap`.

References
----------
Narasimhan, Ramaswamy, Tavker, Khurana, Netrapalli and Agarwal, "Consistent multiclass algorithms
for complex metrics and constraints" (CMA).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import product
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint import search
from setpoint.array_types import Floats
from setpoint.errors import ShapeError
from setpoint.plugin.problem import Achievable
from setpoint.program import (
    Affine,
    NotLinearError,
    Program,
    ProgramConstraint,
    RateFunction,
    Ratio,
    algebra,
    without_auxiliaries,
)
from setpoint.solvers import takes

# --- A goal as the confusion-matrix paper writes it -----------------------------------------------


class GoalLosses:
    """psi and phi over the features, and the box in which the features lie."""

    def __init__(
        self,
        space: search.AchievableSet,
        program: Program,
        solver: str,
        score: RateFunction | None = None,
        *,
        by_row: bool = False,
    ) -> None:
        self.program = program
        self.score = program.score if score is None else score
        if not self.score.shape.concave:
            other = f"{takes('bisection')}, " if isinstance(self.score, Ratio) else ""
            raise ShapeError(
                f"{program.goal.objective}: {takes(solver, asked=True)}, this one is "
                f"{program.objective.shape_name}; {other}{takes('auto')}"
            )
        self.phi = tuple(
            f for c in program.constraints for f in _convex(program, c, solver, by_row)
        )
        ranges = [program.table.range(Affine({j: 1.0}, 0.0)) for j in range(space.d)]
        self.low, self.high = np.array(ranges).reshape(-1, 2).T
        self.middle: Floats = space.features_of_constants().mean(axis=0)

    def slope(self, v: Floats) -> Floats:
        """The gradient (d,) of psi."""
        return -self.score.gradient(v)

    def excess(self, v: Floats) -> Floats:
        """All phi (K,)."""
        return np.array([float(f.value(v)) for f in self.phi])

    def excess_slope(self, v: Floats, mu: Floats) -> Floats:
        """The gradient (d,) of ``mu @ phi``."""
        own = (m * f.gradient(v) for m, f in zip(mu, self.phi, strict=True) if m)
        return sum(own, np.zeros(len(v)))

    def into_box(self, v: Floats) -> Floats:
        """The nearest point of the box."""
        return np.clip(v, self.low, self.high)


def _convex(
    program: Program, c: ProgramConstraint, solver: str, by_row: bool
) -> list[RateFunction]:
    """Convex functions that are all <= 0 just where a constraint holds."""
    past = algebra.add([(-c.sign, c.function), (1.0, algebra.constant(c.sign * c.level))])
    if past.shape.convex and not by_row:
        return [past]
    try:
        return [*without_auxiliaries(program.row_builder().bound(c.function, c.level, c.sign))]
    except NotLinearError:
        if past.shape.convex:
            return [past]
        raise ShapeError(
            f"{c}: {takes(solver, bounds=True, asked=True)}, this one is {c.function.shape_name}; "
            f"{takes('auto')}"
        ) from None


# --- Gathering rules by oracle calls, and the exact end of every algorithm ------------------------


INF = float("inf")
_NEAR = 1e-7
"""To within so much the master is solved."""


def recombine(
    space: Achievable,
    program: Program,
    best: search.Optimum | None = None,
    method: str = "recombined",
) -> search.Optimum:
    """The best mixture of the columns gathered, from the best so far, without any oracle call."""
    start = None if best is None else best.choice
    choice = search.best_mixture(space.gathered(start), program, _NEAR).choice
    v = space.features(choice)
    return search.Optimum(choice, v, float(program.score.value(v)), method=method)


_FIRST = 16
_HEARTBEAT = 100


class Exploration:
    """One run of an algorithm: what it asks, and what is known so far."""

    def __init__(
        self, space: Achievable, program: Program, method: str, calls: int, gap: float
    ) -> None:
        self.space, self.program, self.method = space, program, method
        self.calls, self.gap, self.made = calls, gap, 0
        self.bound = INF
        self.best: search.Optimum | None = None
        self._next, self._recorded = _FIRST, (0, INF)

    def ask(self, L: Floats) -> Floats:
        """One oracle call: features (d,) of the rule that minimises ``L @ v``."""
        atom = self.space.ask(-L)
        self.made += 1
        return self.space.features_of(atom)

    def learn(self, bound: float) -> None:
        """No mixture that meets the constraints has a larger score: so says the oracle."""
        if self.space.is_certain:
            self.bound = min(self.bound, float(bound))

    def is_due(self, within: int = 1) -> bool:
        """Whether rules are recombined within so many calls: a bound is worth its price."""
        return self.made + within >= self._next

    def goes_on(self, v: Floats) -> bool:
        """Whether there is more to ask; `v` is where the algorithm stands, for the trace."""
        if self.made >= self._next:
            self._next *= 2
            with suppress(search.InfeasibleMasterError):
                self.best = recombine(self.space, self.program, self.best, self.method)
                self._record(self.best.v)
        best = self.best
        if self.made >= self._recorded[0] + _HEARTBEAT or self.bound < self._recorded[1]:
            self._record(v if best is None else best.v)
        closed = best is not None and self.bound - best.value <= self.gap
        return self.made < self.calls and not closed

    def finish(self) -> search.Optimum:
        """Recombine all that was gathered, at the end or at a limit."""
        method, stopped = f"{self.method}, recombined", self.space.limits.stopped
        mixed = recombine(self.space, self.program, self.best, method)
        self._record(mixed.v)
        return replace(mixed, status="optimal", stopped=stopped).bounded(self.bound, self.gap)

    def _record(self, v: Floats) -> None:
        self._recorded = (self.made, self.bound)
        self.space.limits.record_rates(self.program, v, self.bound)


# --- Small convex programs over the slack variables -----------------------------------------------


_CUT_ROUNDS = 60


class Slack:
    """Programs ``min cost @ xi + weights @ f(xi)`` over the box of the features, f not affine."""

    def __init__(
        self,
        losses: GoalLosses,
        weighed: Sequence[RateFunction] = (),
        under_zero: Sequence[RateFunction] = (),
    ) -> None:
        self.losses = losses
        self._builder = losses.program.row_builder()
        self._lp = search.IncrementalLP()
        ends = zip(losses.low, losses.high, strict=True)
        self._columns = {j: self._lp.add_column(np.zeros(0), *x) for j, x in enumerate(ends)}
        # Convex functions, each with the variable that it stays under, or None: under 0.
        self._curved: list[tuple[RateFunction, int | None]] = []
        # What is weighed is minimised through a variable.
        self._over = [self._put(f, self._builder.auxiliary()) for f in weighed]
        for f in under_zero:
            self._put(f, None)

    def minimise(self, cost: Floats, weights: Sequence[float] = ()) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        costs = np.zeros(self._lp.n_columns)
        costs[: len(cost)], costs[self._over] = cost, weights
        # Multipliers are of any size; the solver's tolerances are not.
        scale = max(1.0, float(np.abs(costs).max(initial=0.0)))
        self._lp.set_costs(costs / scale)
        for _ in range(_CUT_ROUNDS):
            solved = self._lp.solve()
            if solved is None:
                raise search.InfeasibleMasterError(np.zeros(0))
            value, x, _ = solved
            xi = self.losses.into_box(x[: len(cost)])
            if not self._cut(xi, x, costs / scale):
                break
        return scale * value, xi

    def _cut(self, xi: Floats, x: Floats, costs: Floats) -> bool:
        """Add tangents where the program lies below its functions; whether there was one."""
        cut = False
        for f, under in self._curved:
            below, price = (0.0, 1.0) if under is None else (x[under], costs[under])
            if price * (float(f.value(xi)) - below) > _NEAR:
                line = self._touch(f, under, xi)
                cut |= price * (float(line.value(xi)) - below) > 0.5 * _NEAR
        return cut

    def _column(self, j: int) -> int:
        """The variable that stands for a feature (j >= 0) or an auxiliary."""
        if j not in self._columns:
            self._columns[j] = self._lp.add_column(np.zeros(self._lp.n_rows), -INF, INF)
        return self._columns[j]

    def _put(self, f: RateFunction, z: Affine | None) -> Any:
        """Keep a convex function under z, or under 0; the variable of z."""
        under = None if z is None else self._column(next(iter(z.terms)))
        try:
            for row in self._builder.bound(f, 0.0 if z is None else z, -1.0):
                self._row({self._column(j): a for j, a in row.terms.items()}, row.const)
        except NotLinearError:
            self._curved.append((f, under))
            self._touch(f, under, self.losses.middle)
        return under

    def _touch(self, f: RateFunction, under: int | None, at: Floats) -> Affine:
        """Keep a tangent of the function, which lies below it, under the same variable."""
        line = search.tangent(f, search.nearest_trusted(f, at, self.losses.middle))
        self._row(line.terms | ({} if under is None else {under: -1.0}), line.const)
        return line

    def _row(self, terms: dict[int, float], const: float) -> None:
        """``terms @ x + const <= 0``."""
        coefs = np.zeros(self._lp.n_columns)
        coefs[list(terms)] = list(terms.values())
        self._lp.add_row(coefs, -INF, -const)


class Inner:
    """``min cost @ xi + weights @ f(xi)`` over the box of the features, part by part."""

    def __init__(self, losses: GoalLosses, functions: Sequence[RateFunction]) -> None:
        self.losses, self.functions = losses, functions
        self._parts: list[tuple[list[int], NDArray[np.intp], _Smooth | Slack]] = []
        kinked: list[int] = []
        for numbers, features in _apart(functions):
            own = [functions[k] for k in numbers]
            if any(f.has_kinks for f in own):
                kinked += numbers
            else:
                j = np.array(sorted(features))
                self._parts.append((numbers, j, _Smooth(losses, own, j)))
        if kinked:
            own = [functions[k] for k in kinked]
            j = np.array(sorted(set().union(*(f.features for f in own))))
            self._parts.append((kinked, j, Slack(losses, own)))

    def minimise(self, cost: Floats, weights: Sequence[float]) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        cost, least = cost.copy(), 0.0
        for weight, f in zip(weights, self.functions, strict=True):
            if isinstance(f, Affine):
                least += weight * f.const
                for j, a in f.terms.items():
                    cost[j] += weight * a
        xi = np.where(cost > 0.0, self.losses.low, self.losses.high)
        alone = np.ones(len(cost), dtype=bool)
        for _, features, _ in self._parts:
            alone[features] = False
        least += float(cost[alone] @ xi[alone])
        for numbers, features, program in self._parts:
            own = np.zeros(len(cost))
            own[features] = cost[features]
            below, found = program.minimise(own, [weights[k] for k in numbers])
            xi[features] = found[features]
            least += below
        return least, xi


@dataclass(frozen=True, eq=False)
class _Smooth:
    """The same over the features `j` of smooth functions."""

    losses: GoalLosses
    functions: Sequence[RateFunction]
    j: NDArray[np.intp]

    def minimise(self, cost: Floats, weights: Sequence[float]) -> tuple[float, Floats]:
        """As of the whole; elsewhere xi is that of the middle."""
        j, middle = self.j, self.losses.middle
        low, high, own = self.losses.low[j], self.losses.high[j], cost[j]
        scale = max(1.0, float(np.abs(own).max(initial=0.0)))

        def worth(x: Floats) -> tuple[float, Floats]:
            at = middle.copy()
            at[j] = x
            value, slope = float(own @ x), own.copy()
            for w, f in zip(weights, self.functions, strict=True):
                value += w * float(f.value(at))
                slope += w * f.gradient(at)[j]
            return value / scale, slope / scale

        from scipy.optimize import minimize  # slow to load, and few goals need it

        found = minimize(
            worth,
            np.clip(middle[j], low, high),
            jac=True,
            method="L-BFGS-B",
            bounds=list(zip(low, high, strict=True)),
            options={"ftol": 1e-10, "gtol": 1e-7, "maxfun": 100},
        )
        # What is below the tangent plane is below the function.
        at, xi = middle.copy(), middle.copy()
        at[j] = xi[j] = found.x
        for f in self.functions:
            at = search.nearest_trusted(f, at, middle)
        value, slope = worth(at[j])
        below = value + float(np.minimum(slope * (low - at[j]), slope * (high - at[j])).sum())
        return scale * below, xi


def _apart(functions: Sequence[RateFunction]) -> list[tuple[list[int], set[int]]]:
    """The functions that are not affine, in groups that share no feature."""
    groups: list[tuple[list[int], set[int]]] = []
    for k, f in enumerate(functions):
        if isinstance(f, Affine):
            continue
        numbers, features = [k], set(f.features)
        for group in [g for g in groups if g[1] & features]:
            groups.remove(group)
            numbers, features = group[0] + numbers, group[1] | features
        groups.append((numbers, features))
    return groups


# --- One algorithm: its form without constraints, and that with them ------------------------------


Form: TypeAlias = tuple[str, int, Callable[..., None]]
"""What is run, by its name, and the oracle calls where nobody says how many."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the paper by the name of its solver."""

    solver: str
    free: Form
    constrained: Form
    by_row: bool = False
    score: Callable[[Program], RateFunction] = attrgetter("score")

    def __call__(
        self,
        space: Achievable,
        program: Program,
        *,
        calls: int | None = None,
        gap: float = 1e-4,
        **own: Any,
    ) -> search.Optimum:
        """The best mixture of the rules that it gathers."""
        losses = GoalLosses(space, program, self.solver, self.score(program), by_row=self.by_row)
        method, most, body = self.constrained if losses.phi else self.free
        run = Exploration(space, program, method, most if calls is None else calls, gap)
        with space.limits.keeping(True):  # its constants are mixed in the worst case
            body(run, losses, **own)
        return run.finish()


# --- Frank-Wolfe (CMA, Algorithm 1) with exact line search ----------------------------------------


_ZETA, _STEPS = 10.0, (0.5, 0.1, 0.001)
"""Of split Frank-Wolfe: weight of the penalty; steps eta, each for an equal part of the calls."""
_TRUSTED = 1e-9


def _smooth(program: Program) -> RateFunction:
    if program.score.shape.concave and program.score.has_kinks:
        raise ShapeError(
            f"{program.goal.objective}: {takes('frank-wolfe', asked=True)}, this one has kinks, "
            "where a gradient says too little; 'gda' and 'ellipsoid' take it, and 'auto' "
            "certifies it"
        )
    return program.score


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
        floored = losses.score.smallest_floored_argument
        if min(floored(C), floored(F)) >= _TRUSTED:
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
    ("Frank-Wolfe with line search", 5000, _plain),
    ("split Frank-Wolfe", 10_000, _split),
    score=_smooth,
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
    "ellipsoid", ("ellipsoid", 1000, _shrink), ("constrained ellipsoid", 1000, _shrink)
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
    ("GDA", 5000, _take_turns),
    ("constrained GDA", 10_000, _take_turns),
    by_row=True,
)
"""Gradient descent-ascent for concave scores; ConGDA where there are constraints."""


# --- Bisection for ratios (CMA, Algorithm 4) ------------------------------------------------------


_ROUNDS = 20
"""With constraints, how often the bracket is halved."""
_NARROW = 1e-12
_FINE = 1e-3


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
    best: search.Optimum | None = None
    v = losses.middle
    for k in range(_ROUNDS):
        gamma = 0.5 * (low + high)
        losses.score = score.above.plus(score.below.scaled(score.offset - gamma))
        while run.made * _ROUNDS < run.calls * (k + 1):
            if not run.goes_on(v):
                return
            descents[run.made % len(descents)].step(run)
        try:
            best = recombine(run.space, run.program, best)
        except search.InfeasibleMasterError:
            low, high = score.low, score.high
            continue
        v = best.v
        if best.value < gamma:
            high = gamma
        low, high = max(low, best.value), max(high, best.value)


bisection = Algorithm(
    "bisection",
    ("bisection", 100, _halve),
    ("constrained bisection", 10_000, _halve_constrained),
    by_row=True,
    score=lambda program: _ratio(program).above,
)
"""Bisection for ratios of linear functions; ConBisection where there are constraints."""

ALGORITHMS = {one.solver: one for one in (frank_wolfe, gda, ellipsoid, bisection)}
"""Called with a space of whole rules and ``gap=``."""
