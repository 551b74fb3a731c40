"""Counting rows where they lie: on an engine, out of core, or on a cluster."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.sources.counted import CountedRows, FrameRows, frame_rows_of, require_formula
    from setpoint.sources.engines import source_of
    from setpoint.sources.passes import CountsCheckpoint, Pass, Passes
    from setpoint.sources.source import (
        GroupBy,
        Key,
        Rest,
        RowFilter,
        Source,
        TooManyLinesError,
        is_lazy,
        require_memory,
    )
    from setpoint.sources.tables import duckdb_module, files_named, first_line, table_of

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
