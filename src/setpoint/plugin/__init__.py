"""Post-hoc on any probability model: the rule over its scores that reaches a goal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.plugin.certified import Certified, certify
    from setpoint.plugin.classifier import PlugInClassifier
    from setpoint.plugin.exploring import (
        explore,
        frontier,
        frontier_of_evidence,
        with_goal,
        with_rule,
    )
    from setpoint.plugin.fit.crossfit import MissingPairWarning
    from setpoint.plugin.problem import Options
    from setpoint.plugin.selection import MissedBoundsWarning
    from setpoint.plugin.solvers.searching import search_rule
    from setpoint.plugin.solving import Solution, solve

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
