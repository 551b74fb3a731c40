"""Displays: pictures of a goal, in scikit-learn's manner. They need matplotlib."""

from setpoint.report.displays.frontier import DeferralDisplay, FrontierDisplay
from setpoint.report.displays.objective import ConvergenceDisplay, ObjectiveCurveDisplay
from setpoint.report.displays.operating import GroupRatesDisplay, OperatingPointDisplay

__all__ = [
    "ConvergenceDisplay",
    "DeferralDisplay",
    "FrontierDisplay",
    "GroupRatesDisplay",
    "ObjectiveCurveDisplay",
    "OperatingPointDisplay",
]
