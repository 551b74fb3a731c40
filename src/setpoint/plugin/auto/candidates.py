"""``estimator="auto"``: the models that take part, their folds, and the race."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from scipy import sparse
from setpoint.plugin.auto.judge import Judge, Judged
from setpoint.plugin.parameters import Options
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, has_fit_parameter
from threadpoolctl import threadpool_limits

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError, listed, warn_caller
from setpoint.estimators import AsFloats, Fold
from setpoint.inputs import CheckedData, frame_of, some
from setpoint.plugin.fit.crossfit import CrossFit, Response, fit_fold
from setpoint.report import Section, number
from setpoint.search import StoppedWarning, now

if TYPE_CHECKING:
    pass


# --- What is done to numbers ----------------------------------------------------------------------


MOST_VALUES = 50
"""Columns that one category may become."""
_MOST_CODES = 254  # what histograms take, with one bin for missing
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
    out: dict[str, list[str]] = {"categories": [], "numbers": []}
    if frame is None:
        return out
    odd = []
    for name, kind in frame.schema.items():
        if kind.is_numeric() or str(kind) == "Boolean":
            out["numbers"].append(name)
        elif str(kind).partition("(")[0] in ("String", "Categorical", "Enum", "Object"):
            out["categories"].append(name)
        else:
            odd.append(name)
    if odd:
        raise InputError(
            f"`X`: the models of estimator='auto' take numbers, true and false, text and "
            f"categories, and columns {some(odd)} hold something else, such as "
            f"{frame[odd[0]].dtype}; make numbers of them, or leave them out"
        )
    return out


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


class ModelCandidate(NamedTuple):
    """A model that takes part in a race."""

    name: str
    model: Any
    longer: ModelCandidate | None = None
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
    if len(found) == 3:
        found[1] = found[1]._replace(longer=found[2])
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
        if one.folds < self.folds:
            return f"not judged: ended after {one.folds} of {self.folds} folds"
        out = f"{self.objective} {number(one.value)}"
        if one.difference is not None:
            sign = "+" if one.difference >= 0 else ""
            out += f", {sign}{number(one.difference)} against the best"
            if one.low is not None and one.high is not None:
                out += f" ({number(one.low)} to {number(one.high)})"
        return f"{out}; shown to fail the goal" if one.fails else out


# --- One candidate on some folds: fitted a fold at a time -----------------------------------------


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
        self, one: ModelCandidate, params: Mapping[str, Any], folds: Sequence[Fold], rounds: int = 0
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

    def on_all(self, one: ModelCandidate, params: Mapping[str, Any]) -> Any:
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


def weights_for(one: ModelCandidate, weight: Any) -> dict[str, Any]:
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


# --- Models that race under a goal ----------------------------------------------------------------


def fold_of_rows(splits: Sequence[Fold], n_rows: int) -> NDArray[np.int64]:
    """Which of the splits leaves out each row; -1: none.

    Examples
    --------
    >>> halves = [(np.array([0, 1]), np.array([2, 3])), (np.array([2, 3]), np.array([0, 1]))]
    >>> fold_of_rows(halves, 5)
    array([ 1,  1,  0,  0, -1])
    """
    fold = np.full(n_rows, -1)
    for k, (_, test) in enumerate(splits):
        again = test[fold[test] >= 0]
        if len(again):
            raise InputError(
                f"`cv`: two splits leave out row {again[0]}, and a row judges a candidate "
                "once: give folds that do not overlap, such as StratifiedKFold, or one share"
            )
        fold[test] = k
    return fold


@dataclass(frozen=True, eq=False)
class Raced:
    """What a race leads to."""

    fitted: CrossFit
    model: Any
    params: Mapping[str, Any]
    choice: ModelChoice
    seconds: float


@dataclass(frozen=True, eq=False)
class _Entrant:
    """A model, or the mean of two, with scores of all folds."""

    parts: Sequence[ModelCandidate]
    scores: Mapping[str | None, Floats]
    kept: Sequence[Any]

    @property
    def name(self) -> str:
        """Of the model."""
        first, *others = (one.name for one in self.parts)
        return f"mean of {first} and {others[0]}" if others else first

    def mean_with(self, other: _Entrant) -> _Entrant:
        """Half of the scores of each."""
        scores = {n: (own + other.scores[n]) / 2.0 for n, own in self.scores.items()}
        return _Entrant([*self.parts, *other.parts], scores, [*self.kept, *other.kept])


@dataclass(frozen=True, eq=False)
class Race:
    """Candidates for one goal on one table."""

    candidates: Sequence[ModelCandidate]
    left_out: Sequence[str]
    fits: FoldFits
    inputs: CheckedData
    sets: Mapping[str, Any]
    options: Options
    weight: Any = None
    averaged: bool = True
    seconds: float | None = None
    refit: bool = True
    _ready: dict[str, Pieces] = field(default_factory=dict, repr=False)

    def run(self) -> Raced:
        """Fit, judge and choose."""
        start = now()
        until = np.inf if self.seconds is None else start + self.seconds
        params = {one.name: weights_for(one, self.weight) for one in self.candidates}
        done: list[tuple[_Entrant, Judged]] = []
        cut, stopped = [], ""
        for one in self.candidates:
            pieces = self._fitted(one, params[one.name], until if done else np.inf)
            if len(pieces) < len(self.fits.splits):  # time ended
                cut = [TriedModel(one.name, len(pieces))] if pieces else []
                stopped = self._ended(len(done))
                warn_caller(
                    f"estimator='auto': {stopped}; more time (`limits`) judges more",
                    StoppedWarning,
                )
                break
            done.append(self._judged(self._entrant(one, pieces)))
        if self.averaged and len(done) > 1:
            ranked = sorted(range(len(done)), key=lambda k: done[k][1].rank)
            first, second = (done[k][0] for k in sorted(ranked[:2]))
            done.append(self._judged(first.mean_with(second)))
        chosen, choice = self._choice(done, cut, stopped)
        model = chosen.parts[0]
        return Raced(
            self._finished(chosen, params), model.model, params[model.name], choice, now() - start
        )

    # ------------------------------------------------------------------ fitting
    def _fitted(self, one: ModelCandidate, params: Mapping[str, Any], until: float) -> Pieces:
        """Scores fold by fold, of all folds unless the time ends."""
        if one.name in self._ready:
            return self._ready.pop(one.name)
        splits, pieces = self.fits.splits, list[tuple[Any, Any]]()
        longer = None if self.fits.keep else one.longer
        rounds = one.rounds if longer else 0
        for stop in self.fits.rounds(len(splits), until):
            if now() >= until:
                break
            pieces += self.fits.some(longer or one, params, splits[len(pieces) : stop], rounds)
        if longer is None:
            return pieces
        self._ready[longer.name] = [(model, scores) for model, (_, scores) in pieces]
        return [(model, scores) for model, (scores, _) in pieces]

    def _entrant(self, one: ModelCandidate, pieces: Pieces) -> _Entrant:
        own, kept = self.fits.in_order(pieces)[self._index], pieces[0][0]
        response = self.fits.response
        others: dict[str | None, Floats] = {n: response(kept, X) for n, X in self.sets.items()}
        return _Entrant([one], {None: own, **others}, [kept])

    def _finished(self, chosen: _Entrant, params: Mapping[str, Mapping[str, Any]]) -> CrossFit:
        """The model for new rows, and the scores that it was chosen by."""
        models = chosen.kept
        if self.refit:
            models = [self.fits.on_all(one, params[one.name]) for one in chosen.parts]
        names = [one.name for one in chosen.parts]
        model = mean_of(dict(zip(names, models, strict=True)))
        whole = len(self._index) == self.inputs.n_rows[None]
        index = None if whole else self._index
        return CrossFit(model, chosen.scores[None], index, self._fold[self._index])

    # ------------------------------------------------------------------ judging
    @cached_property
    def _fold(self) -> NDArray[np.int64]:
        """The split that leaves out each row of X; -1: none does."""
        return fold_of_rows(self.fits.splits, self.inputs.n_rows[None])

    @cached_property
    def _index(self) -> NDArray[np.int64]:
        """Which rows of X judge."""
        return np.flatnonzero(self._fold >= 0)

    @cached_property
    def _judge(self) -> Judge:
        """By the rule on all scores of a model, by one kind of evidence for all models."""
        open_ = self.fits.response.posterior and self.options.evidence == "auto"
        options = replace(self.options, evidence="label") if open_ else self.options
        return Judge(self.inputs.take(self._index), options)

    def _judged(self, one: _Entrant) -> tuple[_Entrant, Judged]:
        return one, self._judge.of_scores(one.name, one.scores)

    # ------------------------------------------------------------------ choosing
    def _choice(
        self,
        done: Sequence[tuple[_Entrant, Judged]],
        cut: Sequence[TriedModel],
        stopped: str,
    ) -> tuple[_Entrant, ModelChoice]:
        """What was chosen, and how all did."""
        judged, folds = [one for _, one in done], len(self.fits.splits)
        ranking = self._judge.ranking(judged)
        tried = []
        for place, one in enumerate(judged):
            entry = None if place == ranking.best else ranking.differences[place]
            limits = (None,) * 3 if entry is None else (entry.value, entry.low, entry.high)
            value = None if np.isnan(one.value) else one.value
            tied = place in ranking.ties
            tried.append(TriedModel(one.name, folds, value, *limits, tied=tied, fails=one.fails))
        chosen, objective = done[ranking.best][0], str(self.inputs.goal.objective)
        known = (*tried, *cut)
        return chosen, ModelChoice(
            chosen.name, objective, folds, known, tuple(self.left_out), stopped
        )

    def _ended(self, n: int) -> str:
        """Why no more were tried."""
        some = "the simplest model alone was" if n == 1 else f"{n} models were"
        return f"{some} judged of {len(self.candidates)} within {self.seconds:g} seconds"
