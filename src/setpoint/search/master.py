"""The master: a linear program over mixtures of columns (CMA's restricted master).

Each block's weights sum to one. Columns are priced with the duals of the rows, over
every column of the space, so the bound holds for all its mixtures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.program.functions import Affine, RateFunction
from setpoint.program.rows import RowBuilder
from setpoint.search.achievable_set import AchievableSet, MixtureWeights
from setpoint.search.epigraph import EpigraphTerm
from setpoint.search.linear_program import TOLERANCE, UNSOLVED, IncrementalLP, UnfinishedError
from setpoint.search.pair import best_pair
from setpoint.tolerances import SATISFIED
from setpoint.typing import Floats

__all__ = ["InfeasibleMasterError", "Master", "MasterResult", "Pricing"]

INF = float("inf")
_PRICED = 1e-11
_HIDDEN = 1e-9
"""A row that reaches this little, relative to its coefficients, shows rounding only."""
_FEW_ROWS = 2
"""A bound on a ratio is one row, and one for its denominator."""
_SAMPLE = 4000
"""About so many columns show how large a row is."""


class InfeasibleMasterError(Exception):
    """No mixture meets the rows; `duals` says which rows are to blame."""

    def __init__(self, duals: Floats) -> None:
        super().__init__("no mixture meets the rows")
        self.duals = duals


@dataclass(frozen=True)
class MasterResult:
    """A solved master, over the columns so far.

    Parameters
    ----------
    choice : MixtureWeights
    v : array of shape (d,)
        Its features.
    value : float
        The linear objective there.
    duals : array of shape (rows,)
        Multipliers, >= 0.
    slopes : array of shape (d,)
        What the objective gains by a feature, net of the rows.
    const : float
        No mixture is worth more than ``const`` plus each block's largest
        ``slopes @ column``.
    prices : array of shape (blocks,)
        The largest such product among the columns so far.
    aux : dict of int to float
        The auxiliaries of the rows.
    """

    choice: MixtureWeights
    v: Floats
    value: float
    duals: Floats
    slopes: Floats
    const: float
    prices: Floats
    aux: dict[int, float] = field(default_factory=dict)


class Pricing(NamedTuple):
    """What asking for columns gave.

    Parameters
    ----------
    bound : float
        No mixture that meets the rows has a larger objective, if prices are certain.
    grown : bool
        Whether a column joined.
    slack : float
        How much better than the master's a mixture of the new columns looks.
    slopes, const
        The multipliers asked with, as in :class:`MasterResult`.
    """

    bound: float
    grown: bool
    slack: float
    slopes: Floats
    const: float


class Master:
    """Linear programs over the mixtures of a space.

    Columns found for one objective are kept for the next, and the rows of bounds that are
    the same.

    Attributes
    ----------
    builder : RowBuilder
        Of all rows: no two of them may mean another thing by an auxiliary.
    built : dict
        What each bound (function, sign, level) has become.
    """

    def __init__(self, space: AchievableSet) -> None:
        self.space = space
        self.builder = RowBuilder(space.rates)
        self.built: dict[
            tuple[RateFunction, float, float], tuple[list[Affine], list[EpigraphTerm]]
        ] = {}
        self._built_lp: IncrementalLP | None = None
        self._miss = 0
        self._aux: dict[int, int] = {}
        self._rows: list[Affine] = []
        self._scaled: list[tuple[Floats, dict[int, float], float, float]] = []
        self._place: list[dict[int, int]] = [{} for _ in range(space.n_blocks)]
        self._variable: list[int] = []
        self._owner: list[tuple[int, int]] = []
        self._blocks = np.zeros(0, np.int64)
        self._numbers: list[int] = []
        self._gathered = np.zeros((0, space.d))
        for block in range(space.n_blocks):
            self._join(block, space.initial_columns(block))

    # ------------------------------------------------------------------ growing
    @property
    def _lp(self) -> IncrementalLP:
        """The linear program over the columns so far, made when one is first solved."""
        if self._built_lp is None:
            lp = self._built_lp = IncrementalLP()
            for _ in range(self.space.n_blocks):
                lp.add_row(np.zeros(0), 1.0, 1.0)
            # By how far all rows may be missed, while a first point is looked for.
            self._miss = lp.add_column(np.zeros(self.space.n_blocks), 0.0, 0.0)
            for block, _ in self._owner:
                self._variable.append(lp.add_column(_unit(lp.n_rows, block)))
        return self._built_lp

    def _join(self, block: int, numbers: Sequence[int]) -> None:
        """Take in columns of a block that are new."""
        new = [k for k in numbers if k not in self._place[block]]
        if not new:
            return
        numbers = self.space.numbers(block, new)
        features = self.space.table[numbers]
        matrix = np.array([s[0] for s in self._scaled]).reshape(len(self._scaled), self.space.d)
        rows = features @ matrix.T
        for k, number, over in zip(new, numbers, rows, strict=True):
            at = len(self._owner)
            self._place[block][k] = at
            self._owner.append((block, k))
            self._numbers.append(number)
            if self._built_lp is not None:
                coefs = _unit(self._built_lp.n_rows, block)
                coefs[self.space.n_blocks :] = over
                self._variable.append(self._built_lp.add_column(coefs))

    @property
    def _known(self) -> Floats:
        """Features (columns, d) of all columns so far."""
        if len(self._gathered) != len(self._numbers):
            self._gathered = self.space.table[self._numbers]
        return self._gathered

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
        over = np.zeros(self.space.d)
        aux: dict[int, float] = {}
        for j, a in row.terms.items():
            if j >= 0:
                over[j] = a
            else:
                aux[j] = a
        scale = self._scale(over, aux, row.const)
        over, const = over / scale, row.const / scale
        aux = {j: a / scale for j, a in aux.items()}
        for j in aux:
            self._auxiliary(j)
        coefs = np.zeros(self._lp.n_columns)
        used = np.flatnonzero(over)
        coefs[self._variable] = self._known[:, used] @ over[used]
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
        """To O(1), by what the columns reach.

        A floor B >= b_min is written B / b_min >= 1, or the solver's tolerance would
        swallow it.
        """
        some = slice(None, None, 1 + len(self._known) // _SAMPLE)
        used = np.flatnonzero(over)
        sizes = np.abs(self._known[some, used] @ over[used])
        if len(self._blocks) != len(self._owner):
            self._blocks = np.array([block for block, _ in self._owner])
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

    # ------------------------------------------------------------------ solving
    def solve(self, objective: Affine, rows: Sequence[Affine]) -> MasterResult:
        """The best mixture of the columns so far with all rows <= 0.

        Columns are looked for only where those so far do not meet the rows.

        Raises
        ------
        InfeasibleMasterError
            If no mixture of the space does.
        """
        idle = [not any(row.terms.values()) for row in rows]
        if any(idle):
            return self._without(objective, rows, np.array(idle))
        gain = np.zeros(self.space.d)
        aux: dict[int, float] = {}
        for j, a in objective.terms.items():
            if j >= 0:
                gain[j] = a
            else:
                aux[j] = a
        if not rows and not aux:
            return self._free(gain, objective.const)
        if not aux and self.space.n_blocks == 1 and len(rows) <= _FEW_ROWS:
            drawn = self._drawn(gain, objective.const, rows)
            if drawn is not None:
                return drawn
        self._demand(rows)
        for j in aux:
            self._auxiliary(j)
        found = self._solve(gain, aux, objective.const)
        if found is None:
            duals = self._meet()
            found = self._solve(gain, aux, objective.const)
            if found is None:
                # Feasible within tolerance only: grant what it takes.
                self._lp.relax_rows(self.space.n_blocks, 2.0 * TOLERANCE)
                found = self._solve(gain, aux, objective.const)
                self._rows.clear()  # so that the next program has its rows anew
                self._scaled.clear()
                if found is None:
                    raise InfeasibleMasterError(duals)
        return found

    def _without(
        self, objective: Affine, rows: Sequence[Affine], idle: NDArray[np.bool_]
    ) -> MasterResult:
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
        totals = self._known @ gain
        best = [max(place.values(), key=lambda at: totals[at]) for place in self._place]
        v = self._known[best].sum(axis=0)
        choice = [{self._owner[at][1]: 1.0} for at in best]
        prices = totals[best]
        value = float(v @ gain) + const
        return MasterResult(choice, v, value, np.zeros(0), gain, const, prices)

    def _drawn(self, gain: Floats, const: float, rows: Sequence[Affine]) -> MasterResult | None:
        """One block: a draw that is best under one row alone, if it meets the others too."""
        if any(j < 0 for row in rows for j in row.terms):
            return None
        gains, slopes = self._known @ gain, np.zeros((len(rows), self.space.d))
        for i, row in enumerate(rows):
            slopes[i, list(row.terms)] = list(row.terms.values())
        consts = np.array([row.const for row in rows])
        slack = -(self._known @ slopes.T + consts)
        for i in range(len(rows)):
            pair = best_pair(gains, slack[:, i])
            if pair is None:
                continue
            draw = {pair.inside: pair.p, pair.outside: 1.0 - pair.p}
            if pair.p >= 1.0:
                draw = {pair.inside: 1.0}
            at = list(draw)
            v = np.array(list(draw.values())) @ self._known[at]
            others = np.delete(np.arange(len(rows)), i)
            if (slopes[others] @ v + consts[others] > 0.0).any():
                continue
            duals = np.zeros(len(rows))
            duals[i] = pair.multiplier
            net = gain - pair.multiplier * slopes[i]
            prices = np.array([(self._known @ net).max()])
            choice = [{self._owner[k][1]: p for k, p in draw.items()}]
            least = const - pair.multiplier * consts[i]
            return MasterResult(choice, v, float(v @ gain) + const, duals, net, least, prices)
        return None

    def _meet(self) -> Floats:
        """Add columns until the rows can be met; duals of the last program.

        Raises
        ------
        InfeasibleMasterError
            If no mixture of the space meets them.
        UnfinishedError
            If that cannot be found out.
        """
        self._lp.set_bounds(self._miss, 0.0, INF)
        try:
            while True:
                least = self._solve(np.zeros(self.space.d), {self._miss: -1.0}, 0.0, raw=True)
                if least is None:
                    raise UnfinishedError(UNSOLVED)
                if least.value >= -TOLERANCE:
                    return least.duals
                if not self.price(least).grown:
                    raise InfeasibleMasterError(least.duals)
        finally:
            self._lp.set_bounds(self._miss, 0.0, 0.0)

    def _solve(
        self, gain: Floats, aux: dict[int, float], const: float, *, raw: bool = False
    ) -> MasterResult | None:
        """One linear program; None where it is infeasible. `raw`: `aux` names variables."""
        costs = np.zeros(self._lp.n_columns)
        costs[self._variable] = -(self._known @ gain)
        for j, a in aux.items():
            costs[j if raw else self._aux[j]] = -a
        self._lp.set_costs(costs)
        solved = self._lp.solve()
        if solved is None:
            return None
        value, x, y = solved
        m = self.space.n_blocks
        weights = x[self._variable]
        choice: list[dict[int, float]] = [{} for _ in range(m)]
        for at in np.flatnonzero(weights > 1e-13).tolist():
            block, k = self._owner[at]
            choice[block][k] = float(weights[at])
        for part in choice:
            total = sum(part.values())
            for k in part:
                part[k] /= total
        v = np.zeros(self.space.d)
        for block, part in enumerate(choice):
            for k, p in part.items():
                v += p * self._known[self._place[block][k]]
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

    # ------------------------------------------------------------------ pricing
    def price(self, found: MasterResult, toward: Pricing | None = None) -> Pricing:
        """Ask the space for better columns, at multipliers between these and earlier ones."""
        slopes, const = found.slopes, found.const
        if toward is not None:
            share = self.space.smoothing
            slopes = share * toward.slopes + (1.0 - share) * slopes
            const = share * toward.const + (1.0 - share) * const
        priced = self.space.price(slopes)
        grown, slack = False, 0.0
        least = _PRICED * max(1.0, float(np.abs(found.slopes).max(initial=0.0)))
        for block, k in enumerate(priced.columns.tolist()):
            gain = -found.prices[block]
            gain += (
                found.slopes @ self.space.columns(block, [k])[0] if toward else priced.values[block]
            )
            slack += max(float(gain), 0.0)
            if gain > least and k not in self._place[block]:
                self._join(block, [k])
                grown = True
        return Pricing(const + float(priced.values.sum()), grown, slack, slopes, const)


def _unit(size: int, at: int) -> Floats:
    out = np.zeros(size)
    out[at] = 1.0
    return out
