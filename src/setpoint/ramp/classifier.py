"""RampClassifier: a linear model whose rates are bounded on any number of data sets."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Floats
from setpoint.classifiers import FitData, TrainedClassifier, fit_preprocessor, linear_scores
from setpoint.errors import InputError, warn_caller
from setpoint.goals import Goal
from setpoint.inputs import (
    CheckedData,
    CheckedTable,
    Dataset,
    column_names,
    least_accepted,
    row_unit,
)
from setpoint.parameters import Above0, From0OrAuto
from setpoint.program import link
from setpoint.ramp.problem import Problem
from setpoint.ramp.selection import (
    RampTraining,
    aligned,
    naming,
    norm_factor,
    prices,
    score_feature,
    stacked,
)
from setpoint.ramp.solvers.augmented_lagrangian import AugmentedLagrangian, RampSearch
from setpoint.ramp.solvers.cutting_plane import MajorizeMinimize
from setpoint.report import FewRowsWarning
from setpoint.search import Limits
from setpoint.solvers import WITHOUT_FORMULA, CuttingPlane, Solver

# --- Where the search for a model begins ----------------------------------------------------------


_MOST = 60_000
"""Rows that the logistic regression of a start looks at."""
_MIDDLE = 0.5


def logistic(X: Any, true: NDArray[Any], weight: Floats | None, rng: np.random.Generator) -> Floats:
    """Coefficients and intercept (d + 1,) of a logistic regression."""
    index: Any = slice(None)
    if len(true) > _MOST:
        sides = [np.flatnonzero(true == side) for side in (False, True)]
        sizes = [min(len(s), max(_MOST * len(s) // len(true), 1000)) for s in sides]
        pairs = zip(sides, sizes, strict=True)
        picked = [rng.choice(side, size, replace=False) for side, size in pairs]
        index = np.sort(np.concatenate(picked))
    if len(np.unique(true[index])) < 2:
        return np.zeros(X.shape[1] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start only
        model = LogisticRegression(C=1.0, max_iter=100)
        model.fit(X[index], true[index], None if weight is None else weight[index])
    return np.append(model.coef_[0], model.intercept_[0])


def normed(w: Floats, X: Any, weight: Floats | None = None) -> Floats:
    """The same decisions with scores of which half lie within 1/2 of 0."""
    far = np.abs(linear_scores(X, w))
    order = np.argsort(far, kind="stable")
    held = np.cumsum(np.ones(len(far)) if weight is None else weight[order])
    middles = [np.searchsorted(held, 0.5 * held[-1], side) for side in ("left", "right")]
    middle = float(far[order[middles]].mean())
    return w * (_MIDDLE / middle) if middle > 0 else w


# --- The steps of a fit, from checked rows to a trained model -------------------------------------


_TOL = 1e-3
"""Where the user sets none."""


def prepare(
    estimator: Any, inputs: CheckedData, features: Mapping[str | None, Any]
) -> tuple[Problem, CheckedTable, float]:
    """The rows of all data sets as one problem; those of X that count, and the factor of all."""
    tables = inputs.tables
    parts = {name: replace(t, X=features[name]).counted for name, t in tables.items()}
    main, rows = parts[None], inputs.rows
    unit, weight = row_unit(main.weight), main.weight
    weight = np.ones(len(main.labels)) if weight is None else weight
    total = float(weight.sum())
    least = least_accepted(estimator.min_positives, float(weight[main.labels == 1].sum()), unit)
    if least > total:
        raise InputError(
            f"`min_positives` is {least:g}, and the rows of X have a weight of {total:g}"
        )
    factor = norm_factor(features[None], tables[None].weight)
    problem = Problem(
        stacked([part.X for part in parts.values()], factor),
        rows.kind.astype(np.int64),
        rows.weight,
        link(inputs.goal, rows.codebook).at(rows.marginals),
        2.0 * unit / (float(estimator.C) * total),
        least,
    )
    problem.rows  # noqa: B018  # a bound of another shape is refused before any work
    return problem, main, factor


# --- RampClassifier: a linear model with bounds on any number of data sets ------------------------


_FEW_ROWS = 300


@dataclass(eq=False, repr=False)
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
        Or "cutting-plane", the paper's, which is as good on objectives that are linear in rates,
        and slower; :class:`setpoint.solvers.CuttingPlane` has parameters.
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
        All constraints are to hold on new rows, as of :class:`setpoint.PlugInClassifier`; models of
        the training are tried on the rows that certify, from safe to bold.
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
    units : str, default=None
        The column of X that says which customer, document or case a row belongs to, and is not a
        feature; or pass the column to ``fit``. Rows of one unit may depend on each other.
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

    _family = "ramp"

    goal: Any
    _: KW_ONLY
    C: Above0 = 0.1
    solver: Any = "augmented-lagrangian"
    randomized: bool = False
    start: Literal["auto", "logistic", "zero", "baseline"] = "auto"
    preprocessor: Any = "standardize"
    baseline_score_feature: Literal["auto", False, True] = "auto"
    min_positives: From0OrAuto = "auto"
    sensitive_features: Any = None
    baseline: Any = None
    on_infeasible: Literal["raise", "nearest"] = "raise"
    draw: str = "row"

    # ------------------------------------------------------------------ fitting
    def _check_fit(self, goal: Goal, X: Any, solver: Solver) -> None:
        super()._check_fit(goal, X, solver)
        tol = solver.limited(self.limits).tol
        if tol == 0:
            raise InputError(f"`tol` is a number above 0, got {tol!r}")
        goal.require_formula(WITHOUT_FORMULA)

    def _train(self, data: FitData, limits: Limits) -> RampTraining:
        if self.start == "baseline" and data.deployed is None:
            raise InputError(
                "`start='baseline'` begins with the deployed model, and there is no baseline; pass "
                "it"
            )
        if self.randomized:
            self._check_drawable(data.X, data.key, column_names(data.X))
        _warn_small(data.judged)
        self.preprocessor_ = fit_preprocessor(self.preprocessor, data.trained_on, data.classes)
        wanted, positive = self.baseline_score_feature, np.array(data.classes.labels)[1]
        self.score_feature_ = score_feature(wanted, data.deployed, data.X, positive, data.weight)
        features: dict[str | None, Any] = {None: self._transformed(data.features, data.X)}
        for name in data.judged.tables:
            if name is not None:
                with naming(name):
                    X = data.given[name].X
                    features[name] = self._transformed(self._features(X, data.column), X)
        problem, main, factor = prepare(self, data.judged, features)
        seed, solver, score = data.key % 2**32, data.solver, self.score_feature_
        rng = np.random.default_rng(seed)
        deployed = None
        if score is not None:  # the last of the features
            deployed = np.append(np.zeros(problem.X.shape[1] - 1), [1.0, -(score.cut * factor)])
        start = np.zeros(problem.X.shape[1] + 1)
        if self.start != "zero":
            if deployed is not None and self.start == "baseline":
                start = deployed
            else:
                n, codes = len(main.labels), main.true
                weight = None if problem.weight is None else problem.weight[:n]
                weight = None if weight is None else weight / row_unit(weight)
                if self.start == "baseline" and main.deployed is not None:
                    codes = main.deployed
                start = logistic(problem.X[:n], np.asarray(codes) == 1, weight, rng)
            start = normed(start, problem.X, problem.weight)
        tol = _TOL if data.limits.tol is None else data.limits.tol
        how: dict[str, Any] = {"tol": tol, "drawn": self.randomized, "limits": limits}
        if isinstance(solver, CuttingPlane):
            how |= {"chooser": solver.chooser, "svm": solver.svm, "seed": seed}
            search: RampSearch = MajorizeMinimize(problem, start, **how)
        else:
            search = AugmentedLagrangian(problem, start, rng=rng, **how)
        search.solved()  # a limit or Ctrl-C ends it early
        rivals = {"the start": start} if start.any() else {}
        if deployed is not None:
            rivals["the deployed model"] = normed(deployed, problem.X, problem.weight)
        self.multipliers_ = prices(problem, search.multipliers)
        asked = self.randomized, self.on_infeasible
        return RampTraining(data.judged, problem, factor, search, rivals, *asked)

    def _transformed(self, features: Any, X: Any) -> Any:
        features = super()._transformed(features, X)
        if self.score_feature_ is None:
            return features
        column = self.score_feature_.values(X)[:, None]
        if sparse.issparse(features):
            both: Any = [features, sparse.csr_matrix(column)]
            return sparse.hstack(both).tocsr()
        return np.hstack([features, column])

    def _datasets(self, datasets: Any, X: Any, column: str | None) -> dict[str, Dataset]:
        return aligned(datasets, column_names(X), column)


def _warn_small(inputs: CheckedData) -> None:
    """Say which data sets are too small for what a model reaches there to last."""
    for name, table in inputs.tables.items():
        weight = table.weight
        n_rows = inputs.n_rows[name] if weight is None else int(np.count_nonzero(weight))
        if name is not None and n_rows < _FEW_ROWS:
            warn_caller(
                f"the data set {name!r} has {n_rows} row{'s' * (n_rows != 1)}: with fewer than "
                f"{_FEW_ROWS} a bound on it says little about rows like them",
                FewRowsWarning,
            )
