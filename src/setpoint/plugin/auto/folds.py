"""One candidate on some folds: fitted a fold at a time, and its scores of the rows left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, has_fit_parameter
from threadpoolctl import threadpool_limits

from setpoint.array_types import Floats
from setpoint.errors import InputError
from setpoint.estimators.splitting import Fold
from setpoint.plugin.auto.candidates import Candidate
from setpoint.plugin.crossfit import Response, fit_fold

__all__ = ["FoldFits", "Pieces", "weights_for"]

_SMALL = 1_000_000
"""Values in a table up to which threads cost more than they save, a lot on a busy machine."""

Pieces = list[tuple[Any, Floats]]
"""For each fold the model, where it is kept, and the scores of the rows left out."""


@dataclass(frozen=True, eq=False)
class FoldFits:
    """The rows and their folds, for any candidate."""

    X: Any
    y: Any
    splits: list[Fold]
    response: Response
    keep: bool
    n_jobs: int | None = None
    verbose: int = 0

    def some(
        self, one: Candidate, params: Mapping[str, Any], folds: Sequence[Fold], rounds: int = 0
    ) -> list[tuple[Any, Any]]:
        """Fit the candidate on some folds; with `rounds` its scores after so many come first."""
        response = _After(self.response, rounds) if rounds else self.response
        parallel = Parallel(n_jobs=self.n_jobs, verbose=self.verbose)
        try:
            # Weights go to the last step of a pipeline by its name, also with metadata routing.
            with config_context(enable_metadata_routing=False):
                return list(
                    parallel(
                        delayed(_fit)(
                            self._threads,
                            *(clone(one.model), self.X, self.y, fold),
                            *(response, params, self.keep),
                        )
                        for fold in folds
                    )
                )
        except Exception as error:
            error.add_note(f"estimator='auto': while {one.name} was fitted")
            raise

    def rounds(self, n: int, until: float) -> list[int]:
        """After how many of n fits the clock is looked at; without a limit after all alone."""
        step = n if np.isinf(until) else effective_n_jobs(self.n_jobs)
        return [*range(step, n, step), n]

    def on_all(self, one: Candidate, params: Mapping[str, Any]) -> Any:
        """The candidate fitted on all rows."""
        with config_context(enable_metadata_routing=False), _threads(self._threads):
            return clone(one.model).fit(self.X, self.y, **params)

    @property
    def _threads(self) -> int | None:
        """For one fit; None: as many as there are."""
        width = self.X.shape[1] if len(getattr(self.X, "shape", ())) == 2 else 1
        return 1 if int(_num_samples(self.X)) * width <= _SMALL else None

    def in_order(self, pieces: Pieces) -> Floats:
        """Scores of the first folds in the order of X; what no fold scored is NaN."""
        first = pieces[0][1]
        out = np.full((int(_num_samples(self.X)), *first.shape[1:]), np.nan)
        for (_, test), (_, scores) in zip(self.splits, pieces, strict=False):
            out[test] = scores
        return out


@dataclass(frozen=True)
class _After:
    """The scores of boosting after some of its rounds, and after all."""

    response: Response
    rounds: int

    def __call__(self, model: Any, X: Any) -> tuple[Floats, Floats]:
        rows, last = model[:-1].transform(X), model[-1]
        if hasattr(last, "staged_predict_proba"):
            found = next(islice(last.staged_predict_proba(rows), self.rounds - 1, None))
        else:
            found = last.predict_proba(rows, num_iteration=self.rounds)
        return self.response.scores(model, found), self.response(model, X)


def _threads(limit: int | None) -> Any:
    return threadpool_limits(limit, user_api="openmp")


def _fit(threads: int | None, *args: Any) -> tuple[Any, Floats]:
    with _threads(threads):
        return fit_fold(*args)


def weights_for(one: Candidate, weight: Any) -> dict[str, Any]:
    """Sample weights as the candidate's ``fit`` takes them."""
    if weight is None:
        return {}
    if has_fit_parameter(one.model, "sample_weight"):
        return {"sample_weight": weight}
    steps = one.model.steps if isinstance(one.model, Pipeline) else ()
    if steps and has_fit_parameter(steps[-1][1], "sample_weight"):
        return {f"{steps[-1][0]}__sample_weight": weight}
    raise InputError(
        f"`sample_weight`: the candidate {one.name!r} takes none, and weights are never ignored; "
        "leave it out of `candidates`"
    )
