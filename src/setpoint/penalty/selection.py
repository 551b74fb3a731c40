"""From trained scores to the rule, by the exact solver of thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

from setpoint.deciding import Found
from setpoint.evidence import Evidence
from setpoint.exact import solve_exact
from setpoint.goals.expressions import Metric
from setpoint.goals.goal import Goal
from setpoint.penalty.candidates import Pool
from setpoint.penalty.plan import Plan
from setpoint.program.link import link
from setpoint.search.infeasibility import InfeasibleError, not_found
from setpoint.search.outcome import Outcome

__all__ = ["best_threshold", "selection_notes"]

_ROUNDING = 1e-9


def best_threshold(
    goal: Goal, evidence: Evidence, pool: Pool[Any], on_infeasible: Literal["raise", "nearest"]
) -> Found:
    """The best threshold on the champion's scores."""
    outcome = _best_threshold(goal, evidence, pool, on_infeasible)
    if outcome.status == "optimal":
        outcome = replace(outcome, status="feasible")
    champion = pool.champion
    n_methods = len(pool.best)
    who = f"{champion.method}, the best of {n_methods} methods;"
    if n_methods == 1:
        who = f"{champion.method}:"
    why = f"{who} {pool.n_offered:,} iterates judged by their best threshold; {outcome.why}"
    # The threshold is the best one on these scores; of other models nothing is proved.
    return Found(replace(outcome, gap=None, bound=None, why=why), evidence)


def _best_threshold(
    goal: Goal, evidence: Evidence, pool: Pool[Any], on_infeasible: Literal["raise", "nearest"]
) -> Outcome:
    """The best threshold; where it accepts too few rows, the best that accepts enough."""

    def solved(asked: Goal) -> Outcome:
        program = link(asked, evidence.codebook).at(evidence.marginals)
        program = program.changed(goal=goal)  # what messages name
        return solve_exact(program, evidence, randomized=False, on_infeasible=on_infeasible)

    try:
        free = solved(goal)
    except InfeasibleError as error:
        who = (
            f"none of the {pool.n_offered:,} iterates that were trained was found to meet the goal"
        )
        raise not_found(error, who, "thresholds") from None
    accepted = float(free.confusion.counts[:, :, 1].sum())
    if accepted >= pool.least * (1.0 - _ROUNDING):
        return free
    share = pool.least * (1.0 - _ROUNDING) / float(pool.goal.totals.sum())
    try:
        return solved(goal.subject_to(Metric("predicted_rate") >= share))
    except InfeasibleError as error:
        raise InfeasibleError(
            f"no threshold on the best of {pool.n_offered:,} iterates meets the goal and predicts "
            f"{pool.least:g} rows positive, as `min_positives` asks; with {accepted:g} rows it is "
            "met",
            violation=error.violation,
        ) from None


def selection_notes(plan: Plan, *, certified: bool = False) -> list[str]:
    """Notes for the report, which counts on rows that chose unless others certify."""
    notes, pool = [], plan.pool
    if pool.least > 0:
        what = "rows have" if pool.weight is None else "of the rows' weight has"
        notes.append(
            f"At least {pool.least:g} {what} to be predicted positive: precision on fewer says "
            "nothing. `min_positives` sets it."
        )
    if not certified:
        notes.append(_flattered(plan))
    first = pool.best.get(plan.stages[0].name)
    if len(pool.best) > 1 and first is not None and pool.champion.cut.rank <= first.cut.rank:
        notes.append("Nothing improved on cross-entropy on these rows.")
    return notes


def _flattered(plan: Plan) -> str:
    """What the report says of the rows that it counts on."""
    if plan.choose is None:
        return (
            f"What is counted on the {len(plan.train):,} rows that the model was trained on "
            "flatters it, as the best of its many iterates there was kept: new rows will do "
            "worse. `validation_fraction` holds rows out."
        )
    return (
        f"Iterate and threshold were chosen on {len(plan.choose):,} rows held out from "
        "training: what is counted on them flatters the model somewhat."
    )
