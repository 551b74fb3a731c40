"""Which models are tried for a goal, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from setpoint.errors import InputError, InputTypeError
from setpoint.parameters import SECONDS
from setpoint.solvers.settings import Settings

__all__ = ["AutoModel"]


@dataclass(frozen=True, repr=False)
class AutoModel(Settings):
    """Try several models under the goal, and keep the one that does best.

    Wherever a classifier takes ``estimator="auto"``, the word stands for ``AutoModel()``. Each
    model is fitted once a fold, and compared by what the best rule over its out-of-fold scores
    reaches, so that each stands at the bounds of the goal; models that are shown to fail the goal
    come last, and of equal ones the simplest is kept.

    Parameters
    ----------
    candidates : mapping of str to classifier, optional
        Models by their names, the simplest first, with ``predict_proba``. None: a logistic
        regression, and boosting with few rounds and with many, by LightGBM where it is installed
        and else by scikit-learn, which takes no sparse matrices; each with what it takes of
        numbers, text, categories and missing values.
    averaged : bool
        Whether the mean of the best two models is a candidate, too. It takes no further fits of
        folds.
    seconds : float, optional
        For trying. What is finished by then is compared; the first model is always finished.
        None: no limit, and then the choice depends on the rows and `random_state` alone.

    Raises
    ------
    ValueError, TypeError
        If a parameter is not allowed, or a candidate is not a classifier.

    Examples
    --------
    >>> from setpoint.solvers import AutoModel
    >>> AutoModel(seconds=60)
    AutoModel(seconds=60)
    >>> AutoModel(candidates={})
    Traceback (most recent call last):
    ...
    setpoint.errors.InputError: `candidates` holds at least one model, got {}
    """

    allowed: ClassVar = {"averaged": (True, False), "seconds": SECONDS}

    candidates: Mapping[str, Any] | None = None
    averaged: bool = True
    seconds: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        given: Any = self.candidates
        if given is None:
            return
        if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
            raise InputTypeError(
                "`candidates` is a mapping of names to classifiers, or None, got a "
                f"{type(given).__name__}"
            )
        if not given:
            raise InputError("`candidates` holds at least one model, got {}")
        for name, model in given.items():
            if isinstance(model, type) or not hasattr(model, "fit"):
                raise InputTypeError(
                    f"`candidates`: {name!r} is not a classifier, which has fit and "
                    f"predict_proba, got {model!r}"
                )

    @classmethod
    def named(cls, estimator: Any) -> AutoModel | None:
        """The value that an `estimator` stands for; None where it is a model.

        Examples
        --------
        >>> AutoModel.named("auto")
        AutoModel()
        """
        if isinstance(estimator, str):
            if estimator != "auto":
                raise InputError(
                    f"`estimator` is a classifier, 'auto' or AutoModel(...), got {estimator!r}"
                )
            return cls()
        return estimator if isinstance(estimator, cls) else None
