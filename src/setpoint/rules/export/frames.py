"""A rule as a narwhals expression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add, and_, or_

import narwhals as nw

from setpoint.goals.populations import Label
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

__all__ = ["expression"]


def expression(
    questions: Questions,
    score: str | Sequence[str],
    columns: Mapping[str, str] | None,
    classes: Sequence[Label] | None,
    hash_column: str | None,
) -> nw.Expr:
    """The expression; see :meth:`setpoint.rules.Rule.expression`."""
    names = names_of(questions, score, columns, classes, hash_column)
    return _Writer(questions, names).whole()


@dataclass(frozen=True)
class _Writer:
    questions: Questions
    names: Names

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
        if isinstance(answer, Cases) and answer.otherwise is None:
            # asked outside, so that whole numbers stay so in pandas where every row is decided
            tests.append(reduce(or_, [self.condition(condition) for condition, _ in answer.whens]))
            last = answer.whens[-1][1]
            answer = Cases(answer.whens[:-1], last) if len(answer.whens) > 1 else last
        return nw.when(reduce(and_, tests)).then(self.answer(answer))

    def answer(self, answer: Answer) -> nw.Expr:
        """A class, or a number inside a sum; nothing stands only at the end of cases."""
        if isinstance(answer, Largest):
            answer = answer.as_cases()
        if isinstance(answer, Cases):
            return self.cases(answer)
        if isinstance(answer, int):
            return nw.lit(self.names.labels[answer])
        assert answer is not None
        return self.number(answer)

    def cases(self, cases: Cases) -> nw.Expr:
        out = None if cases.otherwise is None else self.answer(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            chosen = nw.when(self.condition(condition)).then(self.answer(answer))
            out = chosen if out is None else chosen.otherwise(out)
        assert out is not None
        return out

    def condition(self, condition: Condition) -> nw.Expr:
        if isinstance(condition, AtLeast):
            return self.number(condition.left) >= self.number(condition.right)
        if isinstance(condition, Below):
            return self.number(condition.left) < self.number(condition.right)
        if isinstance(condition, Every):
            return reduce(and_, map(self.condition, condition.conditions))
        return self.is_in(condition.column, condition.values, condition.others)

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> nw.Expr:
        name = self.names.columns[column]
        place, known = nw.col(name), list(values)
        if kind_of(self.questions.columns[column], column) == "number":
            place, known = _double(name), [float(value) for value in values]
        inside = reduce(or_, [place == value for value in known])
        return nw.col(name).is_null() | ~inside if others else inside

    def number(self, number: Number) -> nw.Expr:
        if isinstance(number, Constant):
            return nw.lit(number.value, nw.Float64)
        if isinstance(number, Score):
            score = _double(self.names.scores[number.index])
            return 1.0 - score if self.names.other and number.index == 0 else score
        if isinstance(number, Draw):
            assert self.names.draw is not None
            return _double(self.names.draw)
        if isinstance(number, Sum):
            return reduce(add, map(self.number, number.terms))
        if isinstance(number, Product):
            return self.number(number.left) * self.number(number.right)
        if isinstance(number, Difference):
            return self.number(number.left) - self.number(number.right)
        if isinstance(number, Quotient):
            return self.number(number.left) / self.number(number.right)
        return self.answer(number)


def _double(name: str) -> nw.Expr:
    """A column as floats of 64 bits, so that every engine compares the same numbers."""
    return nw.col(name).cast(nw.Float64)
