"""A linear program that grows: columns and rows join it and the last basis is kept."""

from __future__ import annotations

import logging
from typing import Any

import highspy
import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import SetpointError
from setpoint.search.limits import Limits

__all__ = ["TOLERANCE", "UNSOLVED", "IncrementalLP", "UnfinishedError"]

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
