"""Statistics of counts: what some rows say about the population that they were drawn from.

Intervals of any expression, verdicts on a bound, exact tails of a binomial, and the sign
test. Knows goals and confusions, and nothing of rules or of how they were found.
"""

from setpoint.inference.intervals import Interval, Verdict, interval, verdict_of
from setpoint.inference.tails import (
    FreshLabels,
    Trials,
    at_least,
    at_most,
    exact_limits,
    fresh_labels,
    lower_limit,
    trials_of,
    upper_limit,
)

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
