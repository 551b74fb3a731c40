"""From a trained model to the rule and its report: decisions are counted, not estimated."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence import Evidence
from setpoint.exact import solve_exact
from setpoint.goals.goal import Goal
from setpoint.goals.program import SATISFIED, Program
from setpoint.ramp.cutoff import ROUNDING, nearest_cutoff
from setpoint.ramp.lagrangian import LARGEST_MULTIPLIER, Solved
from setpoint.ramp.problem import Problem, Row, rows_of
from setpoint.report import GoalReport, report_on_outcome, warn_few_rows
from setpoint.rules import Rule, Threshold
from setpoint.search.infeasible import Infeasible, not_found
from setpoint.search.outcome import ConstantGoalWarning, Outcome
from setpoint.search.watch import Traced

__all__ = ["decide", "prices"]

Floats = NDArray[np.float64]

_AT_THE_CAP = 0.999
_MUCH = 0.05
"""What decisions without draws may lose against the ramp before another cut-off is looked for."""


def prices(problem: Problem, multipliers: Floats) -> dict[str, float]:
    """The largest multiplier of each constraint's rows, by the constraint's text."""
    out: dict[str, float] = {}
    for row, price in zip(problem.rows, multipliers, strict=True):
        out[row.text] = max(out.get(row.text, 0.0), float(price))
    return out


def decide(
    goal: Goal,
    evidence: Evidence,
    problem: Problem,
    solved: Solved,
    *,
    least: float,
    solver: str,
    randomized: bool,
    on_infeasible: Literal["raise", "nearest"],
    notes: Sequence[str],
    trace: Sequence[Traced],
    seconds: float,
) -> tuple[Rule, GoalReport]:
    """The rule on the trained scores, and the report.

    A randomised classifier is the ramp itself. One without draws accepts scores of at
    least 0; where the counted rates violate a bound, the cut-off makes the smallest move by
    which all are met.

    Parameters
    ----------
    goal : Goal
    evidence : Evidence
        The rows with the trained scores.
    problem : Problem
    solved : Solved
    least : float
        The weight of rows that a floor under a denominator asks for.
    solver : str
    randomized : bool
    on_infeasible : {"raise", "nearest"}
    notes : sequence of str
    trace : sequence of Traced
    seconds : float
        Of training.

    Raises
    ------
    Infeasible
        If no cut-off on these scores meets the goal, unless `on_infeasible` is "nearest".
    """
    program = goal.bind(evidence.schema)
    floors = _floors(program, least)
    rule = Threshold(0.0, width=1.0 if randomized else 0.0)
    as_trained = _judged(program, evidence, rule, solved)
    caught: list[warnings.WarningMessage] = []
    if _meets(program, floors, as_trained):
        outcome = as_trained
        if not randomized and _far_off(program, problem, solved, outcome):
            outcome = _best(program, evidence, floors, outcome)
    elif randomized:
        outcome = _nearest_drawn(program, problem, solved, as_trained, on_infeasible)
    elif (cut := nearest_cutoff(program, evidence, floors)) is not None:
        outcome = _judged(program, evidence, Threshold(cut), solved)
        moved = "the cut-off moved from 0 to where the counted rates meet the bounds"
        outcome = replace(outcome, status="feasible", why=moved)
    else:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            outcome = _nearest(program, evidence, problem, solved, on_infeasible)
        if float(program.violation(outcome.v)) <= SATISFIED:
            few = (
                f"the goal is met only where a rate has fewer than {least:g} rows (by weight) to "
                "be measured on"
            )
            if on_infeasible == "raise":
                raise Infeasible(
                    f"{few}; min_positives allows that",
                    violation=0.0,
                    blame=_blame(problem, solved),
                )
            outcome = replace(outcome, status="nearest", why=few)
    report = report_on_outcome(
        goal,
        outcome,
        evidence,
        family="ramp",
        solver=solver,
        why=f"{solved.why}; {outcome.why}",
        notes=[*(str(w.message) for w in caught), *notes],
        trace=trace,
        seconds=seconds,
    )
    for w in caught:
        warnings.warn(w.message, stacklevel=3)
    _warn_constant(evidence, outcome)
    warn_few_rows(report, stacklevel=4)
    return outcome.rule, report


def _judged(program: Program, evidence: Evidence, rule: Threshold, solved: Solved) -> Outcome:
    """What a rule reaches on the rows."""
    p = rule.distribution(evidence.scores)
    confusion = evidence.confusion(p if rule.randomized else p.argmax(axis=1))
    drawn = ((p[:, 1] > 0) & (p[:, 1] < 1)).astype(np.float64)
    share = float(np.average(drawn, weights=evidence.weight))
    return Outcome(
        rule,
        program.features_of(confusion.counts),
        confusion,
        share,
        "stationary" if solved.converged else "feasible",
        None,
        None,
        "drawn by the ramp" if rule.randomized else "scores of at least 0 are accepted",
        "rule",
        solved.n_passes,
    )


def _warn_constant(evidence: Evidence, outcome: Outcome) -> None:
    counts = outcome.confusion.counts.sum(axis=(0, 1))
    if outcome.status == "nearest" or counts.all():
        return
    label = evidence.classes[int(counts.argmax())]
    warnings.warn(
        f"the model predicts {label!r} for everyone: add the constraint that is missing, or check "
        "whether the features say anything about the classes",
        ConstantGoalWarning,
        stacklevel=4,
    )


def _floors(program: Program, least: float) -> list[Row]:
    """The rows by which denominators are kept off 0."""
    if not least:
        return []
    few, many = rows_of(program, 0.0), rows_of(program, least)
    return [b for a, b in zip(few, many, strict=True) if a.const != b.const]


def _far_off(program: Program, problem: Problem, solved: Solved, outcome: Outcome) -> bool:
    """Whether the sign of the scores loses what the ramp had: all of them lie near 0."""
    drawn = problem.loss(problem.accepted(solved.best.w))[0]
    return -program.sense * float(program.value(outcome.v)) > drawn + _MUCH


def _best(
    program: Program, evidence: Evidence, floors: Sequence[Row], as_trained: Outcome
) -> Outcome:
    """The best cut-off on the trained scores, if it meets the floors as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConstantGoalWarning)  # told of the result below
        best = solve_exact(program, evidence, randomized=False)
    if not _meets(program, floors, best):
        return as_trained
    why = "the best cut-off on the scores, as 0 lay amid many of them"
    return replace(best, status="feasible", gap=None, bound=None, why=why)


def _meets(program: Program, floors: Sequence[Row], outcome: Outcome) -> bool:
    if float(program.violation(outcome.v)) > SATISFIED:
        return False
    S = np.ravel(outcome.confusion.counts[:, :, 1])
    return all(float(row.coefs @ S) + row.const <= ROUNDING for row in floors)


def _nearest(
    program: Program,
    evidence: Evidence,
    problem: Problem,
    solved: Solved,
    on_infeasible: Literal["raise", "nearest"],
) -> Outcome:
    """The cut-off with the least violation, where none meets the goal."""
    try:
        outcome = solve_exact(program, evidence, randomized=False, on_infeasible=on_infeasible)
    except Infeasible as error:
        raise _not_found(error, problem, solved) from None
    return replace(outcome, gap=None, bound=None, blame=_blame(problem, solved) or outcome.blame)


def _nearest_drawn(
    program: Program,
    problem: Problem,
    solved: Solved,
    outcome: Outcome,
    on_infeasible: Literal["raise", "nearest"],
) -> Outcome:
    """A randomised classifier that was not found to meet the goal."""
    violation = float(program.violation(outcome.v))
    if on_infeasible == "raise":
        raise _not_found(Infeasible("", violation=violation), problem, solved)
    return replace(outcome, status="nearest", blame=_blame(problem, solved))


def _not_found(error: Infeasible, problem: Problem, solved: Solved) -> Infeasible:
    """Both constraints that pull against each other are named."""
    blame = _blame(problem, solved) or error.blame
    who = f"no linear model was found that meets {'; '.join(blame)}"
    return not_found(error, who, "cut-offs", blame)


def _blame(problem: Problem, solved: Solved) -> dict[str, float]:
    """The constraints that pull against each other: multipliers at their cap, else the largest."""
    known = prices(problem, solved.multipliers)
    at_cap = {k: v for k, v in known.items() if v >= _AT_THE_CAP * LARGEST_MULTIPLIER}
    found = at_cap if len(at_cap) > 1 else {k: v for k, v in known.items() if v > 0}
    total = sum(found.values())
    return {k: v / total for k, v in found.items()} if total else {}
