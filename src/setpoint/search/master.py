"""The master: a linear program over mixtures of columns (CMA's restricted master).

Each block's weights sum to one. Columns are priced with the duals of the rows, over
every column of the space, so the bound holds for all its mixtures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.program.functions import Affine, RateFunction
from setpoint.program.rows import RowBuilder
from setpoint.search.achievable_set import AchievableSet
from setpoint.search.column_program import ColumnProgram, MasterResult, split_terms
from setpoint.search.epigraph import EpigraphTerm
from setpoint.search.linear_program import TOLERANCE, UNSOLVED, UnfinishedError
from setpoint.search.pair import best_pair
from setpoint.tolerances import SATISFIED

__all__ = ["InfeasibleMasterError", "Master", "Pricing"]

INF = float("inf")
_PRICED = 1e-11
_FEW_ROWS = 2
"""A bound on a ratio is one row, and one for its denominator."""


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
        self._columns = ColumnProgram(space)

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
        columns = self._columns
        columns.demand(rows)
        found = columns.best(gain, aux, objective.const)
        if found is None:
            duals = self._meet()
            found = columns.best(gain, aux, objective.const)
            if found is None:
                # Feasible within tolerance only: grant what it takes.
                with columns.relaxed(2.0 * TOLERANCE):
                    found = columns.best(gain, aux, objective.const)
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
        totals = self._columns.known @ gain
        best = [max(place.values(), key=lambda at: totals[at]) for place in self._columns.place]
        v = self._columns.known[best].sum(axis=0)
        choice = [{self._columns.owner[at][1]: 1.0} for at in best]
        prices = totals[best]
        value = float(v @ gain) + const
        return MasterResult(choice, v, value, np.zeros(0), gain, const, prices)

    def _drawn(self, gain: Floats, const: float, rows: Sequence[Affine]) -> MasterResult | None:
        """One block: a draw that is best under one row alone, if it meets the others too."""
        if any(j < 0 for row in rows for j in row.terms):
            return None
        gains, slopes = self._columns.known @ gain, np.zeros((len(rows), self.space.d))
        for i, row in enumerate(rows):
            slopes[i, list(row.terms)] = list(row.terms.values())
        consts = np.array([row.const for row in rows])
        slack = -(self._columns.known @ slopes.T + consts)
        for i in range(len(rows)):
            pair = best_pair(gains, slack[:, i])
            if pair is None:
                continue
            draw = {pair.inside: pair.p, pair.outside: 1.0 - pair.p}
            if pair.p >= 1.0:
                draw = {pair.inside: 1.0}
            at = list(draw)
            v = np.array(list(draw.values())) @ self._columns.known[at]
            others = np.delete(np.arange(len(rows)), i)
            if (slopes[others] @ v + consts[others] > 0.0).any():
                continue
            duals = np.zeros(len(rows))
            duals[i] = pair.multiplier
            net = gain - pair.multiplier * slopes[i]
            prices = np.array([(self._columns.known @ net).max()])
            choice = [{self._columns.owner[k][1]: p for k, p in draw.items()}]
            least = const - pair.multiplier * consts[i]
            return MasterResult(choice, v, float(v @ gain) + const, duals, net, least, prices)
        return None

    def _meet(self) -> Floats:
        """Add columns until the rows can be met; duals of the last program."""
        self._columns.let_miss(INF)
        try:
            while True:
                least = self._columns.least_miss()
                if least is None:
                    raise UnfinishedError(UNSOLVED)
                if least.value >= -TOLERANCE:
                    return least.duals
                if not self.price(least).grown:
                    raise InfeasibleMasterError(least.duals)
        finally:
            self._columns.let_miss(0.0)

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
            if gain > least and k not in self._columns.place[block]:
                self._columns.join(block, [k])
                grown = True
        return Pricing(const + float(priced.values.sum()), grown, slack, slopes, const)
