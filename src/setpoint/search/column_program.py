"""The linear program over the columns so far: its rows scaled, its solution in the user's terms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from setpoint.array_types import Floats
from setpoint.program.functions import Affine
from setpoint.search.achievable_set import AchievableSet, MixtureWeights
from setpoint.search.limits import Limits
from setpoint.search.linear_program import IncrementalLP

__all__ = ["ColumnProgram", "MasterResult", "split_terms"]

INF = float("inf")
_HIDDEN = 1e-9
"""A row that reaches this little, relative to its coefficients, shows rounding only."""
_SAMPLE = 4000
"""About so many columns show how large a row is."""


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


class ColumnProgram:
    """A linear program over the mixtures of some columns of a space, which grow."""

    def __init__(self, space: AchievableSet) -> None:
        self.space = space
        self.place: list[dict[int, int]] = [{} for _ in range(space.n_blocks)]
        self.owner: list[tuple[int, int]] = []
        self._built_lp: IncrementalLP | None = None
        self._limits: Limits | None = None
        self._miss = 0
        self._aux: dict[int, int] = {}
        self._rows: list[Affine] = []
        self._scaled: list[tuple[Floats, dict[int, float], float, float]] = []
        self._variable: list[int] = []
        self._blocks = np.zeros(0, np.int64)
        self._numbers: list[int] = []
        self._gathered = np.zeros((0, space.d))
        self._n_gathered = 0
        for block in range(space.n_blocks):
            self.join(block, space.initial_columns(block))

    # ------------------------------------------------------------------ columns and rows
    @property
    def _lp(self) -> IncrementalLP:
        """The linear program over the columns so far, made when one is first solved."""
        if self._built_lp is None:
            lp = self._built_lp = IncrementalLP()
            for _ in range(self.space.n_blocks):
                lp.add_row(np.zeros(0), 1.0, 1.0)
            # By how far all rows may be missed, while a first point is looked for.
            self._miss = lp.add_column(np.zeros(self.space.n_blocks), 0.0, 0.0)
            for block, _ in self.owner:
                self._variable.append(lp.add_column(_unit(lp.n_rows, block)))
        return self._built_lp

    def join(self, block: int, numbers: Sequence[int]) -> None:
        """Take in columns of a block that are new."""
        new = [k for k in numbers if k not in self.place[block]]
        if not new:
            return
        numbers = self.space.numbers(block, new)
        features = self.space.table[numbers]
        matrix = np.array([s[0] for s in self._scaled]).reshape(len(self._scaled), self.space.d)
        rows = features @ matrix.T
        for k, number, over in zip(new, numbers, rows, strict=True):
            at = len(self.owner)
            self.place[block][k] = at
            self.owner.append((block, k))
            self._numbers.append(number)
            if self._built_lp is not None:
                coefs = _unit(self._built_lp.n_rows, block)
                coefs[self.space.n_blocks :] = over
                self._variable.append(self._built_lp.add_column(coefs))

    @property
    def known(self) -> Floats:
        """Features (columns, d) of all columns so far."""
        have, need = self._n_gathered, len(self._numbers)
        if need > have:
            if need > len(self._gathered):
                # Room to grow: copying all of them each time one joins takes seconds.
                grown = np.empty((need + need // 8, self.space.d))
                grown[:have] = self._gathered[:have]
                self._gathered = grown
            self._gathered[have:need] = self.space.table[self._numbers[have:]]
            self._n_gathered = need
        return self._gathered[:need]

    def demand(self, rows: Sequence[Affine]) -> None:
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

    @contextmanager
    def relaxed(self, by: float) -> Iterator[None]:
        """Within, the rows may be exceeded by this much; the next that are demanded are new."""
        self._lp.relax_rows(self.space.n_blocks, by)
        try:
            yield
        finally:
            self._rows.clear()
            self._scaled.clear()

    def let_miss(self, most: float) -> None:
        """By how much all rows may be missed alike."""
        self._lp.set_bounds(self._miss, 0.0, most)

    # ------------------------------------------------------------------ solving
    def least_miss(self) -> MasterResult | None:
        """The mixture that misses the rows by the least: minus that is its value."""
        return self._solve(np.zeros(self.space.d), {self._miss: -1.0}, 0.0)

    def best(self, gain: Floats, aux: dict[int, float], const: float) -> MasterResult | None:
        """The mixture with the largest ``gain @ v`` and `aux` gains; None if infeasible."""
        for j in aux:
            self._auxiliary(j)
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


def split_terms(x: Affine, d: int) -> tuple[Floats, dict[int, float]]:
    """Coefficients of the features (d,), and of the auxiliaries, which have numbers below 0."""
    over = np.zeros(d)
    aux: dict[int, float] = {}
    for j, a in x.terms.items():
        if j >= 0:
            over[j] = a
        else:
            aux[j] = a
    return over, aux


def _unit(size: int, at: int) -> Floats:
    out = np.zeros(size)
    out[at] = 1.0
    return out
