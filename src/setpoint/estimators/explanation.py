"""Decisions explained one by one: the score, the cut-off, and how far it lies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from html import escape
from typing import TYPE_CHECKING, Any, overload

from setpoint.goals.populations import column_in_words, value_in_words
from setpoint.report.numbers import percent
from setpoint.report.printable import cleaned

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ExplainedRow", "Explanation"]

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
        return " ".join((f"Row {self.row}: {self._decided()}.", *self._sentences()))

    def _decided(self) -> str:
        done = "deferred" if self.defers else f"predicted {value_in_words(self.decision)}"
        if self.by_draw:
            return f"{done} by a draw, as {percent(self.probability)} of rows with its score are"
        return done

    def _sentences(self) -> Iterator[str]:
        """Where the score lies."""
        score, cut = _apart(self.score, self.cut_off)
        whose = (
            self.score_is
            if self.score_of is None
            else f"{self.score_is} of {value_in_words(self.score_of)}"
        )
        if self.cut_off is None:
            yield f"Its {whose} is {score}{self._where()}."
        else:
            yield f"Its {whose} {score} {self._lies(cut)}{self._where()}{self._by()}."

    def _lies(self, cut: str) -> str:
        assert self.change is not None
        if self.change == 0.0:
            return f"is the cut-off {cut} itself"
        if self.stays_from is not None and self.stays_to is not None:
            low, high = _apart(self.stays_from, self.stays_to)
            return f"lies between {low} and {high}, the cut-offs"
        return f"is {'at least' if self.change < 0.0 else 'below'} {cut}, the cut-off"

    def _where(self) -> str:
        asked = [f"{column_in_words(c)} = {x:.6g}" for c, x in (self.values or {}).items()]
        parts = ", ".join([*([self.segment] if self.segment else []), *asked])
        draw = " with its draw" if self.by_draw and self.cut_off is not None else ""
        return (f" for {parts}" if parts else "") + draw

    def _by(self) -> str:
        """How far the score lies from its only cut-off."""
        between = self.stays_from is not None and self.stays_to is not None
        return f", by {abs(self.change):.4g}" if self.change and not between else ""


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
        """The same under the numbers that the rows have elsewhere.

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
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                "to_frame gives a pandas DataFrame; install pandas with: pip install pandas"
            ) from None
        names = [f.name for f in fields(ExplainedRow) if f.name not in ("row", "values")]
        columns = {name: [getattr(row, name) for row in self.rows] for name in names}
        frame = pd.DataFrame(columns, index=pd.Index([row.row for row in self.rows], name="row"))
        numbers = [f.name for f in fields(ExplainedRow) if str(f.type).startswith("float")]
        frame[numbers] = frame[numbers].astype(float)
        return frame

    def __str__(self) -> str:
        return "\n".join((*map(str, self.rows[:_SHOWN]), *self._more(), self.covers))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        head = ("row", "decision", "score", "cut-off", "change", "where")
        cells = "".join(
            "<tr>" + "".join(f"<td>{escape(cleaned(x))}</td>" for x in _cells(row)) + "</tr>"
            for row in self.rows[:_SHOWN]
        )
        titles = "".join(f"<th>{title}</th>" for title in head)
        notes = "".join(f"<p>{escape(cleaned(x))}</p>" for x in (*self._more(), self.covers))
        return (
            f'<div class="setpoint-explanation"><table><thead><tr>{titles}</tr></thead>'
            f"<tbody>{cells}</tbody></table>{notes}</div>"
        )

    def _more(self) -> tuple[str, ...]:
        """How many rows are not shown."""
        left = len(self.rows) - _SHOWN
        return (f"{left:,} more rows are in to_frame().",) if left > 0 else ()


def _cells(row: ExplainedRow) -> Iterator[str]:
    yield str(row.row)
    yield value_in_words(row.decision)
    score, cut = _apart(row.score, row.cut_off)
    yield score
    yield cut
    yield "" if row.change is None else f"{row.change:+.4g}"
    yield row.segment


def _apart(one: float, two: float | None) -> tuple[str, str]:
    """Two numbers in four significant digits, and in more where they would read the same."""
    if two is None:
        return f"{one:.{_SHORTEST}g}", ""
    digits = _SHORTEST
    while one != two and digits < _LONGEST and f"{one:.{digits}g}" == f"{two:.{digits}g}":
        digits += 1
    return f"{one:.{digits}g}", f"{two:.{digits}g}"
