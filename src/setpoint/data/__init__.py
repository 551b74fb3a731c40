"""Tables from outside: read, checked, brought into a model's columns, classified."""

from setpoint.data.errors import TableError
from setpoint.data.features import described, model_for, transformer_for, unusable
from setpoint.data.generators import tumours
from setpoint.data.learners import LEARNERS
from setpoint.data.reading import read_table
from setpoint.data.schema import Column, conform, kinds_of
from setpoint.data.suspects import suspects
from setpoint.data.table import Table
from setpoint.data.table_model import TableModel, labels_of

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
    "read_table",
    "suspects",
    "transformer_for",
    "tumours",
    "unusable",
]
