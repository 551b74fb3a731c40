"""Statistics of counts: what some rows say about the population that they were drawn from.

Intervals of any expression, exact tails of a binomial, and the sign test. Knows goals and
confusions, and nothing of rules or of how they were found.
"""

from setpoint.inference.intervals import Interval, interval
from setpoint.inference.sign_test import FreshLabels, fresh_labels

__all__ = ["FreshLabels", "Interval", "fresh_labels", "interval"]
