"""The skin all families share: base class, draws, evaluation, scorer, model files."""

from setpoint.estimators.by_rule import UnknownGroupWarning
from setpoint.estimators.evaluation import evaluate
from setpoint.estimators.explanation import ExplainedRow, Explanation
from setpoint.estimators.model_archive import ModelFileError
from setpoint.estimators.monitor import Alarm, Monitor
from setpoint.estimators.monitor_display import MonitorDisplay
from setpoint.estimators.persistence import TRUSTED_TYPES, load_model, save_model
from setpoint.estimators.planning import Needed, RowsNeeded, rows_needed
from setpoint.estimators.planning_display import RowsNeededDisplay
from setpoint.estimators.priors import weights_for_prior
from setpoint.estimators.scorer import goal_scorer

__all__ = [
    "TRUSTED_TYPES",
    "Alarm",
    "ExplainedRow",
    "Explanation",
    "ModelFileError",
    "Monitor",
    "MonitorDisplay",
    "Needed",
    "RowsNeeded",
    "RowsNeededDisplay",
    "UnknownGroupWarning",
    "evaluate",
    "goal_scorer",
    "load_model",
    "rows_needed",
    "save_model",
    "weights_for_prior",
]
