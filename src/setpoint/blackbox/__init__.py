"""Metrics without a formula: bound to rows, under a budget, and cut-offs found with them."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.blackbox.binding import (
        BudgetedMetric,
        BudgetSpentError,
        FormulaMetric,
        RowMetric,
        measured_on,
        rows_taken,
        shifted_by,
    )
    from setpoint.blackbox.blackbox import BlackBox, MetricError, blackbox_of
    from setpoint.blackbox.smoothing import Shift, Smooth, margin, smoothed_threshold

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
