"""Reports: what was reached, with intervals, for the person who set the goal."""

from setpoint.inference.intervals import Interval, interval
from setpoint.inference.sign_test import FreshLabels, fresh_labels
from setpoint.report.counts import Counts
from setpoint.report.deferral import DeferralCurve, DeferralPoints, deferral_points
from setpoint.report.deployed import Comparison, compared
from setpoint.report.displays import (
    ConvergenceDisplay,
    DeferralDisplay,
    FrontierDisplay,
    GroupRatesDisplay,
    ObjectiveCurveDisplay,
    OperatingPointDisplay,
)
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.facts import Certificate, RuleFacts, Run, Search
from setpoint.report.heavy import HeavyTailWarning, heavy_tails, warn_heavy_tails
from setpoint.report.operating import OperatingCurve, OperatingPoints, operating_points
from setpoint.report.outcome import report_on_outcome
from setpoint.report.report import GoalReport
from setpoint.report.reporting import FewRowsWarning, report_on, warn_few_rows
from setpoint.report.section import Section, TextSection
from setpoint.report.sections import (
    DeferralSection,
    Frontiers,
    OperatingSection,
    Prices,
    SearchTrace,
)

__all__ = [
    "Certificate",
    "Comparison",
    "ConvergenceDisplay",
    "Counts",
    "DeferralCurve",
    "DeferralDisplay",
    "DeferralPoints",
    "DeferralSection",
    "Entry",
    "FewRowsWarning",
    "FreshLabels",
    "FrontierDisplay",
    "Frontiers",
    "GoalReport",
    "GroupRatesDisplay",
    "GroupRow",
    "HeavyTailWarning",
    "Interval",
    "ObjectiveCurveDisplay",
    "OperatingCurve",
    "OperatingPointDisplay",
    "OperatingPoints",
    "OperatingSection",
    "Prices",
    "RuleFacts",
    "Run",
    "Search",
    "SearchTrace",
    "Section",
    "TextSection",
    "compared",
    "deferral_points",
    "fresh_labels",
    "heavy_tails",
    "interval",
    "operating_points",
    "report_on",
    "report_on_outcome",
    "warn_few_rows",
    "warn_heavy_tails",
]
