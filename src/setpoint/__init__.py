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

if TYPE_CHECKING:  # `as` says that a name is public; `__all__` has the same names
    from setpoint.blackbox import BlackBox as BlackBox
    from setpoint.blackbox import MetricError as MetricError
    from setpoint.classifiers import TRUSTED_TYPES as TRUSTED_TYPES
    from setpoint.classifiers import Alarm as Alarm
    from setpoint.classifiers import ExplainedRow as ExplainedRow
    from setpoint.classifiers import Explanation as Explanation
    from setpoint.classifiers import ModelFileError as ModelFileError
    from setpoint.classifiers import Monitor as Monitor
    from setpoint.classifiers import RowsNeeded as RowsNeeded
    from setpoint.classifiers import UnknownGroupWarning as UnknownGroupWarning
    from setpoint.classifiers import evaluate as evaluate
    from setpoint.classifiers import goal_scorer as goal_scorer
    from setpoint.classifiers import load_model as load_model
    from setpoint.classifiers import rows_needed as rows_needed
    from setpoint.classifiers import save_model as save_model
    from setpoint.classifiers import weights_for_prior as weights_for_prior
    from setpoint.counts import Confusion as Confusion
    from setpoint.counts import Evidence as Evidence
    from setpoint.errors import GoalError as GoalError
    from setpoint.errors import GoalSyntaxError as GoalSyntaxError
    from setpoint.errors import InputError as InputError
    from setpoint.errors import InputTypeError as InputTypeError
    from setpoint.errors import SetpointError as SetpointError
    from setpoint.explorer import Explorer as Explorer
    from setpoint.goals import Goal as Goal
    from setpoint.goals import maximize as maximize
    from setpoint.goals import minimize as minimize
    from setpoint.guarantees import Guarantee as Guarantee
    from setpoint.guarantees import NotCertifiable as NotCertifiable
    from setpoint.inputs import Dataset as Dataset
    from setpoint.inputs import Deployed as Deployed
    from setpoint.inputs import Unlabelled as Unlabelled
    from setpoint.judging import ModelComparison as ModelComparison
    from setpoint.judging import compare as compare
    from setpoint.online import ExpiredWarning as ExpiredWarning
    from setpoint.online import OnlineFClassifier as OnlineFClassifier
    from setpoint.penalty import ExactPenaltyClassifier as ExactPenaltyClassifier
    from setpoint.plugin import Certified as Certified
    from setpoint.plugin import MissedBoundsWarning as MissedBoundsWarning
    from setpoint.plugin import MissingPairWarning as MissingPairWarning
    from setpoint.plugin import PlugInClassifier as PlugInClassifier
    from setpoint.plugin import Solution as Solution
    from setpoint.plugin import certify as certify
    from setpoint.plugin import explore as explore
    from setpoint.plugin import frontier as frontier
    from setpoint.plugin import solve as solve
    from setpoint.ramp import RampClassifier as RampClassifier
    from setpoint.report import FewRowsWarning as FewRowsWarning
    from setpoint.report import GoalReport as GoalReport
    from setpoint.report import HeavyTailWarning as HeavyTailWarning
    from setpoint.search import ConstantGoalWarning as ConstantGoalWarning
    from setpoint.search import Frontier as Frontier
    from setpoint.search import InfeasibleError as InfeasibleError
    from setpoint.search import StoppedError as StoppedError
    from setpoint.search import StoppedWarning as StoppedWarning
    from setpoint.solvers import Confidence as Confidence
    from setpoint.solvers import SearchLimits as SearchLimits
    from setpoint.surrogates import AdaptiveSurrogateClassifier as AdaptiveSurrogateClassifier
    from setpoint.surrogates import NotMonotoneWarning as NotMonotoneWarning

    __version__: str

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = import_module("setpoint.packages").lazily(__name__)
