"""From what a search found to a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setpoint.evidence import Evidence
from setpoint.program.program import LinkedGoal
from setpoint.report.counting import report_on
from setpoint.report.entry import Entry
from setpoint.report.operating import operating_points
from setpoint.report.report import GoalReport
from setpoint.rules import ClassNames
from setpoint.search.limits import TracePoint
from setpoint.search.outcome import Outcome

__all__ = ["report_on_outcome"]


def report_on_outcome(
    linked: LinkedGoal,
    outcome: Outcome,
    evidence: Evidence,
    *,
    objective: Entry | None = None,
    family: str,
    why: str,
    solver: str | None = None,
    folds: int | None = None,
    notes: Sequence[str] = (),
    trace: Sequence[TracePoint] | None = None,
    seconds: float | None = None,
) -> GoalReport:
    """The report of what a search found, counted by labels.

    Parameters
    ----------
    linked : LinkedGoal
    outcome : Outcome
    evidence : Evidence
        The rows that the rule was found on.
    objective, family, why, folds, seconds
        As in :func:`report_on`.
    solver, trace : optional
        Those of `outcome` where nothing else is said. With a `trace` of something else its
        calls are not reported.
    notes : sequence of str
        Warnings of the report.
    """
    soft = outcome.expected
    steps = outcome.trace if trace is None else trace
    report = report_on(linked, outcome.confusion, objective=objective, warnings=notes)
    return replace(
        report,
        status=outcome.status,
        family=family,
        solver=solver or outcome.solver,
        why=why,
        gap=_number(outcome.gap),
        bound_on_objective=_number(outcome.bound),
        rivals=outcome.rivals,
        with_draws=_number(outcome.with_draws),
        evidence="label" if soft is None else "soft",
        expected_objective=None if soft is None else float(soft.objective),
        expected_violation=None if soft is None else float(soft.violation),
        calibration=None if soft is None else _number(soft.calibration),
        folds=folds,
        randomized=float(outcome.randomized_share),
        rule=outcome.rule.explain(ClassNames(evidence.classes)),
        decides_on=tuple(evidence.decide_on) if outcome.rule.needs_segments else (),
        blame={text: float(share) for text, share in (outcome.blame or {}).items()},
        n_oracle_calls=None if trace is not None else outcome.n_calls,
        operating=operating_points(linked, evidence, outcome.rule),
        trace=tuple((t.call, t.objective, t.bound, t.violation) for t in steps),
        seconds=_number(seconds),
    )


def _number(x: float | None) -> float | None:
    return None if x is None else float(x)
