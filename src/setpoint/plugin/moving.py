"""The rule of a fitted classifier, moved to another goal on other rows; the model stays."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from setpoint.array_types import Codes
from setpoint.errors import InputError
from setpoint.estimators.base import GoalClassifier
from setpoint.evidence import Evidence
from setpoint.goals.errors import GoalError, listed
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import column_names
from setpoint.inputs.content import digests_of
from setpoint.inputs.dataset import Dataset, as_datasets
from setpoint.inputs.digest import RowDigest
from setpoint.inputs.inputs import Table
from setpoint.plugin.parameters import BASELINES, EvidenceKind, Options
from setpoint.plugin.solving_evidence import solve_evidence
from setpoint.report import GoalReport
from setpoint.report.outcome import cutoffs_of, rule_facts
from setpoint.rules import Rule
from setpoint.rules.segments import segment_in_words

__all__ = ["with_goal", "with_rule"]

C = TypeVar("C", bound=GoalClassifier)


def with_goal(classifier: C, goal: Goal, **rows: Any) -> C:
    """A copy whose rule is the best for a goal on some rows with labels."""
    _check_movable(classifier)
    evidence, table = _scored(classifier, goal, rows)
    numbers = goal.needs.measures.get(None, {})
    sees = tuple(c for c in classifier.rule_.value_columns if c in numbers)
    decision = solve_evidence(goal, evidence, _options(classifier), table=table, sees=sees)
    if decision.rule.randomized:
        key, names = classifier.draw_key_, classifier.draw_columns_
        classifier._check_drawable(rows["X"], key, names)
    report = _flattered(decision.report, _share_seen(classifier, rows, table.weight))
    out = _moved(classifier, decision.rule, report, rows)
    out.trace_ = decision.trace
    out.largest_segment_ = int(np.argmax(evidence.rows.segment_weights))
    if hasattr(out, "gap_"):
        out.gap_ = decision.report.certificate.gap
    if hasattr(classifier, "goal"):
        out.goal = str(goal)
    out._sign(_digests(rows))
    return out


def with_rule(classifier: C, rule: Rule, goal: Goal, **rows: Any) -> C:
    """A copy that decides by another rule, measured on some rows with labels."""
    _check_movable(classifier)
    _check_by_thresholds(rule)
    if goal.defers or classifier.rule_.value_columns:
        why = "defers rows between two places"
        if classifier.rule_.value_columns:
            why = f"looks at {listed(classifier.rule_.value_columns)}, too"
        raise GoalError(
            f"a threshold is one place on the score, and the model's rule {why}; move a bound"
        )
    if classifier.rule_.score_columns is not None:
        raise GoalError(
            "a threshold is a place on one score, and the model's rule goes by a score for each of "
            f"{len(classifier.classes_)} classes; move a bound of the goal"
        )
    moved, before = copy.copy(classifier), classifier.goal_report_
    looks = tuple(name for name, _ in rule.segment_keys[0]) if rule.needs_segments else ()
    moved.rule_ = rule
    moved.goal_report_ = replace(before, rule=replace(before.rule, decides_on=looks))
    evidence, table = _scored(moved, goal, rows)
    if looks:
        codes = _groups_known(rule, table)
        weight = np.ones(len(codes)) if table.weight is None else table.weight
        moved.largest_segment_ = int(np.argmax(np.bincount(codes, weight)))
    facts = rule_facts(rule, evidence, 0.0)
    moved.goal_report_ = replace(before, rule=facts, guarantee=None)
    found = moved.evaluate(**rows, goal=goal)
    # Whoever gives a rule with rows has mostly chosen it on them, as on a page.
    entries = tuple(replace(e, seen=True) for e in found.constraints)
    out = _moved(moved, rule, replace(found, constraints=entries), rows)
    out._sign(_digests(rows))
    return out


def _check_by_thresholds(rule: Rule) -> None:
    """Refuse rules of another kind than thresholds of one score."""
    kind = f"{type(rule).__name__} of {rule.n_classes} classes"
    if not cutoffs_of(rule):
        raise InputError(
            "`rule` is one threshold of the score of two classes, or one for each group, found a "
            f"{kind}"
        )
    if rule.randomized:
        raise InputError(
            f"`rule` decides without draws, found a {kind} with a soft edge; set its width to 0"
        )


def _groups_known(rule: Rule, table: Table) -> Codes:
    """Which segment of a rule each row is of."""
    columns = table.columns
    codes = rule.segment_codes(columns)
    unseen = np.flatnonzero(codes < 0)
    if len(unseen):
        names = [name for name, _ in rule.segment_keys[0]]
        row = tuple((n, columns[n].take(unseen[:1]).values.tolist()[0]) for n in names)
        known = listed([segment_in_words(key) for key in rule.segment_keys])
        raise InputError(
            f"`rule` has no threshold for {len(unseen)} rows, as {segment_in_words(row)} in row "
            f"{unseen[0]} (it has them for {known}); leave such rows out, or choose a rule on rows "
            "that have all groups"
        )
    return codes


def _check_movable(classifier: GoalClassifier) -> None:
    if getattr(classifier, "scorer_", None) is not None:
        raise GoalError(
            "this rule decides by joint posteriors or retrained learners, which are found for one "
            "goal; fit for the new goal instead"
        )


def _options(classifier: GoalClassifier) -> Options:
    """How to search: as in the fit, where that looks at the goal."""
    solver, _ = classifier._chosen()
    options = Options.of("auto", randomized=False)
    if classifier._family == "plugin":
        own: Any = classifier
        options = own._options(solver)
        if options.solver in ("post-shift", *BASELINES):
            options = replace(options, solver="auto")
    evidence: EvidenceKind = "label"
    if classifier.goal_report_.search.evidence == "soft":
        evidence = "soft"
    return replace(options, evidence=evidence, on_infeasible="raise")


def _scored(classifier: GoalClassifier, goal: Goal, rows: dict[str, Any]) -> tuple[Evidence, Table]:
    """The rows with the scores that rules decide by."""
    names = ("X", "y", "sample_weight", "sensitive_features", "baseline", "datasets")
    given, seen = classifier._seen(goal, *(rows.get(name) for name in names))
    scores = {name: classifier._scores(given[name].X) for name in seen.tables}
    return seen.evidence(scores), seen.tables[None]


def _share_seen(classifier: GoalClassifier, rows: dict[str, Any], weight: Any) -> float:
    """The share of the rows that are rows of the fit."""
    digest = getattr(classifier, "digest_", None)
    return 0.0 if digest is None else float(digest.share_of(rows["X"], weight))


def _flattered(report: GoalReport, known: float) -> GoalReport:
    """The report where some of its rows are rows of the fit."""
    entries = tuple(replace(e, seen=known > 0.0) for e in report.constraints)
    return replace(report, counts=replace(report.counts, seen=known), constraints=entries)


def _moved(classifier: C, rule: Rule, report: GoalReport, rows: dict[str, Any]) -> C:
    """A copy with another rule; the rows that it was chosen on count as rows of the fit."""
    out = copy.copy(classifier)
    out.rule_, out.goal_report_, out.evidence_ = rule, report, None
    digest = getattr(classifier, "digest_", None)
    if digest is not None:
        names = column_names(rows["X"])
        out.digest_ = digest | RowDigest.of(rows["X"], names, rows.get("sample_weight"))
    return out


def _digests(rows: dict[str, Any]) -> dict[str, str]:
    """The digests of the rows that a rule was moved on, as in ``fit``."""
    names = ("sample_weight", "sensitive_features", "baseline")
    own = Dataset(rows["X"], rows.get("y"), **{name: rows.get(name) for name in names})
    others = {f"{name}: ": part for name, part in as_datasets(rows.get("datasets")).items()}
    return digests_of({"": own, **others})
