"""What a command does, as a library call: from a table to a value with notes; no terminal."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tasks.fitted import (
        FittedTable,
        costs_of_constraints,
        explore_fit,
        goals_near,
        write_infeasible_page,
        write_page,
    )
    from setpoint.tasks.fitting import HELD_OUT, TableFit, fit_table, prepare_fit
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
