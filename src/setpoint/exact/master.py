"""The master: a linear program over cut-offs, by column generation.

Columns are cut-offs; a slot's weights sum to one. Columns are priced with the duals of
the rows, over every cut-off, so the bound holds for all mixtures of cut-offs (CMA's
restricted master, with prefix sums in place of the oracle).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog

from setpoint.exact.problem import Choice, Floats, Problem
from setpoint.goals.atoms import Affine

__all__ = ["InfeasibleMasterError", "Master", "MasterResult"]

_ALL_AT_ONCE = 600
"""Up to this many columns the program is solved whole."""

_SAMPLE = 4000
"""About so many columns show how large a row is."""

_TOLERANCE = 1e-10
_PRICED = 1e-11
_SOLVED, _EMPTY = 0, 2
"""What linprog calls solved and infeasible."""


class InfeasibleMasterError(Exception):
    """No mixture of cut-offs meets the rows; `duals` says which rows are to blame."""

    def __init__(self, duals: Floats) -> None:
        super().__init__("no mixture of cut-offs meets the rows")
        self.duals = duals


@dataclass(frozen=True)
class MasterResult:
    """A solved master.

    Parameters
    ----------
    choice : Choice
    v : array of shape (d,)
        Its features.
    value : float
        The linear objective there.
    bound : float
        No mixture of cut-offs that meets the rows has a larger one.
    duals : array of shape (rows,)
        Multipliers, >= 0.
    """

    choice: Choice
    v: Floats
    value: float
    bound: float
    duals: Floats


class Master:
    """Linear programs over the mixtures of a problem's cut-offs.

    Columns found for one objective are kept for the next.

    Parameters
    ----------
    problem : Problem
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.columns = [s.columns for s in problem.slots]
        total = sum(len(c) for c in self.columns)
        whole = total <= max(_ALL_AT_ONCE, 2 * len(self.columns))
        self.active: list[list[int]] = [
            list(range(len(c))) if whole else sorted({0, len(c) - 1}) for c in self.columns
        ]

    def maximize(self, objective: Affine, rows: Sequence[Affine]) -> MasterResult:
        """The mixture with the largest `objective` among those with all rows <= 0.

        Raises
        ------
        InfeasibleMasterError
            If there is none.
        """
        program = _Rows(rows, objective, self.columns)
        if not rows and not program.n_aux:
            return self._free(program)
        return self._generate(program, phase_one=False)

    def _free(self, program: _Rows) -> MasterResult:
        """Without rows each slot picks its own best cut-off."""
        self.problem.n_calls += 1
        best = [int(np.argmax(c @ program.objective)) for c in self.columns]
        choice = self._choice([{k: 1.0} for k in best])
        v = self.problem.features(choice)
        value = float(v @ program.objective) + program.constant
        return MasterResult(choice, v, value, value, np.zeros(0))

    def _generate(self, program: _Rows, phase_one: bool) -> MasterResult:
        while True:
            solved = self._solve(program, phase_one)
            if solved is None:
                # The columns at hand meet no rows: look for some that do.
                least = self._generate(program, phase_one=True)
                if least.value < -_TOLERANCE:
                    raise InfeasibleMasterError(least.duals)
                solved = self._solve(program, phase_one)
            if solved is None:
                # Feasible within tolerance only: grant what it takes.
                program.const -= 2.0 * _TOLERANCE
                solved = self._solve(program, phase_one)
            if solved is None:
                raise InfeasibleMasterError(least.duals)
            value, weights, duals, prices, slopes = solved
            grown, slack = self._price(slopes, prices)
            if not grown or (phase_one and value >= -_TOLERANCE):
                break
        choice = self._choice(weights)
        return MasterResult(choice, self.problem.features(choice), value, value + slack, duals)

    def _price(self, slopes: Floats, prices: Floats) -> tuple[bool, float]:
        """Add each slot's best column where it improves.

        Whether one was added, and how much better than the master some mixture could be.
        """
        self.problem.n_calls += 1
        grown, slack = False, 0.0
        least = _PRICED * max(1.0, float(np.abs(slopes).max(initial=0.0)))
        for active, columns, price in zip(self.active, self.columns, prices, strict=True):
            gains = columns @ slopes
            k = int(np.argmax(gains))
            gain = float(gains[k] - price)
            slack += max(gain, 0.0)
            if gain > least and k not in active:
                active.append(k)
                grown = True
        return grown, slack

    def _solve(
        self, program: _Rows, phase_one: bool
    ) -> tuple[float, list[dict[int, float]], Floats, Floats, Floats] | None:
        """One linear program: value, weights by slot, row duals, slot prices, slopes.

        None where it is infeasible, or HiGHS cannot tell: phase one can.
        """
        counts = [len(a) for a in self.active]
        table = np.concatenate([c[a] for c, a in zip(self.columns, self.active, strict=True)])
        n, m, n_aux = len(table), len(counts), program.n_aux
        n_rows = len(program.scale)
        width = n + n_aux + phase_one
        cost = np.zeros(width)
        upper = np.zeros((n_rows, width))
        upper[:, :n] = program.over_v @ table.T
        upper[:, n : n + n_aux] = program.over_aux
        if phase_one:
            upper[:, -1], cost[-1] = -1.0, 1.0
        else:
            cost[:n] = -(table @ program.objective)
            cost[n : n + n_aux] = -program.objective_aux
        equal = np.zeros((m, width))
        equal[np.repeat(np.arange(m), counts), np.arange(n)] = 1.0
        bounds = np.tile([0.0, np.inf], (width, 1))
        bounds[n : n + n_aux, 0] = -np.inf
        result = _linprog(cost, upper, -program.const, equal, np.ones(m), bounds)
        if result.status != _SOLVED:
            if not phase_one:
                return None
            raise RuntimeError(f"the linear program over cut-offs failed: {result.message}")
        weights: list[dict[int, float]] = []
        at = 0
        for active in self.active:
            part = result.x[at : at + len(active)]
            weights.append({k: float(p) for k, p in zip(active, part, strict=True) if p > 1e-13})
            at += len(active)
        duals = np.maximum(-np.asarray(result.ineqlin.marginals), 0.0) if n_rows else np.zeros(0)
        prices = -np.asarray(result.eqlin.marginals)
        gain = np.zeros(self.problem.d) if phase_one else program.objective
        slopes = gain - duals @ program.over_v if n_rows else gain
        value = -float(result.fun) + (0.0 if phase_one else program.constant)
        return value, weights, duals / program.scale if n_rows else duals, prices, slopes

    def _choice(self, weights: Sequence[dict[int, float]]) -> Choice:
        """Weights over columns as probabilities over cut-offs."""
        out = []
        for slot, part in zip(self.problem.slots, weights, strict=True):
            total = sum(part.values())
            out.append({int(slot.curve.hull[k]): p / total for k, p in part.items()})
        return out


class _Rows:
    """Rows and objective as arrays over features and auxiliaries, rows scaled to O(1)."""

    def __init__(self, rows: Sequence[Affine], objective: Affine, tables: list[Floats]) -> None:
        d = tables[0].shape[1]
        aux = sorted({j for r in (*rows, objective) for j in r.terms if j < 0}, reverse=True)
        place = {j: i for i, j in enumerate(aux)}
        self.n_aux = len(aux)
        self.over_v = np.zeros((len(rows), d))
        self.over_aux = np.zeros((len(rows), len(aux)))
        self.const = np.array([r.const for r in rows])
        for i, r in enumerate(rows):
            for j, a in r.terms.items():
                if j >= 0:
                    self.over_v[i, j] = a
                else:
                    self.over_aux[i, place[j]] = a
        # To O(1), by what the columns reach; a floor B >= b_min is written B / b_min >= 1,
        # or the solver's tolerance would swallow it.
        some = [columns[:: 1 + len(columns) // _SAMPLE] for columns in tables]
        reach = sum(np.abs(columns @ self.over_v.T).max(axis=0) for columns in some)
        reach = np.maximum(reach, np.abs(self.over_aux).max(axis=1, initial=0.0))
        reach = np.maximum(reach, np.abs(self.const))
        floor = (self.const > 1e-12 * reach) & (self.over_v <= 0).all(axis=1)
        self.scale = np.where(reach <= 1e-300, 1.0, np.where(floor, self.const, reach))
        self.over_v /= self.scale[:, None]
        self.over_aux /= self.scale[:, None]
        self.const = self.const / self.scale
        self.objective = np.zeros(d)
        self.objective_aux = np.zeros(len(aux))
        for j, a in objective.terms.items():
            if j >= 0:
                self.objective[j] = a
            else:
                self.objective_aux[place[j]] = a
        self.constant = objective.const


def _linprog(
    cost: Floats,
    upper: Floats,
    most: Floats,
    equal: Floats,
    total: Floats,
    bounds: Any,
) -> Any:
    """HiGHS at tight tolerances; the ways it is asked in where one of them gives up."""
    method: Any
    for method, presolve in (("highs-ds", False), ("highs-ds", True), ("highs-ipm", True)):
        options: Any = {
            "presolve": presolve,
            "primal_feasibility_tolerance": _TOLERANCE,
            "dual_feasibility_tolerance": _TOLERANCE,
        }
        result: Any = linprog(
            cost, upper, most, equal, total, bounds, method=method, options=options
        )
        if result.status in (_SOLVED, _EMPTY):
            break
    return result
