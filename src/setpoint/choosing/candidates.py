"""The candidates of a search: classifiers by name, and the parameters that each is tried with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import ParameterGrid

from setpoint.errors import InputError, InputTypeError
from setpoint.estimators.base import GoalClassifier
from setpoint.goals.errors import nearest

__all__ = ["Candidate", "candidates_of", "decides"]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A classifier with parameters, not fitted.

    Parameters
    ----------
    name : str
        Of the classifier, as the user calls it; "" where there is one only.
    params : dict
        What it is tried with.
    estimator : classifier
        A clone with these parameters.
    """

    name: str
    params: dict[str, Any]
    estimator: Any

    @property
    def words(self) -> str:
        """What the candidate is called.

        Examples
        --------
        >>> Candidate("forest", {"max_depth": 3}, None).words, Candidate("", {"C": 0.1}, None).words
        ('forest (max_depth=3)', 'C=0.1')
        """
        own = ", ".join(f"{key}={_short(value)}" for key, value in self.params.items())
        if self.name and own:
            return f"{self.name} ({own})"
        return self.name or own or type(self.estimator).__name__


def candidates_of(estimator: Any, grid: Any) -> list[Candidate]:
    """All candidates, in the order in which they were written down.

    Parameters
    ----------
    estimator : classifier, or dict of name to classifier
    grid : dict of lists, list of these, or None; for several classifiers a dict of name to these

    Raises
    ------
    ValueError, TypeError
        If a name or a value is wrong; the message says which are known.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> [one.words for one in candidates_of(LogisticRegression(), {"C": [0.1, 1.0]})]
    ['C=0.1', 'C=1.0']
    """
    if not isinstance(estimator, Mapping):
        _check_classifier(estimator, "`estimator`")
        return _of_one("", estimator, grid, "`grid`")
    if not estimator:
        raise InputError("`estimator` is an empty dict: it names no classifier to choose among")
    for name, own in estimator.items():
        if not isinstance(name, str) or not name or "__" in name:
            raise InputError(
                f"`estimator`: classifiers are named by text without '__', found the name {name!r}"
            )
        _check_classifier(own, f"`estimator[{name!r}]`")
    grids = {} if grid is None else grid
    if not isinstance(grids, Mapping):
        raise InputTypeError(
            "`grid`: of several classifiers it is a dict of their names to grids, found "
            f"{type(grids).__name__}"
        )
    for name in grids:
        if name not in estimator:
            raise InputError(
                f"`grid`: {name!r} is not a name in `estimator` ({nearest(name, estimator)})"
            )
    return [
        one
        for name, own in estimator.items()
        for one in _of_one(name, own, grids.get(name), f"`grid[{name!r}]`")
    ]


def decides(estimator: Any) -> bool:
    """Whether a classifier reaches a goal by itself, so that its decisions are judged.

    A classifier of this library does, and a pipeline that ends in one.
    """
    steps = getattr(estimator, "steps", None)
    if isinstance(steps, list) and steps:
        return decides(steps[-1][1])
    if isinstance(estimator, FrozenEstimator):
        return decides(estimator.estimator)
    return isinstance(estimator, GoalClassifier)


def _of_one(name: str, estimator: Any, grid: Any, where: str) -> list[Candidate]:
    grids = [{}] if grid is None else [grid] if isinstance(grid, Mapping) else grid
    if not isinstance(grids, list) or not all(isinstance(g, Mapping) for g in grids):
        raise InputTypeError(
            f"{where} is a dict from parameters to lists of values, or a list of such dicts, "
            f"found {type(grid).__name__}"
        )
    known = estimator.get_params(deep=True)
    out = []
    for own in grids:
        for key, values in own.items():
            if key not in known:
                raise InputError(
                    f"{where}: {type(estimator).__name__} has no parameter {key!r} "
                    f"({nearest(key, known)})"
                )
            listed = isinstance(values, Sequence | np.ndarray) and not isinstance(values, str)
            if not listed or len(values) == 0:
                raise InputError(
                    f"{where}: the values of {key!r} are a list with one or more, found {values!r}"
                )
        for found in ParameterGrid(dict(own)):
            # Values that are classifiers themselves stay unfitted, as the grid holds them.
            params = {key: clone(value, safe=False) for key, value in found.items()}
            model = clone(estimator)
            out.append(Candidate(name, params, model.set_params(**params) if params else model))
    return out


def _check_classifier(estimator: Any, where: str) -> None:
    """Refuse what cannot be cloned and fitted."""
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        is_class = isinstance(estimator, type)
        found = f"the class {estimator.__name__}" if is_class else repr(estimator)
        raise InputTypeError(f"{where} is a classifier, or a dict of name to one, found {found}")
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise InputTypeError(
            f"{where} is a classifier with fit and predict, found {type(estimator).__name__}"
        )


def _short(value: Any) -> str:
    text = repr(value) if not hasattr(value, "get_params") else type(value).__name__
    return text if len(text) <= 40 else f"{text[:37]}..."
