"""What the named algorithms share: losses, slack, inner problems, recombination."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.errors import InputError, ShapeError
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
from setpoint.search import (
    AchievableSet,
    IncrementalLP,
    InfeasibleMasterError,
    MixtureWeights,
    Optimum,
    best_mixture,
    nearest_trusted,
    tangent,
)
from setpoint.solvers import takes

# --- A goal as the confusion-matrix paper writes it -----------------------------------------------


class GoalLosses:
    """psi and phi over the features, and the box in which the features lie."""

    def __init__(
        self,
        space: AchievableSet,
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
        self.middle: Floats = np.mean([space.features(c) for c in space.constants()], axis=0)

    def slope(self, v: Floats) -> Floats:
        """The gradient (d,) of psi."""
        return -self.score.gradient(v)

    def excess(self, v: Floats) -> Floats:
        """All phi (K,)."""
        return np.array([float(f.value(v)) for f in self.phi])

    def excess_slope(self, v: Floats, mu: Floats) -> Floats:
        """The gradient (d,) of ``mu @ phi``."""
        out = np.zeros(len(v))
        for m, f in zip(mu, self.phi, strict=True):
            if m:
                out += m * f.gradient(v)
        return out

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


# --- The exact end of every algorithm of the paper ------------------------------------------------


INF = float("inf")
_NEAR = 1e-7
"""To within so much the master is solved."""


def recombine(
    space: Achievable,
    program: Program,
    method: str = "recombined",
    *,
    bound: float = INF,
    gap: float = 0.0,
    stopped: str = "",
    start: MixtureWeights | None = None,
) -> Optimum:
    """The best mixture of the columns gathered, without any oracle call."""
    choice = best_mixture(space.gathered(start), program, _NEAR).choice
    v = space.features(choice)
    value = float(program.score.value(v))
    return Optimum(choice, v, value, INF, "optimal", method, stopped).bounded(bound, gap)


# --- Gathering rules by oracle calls: the budget, the trace ---------------------------------------


_FIRST = 16
_HEARTBEAT = 100


class Exploration:
    """One run of an algorithm: what it asks, and what is known so far."""

    def __init__(
        self, space: Achievable, program: Program, method: str, calls: int, gap: float
    ) -> None:
        if calls < 1:
            raise InputError(f"`calls` is a whole number >= 1, got {calls!r}")
        self.space = space
        self.program = program
        self.method = method
        self.calls = calls
        self.gap = gap
        self.made = 0
        self.bound = INF
        self.best: Optimum | None = None
        self._next = _FIRST
        self._recorded = (0, INF)

    # ------------------------------------------------------------------ the run
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
            self._recombine()
        best = self.best
        if self.made >= self._recorded[0] + _HEARTBEAT or self.bound < self._recorded[1]:
            self._record(v if best is None else best.v)
        closed = best is not None and self.bound - best.value <= self.gap
        return self.made < self.calls and not closed

    def finish(self, body: Callable[[], None]) -> Optimum:
        """Run the algorithm, to its end or a limit, and recombine."""
        limits = self.space.limits
        with limits.keeping(True):  # its constants are mixed in the worst case
            body()
        mixed = recombine(
            self.space,
            self.program,
            f"{self.method}, recombined",
            bound=self.bound,
            gap=self.gap,
            stopped=limits.stopped,
            start=None if self.best is None else self.best.choice,
        )
        self._record(mixed.v)
        return mixed

    # ------------------------------------------------------------------ what is known
    def _recombine(self) -> None:
        start = None if self.best is None else self.best.choice
        try:
            self.best = recombine(self.space, self.program, self.method, start=start)
        except InfeasibleMasterError:
            return
        self._record(self.best.v)

    def _record(self, v: Floats) -> None:
        self._recorded = (self.made, self.bound)
        self.space.limits.record_rates(self.program, v, self.bound)


# --- Small convex programs over the slack variables -----------------------------------------------


_ROUNDS = 60


@dataclass
class _Curved:
    """A convex function that stays under a variable of the program, or under 0."""

    function: RateFunction
    under: int | None


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
        self._lp = IncrementalLP()
        self._columns: dict[int, int] = {}
        for j, (low, high) in enumerate(zip(losses.low, losses.high, strict=True)):
            self._columns[j] = self._lp.add_column(np.zeros(0), low, high)
        self._curved: list[_Curved] = []
        # What is weighed is minimised through a variable.
        self._over: list[int] = []
        for f in weighed:
            z = self._builder.auxiliary()
            self._over.append(self._column(next(iter(z.terms))))
            self._put(f, z)
        for f in under_zero:
            self._put(f, None)

    def minimise(self, cost: Floats, weights: Sequence[float] = ()) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        costs = np.zeros(self._lp.n_columns)
        costs[: len(cost)] = cost
        costs[self._over] = weights
        # Multipliers are of any size; the solver's tolerances are not.
        scale = max(1.0, float(np.abs(costs).max(initial=0.0)))
        self._lp.set_costs(costs / scale)
        for _ in range(_ROUNDS):
            solved = self._lp.solve()
            if solved is None:
                raise InfeasibleMasterError(np.zeros(0))
            value, x, _ = solved
            xi = self.losses.into_box(x[: len(cost)])
            if not self._cut(xi, x, costs / scale):
                break
        return scale * value, xi

    def _cut(self, xi: Floats, x: Floats, costs: Floats) -> bool:
        """Add tangents where the program lies below its functions; whether there was one."""
        cut = False
        for c in self._curved:
            below = 0.0 if c.under is None else x[c.under]
            price = 1.0 if c.under is None else costs[c.under]
            if price * (float(c.function.value(xi)) - below) > _NEAR:
                line = self._touch(c, xi)
                cut |= price * (float(line.value(xi)) - below) > 0.5 * _NEAR
        return cut

    def _column(self, j: int) -> int:
        """The variable that stands for a feature (j >= 0) or an auxiliary."""
        if j not in self._columns:
            self._columns[j] = self._lp.add_column(np.zeros(self._lp.n_rows), -INF, INF)
        return self._columns[j]

    def _put(self, f: RateFunction, z: Affine | None) -> None:
        """Keep a convex function under z, or under 0."""
        try:
            rows = self._builder.bound(f, 0.0 if z is None else z, -1.0)
        except NotLinearError:
            curved = _Curved(f, None if z is None else self._column(next(iter(z.terms))))
            self._curved.append(curved)
            self._touch(curved, self.losses.middle)
            return
        for row in rows:
            self._row({self._column(j): a for j, a in row.terms.items()}, row.const)

    def _touch(self, c: _Curved, at: Floats) -> Affine:
        """Keep a tangent of the function, which lies below it, under the same variable."""
        line = tangent(c.function, nearest_trusted(c.function, at, self.losses.middle))
        self._row(line.terms | ({} if c.under is None else {c.under: -1.0}), line.const)
        return line

    def _row(self, terms: dict[int, float], const: float) -> None:
        """``terms @ x + const <= 0``."""
        coefs = np.zeros(self._lp.n_columns)
        coefs[list(terms)] = list(terms.values())
        self._lp.add_row(coefs, -INF, -const)


# --- The ellipsoid method's inner minimum over xi, part by part -----------------------------------


@dataclass
class _FunctionGroup:
    """Functions, by number, and the features that they alone need."""

    functions: list[int]
    features: NDArray[np.intp]


class Inner:
    """``min cost @ xi + weights @ f(xi)`` over the box of the features."""

    def __init__(self, losses: GoalLosses, functions: Sequence[RateFunction]) -> None:
        self.losses = losses
        self.functions = tuple(functions)
        self._affine = [k for k, f in enumerate(functions) if isinstance(f, Affine)]
        self._smooth: list[_FunctionGroup] = []
        kinked: list[int] = []
        for numbers, features in _apart(functions):
            if any(functions[k].has_kinks for k in numbers):
                kinked += numbers
            else:
                self._smooth.append(_FunctionGroup(numbers, np.array(sorted(features))))
        self._kinked = _FunctionGroup(
            kinked, np.array(sorted(_features(functions, kinked)), dtype=np.intp)
        )
        self._program = Slack(losses, [functions[k] for k in kinked]) if kinked else None

    def minimise(self, cost: Floats, weights: Sequence[float]) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        cost = cost.copy()
        least = 0.0
        for k in self._affine:
            f = self.functions[k]
            assert isinstance(f, Affine)
            least += weights[k] * f.const
            for j, a in f.terms.items():
                cost[j] += weights[k] * a
        xi = np.where(cost > 0.0, self.losses.low, self.losses.high)
        alone = np.ones(len(cost), dtype=bool)
        for part in [*self._smooth, self._kinked]:
            alone[part.features] = False
        least += float(cost[alone] @ xi[alone])
        for part in self._smooth:
            below, found = self._descend(part, cost, weights)
            xi[part.features] = found
            least += below
        if self._program is not None:
            part = self._kinked
            own = np.zeros(len(cost))
            own[part.features] = cost[part.features]
            below, found = self._program.minimise(own, [weights[k] for k in part.functions])
            xi[part.features] = found[part.features]
            least += below
        return least, xi

    def _descend(
        self, part: _FunctionGroup, cost: Floats, weights: Sequence[float]
    ) -> tuple[float, Floats]:
        """The minimum over the features of smooth functions."""
        j = part.features
        low, high = self.losses.low[j], self.losses.high[j]
        middle = self.losses.middle
        own = cost[j]
        terms = [(weights[k], self.functions[k]) for k in part.functions]
        scale = max(1.0, float(np.abs(own).max(initial=0.0)))

        def worth(x: Floats) -> tuple[float, Floats]:
            at = middle.copy()
            at[j] = x
            value, slope = float(own @ x), own.copy()
            for w, f in terms:
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
        at = middle.copy()
        at[j] = found.x
        for _, f in terms:
            at = nearest_trusted(f, at, middle)
        value, slope = worth(at[j])
        below = value + float(np.minimum(slope * (low - at[j]), slope * (high - at[j])).sum())
        return scale * below, found.x


def _features(functions: Sequence[RateFunction], numbers: Sequence[int]) -> set[int]:
    return set().union(*(functions[k].features for k in numbers))


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
