"""Warnings that point at the line of whoever called the library, however deep it lies."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable

__all__ = ["warn_caller", "without_races"]

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
