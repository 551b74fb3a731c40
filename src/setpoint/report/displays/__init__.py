"""Displays: pictures of a goal, in scikit-learn's manner. They need matplotlib."""

from setpoint.report.displays.convergence import ConvergenceDisplay
from setpoint.report.displays.deferral import DeferralDisplay
from setpoint.report.displays.frontier import FrontierDisplay
from setpoint.report.displays.groups import GroupRatesDisplay
from setpoint.report.displays.objective import ObjectiveCurveDisplay
from setpoint.report.displays.operating import OperatingPointDisplay

__all__ = [
    "ConvergenceDisplay",
    "DeferralDisplay",
    "FrontierDisplay",
    "GroupRatesDisplay",
    "ObjectiveCurveDisplay",
    "OperatingPointDisplay",
]
