"""The explorer: a page on which the bounds of a goal are dragged, and what follows is seen."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.explorer.page import Explorer

__all__ = ["Explorer"]

_HOME = {"Explorer": "page"}

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__, _HOME)
