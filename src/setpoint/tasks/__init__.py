"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
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

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
