"""The explorer: a page on which the bounds of a goal are dragged, and what follows is seen."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.explorer.limits import ScoredRows
    from setpoint.explorer.page import GOAL, THRESHOLD, Command, Explorer
    from setpoint.explorer.payload import (
        Marker,
        by_columns,
        cautions,
        check_curve,
        group_columns,
        joined,
        markers_of,
        names_of,
        payload_of,
        scored_rows,
        share_of,
        split_rows,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
