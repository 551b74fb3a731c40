"""Counting rows where they lie: on an engine, out of core, or on a cluster."""

from setpoint.counting.source import GroupBy, Key, Rest, RowFilter, Source

__all__ = ["GroupBy", "Key", "Part", "Rest", "Source"]
