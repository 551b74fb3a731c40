"""Other bounds: the frontier, the explorer, and the rule of a classifier moved to another goal."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from setpoint import explorer, search
from setpoint.array_types import Codes, Floats
from setpoint.classifiers import GoalClassifier
from setpoint.counts import Evidence
from setpoint.errors import GoalError, InputError, InputTypeError, listed, nearest
from setpoint.goals import Expression, Goal, as_goal
from setpoint.inputs import (
    CheckedData,
    Dataset,
    GivenRows,
    RowDigest,
    as_datasets,
    classes_of,
    column_names,
    digests_of,
    one_score,
)
from setpoint.plugin.problem import BASELINES, EvidenceKind, Options
from setpoint.plugin.selection import solve_evidence
from setpoint.report import GoalReport, cutoffs_of, rule_facts
from setpoint.rules import Rule, segment_in_words

if TYPE_CHECKING:
    from setpoint.search import Frontier


# --- The best objective as one bound moves --------------------------------------------------------


_POINTS = 20


def frontier(
    source: GoalClassifier | Evidence,
    goal: Any = None,
    *,
    vary: search.Vary = None,
    values: Any = None,
    randomized: search.Randomized | None = None,
    X: Any = None,
    y: Any = None,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
) -> Frontier:
    """The best objective as the bound of one constraint moves, the others kept.

    What would it cost to ask for more? For a rule that is one threshold all breakpoints are
    found in one pass over the cut-offs; where rules draw, the columns found for one bound
    serve the next.

    Parameters
    ----------
    source : fitted classifier or Evidence
        A classifier in the process that fitted it knows the rows that its rule was found
        on; model files do not hold them, so then give `X` and `y`.
    goal : Goal or str, optional
        The classifier's own if left out.
    vary : Constraint, str or int, optional
        The constraint whose bound moves: itself, its text, the text of its left side, or
        its number. One that the goal lacks is added. None: the only one.
    values : array-like of shape (m,), optional
        Bounds to look at. None: all breakpoints where they are known, else some bounds from
        where the constraint begins to bind to the strictest that can be met.
    randomized : {False, "auto", True}, optional
        Whether rules may draw. "auto": as the rule at the bound that the goal sets, and with a
        threshold for each group always. With posteriors rules always may. None: the
        classifier's own, or False.
    X, y, sample_weight, sensitive_features, baseline, datasets
        Other rows for a classifier, as in ``fit``.

    Returns
    -------
    Frontier

    Raises
    ------
    GoalError
        If it is not clear which bound moves, or the goal has a shape that no method takes.
    InfeasibleError
        If no rule meets the other constraints.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from setpoint import PlugInClassifier, frontier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> clf = PlugInClassifier(model, "maximize recall subject to precision >= 0.98").fit(X, y)
    >>> frontier(clf, values=[0.97, 0.98, 0.99]).values.round(3)
    array([0.994, 0.978, 0.922])
    """
    if isinstance(source, Evidence):
        if X is not None or y is not None:
            raise InputTypeError("`X` and `y` are for a classifier; evidence has its rows")
        if goal is None:
            raise InputTypeError("frontier of evidence needs a goal")
        return frontier_of_evidence(
            as_goal(goal),
            source,
            vary,
            values,
            randomized=False if randomized is None else randomized,
        )
    if not isinstance(source, GoalClassifier):
        raise InputTypeError(
            f"frontier takes a fitted classifier or Evidence, got {type(source).__name__}"
        )
    return source._frontier(
        goal,
        vary=vary,
        values=values,
        randomized=randomized,
        X=X,
        y=y,
        sensitive_features=sensitive_features,
        sample_weight=sample_weight,
        baseline=baseline,
        datasets=datasets,
    )


def frontier_of_evidence(
    goal: Goal,
    evidence: Evidence,
    vary: search.Vary,
    values: Any,
    *,
    randomized: search.Randomized,
    soft: bool = True,
    tol: float = 1e-4,
) -> Frontier:
    """The frontier on rows with scores; or with posteriors, `soft` in the place of labels."""
    if evidence.n_scores is None:
        return search.frontier_exact(goal, evidence, vary, values, randomized=randomized, tol=tol)
    from setpoint.plugin.solvers.searching import explored

    gap = 0.5 * tol
    goal, i = search.vary_of(goal, vary)
    levels = search.levels_of(values)
    space, program = explored(goal, evidence, soft=soft, gap=gap)
    found = search.trace_frontier(space, program, i, levels, _POINTS, gap)
    return found if space.is_certain else replace(found, gaps=np.full(len(found.bounds), np.inf))


# --- The explorer for scores and labels: what to choose on, what to check on ----------------------


_OF_ROWS = ("scores", "y", "sample_weight", "sensitive_features", "baseline")


def explore(
    goal: Goal | Expression | str,
    scores: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    pos_label: Any = None,
    by: str | Sequence[str] | None = None,
    check: float | Mapping[str, Any] | None = None,
    rule: Rule | None = None,
    other_goal: Goal | Expression | str | None = None,
) -> explorer.Explorer:
    """A page on which the bounds of a goal are dragged, and what follows is seen at once.

    The page is one file without any request to the network. It holds the tally of counts along
    the curve of thresholds and computes from it, by the formulas of the library, what each
    threshold reaches; a goal that no rule meets gets it too. Above some tens of thousands of
    distinct scores neighbours share a bin, and the page says what a threshold inside one could
    gain at most.

    Dragging is choosing, so drag on rows that scores were made for out of fold, and check a point
    that is kept on rows held out. With "how sure" on, the page offers only places at which limits
    that hold for all of them, and for all constraints, at once clear the bounds: any choice among
    them is covered, however it was made.

    Parameters
    ----------
    goal : Goal, str or metric
    scores : array-like of shape (N,), or posteriors (N, n)
        Of the rows to choose on; one score a row is higher for the positive class.
    y : array-like of shape (N,)
        True labels.
    sample_weight : array-like of shape (N,), optional
    sensitive_features : column, dict or frame, optional
        Side information that the goal or `by` names.
    baseline : array-like of shape (N,), optional
        The deployed model's predictions: a point to compare with.
    pos_label : label, optional
        The positive class of two, as in :func:`setpoint.solve`.
    by : str or sequence of str, optional
        Further columns whose groups are shown side by side.
    check : float or dict, optional
        Rows held out. A share, above 0 and below 1, of the rows of each class and group is drawn
        at random with a fixed seed; a dict holds `scores` and `y` of other rows, and what else
        belongs to them under the names of these arguments.
    rule : Rule, optional
        Today's rule: a point to compare with.
    other_goal : Goal, str or metric, optional
        A second goal, beside the first.

    Returns
    -------
    Explorer
        Write it with :meth:`~setpoint.explorer.Explorer.to_html`.

    Raises
    ------
    GoalError
        A goal names what the data do not have.
    ValueError, TypeError
        If an argument is wrong; the message names it. More than two classes and rules that may
        defer have no curve of thresholds, and no page.

    Examples
    --------
    >>> from setpoint import explore
    >>> scores, y = [0.1, 0.4, 0.35, 0.8, 0.7, 0.9], [0, 0, 1, 1, 0, 1]
    >>> page = explore("maximize recall subject to precision >= 0.7", scores, y)
    >>> start = page.payload["programs"][0]["start"]
    >>> start["cut"], start["feasible"]
    (2, True)
    """
    goals = [as_goal(g) for g in (goal, *([] if other_goal is None else [other_goal]))]
    for one in goals:
        one.require_formula("explore shows goals with a formula")
    both = explorer.joined(*goals)
    names, (apart, share) = explorer.names_of(by), explorer.check_of(check, _OF_ROWS)
    if rule is not None and not isinstance(rule, Rule):
        raise InputTypeError(f"`rule` is a Rule, such as clf.rule_, found {type(rule).__name__}")
    known = classes_of(y, None, pos_label, goal=goals[0] if np.ndim(scores) > 1 else None)
    if len(known.labels) > 2 or both.defers:
        explorer.check_curve(both, len(known.labels))

    def given(values: Floats, part: Mapping[str, Any], where: str) -> explorer.GivenScores:
        sides = {name: part.get(name) for name in _OF_ROWS[1:]}
        rows = GivenRows(len(values), **sides, beside=(part["scores"], "scores"))
        inputs = CheckedData.check(both, known, {None: rows}, None)
        return explorer.GivenScores.of(rows, inputs, values, names, where)

    whole = dict(
        zip(_OF_ROWS, (scores, y, sample_weight, sensitive_features, baseline), strict=True)
    )
    own = given(one_score(scores, known), whole, "The rows given.")
    own.inputs.require_values()
    if rule is not None:
        own = own.decided(rule, _codes_of(rule, own.inputs))
    held: explorer.GivenScores | float | None = share
    if apart is not None:
        values = one_score(apart["scores"], known, "check['scores']")
        try:
            held = given(values, apart, "The rows held out, as given.")
        except InputError as error:
            raise InputError(f"`check`: {error}") from None
    warnings = explorer.cautions(both, [*both.needs.measures.get(None, {})])
    return explorer.explorer_of(goals, own, held, rule=rule, warnings=warnings)


def _codes_of(rule: Rule, inputs: CheckedData) -> Codes | None:
    """Which segment of a rule each row is of."""
    if rule.n_classes != 2 or rule.score_columns is not None or rule.value_columns:
        raise InputError(
            "`rule` decides two classes from one score a row, as clf.rule_ of two classes does; "
            f"this one: {type(rule).__name__} of {rule.n_classes} classes"
        )
    if not rule.needs_segments:
        return None
    columns = inputs.tables[None].counted.columns
    for name in dict(rule.segment_keys[0]):
        if name not in columns:
            raise InputError(
                f"`rule` looks at the column {name!r}, which is not there "
                f"({nearest(name, columns)}); columns come from `sensitive_features`"
            )
    codes = rule.segment_codes(dict(columns))
    if (codes < 0).any():
        raise InputError("`rule`: some rows are of a group that it does not know")
    return codes


# --- The rule of a fitted classifier, moved to another goal on other rows -------------------------


C = TypeVar("C", bound=GoalClassifier)


def with_goal(classifier: C, goal: Goal, **rows: Any) -> C:
    """A copy whose rule is the best for a goal on some rows with labels."""
    _check_movable(classifier)
    evidence, inputs = _scored(classifier, goal, rows)
    numbers = goal.needs.measures.get(None, {})
    sees = tuple(c for c in classifier.rule_.value_columns if c in numbers)
    inputs = replace(inputs, sees=sees)
    found, report = solve_evidence(inputs, evidence, _options(classifier))
    if found.rule.randomized:
        key, names = classifier.draw_key_, classifier.draw_columns_
        classifier._check_drawable(rows["X"], key, names)
    known = classifier._share_seen(rows["X"], inputs.tables[None].weight)
    # Where some of these rows are rows of the fit, the report is flattered.
    entries = tuple(replace(e, seen=known > 0.0) for e in report.constraints)
    report = replace(report, counts=replace(report.counts, seen=known), constraints=entries)
    own = {"trace_": found.trace, "largest_segment_": int(np.argmax(evidence.segment_weights))}
    also = {"gap_": report.certificate.gap, "goal": str(goal)}
    own |= {name: value for name, value in also.items() if hasattr(classifier, name)}
    return _moved(classifier, found.rule, report, rows, **own)


def with_rule(classifier: C, rule: Rule, goal: Goal, **rows: Any) -> C:
    """A copy that decides by another rule, measured on some rows with labels."""
    _check_movable(classifier)
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
    evidence, inputs = _scored(moved, goal, rows)
    if looks:
        table = inputs.tables[None]
        codes = rule.segment_codes(table.columns)
        unseen = np.flatnonzero(codes < 0)
        if len(unseen):
            row = tuple((n, table.columns[n].take(unseen[:1]).values.tolist()[0]) for n in looks)
            known = listed([segment_in_words(key) for key in rule.segment_keys])
            raise InputError(
                f"`rule` has no threshold for {len(unseen)} rows, as {segment_in_words(row)} in "
                f"row {unseen[0]} (it has them for {known}); leave such rows out, or choose a rule "
                "on rows that have all groups"
            )
        weight = np.ones(len(codes)) if table.weight is None else table.weight
        moved.largest_segment_ = int(np.argmax(np.bincount(codes, weight)))
    facts = rule_facts(rule, evidence, 0.0)
    moved.goal_report_ = replace(before, rule=facts, guarantee=None)
    found = moved.evaluate(**rows, goal=goal)
    # Whoever gives a rule with rows has mostly chosen it on them, as on a page.
    entries = tuple(replace(e, seen=True) for e in found.constraints)
    return _moved(moved, rule, replace(found, constraints=entries), rows)


def _check_movable(classifier: GoalClassifier) -> None:
    if getattr(classifier, "scorer_", None) is not None:
        raise GoalError(
            "this rule decides by joint posteriors or retrained learners, which are found for one "
            "goal; fit for the new goal instead"
        )


def _options(classifier: GoalClassifier) -> Options:
    """How to search: as in the fit, where that looks at the goal."""
    own: Any = classifier
    solver, options = own._chosen()[0], Options.of("auto", randomized=False)
    if own._family == "plugin":
        options = own._options(solver)
    solver = "auto" if options.solver in ("post-shift", *BASELINES) else options.solver
    soft = own.goal_report_.search.evidence == "soft"
    evidence: EvidenceKind = "soft" if soft else "label"
    return replace(options, solver=solver, evidence=evidence, on_infeasible="raise")


def _scored(
    classifier: GoalClassifier, goal: Goal, rows: dict[str, Any]
) -> tuple[Evidence, CheckedData]:
    """The rows with the scores that rules decide by."""
    given, seen = classifier._seen(goal, **rows)
    scores = {name: classifier._scores(given[name].X) for name in seen.tables}
    return seen.evidence(scores), seen


def _moved(classifier: C, rule: Rule, report: GoalReport, rows: dict[str, Any], **own: Any) -> C:
    """A copy with another rule; the rows that it was chosen on count as rows of the fit."""
    out = copy.copy(classifier)
    out.__dict__.update(own, rule_=rule, goal_report_=report, evidence_=None)
    digest, weight = getattr(classifier, "digest_", None), rows.get("sample_weight")
    if digest is not None:
        out.digest_ = digest | RowDigest.of(rows["X"], column_names(rows["X"]), weight)
    parts = {name: rows.get(name) for name in ("sensitive_features", "baseline")}
    data = {"": Dataset(rows["X"], rows.get("y"), sample_weight=weight, **parts)}
    data |= {f"{name}: ": part for name, part in as_datasets(rows.get("datasets")).items()}
    out._sign(digests_of(data))
    return out
