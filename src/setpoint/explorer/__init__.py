"""The explorer: a page on which the bounds of a goal are dragged, and what follows is seen."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.explorer.limits import ScoredRows
    from setpoint.explorer.page import GOAL, THRESHOLD, Command, Explorer
    from setpoint.explorer.payload import (
        SEVERAL,
        GivenScores,
        cautions,
        check_curve,
        check_of,
        explorer_of,
        explorer_on,
        joined,
        names_of,
        payload_of,
        rows_of_fit,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
