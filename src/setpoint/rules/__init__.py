"""Rules: what decides from scores.

A rule is small, immutable, comparable, picklable data, and knows neither the goal
nor the rows it came from. JSON in, JSON out.

=====================  ==========================================================
:class:`Threshold`     positive from a cut-off on, if asked for with a soft edge
:class:`Argmax`        the class with the largest weighted sum of the scores
:class:`PerSegment`       one rule for each segment, or for each class on top
:class:`Mixture`       a draw among rules: a randomised classifier
=====================  ==========================================================
"""

from __future__ import annotations

from setpoint.rules.argmax import Argmax
from setpoint.rules.base import Rule
from setpoint.rules.codec import FORMAT, RuleFormatError
from setpoint.rules.mixture import Mixture, mixture
from setpoint.rules.per_segment import PerSegment, per_segment
from setpoint.rules.segments import segment_codes
from setpoint.rules.threshold import Threshold
from setpoint.rules.words import ClassNames

__all__ = [
    "FORMAT",
    "Argmax",
    "ClassNames",
    "Mixture",
    "PerSegment",
    "Rule",
    "RuleFormatError",
    "Threshold",
    "mixture",
    "per_segment",
    "segment_codes",
]
