"""Statistics of counts: what some rows say about the population that they were drawn from.

Intervals of any expression, verdicts on a bound, exact tails of a binomial, and the sign
test. Knows goals and confusions, and nothing of rules or of how they were found.
"""

from setpoint.inference.intervals import Interval, interval
from setpoint.inference.sign_test import FreshLabels, fresh_labels
from setpoint.inference.tails import at_least, at_most, lower_limit, upper_limit
from setpoint.inference.trials import Trials, exact_limits, trials_of
from setpoint.inference.verdicts import Verdict, verdict_of

__all__ = [
    "FreshLabels",
    "Interval",
    "Trials",
    "Verdict",
    "at_least",
    "at_most",
    "exact_limits",
    "fresh_labels",
    "interval",
    "lower_limit",
    "trials_of",
    "upper_limit",
    "verdict_of",
]
