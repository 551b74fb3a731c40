"""Rows, strata, segments, confusions, curves and hulls, and the kernels that count them."""

from setpoint.evidence.confusion import Confusion
from setpoint.evidence.counted import Counted
from setpoint.evidence.curve import Curve
from setpoint.evidence.evidence import Evidence
from setpoint.evidence.rows import Rows

__all__ = ["Confusion", "Counted", "Curve", "Evidence", "Rows"]
