"""Tables from outside: read, checked, brought into a model's columns, classified."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tables.about import (
        certifying,
        costs_of_constraints,
        explore_fit,
        fit_facts,
        fit_text,
        goals_near,
        guarantee_facts,
        guarantee_text,
        judged_on,
        model_text,
        moved_goal,
        write_infeasible_page,
        write_page,
    )
    from setpoint.tables.counting import evaluate_tables, pilot_of_table, solve_tables
    from setpoint.tables.features import (
        LEARNERS,
        described,
        learner_for,
        model_for,
        suspects,
        tumours,
    )
    from setpoint.tables.files import FORMATS, CsvDialect, parquet_batches, read_table, write_rows
    from setpoint.tables.fitted import CHECKED
    from setpoint.tables.model import TableModel, fit_tables, read_tables
    from setpoint.tables.roles import counted
    from setpoint.tables.rows import (
        LOG,
        TableFile,
        columns_named,
        columns_of_all,
        labelled_rows,
        note,
        only_one_stdin,
        read,
        step,
        warnings_as_notes,
    )
    from setpoint.tables.settings import MODULES, SURROGATES, training_solver
    from setpoint.tables.table import (
        Table,
        TableColumn,
        TableError,
        conform,
        kinds_of,
        labels_of,
        needed,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
