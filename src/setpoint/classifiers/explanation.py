"""What a classifier decides and why, row by row, and on a page where bounds are dragged."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from setpoint.classifiers.by_rule import DecidesByRule
from setpoint.errors import InputTypeError
from setpoint.goals import column_in_words, value_in_words
from setpoint.inputs import described
from setpoint.packages import pandas
from setpoint.report import cleaned, covered, percent
from setpoint.rules import Band, PerSegment, Rule, Threshold, segment_in_words

if TYPE_CHECKING:
    import pandas as pd


_SHOWN = 20
"""Rows that a text or a notebook shows."""

_SHORTEST, _LONGEST = 4, 17
"""Significant digits."""


@dataclass(frozen=True)
class ExplainedRow:
    """One decision.

    Parameters
    ----------
    row : int
        Its place in X, from 0.
    decision : label
        What ``predict`` says.
    probability : float
        With which the rule decides so; 1 where it does not draw.
    score : float
        What the rule goes by: of two classes the score of the positive one, else that of the
        class `score_of`.
    cut_off : float or None
        The nearest one at which the decision is another; None: there is none, as where the rule
        goes by more than one score.
    change : float or None
        From the score to the cut-off, signed. 0: the score is its cut-off.
    stays_from, stays_to : float or None
        The decision is the same from the one score to the other; None: it has no end there.
    segment : str
        The part of the rows that has this cut-off, in words; "" for all rows.
    values : dict of str to float
        Columns of values that the rule looks at beside the score.
    score_of : label or None
        Of more than two classes: whose score that is.
    by_draw : bool
        Whether this decision was drawn. The cut-off is then the one with the same draw.
    defers : bool
        Whether the row is left to a person.
    score_is : str
        "score" or "probability".

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> X, y = make_classification(random_state=0)
    >>> row = PlugInClassifier(LogisticRegression(), "f1").fit(X, y).explain(X)[0]
    >>> row.decision, row.score < row.cut_off, row.change > 0
    (0, True, True)
    """

    row: int
    decision: Any
    probability: float
    score: float
    cut_off: float | None
    change: float | None
    stays_from: float | None = None
    stays_to: float | None = None
    segment: str = ""
    values: dict[str, float] | None = None
    score_of: Any = None
    by_draw: bool = False
    defers: bool = False
    score_is: str = "score"

    def __str__(self) -> str:
        return f"Row {self.row}: {self._decided()}. {self._placed()}"

    def _decided(self) -> str:
        done = "deferred" if self.defers else f"predicted {value_in_words(self.decision)}"
        if self.by_draw:
            return f"{done} by a draw, as {percent(self.probability)} of rows with its score are"
        return done

    def _placed(self) -> str:
        """Where the score lies, of which rows that is said, and how far from its only cut-off."""
        score, cut = _apart(self.score, self.cut_off)
        of = "" if self.score_of is None else f" of {value_in_words(self.score_of)}"
        asked = [f"{column_in_words(c)} = {x:.6g}" for c, x in (self.values or {}).items()]
        parts = ", ".join([*([self.segment] if self.segment else []), *asked])
        where = f" for {parts}" if parts else ""
        if self.cut_off is None or self.change is None:
            return f"Its {self.score_is}{of} is {score}{where}."
        by = ""
        if self.change == 0.0:
            lies = f"is the cut-off {cut} itself"
        elif self.stays_from is not None and self.stays_to is not None:
            low, high = _apart(self.stays_from, self.stays_to)
            lies = f"lies between {low} and {high}, the cut-offs"
        else:
            lies = f"is {'at least' if self.change < 0.0 else 'below'} {cut}, the cut-off"
            by = f", by {abs(self.change):.4g}"
        draw = " with its draw" if self.by_draw else ""
        return f"Its {self.score_is}{of} {score} {lies}{where}{draw}{by}."


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Decisions explained, one a row: a sequence of :class:`ExplainedRow`.

    Printed it is a text, in a notebook a table.

    Parameters
    ----------
    rows : tuple of ExplainedRow
    covers : str
        What is certified or proved of the rule.

    Examples
    --------
    >>> row = ExplainedRow(3, "yes", 1.0, 0.412, 0.271, -0.141, 0.271, segment="sex = F")
    >>> print(Explanation((row,), "Nothing is certified of the rule."))
    Row 3: predicted yes. Its score 0.412 is at least 0.271, the cut-off for sex = F, by \
0.141.
    Nothing is certified of the rule.
    """

    rows: tuple[ExplainedRow, ...]
    covers: str

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[ExplainedRow]:
        return iter(self.rows)

    @overload
    def __getitem__(self, place: int) -> ExplainedRow: ...
    @overload
    def __getitem__(self, place: slice) -> Explanation: ...
    def __getitem__(self, place: int | slice) -> ExplainedRow | Explanation:
        if isinstance(place, slice):
            return Explanation(self.rows[place], self.covers)
        return self.rows[place]

    def numbered(self, rows: Sequence[int]) -> Explanation:
        """The same under the numbers that the rows have in their table.

        Parameters
        ----------
        rows : sequence of int

        Examples
        --------
        >>> row = ExplainedRow(0, "yes", 1.0, 0.5, 0.25, -0.25)
        >>> Explanation((row,), "").numbered([7])[0].row
        7
        """
        pairs = zip(self.rows, rows, strict=True)
        return Explanation(tuple(replace(row, row=int(n)) for row, n in pairs), self.covers)

    def to_dicts(self) -> list[dict[str, Any]]:
        """A dict a row, of plain values for JSON.

        Examples
        --------
        >>> row = ExplainedRow(0, "yes", 1.0, 0.5, 0.25, -0.25)
        >>> Explanation((row,), "").to_dicts()[0]["change"]
        -0.25
        """
        return [asdict(row) | {"words": str(row)} for row in self.rows]

    def to_frame(self) -> pd.DataFrame:
        """A pandas DataFrame with a line for each row and a column for each number.

        Raises
        ------
        ImportError
            If pandas is not installed.

        Examples
        --------
        >>> row = ExplainedRow(0, "yes", 1.0, 0.5, 0.25, -0.25)
        >>> Explanation((row,), "").to_frame()[["decision", "cut_off", "change"]].values.tolist()
        [['yes', 0.25, -0.25]]
        """
        names = [f.name for f in fields(ExplainedRow) if f.name not in ("row", "values")]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        index = pandas().Index([row.row for row in self.rows], name="row")
        frame: pd.DataFrame = pandas().DataFrame(columns, index=index)
        numbers = [f.name for f in fields(ExplainedRow) if str(f.type).startswith("float")]
        frame[numbers] = frame[numbers].astype(float)
        return frame

    def __str__(self) -> str:
        return "\n".join((*map(str, self.rows[:_SHOWN]), *self._more(), self.covers))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        def tagged(tag: str, texts: Iterable[str]) -> str:
            return "".join(f"<{tag}>{escape(cleaned(text))}</{tag}>" for text in texts)

        titles = tagged("th", ("row", "decision", "score", "cut-off", "change", "where"))
        cells = "".join(f"<tr>{tagged('td', _cells(row))}</tr>" for row in self.rows[:_SHOWN])
        return (
            f'<div class="setpoint-explanation"><table><thead><tr>{titles}</tr></thead>'
            f"<tbody>{cells}</tbody></table>{tagged('p', (*self._more(), self.covers))}</div>"
        )

    def _more(self) -> tuple[str, ...]:
        """How many rows are not shown."""
        left = len(self.rows) - _SHOWN
        return (f"{left:,} more rows are in to_frame().",) if left > 0 else ()


def _cells(row: ExplainedRow) -> tuple[str, ...]:
    change = "" if row.change is None else f"{row.change:+.4g}"
    where = _apart(row.score, row.cut_off)
    return str(row.row), value_in_words(row.decision), *where, change, row.segment


def _apart(one: float, two: float | None) -> tuple[str, str]:
    """Two numbers in four significant digits, and in more where they would read the same."""
    if two is None:
        return f"{one:.{_SHORTEST}g}", ""
    digits = _SHORTEST
    while one != two and digits < _LONGEST and f"{one:.{digits}g}" == f"{two:.{digits}g}":
        digits += 1
    return f"{one:.{digits}g}", f"{two:.{digits}g}"


# --- ``explain``: why rows are decided as they are ------------------------------------------------


Array = NDArray[Any]
_SUM = 1e-6
"""So near to one posteriors of a row sum."""


class ExplainsDecisions(DecidesByRule):
    """``explain`` for whatever has scores and a fitted rule."""

    def explain(self, X: Any, *, sensitive_features: Any = None) -> Explanation:
        """Explain the decision of each row: its score, its cut-off, and how far it lies.

        It says nothing of features: what moves a score is the model's business.

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
            of a rule that defers, the nearer of its two. With amounts of the row, or more than
            two classes, there is none. A rule that draws keeps the row's draw; with
            ``draw="random"`` every call draws anew.

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
        scores, segments, u = self._seen_by_rule(X, self._scores(X), sensitive_features)
        n = 1 if scores.ndim == 1 else scores.shape[1] - len(rule.value_columns)
        decided = rule.decide(scores, segments, u)
        answers = self._named(np.arange(rule.n_classes)).tolist()
        many = answers[:n] if n > 2 and n in (rule.n_classes, rule.n_classes - 1) else None
        beside = [f"column {k + 1}" for k in range(n)] if n > 2 and many is None else many
        deferred = rule.n_classes - 1 if self._defers else None
        rows = _rows(rule, decided, scores, segments, u, answers, beside, deferred)
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
    deferred: int | None,
) -> tuple[ExplainedRow, ...]:
    """A record of plain values for each row."""
    where = [segment_in_words(key) for key in rule.segment_keys]
    here = np.arange(len(scores))
    chances = rule.distribution(scores, segments)[here, decided].tolist()
    column, s, n = np.zeros_like(here), scores, 1
    below, above = _cut_offs(rule, decided, scores, segments, u)
    if scores.ndim == 2:
        n = scores.shape[1] - len(rule.value_columns)
        own = n in (rule.n_classes, rule.n_classes - 1)  # one for each class but deferred rows
        top = scores[:, :n].argmax(axis=1)
        column = np.where(own & (decided < n), decided, top) if n != 2 else np.ones_like(here)
        s = scores[here, column]
    with np.errstate(invalid="ignore", over="ignore"):
        up = np.isnan(below) | (~np.isnan(above) & ~(s - below < above - s))
        at = np.where(up, above, below)
        change = np.where(np.isnan(at), np.nan, at - s)
    numbers = np.stack([at, change, below, above])
    columns = np.where(np.isnan(numbers), None, numbers).tolist()  # type: ignore[call-overload]
    score_is = "probability" if rule.value_columns and _are_posteriors(scores, n) else "score"
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
                defers=answer == deferred,
                score_is=score_is,
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
    known = np.zeros(len(s), np.int64) if segments is None else segments
    for code in np.unique(known).tolist() if s.ndim == 1 else []:
        rows = np.flatnonzero(known == code)
        edges = np.unique(_edges(rule, code))
        edges = edges[np.isfinite(edges)]
        # step k lies from edges[k - 1] on; the lowest has no start
        there = np.searchsorted(edges, s[rows], side="right")
        codes = None if segments is None else known[rows]
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
