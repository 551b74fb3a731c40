"""Say what your classifier must achieve; setpoint finds the decision rule.

Every public name is loaded when it is first used, so that ``import setpoint`` costs
next to nothing. Metrics for writing goals in Python live in ``setpoint.metrics``.

Examples
--------
>>> import setpoint
>>> "Goal" in dir(setpoint)
True
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setpoint.blackbox import BlackBox, MetricError
    from setpoint.comparing import ModelComparison, compare
    from setpoint.deciding import NotCertifiable
    from setpoint.errors import (
        GoalError,
        GoalSyntaxError,
        InputError,
        InputTypeError,
        SetpointError,
    )
    from setpoint.estimators import (
        TRUSTED_TYPES,
        Alarm,
        ExplainedRow,
        Explanation,
        ModelFileError,
        Monitor,
        RowsNeeded,
        UnknownGroupWarning,
        evaluate,
        goal_scorer,
        load_model,
        rows_needed,
        save_model,
        weights_for_prior,
    )
    from setpoint.evidence import Confusion, Evidence
    from setpoint.explorer import Explorer
    from setpoint.goals import Goal, maximize, minimize
    from setpoint.guarantees import Guarantee
    from setpoint.inputs import Dataset, Deployed
    from setpoint.online import ExpiredWarning, OnlineFClassifier
    from setpoint.penalty import ExactPenaltyClassifier
    from setpoint.plugin import (
        Certified,
        MissedBoundsWarning,
        MissingPairWarning,
        PlugInClassifier,
        Solution,
        certify,
        explore,
        frontier,
        solve,
    )
    from setpoint.ramp import RampClassifier
    from setpoint.report import FewRowsWarning, GoalReport, HeavyTailWarning
    from setpoint.search import (
        ConstantGoalWarning,
        Frontier,
        InfeasibleError,
        StoppedError,
        StoppedWarning,
    )
    from setpoint.solvers import Confidence, SearchLimits
    from setpoint.surrogates import AdaptiveSurrogateClassifier, NotMonotoneWarning

    __version__: str

__all__ = [
    "TRUSTED_TYPES",
    "AdaptiveSurrogateClassifier",
    "Alarm",
    "BlackBox",
    "Certified",
    "Confidence",
    "Confusion",
    "ConstantGoalWarning",
    "Dataset",
    "Deployed",
    "Evidence",
    "ExactPenaltyClassifier",
    "ExpiredWarning",
    "ExplainedRow",
    "Explanation",
    "Explorer",
    "FewRowsWarning",
    "Frontier",
    "Goal",
    "GoalError",
    "GoalReport",
    "GoalSyntaxError",
    "Guarantee",
    "HeavyTailWarning",
    "InfeasibleError",
    "InputError",
    "InputTypeError",
    "MetricError",
    "MissedBoundsWarning",
    "MissingPairWarning",
    "ModelComparison",
    "ModelFileError",
    "Monitor",
    "NotCertifiable",
    "NotMonotoneWarning",
    "OnlineFClassifier",
    "PlugInClassifier",
    "RampClassifier",
    "RowsNeeded",
    "SearchLimits",
    "SetpointError",
    "Solution",
    "StoppedError",
    "StoppedWarning",
    "UnknownGroupWarning",
    "__version__",
    "certify",
    "compare",
    "evaluate",
    "explore",
    "frontier",
    "goal_scorer",
    "load_model",
    "maximize",
    "minimize",
    "rows_needed",
    "save_model",
    "solve",
    "weights_for_prior",
]

# Where each public name lives. The imports above say the same to type checkers; a test compares.
_HOME = {
    "BlackBox": "blackbox",
    "Goal": "goals",
    "GoalError": "errors",
    "GoalSyntaxError": "errors",
    "MetricError": "blackbox",
    "InputError": "errors",
    "InputTypeError": "errors",
    "SetpointError": "errors",
    "maximize": "goals",
    "minimize": "goals",
    "Confusion": "evidence",
    "Evidence": "evidence",
    "ConstantGoalWarning": "search",
    "Frontier": "search",
    "InfeasibleError": "search",
    "StoppedError": "search",
    "MissedBoundsWarning": "plugin",
    "StoppedWarning": "search",
    "FewRowsWarning": "report",
    "HeavyTailWarning": "report",
    "GoalReport": "report",
    "ExplainedRow": "estimators",
    "Explanation": "estimators",
    "TRUSTED_TYPES": "estimators",
    "Dataset": "inputs",
    "Deployed": "inputs",
    "ModelComparison": "comparing",
    "compare": "comparing",
    "ModelFileError": "estimators",
    "UnknownGroupWarning": "estimators",
    "evaluate": "estimators",
    "explore": "plugin",
    "RowsNeeded": "estimators",
    "Alarm": "estimators",
    "Monitor": "estimators",
    "rows_needed": "estimators",
    "Certified": "plugin",
    "certify": "plugin",
    "Confidence": "solvers",
    "Guarantee": "guarantees",
    "NotCertifiable": "deciding",
    "goal_scorer": "estimators",
    "load_model": "estimators",
    "save_model": "estimators",
    "weights_for_prior": "estimators",
    "ExpiredWarning": "online",
    "Explorer": "explorer",
    "OnlineFClassifier": "online",
    "ExactPenaltyClassifier": "penalty",
    "MissingPairWarning": "plugin",
    "PlugInClassifier": "plugin",
    "Solution": "plugin",
    "frontier": "plugin",
    "solve": "plugin",
    "RampClassifier": "ramp",
    "SearchLimits": "solvers",
    "AdaptiveSurrogateClassifier": "surrogates",
    "NotMonotoneWarning": "surrogates",
}


if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value: object = import_module("importlib.metadata").version("setpoint")
        elif name in _HOME:
            value = getattr(import_module(f"setpoint.{_HOME[name]}"), name)
        else:
            raise AttributeError(f"module 'setpoint' has no attribute {name!r}")
        globals()[name] = value  # found once, plain afterwards
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
