"""Classifiers with a linear model: features, order of rows, splits and the rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse
from scipy.stats import chi2
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin, clone
from sklearn.model_selection import StratifiedShuffleSplit, check_cv
from sklearn.utils import check_array
from sklearn.utils.validation import _num_samples, check_is_fitted, validate_data

from setpoint import guarantees
from setpoint.array_types import Bools, Codes, Floats
from setpoint.classifiers import FitData, decide, heard, open_fit, split_kinds
from setpoint.classifiers.base import GoalClassifier, SearchParameters, atomic_fit
from setpoint.counts import Evidence, Units, parts_of
from setpoint.errors import InputError
from setpoint.goals import Goal, require_plain
from setpoint.inputs import (
    CheckedData,
    CheckedTable,
    ClassOrder,
    one_column,
    refuse_masked,
    require_numbers,
    two_classes,
    without,
)
from setpoint.parameters import is_integer
from setpoint.program import LinkedGoal, link
from setpoint.report import GoalReport, sentence
from setpoint.rules import Threshold
from setpoint.search import Found, Limits, Progress
from setpoint.solvers import FAMILIES, Confidence, Solver

if TYPE_CHECKING:
    from setpoint.guarantees import Certification


# --- Numbers as a model takes them ----------------------------------------------------------------


class AsFloats(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """Numbers and booleans as float64, missing ones as NaN.

    Examples
    --------
    >>> import pandas as pd
    >>> AsFloats().fit_transform(pd.DataFrame({"a": [1, None], "b": [None, None]}))
    array([[ 1.,  0.],
           [nan,  0.]])
    """

    def fit(self, X: Any, y: Any = None) -> AsFloats:
        """Note the columns without a value."""
        self.empty_ = np.isnan(self._floats(X, reset=True)).all(axis=0)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The numbers."""
        check_is_fitted(self)
        return np.where(self.empty_, 0.0, self._floats(X, reset=False))

    def _floats(self, X: Any, reset: bool) -> Any:
        how: Any = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
        return validate_data(self, X, reset=reset, **how)


# --- Features as training takes them: standardised ------------------------------------------------


_FARTHEST = 10.0
"""Standard deviations from the mean beyond which a value is cut off."""


@dataclass(frozen=True, eq=False)
class Standardized:
    """Dense features by mean and deviation, cut off at 10; sparse ones by their largest value."""

    mean: Floats
    scale: Floats

    @classmethod
    def fit(cls, X: Any, weight: Floats | None = None) -> Standardized:
        """Learn from rows; constant features stay as they are.

        Examples
        --------
        >>> found = Standardized.fit(np.array([[1.0, 7.0], [3.0, 7.0]]))
        >>> found.transform(np.array([[5.0, 8.0]]))
        array([[3., 1.]])
        """
        sparse = bool(issparse(X))
        if sparse:
            mean = np.zeros(X.shape[1])
            scale = np.asarray(abs(X.tocsr()).max(axis=0).todense(), np.float64).ravel()
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                mean = np.average(X, axis=0, weights=weight)
                # A loop over features: no second matrix of this size.
                pairs = zip(X.T, mean, strict=True)
                scale = np.sqrt([np.average((x - m) ** 2, weights=weight) for x, m in pairs])
            scale[scale <= 1e-12 * np.abs(mean)] = 0.0  # rounding of a constant
        large = ~np.isfinite(mean + scale)
        if large.any():
            raise InputError(
                f"`X`: the values of column {int(large.argmax())} are too large to be "
                "standardised; scale them first, or pass `preprocessor=None`"
            )
        return cls(mean, np.where(scale > 0, scale, 1.0))

    def transform(self, X: Any) -> Any:
        """The features, as float64 or CSR; the same numbers in either form."""
        sparse = bool(issparse(X))
        if sparse and not self.mean.any():
            out = csr_matrix(X.multiply(1.0 / self.scale))
            np.clip(out.data, -_FARTHEST, _FARTHEST, out=out.data)
            return out
        if sparse:
            X = X.toarray()  # what has a mean is dense without it
        out = np.subtract(X, self.mean, dtype=np.float64)
        out /= self.scale
        return np.clip(out, -_FARTHEST, _FARTHEST, out=out)


def checked_features(estimator: Any, X: Any, reset: bool = False) -> Any:
    """X as the preprocessor takes it; names and number of columns as scikit-learn keeps them."""
    if estimator.preprocessor is not None and not isinstance(estimator.preprocessor, str):
        refuse_masked(X, "`X`")
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return X
    require_numbers(X)
    how: Any = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
    try:
        return validate_data(estimator, X, reset=reset, **how)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise InputError(
            f"{error}: `X` holds text; `preprocessor` takes a transformer that makes numbers of "
            "it, such as a ColumnTransformer with OneHotEncoder"
        ) from error


def fit_preprocessor(given: Any, rows: CheckedTable, classes: ClassOrder) -> Any:
    """What turns X into features, fitted on labelled training rows; None changes nothing."""
    if given is None:
        return None
    if isinstance(given, str) and given == "standardize":
        return Standardized.fit(rows.X, rows.weight)
    if hasattr(given, "fit") and hasattr(given, "transform"):
        return clone(given).fit(rows.X, np.array(classes.labels)[rows.true])
    raise InputError(
        "`preprocessor` is 'standardize', None or a transformer with fit and transform, got "
        f"{given!r}"
    )


def transformed(preprocessor: Any, X: Any) -> Any:
    """Features as a finite float matrix, dense or CSR."""
    if preprocessor is not None:
        X = preprocessor.transform(X)
    if isinstance(preprocessor, Standardized):
        return X
    return check_array(X, accept_sparse="csr", dtype=np.float64, input_name="the transformed X")


# --- Whether the place of a row in the file, or its fold ------------------------------------------


_BINS, _PARTS = 20, 10
"""Bins of the score for the calibration; parts of the file that are compared."""
_LEAST = 10
"""Rows of a class, and rows of others, for each part."""
_ERRORS, _TAIL = 4.0, 3e-5
"""Beyond chance: in standard errors, and as a probability."""
_CORRELATION, _SHARE = 0.05, 0.01
"""What is worth a word in a large table: of neighbours; of the variance, by parts."""


def order_in_words(scores: Floats, true: Codes, fold: Codes | None = None) -> str:
    """What the order tells, with the remedy; "" where it tells nothing beyond chance.

    Examples
    --------
    >>> scores, true = np.full(400, 0.5), np.repeat([0, 1], 200)
    >>> order_in_words(scores, true)[:62]
    'Rows that follow each other err together (correlation 0.99) an'
    >>> order_in_words(scores, np.random.default_rng(0).permutation(true))
    ''
    """
    pairs = [(scores if scores.ndim == 1 else scores[:, 1], true == 1)]
    if scores.ndim == 2 and scores.shape[1] > 2:
        pairs = [(scores[:, code], true == code) for code in range(scores.shape[1])]
    found: dict[str, str] = {}
    for score, hit in pairs:
        found = _of_class(score, hit, fold, _TAIL / len(pairs)) | found
    if not found:
        return ""
    split, if_sorted = ": judge by later rows, or by other units", "nothing is lost"
    if fold is not None:
        split = ", unlike splits by time (`cv=TimeSeriesSplit()`) or by unit (`cv=GroupKFold()`)"
        if_sorted = "shuffled folds are right"
    may = "may " if list(found) == ["labels"] else ""
    if not may:
        found.pop("labels", None)
    what = sentence(" and ".join(found.values()))
    return (
        f"{what}: if new rows come later in time, or belong to new units, rows drawn at random "
        f"{may}flatter{split}; if the table is only sorted, as by class, {if_sorted}."
    )


def _of_class(score: Floats, hit: Bools, fold: Codes | None, tail: float) -> dict[str, str]:
    """What goes beyond chance, in words."""
    n_rows, n_parts = len(hit), min(_PARTS, int(min(hit.sum(), (~hit).sum())) // _LEAST)
    if n_parts < 2:
        return {}
    edges = np.unique(np.quantile(score, np.arange(1, _BINS) / _BINS))
    place = np.searchsorted(edges, score, side="right")
    expected = (np.bincount(place, hit) / np.maximum(np.bincount(place), 1))[place]
    rate, tenths = np.full(n_rows, hit.mean()), np.arange(n_rows) * n_parts // n_rows
    out, correlation = {}, _correlation(hit - expected)
    if correlation:
        out["rows"] = f"rows that follow each other err together (correlation {correlation:.2f})"
    if _differ(hit, expected, tenths, tail):
        out["parts"] = "parts of the file differ beyond chance"
    if not out and (_correlation(hit - rate) or _differ(hit, rate, tenths, tail)):
        out["labels"] = "labels go together in the order of the file"
    if fold is not None and _differ(hit, expected, fold, tail):
        out["folds"] = "folds differ beyond chance"
    return out


def _correlation(residual: Floats) -> float:
    """Of rows that follow each other; 0 where chance explains it."""
    beside = residual[1:] * residual[:-1]
    found = beside.sum() / max(residual @ residual, 1e-300)
    shown = found > _CORRELATION and beside.sum() > _ERRORS * np.sqrt(beside @ beside)
    return float(found) if shown else 0.0


def _differ(hit: Bools, expected: Floats, part: Codes, tail: float) -> bool:
    """Whether the numbers of hits in parts of the rows differ from those expected."""
    variance = np.bincount(part, expected * (1.0 - expected))
    known = variance > 0.0
    far = float((np.bincount(part, hit - expected)[known] ** 2 / variance[known]).sum())
    by_chance = int(known.sum()) - 1
    return far - by_chance > _SHARE * len(hit) and chi2.sf(far, by_chance) < tail


# --- Folds drawn at random by a seed, the share that is held out once -----------------------------


Fold = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Rows to train on, and rows left out."""


def folds_of(
    cv: Any,
    X: Any,
    y: Any,
    seed: int,
    params: Mapping[str, Any] | None = None,
    units: Units | None = None,
) -> list[Fold]:
    """All folds, drawn once; units lie on one side of each.

    Examples
    --------
    >>> [(train, test)] = folds_of(0.5, np.zeros((4, 1)), [0, 1, 0, 1], seed=0)
    >>> len(train), len(test)
    (2, 2)
    """
    if isinstance(cv, bool | str) or (is_integer(cv) and cv < 2):
        raise InputError(
            "`cv` is a whole number >= 2, a share between 0 and 1, a splitter or its splits, got "
            f"{cv!r}"
        )
    if isinstance(cv, float) and not 0 < cv < 1:
        raise InputError(f"cv as a share lies between 0 and 1, got {cv}")
    if units is not None:
        return _folds_of_units(cv, X, y, seed, params or {}, units)
    if isinstance(cv, float):
        cv = StratifiedShuffleSplit(1, test_size=cv, random_state=seed)
    splitter = check_cv(cv, y=y, classifier=True)
    if cv is None or is_integer(cv):  # made here: never in the order of the file
        splitter.shuffle, splitter.random_state = True, seed
    splits = splitter.split(X, y, **(params or {}))
    n_rows = int(_num_samples(X))
    return [(_positions(train, n_rows), _positions(test, n_rows)) for train, test in splits]


def _folds_of_units(
    cv: Any, X: Any, y: Any, seed: int, params: Mapping[str, Any], units: Units
) -> list[Fold]:
    n_rows, place = int(_num_samples(X)), units.place
    if cv is None or is_integer(cv) or isinstance(cv, float):
        kinds = units.kinds(np.unique(y, return_inverse=True)[1])
        if isinstance(cv, float):
            part = 1 - split_kinds(kinds, units, cv, np.random.default_rng(seed)).astype(np.int64)
        else:
            part = parts_of(kinds[units.first], 5 if cv is None else int(cv), seed)[place]
        each = [0] if isinstance(cv, float) else range(part.max() + 1)
        return [(np.flatnonzero(part != k), np.flatnonzero(part == k)) for k in each]
    splits = check_cv(cv, y=y, classifier=True).split(X, y, **({"groups": place} | {**params}))
    out = [(_positions(train, n_rows), _positions(test, n_rows)) for train, test in splits]
    for train, test in out:
        cut = len(np.intersect1d(place[train], place[test]))
        if cut:
            raise InputError(
                f"`cv`: a split has rows of {cut:,} of the same {units.called} on both sides, and "
                "rows of one unit depend on each other; give a number of folds, or a splitter by "
                "group such as GroupKFold()"
            )
    return out


def _positions(index: Any, n_rows: int) -> NDArray[np.int64]:
    array = np.asarray(index)
    at = np.flatnonzero(array) if array.dtype == np.bool_ else array.astype(np.int64)
    odd = at[(at < -n_rows) | (at >= n_rows)]
    if len(odd):
        raise InputError(f"`cv`: a split names row {odd[0]}, and X has {n_rows:,} rows")
    return at


# --- Certification of rules over scores that are there already ------------------------------------


_SCORED_KEY = 0x5C0BED
SHARE = 0.8
"""Of the rows that certify, where rules are found on the others and no model is fitted."""


def split_scored(
    linked: LinkedGoal,
    evidence: Evidence,
    table: CheckedTable | None,
    confidence: Confidence,
    *,
    whole: bool = True,
    blocks: Units | None = None,
) -> tuple[Evidence, Certification, CheckedTable | None]:
    """The rows that rules are found on, and the certification on the others."""
    tests = guarantees.tests_on(guarantees.Promise.of(linked, confidence), evidence)
    guarantees.check_enough(tests, evidence.rows, confidence)
    if whole and guarantees.monotone_constraints(evidence, tests):
        return (
            evidence,
            guarantees.Certification(confidence, lambda _: evidence, table=table),
            table,
        )
    share = confidence.certification_size
    share = SHARE if share == "auto" else float(share)
    # Of rows sorted by score the same places would be the same ranks in every draw of the data.
    whose = (evidence.scores, evidence.rows.true)
    seeds = [crc32(np.ascontiguousarray(part).tobytes()) for part in whose]
    rng = np.random.default_rng([_SCORED_KEY, *seeds])
    kinds, units = evidence.rows.kind, evidence.rows.units
    if units is not None:
        kinds, blocks = units.kinds(kinds), units
    chosen = split_kinds(kinds, blocks, share, rng)
    own = None if table is None else replace(table, X=None).counted
    sides = []
    for certify in (False, True):
        index = np.flatnonzero(chosen == certify)
        mine = None if own is None else own.take(index[index < len(own.labels)])
        sides.append((evidence.take(index), mine))
    (first, rest), (second, tested) = sides
    return first, guarantees.Certification(confidence, lambda _: second, table=tested), rest


# --- What binary classifiers share that train a model and accept by a score -----------------------


_MOST_MODELS = 20
_SCORES = 40_000_000
"""In all, of the models that are certified, on the rows that choose."""


def most_models(n_rows: int) -> int:
    """How many models are tried on rows that certify: fewer where very many rows choose.

    Examples
    --------
    >>> most_models(1_000), most_models(5_000_000)
    (20, 8)
    """
    return max(min(_MOST_MODELS, _SCORES // max(n_rows, 1)), 3)


def linear_scores(X: Any, w: Floats) -> Floats:
    """Scores (N,) at the coefficients and, last, the intercept.

    Examples
    --------
    >>> linear_scores(np.array([[1.0, 2.0]]), np.array([3.0, 4.0, -1.0]))
    array([10.])
    """
    return np.asarray(X @ w[:-1] + w[-1], np.float64)


@dataclass(frozen=True, eq=False)
class Training:
    """What a training leaves: the model that is chosen, and others that rows may certify."""

    judged: CheckedData
    """The rows that the rule is found on."""
    folds: int | None = field(default=None, kw_only=True)

    @property
    def linked(self) -> LinkedGoal:
        """The goal over the columns of counts."""
        return link(self.judged.goal, self.judged.rows.codebook)

    def chosen(self) -> Found:
        """The model that is kept, with its rule."""
        raise NotImplementedError

    def models(self, found: Found) -> list[Found]:
        """The models that are tried on rows that certify, the chosen one among them."""
        raise NotImplementedError

    def allowed(self, counts: Floats) -> Bools:
        """Whether rules (m,) decide enough rows, by counts (entries, m)."""
        return np.ones(counts.shape[1], bool)

    def notes(self, found: Found, certified: bool) -> list[str]:
        """What the report says of it."""
        raise NotImplementedError


class TrainedClassifier(SearchParameters, GoalClassifier):
    """A family trains in ``_train``: its problem, its solvers, and what they leave."""

    parameters_: Any
    pos_label: Any
    preprocessor: Any
    preprocessor_: Any
    _in_training: bool = True
    """Whether the rows that the report counts are those of the training."""

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        certify_on: Any = None,
        units: Any = None,
    ) -> Self:
        """Train the model and settle the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)
            Numbers, or whatever `preprocessor` takes.
        y : array-like of shape (N,)
            Two classes.
        sample_weight : array-like of shape (N,), optional
            Weighs rows in the goal and in the training; rows of weight zero are left out.
        sensitive_features : column, frame, dict, str or list of str, optional
            The columns that the goal refers to.
        baseline : array-like of shape (N,), str, classifier or Deployed, optional
            The deployed model's decisions for X, the column of X that holds them, or the
            model; Deployed for scores and their threshold.
        datasets : mapping of str to Dataset, (X, y) or X, optional
            Further data sets that the goal refers to by ``.on("name")``.
        certify_on : Dataset, (X, y) or mapping of these by data set (None: X), optional
            With `confidence`, rows that certify; None: a part of those above.
        units : array-like of shape (N,) or str, optional
            The customer, document or case that each row belongs to, or the column of X that says
            so, which is then no feature; None: the constructor's. Rows of one unit may depend on
            each other: they lie in one fold, and units are what promises and limits count.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            If no model was found that meets the goal, unless ``on_infeasible="nearest"``.
        NotCertifiable
            If the rows that certify do not show that a rule keeps the goal on new ones.
        GoalError, ShapeError
            If the goal refers to what is not there, or is of another kind; the message
            names who takes it.
        StoppedError
            If a limit was reached before there was any model.
        ValueError, TypeError
            If an argument is wrong; the message says what.
        """
        beside = {"sample_weight": sample_weight, "sensitive_features": sensitive_features}
        sets = {"datasets": datasets, "certify_on": certify_on, "units": units}
        return self._fitted(X, y, baseline=baseline, **beside, **sets)

    @atomic_fit
    def _fitted(self, X: Any, y: Any, /, **given: Any) -> Self:
        data = open_fit(self, X, y, **given)
        with Progress(bool(self.verbose), self._most_calls(data)) as progress:
            limits = Limits(max_seconds=data.limits.seconds, report=progress)
            training = self._train(data, limits)
        with heard() as caught:
            found = training.chosen()
        rows = data.certifying

        def scored(found: Found) -> Evidence:
            assert rows is not None
            return rows.evidence(lambda X: self._scores_by(found.model, X, data.column))

        tried: Any = {"models": training.models, "allowed": training.allowed}
        found, report = decide(
            training.linked,
            found,
            caught,
            family=self._family,
            solver=data.solver.name,
            notes=[*training.notes(found, rows is not None), *limits.notes],
            folds=training.folds,
            trace=limits.trace if self._in_training else None,
            table=training.judged.tables[None],
            started=data.started,
            certification=data.certification(self, scored, **tried),
        )
        self.parameters_ = found.model
        self._close(data, found, self._reported(data, training, found, report))
        order = order_in_words(self._scores(data.X), data.true) if self._in_training else ""
        report = self.goal_report_
        if order:
            self.goal_report_ = replace(report, warnings=(*report.warnings, order))
        self._sign(data.digests)
        return self

    def _train(self, data: FitData, limits: Limits) -> Training:
        """Train on checked rows."""
        raise NotImplementedError

    def _most_calls(self, data: FitData) -> int | None:
        """How many calls the progress counts to, where that is known."""
        return None

    def _reported(
        self, data: FitData, training: Any, found: Found, report: GoalReport
    ) -> GoalReport:
        """The report with what the family adds, whose attributes are kept."""
        return report

    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        require_plain(
            goal,
            f"`solver={solver.name!r}` trains on decided rows that count once each; "
            f"`{FAMILIES['plugin']}` takes such goals",
        )
        super()._check_fit(goal, X, solver)
        asked, name = Confidence.of(self.confidence), type(self).__name__
        if asked.guarantee == "approximate":
            raise InputError(
                f"`confidence`: `guarantee='approximate'` tries rules on cross-validated scores, "
                f"which {name} has none of: its training looks at the goal itself; leave it out, "
                "and rows are kept apart that certify"
            )
        if asked.for_next is not None:
            raise InputError(
                f"`confidence`: `for_next={asked.for_next}` promises the next rows for thresholds "
                f"of one model, and {name} certifies several models of its training: leave it "
                "out, and the promise is for the population"
            )

    def _transformed(self, features: Any, X: Any) -> Any:
        """Features as the model takes them, of the rows X."""
        return transformed(self.preprocessor_, features)

    def _scores_by(self, model: Any, X: Any, column: str | None) -> Floats:
        """Scores (N,) of rows by a model of the training."""
        return linear_scores(self._transformed(self._features(X, column), X), model)

    def _scores(self, X: Any) -> Floats:
        return self._scores_by(self.parameters_, X, self.baseline_column_)

    def _features(self, X: Any, column: str | None, reset: bool = False) -> Any:
        return checked_features(self, without(X, column, self.units_column_), reset=reset)

    def _classes_for(self, goal: Goal, y: Any, weight: Floats | None) -> ClassOrder:
        used = y if weight is None or weight.all() else one_column(y, "y")[weight > 0]
        return two_classes(used, None, self.pos_label, goal=goal, category=y)

    @property
    def threshold_(self) -> float:
        """On the model's scores: rows with at least this are decided positive."""
        self._check_there("threshold_")
        rule = self.rule_
        assert isinstance(rule, Threshold)
        return rule.threshold

    @property
    def coef_(self) -> Floats:
        """Coefficients (1, d) of a linear model, for features as preprocessed."""
        return self._linear("coef_")[None, :-1]

    @property
    def intercept_(self) -> Floats:
        """The intercept (1,) of a linear model; the threshold is not in it."""
        return self._linear("intercept_")[-1:]

    def decision_function(self, X: Any) -> Floats:
        """How far the scores lie above the threshold.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)

        Returns
        -------
        array of shape (N,)
            At least 0 where the last of ``classes_`` is decided; where that is the negative
            class, with the opposite sign. A rule that draws accepts with a probability that
            rises with it.
        """
        check_is_fitted(self)
        above = self._scores(X) - self.threshold_
        return -above if self._classes.positive_first else above

    def _linear(self, name: str) -> Floats:
        self._check_there(name)
        if not isinstance(self.parameters_, np.ndarray):
            raise AttributeError(f"{name} is there for linear models only")
        return self.parameters_

    def _check_there(self, name: str) -> None:
        if not hasattr(self, "parameters_"):
            raise AttributeError(f"{name} is there after fit")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags
