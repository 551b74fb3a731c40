"""Warnings that point at the line of whoever called the library, however deep it lies."""

from __future__ import annotations

import os
import sys
import warnings

__all__ = ["warn_caller"]

_PACKAGE = os.path.join(os.path.dirname(__file__), "")


def warn_caller(message: str | Warning, category: type[Warning] | None = None) -> None:
    """Issue a warning for the first line outside this package that led here.

    Parameters
    ----------
    message : str or Warning
    category : type of Warning, optional
        UserWarning by default, or that of `message`.

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
