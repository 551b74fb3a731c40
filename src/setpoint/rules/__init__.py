"""Rules: what decides from scores.

A rule is small, immutable, comparable, picklable data, and knows neither the goal
nor the rows it came from. JSON in, JSON out.

=====================  ==========================================================
:class:`Threshold`     positive from a cut-off on, if asked for with a soft edge
:class:`Band`          two cut-offs: decide outside, defer in between
:class:`Argmax`        the class with the largest weighted sum of the scores
:class:`ValueAware`    such sums that look at columns of the row too
:class:`PerSegment`       one rule for each segment, or for each class on top
:class:`Mixture`       a draw among rules: a randomised classifier
=====================  ==========================================================
"""

from setpoint.rules.argmax import Argmax, ValueAware
from setpoint.rules.base import Rule
from setpoint.rules.codec import FORMAT, ClassNames, RuleFormatError, first_lines
from setpoint.rules.combined import Mixture, PerSegment, mixture, per_segment
from setpoint.rules.segments import segment_codes, segment_in_words
from setpoint.rules.thresholds import Band, Threshold

__all__ = [
    "FORMAT",
    "Argmax",
    "Band",
    "ClassNames",
    "Mixture",
    "PerSegment",
    "Rule",
    "RuleFormatError",
    "Threshold",
    "ValueAware",
    "mixture",
    "per_segment",
    "segment_codes",
]
