"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tasks.comparison import ComparedTables, compare_tables
    from setpoint.tasks.evaluation import EvaluatedTable, evaluate_table
    from setpoint.tasks.explaining import ExplainedTable, explain_table
    from setpoint.tasks.exploring import ExploredTable, explore_table
    from setpoint.tasks.fitted import FittedTable
    from setpoint.tasks.fitting import fit_table
    from setpoint.tasks.journal import Journal
    from setpoint.tasks.moved_bound import TableFrontier, frontier_of_table
    from setpoint.tasks.moving import MovedRule, move_rule
    from setpoint.tasks.prediction import DecidedTable, predict_table
    from setpoint.tasks.reading import Reading
    from setpoint.tasks.settings import FitSettings
    from setpoint.tasks.shown import ShownModel, show_model

__all__ = [
    "ComparedTables",
    "DecidedTable",
    "EvaluatedTable",
    "ExplainedTable",
    "ExploredTable",
    "FitSettings",
    "FittedTable",
    "Journal",
    "MovedRule",
    "Reading",
    "ShownModel",
    "TableFrontier",
    "compare_tables",
    "evaluate_table",
    "explain_table",
    "explore_table",
    "fit_table",
    "frontier_of_table",
    "move_rule",
    "predict_table",
    "show_model",
]

_HOME = {
    "ComparedTables": "comparison",
    "DecidedTable": "prediction",
    "EvaluatedTable": "evaluation",
    "ExploredTable": "exploring",
    "ExplainedTable": "explaining",
    "FitSettings": "settings",
    "FittedTable": "fitted",
    "Journal": "journal",
    "MovedRule": "moving",
    "Reading": "reading",
    "ShownModel": "shown",
    "TableFrontier": "moved_bound",
    "compare_tables": "comparison",
    "evaluate_table": "evaluation",
    "explore_table": "exploring",
    "explain_table": "explaining",
    "fit_table": "fitting",
    "frontier_of_table": "moved_bound",
    "move_rule": "moving",
    "predict_table": "prediction",
    "show_model": "shown",
}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
