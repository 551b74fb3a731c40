"""Where the search for a model begins."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from setpoint.array_types import Codes, Floats
from setpoint.deciding import FitData, Found
from setpoint.errors import InputError
from setpoint.estimators.linear_rule import linear_scores, most_models
from setpoint.evidence import Evidence, Rows
from setpoint.inputs.arrays import least_accepted, row_unit
from setpoint.inputs.inputs import CheckedData
from setpoint.parameters import SATISFIED, Allowed, Number
from setpoint.program.linking import link
from setpoint.ramp.problem import Problem, Row, ScoreFeature, norm_factor, stacked
from setpoint.ramp.selection import Model
from setpoint.ramp.solvers.augmented_lagrangian import Solved, augmented_lagrangian
from setpoint.ramp.solvers.cutting_plane import majorize_minimize
from setpoint.rules import Threshold
from setpoint.search.limits import Limits
from setpoint.solvers import CuttingPlane, SearchLimits

STARTS = ("auto", "logistic", "zero", "baseline")
_MOST = 60_000
"""Rows that the logistic regression of a start looks at."""
_MIDDLE = 0.5


def logistic(X: Any, true: NDArray[Any], weight: Floats | None, rng: np.random.Generator) -> Floats:
    """Coefficients and intercept (d + 1,) of a logistic regression."""
    index: Any = slice(None)
    if len(true) > _MOST:
        picked = [
            rng.choice(np.flatnonzero(true == side), size, replace=False)
            for side in (False, True)
            for size in [_share(int((true == side).sum()), len(true))]
        ]
        index = np.sort(np.concatenate(picked))
    if len(np.unique(true[index])) < 2:
        return np.zeros(X.shape[1] + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is a start only
        model = LogisticRegression(C=1.0, max_iter=100)
        model.fit(X[index], true[index], None if weight is None else weight[index])
    return np.append(model.coef_[0], model.intercept_[0])


def _share(count: int, total: int) -> int:
    return min(count, max(_MOST * count // total, 1000))


def of_score(n_features: int, cut: float) -> Floats:
    """The deployed model itself, its score being the last of the features."""
    w = np.zeros(n_features + 1)
    w[-2], w[-1] = 1.0, -cut
    return w


def normed(w: Floats, X: Any, weight: Floats | None = None) -> Floats:
    """The same decisions with scores of which half lie within 1/2 of 0."""
    far = np.abs(linear_scores(X, w))
    order = np.argsort(far, kind="stable")
    held = np.cumsum(np.ones(len(far)) if weight is None else weight[order])
    middles = [np.searchsorted(held, 0.5 * held[-1], side) for side in ("left", "right")]
    middle = float(far[order[middles]].mean())
    return w * (_MIDDLE / middle) if middle > 0 else w


# --- What the constructor may be given ------------------------------------------------------------


_POSITIVE = Number("a number above 0", 0.0, False, below=float("inf"))

PARAMETERS: Mapping[str, Allowed] = {
    "C": _POSITIVE,
    "start": STARTS,
    "randomized": (False, True),
    "baseline_score_feature": ("auto", False, True),
    "min_positives": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
    "limits": SearchLimits,
    "on_infeasible": ("raise", "nearest"),
}
LIMITS = SearchLimits(tol=1e-3)
"""Where the user sets none."""
TRAINING: Mapping[str, Allowed] = {"tol": _POSITIVE}
"""What limits have to be beside what all are."""


# --- The steps of a fit, from checked rows to a trained model -------------------------------------


@dataclass(frozen=True, eq=False)
class PreparedProblem:
    """The problem to be solved, and what belongs to it."""

    problem: Problem
    rows: Rows
    n_main: int
    factor: float
    deployed: Codes | None

    def unscaled(self, w: Floats) -> Floats:
        """Coefficients for features as the preprocessor leaves them."""
        return np.append(w[:-1] * self.factor, w[-1])


def with_score(features: Any, score: ScoreFeature | None, X: Any) -> Any:
    """Features with the deployed model's score as the last, where there is one."""
    if score is None:
        return features
    column = score.values(X)[:, None]
    if sparse.issparse(features):
        both: Any = [features, sparse.csr_matrix(column)]
        return sparse.hstack(both).tocsr()
    return np.hstack([features, column])


def prepare(
    estimator: Any, inputs: CheckedData, features: Mapping[str | None, Any]
) -> PreparedProblem:
    """The rows of all data sets as one problem."""
    rows = inputs.rows
    program = link(inputs.goal, rows.codebook).at(rows.marginals)
    used = {name: features[name] for name in inputs.tables}
    kept = {
        name: None if part.weight is None or part.weight.all() else part.weight > 0
        for name, part in inputs.tables.items()
    }
    main = kept[None]
    n_main = inputs.n_rows[None] if main is None else int(main.sum())
    weight = None if rows.weight is None else rows.weight[:n_main]
    unit = row_unit(weight)
    total = float(n_main if weight is None else weight.sum())
    positive = rows.true[:n_main] == 1
    positives = float(positive.sum() if weight is None else weight[positive].sum())
    least = least_accepted(estimator.min_positives, positives, unit)
    if least > total:
        raise InputError(
            f"`min_positives` is {least:g}, and the rows of X have a weight of {total:g}"
        )
    factor = norm_factor(used[None], inputs.tables[None].weight)
    problem = Problem(
        stacked(used, kept, factor),
        rows.kind.astype(np.int64),
        rows.weight,
        program,
        2.0 * unit / (float(estimator.C) * total),
        least,
    )
    problem.rows  # noqa: B018  # a bound of another shape is refused before any work
    deployed = inputs.tables[None].deployed
    if deployed is not None and main is not None:
        deployed = deployed[main]
    return PreparedProblem(problem, rows, n_main, factor, deployed)


def train(
    estimator: Any,
    data: FitData,
    prepared: PreparedProblem,
    score: ScoreFeature | None,
    limits: Limits,
) -> tuple[Solved, list[Model]]:
    """Find the model, beside those that were there before; a limit or Ctrl-C ends it early."""
    seed = data.key % 2**32
    rng = np.random.default_rng(seed)
    problem, solver = prepared.problem, data.solver
    start = _start(estimator, prepared, score, rng)
    tol = data.limits.filled(LIMITS).tol
    assert tol is not None
    if isinstance(solver, CuttingPlane):
        solved = majorize_minimize(
            problem,
            start,
            tol=tol,
            chooser=solver.chooser,
            svm=solver.svm,
            drawn=estimator.randomized,
            limits=limits,
            seed=seed,
        )
    else:
        solved = augmented_lagrangian(
            problem, start, tol=tol, drawn=estimator.randomized, limits=limits, rng=rng
        )
    rivals = [Model("the start", start)] if start.any() else []
    if score is not None:
        deployed = of_score(problem.X.shape[1], score.cut * prepared.factor)
        rivals.append(Model("the deployed model", normed(deployed, problem.X, problem.weight)))
    return solved, rivals


def _start(
    estimator: Any, prepared: PreparedProblem, score: ScoreFeature | None, rng: np.random.Generator
) -> Floats:
    """The model from which the search begins, its cut-off adjusted to the goal."""
    problem, n = prepared.problem, prepared.n_main
    d = problem.X.shape[1]
    kind = estimator.start
    if kind == "zero":
        return np.zeros(d + 1)
    weight = None
    if problem.weight is not None:
        weight = problem.weight[:n] / row_unit(problem.weight[:n])
    if kind == "baseline" and score is not None:
        w = of_score(d, score.cut * prepared.factor)
    else:
        codes = prepared.rows.true[:n]
        if kind == "baseline":
            assert prepared.deployed is not None
            codes = prepared.deployed
        w = logistic(problem.X[:n], codes == 1, weight, rng)
    return normed(w, problem.X, problem.weight)


# --- Models of a training that are tried on rows that certify -------------------------------------


_SHIFTS = np.linspace(0.02, 0.98, 25)
"""Shares of the rows below the cut-offs that are tried of a model that draws."""


def with_parameters(found: Found, prepared: PreparedProblem) -> Found:
    """What was found, its model for features as the preprocessor leaves them."""
    return replace(found, model=prepared.unscaled(found.model))


def models_of(
    found: Found,
    prepared: PreparedProblem,
    solved: Solved,
    rivals: Sequence[Model],
    randomized: bool,
) -> list[Found]:
    """The iterates of a training, and the models that were there before it."""
    weights = [solved.best.w, *(m.w for m in rivals)]
    n = max(most_models(found.evidence.n_rows) - len(weights), 1)
    some = np.unique(np.linspace(0, len(solved.path) - 1, n).astype(int))
    weights += [solved.path[i].w for i in some.tolist()]
    different = {w.tobytes(): w for w in weights}.values()
    out = [found]
    for w in different:
        scored = Evidence(prepared.rows, linear_scores(prepared.problem.X, w))
        other = replace(found, evidence=scored, model=prepared.unscaled(w))
        out += _drawn(other, prepared) if randomized else [other]
    return out


def _drawn(found: Found, prepared: PreparedProblem) -> list[Found]:
    """A model that draws, at several cut-offs."""
    program, out = prepared.problem.program, []
    for cut in (0.0, *np.unique(np.quantile(found.rows.scores, _SHIFTS)).tolist()):
        rule = Threshold(float(cut), width=1.0)
        confusion = found.evidence.confusion(rule)
        outcome = replace(
            found.outcome,
            rule=rule,
            v=program.rates_of(confusion.counts),
            confusion=confusion,
            randomized_share=found.rows.undecided(rule),
        )
        out.append(replace(found, outcome=outcome))
    return out


def meets_floors(floors: Sequence[Row], counts: Floats) -> NDArray[np.bool_]:
    """Whether rules (m,) keep the denominators off 0, by counts (entries, m)."""
    accepted = counts[1::2]
    out = np.ones(counts.shape[1], bool)
    for row in floors:
        out &= row.coefs @ accepted + row.const <= SATISFIED
    return out
