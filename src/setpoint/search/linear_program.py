"""Linear programs that grow, with rows for curved functions."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
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
        return value_at(self.under, v, aux) - float(self.function.value(v))

    def touching(self, at: Floats) -> Affine:
        """The row of the tangent at a point: it holds wherever the piece does."""
        return self.under.plus(tangent(self.function, at).scaled(-1.0))

    def cuts(self, v: Floats, aux: Mapping[int, float], inner: Floats) -> list[Affine]:
        """Rows that part off a point where something is missing."""
        f, level = self.function, value_at(self.under, v, aux)
        points = [self._border(v, level, inner)]
        if f.smallest_floored_argument(v) >= _STEEP:
            points.append(v)
        elif not self.under.terms:
            points.append(nearest_trusted(f, v, inner))
        rows = [self.touching(at) for at in points]
        return [row for row in rows if value_at(row, v, aux) > 0.0]

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


def value_at(row: Affine, v: Floats, aux: Mapping[int, float]) -> float:
    """The value of a row at features and auxiliaries, which have numbers below 0."""
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
    terms = zip(f.coefs, f.children, strict=True) if isinstance(f, WeightedSum) else [(1.0, f)]
    return ConcaveSum(*_total(list(terms), builder), float)


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
