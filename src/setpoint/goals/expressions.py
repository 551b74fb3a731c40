"""Expressions over rates: what a user writes, as an immutable tree.

Operators build the tree in one canonical form: sums are flat with signs, numbers
are folded, ``.on`` and ``label=`` sit on the leaves. So two goals that print alike
are equal, and reading the text gives the goal back.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, ClassVar, TypeAlias

import numpy as np

from setpoint.errors import GoalError, InputTypeError
from setpoint.goals.entries import TABLE, LinearForm, Param, parameters_of
from setpoint.goals.populations import (
    DEFER,
    EVERYWHERE,
    Constraint,
    Label,
    Population,
    chosen_rows,
    literal,
    measure_name,
    parameter_text,
    plain_label,
    population_text,
    reducer_columns,
)

_SUM, _PRODUCT, _ATOM = 1, 2, 3
"""How tightly a text binds."""

MAX_CHARACTERS = 4000
"""Of a goal as text."""

MAX_DEPTH = 48
"""Deeper nesting is refused: nobody can read it, and recursion stays shallow."""

MAX_SIZE = 4000
"""More nodes than a goal may have characters; shared subtrees count each time."""

Number: TypeAlias = float | int | np.floating[Any] | np.integer[Any]

FUNCTIONS: dict[str, tuple[Callable[..., float], int, int | None]] = {
    "abs": (abs, 1, 1),
    "maximum": (max, 2, None),
    "minimum": (min, 2, None),
    "log": (math.log, 1, 1),
    "sqrt": (math.sqrt, 1, 1),
}
"""Functions, each of numbers, and the least and largest number of arguments."""


class Expression:
    """A number that a classifier's confusions determine; build it with operators.

    Examples
    --------
    >>> from setpoint import maximize
    >>> from setpoint.metrics import precision, recall
    >>> print(maximize(0.3 * precision + 0.7 * recall).subject_to(abs(precision - recall) <= 0.1))
    maximize 0.3 * precision + 0.7 * recall subject to abs(precision - recall) <= 0.1
    """

    __slots__ = ()
    # NumPy scalars on the left must leave the operator to us.
    __array_ufunc__ = None

    is_number: ClassVar[bool] = False
    """Whether it is a number, which says nothing about a classifier."""

    @property
    def children(self) -> tuple[Expression, ...]:
        """The expressions this one is made of."""
        return ()

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        """The same node over other children, in canonical form."""
        return self

    # -- arithmetic -----------------------------------------------------------------
    def __add__(self, other: Expression | Number) -> Expression:
        return signed_sum((1, self), (1, operand(other)))

    def __radd__(self, other: Number) -> Expression:
        return signed_sum((1, operand(other)), (1, self))

    def __sub__(self, other: Expression | Number) -> Expression:
        return signed_sum((1, self), (-1, operand(other)))

    def __rsub__(self, other: Number) -> Expression:
        return signed_sum((1, operand(other)), (-1, self))

    def __mul__(self, other: Expression | Number) -> Expression:
        return _product(self, operand(other))

    def __rmul__(self, other: Number) -> Expression:
        return _product(operand(other), self)

    def __truediv__(self, other: Expression | Number) -> Expression:
        return _quotient(self, operand(other))

    def __rtruediv__(self, other: Number) -> Expression:
        return _quotient(operand(other), self)

    def __neg__(self) -> Expression:
        return signed_sum((-1, self))

    def __pos__(self) -> Expression:
        return self

    def __abs__(self) -> Expression:
        return apply("abs", self)

    def __pow__(self, other: object) -> Expression:
        raise InputTypeError("** is not in the language of goals: write x * x, sqrt(x) or 1 / x")

    # -- comparison -----------------------------------------------------------------
    def __ge__(self, other: Expression | Number) -> Constraint:
        return Constraint(self, ">=", operand(other))

    def __le__(self, other: Expression | Number) -> Constraint:
        return Constraint(self, "<=", operand(other))

    def __gt__(self, other: object) -> Constraint:
        raise InputTypeError(
            "a constraint is written with >=, never >; the larger of two expressions is "
            "maximum(a, b), not max(a, b)"
        )

    def __lt__(self, other: object) -> Constraint:
        raise InputTypeError(
            "a constraint is written with <=, never <; the smaller of two expressions is "
            "minimum(a, b), not min(a, b)"
        )

    def __bool__(self) -> bool:
        raise InputTypeError(
            "an expression is neither true nor false before it is measured; compare it with a "
            "number, as in precision >= 0.9"
        )

    def __iter__(self) -> Iterator[Any]:
        raise InputTypeError("an expression cannot be iterated over")

    # -- populations and reducers ---------------------------------------------------
    def __call__(self, *, label: Any) -> Expression:
        """The same expression for one class: `label` is pushed to its metrics."""
        out = map_metrics(self, lambda m: m.for_label(label))
        if out == self:
            raise GoalError(f"{self}: no metric here is of one class and without label")
        return out

    def on(self, /, *population: str | Mapping[str, Label], **where: Label) -> Expression:
        """The same expression on part of the rows.

        Examples
        --------
        >>> from setpoint.metrics import recall
        >>> print(recall.on("audit", country="IN"))
        recall.on("audit", country="IN")
        """
        dataset, values = chosen_rows(population, where)
        return map_metrics(self, lambda m: m.of_rows(lambda rows: rows.narrowed(dataset, values)))

    def weighted(self, column: str) -> Expression:
        """The same expression, each row counted by its number in a column.

        Examples
        --------
        >>> from setpoint.metrics import recall
        >>> print(recall.weighted("amount"))
        recall.weighted("amount")
        """
        name = measure_name(column)
        return map_metrics(self, lambda m: m.weighted_by(name))

    @property
    def decided(self) -> Expression:
        """The same expression over the rows that are decided, where some are deferred.

        Examples
        --------
        >>> from setpoint.metrics import accuracy
        >>> print(accuracy.decided >= 0.98)
        accuracy.decided >= 0.98
        """
        return map_metrics(self, lambda m: m.without_deferred())

    def baseline(self) -> Expression:
        """The same expression, measured on the deployed model's predictions."""
        return self if isinstance(self, (Baseline, Const)) else Baseline(self)

    def _reduce(self, kind: str, columns: tuple[str, ...]) -> Expression:
        names = reducer_columns(kind, columns)
        if isinstance(self, Const):
            raise GoalError(f"({self}).{kind}: a number is the same for every group and class")
        return Reduce(kind, self, names)

    def mean(self, *columns: str) -> Expression:
        """Arithmetic mean over the groups of `columns`; without columns, over the classes."""
        return self._reduce("mean", columns)

    def sum(self, *columns: str) -> Expression:
        """Sum over the groups of `columns`, or over the classes."""
        return self._reduce("sum", columns)

    def min(self, *columns: str) -> Expression:
        """Smallest value over the groups of `columns`, or over the classes."""
        return self._reduce("min", columns)

    def max(self, *columns: str) -> Expression:
        """Largest value over the groups of `columns`, or over the classes."""
        return self._reduce("max", columns)

    def difference(self, *columns: str) -> Expression:
        """Largest minus smallest value over the groups of `columns`, or over the classes."""
        return self._reduce("difference", columns)

    def ratio(self, *columns: str) -> Expression:
        """Smallest over largest value over the groups; 0 where all are 0."""
        return self._reduce("ratio", columns)

    def geometric_mean(self, *columns: str) -> Expression:
        """Geometric mean over the groups of `columns`, or over the classes."""
        return self._reduce("geometric_mean", columns)

    def harmonic_mean(self, *columns: str) -> Expression:
        """Harmonic mean over the groups of `columns`, or over the classes; 0 with any 0."""
        return self._reduce("harmonic_mean", columns)

    def quadratic_mean(self, *columns: str) -> Expression:
        """Root of the mean square over the groups of `columns`, or over the classes."""
        return self._reduce("quadratic_mean", columns)

    def deviation(self, *columns: str) -> Expression:
        """Largest distance of a group's value from the value on all rows."""
        return self._reduce("deviation", columns)

    def written(self) -> tuple[str, int]:
        """The canonical text, and how tightly it binds."""
        raise NotImplementedError

    def within(self, least: int) -> str:
        """The text as part of another: in parentheses where it binds less tightly."""
        text, binds = self.written()
        return text if binds >= least else f"({text})"

    def __str__(self) -> str:
        return self.written()[0]


@dataclass(frozen=True, repr=False)
class _Node(Expression):
    """What all nodes share: their text, and limits that keep every walk short."""

    levels: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        below = [c for c in self.children if isinstance(c, _Node)]
        levels = 1 + max((c.levels for c in below), default=0)
        size = 1 + sum(c.size for c in below)
        if levels > MAX_DEPTH:
            raise GoalError(f"an expression is nested at most {MAX_DEPTH} levels deep")
        if size > MAX_SIZE:
            raise GoalError(f"an expression has at most {MAX_SIZE} parts")
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "size", size)

    def __getstate__(self) -> dict[str, object]:
        """What is stored and copied: the node, not what was derived from it."""
        return {f.name: getattr(self, f.name) for f in fields(self)}

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, repr=False)
class Const(_Node):
    """A number."""

    is_number: ClassVar[bool] = True

    value: float

    def written(self) -> tuple[str, int]:
        return literal(self.value), _PRODUCT if self.value < 0 else _ATOM


@dataclass(frozen=True, repr=False, eq=False)
class Metric(_Node):
    """An entry of the table of metrics, for one class and one population."""

    name: str
    params: tuple[tuple[str, Param], ...] = ()
    label: Label | None = None
    population: Population = EVERYWHERE
    only_decided: bool = False

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def written(self) -> tuple[str, int]:
        return self._text, _ATOM

    @cached_property
    def _text(self) -> str:
        arguments = [parameter_text(name, value) for name, value in self.params]
        if self.label is not None:
            arguments.append(f"label={literal(self.label)}")
        call = f"({', '.join(arguments)})" if arguments else ""
        decided = ".decided" if self.only_decided else ""
        return self.name + call + population_text(self.population) + decided

    @cached_property
    def worths(self) -> dict[Any, LinearForm]:
        """What rows are worth, by true and decided class or by the name of how they are decided."""
        given: dict[str, Any] = dict(self.params)
        if TABLE[self.name].any_of:
            return given
        pairs = given.get("costs", given.get("values", ()))
        return {pair: LinearForm.of(worth) for pair, worth in pairs}

    @property
    def value_columns(self) -> tuple[str, ...]:
        """The columns of numbers that say what a row is worth, sorted."""
        return tuple(sorted({c for worth in self.worths.values() for c in worth.columns}))

    @property
    def defers(self) -> bool:
        """Whether it tells the rows that are not decided from the others."""
        return self.only_decided or self.name == "deferral_rate" or self._prices_deferral

    @property
    def _prices_deferral(self) -> bool:
        """Whether one of its parameters is about the rows that are not decided."""
        answers = [k[1] if isinstance(k, tuple) else k for k in self.worths]
        return DEFER in (*answers, dict(self.params).get("predicted"))

    def for_label(self, label: Label) -> Metric:
        """This metric of the class `label`; metrics of all classes stay as they are."""
        value = plain_label(label, "label")
        if self.label is not None or not TABLE[self.name].of_class:
            return self
        return replace(self, label=value)

    def __call__(self, *args: Any, label: Label | None = None, **named: Any) -> Expression:
        """This metric of one class, ``recall(label="fraud")``, or with its parameters."""
        if args or named:
            if not TABLE[self.name].params or self.params:
                one = args[0] if len(args) == 1 and not named else "yes"
                of_class = TABLE[self.name].of_class and self.label is None
                hint = f"; for one class write {self.name}(label={one!r})" if of_class else ""
                raise GoalError(f"{self.name} takes no parameters here, got {args or named}{hint}")
            metric = replace(self, params=parameters_of(TABLE[self.name], args, named))
            return metric if label is None else metric(label=label)
        if label is None:
            raise GoalError(f"call {self.name} with `label`, as in {self.name}(label='yes')")
        if not TABLE[self.name].of_class:
            raise GoalError(f"{self.name} is one number for all classes: it takes no label")
        if self.label is not None:
            raise GoalError(f"{self.name} already has the label {self.label!r}")
        return self.for_label(label)

    def of_rows(self, chosen: Callable[[Population], Population]) -> Metric:
        """This metric on other rows, chosen from its own."""
        try:
            return replace(self, population=chosen(self.population))
        except GoalError as error:
            raise GoalError(f"{self}: {error}") from None

    def weighted_by(self, column: str) -> Metric:
        """This metric, each row counted by its number in a column."""
        if TABLE[self.name].in_units:
            raise GoalError(
                f"{self} is in the units of what its entries say a row is worth; it cannot be "
                f"weighted by {column!r} too"
            )
        return self.of_rows(lambda rows: rows.weighted(column))

    def without_deferred(self) -> Metric:
        """This metric over those of its rows that are decided."""
        if self.name == "deferral_rate":
            raise GoalError(f"{self}.decided: no row that is decided is deferred, so it is 0")
        if self._prices_deferral:
            raise GoalError(
                f"{self}.decided: its entry for {DEFER!r} is about rows that are not decided"
            )
        return replace(self, only_decided=True)


@dataclass(frozen=True, repr=False)
class BlackBoxMetric(_Node):
    """A metric without a formula, by name: the objective of a black-box goal, and alone in it."""

    name: str

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:  # type: ignore[redundant-expr]
            raise GoalError(f"the name of a black box is a text, got {self.name!r}")
        super().__post_init__()

    def written(self) -> tuple[str, int]:
        return f"blackbox({literal(self.name)})", _ATOM


@dataclass(frozen=True, repr=False)
class Sum(_Node):
    """A flat sum: (sign, term) with sign 1 or -1."""

    terms: tuple[tuple[int, Expression], ...]

    @cached_property
    def children(self) -> tuple[Expression, ...]:
        return tuple(t for _, t in self.terms)

    def written(self) -> tuple[str, int]:
        sign, first = self.terms[0]
        out = first.within(_PRODUCT) if sign > 0 else "-" + first.within(_ATOM)
        for sign, term in self.terms[1:]:
            out += (" + " if sign > 0 else " - ") + term.within(_PRODUCT)
        return out, _SUM

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return signed_sum(*((s, c) for (s, _), c in zip(self.terms, children, strict=True)))


@dataclass(frozen=True, repr=False)
class _Pair(_Node):
    sign: ClassVar[str]

    left: Expression
    right: Expression

    @cached_property
    def children(self) -> tuple[Expression, ...]:
        return (self.left, self.right)

    def written(self) -> tuple[str, int]:
        return f"{self.left.within(_PRODUCT)} {self.sign} {self.right.within(_ATOM)}", _PRODUCT


class Product(_Pair):
    """Left times right."""

    sign = "*"

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return _product(*children)


class Quotient(_Pair):
    """Left over right; 0/0 is 0."""

    sign = "/"

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return _quotient(*children)


@dataclass(frozen=True, repr=False)
class Apply(_Node):
    """One of `FUNCTIONS` over its arguments."""

    function: str
    args: tuple[Expression, ...]

    @cached_property
    def children(self) -> tuple[Expression, ...]:
        return self.args

    def written(self) -> tuple[str, int]:
        return f"{self.function}({', '.join(map(str, self.args))})", _ATOM

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return apply(self.function, *children)


@dataclass(frozen=True, repr=False)
class Reduce(_Node):
    """One number from the groups of some columns, or (no columns) from the classes."""

    kind: str
    inner: Expression
    columns: tuple[str, ...] = ()

    @cached_property
    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def written(self) -> tuple[str, int]:
        columns = ", ".join(map(literal, self.columns))
        return f"{self.inner.within(_ATOM)}.{self.kind}({columns})", _ATOM

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return children[0]._reduce(self.kind, self.columns)


@dataclass(frozen=True, repr=False)
class Baseline(_Node):
    """The inner expression on the deployed model's predictions."""

    inner: Expression

    @cached_property
    def children(self) -> tuple[Expression, ...]:
        return (self.inner,)

    def written(self) -> tuple[str, int]:
        return f"{self.inner.within(_ATOM)}.baseline()", _ATOM

    def with_children(self, children: tuple[Expression, ...]) -> Expression:
        return children[0].baseline()


ZERO = Const(0.0)


def operand(value: object) -> Expression:
    """`value` as an expression; refuses text, bools, NaN and infinities."""
    if isinstance(value, Expression):
        return value
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
        if callable(value) and hasattr(value, "signature"):
            raise GoalError(f"{value} needs its parameters: {value.signature}")
        raise InputTypeError(
            f"the language of goals takes numbers and expressions, got {value!r} "
            f"({type(value).__name__})"
        )
    number = float(value)
    if not math.isfinite(number):
        raise GoalError(f"numbers in a goal are finite, got {number}")
    return Const(number + 0.0)  # -0.0 becomes 0.0


def map_metrics(expression: Expression, change: Callable[[Metric], Expression]) -> Expression:
    """The expression with `change` applied to each of its metrics."""
    if isinstance(expression, Metric):
        return change(expression)
    if isinstance(expression, BlackBoxMetric):
        raise GoalError(f"{expression} stands alone: it has no rows or classes to choose")
    if not expression.children:
        return expression
    return expression.with_children(tuple(map_metrics(c, change) for c in expression.children))


def walk(expression: Expression) -> list[Expression]:
    """The expression and everything below it, from left to right."""
    out, left = [], [expression]
    while left:
        out.append(left.pop())
        left += reversed(out[-1].children)
    return out


def _finite(value: float) -> Const:
    if not math.isfinite(value):
        raise GoalError("a number computed in a goal overflows")
    return Const(value + 0.0)


def signed_sum(*terms: tuple[int, Expression]) -> Expression:
    """The canonical sum: flat, numbers positive behind their sign, neighbouring ones folded."""
    flat: list[tuple[int, Expression]] = []
    for outer, term in terms:
        for inner, part in term.terms if isinstance(term, Sum) else ((1, term),):
            sign, x = _positive(outer * inner, part)
            if isinstance(x, Const) and flat and isinstance(before := flat[-1][1], Const):
                total = _finite(flat.pop()[0] * before.value + sign * x.value)
                sign, x = _positive(1, total)
            if x != ZERO:
                flat.append((sign, x))
    if not flat:
        return ZERO
    sign, x = flat[0]
    if len(flat) == 1 and sign > 0:
        return x
    if len(flat) == 1 and isinstance(x, Const):
        return Const(0.0 - x.value)
    if len(flat) == 1 and isinstance(x, Product) and isinstance(x.left, Const):
        return _product(Const(0.0 - x.left.value), x.right)
    return Sum(tuple(flat))


def _positive(sign: int, x: Expression) -> tuple[int, Expression]:
    """The same signed term without a negative number in front."""
    if isinstance(x, Const) and x.value < 0:
        return -sign, Const(-x.value)
    if isinstance(x, Product) and isinstance(x.left, Const) and x.left.value < 0:
        return -sign, _product(Const(-x.left.value), x.right)
    return sign, x


def _product(left: Expression, right: Expression) -> Expression:
    if isinstance(left, Const) and isinstance(right, Const):
        return _finite(left.value * right.value)
    return Product(left, right)


def _quotient(left: Expression, right: Expression) -> Expression:
    if isinstance(right, Const):
        if right.value == 0:
            raise GoalError("division by the number 0")
        if isinstance(left, Const):
            return _finite(left.value / right.value)
    return Quotient(left, right)


def apply(function: str, *args: Expression | Number) -> Expression:
    """One of `FUNCTIONS`; numbers are folded."""
    fold, low, high = FUNCTIONS[function]
    if len(args) < low or (high is not None and len(args) > high):
        raise GoalError(f"{function} takes {low if high == low else f'at least {low}'} argument(s)")
    operands = tuple(operand(a) for a in args)
    if all(isinstance(a, Const) for a in operands):
        values = [a.value for a in operands if isinstance(a, Const)]
        if function in ("log", "sqrt") and values[0] < (0 if function == "sqrt" else 5e-324):
            raise GoalError(f"{function} of the number {values[0]:g} is undefined")
        return _finite(fold(*values))
    return Apply(function, operands)


def maximum(*args: Expression | Number) -> Expression:
    """The larger of several expressions.

    Examples
    --------
    >>> from setpoint.metrics import fn, fp, maximum
    >>> print(maximum(fp, fn) <= 0.1)
    maximum(fp, fn) <= 0.1
    """
    return apply("maximum", *args)


def minimum(*args: Expression | Number) -> Expression:
    """The smaller of several expressions.

    Examples
    --------
    >>> from setpoint import maximize
    >>> from setpoint.metrics import minimum, precision, recall
    >>> print(maximize(minimum(precision, recall)))
    maximize minimum(precision, recall)
    """
    return apply("minimum", *args)


def log(x: Expression | Number) -> Expression:
    """Natural logarithm.

    Examples
    --------
    >>> from setpoint import maximize
    >>> from setpoint.metrics import log, precision, recall
    >>> print(maximize(log(precision) + log(recall)))
    maximize log(precision) + log(recall)
    """
    return apply("log", x)


def sqrt(x: Expression | Number) -> Expression:
    """Square root.

    Examples
    --------
    >>> from setpoint import maximize
    >>> from setpoint.metrics import precision, recall, sqrt
    >>> print(maximize(sqrt(precision * recall)))
    maximize sqrt(precision * recall)
    """
    return apply("sqrt", x)
