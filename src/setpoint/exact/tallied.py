"""Two classes by counts of bins: the rule that the whole sort would give, in a few passes.

After each pass the cut-offs between bins are solved over as if there were no others. Bins that
could still hold a better cut-off, or an equally good one, are counted again, finer; the counts
inside a bin lie in the box between its two ends, and so does whatever a cut-off there reaches.
When no bin is left, every cut-off that could be the best was compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal, NamedTuple

from setpoint.caller import warn_caller
from setpoint.evidence.tally import Lines, Tally
from setpoint.exact.again import COLLECTED, Ranges, asked_again, rows_in
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.inside_bins import TalliedSet, is_priced, only_searched, worth_a_look
from setpoint.exact.solver import concluded_by_cutoffs, find_rule
from setpoint.program.program import LinkedGoal, Program
from setpoint.search.limits import INTERRUPTED, Limits, StoppedWarning
from setpoint.search.optimum import Optimum
from setpoint.search.outcome import SAME, NoRuleError, Outcome, Randomized

__all__ = ["Again", "Step", "solve_tallied"]

INF = float("inf")

Again = Callable[[Tally, Ranges, bool], Lines]
"""Counts the rows of some bins again: by the score itself, which closes them, or by finer bins."""


class Step(NamedTuple):
    """What is known after a pass."""

    tally: Tally
    gap: float
    bins: int
    rows: int


def solve_tallied(
    linked: LinkedGoal,
    tally: Tally,
    again: Again,
    *,
    randomized: Randomized = False,
    on_infeasible: Literal["raise", "nearest"] = "raise",
    tol: float = 1e-4,
    within: float = 1e-4,
    limits: Limits | None = None,
    collected: int = COLLECTED,
    watch: Callable[[Step], None] | None = None,
) -> tuple[Outcome, Step]:
    """The rule over thresholds that reaches a goal on counted rows."""
    finer = True
    while True:
        program = linked.at(tally.marginals)
        cuts = TalliedSet(program.table, tally)
        found: Optimum | NoRuleError
        try:
            found = find_rule(cuts, program, randomized, tol, limits)
        except NoRuleError as error:
            found = error
        kept, gap = worth_a_look(cuts, program, found, randomized)
        n_bins = sum(map(len, kept))
        proved = randomized is False and not n_bins and is_priced(program)
        step = Step(tally, _certified(found, gap, proved), n_bins, rows_in(tally, kept))
        if watch is not None:
            watch(step)
        if not step.bins or (within > 0.0 and gap <= within):
            unsure = isinstance(found, Optimum) and found.status != "optimal"
            if proved and unsure and not (limits and limits.stopped):
                # Bins that cannot win only loosened the bounds of its boxes.
                known = CutoffSet(program.table, tally)
                found = find_rule(known, program, randomized, tol, limits and limits.rest())
                step = step._replace(gap=_certified(found, gap, proved))
            break
        ranges, by_score = asked_again(tally, kept, collected, finer)
        finer = False
        try:
            tally = tally.refined(ranges, again(tally, ranges, by_score))
        except KeyboardInterrupt:
            warn_caller(
                f"{INTERRUPTED}: the rule is that of the passes before, and {step.rows} rows are "
                "not looked into",
                StoppedWarning,
            )
            break
    return _concluded(cuts, program, found, step, randomized, on_infeasible, tol), step


def _certified(found: Optimum | NoRuleError, gap: float, proved: bool) -> float:
    """By how much another rule of the kind may be better, whatever bins hold."""
    if isinstance(found, NoRuleError):
        return INF
    return max(gap, max(found.bound, -INF if proved else found.mixed) - found.value)


def _concluded(
    cuts: TalliedSet,
    program: Program,
    found: Optimum | NoRuleError,
    step: Step,
    randomized: Randomized,
    on_infeasible: Literal["raise", "nearest"],
    tol: float,
) -> Outcome:
    """The outcome, its bound for all cut-offs."""

    def known() -> Optimum:
        if isinstance(found, NoRuleError):
            # What bins hold is not known to the last one: then nothing is proved.
            raise NoRuleError(found.certain and not step.bins, found.drawing_helps)
        open_yet = step.bins or not is_priced(program)
        if open_yet and randomized is False and only_searched(cuts, program):
            # Combinations were tried of known cut-offs alone; mixtures bound them all.
            bound = max(found.bound, found.mixed)
            proved = bound - found.value <= SAME * (1 + abs(found.value))
            return replace(found, bound=bound, status=found.status if proved else "feasible")
        if not step.bins:
            return found
        return found.bounded(max(found.bound, found.value + step.gap))

    return concluded_by_cutoffs(cuts, program, known, randomized, on_infeasible, tol)
