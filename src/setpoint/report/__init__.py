"""Reports: what was reached, with intervals, for the person who set the goal."""

from setpoint.inference.intervals import Interval, interval
from setpoint.inference.sign_test import FreshLabels, fresh_labels
from setpoint.report.adaptive import AdaptiveStep, AdaptiveSummary
from setpoint.report.counting import FewRowsWarning, report_on, warn_few_rows
from setpoint.report.deployed import Comparison, compared
from setpoint.report.displays import (
    BoundPathDisplay,
    ConvergenceDisplay,
    FrontierDisplay,
    GroupRatesDisplay,
    ObjectiveCurveDisplay,
    OperatingPointDisplay,
    SurrogatePathDisplay,
)
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.operating import OperatingCurve, OperatingPoints, operating_points
from setpoint.report.outcome import report_on_outcome
from setpoint.report.page import Section
from setpoint.report.path import BoundPath
from setpoint.report.report import GoalReport
from setpoint.report.stream import StreamSummary

__all__ = [
    "AdaptiveStep",
    "AdaptiveSummary",
    "BoundPath",
    "BoundPathDisplay",
    "Comparison",
    "ConvergenceDisplay",
    "Entry",
    "FewRowsWarning",
    "FreshLabels",
    "FrontierDisplay",
    "GoalReport",
    "GroupRatesDisplay",
    "GroupRow",
    "Interval",
    "ObjectiveCurveDisplay",
    "OperatingCurve",
    "OperatingPointDisplay",
    "OperatingPoints",
    "Section",
    "StreamSummary",
    "SurrogatePathDisplay",
    "compared",
    "fresh_labels",
    "interval",
    "operating_points",
    "report_on",
    "report_on_outcome",
    "warn_few_rows",
]
