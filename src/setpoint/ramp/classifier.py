"""RampClassifier: a linear model whose rates are bounded on any number of data sets."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from setpoint.caller import warn_caller
from setpoint.estimators.base import atomic_fit
from setpoint.estimators.features import checked_features, fit_preprocessor, transformed
from setpoint.estimators.linear_rule import TrainedClassifier, linear_scores
from setpoint.goals.goal import as_goal
from setpoint.inputs.arrays import check_length, column_names, one_column
from setpoint.inputs.classes import ClassOrder, two_classes_for
from setpoint.inputs.dataset import Dataset
from setpoint.inputs.inputs import CheckedData, GivenRows, baseline_codes
from setpoint.inputs.labels import check_weight
from setpoint.ramp.deciding import decide, prices
from setpoint.ramp.deployed import decisions_of_scores, score_feature
from setpoint.ramp.design import aligned, naming, without_column
from setpoint.ramp.fitting import Prepared, prepare, train, with_score
from setpoint.ramp.options import check_options
from setpoint.report import FewRowsWarning
from setpoint.search.limits import StoppedWarning
from setpoint.typing import Floats

__all__ = ["RampClassifier"]


_FEW_ROWS = 300


class RampClassifier(TrainedClassifier):
    """Train a linear model for a goal over several data sets.

    The rates that the goal refers to are counted by the ramp ``clip(1/2 + z, 0, 1)`` of the
    scores, which follows decisions closely where a hinge does not, on labelled and unlabelled
    data sets, on groups, and against the deployed model (Goh, Cotter, Gupta and Friedlander,
    "Satisfying real-world goals with dataset constraints"). The group need not be known at
    prediction.

    Parameters
    ----------
    goal : Goal, str or metric
        Objective: rates, sums and ratios of them. Bounds: whatever is linear in rates once
        a quotient is multiplied out (recall, coverage, churn, precision, F-beta, ratios of
        wins, differences and ratios between groups), on X and on further data sets.
    C : float, default=0.1
        Inverse strength of regularisation: the norm weighs ``lam = 2 / (C n)`` with n the
        rows of X, their weight if they have one. Smaller is smoother; LIBLINEAR's C = 1
        overfits the ramp.
    solver : {"augmented-lagrangian", "cutting-plane"}, default="augmented-lagrangian"
        The former descends on the ramp problem itself. The latter is the paper's:
        majorisation-minimisation, each convex problem by cutting planes in the multipliers
        (Algorithms 1 and 2); as good on objectives that are linear in rates, and slower.
    randomized : bool, default=False
        Whether a row is decided positive with the probability of the ramp. Else scores of at
        least 0 are, and the cut-off is moved where the counted rates violate a bound.
    start : {"auto", "logistic", "zero", "baseline"}, default="auto"
        Where the search begins: a logistic regression (also "auto"), nothing, or the
        deployed model (its score where that is a feature, else a logistic regression on its
        decisions).
    preprocessor : "standardize", None or transformer, default="standardize"
        "standardize": dense features by mean and deviation, cut off at 10 deviations; sparse
        ones by their largest value. A transformer may make columns of text into numbers, or
        add kernels or bins.
    baseline_score_feature : {"auto", True, False}, default="auto"
        Whether the deployed model's score is one more feature. "auto": where it is available at
        prediction, that is where `baseline` is a model or, with `baseline_threshold`, a
        column of X.
    baseline_threshold : float, default=None
        With it, baselines are scores, and the deployed model decides positive from here on.
    min_positives : "auto" or float, default="auto"
        Weight of rows that a rate's denominator has to hold where the decisions make it:
        precision on fewer says nothing. "auto": 20, or 2 % of the positives if that is more,
        at most half of what there can be.
    chooser : {"max", "center"}, default="max"
        Of "cutting-plane": the next cut is made at the highest point that the cuts so far
        leave, or at the centre of mass of what they leave.
    svm : {"sdca", "liblinear"}, default="sdca"
        Of "cutting-plane": what solves the inner problem.
    tol : float, default=1e-3
        What a scaled row may exceed its bound by in training, before it is corrected.
    max_seconds : float, default=None
        The best model by then is kept, with a warning. So it is on Ctrl-C.
    pos_label : label, default=None
        The positive class; None: the one that the goal names by ``label=``, if it names no
        other, else the last in sorted order.
    sensitive_features : str or list of str, default=None
        Columns of X that the goal refers to. Pass values to ``fit`` otherwise.
    baseline : str or classifier, default=None
        The deployed model, or the column of X with its predictions (or scores); a column of
        predictions is not a feature. Wrap a model in ``FrozenEstimator`` where this classifier
        is cloned, as in a search.
    on_infeasible : {"raise", "nearest"}, default="raise"
    draw : str, default="row"
        How a randomised classifier draws: "row" by a hash of the row's content, "random", or
        by a column that identifies the row.
    random_state : int, generator or None, default=None
    verbose : int, default=0
        1: a line on stderr with objective and violation.

    Attributes
    ----------
    goal_report_ : GoalReport
        On the rows of ``fit``.
    coef_, intercept_ : arrays of shape (1, d) and (1,)
        For features as preprocessed, the deployed model's score last where it is one.
    threshold_ : float
        On ``X @ coef_ + intercept_``; 0 unless it was moved.
    multipliers_ : dict of str to float
        What each constraint costs: the multiplier of its (scaled) row.
    rule_ : Threshold
    trace_ : tuple of TracePoint
    classes_ : array of shape (2,)
    positive_ : label
    preprocessor_, score_feature_
    evidence_ : Evidence or None
        The rows of ``fit``, in the process that fitted.
    n_features_in_, feature_names_in_

    See Also
    --------
    setpoint.PlugInClassifier : After training, for any model. Better where the group is known
        at prediction, and for bounds on precision. Try it first.

    Examples
    --------
    >>> import numpy as np
    >>> from setpoint import RampClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(3_000, 3))
    >>> y = (X @ [1.0, 1.0, 0.5] + rng.normal(size=3_000) > 0).astype(int)
    >>> group = np.where(X[:, 2] + rng.normal(size=3_000) > 0, "a", "b")
    >>> goal = "minimize error_rate subject to predicted_rate.difference(group) <= 0.05"
    >>> clf = RampClassifier(goal).fit(X, y, sensitive_features=group)
    >>> clf.goal_report_.satisfied, clf.threshold_ < 0.1
    (True, True)
    """

    def __init__(
        self,
        goal: Any,
        *,
        C: float = 0.1,
        solver: str = "augmented-lagrangian",
        randomized: bool = False,
        start: str = "auto",
        preprocessor: Any = "standardize",
        baseline_score_feature: Any = "auto",
        baseline_threshold: float | None = None,
        min_positives: Any = "auto",
        chooser: str = "max",
        svm: str = "sdca",
        tol: float = 1e-3,
        max_seconds: float | None = None,
        pos_label: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        on_infeasible: Any = "raise",
        draw: str = "row",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.goal = goal
        self.C = C
        self.solver = solver
        self.randomized = randomized
        self.start = start
        self.preprocessor = preprocessor
        self.baseline_score_feature = baseline_score_feature
        self.baseline_threshold = baseline_threshold
        self.min_positives = min_positives
        self.chooser = chooser
        self.svm = svm
        self.tol = tol
        self.max_seconds = max_seconds
        self.pos_label = pos_label
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.on_infeasible = on_infeasible
        self.draw = draw
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting
    @atomic_fit
    def fit(
        self,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        sensitive_features: Any = None,
        baseline: Any = None,
        datasets: Mapping[str, Any] | None = None,
    ) -> RampClassifier:
        """Train the model and settle the cut-off.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, d)
            Numbers, or whatever `preprocessor` takes.
        y : array-like of shape (N,)
            Two classes.
        sample_weight : array-like of shape (N,), optional
            Rows of weight zero are left out.
        sensitive_features : column, frame, dict, str or list of str, optional
            The columns that the goal refers to.
        baseline : array-like of shape (N,), str or classifier, optional
            The deployed model's decisions for X (with `baseline_threshold` its scores), the
            column of X that holds them, or the model.
        datasets : mapping of str to Dataset, (X, y) or X, optional
            Further data sets that the goal refers to by ``.on("name")``, with the columns of
            X: matched by name where there are names.

        Returns
        -------
        self

        Raises
        ------
        InfeasibleError
            If no model was found that meets the goal, unless ``on_infeasible="nearest"``.
        GoalError, ShapeError
            If the goal refers to what is not there, or is of another kind.
        ValueError, TypeError
            If an argument is wrong; the message says what.
        """
        started = time.perf_counter()
        goal = as_goal(self.goal)
        check_options(self)
        self._check_named()
        if y is None:
            raise ValueError("RampClassifier requires y to be passed, but the target y is None")
        if self.baseline is not None and baseline is not None:
            raise ValueError(
                "baseline is given twice, to the constructor and to fit; evaluate would go by the "
                "constructor's: leave one out"
            )
        deployed = self.baseline if baseline is None else baseline
        if self.start == "baseline" and deployed is None:
            raise ValueError(
                "start='baseline' begins with the deployed model, and there is no baseline; pass it"
            )
        X = indexable(X)[0]
        names = column_names(X)
        X_in = self._features_of(X, deployed, reset=True)
        self._check_draw(X)
        y = one_column(y, "y", warn=True)
        n_rows = int(_num_samples(X))
        check_length(y, n_rows, "y")
        weight = check_weight(sample_weight, n_rows)
        used = y if weight is None or weight.all() else y[weight > 0]
        classes = two_classes_for(goal, used, self.pos_label)
        sets = aligned(datasets, names, deployed if isinstance(deployed, str) else None)
        given = super()._rows(X, y, sample_weight, sensitive_features, baseline, sets)
        rows = self._labelled(given, classes)
        inputs = CheckedData.check(goal, classes, rows, None)
        goal.require_formula("AdaptiveSurrogateClassifier trains linear models for such metrics")
        inputs.bind()
        codes = baseline_codes(rows[None], classes, "baseline")

        key = self._key()
        if self.randomized:
            self._check_drawable(X, key, names)
        labels = np.array(classes.labels)
        kept = slice(None) if weight is None or weight.all() else np.flatnonzero(weight)
        preprocessor = fit_preprocessor(
            self.preprocessor, _safe_indexing(X_in, kept), labels[classes.codes(used, "y")],
            None if weight is None else weight[kept],
        )  # fmt: skip
        score = score_feature(
            self.baseline_score_feature,
            deployed,
            self.baseline_threshold,
            X,
            classes.labels[1],
            weight,
        )
        features: dict[str | None, Any] = {}
        features[None] = with_score(transformed(preprocessor, X_in), score, X)
        for name in inputs.parts:
            if name is not None:
                with naming(name):
                    own = self._features_of(sets[name].X, deployed)
                    features[name] = with_score(transformed(preprocessor, own), score, sets[name].X)
        _warn_small(inputs)
        prepared = prepare(self, inputs, features, codes)
        solved, rivals, trace = train(self, prepared, score, key % 2**32)
        w, evidence, rule, report = decide(
            goal,
            prepared.evidence,
            prepared.problem,
            solved,
            rivals,
            least=prepared.least,
            solver=self.solver,
            randomized=self.randomized,
            on_infeasible=self.on_infeasible,
            notes=_notes(prepared, solved.stopped),
            trace=trace,
            seconds=time.perf_counter() - started,
        )
        if solved.stopped:
            warn_caller(
                f"training was {solved.stopped}: the best model until then is kept",
                StoppedWarning,
            )
        if prepared.deployed is not None:
            comparison = prepared.compared(rule.distribution(evidence.scores))
            report = replace(report, deployed=comparison)
        self.rule_, self.goal_report_ = rule, report
        self.parameters_, self.preprocessor_ = prepared.unscaled(w), preprocessor
        self.score_feature_ = score
        self.baseline_column_ = deployed if isinstance(deployed, str) else None
        self.multipliers_ = prices(prepared.problem, solved.multipliers)
        self.trace_ = tuple(trace)
        self.classes_, self.positive_ = classes.sorted, classes.labels[1]
        self.evidence_ = evidence
        self.draw_key_, self.draw_columns_, self.largest_segment_ = key, names, 0
        return self

    # ------------------------------------------------------------------ shared steps
    def _scores(self, X: Any) -> Floats:
        features = transformed(self.preprocessor_, self._features_of(X, self.baseline_column_))
        return linear_scores(with_score(features, self.score_feature_, X), self.parameters_)

    def _features_of(self, X: Any, deployed: Any, reset: bool = False) -> Any:
        """X as the preprocessor takes it: a column of the deployed model is not a feature."""
        if isinstance(deployed, str):
            X = without_column(X, deployed)
        return checked_features(self, X, reset=reset)

    def _datasets(self, datasets: Any, X: Any) -> dict[str, Dataset]:
        return aligned(datasets, column_names(X), self.baseline_column_)

    def _rows(self, *args: Any) -> dict[str | None, GivenRows]:
        rows = super()._rows(*args)
        return rows if self.baseline_threshold is None else self._labelled(rows, self._classes)

    def _labelled(
        self, rows: dict[str | None, GivenRows], classes: ClassOrder
    ) -> dict[str | None, GivenRows]:
        """Decisions of the deployed model in place of its scores."""
        out = {}
        for name, r in rows.items():
            where = "baseline" if name is None else f"datasets[{name!r}]: baseline"
            given = r.baseline
            absent = isinstance(given, str) and given not in (column_names(r.X) or ())
            if given is not None and not absent and self.baseline_threshold is not None:
                given = decisions_of_scores(
                    given, float(self.baseline_threshold), classes, r.X, where
                )
            out[name] = replace(r, baseline=given)
        return out


def _warn_small(inputs: CheckedData) -> None:
    """Say which data sets are too small for what a model reaches there to last."""
    for name, part in inputs.parts.items():
        n_rows = inputs.n_rows[name]
        if part.weight is not None:
            n_rows = int(np.count_nonzero(part.weight))
        if name is not None and n_rows < _FEW_ROWS:
            warn_caller(
                f"the data set {name!r} has {n_rows} rows: with fewer than {_FEW_ROWS} a bound "
                "on it says little about rows like them",
                FewRowsWarning,
            )


def _notes(prepared: Prepared, stopped: str) -> list[str]:
    """Notes for the report."""
    n = len(prepared.problem.kind)
    notes = [
        f"What is counted on the {n:,} rows that the model was trained on flatters it somewhat; "
        "evaluate it on rows held out."
    ]
    if stopped:
        notes.append(f"Training was {stopped}: the best model until then was kept.")
    return notes
