"""Tables from outside: read, checked, brought into a model's columns, classified."""

from setpoint.tables.files import FORMATS, CsvDialect, parquet_batches, read_table, write_rows
from setpoint.tables.kinds import TableError, needed
from setpoint.tables.model import (
    LEARNERS,
    TableModel,
    auto_model_for,
    described,
    learner_for,
    model_for,
    transformer_for,
    tumours,
    unusable,
)
from setpoint.tables.profile import odd_columns, profile_of, suspects
from setpoint.tables.table import (
    Table,
    TableColumn,
    absent,
    conform,
    kinds_of,
    labels_of,
    scores_of,
)

__all__ = [
    "FORMATS",
    "LEARNERS",
    "Column",
    "Dialect",
    "Table",
    "TableError",
    "TableModel",
    "absent",
    "auto_model_for",
    "conform",
    "described",
    "kinds_of",
    "labels_of",
    "learner_for",
    "model_for",
    "needed",
    "odd_columns",
    "parquet_batches",
    "profile_of",
    "read_table",
    "scores_of",
    "suspects",
    "transformer_for",
    "tumours",
    "unusable",
    "write_rows",
]
