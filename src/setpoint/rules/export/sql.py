"""A rule as an SQL expression."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from setpoint.goals.populations import Label
from setpoint.rules.export.dialects import Dialect, dialect_of
from setpoint.rules.export.names import Names, kind_of, names_of
from setpoint.rules.export.questions import (
    Answer,
    AtLeast,
    Below,
    Cases,
    Condition,
    Constant,
    Difference,
    Draw,
    Every,
    Largest,
    Number,
    Product,
    Questions,
    Quotient,
    Score,
    Sum,
)

__all__ = ["written"]

_WHOLE = 2**53
"""Below it, floats without a fraction are written as whole numbers."""


def written(
    questions: Questions,
    score: str | Sequence[str],
    dialect: str,
    columns: Mapping[str, str] | None,
    classes: Sequence[Label] | None,
    hash_column: str | None,
) -> str:
    """The expression; see :meth:`setpoint.rules.Rule.to_sql`."""
    sql = dialect_of(dialect)
    names = names_of(questions, score, columns, classes, hash_column)
    return _Writer(questions, names, sql).whole()


@dataclass(frozen=True)
class _Writer:
    questions: Questions
    names: Names
    sql: Dialect

    def whole(self) -> str:
        """All questions, after those for rows that cannot be decided."""
        finite = self.questions.score_columns is not None
        tests = [self.sql.unusable(name, finite) for name in dict.fromkeys(self.names.scores)]
        if self.names.draw is not None:
            u = self.sql.cast(self.names.draw)
            tests.append(f"{u} IS NULL OR NOT ({u} >= 0 AND {u} < 1)")
        lines = ["CASE", f"  WHEN {' OR '.join(tests)} THEN NULL"]
        answer = self.questions.answer
        if isinstance(answer, Largest):
            answer = answer.as_cases()
        if isinstance(answer, Cases):
            lines += self.lines_of(answer)
        else:
            lines.append(f"  ELSE {self.leaf(answer)}")
        return "\n".join([*lines, "END"])

    def lines_of(self, cases: Cases) -> Iterator[str]:
        """The cases of a decision, a line for each condition."""
        heads = [f"WHEN {self.condition(condition)} THEN" for condition, _ in cases.whens]
        answers = [answer for _, answer in cases.whens]
        for head, answer in zip([*heads, "ELSE"], [*answers, cases.otherwise], strict=True):
            inner = answer.as_cases() if isinstance(answer, Largest) else answer
            if isinstance(inner, Cases):
                yield f"  {head}"
                yield "    CASE"
                yield from (f"    {line}" for line in self.lines_of(inner))
                yield "    END"
            else:
                yield f"  {head} {self.leaf(inner)}"

    def leaf(self, answer: Answer) -> str:
        """A class, or nothing, or the number that stands there inside a sum."""
        if answer is None:
            return "NULL"
        if isinstance(answer, int):
            return self.sql.label(self.names.labels[answer])
        return self.number(answer)

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, AtLeast):
            return f"{self.number(condition.left)} >= {self.number(condition.right)}"
        if isinstance(condition, Below):
            return f"{self.number(condition.left)} < {self.number(condition.right)}"
        if isinstance(condition, Every):
            return " AND ".join(self.condition(part) for part in condition.conditions)
        return self.is_in(condition.column, condition.values, condition.others)

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> str:
        name = self.sql.name(self.names.columns[column])
        kind = kind_of(self.questions.columns[column], column)
        known: list[Label] = list(values)
        place = name
        if kind == "number":
            numbers = [float(v) for v in self.questions.columns[column]]
            if all(v.is_integer() and abs(v) < _WHOLE for v in numbers):
                known = [int(v) for v in values]
            else:  # a narrow float is not the double that it was rounded from
                known = [float(v) for v in values]
                place = self.sql.cast(self.names.columns[column])
        texts = [self.sql.label(value) for value in known]
        listed = f"({', '.join(texts)})"
        if others:
            return f"({name} IS NULL OR {place} NOT IN {listed})"
        return f"{place} = {texts[0]}" if len(texts) == 1 else f"{place} IN {listed}"

    def number(self, number: Number) -> str:
        if isinstance(number, Constant):
            return self.sql.number(number.value)
        if isinstance(number, Score):
            score = self.sql.cast(self.names.scores[number.index])
            return f"(1 - {score})" if self.names.other and number.index == 0 else score
        if isinstance(number, Draw):
            assert self.names.draw is not None
            return self.sql.cast(self.names.draw)
        if isinstance(number, Sum):
            return f"({' + '.join(self.number(term) for term in number.terms)})"
        if isinstance(number, (Product, Difference, Quotient)):
            sign = {Product: "*", Difference: "-", Quotient: "/"}[type(number)]
            return f"({self.number(number.left)} {sign} {self.number(number.right)})"
        cases = number.as_cases() if isinstance(number, Largest) else number
        whens = " ".join(
            f"WHEN {self.condition(condition)} THEN {self.leaf(answer)}"
            for condition, answer in cases.whens
        )
        return f"CASE {whens} ELSE {self.leaf(cases.otherwise)} END"
