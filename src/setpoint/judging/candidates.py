"""``estimator="auto"``: the models that take part, and what a report says of the choice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import narwhals as nw
import narwhals.selectors as kinds
import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from setpoint.classifiers import AsFloats
from setpoint.errors import InputError, InputTypeError, listed
from setpoint.goals import Goal
from setpoint.inputs import frame_of, some
from setpoint.report import Section, number

if TYPE_CHECKING:
    from setpoint.judging.judge import Judged, Ranking


# --- What is done to numbers ----------------------------------------------------------------------


MOST_VALUES = 50
"""Columns that one category may become."""
_MOST_CODES = 254  # what histograms take, with one bin for missing
_CATEGORIES = (nw.String, nw.Categorical, nw.Enum, nw.Object)
_RARE = 5  # rows below which a value shares its column with other rare ones


def one_hot(*, dense: bool) -> Any:
    """A column for each value of a category; rare and new values share one."""
    from sklearn.preprocessing import OneHotEncoder

    return OneHotEncoder(
        handle_unknown="infrequent_if_exist",
        min_frequency=_RARE,
        max_categories=MOST_VALUES,
        sparse_output=not dense,
    )


def as_codes() -> Any:
    """One column of codes for each category, NaN where it is missing or new."""
    from sklearn.preprocessing import OrdinalEncoder

    return OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=np.nan, max_categories=_MOST_CODES
    )


def filled() -> Any:
    """The median where a number is missing, and a column that says so."""
    from sklearn.impute import SimpleImputer

    return SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True)


def encoder_for(X: Any, *, linear: bool) -> tuple[Any, int]:
    """From X to numbers, for a linear model or for trees."""
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    if sparse.issparse(X):
        return MaxAbsScaler(), 0  # keeps zeros
    numbers = make_pipeline(filled(), StandardScaler()) if linear else AsFloats()
    names = _columns(X)
    if not names["categories"]:
        return numbers, 0
    steps = {"categories": one_hot(dense=False) if linear else as_codes(), "numbers": numbers}
    made = ColumnTransformer([(what, steps[what], own) for what, own in names.items() if own])
    return made, 0 if linear else len(names["categories"])


def _columns(X: Any) -> dict[str, list[str]]:
    """The columns of a frame by what is done to them; an array is all numbers."""
    frame = frame_of(X)
    if frame is None:
        return {"categories": [], "numbers": []}
    categories = frame.select(kinds.by_dtype(*_CATEGORIES)).columns
    numbers = frame.select(kinds.numeric() | kinds.boolean()).columns
    odd = [name for name in frame.columns if name not in {*categories, *numbers}]
    if odd:
        raise InputError(
            f"`X`: the models of estimator='auto' take numbers, true and false, text and "
            f"categories, and columns {some(odd)} hold something else, such as "
            f"{frame[odd[0]].dtype}; make numbers of them, or leave them out"
        )
    return {"categories": categories, "numbers": numbers}


# --- The models that are tried where nobody names one: one table ----------------------------------


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


def _boosting(rounds: int, seed: int, n_codes: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(
        learning_rate=0.15,
        max_iter=rounds,
        categorical_features=list(range(n_codes)) or None,
        early_stopping=False,
        random_state=seed,
    )


def _lightgbm(rounds: int, seed: int, n_codes: int) -> Any:
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


LOGISTIC = ModelKind("logistic", _logistic, linear=True, takes_sparse=True)
BOOSTING = tuple(ModelKind(f"boosting of {n} rounds", partial(_boosting, n), n) for n in (30, 120))
LIGHTGBM = tuple(
    ModelKind(f"lightgbm of {n} rounds", partial(_lightgbm, n), n, takes_sparse=True)
    for n in (50, 200)
)
"""The simplest first, by which ties are broken. Noisy tables reward few rounds and clean ones many;
stopping early on rows set apart costs what those rows are worth, most where positives are rare."""


class ModelCandidate(NamedTuple):
    """A model that takes part in a race."""

    name: str
    model: Any
    rounds: int = 0


def candidates_of(
    asked: str | Mapping[str, Any], X: Any, seed: int
) -> tuple[list[ModelCandidate], list[str]]:
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
        return [ModelCandidate(str(name), clone(m)) for name, m in asked.items()], []
    lightgbm = find_spec("lightgbm") is not None
    found, left_out = [], []
    for kind in (LOGISTIC, *(LIGHTGBM if lightgbm else BOOSTING)):
        if sparse.issparse(X) and not kind.takes_sparse:
            left_out.append(f"{kind.name} does not take a sparse matrix, which lightgbm would")
            continue
        encoder, n_codes = encoder_for(X, linear=kind.linear)
        steps = [("columns", encoder), ("model", kind.make(seed, n_codes))]
        found.append(ModelCandidate(kind.name, Pipeline(steps), rounds=kind.rounds))
    return found, left_out


# --- The mean of fitted models, as scikit-learn has it --------------------------------------------


def mean_of(models: Mapping[str, Any]) -> Any:
    """A classifier whose probabilities are the mean of those of fitted ones; a single one as it is.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = [[0.0], [1.0], [2.0], [4.0]], ["no", "yes", "no", "yes"]
    >>> one, other = GaussianNB().fit(X, y), GaussianNB(priors=[0.9, 0.1]).fit(X, y)
    >>> mean = mean_of({"one": one, "other": other})
    >>> float(mean.predict_proba(X)[0, 1] - one.predict_proba(X)[0, 1] / 2) < 0.5
    True
    >>> mean.predict(X).tolist()
    ['no', 'no', 'no', 'yes']
    """
    from sklearn.ensemble import VotingClassifier
    from sklearn.preprocessing import LabelEncoder

    if len(models) == 1:
        return next(iter(models.values()))
    made = VotingClassifier(list(models.items()), voting="soft")
    made.estimators_ = list(models.values())
    made.named_estimators_ = dict(models)  # which model files hold, unlike a Bunch
    first = made.estimators_[0]
    made.le_ = LabelEncoder().fit(first.classes_)
    made.classes_ = made.le_.classes_
    if hasattr(first, "feature_names_in_"):
        made.feature_names_in_ = first.feature_names_in_
    return made


# --- What a report says of the choice of the model ------------------------------------------------


@dataclass(frozen=True)
class TriedModel:
    """How one model did with the best rule over its scores of rows that it had not seen."""

    name: str
    folds: int
    value: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    tied: bool = False
    fails: bool = False


@dataclass(frozen=True)
class ModelChoice(Section):
    r"""Which model was chosen, among which, and by how much.

    Examples
    --------
    >>> tried = (TriedModel("logistic", 5, 0.8), TriedModel("boosting", 5, 0.7, -0.1, -0.2, -0.05))
    >>> choice = ModelChoice("logistic", "recall", 5, tried)
    >>> print("\n".join(choice.lines()))
    Chosen: logistic. Of 2 models it does best, each by the best rule over out-of-fold scores.
    logistic: recall 0.8000.
    boosting: recall 0.7000, -0.1000 against the best (-0.2000 to -0.0500).
    """

    name: ClassVar[str] = "models"
    title: ClassVar[str] = "The model, chosen under the goal"

    chosen: str
    objective: str
    folds: int
    tried: tuple[TriedModel, ...]
    left_out: tuple[str, ...] = ()
    stopped: str = ""

    @classmethod
    def of(
        cls,
        goal: Goal,
        judged: Sequence[Judged],
        ranking: Ranking,
        folds: int,
        others: Sequence[TriedModel],
        left_out: tuple[str, ...],
        stopped: str,
    ) -> Self:
        """Of candidates that were judged, and of others that were not."""
        tried = []
        for place, one in enumerate(judged):
            gain = None if place == ranking.best else ranking.differences[place]
            limits = (None,) * 3 if gain is None else (gain.value, gain.low, gain.high)
            value = None if math.isnan(one.value) else one.value
            tied = place in ranking.ties
            tried.append(TriedModel(one.name, folds, value, *limits, tied=tied, fails=one.fails))
        chosen = judged[ranking.best].name
        return cls(chosen, str(goal.objective), folds, (*tried, *others), left_out, stopped)

    @property
    def ties(self) -> tuple[str, ...]:
        """Models that cannot be distinguished from the best, which is among them."""
        return tuple(one.name for one in self.tried if one.tied)

    @property
    def why(self) -> str:
        """The choice in a few words, for who asks how the rule was found."""
        if self._is_alone:
            return f"the model is {self.chosen}, the simplest: {self.stopped}"
        out = f"the model is {self.chosen}, chosen among {len(self.tried)} under the goal"
        return f"{out}; {self.stopped}" if self.stopped else out

    def lines(self) -> Sequence[str]:
        """The choice, then a line for each model."""
        out = [f"Chosen: {self.chosen}. {self._reason}"]
        out += [f"{one.name}: {self._words(one)}." for one in self.tried]
        others = [name for name in self.ties if name != self.chosen]
        if others:
            out.append(f"Cannot be distinguished from {self.chosen}: {listed(others)}.")
        if self.left_out:
            out.append(f"Not tried: {'; '.join(self.left_out)}.")
        if self.stopped and self.chosen:
            out.append(f"{self.stopped[0].upper()}{self.stopped[1:]}.")
        return out

    @property
    def _is_alone(self) -> bool:
        """Whether no model could be compared with the simplest."""
        return sum(one.folds == self.folds for one in self.tried) < 2 and bool(self.stopped)

    @property
    def _reason(self) -> str:
        if self._is_alone:
            return "It is the simplest, and no other was judged."
        how = "each by the best rule over out-of-fold scores"
        if any(one.difference == 0.0 and not one.fails for one in self.tried):
            return (
                f"Of {len(self.tried)} models none does better, {how}; it is the simplest of "
                "those that do as well."
            )
        return f"Of {len(self.tried)} models it does best, {how}."

    def _words(self, one: TriedModel) -> str:
        if not one.folds:
            return "behind on a sample of the rows, and not fitted on all"
        if one.folds < self.folds:
            return f"not judged: ended after {one.folds} of {self.folds} folds"
        out = f"{self.objective} {number(one.value)}"
        if one.difference is not None:
            sign = "+" if one.difference >= 0 else ""
            out += f", {sign}{number(one.difference)} against the best"
            if one.low is not None and one.high is not None:
                out += f" ({number(one.low)} to {number(one.high)})"
        return f"{out}; shown to fail the goal" if one.fails else out
