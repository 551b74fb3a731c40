"""A report as one self-contained HTML page.

The page lies above the report that it shows, with the pictures between them. So its names
are loaded when they are first used, and a report can offer to write itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setpoint.report.page.page import Section, page_text, write_page

__all__ = ["Section", "page_text", "write_page"]

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'setpoint.report.page' has no attribute {name!r}")
        value = globals()[name] = getattr(import_module("setpoint.report.page.page"), name)
        return value
