"""From rows with scores to a rule: which search, what the rule looks at, the report."""

from __future__ import annotations

from dataclasses import replace

from setpoint.array_types import Codes, Floats
from setpoint.blackbox.budget import RowMetric
from setpoint.deciding import Certify, Decision, Found, decide, split_scored
from setpoint.evidence import Evidence
from setpoint.exact import solve_exact
from setpoint.goals.goal import Goal
from setpoint.inputs.inputs import Table
from setpoint.plugin.choose_evidence import search_by_either
from setpoint.plugin.choose_sight import Sight, choose_sight
from setpoint.plugin.parameters import BASELINES, EvidenceKind, Options
from setpoint.plugin.searching import search_rule
from setpoint.plugin.solvers.post_shift import shift_rule
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal
from setpoint.report.measured import measured_entry
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.limits import INTERRUPTED, now
from setpoint.search.moved_bounds import worked_with
from setpoint.search.outcome import Outcome
from setpoint.solvers import Confidence

__all__ = ["outcome_on", "solve_evidence"]


_BLIND = (
    "The rule does not see what the deployed model says, so nothing is certified. Given that "
    "prediction as a column too, and named in decide_on, it can come nearer the goal."
)


_OVER_SETS = (
    "The rule looks at the score alone, whatever a row is worth: where a goal refers to further "
    "data sets, rules do not look at columns of values."
)
_OF_SCORES = ("exact", *BASELINES)
"""Solvers whose rules look at scores alone."""


def solve_evidence(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    *,
    table: Table | None = None,
    counted: Evidence | None = None,
    folds: int | None = None,
    notes: tuple[str, ...] = (),
    metric: RowMetric | None = None,
    neutral: float = 0.0,
    confidence: Confidence | None = None,
    certify: Certify | None = None,
    blocks: Codes | None = None,
    sees: tuple[str, ...] = (),
) -> Decision:
    """Link, solve, count and report; what ``solve`` and ``PlugInClassifier`` share."""
    options = replace(options, started=now())
    linked = link(goal, evidence.codebook)
    if confidence is not None and certify is None:
        whole = options.randomized is False and not sees
        evidence, certify, table = split_scored(
            linked, evidence, table, confidence, whole=whole, blocks=blocks
        )
    hidden = evidence.codebook.hides_strata and evidence.n_scores is not None
    if options.solver == "post-shift":

        def find(inwards: Floats | None = None) -> Found:
            outcome, value = shift_rule(goal, evidence, options, metric, neutral)
            entry = None if metric is None else measured_entry(goal, metric, value)
            return Found(outcome, evidence, entry)
    else:
        if hidden and any(c.baseline is not None for c in evidence.strata):
            notes += (_BLIND,)

        aware, sight = None, None
        if goal.needs.measures and goal.needs.datasets:
            notes += (_OVER_SETS,)
        if sees and options.solver not in _OF_SCORES:
            aware, why = _with_sight(evidence, sees, counted is not None)
            notes += (why,) if why else ()

        def find(inwards: Floats | None = None) -> Found:
            nonlocal options, sight
            rows = evidence
            try:
                if aware is None:
                    outcome = _outcome(linked, evidence, options, counted, inwards)
                else:
                    outcome, rows, sight = _by_sight(
                        linked, evidence, aware, options, inwards, sight
                    )
            except InfeasibleError as error:
                error.evidence = evidence
                raise
            if certify is not None and options.evidence == "auto":  # chosen once
                kind: EvidenceKind = "label" if outcome.expected is None else "soft"
                options = replace(options, evidence=kind)
            return Found(outcome, rows)

    return decide(
        linked,
        find,
        family="plugin",
        folds=folds,
        notes=notes,
        table=table,
        certification=None if certify is None else certify(find),
    )


def outcome_on(
    linked: LinkedGoal, evidence: Evidence, options: Options, sees: tuple[str, ...] = ()
) -> tuple[Outcome, Evidence]:
    """What the solver for these scores finds, and the rows as its rule looks at them."""
    if sees and options.solver not in _OF_SCORES:
        aware, _ = _with_sight(evidence, sees, joint=False)
        if aware is not None:
            return _by_sight(linked, evidence, aware, options)[:2]
    return _outcome(linked, evidence, options, None), evidence


def _with_sight(
    evidence: Evidence, sees: tuple[str, ...], joint: bool
) -> tuple[Evidence | None, str]:
    """The rows for rules that look at columns by which rows count; None, and why, if none may."""
    columns = " and ".join(sees)
    if joint:
        return None, (
            f"The rule looks at the score alone and not at {columns}: rules that go by posteriors "
            "of group and class do not look at columns of values."
        )
    if evidence.n_scores is None and not evidence.may_be_posteriors:
        return None, (
            f"The rule looks at the score alone and not at {columns}: expected values need "
            "probabilities, and the scores go beyond 0 and 1."
        )
    return evidence.with_values(sees), ""


def _by_sight(
    linked: LinkedGoal,
    evidence: Evidence,
    aware: Evidence,
    options: Options,
    inwards: Floats | None = None,
    sight: Sight | None = None,
) -> tuple[Outcome, Evidence, Sight]:
    """The best rule over the score, or over the columns by which rows count, too."""
    settled, why = sight is not None, ""
    if sight is None:
        sight, why = "soft", "there are no labels"
        if evidence.has_labels:
            try:
                sight, why = choose_sight(linked.goal, aware, options)
            except KeyboardInterrupt as error:
                sight, why = "score", "a rule over the score alone, as none was chosen by then"
                options.watch().stop(error)  # which warns
                options = replace(options, stopped=INTERRUPTED)
    if sight != "score":
        own = replace(options, evidence=sight)
        try:
            outcome = search_rule(linked.goal, aware, own, None, inwards)
        except InfeasibleError:
            if settled:
                raise
            why = f"no rule was found that looks at {' and '.join(aware.sees)} and meets the goal"
        else:
            return _because(outcome, why), aware, sight
    return _because(_outcome(linked, evidence, options, None, inwards), why), evidence, "score"


def _because(outcome: Outcome, why: str) -> Outcome:
    return replace(outcome, why="; ".join(x for x in (outcome.why, why) if x))


def _outcome(
    linked: LinkedGoal,
    evidence: Evidence,
    options: Options,
    counted: Evidence | None,
    inwards: Floats | None = None,
) -> Outcome:
    """What the solver for these scores finds, and why it was taken."""
    goal = linked.goal
    if evidence.n_scores is None:
        program = linked.at(evidence.marginals)
        return solve_exact(
            program if inwards is None else worked_with(program, inwards),
            evidence,
            randomized=options.randomized,
            on_infeasible=options.on_infeasible,
            tol=options.tol,
            limits=options.watch(),
        )
    why = ""
    if evidence.has_labels:
        linked.at(evidence.marginals)  # posteriors would fill in for a class without rows
    if options.solver in BASELINES:
        options = replace(options, evidence="label")
    elif counted is not None:
        options = replace(options, evidence="soft")
    elif options.evidence == "auto":
        return _because(*search_by_either(goal, evidence, options))
    return _because(search_rule(goal, evidence, options, counted, inwards), why)
