"""Tables from outside: read, checked, brought into a model's columns, classified."""

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
from setpoint.tables.kinds import TableError, needed
from setpoint.tables.model import TableModel
from setpoint.tables.profile import odd_columns, profile_of, suspects
from setpoint.tables.reading import parquet_batches, read_table
from setpoint.tables.table import (
    Table,
    TableColumn,
    absent,
    conform,
    kinds_of,
    labels_of,
    scores_of,
)
from setpoint.tables.writing import FORMATS, CsvDialect, write_rows

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
