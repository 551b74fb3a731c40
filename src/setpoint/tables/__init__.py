"""Tables from outside: read, checked, brought into a model's columns, classified."""

from setpoint.tables.errors import TableError
from setpoint.tables.features import described, model_for, transformer_for, unusable
from setpoint.tables.generators import tumours
from setpoint.tables.learners import LEARNERS
from setpoint.tables.profile import odd_columns, profile_of
from setpoint.tables.reading import read_table
from setpoint.tables.schema import Column, conform, kinds_of
from setpoint.tables.suspects import suspects
from setpoint.tables.table import Table
from setpoint.tables.table_model import TableModel, labels_of

__all__ = [
    "LEARNERS",
    "Column",
    "Table",
    "TableError",
    "TableModel",
    "conform",
    "described",
    "kinds_of",
    "labels_of",
    "model_for",
    "odd_columns",
    "profile_of",
    "read_table",
    "suspects",
    "transformer_for",
    "tumours",
    "unusable",
]
