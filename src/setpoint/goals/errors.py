"""The errors of the language, and the nearest known names they suggest."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

from setpoint.errors import InputError

__all__ = [
    "EmptyPopulationError",
    "GoalError",
    "GoalSyntaxError",
    "NoFormulaError",
    "ShapeError",
    "UnlabelledError",
    "listed",
    "nearest",
]


class GoalError(InputError):
    """A goal that is not a goal, or that does not fit the data it is bound to."""


class GoalSyntaxError(GoalError):
    """A text that does not read as a goal; names the word, the place and near names."""


class EmptyPopulationError(GoalError):
    """A rate of a population in which there is no row."""


class UnlabelledError(GoalError):
    """A rate needs labels that its rows do not have."""


class ShapeError(GoalError):
    """A goal whose shape no solver here takes; the message names the way out."""


class NoFormulaError(GoalError):
    """A black-box goal where a formula is needed; the message names who takes it."""


def nearest(word: object, known: Iterable[object]) -> str:
    """A clause that suggests the known names nearest to `word`.

    Examples
    --------
    >>> nearest("recal", ["recall", "precision"])
    "did you mean 'recall'?"
    >>> nearest("zzz", ["recall", "precision"])
    "known: 'recall', 'precision'"
    """
    names = {str(k): k for k in known}
    close = difflib.get_close_matches(str(word), list(names), n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(repr(names[c]) for c in close) + "?"
    if not names:
        return "there are none"
    shown = [repr(k) for k in names.values()]
    more = "" if len(shown) <= 12 else f" and {len(shown) - 12} more"
    return "known: " + ", ".join(shown[:12]) + more


def listed(texts: Sequence[str], most: int = 5) -> str:
    """The first few of some texts, and how many more there are.

    Examples
    --------
    >>> listed(["sex = F", "sex = M"]), listed(["a", "b", "c"], most=1)
    ('sex = F; sex = M', 'a and 2 more')
    """
    text = "; ".join(texts[:most])
    return text if len(texts) <= most else f"{text} and {len(texts) - most} more"
