"""``solve`` on tables out of core: the rule and its certificate from counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from setpoint.counts import (
    ChangedTableError,
    Confusion,
)
from setpoint.errors import GoalError, InputError, InputTypeError, warn_caller, without_races
from setpoint.estimators import (
    certified_or_refused,
    of_seen,
    promised,
)
from setpoint.goals import Goal
from setpoint.guarantees import (
    Certification,
    check_enough,
    monotone_constraints,
    promise_of,
)
from setpoint.inputs import DecideOn, some
from setpoint.plugin.parameters import Options
from setpoint.program import link
from setpoint.report import (
    GoalReport,
    Search,
    TextSection,
    report_on_found,
    warn_few_rows,
)
from setpoint.rules import (
    Rule,
)
from setpoint.search import (
    CountPass,
    Found,
    now,
    solve_tallied,
)
from setpoint.solvers import Confidence
from setpoint.sources import (
    CountedRows,
    CountsCheckpoint,
    FrameRows,
    Pass,
    Passes,
    frame_rows_of,
    require_formula,
)


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
    checkpoint: CountsCheckpoint | None = None,
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

        def note(step: CountPass) -> None:
            passes.note(step)
            if checkpoint is not None:
                checkpoint.write(counted.tables, step.tally)

        found, step = solve_tallied(
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
        found = replace(found, rule=of_seen(found.rule, step.tally), evidence=step.tally)
        guarantee = None
        if confidence is not None:
            # Cut-offs inside bins are not tried: those between them nest as all do.
            how = Certification(confidence, lambda _: step.tally)
            found, _, guarantee = certified_or_refused(linked, found, how)
        _check_recount(found.confusion, passes.recounted(counted, found.rule))
    meant = without_races(caught)
    report = report_on_found(
        linked,
        found,
        step.tally,
        Search("counted", ""),
        notes=[str(w.message) for w in meant],
        seconds=now() - started,
        guarantee=guarantee,
    )
    counting = _counting(passes, counted, step, found, confidence is not None)
    report = replace(report, sections=(*report.sections, counting))
    for w in meant:
        warn_caller(w.message)
    if guarantee is None:
        warn_few_rows(report)
    return found.rule, report


def _unscored(rows: Mapping[str | None, FrameRows]) -> dict[str | None, FrameRows]:
    return {name: replace(own, score=None) for name, own in rows.items()}


def _refuse_many(counted: CountedRows) -> None:
    if counted.codebook.n_classes > 2:
        labels = counted.inputs.classes.sorted.tolist()
        raise InputError(
            f"`scores`: y holds {len(labels)} classes ({some(labels)}), and rules for two are "
            "found on a table elsewhere; read its rows into memory"
        )


def _check_promise(whole: CountedRows, options: Options, settings: Confidence) -> None:
    """Refuse what counts of all rows cannot certify."""
    goal = whole.inputs.goal
    linked, tally = link(goal, whole.codebook), whole.tally()
    promise = promise_of(linked, settings)
    check_enough(promise, tally, settings)
    if options.randomized is False and monotone_constraints(tally, promise.tests(tally.marginals)):
        return
    raise GoalError(
        "`confidence`: on a table elsewhere rules are certified whose constraints only loosen as "
        f"a threshold moves one way, such as a floor on recall, and '{goal}' has others, or "
        "its rule may draw: solve without it there, read scores and labels of rows that had no "
        "part in it into memory, and give them to setpoint.certify"
    )


def _check_recount(known: Confusion, found: Confusion) -> None:
    """Refuse a rule that the engine decides otherwise than its rows were counted."""
    near = 1e-9 * (1.0 + known.counts.sum())
    same = np.abs(found.counts - known.counts).max() <= near
    if not same or (found.rows != known.rows).any():
        raise ChangedTableError(
            "the rule, counted again by the engine, does not decide what it was chosen for: the "
            "table changed between two passes, or this engine compares numbers in another way "
            "than it groups them. With a `checkpoint`, its counts may be older than a change of "
            "the table: remove that file"
        )


def _counting(
    passes: Passes,
    counted: CountedRows,
    step: CountPass,
    found: Found,
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
    if not certified and not step.bins and found.status == "optimal":
        lines.append("No threshold between two scores was left out.")
    if counted.rounded:
        lines.append(f"Weights were rounded to multiples of {counted.unit:.3g}.")
    return TextSection("How the rows were counted", lines)


# --- A goal on a table: columns by their names, in memory or out of core --------------------------


_TOL = 1e-4


def solve_lazy(
    goal: Goal,
    frame: Any,
    y: Any,
    scores: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    tol: float | None = None,
    exact: bool = False,
    checkpoint: Any = None,
    confidence: float | Confidence | None = None,
    watch: Callable[[Pass], None] | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule for a table whose rows lie elsewhere; arguments as of :func:`setpoint.solve`."""
    require_formula(goal)
    if y is None:
        raise InputTypeError("`y` is the name of the column of labels, found None")
    promise = promised(goal, confidence)
    if isinstance(scores, (list, tuple)) and len(scores) == 1:
        scores = scores[0]
    if options.solver not in ("auto", "exact") or options.evidence == "soft":
        raise InputError(
            f"`solver`, `evidence`: a table elsewhere is solved exactly, by labels, found "
            f"{options.solver!r} and {options.evidence!r}"
        )
    rows = frame_rows_of(
        frame,
        y,
        sensitive_features,
        datasets,
        score=scores,
        weight=sample_weight,
        baseline=baseline,
    )
    return solve_counted(
        goal,
        rows,
        options,
        within=_within(tol, exact),
        classes=classes,
        pos_label=pos_label,
        decide_on=decide_on,
        watch=watch,
        checkpoint=None
        if checkpoint is None
        else CountsCheckpoint(
            checkpoint,
            goal,
            rows,
            {"classes": classes, "pos_label": pos_label, "decide_on": decide_on},
        ),
        confidence=promise,
    )


def _within(tol: float | None, exact: bool) -> float:
    flag: object = exact
    if not isinstance(flag, bool):
        raise InputTypeError(f"`exact` is True or False, found {exact!r}")
    if tol is None:
        return 0.0 if exact else _TOL
    given: object = tol
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= tol < 1.0:
        raise InputError(f"`tol` is a number from 0 to 1, found {tol!r}")
    if exact and tol > 0.0:
        raise InputError(f"`tol`, `exact`: `exact=True` is `tol=0`, found `tol={tol!r}`")
    return float(tol)
