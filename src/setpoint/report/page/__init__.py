"""A report as one self-contained HTML page.

The page lies above the report that it shows, with the pictures between them. So its names
are loaded when they are first used, and a report can offer to write itself.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setpoint.report.page.header import Header
    from setpoint.report.page.infeasible import infeasible_page, write_infeasible
    from setpoint.report.page.page import page_text, write_page

__all__ = ["Header", "infeasible_page", "page_text", "write_infeasible", "write_page"]

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    _HOMES = {
        "Header": "header",
        "infeasible_page": "infeasible",
        "page_text": "page",
        "write_infeasible": "infeasible",
        "write_page": "page",
    }

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module 'setpoint.report.page' has no attribute {name!r}")
        home = import_module(f"setpoint.report.page.{_HOMES[name]}")
        value = globals()[name] = getattr(home, name)
        return value
