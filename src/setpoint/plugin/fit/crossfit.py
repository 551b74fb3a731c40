"""Scores out of fold: inner models, and posteriors of group and class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Bunch, _safe_indexing, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter

from setpoint.array_types import Codes, Floats
from setpoint.counts import Rows, Stratum
from setpoint.errors import GoalError, InputError, warn_caller
from setpoint.estimators import Fold, folds_of, order_in_words
from setpoint.goals import Label, as_goal
from setpoint.inputs import ClassOrder, one_score, posteriors
from setpoint.plugin.parameters import NoScoresError
from setpoint.program import waits_for_class
from setpoint.solvers import HoldOut, PostShift

# --- Scores for the rows of X that no model saw in training ---------------------------------------


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


# --- What PlugInClassifier passes on to the model inside it ---------------------------------------


F = TypeVar("F", bound=Callable[..., Any])


def _if_inner_has(name: str, by_rule: bool = False) -> Callable[[F], F]:
    """A method that is there where the inner model has it; by the rule it may be there too."""

    def check(self: Any) -> bool:
        if self._answers.predict_proba == "rule":
            return by_rule
        if self._auto is not None and not hasattr(self, "estimator_"):
            return name == "predict_proba"
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    decorate: Callable[[F], F] = available_if(check)
    return decorate


class InnerModel(MetaEstimatorMixin):
    """Responses, routing and tags of the model inside."""

    estimator: Any
    estimator_: Any
    goal: Any
    solver: Any
    cv: Any
    decision_distribution: Callable[..., Floats]

    @property
    def _split(self) -> Any:
        """How rows are split, whether or not the model of one split is kept."""
        return self.cv.cv if isinstance(self.cv, HoldOut) else self.cv

    @_if_inner_has("predict_proba", by_rule=True)
    def predict_proba(self, X: Any) -> Floats:
        """The inner model's posterior (N, n), untouched by the rule; see `response`."""
        check_is_fitted(self)
        if self._answers.predict_proba == "rule":
            return self.decision_distribution(X)
        return np.asarray(self.estimator_.predict_proba(X))

    @_if_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the inner model's posterior (N, n)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_if_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """The inner model's decision function, (N,) or (N, n), untouched by the rule."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    @property
    def _auto(self) -> Any:
        """The candidates by name, or "auto", where the model is chosen under the goal."""
        named = isinstance(self.estimator, str) and self.estimator == "auto"
        return self.estimator if named or isinstance(self.estimator, Mapping) else None

    def _check_auto(self) -> None:
        """Refuse what does not go with a model that is chosen under the goal."""
        if isinstance(self.estimator, str) and self.estimator != "auto":
            raise InputError(
                "`estimator` is a classifier, 'auto' or a dict of names to classifiers, got "
                f"{self.estimator!r}"
            )
        if self._auto is None:
            return
        given = f"`estimator={self.estimator!r}`"
        if self._is_given_fitted:
            raise InputError(f"`cv='prefit'`: the model is fitted already, and {given} fits models")
        if self._answers.calibrate is not None:
            raise InputError(
                f"`calibrate={self._answers.calibrate!r}` of `response` is for a model of your "
                f"own; calibrate a candidate of {given}, such as by CalibratedClassifierCV"
            )
        if self._answers.method == "decision_function":
            raise InputError(
                f"`method='decision_function'` of `response`: models of {given} are compared by "
                "their probabilities; leave it out"
            )

    @property
    def _is_given_fitted(self) -> bool:
        given = isinstance(self.cv, str) and self.cv == "prefit"
        return given or isinstance(self.estimator, FrozenEstimator)

    def _model(self) -> Any:
        """What is fitted, fold by fold: the estimator, or a calibrated one."""
        method = self._answers.calibrate
        if method is None:
            return self.estimator
        inner = self.estimator
        if self._is_given_fitted and not isinstance(inner, FrozenEstimator):
            inner = FrozenEstimator(inner)
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        return CalibratedClassifierCV(inner, method=method, cv=folds)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """Parameters for the model and the splitter."""
        fits = not self._is_given_fitted or self._answers.calibrate is not None
        weight = {} if sample_weight is None else {"sample_weight": sample_weight}
        routes, splits = get_config()["enable_metadata_routing"], {}
        if self._auto is not None and params and routes:
            splits = process_routing(self, "fit", **params).splitter.split
        elif self._auto is None and routes and fits:
            return process_routing(self, "fit", **weight, **params)
        elif params:
            raise InputError(
                f"fit got {sorted(params)}; further parameters need metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        if not fits:
            weight = {}
        elif (
            self._auto is None and weight and not has_fit_parameter(self.estimator, "sample_weight")
        ):
            raise InputError(
                f"`sample_weight`: {type(self.estimator).__name__}.fit takes none, and weights are "
                "never ignored; use a model that takes them, metadata routing, or `cv='prefit'`"
            )
        # Candidates take weights alone, each by its own name for them.
        return Bunch(estimator=Bunch(fit=weight), splitter=Bunch(split=splits))

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` passes on with metadata routing: to `estimator` and the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        if self._auto is None:
            router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(
            splitter=self._split if hasattr(self._split, "split") else None, method_mapping=split
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self._auto is None:
            tags.input_tags = get_tags(self.estimator).input_tags
        else:
            tags.input_tags.sparse = tags.input_tags.allow_nan = True
            tags.input_tags.string = tags.input_tags.categorical = True
        try:
            goal = as_goal(self.goal)
            of_one = goal.is_blackbox or waits_for_class(goal)
        except (GoalError, TypeError):
            of_one = False  # fit will say what is wrong
        post_shift = self.solver == PostShift.name or isinstance(self.solver, PostShift)
        tags.classifier_tags.multi_class = not (of_one or post_shift)
        return tags


# --- Groups that the rule may not see: posteriors of group and class together ---------------------


_ROUNDING, _NEAR, _FAR = 1e-9, 1e-6, 1e-3
"""How far posteriors may be off: by rounding, without a word, at most."""


class MissingPairWarning(UserWarning):
    """A model has not seen some combination of group and class."""


def joint_labels(true: NDArray[Any], group: NDArray[Any], n: int) -> tuple[Codes, Codes]:
    """One label for each combination of group and class that occurs.

    Examples
    --------
    >>> labels, present = joint_labels(np.array([0, 1, 0]), np.array([0, 0, 2]), 2)
    >>> labels.tolist(), present.tolist()
    ([0, 1, 2], [0, 1, 4])
    """
    if (true >= n).any():
        raise GoalError(
            "posteriors of group and class are learned from rows that have a label, and "
            f"{int((true >= n).sum())} have none; let the rule look at the group (`decide_on`)"
        )
    present, labels = np.unique(
        group.astype(np.int64) * n + true.astype(np.int64), return_inverse=True
    )
    return labels.astype(np.int64).ravel(), present


@dataclass(frozen=True, eq=False)
class JointPosterior:
    """What a model of joint labels says: a posterior of each group and class.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from setpoint.goals.table import Requirements
    >>> rng = np.random.default_rng(0)
    >>> sex, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    >>> X = np.column_stack([sex, y]) + rng.normal(size=(200, 2))
    >>> by_sex = Requirements({None: {"sex": None}})
    >>> rows = Rows.from_arrays((0, 1), y, 200, needs=by_sex, columns={"sex": sex})
    >>> joint = JointPosterior.of(rows)
    >>> model = GaussianNB().fit(X, joint.labels(rows))
    >>> scores = joint(model, X)
    >>> scores.shape, joint.marginal(scores).shape
    ((200, 4), (200, 2))
    >>> joint.joint_columns(rows).shape  # of one segment, four scores: stratum and class
    (1, 4, 2)
    """

    classes: tuple[Label, ...]
    groups: tuple[Stratum, ...]
    present: tuple[int, ...]

    @classmethod
    def of(cls, rows: Rows) -> JointPosterior:
        """The groups and combinations of some rows."""
        book = rows.codebook
        groups = tuple(dict.fromkeys(_group(c, book.decide_on) for c in book.strata))
        empty = cls(book.classes, groups, ())
        _, present = joint_labels(rows.true, empty._group_of(rows), book.n_classes)
        return replace(empty, present=tuple(present.tolist()))

    @property
    def n_scores(self) -> int:
        """Columns of the scores, g * n."""
        return len(self.groups) * len(self.classes)

    # ------------------------------------------------------------------ training
    def labels(self, rows: Rows) -> Codes:
        """The label (N,) that a model is trained on, for each row."""
        own, found = joint_labels(rows.true, self._group_of(rows), len(self.classes))
        place = {code: k for k, code in enumerate(self.present)}
        unseen = [self.words(c) for c in found.tolist() if c not in place]
        if unseen:
            raise GoalError(f"no row was known of {'; '.join(unseen)}")
        return np.array([place[c] for c in found.tolist()], np.int64)[own]

    def for_folds(self, labels: Codes, n_folds: int) -> Codes:
        """Labels (N,) to stratify by: combinations too rare for folds join their class."""
        n, held = len(self.classes), np.bincount(labels, minlength=len(self.present))
        present = np.array(self.present, np.int64)
        place = np.arange(len(present))
        for k in np.flatnonzero(held < n_folds):
            alike = np.flatnonzero(present % n == present[k] % n)
            place[k] = alike[held[alike].argmax()]
        return place[labels]

    # ------------------------------------------------------------------ responses
    def name(self, model: Any) -> str:
        """The method that is called."""
        if not hasattr(model, "predict_proba"):
            raise NoScoresError(
                f"`estimator`: {type(model).__name__} has no predict_proba; a rule that may not "
                "look at the groups of its goal needs posteriors of group and class "
                "(`calibrate='sigmoid'` of ModelResponse makes some of a decision function)"
            )
        return "predict_proba"

    def __call__(self, model: Any, X: Any) -> Floats:
        """Posteriors (N, g * n); 0 for a group and class that the model has not seen."""
        name = f"{type(model).__name__}.{self.name(model)}"
        out = np.asarray(model.predict_proba(X), np.float64)
        if out.ndim != 2 or not np.isfinite(out).all() or (out < -_ROUNDING).any():
            raise InputError(f"{name} gives no posteriors: numbers >= 0, a column for each class")
        out = np.maximum(out, 0.0)
        known = self._known(model, out.shape[1])
        totals = out.sum(axis=1)
        off = float(np.abs(totals - 1.0).max(initial=0.0))
        if off > _FAR:
            raise InputError(f"{name}: posteriors of a row sum to 1; one is off by {off:.3g}")
        if off > _NEAR:
            warn_caller(
                f"{name}: posteriors sum to 1 only within {off:.2g}; they are scaled to do so",
            )
        missing = sorted(set(range(len(self.present))) - set(known.tolist()))
        if missing:
            words = "; ".join(self.words(self.present[k]) for k in missing)
            warn_caller(
                f"{type(model).__name__} was trained on no row of {words}: its probability is 0. "
                "Fewer folds, or groups joined, give every model some",
                MissingPairWarning,
            )
        scores = np.zeros((len(out), self.n_scores))
        scores[:, np.array(self.present)[known]] = out / totals[:, None]
        return scores

    def _known(self, model: Any, width: int) -> Codes:
        """The label that each column of a model's posteriors refers to."""
        known = np.asarray(getattr(model, "classes_", range(len(self.present))))
        whole = known.dtype.kind in "iu" and len(known) == width
        if not whole or not np.isin(known, np.arange(len(self.present))).all():
            raise InputError(
                f"{type(model).__name__} was not trained on the {len(self.present)} labels of "
                f"group and class: it knows {width} classes, {known.tolist()[:8]}"
            )
        return known.astype(np.int64)

    # ------------------------------------------------------------------ counting
    def joint_columns(self, rows: Rows) -> Codes:
        """The stratum and class that each score refers to, for ``Evidence.with_posteriors``."""
        n = len(self.classes)
        group = self._of_strata(rows)
        book = rows.codebook
        held = rows.marginals.weights[: book.n_plain].sum(axis=1)
        out = np.empty((len(book.segments), len(self.groups), n, 2), np.int64)
        out[..., 1] = np.arange(n)
        for segment in range(len(out)):
            own = np.flatnonzero(book.stratum_segment == segment)
            out[segment, ..., 0] = own[held[own].argmax()]
            out[segment, group[own], :, 0] = own[:, None]
        return out.reshape(len(out), self.n_scores, 2)

    def marginal(self, scores: Floats) -> Floats:
        """The posterior (N, n) of the classes, from joint ones (N, g * n).

        Examples
        --------
        >>> joint = JointPosterior(("no", "yes"), (Stratum(), Stratum(baseline=1)), (0, 1, 2, 3))
        >>> joint.marginal(np.array([[0.25, 0.25, 0.125, 0.375]]))
        array([[0.375, 0.625]])
        """
        shape = (len(scores), len(self.groups), len(self.classes))
        return np.asarray(scores.reshape(shape).sum(axis=1))

    def words(self, code: int) -> str:
        """A combination in words.

        Examples
        --------
        >>> joint = JointPosterior(("no", "yes"), (Stratum(key=(("sex", "F"),)),), (0, 1))
        >>> joint.words(1)
        "class 'yes' with sex = F"
        """
        group, true = divmod(code, len(self.classes))
        return f"class {self.classes[true]!r} with {self.groups[group]}"

    def _group_of(self, rows: Rows) -> Codes:
        return self._of_strata(rows)[rows.stratum]

    def _of_strata(self, rows: Rows) -> Codes:
        """The group (strata,) of each stratum."""
        place = {group: k for k, group in enumerate(self.groups)}
        found = [_group(c, rows.codebook.decide_on) for c in rows.codebook.strata]
        unseen = [str(g) for g in found if g not in place]
        if unseen:
            raise GoalError(
                "posteriors of group and class were learned without rows of "
                f"{', '.join(dict.fromkeys(unseen))}; let the rule look at the group (`decide_on`)"
            )
        return np.array([place[g] for g in found], np.int64)


@dataclass(frozen=True, eq=False)
class JointModel:
    """A fitted model of joint labels, and what its posteriors refer to."""

    joint: JointPosterior
    model: Any

    def scores(self, X: Any) -> Floats:
        """Posteriors (N, g * n) for the rule."""
        return self.joint(self.model, X)


def _group(stratum: Stratum, decide_on: tuple[str, ...]) -> Stratum:
    """A stratum without what the rule looks at."""
    return replace(stratum, key=tuple((c, v) for c, v in stratum.key if c not in decide_on))
