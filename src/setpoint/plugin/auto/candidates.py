"""The models that are tried where nobody names one: one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, NamedTuple

from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from setpoint.errors import InputError, InputTypeError
from setpoint.plugin.auto.encoders import encoder_for

__all__ = ["BOOSTING", "LOGISTIC", "Candidate", "ModelKind", "candidates_of"]


class ModelKind(NamedTuple):
    """One line of the table of models."""

    name: str
    make: Callable[[int, int], Any]
    rounds: int = 0
    linear: bool = False
    takes_sparse: bool = False


def _logistic(seed: int, n_codes: int) -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(max_iter=2000, random_state=seed)


def _boosting(rounds: int) -> ModelKind:
    def make(seed: int, n_codes: int) -> Any:
        from sklearn.ensemble import HistGradientBoostingClassifier

        codes = list(range(n_codes)) or None
        return HistGradientBoostingClassifier(
            learning_rate=0.15,
            max_iter=rounds,
            categorical_features=codes,
            early_stopping=False,
            random_state=seed,
        )

    return ModelKind(f"boosting of {rounds} rounds", make, rounds)


def _lightgbm(rounds: int) -> ModelKind:
    def make(seed: int, n_codes: int) -> Any:
        from lightgbm import LGBMClassifier  # type: ignore[import-untyped, unused-ignore]

        return LGBMClassifier(
            learning_rate=0.05,
            n_estimators=rounds,
            min_child_samples=10,
            subsample=0.7,
            subsample_freq=1,
            colsample_bytree=0.7,
            random_state=seed,
            deterministic=True,
            force_row_wise=True,
            verbosity=-1,
            n_jobs=0,
        )

    return ModelKind(f"lightgbm of {rounds} rounds", make, rounds, takes_sparse=True)


LOGISTIC = ModelKind("logistic", _logistic, linear=True, takes_sparse=True)
BOOSTING = (_boosting(30), _boosting(120))
LIGHTGBM = (_lightgbm(50), _lightgbm(200))
"""The simplest first, by which ties are broken. Noisy tables reward few rounds and clean ones many;
stopping early on rows set apart costs what those rows are worth, most where positives are rare."""


class Candidate(NamedTuple):
    """A model that takes part in a race."""

    name: str
    model: Any
    longer: Candidate | None = None
    rounds: int = 0


def candidates_of(
    asked: str | Mapping[str, Any], X: Any, seed: int
) -> tuple[list[Candidate], list[str]]:
    """The models to try on some rows, the simplest first, and why others are not tried.

    Examples
    --------
    >>> import numpy as np
    >>> found, left_out = candidates_of("auto", sparse.csr_matrix(np.eye(4)), 0)
    >>> found[0].name
    'logistic'
    """
    if not isinstance(asked, str):
        if not asked:
            raise InputError("`estimator` holds at least one model, got {}")
        for name, model in asked.items():
            if isinstance(model, type) or not hasattr(model, "fit"):
                raise InputTypeError(
                    f"`estimator`: {name!r} is not a classifier, which has fit and "
                    f"predict_proba, got {model!r}"
                )
            if not hasattr(model, "predict_proba"):
                raise InputError(
                    f"`estimator`: {name!r} has no predict_proba, and models are compared by "
                    f"rules over probabilities, got {model!r}"
                )
        return [Candidate(str(name), clone(m)) for name, m in asked.items()], []
    lightgbm = find_spec("lightgbm") is not None
    found, left_out = [], []
    for kind in (LOGISTIC, *(LIGHTGBM if lightgbm else BOOSTING)):
        if sparse.issparse(X) and not kind.takes_sparse:
            left_out.append(f"{kind.name} does not take a sparse matrix, which lightgbm would")
            continue
        encoder, n_codes = encoder_for(X, linear=kind.linear)
        steps = [("columns", encoder), ("model", kind.make(seed, n_codes))]
        found.append(Candidate(kind.name, Pipeline(steps), rounds=kind.rounds))
    if len(found) == 3:
        found[1] = found[1]._replace(longer=found[2])
    return found, left_out
