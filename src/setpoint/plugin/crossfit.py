"""Scores for the rows of X that no model saw in training, and the model for new rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError
from setpoint.estimators.row_order import order_in_words
from setpoint.estimators.splitting import Fold, folds_of
from setpoint.inputs.classes import ClassOrder, one_score, posteriors
from setpoint.plugin.errors import NoScoresError

__all__ = ["CrossFit", "Response", "cross_fit", "fit_fold", "splits_of"]


@dataclass(frozen=True, eq=False)
class Response:
    """What a fitted model says of rows: one score each, higher for the positive class."""

    method: str
    classes: ClassOrder
    posterior: bool = False

    def name(self, model: Any) -> str:
        """The method that is called."""
        both = ("predict_proba", "decision_function")
        names = both if self.method == "auto" else (self.method,)
        if self.posterior:
            if not _offers(model, "predict_proba") or self.method == "decision_function":
                raise NoScoresError(
                    "`estimator`: rules over more than two classes, and soft evidence, need "
                    f"predict_proba of {_name(model)}; `calibrate='sigmoid'` or 'isotonic' "
                    "of ModelResponse makes probabilities of its decision function"
                )
            return "predict_proba"
        for name in names:
            if _offers(model, name):
                return name
        raise NoScoresError(
            f"`estimator`: {_name(model)} has no {' and no '.join(names)}; a rule needs scores"
        )

    def __call__(self, model: Any, X: Any) -> Floats:
        """Scores (N,), or posteriors (N, n)."""
        return self.scores(model, np.asarray(getattr(model, self.name(model))(X)))

    def scores(self, model: Any, out: Floats) -> Floats:
        """The same of what the model's method gave already."""
        known = getattr(model, "classes_", None)
        if known is not None and list(known) != self.classes.sorted.tolist():
            raise InputError(
                f"{type(model).__name__} knows the classes {np.asarray(known).tolist()}, y holds "
                f"{self.classes.sorted.tolist()}; every model, and so every fold, has to see "
                "all of them"
            )
        if out.ndim == 1 and self.classes.positive_first:
            out = -out  # a decision function speaks for the last class
        what = f"{type(model).__name__}.{self.name(model)}"
        return (
            posteriors(out, self.classes, what)[0]
            if self.posterior
            else one_score(out, self.classes, what)
        )


def _name(model: Any) -> str:
    """The class of a model; of a pipeline, that of its last step, which gives the scores."""
    out = type(model).__name__
    steps = getattr(model, "steps", None)
    return f"{out} (its last step is {_name(steps[-1][1])})" if isinstance(steps, list) else out


@dataclass(frozen=True, eq=False)
class CrossFit:
    """A model for new rows, and scores of the rows that a rule is found on."""

    model: Any
    scores: Floats
    index: NDArray[np.int64] | None
    fold: NDArray[np.int64] | None

    @property
    def folds(self) -> int | None:
        """How many there are."""
        return None if self.fold is None else int(self.fold.max()) + 1

    def order_in_words(self, true: Codes) -> str:
        """What the order of the rows tells, with class codes (M,); a row counts once."""
        if self.fold is None:
            return ""
        once = np.ones(len(true), bool)
        if self.index is not None:
            once[1:] = np.diff(self.index) > 0
        return order_in_words(self.scores[once], true[once], self.fold[once])


def _offers(model: Any, name: str) -> bool:
    """Whether a model has a method; one that stacks others says so once it is fitted."""
    last = getattr(model, "steps", [("", model)])[-1][1]
    stacks = hasattr(last, "final_estimator") and not hasattr(last, "final_estimator_")
    return hasattr(model, name) or (stacks and hasattr(type(last), name))


def splits_of(
    cv: Any, X: Any, y: Any, refit: bool, seed: int, params: Mapping[str, Any]
) -> list[Fold]:
    """All folds, drawn once."""
    splits = folds_of(cv, X, y, seed, params)
    if not splits:
        raise InputError("`cv`: there is no split (what is iterated over once is empty afterwards)")
    if any(len(test) == 0 for _, test in splits):
        raise InputError("`cv`: a fold has no rows to score")
    if not refit and len(splits) > 1:
        raise InputError(
            f"`cv`: HoldOut needs a single split, and this gives {len(splits)}: give it a share, "
            "or cv without it"
        )
    return splits


def cross_fit(
    estimator: Any,
    X: Any,
    y: Any,
    splits: list[Fold],
    response: Response,
    *,
    refit: bool,
    params: Mapping[str, Any],
    n_jobs: int | None = None,
    verbose: int = 0,
) -> CrossFit:
    """Fit a model a fold, score the rest, and fit on all rows in the end."""
    parallel = Parallel(n_jobs=n_jobs, verbose=verbose)
    done = parallel(
        delayed(fit_fold)(clone(estimator), X, y, fold, response, params, not refit)
        for fold in splits
    )
    model = clone(estimator).fit(X, y, **params) if refit else done[0][0]
    index = np.concatenate([test for _, test in splits])
    order = np.argsort(index, kind="stable")  # that of X
    index, scores = index[order], np.concatenate([scores for _, scores in done])[order]
    fold = np.repeat(np.arange(len(splits)), [len(test) for _, test in splits])[order]
    whole = np.array_equal(index, np.arange(int(_num_samples(X))))
    return CrossFit(model, scores, None if whole else index, fold)


def fit_fold(
    model: Any,
    X: Any,
    y: Any,
    fold: Fold,
    response: Response,
    params: Mapping[str, Any],
    keep: bool,
) -> tuple[Any, Floats]:
    """Fit a model on a fold and score the rows that it leaves out."""
    train, test = fold
    n_rows = int(_num_samples(X))
    own = {name: _part(value, train, n_rows) for name, value in params.items()}
    model.fit(_safe_indexing(X, train), _safe_indexing(y, train), **own)
    return model if keep else None, response(model, _safe_indexing(X, test))


def _part(value: Any, train: NDArray[np.int64], n_rows: int) -> Any:
    if isinstance(value, str) or not hasattr(value, "__len__") or len(value) != n_rows:
        return value
    return _safe_indexing(value, train)
