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
    from setpoint.counts import Confusion, Evidence
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
    from setpoint.explorer import Explorer
    from setpoint.goals import Goal, maximize, minimize
    from setpoint.guarantees import (
        Guarantee,
        NotCertifiable,
    )
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

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error

    def __getattr__(name: str) -> object:
        if name == "__version__":
            value: object = import_module("importlib.metadata").version("setpoint")
            globals()[name] = value  # found once, plain afterwards
            return value
        return import_module("setpoint.packages").lazily(__name__)(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
