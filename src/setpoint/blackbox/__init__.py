"""Metrics without a formula: bound to rows, under a budget, and cut-offs found with them."""

from setpoint.blackbox.blackbox import BlackBox
from setpoint.blackbox.errors import MetricError

__all__ = ["BlackBox", "MetricError"]
