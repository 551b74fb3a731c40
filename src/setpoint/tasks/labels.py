"""The classes of a target, and values as they are written in a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.goals.errors import nearest

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["check_folds", "check_positive", "classes_in", "label_of", "value_named"]

_MOST_CLASSES = 200
_FOLDS = 5  # of PlugInClassifier and AdaptiveSurrogateClassifier


def label_of(given: Any, labels: Sequence[Any], target: str) -> Any:
    """The class that was named, of the type that the table has; its text will do.

    Examples
    --------
    >>> label_of("1", [0, 1], "y"), label_of("true", [False, True], "y"), label_of(None, [0], "y")
    (1, True, None)
    """
    if given is None:
        return None
    text = str(given)
    if len(labels) > 2:
        raise InputError(
            f"`pos_label` is for two classes, and column {target!r} holds {len(labels)}; name a "
            "class in the goal, as in recall(label='a')"
        )
    found = value_named(text, labels)
    if found is None:
        raise InputError(
            f"`pos_label`: column {target!r} holds no class {text!r} ({nearest(text, labels)})"
        )
    return found


def check_positive(labels: Sequence[Any], goal: Goal, target: str, name: str) -> None:
    """Refuse two text labels where the goal refers to the positive one and nothing says which."""
    from setpoint.inputs.positive import refers_to_positive, settled_positive

    if len(labels) != 2 or not refers_to_positive(goal) or settled_positive(labels) is not None:
        return
    one, other = labels
    raise InputError(
        f"{name}: column {target!r} holds {one!r} and {other!r}, and the goal refers to the "
        f"positive class: say which it is, `pos_label={one}` or `pos_label={other}`"
    )


def value_named(text: str, values: Sequence[Any]) -> Any:
    """The value that a text stands for; None where there is none.

    Examples
    --------
    >>> value_named("1", [0, 1]), value_named("1.0", [0, 1]), value_named("yes", ["no"])
    (1, 1, None)
    """
    for value in values:
        same = isinstance(value, bool) and text.lower() == str(value).lower()
        if same or text == str(value):
            return value
    for value in values:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and _is(text, value):
            return value
    return None


def _is(text: str, value: float) -> bool:
    try:
        return float(text) == value
    except ValueError:
        return False


def classes_in(y: Any, target: str, name: str) -> tuple[list[Any], dict[str, int]]:
    """The classes in sorted order, and how many rows each has."""
    import numpy as np

    found, counts = np.unique(y, return_counts=True)
    labels = found.tolist()
    if len(labels) < 2:
        raise InputError(
            f"{name}: column {target!r} holds one class only, {labels[0]!r}; there is nothing to "
            "decide"
        )
    if len(labels) > _MOST_CLASSES or any(isinstance(v, float) and v % 1 for v in labels):
        raise InputError(
            f"{name}: column {target!r} holds {len(labels)} different values, from {labels[0]!r} "
            f"to {labels[-1]!r}; a target has classes, {_MOST_CLASSES} at most: make some, or "
            "name another column, `target`"
        )
    return labels, {str(label): int(n) for label, n in zip(labels, counts, strict=True)}


def check_folds(y: Any, counts: Mapping[str, int], name: str) -> None:
    """Refuse classes that are too small for cross-validation."""
    import numpy as np

    found, left = np.unique(y, return_counts=True)
    there = dict(zip(map(str, found.tolist()), left.tolist(), strict=True))
    few = min(counts, key=lambda label: there.get(label, 0))
    n = there.get(few, 0)
    if n < _FOLDS:
        whole = "" if n == counts[few] else f" of {counts[few]:,} left after the hold-out"
        raise InputError(
            f"{name}: class {few!r} has {n} rows{whole}, too few for cross-validation in "
            f"{_FOLDS} folds; add rows, hold out fewer, or leave the class out"
        )
