"""What all errors of setpoint have in common: a check failed, and these arguments are concerned."""

from __future__ import annotations

import difflib
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Sequence

_ARGUMENT = re.compile(r"`([A-Za-z_]\w*)(?:=([^`]*)|(\[[^`]*\]))?`")
"""An argument in a message, alone, with a value or of a key: `cv`, `cv=5`, `datasets['old']`."""
_PARAMETER = re.compile(r"[A-Za-z]|[a-z_]\w*")
"""Names that are arguments; those of classes are not."""
_NAMED = re.compile(r"[A-Za-z_]\w*(?:\[[^`]*\])?")


class SetpointError(Exception):
    """A check of setpoint failed; the message says what is wrong, and what to do.

    Arguments stand in back quotes, alone or with a value, so that whoever has other names for
    them can put those in their place.

    Examples
    --------
    >>> InputError("`test_size` is a share, got 2; `test_size=0` holds nothing out").arguments
    ('test_size',)
    """

    remedy = ""
    """What else can be done in Python; the message has it in parentheses at its end."""

    @property
    def finding(self) -> str:
        """The message without `remedy`."""
        return str(self).removesuffix(f" ({self.remedy})") if self.remedy else str(self)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments that the message names, in its order."""
        found = (found[1] for found in _ARGUMENT.finditer(str(self)))
        return tuple(dict.fromkeys(name for name in found if _PARAMETER.fullmatch(name)))


class InputError(SetpointError, ValueError):
    """A value that is not allowed."""


class InputTypeError(SetpointError, TypeError):
    """A value of a type that is not allowed."""


def quoted(what: str) -> str:
    """What messages call values that were given, with back quotes where it is an argument.

    Examples
    --------
    >>> quoted("datasets['old']: y"), quoted("the deployed model")
    ("`datasets['old']`: `y`", 'the deployed model')
    """
    parts = what.split(": ")
    return ": ".join(f"`{part}`" if _NAMED.fullmatch(part) else part for part in parts)


def rename_arguments(text: str, name: Callable[[str, str | None], str | None]) -> str:
    """A message with other names for its arguments.

    Examples
    --------
    >>> rename_arguments("`cv=5` is left out", lambda name, value: f"--{name} {value}")
    '--cv 5 is left out'
    >>> rename_arguments("`datasets['old']` is empty", lambda name, value: f"{name} {value}")
    'datasets[] old is empty'
    """

    def renamed(found: re.Match[str]) -> str:
        key = None if found[3] is None else found[3].rpartition("[")[2].strip("]'\"")
        other = name(found[1], found[2]) if key is None else name(f"{found[1]}[]", key)
        return found[0].strip("`") if other is None else other

    return _ARGUMENT.sub(renamed, text)


# --- The errors of the language, and the nearest known names they suggest -------------------------


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


# --- Warnings that point at the line of whoever called the library --------------------------------


_PACKAGE = os.path.join(os.path.dirname(__file__), "")
_RACE = "`sklearn.utils.parallel.delayed` should be used with"


def warn_caller(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning for the first line outside this package that led here.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn_caller("few rows")
    >>> caught[0].category.__name__
    'UserWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_code.co_filename.startswith(_PACKAGE) and frame.f_back is not None:
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level)


def without_races(caught: Iterable[warnings.WarningMessage]) -> list[warnings.WarningMessage]:
    """Recorded warnings, without those that scikit-learn issues because of other threads.

    Examples
    --------
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warnings.warn("few rows")
    >>> len(without_races(caught))
    1
    """
    return [w for w in caught if not str(w.message).startswith(_RACE)]
