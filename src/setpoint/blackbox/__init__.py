"""Metrics without a formula: bound to rows, under a budget, and cut-offs found with them."""

from setpoint.blackbox.binding import CalledMetric, FormulaMetric, measured_on
from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.budget import BudgetedMetric, BudgetSpentError, RowMetric
from setpoint.blackbox.cache import EvaluationCache
from setpoint.blackbox.errors import MetricError
from setpoint.blackbox.smoothing import margin, smoothed_threshold

__all__ = [
    "BlackBox",
    "BudgetSpentError",
    "BudgetedMetric",
    "CalledMetric",
    "EvaluationCache",
    "FormulaMetric",
    "MetricError",
    "RowMetric",
    "margin",
    "measured_on",
    "smoothed_threshold",
]
