"""What is asked of a model before its fit, as an error of setpoint and of scikit-learn."""

from __future__ import annotations

from sklearn.exceptions import NotFittedError

from setpoint.errors import InputError

__all__ = ["UnfittedError"]


class UnfittedError(InputError, NotFittedError):
    """A model that was not fitted is asked for what only a fit knows.

    Examples
    --------
    >>> issubclass(UnfittedError, NotFittedError)
    True
    """
