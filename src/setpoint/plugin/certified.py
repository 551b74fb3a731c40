"""Certifying models and rules that are there already."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _num_samples, check_is_fitted

from setpoint import classifiers, guarantees
from setpoint.counts import Rows
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Expression, Goal, as_goal
from setpoint.inputs import (
    Answers,
    CheckedData,
    GivenRows,
    Unlabelled,
    as_columns,
    as_datasets,
    check_length,
    classes_of,
    content_of,
    rows_key,
)
from setpoint.plugin.classifier import PlugInClassifier
from setpoint.program import link
from setpoint.report import GoalReport, refused, report_on, with_guarantee
from setpoint.rules import Rule
from setpoint.solvers import Confidence

_SAFE = (
    "The rows that certify are drawn independently like those to come, and had no part in the "
    "choice of model, rule or order."
)


@dataclass(frozen=True)
class Certified:
    """What :func:`certify` finds.

    Parameters
    ----------
    model : classifier or Rule
        That is certified: the one given, the best certified one of a list, or, for a model of
        another library, a PlugInClassifier around it.
    report : GoalReport
        On the rows that certify, with what is promised.
    index : int
        The place of `model` in a list.

    Examples
    --------
    >>> from setpoint import certify
    >>> from setpoint.rules import Threshold
    >>> rules, scores = [Threshold(0.8), Threshold(0.5)], [0.9] * 90 + [0.6] * 10 + [0.1] * 100
    >>> goal = "maximize recall subject to precision >= 0.8"
    >>> found = certify(rules, goal, scores, [1] * 95 + [0] * 105)
    >>> found.index, found.model, found.guarantee.state
    (1, Threshold(threshold=0.5, width=0.0), 'certified')
    """

    model: Any
    report: GoalReport
    index: int = 0

    @property
    def guarantee(self) -> guarantees.Guarantee:
        """What is promised on new rows."""
        assert self.report.guarantee is not None
        return self.report.guarantee

    def __str__(self) -> str:
        return str(self.report)

    def _repr_html_(self) -> str:
        return self.report._repr_html_()


def certify(
    model: Any,
    goal: Goal | Expression | str | None = None,
    X: Any = None,
    y: Any = None,
    *,
    confidence: float | Confidence = 0.95,
    new_rule: Literal["auto"] | bool = "auto",
    ordered: bool = True,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    pos_label: Any = None,
    units: Any = None,
    unlabelled: Unlabelled | None = None,
) -> Certified:
    """Show on rows that had no part in a model that it keeps a goal on new ones.

    Parameters
    ----------
    model : fitted classifier, Rule, or list of these
        A classifier of this library or of another. A rule decides from scores: X then holds
        these. Of a list the best one that is certified is returned.
    goal : Goal, str or metric, optional
        With constraints. None: the classifier's own.
    X : array-like, sparse matrix or frame of shape (N, p); of a rule, scores (N,) or (N, n)
        Rows that no model or rule was fitted or chosen on; the latest there are.
    y : array-like of shape (N,)
        True labels.
    confidence : float or Confidence
    new_rule : {"auto", True, False}
        False: the model is tested as it decides now. True: a new rule is found on these rows
        for its scores and certified, as ``PlugInClassifier(FrozenEstimator(model), goal,
        confidence=...)`` does. "auto": a new rule for models of other libraries that give
        scores, whose own decisions know nothing of the goal.
    ordered : bool
        Whether a list is in the order in which it is to be tested, from safe to bold: where one
        fails, those after it are not certified, and nothing is paid for their number. False:
        all are tested, at stricter levels (Holm).
    sample_weight : array-like of shape (N,), optional
        Weighted rows are never certified exactly.
    sensitive_features, baseline, datasets : optional
        As in ``fit``.
    pos_label : label, optional
        As in :class:`setpoint.PlugInClassifier`; a classifier of this library knows its own.
    units : array-like of shape (N,) or str, optional
        The customer, document or case that each row belongs to, or the column of X that says so.
    unlabelled : Unlabelled, optional
        Many more rows without labels, with a proxy of them: where it is of use, constraints that
        are one fraction of counts are tested by both, which holds in simulations and is not
        proved. Goes with models and rules as they are, and not with ``Confidence(strict=True)``.

    Returns
    -------
    Certified

    Raises
    ------
    NotCertifiable
        If nothing is certified, unless ``Confidence(on_uncertified="nearest")``.
    GoalError
        If the goal names what the rows do not have.
    ValueError, TypeError
        If an argument is wrong; the message names it.

    Notes
    -----
    Of all draws of these rows, at most a share of ``1 - confidence`` gives a model that is called
    certified and breaks a constraint on new rows.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import certify
    >>> X, y = make_classification(4_000, flip_y=0.1, random_state=0)
    >>> model = LogisticRegression().fit(X[:2_000], y[:2_000])
    >>> found = certify(model, "maximize precision s.t. recall >= 0.9", X[2_000:], y[2_000:])
    >>> found.guarantee.state, found.guarantee.method
    ('certified', 'every cut-off')
    """
    if X is None or y is None:
        raise InputTypeError(
            "certify needs `X` and `y`: rows that the model has not seen, and their labels"
        )
    several = isinstance(model, (list, tuple))
    candidates = list(model) if several else [model]
    for one in candidates:
        if not isinstance(one, Rule) and not hasattr(one, "predict"):
            raise InputTypeError(
                f"`model` is a fitted classifier, a Rule or a list of these, got {one!r:.60}"
            )
    if not candidates:
        raise InputError("`model`: the list is empty")
    first = candidates[0]
    if goal is None:
        if not isinstance(first, classifiers.GoalClassifier):
            raise InputTypeError(f"`goal` is missing: a {type(first).__name__} has none of its own")
        check_is_fitted(first)
        goal = first._goal()
    goal = as_goal(goal)
    settings = classifiers.promised(goal, confidence)
    if settings is None:
        raise InputError("`confidence` is a number above 0 and below 1, got None")
    if settings.guarantee == "approximate":
        raise InputError("`guarantee='approximate'` fits a model; certify fits none")
    scores_alone = any(hasattr(first, name) for name in ("predict_proba", "decision_function"))
    if isinstance(first, (classifiers.GoalClassifier, Rule)):  # which have a rule
        scores_alone = False
    anew = new_rule is True or (new_rule == "auto" and not several and scores_alone)
    if new_rule not in ("auto", True, False) or (anew and several):
        raise InputError(
            f"`new_rule` is 'auto', True or False, and with a list not True, got {new_rule!r}"
        )
    own = isinstance(first, classifiers.GoalClassifier)
    if unlabelled is not None and (anew or settings.strict):
        raise InputError(
            "`unlabelled` goes with `new_rule=False`, and without `strict=True`: its test is "
            "simulated and not proved"
        )
    if anew:
        inner = first.estimator_ if isinstance(first, PlugInClassifier) else first
        label = first.positive_ if own else pos_label
        clf = PlugInClassifier(inner, goal, cv="prefit", pos_label=label, confidence=settings)
        rows = {"sample_weight": sample_weight, "baseline": baseline, "datasets": datasets}
        rows["units"] = units
        clf.fit(X, y, sensitive_features=sensitive_features, **rows)
        return Certified(clf, clf.goal_report_)
    if settings.for_next is not None:
        raise InputError(
            "`for_next` goes with a new rule (`new_rule=True`), whose cut-off it moves"
        )
    asked = None if unlabelled else goal  # a proxy is always of the positive class
    classes = first._classes if own else classes_of(y, None, pos_label, goal=asked)
    if sensitive_features is None and own:
        sensitive_features = first.sensitive_features
    if units is None and own:
        units = first.units or first.units_column_  # X has to have it
    given: dict[str | None, GivenRows] = {
        None: GivenRows(
            int(_num_samples(X)), y, sample_weight, sensitive_features, baseline, X, units
        )
    }
    for name, d in as_datasets(datasets).items():
        parts = d.y, d.sample_weight, d.sensitive_features, d.baseline, d.X, d.units
        given[name] = GivenRows(int(_num_samples(d.X)), *parts)
    inputs = replace(CheckedData.check(goal, classes, given, None), unlabelled=unlabelled)
    return _as_they_are(candidates, inputs, given, settings, ordered)


def _as_they_are(
    candidates: list[Any],
    inputs: CheckedData,
    given: Mapping[str | None, GivenRows],
    settings: Confidence,
    ordered: bool,
) -> Certified:
    """Test what models and rules decide."""
    goal, first = inputs.goal, candidates[0]
    linked = link(goal, inputs.rows.codebook)
    classifiers.check_ranges(settings, goal, inputs.tables)
    promise = guarantees.Promise.of(linked, settings)
    rows = guarantees.capped(inputs.rows, promise)
    tests = guarantees.tests_on(promise, rows)
    counted = [_counted(c, inputs, given, rows) for c in candidates]
    path = b"".join(one.confusion.counts.tobytes() for one in counted)
    key = rows_key(content_of(given[None].X), inputs.kinds(None))
    attempt = max(guarantees.number_of_try(first, key, path), settings.attempt)
    tests, n = tests.at_attempt(attempt), len(candidates)
    if ordered:
        found = guarantees.fallback(lambda i, share: tests.passes(counted[i], share), n)
        passed = [i for i, (_, ok) in enumerate(found) if ok]
    else:
        ratios = np.array([tests.ratio(one, 1.0 / n) for one in counted])
        passed = np.flatnonzero(guarantees.holm(ratios)).tolist()
    kept = max(passed, key=lambda i: tests.score(counted[i].confusion), default=0)
    one = counted[kept]
    guarantee = guarantees.Guarantee(
        "certified" if passed else "not certified",
        tests.promise.confidence,
        "one rule" if n == 1 else "list of rules" if ordered else "rules in no order",
        tests.shown(one),
        inputs.rows.n_rows,
        tried=min(len(passed) + 1, n) if ordered else n,
        passed=len(passed),
        attempt=attempt,
        reached=tests.value(one.confusion),
        assumptions=_SAFE,
        groups=tests.promise.groups,
    )
    guarantee = guarantees.with_units(guarantee, tests, one, inputs.rows)
    if not passed and settings.on_uncertified == "raise":
        best = guarantees.best_shown(tests, [(one, 1.0 / n) for one in counted])
        raise refused(guarantees.Unshown(guarantee, goal, best))
    model = candidates[kept]
    report = with_guarantee(report_on(linked, one.confusion), guarantee)
    if isinstance(model, classifiers.GoalClassifier):
        bound = replace(guarantee, binding=model._fingerprint)
        report = replace(report, rule=model.goal_report_.rule, guarantee=bound)
    return Certified(model, report, kept)


def _counted(
    candidate: Any, inputs: CheckedData, given: Mapping[str | None, GivenRows], rows: Rows
) -> guarantees.Tried:
    """What a model or a rule does on all rows, and whether in expectation over draws."""
    drawn = isinstance(candidate, Rule) and candidate.randomized
    if isinstance(candidate, classifiers.GoalClassifier):
        check_is_fitted(candidate)
        drawn = candidate.rule_.randomized and candidate.draw == "random"
        seen = candidate._share_seen(given[None].X, given[None].sample_weight)
        if seen > 0.0:
            raise InputError(
                f"`X`: {100 * seen:.3g} % of these rows are among those that the model was fitted "
                "on; rows that certify take no part in anything else"
            )
        candidate._check_deferring(inputs.goal)
    found = {name: _decided(candidate, given[name], inputs, drawn) for name in inputs.tables}
    if drawn:  # a rule that decides every row, and a goal about rules that may defer
        more = len(inputs.answers) - next(iter(found.values())).shape[1]
        found = {name: np.pad(shares, ((0, 0), (0, more))) for name, shares in found.items()}
    decided, others = inputs.joined(found), inputs.unlabelled
    if others is None:
        return guarantees.Tried(rows.decided(decided), drawn)
    n_rows, groups = int(_num_samples(others.X)), others.sensitive_features
    unlabelled = GivenRows(n_rows, None, sensitive_features=groups, X=others.X)
    said = _decided(candidate, unlabelled, inputs, drawn)
    return guarantees.Tried(inputs.proxied(decided, given[None].X, said), drawn)


def _decided(candidate: Any, rows: GivenRows, inputs: CheckedData, drawn: bool) -> NDArray[Any]:
    """Class codes (N,), or the probabilities (N, n) of each."""
    if isinstance(candidate, Rule):
        segments = None
        if candidate.needs_segments:
            names = list(dict(candidate.segment_keys[0]))
            how: dict[str, Any] = {"wanted": names, "free": names, "who": "the rule looks at"}
            columns = as_columns(rows.sensitive_features, n_rows=rows.n_rows, **how)
            segments = candidate.segment_codes(columns)
        decide = candidate.distribution if drawn else candidate.decide
        return np.asarray(decide(rows.X, segments))
    looks, classes = {}, inputs.classes
    own = isinstance(candidate, classifiers.GoalClassifier)
    if own and candidate.rule_.needs_segments:
        looks["sensitive_features"] = rows.sensitive_features
    if drawn:
        shares = np.asarray(candidate.decision_distribution(rows.X, **looks))
        return shares[:, [*classes.order, *range(len(classes.order), shares.shape[1])]]
    found = np.asarray(candidate.predict(rows.X, **looks))
    check_length(found, rows.n_rows, "predict")
    label = candidate._answers.defer_label if own else None
    return Answers.of(inputs.goal, found, "predict", label).codes(classes)
