"""AdaptiveSurrogateClassifier: a model trained for any metric that can be measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.validation import _num_samples

from setpoint.array_types import Floats
from setpoint.blackbox import BudgetedMetric, margin, measured_on
from setpoint.classifiers import FitData, TrainedClassifier, fit_preprocessor, most_models, value_of
from setpoint.errors import InputError
from setpoint.goals import Goal
from setpoint.inputs import as_datasets, check_length
from setpoint.parameters import Above0
from setpoint.report import GoalReport, measured_difference
from setpoint.rules import Threshold
from setpoint.search import Found, Limits
from setpoint.solvers import AdaptiveSurrogates, FirstModel, Solver
from setpoint.surrogates.losses import groups_of, overlapping
from setpoint.surrogates.problem import SurrogateRows, of_folds, of_validation, splits_of
from setpoint.surrogates.selection import (
    SampleSearch,
    SearchPlan,
    SurrogatesTraining,
    check_surrogates_for,
    evaluations_of,
)
from setpoint.surrogates.solvers import BestCandidates
from setpoint.surrogates.summary import AdaptiveStep, AdaptiveSummary


@dataclass(eq=False, repr=False)
class AdaptiveSurrogateClassifier(TrainedClassifier):
    """Train a linear model, or a network's last layer, for a metric that is only measured.

    The metric is taken for an unknown monotone function of K surrogate losses. Its gradient
    with respect to them is estimated from its values at perturbed models, and the model
    follows it by convex projections (Jiang, Adigun, Narasimhan, Milani Fard and Gupta,
    "Optimizing black-box metrics with adaptive surrogates", Algorithms 1 to 3). Every fit
    also moves the cut-off of a logistic regression, smoothed, and keeps that baseline unless
    the search gains more over it than chance explains: a standard error with two surrogates,
    sqrt(K / 2) of them with K.

    Parameters
    ----------
    goal : BlackBox, Goal, str or metric
        A function of labels and decisions or scores; or a goal of the language, whose
        constraints are penalised.
    surrogates : str, PrecisionAtRecall, PrecisionAtK, PRBEP, callable or list, default="sigmoid"
        "sigmoid", "hinge" and "logistic" are mean losses of the positives and of the
        negatives, two a group. "quantile" (the precision at recalls of .25, .5 and .75),
        "prbep" and the classes named above look at the top of a ranking. A function
        ``(scores, y, sample_weight) -> (value, gradient)``, y in {0, 1}, is the user's own.
    surrogate_groups : str, dict or list of these, default=None
        The rows that surrogates are counted on apart: the values of a column, or the rows
        with ``{"column": value}``. Groups may overlap. They need not be known at prediction.
    solver : str or Solver, default="adaptive-surrogates"
        Or "surrogate-weights", for metrics that cost. The classes of both,
        :class:`setpoint.solvers.AdaptiveSurrogates` and
        :class:`setpoint.solvers.SurrogateWeights`, have parameters.
    confidence : float or Confidence, default=None
        All constraints are to hold on new rows, as of :class:`setpoint.PlugInClassifier`; models of
        the training are tried on the rows that certify, from safe to bold.
    limits : SearchLimits, default=None
        `evaluations`: the most of the metric, at different decisions; None: 2,000. A tenth goes
        into the baseline's cut-off, as much into the last one's and into judging the gain.
        Cut-offs of a goal with a formula cost nothing. `seconds`: the best model by then is
        kept, with a warning, as on Ctrl-C.
    module : "linear", "mlp", Module or callable, default="linear"
        A function that makes a torch module of the number of features, which is then trained
        by logistic loss; or a module that is trained already. The search is over its last
        layer.
    training : FirstModel, default=None
        How the first model is trained (:class:`setpoint.solvers.FirstModel`); None: its
        defaults.
    penalty : float, default=10.0
        What a unit of violation costs, for each constraint of a goal.
    cv : int, float, splitter, iterable or None, default=None
        How rows are held out for the metric where ``fit`` is given no validation sample.
        None: 5 stratified folds, drawn at random; a float: that share, drawn once. All folds'
        models move in step, and so does a model of all rows, which is kept.
    preprocessor : "standardize", None or transformer, default="standardize"
    pos_label : label, default=None
        The positive class; None: the one that the goal names by ``label=``, if it names no
        other, else the larger of two numbers, True, the last of an ordered category, or the
        second of such words as no and yes. Other text needs it where the goal refers to it.
    sensitive_features : str or list of str, default=None
        Columns of X that goal, metric or groups refer to. Pass values to ``fit`` otherwise.
    baseline : str or classifier, default=None
        The deployed model, where the goal refers to it or the report shall compare.
    units : str, default=None
        The column of X that says which customer, document or case a row belongs to, and is not a
        feature; or pass the column to ``fit``. Rows of one unit may depend on each other.
    random_state : int, generator or None, default=None
        None is a fixed seed.
    verbose : int, default=0
        1: a line on stderr with the best value and the evaluations.

    Attributes
    ----------
    goal_report_ : GoalReport
        On the rows that the metric was measured on, with `confidence` on those that certify;
        ``goal_report_.section("adaptive")`` tells of baseline, best, and whether it was accepted.
    accepted_ : bool
    baseline_value_, best_value_ : float
        In the metric's units; less the penalties where a goal has constraints.
    n_evaluations_, n_iter_ : int
        Evaluations of the metric, and models that the search made.
    coef_, intercept_ : arrays of shape (1, d) and (1,)
        Of a linear model, for features as preprocessed; the cut-off is in the intercept.
    threshold_ : float
        0, unless another cut-off was certified.
    rule_ : Threshold
    path_ : tuple of AdaptiveStep
        Every model of the search: start, evaluations so far, value, weights of surrogates.
    surrogate_names_ : tuple of str
    classes_ : array of shape (2,)
    positive_ : label
    preprocessor_, body_
    evidence_ : Evidence or None
        The metric's rows with their scores, in the process that fitted.
    n_features_in_, feature_names_in_

    See Also
    --------
    setpoint.PlugInClassifier : With ``solver="post-shift"``, the baseline for any model; exact
        solvers where the metric has a formula. Try it first.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import AdaptiveSurrogateClassifier, BlackBox, SearchLimits
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(2_000) < 0.1).astype(int)
    >>> centre = np.where(y, 0, rng.choice([-1.0, 1.0], 2_000))
    >>> X = centre[:, None] + 0.35 * rng.normal(size=(2_000, 2))
    >>> def profit(y_true, y_pred):
    ...     return float(np.sum(np.where(y_true == 1, 9.0, -1.0) * y_pred))
    >>> limits = SearchLimits(evaluations=1_000)
    >>> clf = AdaptiveSurrogateClassifier(BlackBox(profit), limits=limits).fit(X, y)
    >>> clf.accepted_, clf.best_value_ > 1.2 * clf.baseline_value_
    (True, True)
    """

    _family = "surrogates"
    _in_training = False

    goal: Any
    _: KW_ONLY
    surrogates: Any = "sigmoid"
    surrogate_groups: Any = None
    solver: Any = "adaptive-surrogates"
    module: Any = "linear"
    training: FirstModel | None = None
    penalty: Above0 = 10.0
    cv: Any = None
    preprocessor: Any = "standardize"
    sensitive_features: Any = None
    baseline: Any = None

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        validation: Any = None,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
        certify_on: Any = None,
        units: Any = None,
    ) -> AdaptiveSurrogateClassifier:
        """Search for the model that the metric likes best.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)
            Numbers, or whatever `preprocessor` takes.
        y : array-like of shape (N,)
            Two classes; with a validation sample they may be noisy or stand in for others.
        validation : Dataset or (X, y), optional
            The rows that the metric is measured on: clean labels, other labels, other rows.
            A Dataset holds their weights, columns and deployed model. None: rows of X are
            held out by `cv`.
        sample_weight : array-like of shape (N,), optional
            For the surrogates; and, without a validation sample, for the metric, which has to
            take it. Rows of weight zero are left out.
        sensitive_features : column, frame, dict, str or list of str, optional
            The columns that goal, metric or groups refer to, for the rows of X.
        baseline : array-like of shape (N,), str or classifier, optional
            The deployed model's decisions for X, a column of X with them, or the model.
        datasets : mapping, optional
            A metric is measured on one sample: a goal that refers to data sets is refused.
        certify_on : Dataset or (X, y), optional
            With `confidence`, rows that certify; None: a part of those that the metric would be
            measured on.
        units : array-like of shape (N,) or str, optional
            The customer, document or case that each row of X belongs to, as for the other
            classifiers.

        Returns
        -------
        self

        Raises
        ------
        MetricError
            If the metric raises, or returns what is not a value of it.
        ValueError
            If the metric is constant, the budget is smaller than one gradient, a surrogate
            has no rows, a sample lacks a class, or an argument is wrong.
        StoppedError
            If a limit was reached before the baseline was measured.
        GoalError, TypeError
            If the goal does not fit the rows, or an argument is of the wrong kind.
        NotCertifiable
            If the rows that certify do not show that a rule keeps the goal on new ones.

        Warns
        -----
        NotMonotoneWarning
            If the metric gets better as a surrogate gets worse.
        StoppedWarning
            If a limit or Ctrl-C ended the search: the best model until then is kept.
        """
        held = None if validation is None else as_datasets({"validation": validation})["validation"]
        if held is not None and held.y is None:
            raise InputError(
                "`validation` holds no labels, which the metric needs: pass a tuple (X, y) or a "
                "Dataset with y"
            )
        if held is not None:
            check_length(held.y, int(_num_samples(held.X)), "validation: y")
            if self.cv is not None:
                raise InputError(
                    "`cv` holds rows of X out for the metric, and `validation` gives it rows of "
                    "its own: leave one out"
                )
        beside = {"sample_weight": sample_weight, "sensitive_features": sensitive_features}
        sets = {"datasets": datasets, "validation": held, "certify_on": certify_on, "units": units}
        return self._fitted(X, y, baseline=baseline, **beside, **sets)

    def _train(self, data: FitData, limits: Limits) -> SurrogatesTraining:
        solver, held = data.solver, data.is_validated
        groups = groups_of(self.surrogate_groups, data.columns, data.X, len(data.true))
        kinds = check_surrogates_for(solver, self.surrogates)
        on_scores = isinstance(solver, AdaptiveSurrogates) and not solver.on_parameters
        if on_scores and held:
            raise InputError(
                f"{solver!r} needs surrogates and metric on the same rows, and `validation` gives "
                "the metric rows of its own; use `gradient='interpolation'`"
            )
        metric = whole = measured_on(
            data.metric or data.goal, data.classes, data.given[None], penalty=float(self.penalty),
            where="validation" if held else "y",
        )  # fmt: skip
        n_surrogates = len(groups) * sum(2 if isinstance(k, str) else 1 for k in kinds)
        plan = SearchPlan.of(solver, data.limits, n_surrogates)
        self.preprocessor_ = fit_preprocessor(self.preprocessor, data.trained_on, data.classes)
        self.body_ = None
        features, seed = self._transformed(data.features, data.X), data.key % 2**32
        rows = SurrogateRows(
            features, data.true, data.weight, groups, kinds, data.classes.labels,
            FirstModel.of(self.training), self.module, seed,
        )  # fmt: skip
        if held:
            X = data.given[None].X  # some of the sample, where others of it certify
            judged = self._transformed(self._features(X, data.column), X)
            sample, index = of_validation(rows, judged, metric), metric.kept
        else:
            if on_scores and overlapping(groups, data.kept):
                raise InputError(
                    f"{solver!r} moves each row's score with its group, and groups overlap in "
                    "`surrogate_groups`; `gradient='interpolation'` takes them"
                )
            splits = splits_of(self.cv, data, seed)
            sample, metric, index = of_folds(rows, metric, splits, on_scores)
        self.body_ = sample.folds[-1].body
        metered = BudgetedMetric(metric, plan.budget, limits)
        met = BestCandidates(0 if data.certifying is None else most_models(metric.n_rows))
        search = SampleSearch(sample, metered, plan, np.random.default_rng(data.key), met)
        folds = None if held else len(sample.folds) - 1
        return SurrogatesTraining(data.judged.take(index), search, search.run(), whole, folds=folds)

    def _most_calls(self, data: FitData) -> int:
        return evaluations_of(data.limits)

    def _reported(
        self, data: FitData, training: SurrogatesTraining, found: Found, report: GoalReport
    ) -> GoalReport:
        summary, metric = training.selected.summary, training.search.metered.metric
        report = replace(report, sections=(summary, *report.sections))
        deployed = data.judged.tables[None].deployed
        if deployed is not None and data.metric is not None and metric.takes == "predictions":
            assert report.deployed is not None
            pair = training.selected.value, value_of(training.whole, deployed)
            against = measured_difference(report.deployed, data.goal, *pair)
            report = replace(report, deployed=against)
        self.accepted_, self.baseline_value_ = summary.accepted, summary.baseline_value
        self.best_value_ = summary.best_value
        if data.certifying is not None:
            # Of the model and the cut-off that are certified, which need not be the best.
            assert isinstance(found.rule, Threshold)
            scores = margin(found.rows.scores, found.rule.threshold)
            self.best_value_ = float(metric(scores[None])[0])
            self.accepted_ = not np.array_equal(found.model, training.selected.baseline[-1])
        self.n_evaluations_, self.n_iter_ = training.search.metered.used, len(summary.path)
        self.surrogate_names_ = training.search.sample.names
        return report

    @property
    def path_(self) -> tuple[AdaptiveStep, ...]:
        """Every model of the search."""
        self._check_there("path_")
        summary: AdaptiveSummary = self.goal_report_.section("adaptive")
        return summary.path

    # ------------------------------------------------------------------ shared steps
    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        super()._check_fit(goal, X, solver)
        check_surrogates_for(solver, self.surrogates)

    def _transformed(self, features: Any, X: Any) -> Any:
        features = super()._transformed(features, X)
        return features if self.body_ is None else self.body_.features(features)

    def _linear(self, name: str) -> Floats:
        parameters = super()._linear(name)
        if self.body_ is not None:
            raise AttributeError(f"{name} is there for linear models only")
        return parameters
