"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tasks.evaluation import EvaluatedTable, evaluate_table
    from setpoint.tasks.fitted import FittedTable
    from setpoint.tasks.fitting import fit_table
    from setpoint.tasks.journal import Journal
    from setpoint.tasks.moved_bound import TableFrontier, frontier_of_table
    from setpoint.tasks.prediction import DecidedTable, predict_table
    from setpoint.tasks.reading import Reading
    from setpoint.tasks.settings import FitSettings
    from setpoint.tasks.streaming import stream

__all__ = [
    "DecidedTable",
    "EvaluatedTable",
    "FitSettings",
    "FittedTable",
    "Journal",
    "Reading",
    "TableFrontier",
    "evaluate_table",
    "fit_table",
    "frontier_of_table",
    "predict_table",
    "stream",
]

_HOME = {
    "DecidedTable": "prediction",
    "EvaluatedTable": "evaluation",
    "FitSettings": "settings",
    "FittedTable": "fitted",
    "Journal": "journal",
    "Reading": "reading",
    "TableFrontier": "moved_bound",
    "evaluate_table": "evaluation",
    "fit_table": "fitting",
    "frontier_of_table": "moved_bound",
    "predict_table": "prediction",
    "stream": "streaming",
}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
