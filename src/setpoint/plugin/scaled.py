"""From a table elsewhere to a rule: two classes, one score, by counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from setpoint.caller import warn_caller, without_races
from setpoint.deciding.certifying import Certification, certified, promise_of
from setpoint.deciding.decide import of_seen
from setpoint.deciding.enough import check_enough
from setpoint.deciding.found import Found
from setpoint.errors import InputError
from setpoint.evidence import Confusion
from setpoint.evidence.tally import ChangedTableError
from setpoint.exact.nested import nests
from setpoint.exact.tallied import Step, solve_tallied
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import some
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import FrameRows
from setpoint.inputs.inputs import DecideOn
from setpoint.plugin.checkpoints import Checkpoint
from setpoint.plugin.parameters import Options
from setpoint.plugin.passes import Pass, Passes
from setpoint.program.link import link
from setpoint.report import GoalReport, report_on_outcome
from setpoint.report.facts import Search
from setpoint.report.reporting import warn_few_rows
from setpoint.report.section import TextSection
from setpoint.rules import Rule
from setpoint.search.limits import now
from setpoint.search.outcome import Outcome
from setpoint.solvers import Confidence

__all__ = ["Pass", "Passes", "solve_counted"]


def solve_counted(
    goal: Goal,
    rows: Mapping[str | None, FrameRows],
    options: Options,
    *,
    within: float,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    watch: Callable[[Pass], None] | None = None,
    checkpoint: Checkpoint | None = None,
    confidence: Confidence | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule over one score that reaches a goal on tables elsewhere, and its report."""
    started = now()
    passes = Passes(goal, rows, watch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        known: dict[str, Any] = {
            "classes": classes, "pos_label": pos_label, "decide_on": decide_on,
        }  # fmt: skip
        if confidence is not None:
            whole = CountedRows.first_pass(goal, _unscored(rows), **known)
            _refuse_many(whole)
            _check_promise(whole, options, confidence)
        stored = None if checkpoint is None else checkpoint.read()
        counted = passes.first(stored=stored, **known)
        _refuse_many(counted)
        linked = link(goal, counted.codebook)
        tally = counted.tally()
        if checkpoint is not None and stored is not None:
            tally = checkpoint.refined(tally)

        def note(step: Step) -> None:
            passes.note(step)
            if checkpoint is not None:
                checkpoint.write(counted.by, counted.counts, step.tally)

        outcome, step = solve_tallied(
            linked,
            tally,
            partial(passes.again, counted),
            randomized=options.randomized,
            on_infeasible=options.on_infeasible,
            tol=options.tol,
            within=within,
            limits=options.watch(),
            watch=note,
        )
        outcome = replace(outcome, rule=of_seen(outcome.rule, step.tally))
        guarantee = None
        if confidence is not None:
            # Cut-offs inside bins are not tried: those between them nest as all do.
            found = Found(outcome, step.tally)
            tested = certified(linked, found, Certification(confidence, lambda _: step.tally))
            outcome, guarantee = tested.found.outcome, tested.guarantee
        outcome = _confirmed(outcome, passes.recounted(counted, outcome.rule))
    meant = without_races(caught)
    report = report_on_outcome(
        linked,
        outcome,
        step.tally,
        Search("counted", ""),
        notes=[str(w.message) for w in meant],
        seconds=now() - started,
        guarantee=guarantee,
    )
    how = _how(passes, counted, step, outcome, confidence is not None)
    report = replace(report, sections=(*report.sections, how))
    for w in meant:
        warn_caller(w.message)
    if guarantee is None:
        warn_few_rows(report)
    return outcome.rule, report


def _unscored(rows: Mapping[str | None, FrameRows]) -> dict[str | None, FrameRows]:
    return {name: replace(own, score=None) for name, own in rows.items()}


def _refuse_many(counted: CountedRows) -> None:
    if counted.codebook.n_classes > 2:
        labels = counted.classes.sorted.tolist()
        raise InputError(
            f"`scores`: y holds {len(labels)} classes ({some(labels)}), and rules for two are "
            "found on a table elsewhere; read its rows into memory"
        )


def _check_promise(whole: CountedRows, options: Options, settings: Confidence) -> None:
    """Refuse what counts of all rows cannot certify."""
    linked, tally = link(whole.goal, whole.codebook), whole.tally()
    promise = promise_of(linked, settings)
    check_enough(promise, tally, settings)
    if options.randomized is False and nests(tally, promise.tests(tally.marginals)):
        return
    raise GoalError(
        "`confidence`: on a table elsewhere rules are certified whose constraints only loosen as "
        f"a threshold moves one way, such as a floor on recall, and '{whole.goal}' has others, or "
        "its rule may draw: solve without it there, read scores and labels of rows that had no "
        "part in it into memory, and give them to setpoint.certify"
    )


def _confirmed(outcome: Outcome, found: Confusion) -> Outcome:
    """The outcome, if the engine that counted decides its rows as they were counted."""
    known = outcome.confusion
    near = 1e-9 * (1.0 + known.counts.sum())
    same = np.abs(found.counts - known.counts).max() <= near
    if not same or (found.rows != known.rows).any():
        raise ChangedTableError(
            "the rule, counted again by the engine, does not decide what it was chosen for: the "
            "table changed between two passes, or this engine compares numbers in another way "
            "than it groups them. With a `checkpoint`, its counts may be older than a change of "
            "the table: remove that file"
        )
    return outcome


def _how(
    passes: Passes,
    counted: CountedRows,
    step: Step,
    outcome: Outcome,
    certified: bool,
) -> TextSection:
    """Who counted, in how many passes, and what is left."""
    engines = dict.fromkeys(own.source.engine for own in passes.rows.values())
    looked = sum(one.rows for one in passes.done[1:])
    lines = [
        f"{' and '.join(engines)} counted {counted.n_rows:,} rows in {len(passes.done)} "
        f"{'pass' if len(passes.done) == 1 else 'passes'}, and once more by the rule.",
    ]
    if certified:
        lines = [
            f"{' and '.join(engines)} counted {counted.n_rows:,} rows without their scores, by "
            f"them in {len(passes.done)} {'pass' if len(passes.done) == 1 else 'passes'}, and once "
            "more by the rule.",
        ]
    if looked:
        lines.append(f"{looked:,} rows were looked at again.")
    # Of the rule that was found first, which need not be the one that is certified.
    if not certified and step.rows and np.isfinite(step.gap):
        lines.append(
            f"{step.rows:,} rows lie in bins that could hold a better threshold: better by "
            f"{step.gap:.2g} at most."
        )
    if not certified and not step.bins and outcome.status == "optimal":
        lines.append("No threshold between two scores was left out.")
    if counted.rounded:
        lines.append(f"Weights were rounded to multiples of {counted.unit:.3g}.")
    return TextSection("How the rows were counted", lines)
