"""The steps of a fit, from checked rows to a trained model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from setpoint.array_types import Codes, Floats
from setpoint.deciding import FitData
from setpoint.errors import InputError
from setpoint.evidence import Rows
from setpoint.inputs.inputs import CheckedData
from setpoint.inputs.min_support import least_accepted, row_unit
from setpoint.program.link import link
from setpoint.ramp.datasets import norm_factor, stacked
from setpoint.ramp.parameters import LIMITS
from setpoint.ramp.problem import Problem
from setpoint.ramp.score_feature import ScoreFeature
from setpoint.ramp.selection import Model
from setpoint.ramp.solvers.augmented_lagrangian import augmented_lagrangian
from setpoint.ramp.solvers.majorize import majorize_minimize
from setpoint.ramp.solvers.search import Solved
from setpoint.ramp.start import logistic, normed, of_score
from setpoint.search.limits import Limits
from setpoint.solvers import CuttingPlane

__all__ = ["Prepared", "prepare", "train", "with_score"]


@dataclass(frozen=True, eq=False)
class Prepared:
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


def prepare(estimator: Any, inputs: CheckedData, features: Mapping[str | None, Any]) -> Prepared:
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
    return Prepared(problem, rows, n_main, factor, deployed)


def train(
    estimator: Any, data: FitData, prepared: Prepared, score: ScoreFeature | None, limits: Limits
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
    estimator: Any, prepared: Prepared, score: ScoreFeature | None, rng: np.random.Generator
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
