"""Which class of two is the positive one, where that is settled without a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from setpoint.errors import InputError, quoted
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.inputs.arrays import series_of
from setpoint.program.link import waits_for_class

__all__ = ["WORDS", "refers_to_positive", "settled_positive", "unsettled"]

WORDS: tuple[tuple[str, str], ...] = (
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("0", "1"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("absent", "present"),
    ("nein", "ja"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
)
"""Pairs of text labels, negative and positive, that mean the same everywhere; in any case.

Pairs such as bad and good are not here: of loans the bad ones may be those to find.
"""


def settled_positive(labels: Sequence[Label], *given: Any) -> Label | None:
    """The positive one of two labels where it is settled, else None.

    Examples
    --------
    >>> settled_positive([0, 1]), settled_positive(["ja", "nein"]), settled_positive(["a", "b"])
    (1, 'ja', None)
    """
    for column in given:
        known: list[Label] = [label for label in _order_of(column) if label in labels]
        if len(known) == len(labels):
            return known[-1]
    if not all(isinstance(label, str) for label in labels):
        return labels[-1]
    words = {str(label).strip().lower(): label for label in labels}
    for negative, positive in WORDS:
        if words.keys() == {negative, positive}:
            return words[positive]
    return None


def _order_of(column: Any) -> list[Any]:
    """The values of an ordered category in their order; none where it is something else."""
    plain: Any = getattr(column, "dtype", None)
    if getattr(plain, "ordered", False) and hasattr(plain, "categories"):
        return list(plain.categories)  # also a pandas.Categorical, which is not a Series
    series = series_of(column)
    known = None if series is None else series.dtype
    return list(known.categories) if isinstance(known, nw.Enum) else []


def refers_to_positive(goal: Goal) -> bool:
    """Whether it matters for a goal which class of two is the positive one.

    Examples
    --------
    >>> from setpoint import Goal
    >>> [refers_to_positive(Goal.parse(f"maximize {x}")) for x in ("f1", "f1.min()", "f1(label=a)")]
    [True, False, False]
    """
    return goal.is_blackbox or waits_for_class(goal)


def unsettled(labels: Sequence[Label], name: str) -> ValueError:
    """The error for two text labels of which none is known to be positive."""
    one, other = labels
    return InputError(
        f"{quoted(name)} holds the text labels {one!r} and {other!r}, and which of them is the "
        f"positive class is not known: pass `pos_label={one!r}` or `pos_label={other!r}`, or "
        "labels as an ordered category, the positive class last"
    )
