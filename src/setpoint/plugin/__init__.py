"""Post-hoc on any probability model: the rule over its scores that reaches a goal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.plugin.certified import Certified, certify
    from setpoint.plugin.classifier import PlugInClassifier
    from setpoint.plugin.exploring import explore, frontier
    from setpoint.plugin.fit.crossfit import MissingPairWarning
    from setpoint.plugin.selection import MissedBoundsWarning
    from setpoint.plugin.solving import Solution, solve

__all__ = [
    "Certified",
    "MissedBoundsWarning",
    "MissingPairWarning",
    "PlugInClassifier",
    "Solution",
    "certify",
    "explore",
    "frontier",
    "solve",
]

# No module has the name of what it shows: an import of it would take that name's place here.
_HOME = {
    "Certified": "certified",
    "MissedBoundsWarning": "selection",
    "MissingPairWarning": "fit.crossfit",
    "PlugInClassifier": "classifier",
    "Solution": "solving",
    "certify": "certified",
    "explore": "exploring",
    "frontier": "exploring",
    "solve": "solving",
}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
