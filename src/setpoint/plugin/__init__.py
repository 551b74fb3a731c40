"""Post-hoc on any probability model: the rule over its scores that reaches a goal."""

from setpoint.plugin.classifier import PlugInClassifier
from setpoint.plugin.frontier import frontier
from setpoint.plugin.joint import MissingPairWarning
from setpoint.plugin.solving import Solution, solve
from setpoint.plugin.weighing import MissedBoundsWarning

__all__ = [
    "MissedBoundsWarning",
    "MissingPairWarning",
    "PlugInClassifier",
    "Solution",
    "frontier",
    "solve",
]
