"""Candidates fitted fold by fold: scores, or decisions, of rows that they did not see."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import has_fit_parameter

from setpoint.choosing.candidates import Candidate, decides
from setpoint.choosing.rows_to_choose_on import RowsToChooseOn
from setpoint.errors import InputError
from setpoint.estimators.base import GoalClassifier
from setpoint.estimators.splitting import Fold
from setpoint.goals.goal import Goal
from setpoint.goals.populations import DEFER
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.predictions import Answers
from setpoint.plugin.crossfit import Response, fit_fold
from setpoint.report import FewRowsWarning
from setpoint.typing import Codes, Floats

__all__ = ["OutOfFold", "check_candidates", "out_of_fold"]


@dataclass(frozen=True, eq=False)
class OutOfFold:
    """What a candidate says of rows that it did not see.

    Parameters
    ----------
    values : array of shape (M,) or (M, n), or None
        Scores, or class codes of decisions, of the rows that the splits leave out, ascending;
        None where a fit failed.
    decided : bool
        Whether they are decisions.
    seconds : float
        All its fits took.
    error : Exception or None
        Why a fit failed.
    """

    values: NDArray[Any] | None
    decided: bool
    seconds: float
    error: Exception | None = None


def check_candidates(
    candidates: Sequence[Candidate], rows: RowsToChooseOn, response: Response
) -> None:
    """Refuse candidates that could not be judged, before any of them is fitted.

    Raises
    ------
    ValueError, TypeError
        It names the candidate.
    """
    for one in candidates:
        model = one.estimator
        known = _known_classes(model)
        if known is not None and list(known) != response.classes.sorted.tolist():
            raise InputError(
                f"`estimator`: {one.words} was fitted to the classes {list(known)}, and y holds "
                f"{response.classes.sorted.tolist()}; candidates decide between the same classes"
            )
        if not decides(model):
            try:
                response.name(model)
            except InputError as error:
                raise type(error)(f"{one.words}: {error}") from None
        for name in rows.given():
            # Rules over scores take columns by themselves; a model inside takes weights alone.
            asked = name == "sample_weight" or decides(model)
            if asked and not has_fit_parameter(model, name) and not _is_fitted(model):
                raise InputError(
                    f"`{name}`: {type(model).__name__}.fit of the candidate {one.words} takes "
                    "none, and what is given is never ignored"
                )


def out_of_fold(
    candidates: Sequence[Candidate],
    rows: RowsToChooseOn,
    splits: Sequence[Fold],
    response: Response,
    goal: Goal,
    *,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> list[OutOfFold]:
    """Fit each candidate once a fold.

    Parameters
    ----------
    candidates : sequence of Candidate
    rows : RowsToChooseOn
    splits : sequence of (train, test)
        The tests do not overlap.
    response : Response
        What models are asked for.
    goal : Goal
    n_jobs, verbose
        As in joblib.
    """
    jobs = [(one, fold) for one in candidates for fold in splits]
    parallel = Parallel(n_jobs=n_jobs, verbose=verbose)
    done = parallel(delayed(_one)(one.estimator, rows, fold, response, goal) for one, fold in jobs)
    place = np.argsort(np.concatenate([test for _, test in splits]), kind="stable")
    out = []
    for k, one in enumerate(candidates):
        own = done[k * len(splits) : (k + 1) * len(splits)]
        seconds = sum(found[1] for found in own)
        error = next((found[2] for found in own if found[2] is not None), None)
        values = None if error is not None else np.concatenate([found[0] for found in own])[place]
        out.append(OutOfFold(values, decides(one.estimator), seconds, error))
    return out


def _one(
    estimator: Any, rows: RowsToChooseOn, fold: Fold, response: Response, goal: Goal
) -> tuple[Floats | Codes | None, float, Exception | None]:
    """Scores or decisions of one fold, the time they took, and what went wrong."""
    started = time.perf_counter()
    values: Floats | Codes | None = None
    error: Exception | None = None
    try:
        if decides(estimator):
            values = _decisions(clone(estimator), rows, fold, response.classes, goal)
        else:
            weight = {} if rows.weight is None else {"sample_weight": rows.weight}
            params = {} if _is_fitted(estimator) else weight
            values = fit_fold(clone(estimator), rows.X, rows.y, fold, response, params, False)[1]
    except Exception as failed:  # noqa: BLE001  (whatever ends a fit of a user's model)
        error = failed
    return values, time.perf_counter() - started, error


def _decisions(
    model: Any, rows: RowsToChooseOn, fold: Fold, classes: ClassOrder, goal: Goal
) -> Codes:
    """Class codes of what a classifier decides on the rows of a fold."""
    train, test = fold
    if not _is_fitted(model):
        given = rows.given(train)
        with warnings.catch_warnings():
            # What is judged are the rows of all folds together.
            warnings.simplefilter("ignore", FewRowsWarning)
            model.fit(_safe_indexing(rows.X, train), _safe_indexing(rows.y, train), **given)
    X = _safe_indexing(rows.X, test)
    more: Mapping[str, Any] = {}
    rule = getattr(model, "rule_", None)
    if rule is not None and (rule.needs_segments or rule.value_columns):
        sides = rows.given(test).get("sensitive_features")
        more = {} if sides is None else {"sensitive_features": sides}
    own = model._answers.defer_label if isinstance(model, GoalClassifier) else DEFER
    return Answers.of(goal, model.predict(X, **more), "predict(X)", own).codes(classes)


def _is_fitted(estimator: Any) -> bool:
    """Whether fitting leaves it as it is."""
    return isinstance(estimator, FrozenEstimator)


def _known_classes(estimator: Any) -> list[Any] | None:
    """The classes of a classifier that stays as it is fitted."""
    if not _is_fitted(estimator):
        return None
    return np.asarray(estimator.classes_).tolist() if hasattr(estimator, "classes_") else None
