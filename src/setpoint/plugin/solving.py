"""``solve``, and the rule of a classifier moved to another goal."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes
from setpoint.blackbox import BlackBox, blackbox_of, measured_on
from setpoint.counts import Evidence
from setpoint.errors import GoalError, InputError, InputTypeError, listed
from setpoint.estimators import (
    GoalClassifier,
    check_ranges,
    promised,
)
from setpoint.goals import Expression, Goal, as_goal
from setpoint.inputs import (
    CheckedData,
    CheckedTable,
    ClassOrder,
    Dataset,
    DecideOn,
    GivenRows,
    RowDigest,
    as_datasets,
    classes_of,
    column_names,
    columns_of,
    digests_of,
    frame_of,
    one_score,
    posteriors,
)
from setpoint.plugin.parameters import BASELINES, EvidenceKind, Options
from setpoint.plugin.selection import solve_evidence
from setpoint.plugin.tables import solve_lazy
from setpoint.report import GoalReport, cutoffs_of, rule_facts
from setpoint.rules import Rule, segment_in_words
from setpoint.search import Randomized, TracePoint
from setpoint.solvers import Confidence, SearchLimits, Solver
from setpoint.sources import is_lazy

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
) -> Solution:
    """The rule over scores that reaches a goal, with a certificate and a report.

    Parameters
    ----------
    goal : Goal, str, metric or BlackBox
    data : array-like of shape (N,) or (N, n), or frame
        The scores; or a table, in memory or elsewhere (a DuckDB relation, a Polars LazyFrame, a
        dask DataFrame), of which the other arguments name columns. Of a table elsewhere only
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
        others. Of a table elsewhere such constraints alone are certified.
        See :class:`setpoint.solvers.Confidence`.
    tol : float, optional
        Table elsewhere: the certified gap at which passes over it end; None: 1e-4.
    exact : bool
        Table elsewhere: go on to the rule that sorting all rows would give, to the last tie.
    checkpoint : path, optional
        Table elsewhere: a file that keeps the counts after each pass; where it is there, it is
        gone on from.
    watch : callable, optional
        Table elsewhere: called with what is known after each pass.

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
    lazy = is_lazy(data)
    if watch is not None and not callable(watch):
        raise InputTypeError(f"`watch` is a function of a pass, found {type(watch).__name__}")
    if lazy and scores is None:
        raise InputTypeError(
            "`scores`: of a table it is the name of the column of scores, found None"
        )
    if not lazy and (tol is not None or exact or checkpoint is not None or watch is not None):
        raise InputError(
            "tol, exact, checkpoint, watch: rows in memory are always solved exactly and at once; "
            "these are for tables elsewhere"
        )
    options = Options.of(
        solver,
        limits,
        evidence=evidence,
        randomized=randomized,
        on_infeasible=on_infeasible,
    ).settled(goal)
    if options.oracle is not None:
        raise InputError(
            "`solver`: an oracle is trained on features, and there are scores alone; "
            "PlugInClassifier takes ColumnGeneration(oracle=...)"
        )
    if lazy:
        return Solution(
            *solve_lazy(
                goal,
                data,
                y,
                scores,
                options,
                sample_weight=sample_weight,
                sensitive_features=sensitive_features,
                baseline=baseline,
                datasets=datasets,
                classes=classes,
                pos_label=pos_label,
                decide_on=decide_on,
                tol=tol,
                exact=exact,
                checkpoint=checkpoint,
                confidence=confidence,
                watch=watch,
            )
        )
    if scores is not None:
        columns = columns_of(
            data,
            scores=scores,
            y=y,
            sample_weight=sample_weight,
            sensitive_features=sensitive_features,
            baseline=baseline,
        )
        datasets = _named_sets(datasets, scores, y, sensitive_features)
        data, y, sample_weight, sensitive_features, baseline = columns.values()
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
            len(first), y, sample_weight, sensitive_features, baseline, beside=(data, "scores")
        )
    }
    for name, d in as_datasets(datasets).items():
        where = f"datasets[{name!r}]: scores"
        own, more = scores_for(d.X, known, posterior, where)
        values[name], notes = own, notes + more
        rows[name] = GivenRows.of(d, len(own), where)
    inputs = CheckedData.check(goal, known, rows, decide_on)
    inputs.require_values()
    promise = promised(goal, confidence)
    if promise is not None:
        check_ranges(promise, goal, inputs.tables)
    notes += unseen_columns(inputs)
    measured = None if metric is None else measured_on(metric, known, rows[None])
    found, report = solve_evidence(
        goal,
        inputs.evidence(values),
        options,
        table=inputs.tables[None],
        notes=notes,
        metric=measured,
        neutral=0.5 if not posterior and _within_unit(first) else 0.0,
        confidence=promise,
        sees=inputs.sees,
    )
    return Solution(found.rule, report, found.trace)


def _named_sets(
    datasets: Mapping[str, Any] | None, scores: Any, y: Any, sensitive_features: Any
) -> dict[str, Any] | None:
    """Data sets that are frames by the names of the first one's columns; others as they are."""
    if datasets is None:
        return None
    out: dict[str, Any] = {}
    for name, given in datasets.items():
        frame = frame_of(given, f"datasets[{name!r}]")
        out[name] = given
        if frame is not None:
            label = y if isinstance(y, str) and y in frame.columns else None
            columns = columns_of(
                given, scores=scores, y=label, sensitive_features=sensitive_features
            )
            out[name] = Dataset(
                columns["scores"], columns["y"], sensitive_features=columns["sensitive_features"]
            )
    return out


def scores_for(
    scores: Any, classes: ClassOrder, posterior: bool, name: str = "scores"
) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """One score a row, or posteriors with a note if they were renormalised."""
    if not posterior:
        return one_score(scores, classes, name), ()
    found, note = posteriors(scores, classes, name)
    return found, (note,) if note else ()


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


def _within_unit(scores: NDArray[np.float64]) -> bool:
    return bool(scores.min(initial=0.0) >= 0.0 and scores.max(initial=0.0) <= 1.0)


# --- The rule of a fitted classifier, moved to another goal on other rows -------------------------


C = TypeVar("C", bound=GoalClassifier)


def with_goal(classifier: C, goal: Goal, **rows: Any) -> C:
    """A copy whose rule is the best for a goal on some rows with labels."""
    _check_movable(classifier)
    evidence, table = _scored(classifier, goal, rows)
    numbers = goal.needs.measures.get(None, {})
    sees = tuple(c for c in classifier.rule_.value_columns if c in numbers)
    found, report = solve_evidence(goal, evidence, _options(classifier), table=table, sees=sees)
    if found.rule.randomized:
        key, names = classifier.draw_key_, classifier.draw_columns_
        classifier._check_drawable(rows["X"], key, names)
    report = _flattered(report, classifier._share_seen(rows["X"], table.weight))
    out = _moved(classifier, found.rule, report, rows)
    out.trace_ = found.trace
    out.largest_segment_ = int(np.argmax(evidence.segment_weights))
    if hasattr(out, "gap_"):
        out.gap_ = report.certificate.gap
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


def _groups_known(rule: Rule, table: CheckedTable) -> Codes:
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


def _scored(
    classifier: GoalClassifier, goal: Goal, rows: dict[str, Any]
) -> tuple[Evidence, CheckedTable]:
    """The rows with the scores that rules decide by."""
    given, seen = classifier._seen(goal, **rows)
    scores = {name: classifier._scores(given[name].X) for name in seen.tables}
    return seen.evidence(scores), seen.tables[None]


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
