"""The master: the best mixture of the columns so far, under the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple, TypeVar

import numpy as np

from setpoint.array_types import Bools, Floats
from setpoint.errors import ShapeError
from setpoint.parameters import SATISFIED
from setpoint.program import (
    Affine,
    NotLinearError,
    Program,
    ProgramConstraint,
    RateFunction,
    RowBuilder,
    algebra,
)
from setpoint.search.achievable import INF, AchievableSet, FeatureTable, MixtureWeights
from setpoint.search.limits import Limits, StoppedError
from setpoint.search.linear_program import (
    TOLERANCE,
    UNSOLVED,
    EpigraphTerm,
    IncrementalLP,
    UnfinishedError,
    pieces_of_level,
    split_terms,
    value_at,
)

# --- One block and one row ------------------------------------------------------------------------


_ROUNDS = 100
_OUT = 1e-14


class ColumnPair(NamedTuple):
    """A draw between two columns: `inside` with probability `p`, else `outside`."""

    inside: int
    outside: int
    p: float
    multiplier: float


def best_pair(gains: Floats, slack: Floats) -> ColumnPair | None:
    """The mixture with the largest gain among those with slack of at least 0.

    Examples
    --------
    >>> best_pair(np.array([0.0, 1.0, 2.0]), np.array([1.0, 0.8, -0.8]))
    ColumnPair(inside=1, outside=2, p=0.5, multiplier=0.625)
    """
    meets = slack >= 0.0
    if not meets.any():
        return None
    best = int(np.argmax(gains))
    if meets[best]:
        return ColumnPair(best, best, 1.0, 0.0)
    inside = int(np.argmax(np.where(meets, gains, -np.inf)))
    outside = best
    for _ in range(_ROUNDS):
        wide = slack[inside] - slack[outside]
        multiplier = float((gains[outside] - gains[inside]) / wide)
        both = gains + multiplier * slack
        k = int(np.argmax(both))
        if both[k] - both[inside] <= _OUT * (abs(both[inside]) + abs(multiplier * slack[inside])):
            return ColumnPair(inside, outside, float(-slack[outside] / wide), multiplier)
        if k in (inside, outside):
            return None
        if meets[k]:
            inside = k
        else:
            outside = k
    return None


# --- The master: a linear program over mixtures of columns (CMA's restricted ----------------------


_HIDDEN = 1e-9
"""A row that reaches this little, relative to its coefficients, shows rounding only."""
_SAMPLE = 4000
"""About so many columns show how large a row is."""
_PRICED = 1e-11
_FEW_ROWS = 2
"""A bound on a ratio is one row, and one for its denominator."""


@dataclass(frozen=True)
class MasterResult:
    """A solved master, over the columns so far."""

    choice: MixtureWeights
    v: Floats
    value: float
    duals: Floats
    slopes: Floats
    const: float
    prices: Floats
    aux: dict[int, float] = field(default_factory=dict)


class InfeasibleMasterError(Exception):
    """No mixture meets the rows; `duals` says which rows are to blame."""

    def __init__(self, duals: Floats) -> None:
        super().__init__("no mixture meets the rows")
        self.duals = duals


class Pricing(NamedTuple):
    """What asking for columns gave."""

    bound: float
    grown: bool
    slack: float
    slopes: Floats
    const: float


class Master:
    """Linear programs over the mixtures of a space."""

    def __init__(self, space: AchievableSet) -> None:
        self.space = space
        self.builder = RowBuilder(space.rates)
        self.built: dict[
            tuple[RateFunction, float, float], tuple[list[Affine], list[EpigraphTerm]]
        ] = {}
        self.place: list[dict[int, int]] = [{} for _ in range(space.n_blocks)]
        self.owner: list[tuple[int, int]] = []
        self._limits: Limits | None = None
        self._miss = 0
        self._aux: dict[int, int] = {}
        self._rows: list[Affine] = []
        self._scaled: list[tuple[Floats, dict[int, float], float, float]] = []
        self._variable: list[int] = []
        self._blocks = np.zeros(0, np.int64)
        self._table = FeatureTable(space.d)
        for block in range(space.n_blocks):
            self._join(block, space.initial_columns(block))

    # ------------------------------------------------------------------ solving
    def solve(self, objective: Affine, rows: Sequence[Affine]) -> MasterResult:
        """The best mixture of the columns so far with all rows <= 0."""
        idle = [not any(row.terms.values()) for row in rows]
        if any(idle):
            return self._without(objective, rows, np.array(idle))
        gain, aux = split_terms(objective, self.space.d)
        if not rows and not aux:
            return self._free(gain, objective.const)
        if not aux and self.space.n_blocks == 1 and len(rows) <= _FEW_ROWS:
            drawn = self._drawn(gain, objective.const, rows)
            if drawn is not None:
                return drawn
        self._demand(rows)
        found = self._best(gain, aux, objective.const)
        if found is None:
            duals = self._meet()
            found = self._best(gain, aux, objective.const)
            if found is None:
                # Feasible within tolerance only: grant what it takes.
                found = self._best(gain, aux, objective.const, 2.0 * TOLERANCE)
                if found is None:
                    raise InfeasibleMasterError(duals)
        return found

    def _without(self, objective: Affine, rows: Sequence[Affine], idle: Bools) -> MasterResult:
        """Without the rows that no column changes: they are met, or to blame alone."""
        past = np.array([row.const if off else 0.0 for row, off in zip(rows, idle, strict=True)])
        if past.max() > SATISFIED:
            raise InfeasibleMasterError((past == past.max()).astype(np.float64))
        duals = np.zeros(len(rows))
        try:
            found = self.solve(objective, [r for r, off in zip(rows, idle, strict=True) if not off])
        except InfeasibleMasterError as error:
            duals[~idle] = error.duals
            raise InfeasibleMasterError(duals) from None
        duals[~idle] = found.duals
        return replace(found, duals=duals)

    def _free(self, gain: Floats, const: float) -> MasterResult:
        """Without rows each block picks its own best column."""
        totals = self.known @ gain
        best = [max(place.values(), key=lambda at: totals[at]) for place in self.place]
        v = self.known[best].sum(axis=0)
        choice = [{self.owner[at][1]: 1.0} for at in best]
        prices = totals[best]
        value = float(v @ gain) + const
        return MasterResult(choice, v, value, np.zeros(0), gain, const, prices)

    def _drawn(self, gain: Floats, const: float, rows: Sequence[Affine]) -> MasterResult | None:
        """One block: a draw that is best under one row alone, if it meets the others too."""
        if any(j < 0 for row in rows for j in row.terms):
            return None
        gains = self.known @ gain
        slopes = np.array([split_terms(row, self.space.d)[0] for row in rows])
        consts = np.array([row.const for row in rows])
        slack = -(self.known @ slopes.T + consts)
        for i in range(len(rows)):
            pair = best_pair(gains, slack[:, i])
            if pair is None:
                continue
            draw = {pair.inside: pair.p, pair.outside: 1.0 - pair.p}
            if pair.p >= 1.0:
                draw = {pair.inside: 1.0}
            at = list(draw)
            v = np.array(list(draw.values())) @ self.known[at]
            others = np.delete(np.arange(len(rows)), i)
            if (slopes[others] @ v + consts[others] > 0.0).any():
                continue
            duals = np.zeros(len(rows))
            duals[i] = pair.multiplier
            net = gain - pair.multiplier * slopes[i]
            prices = np.array([(self.known @ net).max()])
            choice = [{self.owner[k][1]: p for k, p in draw.items()}]
            least = const - pair.multiplier * consts[i]
            return MasterResult(choice, v, float(v @ gain) + const, duals, net, least, prices)
        return None

    def _meet(self) -> Floats:
        """Add columns until the rows can be met; duals of the last program."""
        self._lp.set_bounds(self._miss, 0.0, INF)
        try:
            while True:
                least = self._solve(np.zeros(self.space.d), {self._miss: -1.0}, 0.0)
                if least is None:
                    raise UnfinishedError(UNSOLVED)
                if least.value >= -TOLERANCE:
                    return least.duals
                if not self.price(least).grown:
                    raise InfeasibleMasterError(least.duals)
        finally:
            self._lp.set_bounds(self._miss, 0.0, 0.0)

    # ------------------------------------------------------------------ pricing
    def price(self, found: MasterResult, toward: Pricing | None = None) -> Pricing:
        """Ask the space for better columns, at multipliers between these and earlier ones."""
        if toward is None:
            return self._ask(found, found.slopes, found.const, apart=False)
        asked = []
        for share in self.space.smoothing:
            slopes = share * toward.slopes + (1.0 - share) * found.slopes
            const = share * toward.const + (1.0 - share) * found.const
            asked.append(self._ask(found, slopes, const, apart=True))
        best = min(asked, key=lambda one: one.bound)
        slack = max(one.slack for one in asked)
        return best._replace(grown=any(one.grown for one in asked), slack=slack)

    def _ask(self, found: MasterResult, slopes: Floats, const: float, apart: bool) -> Pricing:
        """One call; `apart`: with other multipliers than those of the program."""
        priced = self.space.price(slopes)
        grown, slack = False, 0.0
        least = _PRICED * max(1.0, float(np.abs(found.slopes).max(initial=0.0)))
        for block, k in enumerate(priced.columns.tolist()):
            gain = -found.prices[block]
            gain += (
                found.slopes @ self.space.columns(block, [k])[0] if apart else priced.values[block]
            )
            slack += max(float(gain), 0.0)
            if gain > least and k not in self.place[block]:
                self._join(block, [k])
                grown = True
        return Pricing(const + float(priced.values.sum()), grown, slack, slopes, const)

    # ------------------------------------------------------------------ columns and rows
    @cached_property
    def _lp(self) -> IncrementalLP:
        """The linear program over the columns so far, made when one is first solved."""
        lp = IncrementalLP()
        for _ in range(self.space.n_blocks):
            lp.add_row(np.zeros(0), 1.0, 1.0)
        # By how far all rows may be missed, while a first point is looked for.
        self._miss = lp.add_column(np.zeros(self.space.n_blocks), 0.0, 0.0)
        for block, _ in self.owner:
            self._variable.append(lp.add_column(_unit(lp.n_rows, block)))
        return lp

    def _join(self, block: int, numbers: Sequence[int]) -> None:
        """Take in columns of a block that are new."""
        features = self.space.columns(block, numbers)
        self._table.add(features)
        matrix = np.array([s[0] for s in self._scaled]).reshape(len(self._scaled), self.space.d)
        rows = features @ matrix.T
        for k, over in zip(numbers, rows, strict=True):
            at = len(self.owner)
            self.place[block][k] = at
            self.owner.append((block, k))
            if "_lp" in vars(self):
                coefs = _unit(self._lp.n_rows, block)
                coefs[self.space.n_blocks :] = over
                self._variable.append(self._lp.add_column(coefs))

    @property
    def known(self) -> Floats:
        """Features (columns, d) of all columns so far."""
        return self._table.features

    def _demand(self, rows: Sequence[Affine]) -> None:
        """Make the rows of the program these; what begins alike stays."""
        same = 0
        while same < min(len(rows), len(self._rows)) and rows[same] is self._rows[same]:
            same += 1
        self._lp.drop_rows(self.space.n_blocks + same)
        del self._rows[same:], self._scaled[same:]
        for row in rows[same:]:
            self._append(row)

    def _append(self, row: Affine) -> None:
        over, aux = split_terms(row, self.space.d)
        scale = self._scale(over, aux, row.const)
        over, const = over / scale, row.const / scale
        aux = {j: a / scale for j, a in aux.items()}
        for j in aux:
            self._auxiliary(j)
        coefs = np.zeros(self._lp.n_columns)
        used = np.flatnonzero(over)
        coefs[self._variable] = self.known[:, used] @ over[used]
        for j, a in aux.items():
            coefs[self._aux[j]] = a
        coefs[self._miss] = -1.0
        self._lp.add_row(coefs, -INF, -const)
        self._rows.append(row)
        self._scaled.append((over, aux, const, scale))

    def _auxiliary(self, j: int) -> None:
        if j not in self._aux:
            self._aux[j] = self._lp.add_column(np.zeros(self._lp.n_rows), -INF, INF)

    def _scale(self, over: Floats, aux: dict[int, float], const: float) -> float:
        """To O(1), by what the columns reach."""
        some = slice(None, None, 1 + len(self.known) // _SAMPLE)
        used = np.flatnonzero(over)
        sizes = np.abs(self.known[some, used] @ over[used])
        if len(self._blocks) != len(self.owner):
            self._blocks = np.array([block for block, _ in self.owner])
        most = np.zeros(self.space.n_blocks)
        np.maximum.at(most, self._blocks[some], sizes)
        reach = max(float(most.sum()), abs(const), *(abs(a) for a in aux.values()))
        size = float(np.abs(over).max(initial=0.0))
        if reach <= _HIDDEN * size:
            # The columns so far say nothing: constants treat all groups alike.
            return size
        if reach <= 1e-300:
            return 1.0
        return const if const > 1e-12 * reach and (over <= 0).all() else reach

    def _best(
        self, gain: Floats, aux: dict[int, float], const: float, past: float = 0.0
    ) -> MasterResult | None:
        """The mixture with the largest gain, rows exceeded by `past` at most; None: no mixture."""
        for j in aux:
            self._auxiliary(j)
        if past:
            self._lp.relax_rows(self.space.n_blocks, past)
            self._rows.clear()
        return self._solve(gain, {self._aux[j]: a for j, a in aux.items()}, const)

    def _solve(self, gain: Floats, others: dict[int, float], const: float) -> MasterResult | None:
        """One linear program; `others` are gains by variables that are not columns."""
        costs = np.zeros(self._lp.n_columns)
        costs[self._variable] = -(self.known @ gain)
        for j, a in others.items():
            costs[j] = -a
        self._lp.set_costs(costs)
        solved = self._lp.solve(self._limits)
        if solved is None:
            return None
        self._limits = self.space.limits  # not before: a first mixture is needed in any case
        value, x, y = solved
        m = self.space.n_blocks
        weights = x[self._variable]
        choice: list[dict[int, float]] = [{} for _ in range(m)]
        for at in np.flatnonzero(weights > 1e-13).tolist():
            block, k = self.owner[at]
            choice[block][k] = float(weights[at])
        for part in choice:
            total = sum(part.values())
            for k in part:
                part[k] /= total
        v = np.zeros(self.space.d)
        for block, part in enumerate(choice):
            for k, p in part.items():
                v += p * self.known[self.place[block][k]]
        duals = np.maximum(-y[m:], 0.0)
        slopes, least = gain.copy(), const
        for z, (over, _, c, _) in zip(duals, self._scaled, strict=True):
            if z:
                slopes -= z * over
                least -= z * c
        scales = np.array([s for *_, s in self._scaled])
        unscaled = duals / scales if len(scales) else duals
        values = {j: float(x[at]) for j, at in self._aux.items()}
        return MasterResult(choice, v, const - value, unscaled, slopes, least, -y[:m], values)


def _unit(size: int, at: int) -> Floats:
    out = np.zeros(size)
    out[at] = 1.0
    return out


# --- The one place where bounds move: solve, recount, move what is missed -------------------------


Found = TypeVar("Found")


def worked_with(meant: Program, inwards: Floats) -> Program:
    """The program that a search works with: bounds moved inwards (m,), below 0 outwards."""
    bounds = zip(meant.constraints, inwards.tolist(), strict=True)
    moved = tuple(replace(c, level=c.level + c.sign * by) for c, by in bounds)
    return replace(meant, constraints=moved)


def solve_and_recount(
    solve: Callable[[Floats], Found], missed: Callable[[Found], Floats], n_bounds: int, times: int
) -> list[Found]:
    """Solve; recount; move the bounds that are worked with by what was missed; solve again."""
    inwards = np.zeros(n_bounds)
    found = [solve(inwards)]
    for _ in range(times):
        further = missed(found[-1])
        if not further.any():
            break
        inwards = inwards + further
        try:
            found.append(solve(inwards))
        except InfeasibleMasterError:
            break
    return found


# --- What the constraints allow: linear rows ------------------------------------------------------


_CLOSED = 1e-10
_NEAR, _STALLED = 1e-8, 5
_REGION_ROUNDS = 400
_TANGENTS = 100
"""More than so many tangents slow each program more than finding them again does."""


class Region:
    """The mixtures of a space that meet the constraints of a program."""

    def __init__(
        self,
        space: AchievableSet,
        program: Program,
        master: Master | None = None,
    ) -> None:
        self.space = space
        self.program = program
        self.forms = space.rates
        self.master = master or Master(space)
        self.rows: list[Affine] = []
        self.sources: list[int] = []
        self.curved: list[tuple[EpigraphTerm, int]] = []
        self.inner: Floats = space.features_of_constants().mean(axis=0)
        self.builder = self.master.builder
        for i, c in enumerate(program.constraints):
            key = (c.function, c.sign, c.level)
            if key not in self.master.built:
                self.master.built[key] = self._build(c)
            rows, curved = self.master.built[key]
            self.rows += rows
            self.sources += [i] * len(rows)
            self.curved += [(piece, i) for piece in curved]
        self.n_plain = len(self.rows)
        self.active: Floats = np.zeros(0)

    def _build(self, c: ProgramConstraint) -> tuple[list[Affine], list[EpigraphTerm]]:
        """A bound as rows, and what is curved in it."""
        try:
            return self.builder.bound(c.function, c.level, c.sign), []
        except NotLinearError:
            f = algebra.scaled(c.sign, c.function)
            if not (f.shape.concave and np.isfinite(c.level)):
                raise ShapeError(
                    f"{c}: no exact search knows a bound of this shape "
                    f"({c.function.shape_name}). Bound its parts, as f1.min() does those of "
                    f"macro_f1, or make it the objective; {self.space.otherwise}"
                ) from None
        links, pieces = pieces_of_level(f, c.sign * c.level, self.builder)
        # A tangent where it begins bounds a piece's auxiliary.
        return [*links, *(p.touching(self.inner) for p in pieces if p.under.terms)], pieces

    def solve(self, objective: Affine, extra: Sequence[Affine] = ()) -> MasterResult:
        """The best mixture of the columns so far for an affine objective."""
        self._forget()
        least, since = float("inf"), 0
        for _ in range(_REGION_ROUNDS):
            found = self.master.solve(objective, [*self.rows, *extra])
            self.active = found.duals[: len(self.rows)]
            missing = self._cut(found)
            least, since = (missing, 0) if missing < 0.9 * least else (least, since + 1)
            # Near the tolerance of the program tangents tell nothing more.
            if missing == 0.0 or (missing <= _NEAR and since >= _STALLED):
                break
        return found

    def _forget(self) -> None:
        """Drop tangents that the last program did not need, once there are many."""
        if len(self.rows) - self.n_plain <= _TANGENTS:
            return
        held = np.arange(len(self.rows)) < self.n_plain
        held[: len(self.active)] |= self.active > 0.0
        self.rows = [r for r, keep in zip(self.rows, held, strict=True) if keep]
        self.sources = [s for s, keep in zip(self.sources, held, strict=True) if keep]
        self.active = np.zeros(0)

    def _cut(self, found: MasterResult) -> float:
        """Add tangents for each curved bound that is broken; by how much the worst one is."""
        worst = 0.0
        for piece, source in self.curved:
            missing = piece.missing(found.v, found.aux)
            if missing > _CLOSED * (1.0 + abs(value_at(piece.under, found.v, found.aux))):
                cuts = piece.cuts(found.v, found.aux, self.inner)
                self.rows += cuts
                self.sources += [source] * len(cuts)
                worst = max(worst, missing if cuts else 0.0)
        return worst

    def blame(self) -> dict[int, float]:
        """The constraints that make it empty, with their shares of the proof, if one is found."""
        try:
            self.solve(Affine({}, 0.0))
        except InfeasibleMasterError as error:
            shares: dict[int, float] = {}
            for source, dual in zip(self.sources, error.duals, strict=False):
                if dual > 1e-9:
                    shares[source] = shares.get(source, 0.0) + float(dual)
            total = sum(shares.values())
            return {i: s / total for i, s in shares.items()}
        except (StoppedError, UnfinishedError):
            pass
        return {}
