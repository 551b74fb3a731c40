"""Rules as Python functions and as expressions of frames; what every way out shares."""

from __future__ import annotations

import keyword
import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import narwhals as nw

from setpoint.errors import InputError, InputTypeError, quoted
from setpoint.goals import Key, Label, Other, plain_label
from setpoint.rules import questions as q

if TYPE_CHECKING:
    from setpoint.rules.base import Rule

# --- What the columns and the classes of an export are called -------------------------------------


def columns_of(segments: Sequence[Key]) -> dict[str, tuple[Label, ...]]:
    """The columns that segments look at, with the values that are distinguished."""
    out: dict[str, dict[Label, None]] = {}
    for column, value in (pair for segment in segments for pair in segment):
        values = value.than if isinstance(value, Other) else (value,)
        out.setdefault(column, {}).update(dict.fromkeys(values))
    return {column: tuple(values) for column, values in out.items()}


@dataclass(frozen=True)
class Names:
    """The columns of a table, as an export looks at them."""

    scores: tuple[str, ...]
    columns: dict[str, str]
    numbers: dict[str, tuple[Label, ...]]
    """Of columns of numbers the values that are distinguished."""
    draw: str | None
    labels: tuple[Label, ...]
    other: bool = False


def names_of(rule: Rule, score: Any, columns: Any, classes: Any, hash_column: Any) -> Names:
    """The names that an export uses, checked."""
    known = columns_of(rule.segment_keys)
    what = "the values of {!r} that the rule tells apart"
    numbers = {c: v for c, v in known.items() if kind_of(v, what.format(c)) == "number"}
    labels = labels_of(rule, classes)
    kind_of(labels, "classes")
    called = _columns(tuple(dict.fromkeys((*known, *rule.value_columns))), columns)
    return Names(
        (*_scores(rule, score), *(called[column] for column in rule.value_columns)),
        called,
        numbers,
        _draw(rule, hash_column),
        labels,
        isinstance(score, str) and len(rule.value_columns) > 0,
    )


def labels_of(rule: Rule, classes: Any) -> tuple[Label, ...]:
    """The labels by class index."""
    if classes is None:
        return tuple(range(rule.n_classes))
    labels = tuple(plain_label(label, "classes: a label") for label in classes)
    if isinstance(classes, str) or len(labels) != rule.n_classes:
        raise InputError(
            f"`classes`: the rule decides between {rule.n_classes} classes, got {classes!r}"
        )
    return labels


def kind_of(values: Sequence[Label], what: str) -> str:
    """Whether the values of one column are text, bools or numbers.

    Examples
    --------
    >>> kind_of(("a", "b"), "classes"), kind_of((True, 2), "classes")
    ('text', 'number')
    """
    text = [value for value in values if isinstance(value, str)]
    if text and len(text) < len(values):
        other = next(value for value in values if not isinstance(value, str))
        raise InputError(
            f"{quoted(what)} are of two kinds, text such as {text[0]!r} and {other!r}; a column of "
            "a table holds one kind"
        )
    if text:
        return "text"
    return "bool" if values and all(isinstance(value, bool) for value in values) else "number"


def _scores(rule: Rule, score: Any) -> tuple[str, ...]:
    n = rule.score_columns
    if n is None:
        if not isinstance(score, str):
            raise InputTypeError(
                f"`score`: the rule looks at one score, so name one column, got {score!r}"
            )
        return (_name(score, "score"),)
    n -= len(rule.value_columns)
    beside = ""
    if rule.value_columns:
        beside = f"; the columns {list(rule.value_columns)} are named by `columns`"
        if n == 2 and isinstance(score, str):  # that of the positive class says both
            return (_name(score, "score"), score)
    if isinstance(score, str) or not isinstance(score, Sequence) or len(score) != n:
        raise InputError(
            f"`score`: the rule looks at {n} score{'s' if n > 1 else ''}, so name as many columns, "
            f"in a list in their order, got {score!r}{beside}"
        )
    return tuple(_name(name, "score") for name in score)


def _columns(known: tuple[str, ...], columns: Any) -> dict[str, str]:
    given = {} if columns is None else columns
    if not isinstance(given, Mapping):
        raise InputTypeError(
            "`columns`: a dict from the rule's columns to those of the table, got a "
            f"{type(columns).__name__}"
        )
    for column in given:
        if column not in known:
            looks = f"looks at {list(known)}" if known else "looks at no column beside the score"
            raise InputError(f"`columns`: the rule does not look at {column!r}; it {looks}")
    return {column: _name(given.get(column, column), "columns") for column in known}


def _draw(rule: Rule, hash_column: Any) -> str | None:
    if not rule.randomized:
        return None
    if hash_column is None:
        raise InputError(
            "`hash_column` is needed: this rule is randomised. Name a column that holds one "
            "uniform number in [0, 1) for each row, such as a hash of its id divided by the number "
            "of hashes; so the same row is decided the same way each time"
        )
    return _name(hash_column, "hash_column")


def _name(value: Any, what: str) -> str:
    if not isinstance(value, str) or not value:
        raise InputTypeError(f"{quoted(what)}: a column is named by text, got {value!r}")
    return value


# --- A rule in one language -----------------------------------------------------------------------


T = TypeVar("T")


class Writer(ABC, Generic[T]):
    """The terms of a rule in one language; each says how it writes what a row has."""

    def __init__(self, rule: Rule) -> None:
        rule._written()  # refuses rules of one's own, which may decide in another way
        self.rule = rule
        self.answer = rule._answer(q.DRAW)

    def term(self, term: q.Answer) -> T:
        """A number inside a sum, or a condition."""
        if isinstance(term, (int, float)):
            return self.number(float(term))
        if isinstance(term, q.Largest):
            term = term.as_cases()
        if isinstance(term, q.Cases):
            return self.chosen(term, self.term)
        assert term is not None
        own: dict[str, Callable[..., T]] = {
            "score": self.score,
            "draw": self.draw,
            "in": self.is_in,
        }
        if term.op in own:
            return own[term.op](*term.parts)
        return self.joined(term.op, [self.term(part) for part in term.parts])

    @abstractmethod
    def number(self, value: float) -> T:
        """A finite number."""

    @abstractmethod
    def score(self, index: int) -> T:
        """A score of the row."""

    @abstractmethod
    def draw(self) -> T:
        """The row's uniform number."""

    @abstractmethod
    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> T:
        """Whether a column holds one of the values, or another one."""

    @abstractmethod
    def chosen(self, cases: q.Cases, leaf: Callable[[q.Answer], T]) -> T:
        """Cases whose answers `leaf` writes."""

    @abstractmethod
    def joined(self, op: str, parts: list[T]) -> T:
        """Parts between which an operator stands."""


def joined_text(op: str, parts: list[str]) -> str:
    """In brackets what is a number."""
    text = f" {op} ".join(parts)
    return f"({text})" if op in "+-*/" else text


# --- A rule as the source of a Python function that imports nothing -------------------------------


class PythonWriter(Writer[str]):
    """The source; see :meth:`setpoint.rules.Rule.to_python`."""

    def __init__(self, rule: Rule, classes: Sequence[Label] | None) -> None:
        super().__init__(rule)
        self.labels = labels_of(rule, classes)

    def whole(self, name: str) -> str:
        # the function calls float and must not find itself
        if not name.isidentifier() or keyword.iskeyword(name) or name == "float":
            raise InputError(f"`name`: a function of Python cannot be called {name!r}")
        return "\n".join(self.lines(name))

    def lines(self, name: str) -> Iterator[str]:
        """The function: what cannot be decided first."""
        n, values = self.rule.score_columns, self.rule.value_columns
        columns = "columns" if self.rule.needs_segments or values else "columns=None"
        u = "u" if self.rule.randomized else "u=None"
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
        if self.rule.randomized:
            yield from _number("u", "not 0.0 <= u < 1.0")
        yield from (f"    {line}" for line in self.statements(self.answer))

    def statements(self, answer: q.Answer) -> Iterator[str]:
        """Lines that return a decision."""
        if isinstance(answer, q.Cases):
            for condition, part in answer.whens:
                yield f"if {self.term(condition)}:"
                yield from (f"    {line}" for line in self.statements(part))
            yield from self.statements(answer.otherwise)
        elif isinstance(answer, q.Largest):
            yield from self.largest(answer)
        else:
            yield f"return {self.labels[answer]!r}" if isinstance(answer, int) else "return None"

    def largest(self, answer: q.Largest) -> Iterator[str]:
        yield "totals = ("
        yield from (f"    {self.term(value)}," for value in answer.values)
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

    def number(self, value: float) -> str:
        return repr(value)

    def score(self, index: int) -> str:
        return "score" if self.rule.score_columns is None else f"s{index}"

    def draw(self) -> str:
        return "u"

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> str:
        place = f"columns[{column!r}]"
        if len(values) == 1:
            return f"{place} {'!=' if others else '=='} {values[0]!r}"
        return f"{place} {'not in' if others else 'in'} {values!r}"

    def chosen(self, cases: q.Cases, leaf: Callable[[q.Answer], str]) -> str:
        out = leaf(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            out = f"{leaf(answer)} if {self.term(condition)} else {out}"
        return f"({out})"

    def joined(self, op: str, parts: list[str]) -> str:
        return joined_text(op, parts)


def _number(name: str, unusable: str) -> Iterator[str]:
    """Lines that make a float of what was given, or decide nothing."""
    yield f"    if {name} is None:"
    yield "        return None"
    yield f"    {name} = float({name})"
    yield f"    if {unusable}:"
    yield "        return None"


# --- A rule as a narwhals expression --------------------------------------------------------------


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    ">=": operator.ge,
    "<": operator.lt,
    "and": and_,
}


class FrameWriter(Writer[nw.Expr]):
    """The expression; see :meth:`setpoint.rules.Rule.expression`."""

    def __init__(self, rule: Rule, score: Any, columns: Any, classes: Any, draw: Any) -> None:
        super().__init__(rule)
        self.names = names_of(rule, score, columns, classes, draw)

    def whole(self) -> nw.Expr:
        """All questions, for the rows that can be decided."""
        tests = []
        for name in self.names.scores:
            score = _double(name)
            # NaN is missing too: it is at least any threshold in some engines
            sound = ~score.is_nan() if self.rule.score_columns is None else score.is_finite()
            tests.append(~score.is_null() & sound)
        if self.names.draw is not None:
            u = self.draw()
            tests.append(~u.is_null() & (u >= 0.0) & (u < 1.0))
        answer = self.answer
        if isinstance(answer, q.Cases) and answer.otherwise is None:
            # asked outside, so that whole numbers stay so in pandas where every row is decided
            tests.append(reduce(or_, [self.term(condition) for condition, _ in answer.whens]))
            last = answer.whens[-1][1]
            answer = q.Cases(answer.whens[:-1], last) if len(answer.whens) > 1 else last
        return nw.when(reduce(and_, tests)).then(self.decision(answer))

    def decision(self, answer: q.Answer) -> nw.Expr:
        """A class; nothing stands only at the end of cases."""
        if isinstance(answer, q.Largest):
            answer = answer.as_cases()
        if isinstance(answer, q.Cases):
            return self.chosen(answer, self.decision)
        assert isinstance(answer, int)
        return nw.lit(self.names.labels[answer])

    def chosen(self, cases: q.Cases, leaf: Callable[[q.Answer], nw.Expr]) -> nw.Expr:
        out = None if cases.otherwise is None else leaf(cases.otherwise)
        for condition, answer in reversed(cases.whens):
            chosen = nw.when(self.term(condition)).then(leaf(answer))
            out = chosen if out is None else chosen.otherwise(out)
        assert out is not None
        return out

    def is_in(self, column: str, values: tuple[Label, ...], others: bool) -> nw.Expr:
        name = self.names.columns[column]
        place, known = nw.col(name), list(values)
        if column in self.names.numbers:
            place, known = _double(name), [float(value) for value in values]
        inside = reduce(or_, [place == value for value in known])
        return nw.col(name).is_null() | ~inside if others else inside

    def number(self, value: float) -> nw.Expr:
        return nw.lit(value, nw.Float64)

    def score(self, index: int) -> nw.Expr:
        score = _double(self.names.scores[index])
        return 1.0 - score if self.names.other and index == 0 else score

    def draw(self) -> nw.Expr:
        assert self.names.draw is not None
        return _double(self.names.draw)

    def joined(self, op: str, parts: list[nw.Expr]) -> nw.Expr:
        return reduce(_OPERATORS[op], parts)


def _double(name: str) -> nw.Expr:
    """A column as floats of 64 bits, so that every engine compares the same numbers."""
    return nw.col(name).cast(nw.Float64)
