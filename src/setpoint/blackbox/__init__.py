"""Metrics without a formula: bound to rows, under a budget, and cut-offs found with them."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.blackbox.blackbox import BlackBox, MetricError

__all__ = ["BlackBox", "MetricError"]

_HOME = {"BlackBox": "blackbox", "MetricError": "blackbox"}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
