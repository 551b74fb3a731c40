"""What of new rows is not as it was where a rule was chosen, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import TableModel

__all__ = ["class_share_moved", "odd_rows"]

_ERRORS, _RATIO = 4.0, 1.2
_NAMED = 3


def moved(share: float, n: int, before: float, n_before: float) -> bool:
    """Whether two shares differ by more than chance, and by a fifth.

    Examples
    --------
    >>> moved(0.033, 10_000, 0.117, 30_000), moved(0.12, 10_000, 0.117, 30_000)
    (True, False)
    """
    if n_before <= 0 or n == 0:
        return False
    pooled = (share * n + before * n_before) / (n + n_before)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / n + 1 / n_before))
    low, high = sorted((share, before))
    return abs(share - before) > _ERRORS * error and high > _RATIO * low


def odd_rows(model: TableModel, frame: Any, decisions: Any) -> str:
    """One line on what is odd about rows that were decided; "" if nothing is."""
    from setpoint.tables import odd_columns

    counts = model.classifier.goal_report_.counts
    parts: list[str] = []
    if len(counts.classes) == 2 and counts.confusion:
        n, positive = len(decisions), counts.classes[1]
        share = float((decisions == positive).mean())
        total = counts.total
        before = sum(row[1] for row in counts.confusion) / total if total else 0.0
        if moved(share, n, before, min(total, counts.n_rows)):
            parts.append(
                f"{positive!r} for {_percent(share)} of {n:,} rows, and for {_percent(before)} "
                "where the rule was chosen"
            )
    found = odd_columns(frame, model.profile)
    parts += found[:_NAMED]
    if len(found) > _NAMED:
        parts.append(f"{len(found) - _NAMED:,} more columns")
    return "; ".join(parts)


def class_share_moved(report: GoalReport, before: GoalReport) -> str:
    """A sentence on the class whose share differs from that of the fit; "" if none does."""
    now, then = report.counts, before.counts
    if not now.confusion or not then.confusion or now.classes != then.classes:
        return ""
    n, n_before = now.labelled, then.labelled
    if not n or not n_before:
        return ""
    moves = []
    for code, label in enumerate(now.classes):
        share, was = now.of_class(code) / n, then.of_class(code) / n_before
        if moved(share, now.n_rows, was, then.n_rows):
            moves.append((abs(share - was), label, share, was))
    if not moves:
        return ""
    # Of two classes that moved alike, the positive one stands last.
    _, label, share, was = max(enumerate(moves), key=lambda m: (round(m[1][0], 9), m[0]))[1]
    return (
        f"class {label!r} is {_percent(share)} of these rows, and {_percent(was)} of those that "
        "the rule was chosen on: what held there need not hold here"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
