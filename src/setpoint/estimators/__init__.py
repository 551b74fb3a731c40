"""The skin all families share: base class, draws, evaluation, scorer, model files."""

from setpoint.estimators.by_rule import UnknownGroupWarning
from setpoint.estimators.explanation import ExplainedRow, Explanation
from setpoint.estimators.monitoring import Alarm, Monitor, MonitorDisplay
from setpoint.estimators.persistence import TRUSTED_TYPES, ModelFileError, load_model, save_model
from setpoint.estimators.planning import (
    Needed,
    RowsNeeded,
    RowsNeededDisplay,
    rows_needed,
    weights_for_prior,
)
from setpoint.estimators.scorer import evaluate, goal_scorer

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
