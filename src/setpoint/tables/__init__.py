"""Tables from outside: read, checked, brought into a model's columns, classified."""

from setpoint.tables.auto_models import auto_model_for
from setpoint.tables.errors import TableError
from setpoint.tables.extras import needed
from setpoint.tables.features import described, model_for, transformer_for, unusable
from setpoint.tables.generators import tumours
from setpoint.tables.labels import labels_of, scores_of
from setpoint.tables.learners import LEARNERS, learner_for
from setpoint.tables.model import TableModel
from setpoint.tables.parquet import parquet_batches
from setpoint.tables.profile import odd_columns, profile_of
from setpoint.tables.reading import read_table
from setpoint.tables.schema import Column, kinds_of
from setpoint.tables.suspects import suspects
from setpoint.tables.table import Table, absent, conform
from setpoint.tables.writing import FORMATS, Dialect, write_rows

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
