"""PlugInClassifier: any probability model, and the rule that reaches a goal with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np
from sklearn import get_config
from sklearn.base import MetaEstimatorMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold
from sklearn.utils import Bunch, get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from setpoint import inputs
from setpoint.array_types import Floats
from setpoint.classifiers import GoalClassifier, SearchParameters, open_fit
from setpoint.counts import Evidence
from setpoint.errors import GoalError, InputError
from setpoint.goals import Goal, as_goal
from setpoint.plugin.fit.crossfit import Response
from setpoint.plugin.fit.fitting import Task, adapted, available_columns, naming_groups_in
from setpoint.plugin.problem import Options
from setpoint.program import waits_for_class
from setpoint.report import GoalReport
from setpoint.search import Found, Progress, Randomized
from setpoint.solvers import HoldOut, ModelResponse, PostShift, Solver

if TYPE_CHECKING:
    from setpoint.search import Frontier, Vary


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


@dataclass(eq=False, repr=False)
class PlugInClassifier(SearchParameters, MetaEstimatorMixin, GoalClassifier):
    """Fit a model, then the decision rule that reaches a goal, with a certificate.

    Any number of classes, groups, constraints and data sets. The rule is found on
    out-of-fold scores, pooled over the folds: with two classes by a sweep over every
    cut-off or the exact program over cut-offs, with more by column generation over
    weighted plug-in rules (Narasimhan et al., "Consistent multiclass algorithms for
    complex metrics and constraints"). As of every classifier ``score`` is accuracy: for the goal
    ``GridSearchCV`` needs ``scoring=goal_scorer(goal)``.

    Parameters
    ----------
    estimator : classifier, "auto", or dict of str to classifier
        With ``predict_proba`` or ``decision_function``. Several models by their names, the
        simplest first, each with ``predict_proba``: each is fitted once a fold and compared by
        what the best rule over its out-of-fold scores reaches, as is the mean of the best two.
        The best is kept, of equal ones the simplest; ``estimator_`` is that one and ``choice_``
        says why. "auto": a logistic regression, and boosting with few rounds and with many.
        Of 50,000 rows and more each is first fitted on a tenth and judged on another: only the
        one that does best there goes on, with simpler ones that are not shown to be worse.
    goal : Goal, str, metric or BlackBox
    solver : str or Solver, default="auto"
        "auto": "exact" for two classes, "column-generation" for more. Or "frank-wolfe",
        "gda", "ellipsoid", "bisection", the algorithms of the paper; or "argmax",
        "balanced", baselines that do not look at the goal. Or "post-shift", for two classes
        and no constraints: the metric is measured at each cut-off. It is what "auto" means
        for a BlackBox. Two have parameters in :mod:`setpoint.solvers`: ``PostShift(smooth=)``,
        and ``ColumnGeneration(oracle=learner)``, which retrains a learner with weights at
        each oracle call, 50 times at most, in place of weighting posteriors. With a float
        `cv` its decisions are counted on the rows set apart, else on the training rows; it
        goes with label evidence and goals of X alone.
    evidence : {"auto", "label", "soft"}, default="auto"
        Count decisions against labels, or against posteriors: then gaps are certified for
        any number of classes, if the posteriors are right. "auto": labels with two
        classes, else what does better in 3-fold cross-validation of the rule (six quick
        searches; from 30 classes and 250,000 posteriors on two, with one part of three left
        out). A goal over groups that the rule may not see is pursued on soft evidence, with a
        model of group and class together.
    cv : int, float, splitter, iterable, HoldOut, "prefit" or None, default=None
        None: 5. A whole number draws stratified folds, whatever the order of the rows; a
        float one stratified split of that share. If new rows come later, or belong to new
        units, pass a splitter by time or by unit. The model is fitted on all rows in the
        end, unless it is :class:`setpoint.solvers.HoldOut`, one split whose model stays.
        "prefit", or a FrozenEstimator: `estimator` is fitted, all rows are counted.
    pos_label : label, default=None
        The positive class; None: the larger of two numbers, True, the last of an ordered
        category, or the second of such words as no and yes. Other text needs it where the
        goal refers to it, as ``accuracy`` or ``f1(label="fraud")`` does not.
    sensitive_features : str or list of str, default=None
        Names of columns of X with side information; or pass columns to ``fit``. Columns of
        numbers by which the goal counts rows, such as an amount, are found in X by their name,
        too.
    baseline : str or fitted classifier, default=None
        A column of X with the deployed model's predictions, or the model (as a
        FrozenEstimator, if this estimator is to be cloned); or pass predictions to
        ``fit``.
    decide_on : "auto", None, str or list of str, default="auto"
        The columns that the rule may look at beside the score. "auto": those of the
        goal that are columns of X, and so available in ``predict``. Others can be named;
        ``predict`` then asks for them. Where a goal counts rows by a column that the rule may
        look at, cross-validation chooses between a rule over the score alone and the action with
        the largest expected gain, ``p * amount`` for a caught fraud; None: the score alone.
    randomized : {False, "auto", True}, default=False
        Whether the rule may draw; "auto" only where that gains more than the `tol` of `limits`.
        Without draws the report says what they would gain, where that is known.
    draw : str, default="row"
        Where draws come from. "row": a hash of the row's content, so that the same row
        gets the same answer in any batch. A column of X, such as a customer's number.
        Or "random".
    on_infeasible : {"raise", "nearest"}, default="raise"
    response : {"model", "rule"} or ModelResponse, default="model"
        What ``predict_proba`` gives: the posterior of `estimator`, or the probabilities with
        which the rule decides. What decides by ``predict_proba``, such as one-vs-rest or soft
        voting, keeps the rule only with "rule"; ``decision_function`` is then not there.
        :class:`setpoint.solvers.ModelResponse` also says what the model is asked, whether it is
        calibrated, and what becomes of groups that ``fit`` did not see.
    confidence : float or Confidence, default=None
        All constraints are to hold on new rows, with this confidence; None: those alone that
        say so themselves, as ``precision >= 0.9 with confidence 0.95`` does. A part of the rows
        then certifies and takes no part in anything else, and ``fit`` raises NotCertifiable where
        they do not show it. See :class:`setpoint.solvers.Confidence`.
    limits : SearchLimits, default=None
        `tol`: the loss in the objective at which a rule without draws is preferred, and the
        gap at which a search of several steps ends; None: 1e-4. `calls` and `seconds` of a
        search: the best feasible rule by then is kept, with a warning, as on Ctrl-C; None:
        1,000 calls, or the algorithm's own number. `evaluations` of a BlackBox; None: 1,000
        cut-offs on a curve.
    n_jobs : int, default=None
        Folds fitted at a time.
    units : str, default=None
        The column of X that says which customer, document or case a row belongs to, and is not a
        feature; or pass the column to ``fit``. Rows of one unit may depend on each other.
    random_state : int, generator or None, default=None
        For the folds that `cv` draws, the models of "auto", and the key of draws; None is a
        fixed seed.
    verbose : int, default=0
        1: a line on stderr with calls, gap and violation. More: joblib's, of the folds.

    Attributes
    ----------
    estimator_ : classifier
    choice_ : ModelChoice or None
        Which models were tried, and how each did; None where `estimator` is one.
    rule_ : Rule
    goal_report_ : GoalReport
        What the rule reaches on the rows it was found on.
    classes_ : array of shape (n,)
    positive_ : label or None
        The positive class of two.
    gap_ : float or None
        No other rule of this kind on these scores is better by more.
    n_oracle_calls_ : int
    trace_ : tuple of TracePoint
        For each oracle call the objective and violation of the best rule so far, the
        bound, and the seconds passed.
    evidence_ : Evidence or None
        The rows that the rule was found on, with their out-of-fold scores, in the process
        that fitted; copies and files of the model do not hold them.
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

    _family = "plugin"

    estimator: Any
    goal: Any
    _: KW_ONLY
    solver: Any = "auto"
    cv: Any = None
    evidence: str = "auto"
    sensitive_features: Any = None
    baseline: Any = None
    decide_on: Any = "auto"
    randomized: Any = False
    draw: str = "row"
    on_infeasible: Any = "raise"
    response: Literal["model", "rule"] | ModelResponse = "model"
    n_jobs: int | None = None

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
        **params: Any,
    ) -> PlugInClassifier:
        """Fit the model and find the rule.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
            Passed to `estimator` as it is.
        y : array-like of shape (N,)
            Two classes or more.
        sample_weight : array-like of shape (N,), optional
            Counts rows and is passed to `estimator`; refused if that takes none.
        sensitive_features : column, dict or frame, optional
            Side information, where it is not in X: groups, and columns by which rows count.
        baseline : array-like of shape (N,), str or classifier, optional
            The deployed model's predictions, a column of X with them, or the model.
        datasets : dict, optional
            Name to Dataset, (X, y) or X: further rows that the goal refers to. They
            are scored by ``estimator_``.
        certify_on : Dataset, (X, y) or mapping of these by data set (None: X), optional
            With `confidence`, rows that certify; None: a part of those above.
        units : array-like of shape (N,) or str, optional
            The customer, document or case that each row belongs to, or the column of X that says
            so, which is then no feature; None: the constructor's. Rows of one unit may depend on
            each other: they lie in one fold, and units are what promises and limits count.
        **params
            For `estimator` and the splitter, with metadata routing.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            If no rule meets the constraints, unless ``on_infeasible="nearest"``.
        NotCertifiable
            If the rows that certify do not show that a rule keeps the goal on new ones.
        StoppedError
            If a limit was reached before there was any rule.
        GoalError, ValueError, TypeError
            If an argument or the goal is wrong for these data; the message says what.
        """
        rows: dict[str, Any] = {
            "sample_weight": sample_weight,
            "sensitive_features": sensitive_features,
            "baseline": baseline,
            "datasets": datasets,
            "certify_on": certify_on,
            "units": units,
        }
        data = open_fit(self, X, y, **rows)
        named = (self.sensitive_features, sensitive_features)
        with Progress(bool(self.verbose)) as progress, naming_groups_in(X, *named):
            task = Task(self, data, sensitive_features, params, progress)
            self.estimator_, self.scorer_, found, report = task.run()
        self.posterior_, self.choice_ = task.response.posterior, task.choice
        self._close(data, found, report)
        self._keep(found, report)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        self._bind()
        self._sign(data.digests)
        return self

    def adapt(
        self, X: Any, *, sensitive_features: Any = None, baseline: Any = None
    ) -> PlugInClassifier:
        """Find the rule anew on unlabelled rows, such as those of deployment.

        The model stays. Posteriors take the place of labels: constraints on predicted
        rates, their groups and churn then hold on these rows, whatever their mix; the
        objective is what it is if the posteriors are right. The new rule looks at the
        model's posteriors, also where learners or joint posteriors decided before.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        sensitive_features, baseline : optional
            As in ``fit``.

        Returns
        -------
        self
            With a new ``rule_``, ``goal_report_``, ``gap_`` and ``trace_``.

        Raises
        ------
        GoalError
            If a constraint of the goal needs labels, or the goal refers to other data sets.
        InfeasibleError
            If no rule meets the constraints on these rows; the fitted rule stays.
        """
        check_is_fitted(self)
        found, report, posterior = adapted(self, X, sensitive_features, baseline)
        if found.rule.randomized:
            self._check_drawable(X, self.draw_key_, self.draw_columns_)
        self.posterior_, self.scorer_, self.evidence_ = posterior, None, None
        self._keep(found, report)
        self.largest_segment_ = int(np.argmax(found.evidence.segment_weights))
        given = inputs.Dataset(X, sensitive_features=sensitive_features, baseline=baseline)
        self._sign(inputs.digests_of({"": given}))
        return self

    def _frontier_on(
        self, goal: Goal, evidence: Evidence, vary: Vary, values: Any, randomized: Randomized
    ) -> Frontier:
        if self.scorer_ is not None:
            raise GoalError(
                "frontier: this rule decides by joint posteriors or retrained learners, which are "
                "found for one bound; fit for each bound instead"
            )
        from setpoint.plugin.exploring import frontier_of_evidence

        numbers = goal.needs.measures.get(None, {})
        sees = tuple(name for name in self.rule_.value_columns if name in numbers)
        if sees and not evidence.sees:
            evidence = evidence.with_values(sees)
        own: dict[str, Any] = {
            "randomized": randomized,
            "tol": self._options(self._chosen()[0]).tol,
        }
        own["soft"] = self.goal_report_.search.evidence == "soft"
        return frontier_of_evidence(goal, evidence, vary, values, **own)

    def _keep(self, found: Found, report: GoalReport) -> None:
        self.rule_, self.goal_report_, self.trace_ = found.rule, report, found.trace
        self.gap_ = report.certificate.gap
        self.n_oracle_calls_ = report.search.calls

    # ------------------------------------------------------------------ the model inside
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
        return np.asarray(self.estimator_.predict_proba(self._features(X, None)))

    @_if_inner_has("predict_log_proba")
    def predict_log_proba(self, X: Any) -> Floats:
        """The logarithm of the inner model's posterior (N, n)."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_log_proba(self._features(X, None)))

    @_if_inner_has("decision_function")
    def decision_function(self, X: Any) -> Floats:
        """The inner model's decision function, (N,) or (N, n), untouched by the rule."""
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(self._features(X, None)))

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

    # ------------------------------------------------------------------ fitting
    @property
    def _fits_nothing(self) -> bool:  # type: ignore[override]
        return self._is_given_fitted and self._answers.calibrate is None

    def _options(self, solver: Solver) -> Options:
        own = {name: getattr(self, name) for name in ("evidence", "randomized", "on_infeasible")}
        return Options.of(solver, self.limits, **own)

    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        self._check_auto()
        options = self._options(solver).settled(goal)
        trains = options.oracle is not None
        if self._auto is not None and (trains or options.solver == "post-shift"):
            what = "ColumnGeneration(oracle=...)" if trains else "post-shift"
            raise GoalError(
                f"`estimator={self.estimator!r}` compares models by goals that are counted, with "
                f"rules over their scores, and this is {what}: name a model"
            )
        super()._check_fit(goal, X, solver)

    def _classes_for(self, goal: Goal, y: Any, weight: Floats | None) -> inputs.ClassOrder:
        classes = inputs.classes_of(y, None, self.pos_label, goal=goal)
        if len(classes.labels) > 2 and waits_for_class(goal):
            raise GoalError(
                f"Only binary classification is supported by the goal '{goal}': it refers to a "
                f"positive class, and y holds {len(classes.labels)} classes "
                f"({inputs.some(list(classes.labels))}); name one with label=, "
                "or reduce over the classes, as in recall.min()"
            )
        label = self._answers.defer_label
        if goal.defers and label in classes.labels:
            raise InputError(
                f"`defer_label`={label!r} is what predict returns for a row that is deferred, and "
                "it is a class of y: ModelResponse takes another"
            )
        if len(classes.labels) > 2 and goal.is_blackbox:
            raise GoalError(
                f"Only binary classification is supported for a BlackBox: y holds "
                f"{len(classes.labels)} classes ({inputs.some(list(classes.labels))})"
            )
        return classes

    def _decides_on(self, goal: Goal, given: Any, X: Any) -> inputs.DecideOn:
        return available_columns(self.decide_on, goal, given, X)[0]

    def _scores(self, X: Any) -> Floats:
        X = self._features(X, None)
        if self.scorer_ is not None:
            return self.scorer_.scores(X)
        return self._response(self.estimator_, X)

    def _scores_by_posteriors(self, posteriors: Floats) -> Floats | None:
        by_rule = self._answers.predict_proba == "rule"
        if self.scorer_ is not None or by_rule:
            return None
        response, model = self._response, self.estimator_
        return (
            response.scores(model, posteriors) if response.name(model) == "predict_proba" else None
        )

    @property
    def _response(self) -> Response:
        """What the model inside is asked for the rule."""
        return Response(self._answers.method, self._classes, self.posterior_)
