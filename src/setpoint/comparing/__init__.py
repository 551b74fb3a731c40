"""Several models on the same rows: which serves a goal better, and what changes."""

from typing import TYPE_CHECKING

from setpoint.packages import lazily

if TYPE_CHECKING:
    from setpoint.comparing.models import check_matching, check_same, compare
    from setpoint.comparing.pairs import ChangedGroup, Pair, Part, judged_classifier
    from setpoint.comparing.result import (
        ModelComparison,
        accepted,
        comparison_of,
        headline,
        lines_of,
    )

if not TYPE_CHECKING:  # to a type checker a misspelt name stays an error
    __getattr__ = lazily(__name__)
