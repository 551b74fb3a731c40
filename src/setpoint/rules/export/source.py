"""A rule as the source of a Python function that imports nothing."""

from __future__ import annotations

import keyword
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from setpoint.errors import InputError
from setpoint.goals.populations import Label
from setpoint.rules.export.names import labels_of
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

__all__ = ["source"]


def source(questions: Questions, name: str, classes: Sequence[Label] | None) -> str:
    """The source; see :meth:`setpoint.rules.Rule.to_python`."""
    # the function calls float and must not find itself
    if not name.isidentifier() or keyword.iskeyword(name) or name == "float":
        raise InputError(f"`name`: a function of Python cannot be called {name!r}")
    return "\n".join(_Writer(questions, labels_of(questions, classes)).lines(name))


@dataclass(frozen=True)
class _Writer:
    questions: Questions
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

    def statements(self, answer: Answer) -> Iterator[str]:
        """Lines that return a decision."""
        if isinstance(answer, Cases):
            for condition, part in answer.whens:
                yield f"if {self.condition(condition)}:"
                yield from (f"    {line}" for line in self.statements(part))
            yield from self.statements(answer.otherwise)
        elif isinstance(answer, Largest):
            yield from self.largest(answer)
        elif isinstance(answer, int):
            yield f"return {self.labels[answer]!r}"
        else:
            assert answer is None
            yield "return None"

    def largest(self, answer: Largest) -> Iterator[str]:
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

    def condition(self, condition: Condition) -> str:
        if isinstance(condition, AtLeast):
            return f"{self.number(condition.left)} >= {self.number(condition.right)}"
        if isinstance(condition, Below):
            return f"{self.number(condition.left)} < {self.number(condition.right)}"
        if isinstance(condition, Every):
            return " and ".join(self.condition(part) for part in condition.conditions)
        place, values = f"columns[{condition.column!r}]", condition.values
        if len(values) == 1:
            return f"{place} {'!=' if condition.others else '=='} {values[0]!r}"
        return f"{place} {'not in' if condition.others else 'in'} {values!r}"

    def number(self, number: Number) -> str:
        if isinstance(number, Constant):
            return repr(number.value)
        if isinstance(number, Score):
            return "score" if self.questions.score_columns is None else f"s{number.index}"
        if isinstance(number, Draw):
            return "u"
        if isinstance(number, Sum):
            return f"({' + '.join(self.number(term) for term in number.terms)})"
        if isinstance(number, (Product, Difference, Quotient)):
            sign = {Product: "*", Difference: "-", Quotient: "/"}[type(number)]
            return f"({self.number(number.left)} {sign} {self.number(number.right)})"
        cases = number.as_cases() if isinstance(number, Largest) else number
        out = self.leaf(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            out = f"{self.leaf(answer)} if {self.condition(condition)} else {out}"
        return f"({out})"

    def leaf(self, answer: Answer) -> str:
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
