"""``solve``: from scores and labels to a rule, in memory or from counts of a table out of core."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np

from setpoint import sources
from setpoint.blackbox import BlackBox, blackbox_of, measured_on
from setpoint.classifiers import check_ranges, decide, heard, promised, warn_together
from setpoint.counts import ChangedTableError, Confusion
from setpoint.errors import GoalError, InputError, InputTypeError, without_races
from setpoint.goals import Expression, Goal, as_goal
from setpoint.guarantees import Certification, Promise, check_enough, monotone_constraints, tests_on
from setpoint.inputs import (
    CheckedData,
    Dataset,
    DecideOn,
    GivenRows,
    as_datasets,
    classes_of,
    columns_of,
    frame_of,
    some,
)
from setpoint.plugin.fit.crossfit import scores_for
from setpoint.plugin.problem import EvidenceKind, Options
from setpoint.plugin.selection import solve_evidence
from setpoint.program import link
from setpoint.report import GoalReport, TextSection
from setpoint.rules import Rule
from setpoint.search import CountPass, Found, Randomized, TracePoint, now, solve_tallied
from setpoint.solvers import Confidence, SearchLimits, Solver

# --- From scores and labels to a rule -------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """What :func:`solve` finds.

    Parameters
    ----------
    rule : Rule
        Decides from scores: ``rule.decide(scores, segments, u)``.
    report : GoalReport
        What it reaches on the rows given.
    trace : tuple of TracePoint
        For each oracle call the objective and violation of the best rule so far, the
        bound, and the seconds passed.

    Examples
    --------
    >>> from setpoint import solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solution = solve("f1", scores, y)
    >>> solution.rule.decide([0.2, 0.8]), solution.report.objective.value
    (array([0, 1]), 0.8)
    """

    rule: Rule
    report: GoalReport
    trace: tuple[TracePoint, ...] = ()

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def solve(
    goal: Goal | BlackBox | Expression | str,
    data: Any,
    y: Any,
    scores: Any = None,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    classes: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    randomized: Randomized = False,
    solver: str | Solver = "auto",
    evidence: EvidenceKind = "auto",
    on_infeasible: Literal["raise", "nearest"] = "raise",
    limits: SearchLimits | None = None,
    confidence: float | Confidence | None = None,
    tol: float | None = None,
    exact: bool = False,
    checkpoint: Any = None,
    watch: Callable[[Any], None] | None = None,
    units: Any = None,
) -> Solution:
    """The rule over scores that reaches a goal, with a certificate and a report.

    Parameters
    ----------
    goal : Goal, str, metric or BlackBox
    data : array-like of shape (N,) or (N, n), or frame
        The scores; or a table, in memory or out of core (a DuckDB relation, a Polars LazyFrame, a
        dask DataFrame), of which the other arguments name columns. Of a table out of core only
        counts are fetched, in one pass or a few; it has two classes.

        Two classes: one score a row of any kind, higher for the positive class. With
        more, or with soft evidence, posteriors: one column for each class in sorted order, rows
        that sum to one within 1e-3 (they are renormalised, and the report says so).
    y : array-like of shape (N,), or str
        True labels.
    scores : str or sequence of str, optional
        Of a table the column of the scores; of one in memory also the columns of the posteriors,
        one for each class in sorted order.
    sample_weight : array-like of shape (N,), or str, optional
    sensitive_features : column, dict or frame, optional
        Side information that the goal names: groups, columns by which rows count, and the
        columns of a BlackBox.
    baseline : array-like of shape (N,), optional
        The deployed model's predictions.
    classes : array-like, optional
        All classes; by default those in `y`.
    datasets : dict, optional
        Name to (scores, y or None), or a Dataset of scores (its X) with side
        information.
    pos_label : label, optional
        The positive class of two. Not needed where it is settled: the larger of two numbers,
        True, the last of an ordered category, and the second of such words as no and yes.
    decide_on : "auto", None, str or sequence of str
        The columns that the rule may look at beside the score; "auto": the groups that the
        goal names. A column by which rows count is looked at only if it is named, since it may
        be known too late. A rule that looks at one takes the action with the largest expected
        gain; it needs scores that are probabilities, and is chosen where it does better in
        3-fold cross-validation than the score alone.
    randomized : {False, "auto", True}
        Whether the rule may draw; "auto" where that gains more than the `tol` of `limits`.
        Without draws the report says what they would gain, where that is known.
    solver : str or Solver
        "auto": "exact" for two classes, "column-generation" for more. Also "frank-wolfe",
        "gda", "ellipsoid" and "bisection", the algorithms of the paper, and the
        baselines "argmax" and "balanced", which do not look at the goal. "post-shift", for
        two classes and no constraints: the metric is measured at each cut-off; it is what
        "auto" means for a BlackBox, and :class:`setpoint.solvers.PostShift` has a parameter.
    evidence : {"auto", "label", "soft"}
        Count decisions against labels, or against posteriors: then the gap is certified
        for any number of classes, if the posteriors are right. "auto": labels with two
        classes, else what does better in 3-fold cross-validation (six quick searches; from
        30 classes and 250,000 posteriors on two, with one part of three left out), or labels
        where only the rule by them meets the constraints on the rows given.
    on_infeasible : {"raise", "nearest"}
        "nearest" returns the rule with the least largest violation.
    limits : SearchLimits, optional
        `tol`: the loss in the objective at which a rule without draws is preferred, and the
        gap at which a search of several steps ends; None: 1e-4. `calls` and `seconds` of all
        searches together: the best feasible rule by then is returned, with a warning; None:
        1,000 calls, or the algorithm's own number. `evaluations` of a BlackBox; None: 1,000
        cut-offs on a curve.
    confidence : float or Confidence, optional
        All constraints are to hold on new rows, with this confidence; None: those alone that
        say so themselves. Where constraints only loosen as a threshold moves one way, as a
        floor on recall does, all rows certify; else a random part, and rules are found on the
        others. Of a table out of core such constraints alone are certified.
        See :class:`setpoint.solvers.Confidence`.
    tol : float, optional
        Out of core: the certified gap at which passes over it end; None: 1e-4.
    exact : bool
        Out of core: go on to the rule that sorting all rows would give, to the last tie.
    checkpoint : path, optional
        Out of core: a file that keeps the counts after each pass; where it is there, it is
        gone on from.
    watch : callable, optional
        Out of core: called with what is known after each pass.
    units : array-like of shape (N,), or str, optional
        The customer, document or case that each row belongs to: what promises and intervals count.

    Returns
    -------
    Solution
        Of rules that are equally good, one that departs little from the plain decision: the
        class with the largest posterior, or a threshold of 0.5 (0, of scores on both sides of it).

    Raises
    ------
    InfeasibleError
        If no rule meets the constraints; it says what is reachable.
    NotCertifiable
        If the rows do not show that a rule keeps the goal on new ones.
    GoalError
        If the goal names what the data do not have, or (ShapeError) has a shape that
        the solver does not take.
    ValueError, TypeError
        If an argument is wrong; the message names it.
    StoppedError
        If a limit was reached before any rule that meets the goal was known.

    Warns
    -----
    ConstantGoalWarning
        If predicting one class for everyone attains the optimum.
    FewRowsWarning
        If a constraint rests on so few rows that its interval is wider than 0.1.
    MissedBoundsWarning
        If the rule that "auto" evidence leads to misses a constraint by labels.
    StoppedWarning
        If a limit, or Ctrl-C, ended the search.

    Examples
    --------
    >>> from setpoint import solve
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> solution = solve("f1", scores, y)
    >>> print(solution.report.rule)
    predict 1 when the score is at least 0.75
    """
    metric = blackbox_of(goal)
    goal = as_goal(goal)
    lazy = sources.is_lazy(data)
    if watch is not None and not callable(watch):
        raise InputTypeError(f"`watch` is a function of a pass, found {type(watch).__name__}")
    if lazy and scores is None:
        raise InputTypeError(
            "`scores`: of a table it is the name of the column of scores, found None"
        )
    if not lazy and (tol is not None or exact or checkpoint is not None or watch is not None):
        raise InputError(
            "tol, exact, checkpoint, watch: rows in memory are always solved exactly and at once; "
            "these are for tables out of core"
        )
    how: dict[str, Any] = {"randomized": randomized, "on_infeasible": on_infeasible}
    options = Options.of(solver, limits, evidence=evidence, **how).settled(goal)
    if options.oracle is not None:
        raise InputError(
            "`solver`: an oracle is trained on features, and there are scores alone; "
            "PlugInClassifier takes ColumnGeneration(oracle=...)"
        )
    if lazy:
        _check_out_of_core(goal, y, options)
        promise, alone = promised(goal, confidence), isinstance(scores, (list, tuple))
        place = scores[0] if alone and len(scores) == 1 else scores
        if promise is not None and units is not None:
            raise InputError(
                "`confidence`, `units`: nothing is certified by units on a table out of core; "
                "read its scores, labels and units into memory, or leave one of the two out"
            )
        roles = {"score": place, "weight": sample_weight, "baseline": baseline, "units": units}
        tables = sources.frame_rows_of(data, y, sensitive_features, datasets, **roles)
        asked = {"classes": classes, "pos_label": pos_label, "decide_on": decide_on}
        how = {"within": _within(tol, exact), "watch": watch, "confidence": promise}
        if checkpoint is not None:
            how["checkpoint"] = sources.CountsCheckpoint(checkpoint, goal, tables, asked)
        return solve_counted(goal, tables, options, asked, **how)
    frame = data
    if scores is not None:
        given = {
            "y": y, "sample_weight": sample_weight, "baseline": baseline, "units": units
        }  # fmt: skip
        columns = columns_of(data, scores=scores, sensitive_features=sensitive_features, **given)
        datasets = _named_sets(datasets, scores, sensitive_features, **given)
        data, sensitive_features, y, sample_weight, baseline, units = columns.values()
    # A single score is higher for the positive class, whatever the goal.
    apart = goal if datasets is None and _has_two_columns(data) else None
    known = classes_of(y, classes, pos_label, goal=apart)
    posterior = options.takes_posteriors(len(known.labels))
    if posterior and classes is not None and list(classes) != known.sorted.tolist():
        raise InputError(
            "`classes` are in sorted order without repetitions, as the columns of the posteriors "
            f"are: {known.sorted.tolist()}, got {list(classes)}"
        )
    first, notes = scores_for(data, known, posterior)
    values: dict[str | None, Any] = {None: first}
    rows: dict[str | None, GivenRows] = {
        None: GivenRows(
            *(len(first), y, sample_weight, sensitive_features, baseline, None, units),
            (data, "scores"),
        )
    }
    for name, d in as_datasets(datasets).items():
        where = f"datasets[{name!r}]: scores"
        own, more = scores_for(d.X, known, posterior, where)
        values[name], notes = own, notes + more
        rows[name] = GivenRows.of(d, len(own), where)
    inputs = CheckedData.check(goal, known, rows, decide_on)
    inputs.require_values()
    promise, scored = promised(goal, confidence), inputs.evidence(values)
    if promise is not None:
        check_ranges(promise, goal, inputs.tables)
        warn_together(frame, scored, inputs.tables[None].columns)
    notes += unseen_columns(inputs)
    measured = None if metric is None else measured_on(metric, known, rows[None])
    found, report = solve_evidence(
        inputs,
        scored,
        options,
        notes=notes,
        metric=measured,
        confidence=promise,
    )
    return Solution(found.rule, report, found.trace)


def _named_sets(
    datasets: Mapping[str, Any] | None, scores: Any, sensitive_features: Any, **named: Any
) -> dict[str, Any] | None:
    """Data sets that are frames by the names of the first one's columns; others as they are."""
    if datasets is None:
        return None
    out: dict[str, Any] = {}
    for name, given in datasets.items():
        frame = frame_of(given, f"datasets[{name!r}]")
        out[name] = given
        if frame is not None:
            there = [k for k, v in named.items() if isinstance(v, str) and v in frame.columns]
            roles = {k: named[k] for k in there} | {"sensitive_features": sensitive_features}
            columns = columns_of(given, scores=scores, **roles)
            out[name] = Dataset(columns.pop("scores"), **columns)
    return out


def unseen_columns(inputs: CheckedData) -> tuple[str, ...]:
    """A note on the columns by which rows count that the rule may not look at."""
    goal = inputs.goal
    unseen = sorted({*goal.needs.measures.get(None, {})} - {*inputs.sees})
    if goal.needs.datasets or not unseen:
        return ()
    names, there = " and ".join(unseen), sorted({*inputs.decide_on, *inputs.sees, *unseen})
    return (
        f"The rule does not look at {names}, by which rows count; decide_on={there!r} lets it, "
        f"if {names} will be known when it decides.",
    )


def _has_two_columns(scores: Any) -> bool:
    try:
        return bool(np.shape(scores)[1:] == (2,))
    except ValueError:  # a ragged list, which is refused by its name later
        return False


# --- Rows out of core: the rule and its certificate from counts -----------------------------------


_TOL = 1e-4


def solve_counted(
    goal: Goal,
    rows: Mapping[str | None, sources.FrameRows],
    options: Options,
    known: Mapping[str, Any],
    *,
    within: float,
    watch: Callable[[sources.Pass], None] | None = None,
    checkpoint: sources.CountsCheckpoint | None = None,
    confidence: Confidence | None = None,
) -> Solution:
    """The rule over one score that reaches a goal on tables out of core, and its report."""
    started = now()
    passes = sources.Passes(goal, rows, watch)
    with heard() as caught:
        if confidence is not None:
            unscored = {name: replace(own, score=None) for name, own in rows.items()}
            whole = sources.CountedRows.first_pass(goal, unscored, **known)
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
    recounted = None if confidence is not None else passes.recounted(counted, found.rule)
    if recounted is not None:
        found = replace(found, confusion=replace(found.confusion, units=recounted.units))
    # Cut-offs inside bins are not tried: those between them nest as all do.
    how = None if confidence is None else Certification(confidence, lambda _: step.tally)
    found, report = decide(
        linked,
        replace(found, evidence=step.tally),
        without_races(caught),
        started=started,
        family="counted",
        certification=how,
    )
    _check_recount(found.confusion, recounted or passes.recounted(counted, found.rule))
    counting = _counting(passes, counted, step, found, confidence is not None)
    search, sections = replace(report.search, folds=None), (*report.sections, counting)
    return Solution(found.rule, replace(report, search=search, sections=sections))


def _check_out_of_core(goal: Goal, y: Any, options: Options) -> None:
    """Refuse what counts alone cannot answer."""
    sources.require_formula(goal)
    if y is None:
        raise InputTypeError("`y` is the name of the column of labels, found None")
    if options.solver not in ("auto", "exact") or options.evidence == "soft":
        raise InputError(
            f"`solver`, `evidence`: a table elsewhere is solved exactly, by labels, found "
            f"{options.solver!r} and {options.evidence!r}"
        )


def _refuse_many(counted: sources.CountedRows) -> None:
    if counted.codebook.n_classes > 2:
        labels = counted.inputs.classes.sorted.tolist()
        raise InputError(
            f"`scores`: y holds {len(labels)} classes ({some(labels)}), and rules for two are "
            "found on a table elsewhere; read its rows into memory"
        )


def _check_promise(whole: sources.CountedRows, options: Options, settings: Confidence) -> None:
    """Refuse what counts of all rows cannot certify."""
    goal = whole.inputs.goal
    linked, tally = link(goal, whole.codebook), whole.tally()
    tests = tests_on(Promise.of(linked, settings), tally)
    check_enough(tests, tally, settings)
    if options.randomized is False and monotone_constraints(tally, tests):
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
    passes: sources.Passes,
    counted: sources.CountedRows,
    step: CountPass,
    found: Found,
    certified: bool,
) -> TextSection:
    """Who counted, in how many passes, and what is left."""
    engines = dict.fromkeys(own.source.engine for own in passes.rows.values())
    looked = sum(one.rows for one in passes.done[1:])
    often = f"in {len(passes.done)} {'pass' if len(passes.done) == 1 else 'passes'}"
    how = f"without their scores, by them {often}" if certified else often
    lines = [
        f"{' and '.join(engines)} counted {counted.n_rows:,} rows {how}, and once more by the rule."
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
