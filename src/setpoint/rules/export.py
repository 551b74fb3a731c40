"""Rules as Python functions and as expressions of frames."""

from __future__ import annotations

import keyword
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, and_, or_

import narwhals as nw

from setpoint.errors import InputError
from setpoint.goals import Label
from setpoint.rules import questions as q

# --- A rule as the source of a Python function that imports nothing -------------------------------


def source(questions: q.Questions, name: str, classes: Sequence[Label] | None) -> str:
    """The source; see :meth:`setpoint.rules.Rule.to_python`."""
    # the function calls float and must not find itself
    if not name.isidentifier() or keyword.iskeyword(name) or name == "float":
        raise InputError(f"`name`: a function of Python cannot be called {name!r}")
    return "\n".join(_PythonWriter(questions, q.labels_of(questions, classes)).lines(name))


@dataclass(frozen=True)
class _PythonWriter:
    questions: q.Questions
    labels: tuple[Label, ...]

    def lines(self, name: str) -> Iterator[str]:
        """The function: what cannot be decided first."""
        n = self.questions.score_columns
        values = self.questions.values
        columns = "columns" if self.questions.segments or values else "columns=None"
        u = "u" if self.questions.draws else "u=None"
        yield f"def {name}({'score' if n is None else 'scores'}, *, {columns}, {u}):"
        if n is None:
            yield from _number("score", "score != score")
        else:
            own = n - len(values)
            given = ", ".join(f"s{i}" for i in range(own))
            most = repr(sys.float_info.max)
            yield f"    {given}{',' if own == 1 else ''} = scores"
            for i, column in enumerate(values, start=own):
                yield f"    s{i} = columns[{column!r}]"
            for i in range(n):
                yield from _number(f"s{i}", f"not -{most} <= s{i} <= {most}")
        if self.questions.draws:
            yield from _number("u", "not 0.0 <= u < 1.0")
        yield from (f"    {line}" for line in self.statements(self.questions.answer))

    def statements(self, answer: q.Answer) -> Iterator[str]:
        """Lines that return a decision."""
        if isinstance(answer, q.Cases):
            for condition, part in answer.whens:
                yield f"if {self.condition(condition)}:"
                yield from (f"    {line}" for line in self.statements(part))
            yield from self.statements(answer.otherwise)
        elif isinstance(answer, q.Largest):
            yield from self.largest(answer)
        elif isinstance(answer, int):
            yield f"return {self.labels[answer]!r}"
        else:
            assert answer is None
            yield "return None"

    def largest(self, answer: q.Largest) -> Iterator[str]:
        yield "totals = ("
        yield from (f"    {self.number(value)}," for value in answer.values)
        yield ")"
        yield "best = 0"
        yield f"for j in {tuple(range(1, len(answer.values)))!r}:"
        yield "    if totals[j] > totals[best]:"
        yield "        best = j"
        if all(isinstance(part, int) for part in answer.answers):
            found = tuple(self.labels[part] for part in answer.answers if isinstance(part, int))
            yield f"return {found!r}[best]"
            return
        for j, part in enumerate(answer.answers):
            yield f"if best == {j}:"
            yield from (f"    {line}" for line in self.statements(part))

    def condition(self, condition: q.Condition) -> str:
        if isinstance(condition, q.AtLeast):
            return f"{self.number(condition.left)} >= {self.number(condition.right)}"
        if isinstance(condition, q.Less):
            return f"{self.number(condition.left)} < {self.number(condition.right)}"
        if isinstance(condition, q.AllOf):
            return " and ".join(self.condition(part) for part in condition.conditions)
        place, values = f"columns[{condition.column!r}]", condition.values
        if len(values) == 1:
            return f"{place} {'!=' if condition.others else '=='} {values[0]!r}"
        return f"{place} {'not in' if condition.others else 'in'} {values!r}"

    def number(self, number: q.Number) -> str:
        if isinstance(number, q.NumberLiteral):
            return repr(number.value)
        if isinstance(number, q.Score):
            return "score" if self.questions.score_columns is None else f"s{number.index}"
        if isinstance(number, q.Draw):
            return "u"
        if isinstance(number, q.SumOfTerms):
            return f"({' + '.join(self.number(term) for term in number.terms)})"
        if isinstance(number, (q.Times, q.Difference, q.DividedBy)):
            sign = {q.Times: "*", q.Difference: "-", q.DividedBy: "/"}[type(number)]
            return f"({self.number(number.left)} {sign} {self.number(number.right)})"
        cases = number.as_cases() if isinstance(number, q.Largest) else number
        out = self.leaf(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            out = f"{self.leaf(answer)} if {self.condition(condition)} else {out}"
        return f"({out})"

    def leaf(self, answer: q.Answer) -> str:
        assert answer is not None
        assert not isinstance(answer, int)  # inside a sum stand numbers
        return self.number(answer)


def _number(name: str, unusable: str) -> Iterator[str]:
    """Lines that make a float of what was given, or decide nothing."""
    yield f"    if {name} is None:"
    yield "        return None"
    yield f"    {name} = float({name})"
    yield f"    if {unusable}:"
    yield "        return None"


# --- A rule as a narwhals expression --------------------------------------------------------------


def expression(
    questions: q.Questions,
    score: str | Sequence[str],
    columns: Mapping[str, str] | None,
    classes: Sequence[Label] | None,
    hash_column: str | None,
) -> nw.Expr:
    """The expression; see :meth:`setpoint.rules.Rule.expression`."""
    names = q.names_of(questions, score, columns, classes, hash_column)
    return _FrameWriter(questions, names).whole()


@dataclass(frozen=True)
class _FrameWriter:
    questions: q.Questions
    names: q.Names

    def whole(self) -> nw.Expr:
        """All questions, for the rows that can be decided."""
        tests = []
        for name in self.names.scores:
            score = _double(name)
            # NaN is missing too: it is at least any threshold in some engines
            sound = ~score.is_nan() if self.questions.score_columns is None else score.is_finite()
            tests.append(~score.is_null() & sound)
        if self.names.draw is not None:
            u = _double(self.names.draw)
            tests.append(~u.is_null() & (u >= 0.0) & (u < 1.0))
        answer = self.questions.answer
        if isinstance(answer, q.Cases) and answer.otherwise is None:
            # asked outside, so that whole numbers stay so in pandas where every row is decided
            tests.append(reduce(or_, [self.condition(condition) for condition, _ in answer.whens]))
            last = answer.whens[-1][1]
            answer = q.Cases(answer.whens[:-1], last) if len(answer.whens) > 1 else last
        return nw.when(reduce(and_, tests)).then(self.answer(answer))

    def answer(self, answer: q.Answer) -> nw.Expr:
        """A class, or a number inside a sum; nothing stands only at the end of cases."""
        if isinstance(answer, q.Largest):
            answer = answer.as_cases()
        if isinstance(answer, q.Cases):
            return self.cases(answer)
        if isinstance(answer, int):
            return nw.lit(self.names.labels[answer])
        assert answer is not None
        return self.number(answer)

    def cases(self, cases: q.Cases) -> nw.Expr:
        out = None if cases.otherwise is None else self.answer(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            chosen = nw.when(self.condition(condition)).then(self.answer(answer))
            out = chosen if out is None else chosen.otherwise(out)
        assert out is not None
        return out

    def condition(self, condition: q.Condition) -> nw.Expr:
        if isinstance(condition, q.AtLeast):
            return self.number(condition.left) >= self.number(condition.right)
        if isinstance(condition, q.Less):
            return self.number(condition.left) < self.number(condition.right)
        if isinstance(condition, q.AllOf):
            return reduce(and_, map(self.condition, condition.conditions))
        return self.is_in(condition.column, condition.values, condition.others)

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> nw.Expr:
        name = self.names.columns[column]
        place, known = nw.col(name), list(values)
        if q.kind_of(self.questions.columns[column], column) == "number":
            place, known = _double(name), [float(value) for value in values]
        inside = reduce(or_, [place == value for value in known])
        return nw.col(name).is_null() | ~inside if others else inside

    def number(self, number: q.Number) -> nw.Expr:
        if isinstance(number, q.NumberLiteral):
            return nw.lit(number.value, nw.Float64)
        if isinstance(number, q.Score):
            score = _double(self.names.scores[number.index])
            return 1.0 - score if self.names.other and number.index == 0 else score
        if isinstance(number, q.Draw):
            assert self.names.draw is not None
            return _double(self.names.draw)
        if isinstance(number, q.SumOfTerms):
            return reduce(add, map(self.number, number.terms))
        if isinstance(number, q.Times):
            return self.number(number.left) * self.number(number.right)
        if isinstance(number, q.Difference):
            return self.number(number.left) - self.number(number.right)
        if isinstance(number, q.DividedBy):
            return self.number(number.left) / self.number(number.right)
        return self.answer(number)


def _double(name: str) -> nw.Expr:
    """A column as floats of 64 bits, so that every engine compares the same numbers."""
    return nw.col(name).cast(nw.Float64)


# --- How a rule leaves Python: methods that every rule has ----------------------------------------


class Exportable(ABC):
    """What decides by questions that other languages can ask.

    All exports decide as :meth:`setpoint.rules.Rule.decide` does, to the last bit where
    the engine computes in IEEE doubles, one operation after the other. Two totals of an
    :class:`~setpoint.rules.Argmax` that agree within rounding may be ordered otherwise by
    an engine that does not. Where ``decide`` refuses a row, an export decides
    nothing (NULL, None): a score is missing or NaN (or infinite, where there are several),
    the row is in no segment, or its draw is missing or outside [0, 1).

    Examples
    --------
    >>> from setpoint.rules import Threshold
    >>> print(Threshold(0.25).to_sql("score"))
    CASE
      WHEN CAST("score" AS DOUBLE PRECISION) IS NULL THEN NULL
      WHEN CAST("score" AS DOUBLE PRECISION) >= CAST('0.25' AS DOUBLE PRECISION) THEN 1
      ELSE 0
    END
    """

    @abstractmethod
    def _questions(self) -> q.Questions:
        """The rule as questions."""

    def to_sql(
        self,
        score: str | Sequence[str],
        *,
        dialect: str = "ansi",
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Label] | None = None,
        hash_column: str | None = None,
    ) -> str:
        """Write the rule as one SQL expression, to stand where a column can stand.

        Every name is quoted and every value escaped. Numbers are written so that the
        database reads the same float: as ``CAST('0.25' AS DOUBLE)``, and as a fraction of
        two whole numbers where such a cast may miss the last bit (sqlite, clickhouse).

        Parameters
        ----------
        score : str or sequence of str
            The column with the score; for a rule over several scores the columns, in
            their order. A :class:`~setpoint.rules.ValueAware` rule takes those of the
            probabilities, and finds its columns of values by their own names; of two classes
            the probability of class 1 is enough, and that of class 0 is 1 less it.
        dialect : str
            "ansi", "bigquery", "clickhouse", "databricks", "duckdb", "mysql", "postgres",
            "redshift", "snowflake", "spark", "sqlite", "trino" or "tsql". "ansi" has no
            NaN: name the dialect of a database whose scores may be NaN.
        columns : mapping of str to str, optional
            What the columns that the rule looks at are called in the table, where they
            are called otherwise.
        classes : sequence of str, int, float or bool, optional
            The labels by class index; in binary problems (negative, positive). Without
            them the index is the decision.
        hash_column : str, optional
            A column that holds one uniform number in [0, 1) for each row, such as a hash
            of its id divided by the number of hashes. Needed if `randomized`, else ignored.

        Returns
        -------
        str
            With class 1 of two if and only if the number is below the probability of
            class 1, as ``decide`` has it of `u`. Over n classes an
            :class:`~setpoint.rules.Argmax` needs n(n - 1) / 2 comparisons.

        Raises
        ------
        TypeError, ValueError
            If a name is missing, unknown or cannot be written; the message names the
            argument.

        Examples
        --------
        >>> from setpoint.rules import PerSegment, Threshold
        >>> rule = PerSegment([Threshold(0.3), Threshold(0.6)], [(("sex", "F"),), (("sex", "M"),)])
        >>> print(rule.to_sql("p", dialect="duckdb", columns={"sex": "Sex"}, classes=("no", "yes")))
        CASE
          WHEN CAST("p" AS DOUBLE) IS NULL OR isnan(CAST("p" AS DOUBLE)) THEN NULL
          WHEN "Sex" = 'F' THEN
            CASE
              WHEN CAST("p" AS DOUBLE) >= CAST('0.3' AS DOUBLE) THEN 'yes'
              ELSE 'no'
            END
          WHEN "Sex" = 'M' THEN
            CASE
              WHEN CAST("p" AS DOUBLE) >= CAST('0.6' AS DOUBLE) THEN 'yes'
              ELSE 'no'
            END
          ELSE NULL
        END
        """
        from setpoint.rules.sql import written

        return written(self._questions(), score, dialect, columns, classes, hash_column)

    def expression(
        self,
        score: str | Sequence[str],
        *,
        columns: Mapping[str, str] | None = None,
        classes: Sequence[Label] | None = None,
        hash_column: str | None = None,
    ) -> nw.Expr:
        """Write the rule as a narwhals expression, for eager and lazy frames.

        Parameters
        ----------
        score, columns, classes, hash_column
            As in :meth:`to_sql`.

        Returns
        -------
        narwhals.Expr
            In pandas and dask, where a whole number cannot be missing, decisions become
            floats as soon as a row has none.

        Raises
        ------
        TypeError, ValueError
            As in :meth:`to_sql`.

        Examples
        --------
        >>> import narwhals as nw
        >>> import pandas as pd
        >>> from setpoint.rules import Threshold
        >>> frame = nw.from_native(pd.DataFrame({"score": [0.2, 0.25, 0.9]}))
        >>> frame.with_columns(d=Threshold(0.25).expression("score"))["d"].to_list()
        [0, 1, 1]
        """
        return expression(self._questions(), score, columns, classes, hash_column)

    def to_python(self, name: str = "decide", *, classes: Sequence[Label] | None = None) -> str:
        """Write the rule as the source of a Python function that imports nothing.

        Its parameters are ``score`` (or ``scores``, a sequence, for a rule over several),
        and by keyword ``columns``, a mapping from the columns that the rule looks at to
        the row's values, and ``u``, its uniform number in [0, 1). Those that the rule
        needs have no default.

        Parameters
        ----------
        name : str
            The function's name.
        classes : sequence of str, int, float or bool, optional
            As in :meth:`to_sql`.

        Raises
        ------
        TypeError, ValueError
            If the name is not an identifier, or `classes` are not labels.

        Examples
        --------
        >>> from setpoint.rules import Threshold
        >>> print(Threshold(0.25).to_python(classes=("no", "yes")))
        def decide(score, *, columns=None, u=None):
            if score is None:
                return None
            score = float(score)
            if score != score:
                return None
            if score >= 0.25:
                return 'yes'
            return 'no'
        """
        return source(self._questions(), name, classes)
