"""``explain``: why rows are decided as they are, for whatever has scores and a fitted rule."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from setpoint.errors import InputTypeError
from setpoint.estimators.explanation import ExplainedRow, Explanation
from setpoint.inputs.arrays import described
from setpoint.report.rule_words import covered
from setpoint.rules import Band, PerSegment, Threshold
from setpoint.rules.segments import segment_in_words

if TYPE_CHECKING:
    from setpoint.inputs.classes import ClassOrder
    from setpoint.report import GoalReport
    from setpoint.rules import Rule

__all__ = ["ExplainsDecisions"]

Array = NDArray[Any]
_SUM = 1e-6
"""So near to one posteriors of a row sum."""


class ExplainsDecisions:
    """``explain`` for whatever has scores and a fitted rule."""

    if TYPE_CHECKING:
        rule_: Rule
        goal_report_: GoalReport
        draw: str

        @property
        def _classes(self) -> ClassOrder: ...
        def _rule_scores(self, X: Any, sensitive_features: Any = None) -> NDArray[np.float64]: ...
        def _segments(self, X: Any, sensitive_features: Any) -> NDArray[np.int64] | None: ...
        def _draws(self, X: Any) -> NDArray[np.float64]: ...
        def _named(self, codes: NDArray[np.int64]) -> Array: ...
        @property
        def _defers(self) -> bool: ...
        def _unbound(self) -> tuple[str, ...]: ...

    def explain(self, X: Any, *, sensitive_features: Any = None) -> Explanation:
        """Explain the decision of each row: its score, its cut-off, and how far it lies.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from setpoint import PlugInClassifier
        >>> X, y = make_classification(1_000, random_state=0)
        >>> clf = PlugInClassifier(LogisticRegression(), "f1").fit(X, y)
        >>> print(clf.explain(X[:1]))
        Row 0: predicted 0. Its score 0.02958 is below 0.3251, the cut-off, by 0.2955.
        On the scores that it was chosen on no other rule is better (proved), and nothing is \
certified on new rows; this is said of all rows together, not of a single one.
        """
        check_is_fitted(self)
        if hasattr(X, "compute") or hasattr(X, "collect"):
            raise InputTypeError(
                f"`X`: rows are explained in memory, and this is {described(X)}; pass some of its "
                "rows as a frame or an array"
            )
        rule = self.rule_
        scores = self._rule_scores(X, sensitive_features)
        segments = self._segments(X, sensitive_features)
        u = self._draws(X) if rule.randomized else None
        n = 1 if scores.ndim == 1 else scores.shape[1] - len(rule.value_columns)
        posteriors = _are_posteriors(scores, n)
        decided = rule.decide(scores, segments, u)
        answers = self._named(np.arange(rule.n_classes)).tolist()
        many = answers[:n] if n > 2 and n in (rule.n_classes, rule.n_classes - 1) else None
        beside = [f"column {k + 1}" for k in range(n)] if n > 2 and many is None else many
        rows = _rows(rule, decided, scores, segments, u, answers, beside)
        if self._defers:
            last = rule.n_classes - 1
            pairs = zip(rows, decided == last, strict=True)
            rows = tuple(replace(row, defers=bool(at)) for row, at in pairs)
        if posteriors and rule.value_columns:
            rows = tuple(replace(row, score_is="probability") for row in rows)
        notes = self._unbound()
        return Explanation(rows, notes[0] if notes else covered(self.goal_report_))


def _are_posteriors(scores: NDArray[np.float64], n: int) -> bool:
    """Whether scores are probabilities: of the positive class, or of all classes."""
    own = scores if scores.ndim == 1 else scores[:, :n]
    if ((own < 0.0) | (own > 1.0)).any():
        return False
    return n == 1 or bool((np.abs(own.sum(axis=1) - 1.0) <= _SUM).all())


def _rows(
    rule: Rule,
    decided: NDArray[np.int64],
    scores: NDArray[np.float64],
    segments: NDArray[np.int64] | None,
    u: NDArray[np.float64] | None,
    answers: list[Any],
    classes: list[Any] | None,
) -> tuple[ExplainedRow, ...]:
    """A record of plain values for each row."""
    where = [segment_in_words(key) for key in rule.segment_keys]
    here = np.arange(len(scores))
    chances = rule.distribution(scores, segments)[here, decided].tolist()
    column, s, n = np.zeros_like(here), scores, 1
    below = above = np.full(len(scores), np.nan)
    if scores.ndim == 1:
        below, above = _cut_offs(rule, decided, scores, segments, u)
    else:
        n = scores.shape[1] - len(rule.value_columns)
        own = n in (rule.n_classes, rule.n_classes - 1)  # one for each class but deferred rows
        top = scores[:, :n].argmax(axis=1)
        column = np.where(own & (decided < n), decided, top) if n != 2 else np.ones_like(here)
        s = scores[here, column]
    with np.errstate(invalid="ignore", over="ignore"):
        up = np.isnan(below) | (~np.isnan(above) & ~(s - below < above - s))
        at = np.where(up, above, below)
        change = np.where(np.isnan(at), np.nan, at - s)
    columns = [_plain(x) for x in (at, change, below, above)]
    out = []
    for i, (answer, cut, far, low, high) in enumerate(zip(decided.tolist(), *columns, strict=True)):
        amounts = None
        if rule.value_columns:
            amounts = dict(zip(rule.value_columns, scores[i, n:].tolist(), strict=True))
        out.append(
            ExplainedRow(
                row=i,
                decision=answers[answer],
                probability=chances[i],
                score=float(s[i]),
                cut_off=cut,
                change=far,
                stays_from=low,
                stays_to=high,
                segment="" if segments is None else where[segments[i]],
                values=amounts,
                score_of=None if classes is None else classes[int(column[i])],
                by_draw=0.0 < chances[i] < 1.0,
            )
        )
    return tuple(out)


def _cut_offs(
    rule: Rule,
    decided: NDArray[np.int64],
    s: NDArray[np.float64],
    segments: NDArray[np.int64] | None,
    u: NDArray[np.float64] | None,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The nearest cut-offs below and above at which the decision is another, NaN: none."""
    below, above = np.full((2, len(s)), np.nan)
    for code in [0] if segments is None else np.unique(segments).tolist():
        rows = np.arange(len(s)) if segments is None else np.flatnonzero(segments == code)
        edges = np.unique(_edges(rule, code))
        edges = edges[np.isfinite(edges)]
        # step k lies from edges[k - 1] on; the lowest has no start
        there = np.searchsorted(edges, s[rows], side="right")
        codes = None if segments is None else segments[rows]
        draws = None if u is None else u[rows]
        starts = [np.full(len(rows), start) for start in (-np.inf, *edges)]
        other = [rule.decide(x, codes, draws) != decided[rows] for x in starts]
        for k in range(len(edges), 0, -1):  # the nearest edge above comes last
            above[rows[(there < k) & other[k]]] = edges[k - 1]
        for k in range(len(edges)):  # the nearest edge below comes last
            below[rows[(there > k) & other[k]]] = edges[k]
    return below, above


def _edges(rule: Rule, code: int) -> list[float]:
    """Scores from which on a rule may decide otherwise; none where an edge is soft."""
    if isinstance(rule, Threshold):
        return [] if rule.randomized else [rule.threshold]
    if isinstance(rule, Band):
        return [rule.low, rule.high]
    if isinstance(rule, PerSegment):
        return _edges(rule.rules[code], code)
    return [x for part in rule.children for x in _edges(part, code)]


def _plain(numbers: NDArray[np.float64]) -> list[float | None]:
    """Numbers as Python has them; None for NaN."""
    return [None if np.isnan(x) else x for x in numbers.tolist()]
