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
from setpoint.rules import drawn_between, turning_points
from setpoint.rules.segments import segment_in_words

if TYPE_CHECKING:
    from setpoint.inputs.classes import ClassOrder
    from setpoint.report import GoalReport
    from setpoint.rules import Rule, TurningPoints

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
        """Explain the decision of each row: its score, its cut-off, and what would turn it.

        The least change of the score is exact: past it the decision is another, and before it
        the same. It says nothing of features: what moves a score is the model's business.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (N, p)
        sensitive_features : column, dict or frame, optional
            The columns that the rule looks at, where they are not columns of X.

        Returns
        -------
        Explanation
            A sequence of :class:`ExplainedRow`; ``to_frame()`` gives a DataFrame, and printed it
            is a text.

            With one threshold, or one for each group, the cut-off is that of the row's group;
            of a rule that defers, the nearer of its two. With amounts of the row, it is the
            score that they ask for. Of more than two classes, the probability of the decided one
            moves, and that of another class as far the other way: the least such move that
            turns the decision. A rule that draws keeps the row's draw; with ``draw="random"``
            every call draws anew.

        Raises
        ------
        GoalError
            As in :meth:`predict`.

        Examples
        --------
        >>> from sklearn.datasets import make_classification
        >>> from sklearn.linear_model import LogisticRegression
        >>> from setpoint import PlugInClassifier
        >>> X, y = make_classification(1_000, random_state=0)
        >>> clf = PlugInClassifier(LogisticRegression(), "f1").fit(X, y)
        >>> print(clf.explain(X[:1]))
        Row 0: predicted 0. Its score 0.02958 is below 0.3251, the cut-off; it would turn to 1 \
at 0.3251, 0.2955 more.
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
        within = (0.0, 1.0) if posteriors and n > 1 else (-np.inf, np.inf)
        found = turning_points(rule, scores, segments, u, within=within)
        shares = rule.distribution(scores, segments)
        answers = self._named(np.arange(rule.n_classes)).tolist()
        many = answers[:n] if n > 2 and n in (rule.n_classes, rule.n_classes - 1) else None
        beside = [f"column {k + 1}" for k in range(n)] if n > 2 and many is None else many
        rows = _rows(rule, found, scores, segments, shares, answers, beside)
        if self._defers:
            last = rule.n_classes - 1
            pairs = zip(rows, found.decided == last, found.to == last, strict=True)
            rows = tuple(replace(r, defers=bool(a), would_defer=bool(b)) for r, a, b in pairs)
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
    found: TurningPoints,
    scores: NDArray[np.float64],
    segments: NDArray[np.int64] | None,
    shares: NDArray[np.float64],
    answers: list[Any],
    classes: list[Any] | None,
) -> tuple[ExplainedRow, ...]:
    """A record of plain values for each row."""
    where = [segment_in_words(key) for key in rule.segment_keys]
    codes = [None] * len(scores) if segments is None else segments.tolist()
    drawn = {code: drawn_between(rule, code) for code in set(codes)}
    columns = {name: _plain(getattr(found, name)) for name in ("at", "change", "above", "below")}
    chances = shares[np.arange(len(scores)), found.decided]
    first = len(scores[0]) - len(rule.value_columns) if scores.ndim > 1 and len(scores) else 0
    out = []
    for i, (decided, to, code) in enumerate(
        zip(found.decided.tolist(), found.to.tolist(), codes, strict=True)
    ):
        span = drawn[code]
        against = int(found.other[i])
        amounts = None
        if rule.value_columns:
            amounts = dict(zip(rule.value_columns, scores[i, first:].tolist(), strict=True))
        out.append(
            ExplainedRow(
                row=i,
                decision=answers[decided],
                probability=float(chances[i]),
                score=float(found.score[i]),
                cut_off=columns["at"][i],
                change=columns["change"][i],
                turns_to=None if to < 0 else answers[to],
                stays_from=columns["below"][i],
                stays_to=columns["above"][i],
                turns_at_cut_off=bool(found.at_itself[i]),
                segment="" if code is None else where[code],
                values=amounts,
                score_of=None if classes is None else classes[int(found.column[i])],
                against=None if classes is None or against < 0 else classes[against],
                drawn_from=None if span is None else span[0],
                drawn_to=None if span is None else span[1],
                by_draw=0.0 < float(chances[i]) < 1.0,
            )
        )
    return tuple(out)


def _plain(numbers: NDArray[np.float64]) -> list[float | None]:
    """Numbers as Python has them; None for NaN."""
    return [None if np.isnan(x) else x for x in numbers.tolist()]
