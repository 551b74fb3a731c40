"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tasks.fitted import (
        FittedTable,
        costs_of_constraints,
        goals_near,
        write_infeasible_page,
        write_page,
    )
    from setpoint.tasks.fitting import HELD_OUT, TableFit, fit_table, prepare_fit
    from setpoint.tasks.loaded import (
        LoadedModel,
        ShownModel,
        decide_new_groups,
        explain_table,
        load_and_read,
        show_model,
    )
    from setpoint.tasks.moving import (
        CHECKED,
        MovedRule,
        explore_fit,
        explore_table,
        frontier_of_table,
        move_rule,
    )
    from setpoint.tasks.out_of_core import (
        evaluate_tables,
        pilot_of_model,
        pilot_of_table,
        solve_tables,
    )
    from setpoint.tasks.prediction import (
        ComparedTables,
        compare_tables,
        decide_rows,
        evaluate_table,
        predict_table,
    )
    from setpoint.tasks.reading import (
        NamedMetric,
        Reading,
        columns_named,
        metric_of,
        module_file,
        open_model,
    )
    from setpoint.tasks.roles import counted
    from setpoint.tasks.settings import (
        MODULES,
        SURROGATES,
        FitSettings,
        choose_solver,
        promise_of,
        training_solver,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
