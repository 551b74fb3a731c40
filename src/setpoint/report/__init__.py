"""Reports: what was reached, with intervals, for the person who set the goal."""

from setpoint.inference.intervals import Interval, interval
from setpoint.inference.tails import FreshLabels, fresh_labels
from setpoint.report.displays import (
    ConvergenceDisplay,
    DeferralDisplay,
    FrontierDisplay,
    GroupRatesDisplay,
    ObjectiveCurveDisplay,
    OperatingPointDisplay,
)
from setpoint.report.entry import Entry, GroupRow
from setpoint.report.facts import (
    Certificate,
    Comparison,
    RuleFacts,
    Run,
    Search,
    Section,
    TextSection,
    compared,
)
from setpoint.report.numbers import Counts, HeavyTailWarning, heavy_tails, warn_heavy_tails
from setpoint.report.operating import (
    DeferralCurve,
    DeferralPoints,
    OperatingCurve,
    OperatingPoints,
    deferral_points,
    operating_points,
)
from setpoint.report.report import (
    FewRowsWarning,
    GoalReport,
    report_on,
    report_on_outcome,
    warn_few_rows,
)
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
