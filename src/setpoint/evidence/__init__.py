"""Rows, strata, segments, confusions, curves and hulls, and the kernels that count them."""

from setpoint.evidence.confusion import Confusion, Counted
from setpoint.evidence.curves import Curve
from setpoint.evidence.evidence import Evidence
from setpoint.evidence.rows import Rows

__all__ = ["Confusion", "Counted", "Curve", "Evidence", "Rows"]
