"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tasks.fitted import FittedTable
    from setpoint.tasks.fitting import fit_table
    from setpoint.tasks.loaded import ExplainedTable, ShownModel, explain_table, show_model
    from setpoint.tasks.moving import (
        ExploredTable,
        MovedRule,
        TableFrontier,
        explore_table,
        frontier_of_table,
        move_rule,
    )
    from setpoint.tasks.prediction import (
        ComparedTables,
        DecidedTable,
        EvaluatedTable,
        compare_tables,
        evaluate_table,
        predict_table,
    )
    from setpoint.tasks.reading import Journal, Reading
    from setpoint.tasks.settings import FitSettings

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
    "ComparedTables": "prediction",
    "DecidedTable": "prediction",
    "EvaluatedTable": "prediction",
    "ExploredTable": "moving",
    "ExplainedTable": "loaded",
    "FitSettings": "settings",
    "FittedTable": "fitted",
    "Journal": "reading",
    "MovedRule": "moving",
    "Reading": "reading",
    "ShownModel": "loaded",
    "TableFrontier": "moving",
    "compare_tables": "prediction",
    "evaluate_table": "prediction",
    "explore_table": "moving",
    "explain_table": "loaded",
    "fit_table": "fitting",
    "frontier_of_table": "moving",
    "move_rule": "moving",
    "predict_table": "prediction",
    "show_model": "loaded",
}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
