"""A rule found anew on unlabelled rows; the model stays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from setpoint.deciding import Decision, given_rows
from setpoint.evidence import Evidence
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import CheckedData
from setpoint.plugin.available import available_columns
from setpoint.plugin.crossfit import Response
from setpoint.plugin.parameters import Options
from setpoint.plugin.solving_evidence import solve_evidence
from setpoint.plugin.thresholds import as_thresholds
from setpoint.plugin.unlabelled import require_label_free
from setpoint.report.outcome import rule_facts

if TYPE_CHECKING:
    from setpoint.plugin.classifier import PlugInClassifier

__all__ = ["Adapted", "adapted"]


@dataclass(frozen=True, eq=False)
class Adapted:
    """What was found on rows without labels."""

    decision: Decision
    evidence: Evidence
    by_posteriors: bool


def adapted(
    classifier: PlugInClassifier,
    goal: Goal,
    options: Options,
    X: Any,
    sensitive_features: Any,
    baseline: Any,
) -> Adapted:
    """The rule that is best on some rows if the model's posteriors are right."""
    if goal.is_blackbox:
        raise GoalError(f"adapt: {goal.objective} needs labels, and these rows have none")
    solver = "auto" if options.solver in ("exact", "post-shift") else options.solver
    options = replace(options, solver=solver, evidence="soft")
    require_label_free(goal)
    rows = given_rows(classifier, goal, X, None, None, sensitive_features, baseline)
    decide_on, notes = available_columns(classifier.decide_on, goal, sensitive_features, X)
    inputs = CheckedData.check(goal, classifier._classes, rows, decide_on, unlabelled=True)
    response = Response(classifier._answers.method, classifier._classes, posterior=True)
    response.name(classifier.estimator_)
    evidence = inputs.evidence({None: response(classifier.estimator_, X)})
    decision = solve_evidence(
        goal, evidence, options, table=inputs.tables[None], notes=notes, sees=inputs.sees
    )
    rule = None
    if decision.rule.n_classes == 2 and not decision.rule.value_columns:
        rule = as_thresholds(decision.rule, evidence.scores)
    if rule is None:
        return Adapted(decision, evidence, True)
    facts = rule_facts(rule, evidence, decision.report.rule.drawn)
    decision = replace(decision, rule=rule, report=replace(decision.report, rule=facts))
    return Adapted(decision, evidence, False)
