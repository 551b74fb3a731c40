"""Linear programs that grow, with rows for curved functions."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import highspy
import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import SetpointError
from setpoint.program import (
    Affine,
    Log,
    PowerMean,
    ProductNode,
    RateFunction,
    Ratio,
    RowBuilder,
    WeightedSum,
    algebra,
)
from setpoint.search.achievable import AchievableSet, FeatureTable, MixtureWeights
from setpoint.search.limits import Limits

# --- A linear program that grows ------------------------------------------------------------------


TOLERANCE = 1e-10
_LARGE = 5000
"""From so many variables on the primal simplex is the faster one after columns joined."""
UNSOLVED = (
    "a linear program over mixtures could not be solved: the weights of the rows, or the numbers "
    "in the goal, lie too many orders of magnitude apart"
)
_log = logging.getLogger(__name__)
_Highs: Any = highspy.Highs
_DUAL, _PRIMAL = 1, 4
_LATE = highspy.HighsModelStatus.kTimeLimit
_INF = float(highspy.kHighsInf)


class UnfinishedError(SetpointError, RuntimeError):
    """Numbers lie too far apart for a linear program; constraints could be met nearly only."""


_STEPS, _FIRST = 20, 2000
"""Steps of one run of the simplex for each column and row, and those that all may take."""


class _Quiet(_Highs):
    """HiGHS that is silent before its own constructor, which may print, asks for callbacks."""

    def enableCallbacks(self) -> None:
        self.silent()
        super().enableCallbacks()


def _instance() -> Any:
    highs = _Quiet()
    for option, value in (
        ("output_flag", False),
        ("presolve", "off"),
        ("threads", 1),
        ("primal_feasibility_tolerance", TOLERANCE),
        ("dual_feasibility_tolerance", TOLERANCE),
    ):
        highs.setOptionValue(option, value)
    return highs


class IncrementalLP:
    """Minimise ``cost @ x`` under rows ``low <= a @ x <= high``, by HiGHS's simplex."""

    def __init__(self) -> None:
        self._highs: Any = _instance()
        self.n_columns = 0
        self.n_rows = 0

    def _set(self, option: str, value: Any) -> None:
        self._highs.setOptionValue(option, value)

    def add_column(self, coefs: Floats, low: float = 0.0, high: float = _INF) -> int:
        """A variable with its coefficients (rows,) in the rows there are."""
        where = np.flatnonzero(coefs).astype(np.int32)
        self._highs.addCol(0.0, low, high, len(where), where, coefs[where])
        self.n_columns += 1
        return self.n_columns - 1

    def add_row(self, coefs: Floats, low: float, high: float) -> None:
        """A row with its coefficients (columns,) in the variables there are."""
        where = np.flatnonzero(coefs).astype(np.int32)
        self._highs.addRow(low, high, len(where), where, coefs[where])
        self.n_rows += 1

    def drop_rows(self, start: int) -> None:
        """Take out all rows from number `start` on."""
        if start < self.n_rows:
            gone = np.arange(start, self.n_rows, dtype=np.int32)
            self._highs.deleteRows(len(gone), gone)
            self.n_rows = start

    def set_costs(self, costs: Floats) -> None:
        """The costs (columns,)."""
        index = np.arange(self.n_columns, dtype=np.int32)
        self._highs.changeColsCost(self.n_columns, index, np.ascontiguousarray(costs))

    def set_bounds(self, column: int, low: float, high: float) -> None:
        """The range of a variable."""
        self._highs.changeColBounds(column, low, high)

    def relax_rows(self, start: int, by: float) -> None:
        """Raise the upper end of all rows from number `start` on."""
        lp = self._highs.getLp()
        for i in range(start, self.n_rows):
            self._highs.changeRowBounds(i, -_INF, lp.row_upper_[i] + by)

    def solve(self, limits: Limits | None = None) -> tuple[float, Floats, Floats] | None:
        """Value, variables (columns,) and duals (rows,); None where no point meets the rows."""
        self._set("simplex_strategy", _PRIMAL if self.n_columns >= _LARGE else _DUAL)
        # A degenerate program may go round for ever; begun otherwise it does not.
        self._set("simplex_iteration_limit", _STEPS * (self.n_columns + self.n_rows) + _FIRST)
        status = None
        for method in ("again", "afresh", "rebuilt", "scaled", "presolved", "interior"):
            if method == "rebuilt":
                # What an instance remembers of failures spoils its later runs.
                model = self._highs.getModel()
                self._highs = _instance()
                self._highs.passModel(model)
            elif method != "again":
                self._highs.clearSolver()
            self._set("simplex_scale_strategy", 4 if method == "scaled" else 2)
            self._set("presolve", "on" if method in ("presolved", "interior") else "off")
            self._set("solver", "ipm" if method == "interior" else "simplex")
            left = _INF if limits is None else max(limits.seconds_left, 0.0)
            # HiGHS counts the seconds of all runs of an instance.
            self._set("time_limit", self._highs.getRunTime() + left)
            self._highs.run()
            status = self._highs.getModelStatus()
            if limits is not None and status == _LATE:
                raise limits.too_late
            if status in (highspy.HighsModelStatus.kOptimal, highspy.HighsModelStatus.kInfeasible):
                break
        self._set("simplex_scale_strategy", 2)
        self._set("presolve", "off")
        self._set("solver", "simplex")
        if status == highspy.HighsModelStatus.kInfeasible:
            return None
        if status != highspy.HighsModelStatus.kOptimal:
            _log.info("a linear program ended with %s", status)
            raise UnfinishedError(UNSOLVED)
        solution = self._highs.getSolution()
        value = float(self._highs.getInfo().objective_function_value)
        return value, np.array(solution.col_value), np.array(solution.row_dual)


# --- Curved functions taken apart -----------------------------------------------------------------


_TRUSTED = 1e-9
_STEEP = 1e-6
"""A tangent where less is watched by a floor has coefficients that a program cannot hold."""


def tangent(f: RateFunction, at: Floats) -> Affine:
    """The affine function that touches `f` at a point."""
    slope = f.gradient(at)
    const = float(f.value(at)) - float(slope @ at)
    return Affine({int(j): float(slope[j]) for j in slope.nonzero()[0]}, const)


def nearest_trusted(f: RateFunction, v: Floats, inner: Floats) -> Floats:
    """The point next to v, towards `inner`, from where no floor bends the gradient of `f`."""
    share = 0.0
    while share < 1.0:
        at = (1.0 - share) * v + share * inner
        if f.smallest_floored_argument(at) >= _TRUSTED and math.isfinite(float(f.value(at))):
            return at
        share = max(1e-8, 4.0 * share)
    return inner


@dataclass(frozen=True, eq=False)
class EpigraphTerm:
    """A concave function of the features that must reach a level, ``function >= under``."""

    function: RateFunction
    under: Affine

    def missing(self, v: Floats, aux: Mapping[int, float]) -> float:
        """How far the function is below at a point."""
        return self.level(aux) - float(self.function.value(v))

    def level(self, aux: Mapping[int, float]) -> float:
        """What has to be reached at a point."""
        return self.under.const + sum(a * aux.get(j, 0.0) for j, a in self.under.terms.items())

    def touching(self, at: Floats) -> Affine:
        """The row of the tangent at a point: it holds wherever the piece does."""
        return self.under.plus(tangent(self.function, at).scaled(-1.0))

    def cuts(self, v: Floats, aux: Mapping[int, float], inner: Floats) -> list[Affine]:
        """Rows that part off a point where something is missing."""
        f, level = self.function, self.level(aux)
        points = [self._border(v, level, inner)]
        if f.smallest_floored_argument(v) >= _STEEP:
            points.append(v)
        elif not self.under.terms:
            points.append(nearest_trusted(f, v, inner))
        rows = [self.touching(at) for at in points]
        return [row for row in rows if _at(row, v, aux) > 0.0]

    def _border(self, v: Floats, level: float, inner: Floats) -> Floats:
        """Where the level begins to be reached between v and the middle."""
        out, inside = v, inner
        if float(self.function.value(inside)) <= level:
            return nearest_trusted(self.function, v, inner)
        for _ in range(40):
            middle = 0.5 * (out + inside)
            if float(self.function.value(middle)) < level:
                out = middle
            else:
                inside = middle
        return inside


def _at(row: Affine, v: Floats, aux: Mapping[int, float]) -> float:
    return row.const + sum(
        a * (float(v[j]) if j >= 0 else aux.get(j, 0.0)) for j, a in row.terms.items()
    )


@dataclass(frozen=True, eq=False)
class ConcaveSum:
    """A concave function as a sum: an affine part and pieces, each with its auxiliary."""

    total: Affine
    pieces: list[EpigraphTerm]
    back: Callable[[float], float]


def sum_of(f: RateFunction, builder: RowBuilder) -> ConcaveSum:
    """A concave function as the sum with the same best points."""
    if isinstance(f, PowerMean) and f.order < 2 and _all_affine(f):
        n = len(f.children)
        total, pieces = _total([(1.0, x) for x in _terms(f)], builder)
        if f.order == 0:
            return ConcaveSum(total, pieces, lambda b: math.exp(min(b / n, 700.0)))
        return ConcaveSum(total, pieces, lambda b: -n / b if b < 0 else math.inf)
    if isinstance(f, WeightedSum):
        total, pieces = _total(list(zip(f.coefs, f.children, strict=True)), builder)
        return ConcaveSum(total, pieces, lambda b: b)
    t = builder.auxiliary()
    return ConcaveSum(t, [EpigraphTerm(f, t)], lambda b: b)


def _total(
    terms: list[tuple[float, RateFunction]], builder: RowBuilder
) -> tuple[Affine, list[EpigraphTerm]]:
    total, pieces = Affine({}, 0.0), []
    for coef, child in terms:
        if isinstance(child, Affine):
            total = total.plus(child.scaled(coef))
            continue
        t = builder.auxiliary()
        pieces.append(EpigraphTerm(algebra.scaled(coef, child), t))
        total = total.plus(t)
    return total, pieces


def pieces_of_level(
    f: RateFunction, level: float, builder: RowBuilder
) -> tuple[list[Affine], list[EpigraphTerm]]:
    """``f >= level`` for a concave f: rows that link auxiliaries, and pieces."""
    if isinstance(f, WeightedSum) and len(f.children) > 1:
        total, pieces = _total(list(zip(f.coefs, f.children, strict=True)), builder)
        if len(pieces) > 1:
            return [Affine({}, level).plus(total.scaled(-1.0))], pieces
        plain = [(k, x) for k, x in zip(f.coefs, f.children, strict=True) if x.is_constant]
        if len(pieces) == 1 and len(plain) == len(f.children) - 1:
            level -= sum(k * x.low for k, x in plain)
            return pieces_of_level(pieces[0].function, level, builder)
    mean, sign = _mean(f)
    if mean is not None and level * sign > 0:
        n = len(mean.children)
        if mean.order == 0:
            wanted = n * math.log(level)
        else:
            wanted = -n / level if mean.order < 0 else -n * level * level
        total, pieces = _total([(1.0, x) for x in _terms(mean)], builder)
        return [Affine({}, wanted).plus(total.scaled(-1.0))], pieces
    return [], [EpigraphTerm(f, Affine({}, level))]


def _mean(f: RateFunction) -> tuple[PowerMean | None, float]:
    """A power mean of affine functions that a bound on `f` is one on, and the level's sign."""
    if isinstance(f, PowerMean) and f.order < 2 and _all_affine(f):
        return f, 1.0
    if isinstance(f, WeightedSum) and f.coefs == (-1.0,):
        child = f.children[0]
        if isinstance(child, PowerMean) and child.order == 2 and _all_affine(child):
            return child, -1.0
    return None, 1.0


def _terms(mean: PowerMean) -> list[RateFunction]:
    """The concave terms whose sum a power mean of affine functions grows with."""
    out: list[RateFunction] = []
    for x in mean.children:
        assert isinstance(x, Affine)
        if mean.order == 0:
            out.append(Log((x,)))
        elif mean.order == -1:
            out.append(Ratio(Affine({}, -1.0), x))
        else:
            out.append(WeightedSum((-1.0,), (ProductNode((x, x)),)))
    return out


def _all_affine(mean: PowerMean) -> bool:
    return all(isinstance(x, Affine) for x in mean.children)


# --- The linear program over the columns so far: its rows scaled ----------------------------------


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
        self._table = FeatureTable(space.d)
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
        features = self.space.columns(block, new)
        self._table.add(features)
        matrix = np.array([s[0] for s in self._scaled]).reshape(len(self._scaled), self.space.d)
        rows = features @ matrix.T
        for k, over in zip(new, rows, strict=True):
            at = len(self.owner)
            self.place[block][k] = at
            self.owner.append((block, k))
            if self._built_lp is not None:
                coefs = _unit(self._built_lp.n_rows, block)
                coefs[self.space.n_blocks :] = over
                self._variable.append(self._built_lp.add_column(coefs))

    @property
    def known(self) -> Floats:
        """Features (columns, d) of all columns so far."""
        return self._table.features

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
