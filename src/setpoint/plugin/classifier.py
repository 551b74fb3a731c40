"""PlugInClassifier: any probability model, and the rule that reaches a goal with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import _num_samples, check_is_fitted, has_fit_parameter, indexable

from setpoint.estimators.arrays import check_length, column_names, one_column
from setpoint.estimators.base import GoalClassifier
from setpoint.estimators.classes import Classes, classes_of
from setpoint.estimators.inputs import DecideOn, Inputs
from setpoint.estimators.labels import check_weight
from setpoint.goals.goal import Goal, as_goal
from setpoint.plugin.crossfit import CrossFit, Response, cross_fit, splits_of
from setpoint.plugin.solving import check_options, solve_evidence

__all__ = ["PlugInClassifier"]

Floats = NDArray[np.float64]
F = TypeVar("F", bound=Callable[..., Any])


def _if_inner_has(name: str) -> Callable[[F], F]:
    """A method that is there where the inner model has it."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), name)
        return True

    decorate: Callable[[F], F] = available_if(check)
    return decorate


class PlugInClassifier(MetaEstimatorMixin, GoalClassifier):
    """Fit a model, then the decision rule that reaches a goal, exactly.

    Binary goals with any number of groups, constraints and data sets. The rule is found
    on out-of-fold scores, pooled over the folds, by a sweep over every cut-off or the
    exact program over cut-offs (Narasimhan et al., "Consistent multiclass algorithms
    for complex metrics and constraints", the binary case).

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``.
    goal : Goal, str or metric
    solver : {"auto", "exact"}, default="auto"
    cv : int, float, splitter, iterable, "prefit" or None, default=None
        None: 5 stratified folds. A float: one stratified split of that share, drawn
        once. "prefit", or a FrozenEstimator: `estimator` is fitted, all rows are
        counted.
    refit : bool, default=True
        Fit on all rows in the end. False only with a single split.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
    pos_label : label, default=None
        The positive class; None: the last of ``classes_``.
    sensitive_features : str or list of str, default=None
        Names of columns of X with side information; or pass columns to ``fit``.
    baseline : str or fitted classifier, default=None
        A column of X with the deployed model's predictions, or the model (as a
        FrozenEstimator, if this estimator is to be cloned); or pass predictions to
        ``fit``.
    decide_on : "auto", None, str or list of str, default="auto"
        The columns that the rule may look at beside the score. "auto": those of the
        goal that are columns of X, and so at hand in ``predict``. Others can be named;
        ``predict`` then asks for them.
    randomized : {"auto", True, False}, default="auto"
        Whether the rule may draw; "auto" only where that gains more than `tol`.
    draw : str, default="row"
        Where draws come from. "row": a hash of the row's content, so that the same row
        gets the same answer in any batch. A column of X, such as a customer's number.
        Or "random".
    on_infeasible : {"raise", "nearest"}, default="raise"
    unknown_group : {"raise", "largest"}, default="raise"
        What ``predict`` does with a group that ``fit`` did not see; "largest" decides
        it by the rule of the largest group, with a warning.
    tol : float, default=1e-4
        Loss in the objective at which a rule without draws is preferred.
    n_jobs : int, default=None
        Folds fitted at a time.
    random_state : int, generator or None, default=None
        For the split drawn with a float `cv`, and the key of draws.
    verbose : int, default=0

    Attributes
    ----------
    estimator_ : classifier
    rule_ : Rule
    goal_report_ : GoalReport
        What the rule reaches on the rows it was found on.
    classes_ : array of shape (2,)
    positive_ : label
    gap_ : float or None
        No other rule of this kind on these scores is better by more.
    n_oracle_calls_ : int
    n_features_in_, feature_names_in_
        As of `estimator_`, where it has them.

    See Also
    --------
    setpoint.solve : The same for whoever has only scores and labels.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setpoint import PlugInClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = PlugInClassifier(model, "maximize recall subject to precision >= 0.98").fit(X, y)
    >>> clf.goal_report_.status, clf.goal_report_.constraints[0].satisfied
    ('optimal', True)
    """

    def __init__(
        self,
        estimator: Any,
        goal: Any,
        *,
        solver: str = "auto",
        cv: Any = None,
        refit: bool = True,
        response_method: str = "auto",
        pos_label: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        decide_on: Any = "auto",
        randomized: Any = "auto",
        draw: str = "row",
        on_infeasible: Any = "raise",
        unknown_group: str = "raise",
        tol: float = 1e-4,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.goal = goal
        self.solver = solver
        self.cv = cv
        self.refit = refit
        self.response_method = response_method
        self.pos_label = pos_label
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.decide_on = decide_on
        self.randomized = randomized
        self.draw = draw
        self.on_infeasible = on_infeasible
        self.unknown_group = unknown_group
        self.tol = tol
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        **params: Any,
    ) -> PlugInClassifier:
        """Fit the model and find the rule.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            Passed to `estimator` as it is.
        y : array-like of shape (N,)
            Two classes.
        sample_weight : array-like of shape (N,), optional
            Counts rows and is passed to `estimator`; refused if that takes none.
        sensitive_features : column, dict or frame, optional
            Side information, where it is not in X.
        baseline : array-like of shape (N,), str or classifier, optional
            The deployed model's predictions, a column of X with them, or the model.
        datasets : dict, optional
            Name to Dataset, (X, y) or X: further rows that the goal speaks of. They
            are scored by ``estimator_``.
        **params
            For `estimator` and the splitter, with metadata routing.

        Returns
        -------
        self

        Raises
        ------
        Infeasible
            If no rule meets the constraints, unless ``on_infeasible="nearest"``.
        GoalError, ValueError, TypeError
            If an argument or the goal is wrong for these data; the message says what.
        """
        goal = as_goal(self.goal)
        self._check_parameters()
        X, y, classes = self._checked(X, y)
        response = Response(self.response_method, classes)
        response.name(self.estimator)
        weight = check_weight(sample_weight, int(_num_samples(X)))
        routed = self._routed(weight, params)
        rows = self._rows(X, y, weight, sensitive_features, baseline, datasets)
        decide_on, notes = self._at_hand(goal, sensitive_features)
        inputs = Inputs.check(goal, classes, rows, decide_on)
        inputs.bind()
        key, names = self._key(), column_names(X)

        fitted = self._cross_fit(X, y, response, routed, key)
        scores = {
            name: fitted.scores if name is None else response(fitted.model, rows[name].X)
            for name in inputs.parts
        }
        evidence = inputs.taken(fitted.index).evidence(scores)
        if fitted.index is not None and len(fitted.index) > inputs.n_rows[None]:
            notes += (
                "cv scores rows more than once and each time counts: intervals are too narrow.",
            )
        solution = solve_evidence(
            goal,
            evidence,
            randomized=self.randomized,
            on_infeasible=self.on_infeasible,
            tol=self.tol,
            folds=fitted.folds,
            notes=notes,
        )
        if solution.rule.randomized:
            self._check_drawable(X, key, names)
        self.estimator_ = fitted.model
        self.classes_, self.positive_ = classes.sorted, classes.labels[1]
        self.rule_, self.goal_report_ = solution.rule, solution.report
        self.gap_, self.n_oracle_calls_ = solution.report.gap, solution.report.n_oracle_calls
        self.draw_key_ = key
        self.draw_columns_ = names
        sizes = np.bincount(evidence.slot, evidence.weight, minlength=len(evidence.slots))
        self.largest_slot_ = int(np.argmax(sizes))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)  # of an earlier fit
            if hasattr(fitted.model, name):
                setattr(self, name, getattr(fitted.model, name))
        return self

    # ------------------------------------------------------------------ fitting
    def _check_parameters(self) -> None:
        check_options(self.solver, self.on_infeasible, self.randomized, self.tol)
        for name, allowed in (
            ("response_method", ("auto", "predict_proba", "decision_function")),
            ("unknown_group", ("raise", "largest")),
        ):
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {list(allowed)}, got {getattr(self, name)!r}")
        self._check_named()

    def _checked(self, X: Any, y: Any) -> tuple[Any, Any, Classes]:
        """X and y as they go to the model, and the two classes."""
        if y is None:
            raise ValueError("PlugInClassifier requires y to be passed, but the target y is None")
        X, y = indexable(X, None)[0], indexable(y, None)[0]
        if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
            y = one_column(y, "y", warn=True)
        check_length(y, int(_num_samples(X)), "y")
        classes = classes_of(y, None, self.pos_label)
        classes.require_two()
        self._check_draw(X)
        return X, y, classes

    def _at_hand(self, goal: Goal, given: Any) -> tuple[DecideOn, tuple[str, ...]]:
        """What the rule may look at, as far as ``predict`` will have it, and a note."""
        if self.decide_on != "auto" or given is None:
            return self.decide_on, ()
        names = sorted(goal.needs.columns.get(None, {}))
        if not names:
            return None, ()
        return None, (
            f"The rule does not look at {', '.join(names)}: that was passed to fit and is not in "
            "X. decide_on= names columns that predict will be given too.",
        )

    @property
    def _is_prefit(self) -> bool:
        given = isinstance(self.cv, str) and self.cv == "prefit"
        return given or isinstance(self.estimator, FrozenEstimator)

    def _routed(self, sample_weight: Any, params: dict[str, Any]) -> Any:
        """Parameters for the model and the splitter."""
        if sample_weight is not None:
            params = {"sample_weight": sample_weight, **params}
        if get_config()["enable_metadata_routing"] and not self._is_prefit:
            return process_routing(self, "fit", **params)
        extra = sorted(set(params) - {"sample_weight"})
        if extra:
            raise ValueError(
                f"fit got {extra}; further parameters need metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True))"
            )
        if self._is_prefit:
            params = {}
        elif params and not has_fit_parameter(self.estimator, "sample_weight"):
            raise ValueError(
                f"sample_weight: {type(self.estimator).__name__}.fit takes none, and weights are "
                "never ignored; use a model that takes them, metadata routing, or cv='prefit'"
            )
        return Bunch(estimator=Bunch(fit=params), splitter=Bunch(split={}))

    def _cross_fit(self, X: Any, y: Any, response: Response, routed: Any, key: int) -> CrossFit:
        if self._is_prefit:
            check_is_fitted(self.estimator)
            return CrossFit(self.estimator, response(self.estimator, X), None, None)
        seed = None if self.random_state is None else key % 2**32
        return cross_fit(
            self.estimator,
            X,
            y,
            splits_of(self.cv, X, y, self.refit, seed, routed.splitter.split),
            response,
            refit=self.refit,
            params=routed.estimator.fit,
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )

    def _scores(self, X: Any) -> Floats:
        return Response(self.response_method, self._classes)(self.estimator_, X)

    # ------------------------------------------------------------------ the inner model
    @_if_inner_has("predict_proba")
    def predict_proba(self, X: Any) -> Floats:
        """The inner model's posterior (N, 2), untouched by the rule."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @_if_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the inner model's posterior (N, 2)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(X))

    @_if_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """The inner model's decision function (N,), untouched by the rule."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` passes on with metadata routing: to `estimator` and the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=self).add_self_request(self)
        router.add(estimator=self.estimator, method_mapping=fit)
        return router.add(
            splitter=self.cv if hasattr(self.cv, "split") else None, method_mapping=split
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        tags.classifier_tags.multi_class = False
        return tags
