"""Linear forms in columns of numbers: what one row is worth."""

from __future__ import annotations

import ast
import math
import numbers
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from setpoint.errors import InputTypeError
from setpoint.goals.errors import GoalError
from setpoint.goals.populations import is_name, literal

__all__ = ["LinearForm", "read_form"]

MAX_CHARACTERS = 4000
"""Of a form as text, as of a goal."""

Refuse: TypeAlias = Callable[[ast.expr, str], NoReturn]

_ALLOWED = "what stands here is a sum of columns times numbers, as in 0.75 * amount - 5"
_OWN = "make it a column of its own"


@dataclass(frozen=True)
class LinearForm:
    """A sum of columns times numbers, and a number: what one row is worth.

    Examples
    --------
    >>> form = LinearForm.of("amount - 2 * fee - 5")
    >>> form.terms, form.constant, form.columns
    ((('amount', 1.0), ('fee', -2.0)), -5.0, ('amount', 'fee'))
    >>> print(LinearForm.of('"credit line" * 3 / 4'))
    0.75 * "credit line"
    """

    terms: tuple[tuple[str, float], ...] = ()
    constant: float = 0.0

    @classmethod
    def of(cls, value: object, what: str = "the linear expression") -> LinearForm:
        """The form that a number, another form or a text stands for."""
        if isinstance(value, LinearForm):
            return value
        if isinstance(value, str):
            return _from_text(str.__str__(value), what)
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (numbers.Real, np.number)):
            raise InputTypeError(
                f"{what} must be a number or a linear expression in columns, as in "
                f"'amount - 5', got {value!r} ({type(value).__name__})"
            )
        return cls.build({}, _finite(value, what), what)

    @classmethod
    def build(
        cls, terms: Mapping[str, float], constant: float, what: str = "the linear expression"
    ) -> LinearForm:
        """A form in its one way of being written: sorted, without zeros."""
        kept = tuple((c, _finite(x, what)) for c, x in sorted(terms.items()) if x != 0)
        return cls(kept, _finite(constant, what))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it refers to, sorted."""
        return tuple(c for c, _ in self.terms)

    def __str__(self) -> str:
        out = ""
        for column, x in self.terms:
            name = column if is_name(column) else literal(column)
            # A text that stands alone as an argument is read as an expression.
            alone = len(self.terms) == 1 and not self.constant and name != column
            factor = "" if abs(x) == 1 and not (alone and x > 0) else f"{literal(abs(x))} * "
            out += (" - " if x < 0 else " + ") + factor + name
        if self.constant or not out:
            out += f"{' - ' if self.constant < 0 else ' + '}{literal(abs(self.constant))}"
        return "-" + out[3:] if out.startswith(" - ") else out[3:]


def read_form(node: ast.expr, refuse: Refuse) -> LinearForm:
    """The form that Python's tree of an expression stands for; `refuse` raises."""
    try:
        return _read(node, refuse)
    except OverflowError:
        refuse(node, "a number here is too large")


def _from_text(text: str, what: str) -> LinearForm:
    def refuse(_: ast.expr, message: str) -> NoReturn:
        raise GoalError(f"{what} {shown!r}: {message}")

    shown = text if len(text) <= 60 else text[:57] + "..."
    if len(text) > MAX_CHARACTERS:
        raise GoalError(f"{what} has at most {MAX_CHARACTERS} characters, got {len(text)}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval").body
        return read_form(tree, refuse)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, GoalError):
            raise
        raise GoalError(
            f"{what} {shown!r} cannot be read: a column whose name is not a word stands in "
            "quotes, as in '1 * \"credit line\" - 5'"
        ) from None


def _read(node: ast.expr, refuse: Refuse) -> LinearForm:
    terms: dict[str, float] = {}
    constant = 0.0
    # A sum of a thousand terms is a thousand levels deep on its left: walk it.
    while True:
        last, sign = node, 1.0
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
            last, sign = node.right, 1.0 if isinstance(node.op, ast.Add) else -1.0
        part = _part(last, refuse)
        for column, x in part.terms:
            terms[column] = terms.get(column, 0.0) + sign * x
        constant += sign * part.constant
        if last is node:
            break
        assert isinstance(node, ast.BinOp)
        node = node.left
    return _scaled(LinearForm(tuple(terms.items()), constant), 1.0, node, refuse)


def _part(node: ast.expr, refuse: Refuse) -> LinearForm:
    if isinstance(node, ast.Constant):
        return _constant(node, refuse)
    if isinstance(node, ast.Name):
        return LinearForm(((node.id, 1.0),))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _read(node.operand, refuse)
        return _scaled(inner, -1.0 if isinstance(node.op, ast.USub) else 1.0, node, refuse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        return _read(node, refuse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Div)):
        left, right = _part(node.left, refuse), _part(node.right, refuse)
        if isinstance(node.op, ast.Mult):
            if left.terms and right.terms:
                refuse(node, f"a product of columns is not linear: {_OWN}")
            form, factor = (left, right.constant) if left.terms else (right, left.constant)
            return _scaled(form, factor, node, refuse)
        if right.terms:
            refuse(node, f"a number over a column is not linear: {_OWN}")
        if right.constant == 0:
            refuse(node, "division by the number 0")
        return _divided(left, right.constant, node, refuse)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
        refuse(node, f"a power is not linear: {_OWN}")
    return refuse(node, f"this ({type(node).__name__.lower()}) has no meaning here: {_ALLOWED}")


def _constant(node: ast.Constant, refuse: Refuse) -> LinearForm:
    value: Any = node.value
    if isinstance(value, str):
        if not value:
            refuse(node, "the name of a column cannot be empty")
        return LinearForm(((value, 1.0),))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _scaled(LinearForm((), float(value)), 1.0, node, refuse)
    return refuse(node, f"{value!r} has no meaning here: {_ALLOWED}")


def _scaled(form: LinearForm, factor: float, node: ast.expr, refuse: Refuse) -> LinearForm:
    return _mapped(form, lambda x: x * factor, node, refuse)


def _divided(form: LinearForm, by: float, node: ast.expr, refuse: Refuse) -> LinearForm:
    return _mapped(form, lambda x: x / by, node, refuse)


def _mapped(
    form: LinearForm, change: Callable[[float], float], node: ast.expr, refuse: Refuse
) -> LinearForm:
    try:
        return LinearForm.build({c: change(x) for c, x in form.terms}, change(form.constant))
    except GoalError:
        return refuse(node, "a number here is too large")


def _finite(value: Any, what: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise GoalError(f"{what} must hold finite numbers, got {number}")
    return number + 0.0  # -0.0 becomes 0.0
