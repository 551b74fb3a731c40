"""Tables from outside: read, checked, brought into a model's columns, classified."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.tables.about import (
        certifying,
        chosen_on,
        costs_of_constraints,
        explore_fit,
        goals_near,
        judged_on,
        write_infeasible_page,
        write_page,
    )
    from setpoint.tables.counting import evaluate_tables, pilot_of_table, solve_tables
    from setpoint.tables.features import (
        LEARNERS,
        auto_model_for,
        described,
        learner_for,
        model_for,
        transformer_for,
        tumours,
        unusable,
    )
    from setpoint.tables.files import FORMATS, CsvDialect, parquet_batches, read_table, write_rows
    from setpoint.tables.fitted import CHECKED, columns_of_all, moved_goal
    from setpoint.tables.fitting import HELD_OUT, Tables, fit_tables, read_tables
    from setpoint.tables.kinds import TableError, needed
    from setpoint.tables.model import TableModel
    from setpoint.tables.notes import LOG, go_on, note, step, warnings_as_notes
    from setpoint.tables.profile import odd_columns, profile_of, suspects
    from setpoint.tables.roles import (
        TableRows,
        check_threshold,
        counted,
        find_metric_columns,
        rows_of,
    )
    from setpoint.tables.rows import (
        TableFile,
        check_datasets,
        check_folds,
        check_one_table,
        check_positive,
        classes_in,
        columns_named,
        label_of,
        labelled_rows,
        note_reading,
        only_one_stdin,
        read,
        value_named,
    )
    from setpoint.tables.settings import MODULES, SURROGATES, choose_solver, training_solver
    from setpoint.tables.table import (
        FIRST,
        Table,
        TableColumn,
        absent,
        conform,
        kinds_of,
        labels_of,
        scores_of,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
