"""Ways from drawn rows to a rule, for the benchmarks of guarantees: ours, and what others do.

Each takes drawn rows and gives the rule, or None where it refuses. Ours are the library's own
calls on the rows. No command of its own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from guarantees_data import Population, Rows
from guarantees_goals import Asked
from sklearn.base import BaseEstimator, ClassifierMixin

from setpoint import NotCertifiable, solve
from setpoint.goals import Goal
from setpoint.guarantees import Certification, Unshown, certified
from setpoint.inference import at_least
from setpoint.inputs import CheckedData, GivenRows, classes_of
from setpoint.program import link
from setpoint.rules import Rule, Threshold
from setpoint.search import InfeasibleError, solve_exact
from setpoint.solvers import Confidence

LEVEL = 0.05
N_CUTOFFS = 100


# ---------------------------------------------------------------------- ours
def certified_by_solve(asked: Asked, rows: Rows, confidence: float | None = 1 - LEVEL) -> Any:
    """Scores alone: every cut-off on all rows, or a path on some and its tests on the others."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return solve(
                asked.text,
                rows.scores,
                rows.y,
                classes=[0, 1],
                confidence=confidence,
                **rows.given(asked.text),
            ).rule
        except (InfeasibleError, NotCertifiable):
            return None


def certified_by_path(asked: Asked, learnt: Rows, tested: Rows) -> Any:
    """As a fit does it: a path on rows that the model has scores of, tests on as many others."""
    goal = Goal.parse(asked.text)
    first, second = _evidence(goal, learnt), _evidence(goal, tested)
    assert first.codebook.strata == second.codebook.strata
    linked = link(goal, first.codebook)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = solve_exact(linked.at(first.marginals), first)
            how = Certification(Confidence(1 - LEVEL), lambda _: second)
            return certified(linked, found, how)[0].rule
        except (InfeasibleError, Unshown):
            return None


def _evidence(goal: Goal, rows: Rows) -> Any:
    given = rows.given(str(goal))
    own = GivenRows(
        len(rows.y), rows.y, None, given.get("sensitive_features"), given.get("baseline")
    )
    classes = classes_of(rows.y, [0, 1], None, goal=goal)
    checked = CheckedData.check(goal, classes, {None: own}, "auto")
    return checked.evidence({None: rows.scores})


# ---------------------------------------------------------------------- others
class Curve:
    """Counts (m, 2, 2, 2, 2) at the cut-offs of drawn rows."""

    def __init__(self, rows: Rows, values: np.ndarray | None = None) -> None:
        values = np.unique(rows.scores)[::-1] if values is None else values
        one = Population("", np.ones(len(rows.y)), rows)
        self.values = values
        self.counts = one.at(values)[1:]

    def best(self, asked: Asked, allowed: np.ndarray) -> Rule | None:
        objective = np.where(allowed, asked.objective(self.counts), -np.inf)
        at = int(np.argmax(objective))
        return Threshold(float(self.values[at])) if objective[at] > -np.inf else None


def tuned(asked: Asked, rows: Rows, errors: float) -> Rule | None:
    """The best cut-off that meets the constraint by so many of its standard errors."""
    assert asked.trials is not None
    curve = Curve(rows)
    k, m, q = asked.trials(curve.counts)
    share = k / np.maximum(m, 1)
    error = np.sqrt(share * (1 - share) / np.maximum(m, 1))
    return curve.best(asked, (m > 0) & (share - errors * error >= q - 1e-12))


def bonferroni(asked: Asked, rows: Rows, population: Population) -> Rule | None:
    """The best of 100 cut-offs with the same exact p-value, each at its share of the level."""
    assert asked.trials is not None
    curve = Curve(rows, population.quantiles(N_CUTOFFS))
    k, m, q = asked.trials(curve.counts)
    p = at_least(np.rint(k), np.rint(m), q)
    return curve.best(asked, p <= LEVEL / N_CUTOFFS)


class _Given(ClassifierMixin, BaseEstimator):
    """A model whose scores are the rows."""

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.column_stack([1.0 - X, X])


METHODS = ("bonferroni", "bonferroni_holm", "fixed_sequence")


def mapie(asked: Asked, rows: Rows, method: str) -> Rule | None:
    """MAPIE's control of a risk, its list of cut-offs in the order that suits the risk."""
    from mapie.risk_control import BinaryClassificationController, BinaryRisk

    risk: Any = asked.name
    bound = asked.bound
    if risk == "f1":
        risk = BinaryRisk(
            risk_occurrence=lambda true, given: (true == 1) & (given == 1),
            risk_condition=lambda true, given: (true == 1) | (given == 1),
            higher_is_better=True,
        )
        bound = bound / (2 - bound)
    cutoffs = np.linspace(0, 0.99, 100)
    controller = BinaryClassificationController(
        _Given().predict_proba,
        {"predicted_rate": "predicted_positive_fraction"}.get(risk, risk)
        if isinstance(risk, str)
        else risk,
        target_level=float(bound),
        confidence_level=1 - LEVEL,
        best_predict_param_choice="precision" if asked.name == "recall" else "recall",
        list_predict_params=cutoffs if asked.name == "recall" else cutoffs[::-1],
        fwer_method=method,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        controller.calibrate(rows.scores, rows.y)
    found = controller.best_predict_param
    return None if found is None else Threshold(float(found))
