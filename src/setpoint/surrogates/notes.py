"""The rule of the model that is kept, and what the report says of the search."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from setpoint.blackbox import BudgetedMetric, FormulaMetric
from setpoint.counts import Evidence
from setpoint.estimators import (
    FitData,
    decide,
)
from setpoint.goals import Goal
from setpoint.guarantees import (
    Certification,
)
from setpoint.parameters import SATISFIED
from setpoint.program import LinkedGoal, link
from setpoint.report import (
    Entry,
    GoalReport,
    measured_entry,
)
from setpoint.rules import Threshold
from setpoint.search import Found
from setpoint.solvers import AdaptiveSurrogates
from setpoint.surrogates.problem import PreparedSamples
from setpoint.surrogates.selection import SearchPlan, Selected
from setpoint.surrogates.solvers import BestCandidates, Move
from setpoint.surrogates.summary import AdaptiveStep, AdaptiveSummary

Certify: TypeAlias = Callable[[Callable[[Found], Sequence[Found]]], Certification | None]

_FEW = 50
"""Rows of a class below which a report warns."""

_PROBE = "interpolation"
"""The estimate of the probe, the only one of a search over weights."""

_NORMAL = 1.959964
"""Standard errors on either side of a 95 % interval."""


def decided(
    data: FitData,
    plan: SearchPlan,
    prepared: PreparedSamples,
    metered: BudgetedMetric,
    found: Selected,
    steps: Sequence[Move],
    met: BestCandidates,
    certification: Certify | None = None,
) -> tuple[Found, GoalReport]:
    """The rule of the model kept, and the report with a summary of the search."""
    judged = data.judged.take(prepared.index)
    rows = judged.evidence({None: found.scores})
    linked = link(data.goal, rows.codebook)
    plain = _outcome(linked, rows, metered, found, plan)
    known = {m.tobytes(): m for m in (c.models for c in met.found)}
    known.pop(found.models.tobytes(), None)

    def models(first: Found) -> list[Found]:
        """Each with scores of the rows by the models of their folds."""
        score = prepared.sample.scores
        others = [(m, judged.evidence({None: score(m)})) for m in known.values()]
        return [first, *(replace(first, evidence=e, model=m[-1]) for m, e in others)]

    kept, report = decide(
        linked,
        plain,
        [],
        family="surrogates",
        folds=prepared.folds,
        notes=_notes(found, plain.status, metered, certified=data.certifying is not None),
        table=judged.tables[None],
        started=data.started,
        certification=None if certification is None else certification(models),
    )
    summary = summarize(plan, prepared, metered, found, steps)
    return kept, replace(report, sections=(summary, *report.sections))


def summarize(
    plan: SearchPlan,
    prepared: PreparedSamples,
    metered: BudgetedMetric,
    found: Selected,
    steps: Sequence[Move],
) -> AdaptiveSummary:
    """The search in plain values."""
    sense, solver = metered.metric.sense, plan.solver
    model = "the network" if prepared.body is not None else "logistic regression"
    cut = "a smoothed cut-off" if plan.smooth is not None else "the best cut-off"
    baseline = f"{model} with {cut}" if found.cuts else model
    if isinstance(metered.metric, FormulaMetric) and metered.metric.goal.constraints:
        baseline += f", less {metered.metric.penalty:g} for a unit of violation,"
    return AdaptiveSummary(
        baseline=baseline,
        baseline_value=found.baseline_value,
        best_value=found.best_value,
        accepted=found.accepted,
        why=found.why,
        error=found.error,
        n_bootstrap=len(found.draws),
        evaluations=metered.used,
        budget=plan.budget,
        search="weights" if plan.over_weights else "gradient",
        gradient=solver.gradient if isinstance(solver, AdaptiveSurrogates) else _PROBE,
        start=found.start,
        surrogates=prepared.sample.names,
        path=tuple(
            AdaptiveStep(s.start, s.used, sense * s.gain, tuple(s.weights.tolist())) for s in steps
        ),
        greater_is_better=sense > 0,
    )


def _outcome(
    linked: LinkedGoal,
    rows: Evidence,
    metered: BudgetedMetric,
    found: Selected,
    plan: SearchPlan,
) -> Found:
    """What the model kept reaches on the metric's rows: positive from a score of 0 on."""
    rule, goal = Threshold(0.0), linked.goal
    confusion = rows.confusion(rule)
    v, misses = np.zeros(0), False
    if not goal.is_blackbox:
        program = linked.at(rows.marginals)
        v = program.rates_of(confusion.counts)
        misses = bool(goal.constraints and program.violation(v) > SATISFIED)
    how = "a search over the surrogates' weights" if plan.over_weights else "Algorithm 1"
    result = "what it found is kept" if found.accepted else "the baseline is kept"
    return Found(
        [],
        rule,
        confusion,
        v,
        rows,
        f"{how}: {found.why}; {result}",
        "nearest" if misses else "feasible",
        n_calls=metered.used,
        solver=plan.solver.name,
        objective=_objective(goal, metered, found),
        model=found.models[-1],
    )


def _objective(goal: Goal, metered: BudgetedMetric, found: Selected) -> Entry | None:
    """The value of a black box with its bootstrap interval; None for goals that are counted."""
    if not goal.is_blackbox:
        return None
    entry = measured_entry(goal, metered.metric, found.value)
    if len(found.draws) < 2:
        return entry
    half = _NORMAL * float(found.draws.std(ddof=1))
    return replace(entry, low=found.value - half, high=found.value + half, interval="bootstrap")


def _notes(found: Selected, status: str, metered: BudgetedMetric, *, certified: bool) -> list[str]:
    """What the report adds."""
    notes = []
    if not found.cuts:
        notes.append(
            "The metric does not depend on the cut-off, which stays where the model has it: at a "
            "score of 0."
        )
    if certified:
        return [*notes, *metered.limits.notes]
    if status == "nearest":
        notes.append("Constraints cost here and are not enforced: at least one does not hold.")
    fewest = int(np.bincount(metered.metric.true, minlength=2)[:2].min())
    if fewest < _FEW:
        notes.append(
            f"The metric was measured on rows of which only {fewest} are of the rarer class: with "
            "so few, the model that looks best often is not, also where its gain was accepted."
        )
    if found.accepted:
        notes.append(
            "The metric chose among many models on these rows, which flatters it; rows held out "
            "judge it."
        )
    return [*notes, *metered.limits.notes]
