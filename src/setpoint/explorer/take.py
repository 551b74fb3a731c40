"""What a page hands back: the rule as JSON and SQL, with places for the thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from setpoint.errors import SetpointError
from setpoint.goals.populations import Key, Label
from setpoint.rules import PerSegment, Rule, Threshold

__all__ = ["take_templates"]

_SCORE = "score"


def take_templates(classes: Sequence[Label], segments: Sequence[Key]) -> dict[str, Any]:
    """Templates for one threshold, and for one for each segment where there are several.

    Of a text every second piece is the number of a threshold.

    Examples
    --------
    >>> found = take_templates(("no", "yes"), [()])["one"]
    >>> found["json"]
    ['{"format": 2, "rule": {"type": "threshold", "threshold": ', 0, ', "width": 0.0}}']
    """
    out = {"score": _SCORE, "one": _of(lambda t: Threshold(t[0]), 1, classes), "segments": None}
    if len(segments) > 1:
        out["segments"] = _of(
            lambda t: PerSegment([Threshold(x) for x in t], segments), len(segments), classes
        )
    return out


def _of(make: Any, n: int, classes: Sequence[Label]) -> dict[str, Any]:
    marks = [float(f"0.8271{i:04d}3917") for i in range(n)]
    rule: Rule = make(marks)
    try:
        sql = rule.to_sql(_SCORE, classes=classes)
    except SetpointError as error:  # such as a column of mixed values
        sql = f"-- not in SQL: {error}"
    return {"json": _pieces(rule.to_json(), marks), "sql": _pieces(sql, marks)}


def _pieces(text: str, marks: Sequence[float]) -> list[str | int]:
    out: list[str | int] = []
    for i, mark in enumerate(marks):
        before, found, text = text.partition(repr(mark))
        out.append(before)
        if found:
            out.append(i)
    return [*out, text]
