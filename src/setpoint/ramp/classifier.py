"""RampClassifier: a linear model whose rates are bounded on any number of data sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.deciding import Decision, FitData, decide
from setpoint.errors import InputError, warn_caller
from setpoint.estimators.linear_rule import (
    TrainedClassifier,
    fit_preprocessor,
    linear_scores,
    transformed,
)
from setpoint.estimators.modules import Progress
from setpoint.goals.goal import Goal
from setpoint.goals.table import require_plain
from setpoint.inputs.arrays import column_names
from setpoint.inputs.columns import Dataset
from setpoint.inputs.inputs import CheckedData
from setpoint.parameters import check
from setpoint.ramp.fitting import (
    LIMITS,
    PARAMETERS,
    TRAINING,
    PreparedProblem,
    meets_floors,
    models_of,
    prepare,
    train,
    with_parameters,
    with_score,
)
from setpoint.ramp.problem import ScoreFeature, aligned, naming, score_feature
from setpoint.ramp.selection import choose_model, prices
from setpoint.report import FewRowsWarning
from setpoint.search.limits import Limits
from setpoint.solvers import WITHOUT_FORMULA, Confidence, SearchLimits, Solver

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
    solver : str or Solver, default="augmented-lagrangian"
        "augmented-lagrangian" descends on the ramp problem itself. "cutting-plane" is the
        paper's: majorisation-minimisation, each convex problem by cutting planes in the
        multipliers (Algorithms 1 and 2); as good on objectives that are linear in rates, and
        slower. :class:`setpoint.solvers.CuttingPlane` has parameters.
    randomized : bool, default=False
        Whether a row is decided positive with the probability of the ramp. Without,
        scores of at least 0 are, and the cut-off is moved where the counted rates violate a bound.
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
        prediction, that is where `baseline` is a model, or names a column of X with scores.
    min_positives : "auto" or float, default="auto"
        Weight of rows that a rate's denominator has to hold where the decisions make it:
        precision on fewer says nothing. "auto": 20, or 2 % of the positives if that is more,
        at most half of what there can be.
    confidence : float or Confidence, default=None
        All constraints are to hold on new rows, with this confidence; None: those alone that
        say so themselves. A part of the rows then certifies and takes no part in anything else,
        and models of the training are tried there, from safe to bold; ``fit`` raises
        NotCertifiable where they do not show it. See :class:`setpoint.solvers.Confidence`.
    limits : SearchLimits, default=None
        `seconds`: the best model by then is kept, with a warning, as on Ctrl-C. `tol`: what a
        scaled row may exceed its bound by in training, before it is corrected; None: 1e-3.
    pos_label : label, default=None
        The positive class; None: the one that the goal names by ``label=``, if it names no
        other, else the larger of two numbers, True, the last of an ordered category, or the
        second of such words as no and yes. Other text needs it where the goal refers to it.
    sensitive_features : str or list of str, default=None
        Columns of X that the goal refers to. Pass values to ``fit`` otherwise.
    baseline : str, classifier or Deployed, default=None
        The deployed model, or the column of X with its predictions; with
        ``Deployed("column", threshold=...)`` its scores. That column is not a feature. Wrap a
        model in ``FrozenEstimator`` where this classifier is cloned, as in a search.
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
        On the rows of ``fit``; with `confidence` on those that certify.
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

    _family, _parameters = "ramp", PARAMETERS

    def __init__(
        self,
        goal: Any,
        *,
        C: float = 0.1,
        solver: Any = "augmented-lagrangian",
        randomized: bool = False,
        start: str = "auto",
        preprocessor: Any = "standardize",
        baseline_score_feature: Any = "auto",
        min_positives: Any = "auto",
        confidence: float | Confidence | None = None,
        limits: SearchLimits | None = None,
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
        self.min_positives = min_positives
        self.confidence = confidence
        self.limits = limits
        self.pos_label = pos_label
        self.sensitive_features = sensitive_features
        self.baseline = baseline
        self.on_infeasible = on_infeasible
        self.draw = draw
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting
    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        require_plain(
            goal,
            f"`solver={solver.name!r}` trains on decided rows that count once each; "
            "`PlugInClassifier` takes such goals",
        )
        super()._check_fit(goal, X, solver)
        check(solver.limited(self.limits).filled(LIMITS), TRAINING)
        goal.require_formula(WITHOUT_FORMULA)

    def _train(self, data: FitData) -> Decision:
        if self.start == "baseline" and data.deployed is None:
            raise InputError(
                "`start='baseline'` begins with the deployed model, and there is no baseline; pass "
                "it"
            )
        if self.randomized:
            self._check_drawable(data.X, data.key, column_names(data.X))
        _warn_small(data.judged)
        score = self._fit_features(data)
        prepared = prepare(self, data.judged, self._features_of_all(data))
        with Progress(bool(self.verbose)) as progress:
            limits = Limits(max_seconds=data.limits.seconds, report=progress)
            solved, rivals = train(self, data, prepared, score, limits)
        decision = decide(
            prepared.problem.program.linked,
            lambda: with_parameters(
                choose_model(
                    prepared.rows,
                    prepared.problem,
                    solved,
                    rivals,
                    randomized=self.randomized,
                    on_infeasible=self.on_infeasible,
                ),
                prepared,
            ),
            family="ramp",
            solver=data.solver.name,
            notes=[*([] if data.certifying else [_flattered(prepared)]), *limits.notes],
            trace=limits.trace,
            table=data.judged.take(data.kept).tables[None],
            started=data.started,
            certification=self._certification(
                data,
                lambda found: models_of(found, prepared, solved, rivals, self.randomized),
                lambda counts: meets_floors(prepared.problem.floors, counts),
            ),
        )
        self.parameters_ = decision.found.model
        self.multipliers_ = prices(prepared.problem, solved.multipliers)
        return decision

    # ------------------------------------------------------------------ shared steps
    def _fit_features(self, data: FitData) -> ScoreFeature | None:
        """Learn the preprocessor and the deployed model's score; the latter is returned."""
        labels = np.array(data.classes.labels)
        self.preprocessor_ = fit_preprocessor(self.preprocessor, data.trained_on, data.classes)
        self.score_feature_ = score_feature(
            self.baseline_score_feature, data.deployed, data.X, labels[1], data.weight
        )
        return self.score_feature_

    def _features_of_all(self, data: FitData) -> dict[str | None, Any]:
        """What the model takes of each data set."""
        out: dict[str | None, Any] = {None: self._preprocessed(data.features, data.X)}
        for name in data.judged.tables:
            if name is not None:
                with naming(name):
                    X = data.given[name].X
                    out[name] = self._preprocessed(self._features(X, data.column), X)
        return out

    def _preprocessed(self, features: Any, X: Any) -> Any:
        return with_score(transformed(self.preprocessor_, features), self.score_feature_, X)

    def _scores_by(self, model: Any, X: Any, column: str | None) -> Floats:
        return linear_scores(self._preprocessed(self._features(X, column), X), model)

    def _datasets(self, datasets: Any, X: Any, column: str | None) -> dict[str, Dataset]:
        return aligned(datasets, column_names(X), column)


def _warn_small(inputs: CheckedData) -> None:
    """Say which data sets are too small for what a model reaches there to last."""
    for name, table in inputs.tables.items():
        n_rows = inputs.n_rows[name]
        if table.weight is not None:
            n_rows = int(np.count_nonzero(table.weight))
        if name is not None and n_rows < _FEW_ROWS:
            warn_caller(
                f"the data set {name!r} has {n_rows} row{'s' * (n_rows != 1)}: with fewer than "
                f"{_FEW_ROWS} a bound "
                "on it says little about rows like them",
                FewRowsWarning,
            )


def _flattered(prepared: PreparedProblem) -> str:
    """What the report says of the rows that it counts on."""
    return (
        f"What is counted on the {len(prepared.problem.kind):,} rows that the model was trained "
        "on flatters it somewhat; rows held out judge it."
    )
