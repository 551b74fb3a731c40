"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from setpoint.tasks.evaluation import EvaluatedTable, evaluate_table
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.fitting import fit_table
from setpoint.tasks.frontier import TableFrontier, frontier_of_table
from setpoint.tasks.journal import Journal
from setpoint.tasks.prediction import DecidedTable, predict_table
from setpoint.tasks.reading import Reading
from setpoint.tasks.settings import FitSettings

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
]
