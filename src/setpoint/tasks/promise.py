"""What is to hold on new rows, as it was asked for, and whether that fits together."""

from __future__ import annotations

from typing import Any

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.solvers import Confidence

__all__ = ["promise_of"]


def promise_of(
    goal: Goal,
    confidence: float | None,
    *,
    judge_by: Any = None,
    certify_on: Any = None,
    certification_size: float | None = None,
    uncertified: str | None = None,
    strict: bool = False,
) -> Confidence | None:
    """The promise as classifiers take it; None where there is to be none."""
    if confidence is not None and not goal.constraints:
        what = "a metric without a formula" if goal.is_blackbox else f"'{goal}'"
        raise InputError(
            f"`confidence` promises that constraints hold on new rows, and {what} has none: "
            "add one, such as 'subject to recall >= 0.9', or leave `confidence` out"
        )
    own = any(c.confidence is not None for c in goal.constraints)
    if confidence is None and not own:
        given = {
            "certify_on": certify_on, "certification_size": certification_size,
            "uncertified": uncertified, "strict": strict or None,
        }  # fmt: skip
        for argument, value in given.items():
            if value is not None:
                raise InputError(
                    f"`{argument}`: there is nothing to certify; say how confidently with "
                    "`confidence=0.95`, or leave it out"
                )
        return None
    if judge_by is not None:
        raise InputError(
            "`judge_by` is for a margin that is put into `goal` by hand; with a confidence "
            "the bounds of `goal` are certified, and the margin is found: leave it out"
        )
    if certify_on is not None and certification_size is not None:
        raise InputError(
            "`certification_size` is a share of the table, and `certify_on` names the rows that "
            "certify; leave one of them out"
        )
    if certify_on is not None and goal.needs.datasets:
        raise InputError(
            "`certify_on` is one table, and the goal refers to the data set "
            f"{goal.needs.datasets[0]!r}; leave it out, and a part of each table certifies"
        )
    return Confidence(
        confidence,
        certification_size="auto" if certification_size is None else certification_size,
        on_uncertified="nearest" if uncertified == "nearest" else "raise",
        strict=strict,
    )
