"""Post-hoc on any probability model: the rule over its scores that reaches a goal."""

from setpoint.plugin.certify import Certified, certify
from setpoint.plugin.choose_evidence import MissedBoundsWarning
from setpoint.plugin.classifier import PlugInClassifier
from setpoint.plugin.frontier import frontier
from setpoint.plugin.group_posteriors import MissingPairWarning
from setpoint.plugin.solving import Solution, solve

__all__ = [
    "Certified",
    "MissedBoundsWarning",
    "MissingPairWarning",
    "PlugInClassifier",
    "Solution",
    "certify",
    "frontier",
    "solve",
]
