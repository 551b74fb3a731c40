"""The canonical text of expressions and goals. Reading it back gives an equal value."""

from __future__ import annotations

import keyword
from typing import Any

from setpoint.goals.expressions import (
    Apply,
    Baseline,
    BlackBoxMetric,
    Const,
    Expression,
    Metric,
    Product,
    Quotient,
    Reduce,
    Sum,
)
from setpoint.goals.populations import Population

__all__ = ["expression_text", "literal"]

_SUM, _PRODUCT, _ATOM = 1, 2, 3


def literal(value: Any) -> str:
    """A label, number or table of parameters as Python reads it; text in double quotes."""
    if isinstance(value, str):
        return '"' + "".join(map(_character, value)) + '"'
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value)


def _character(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    # Line ends, invisible characters and halves of surrogate pairs are spelled out.
    return c if c.isprintable() else c.encode("unicode_escape").decode("ascii")


def expression_text(expression: Expression) -> str:
    """The canonical text of one expression."""
    return _write(expression)[0]


def _write(x: Expression) -> tuple[str, int]:
    """The text, and how tightly it binds."""
    if isinstance(x, Const):
        return literal(x.value), _PRODUCT if x.value < 0 else _ATOM
    if isinstance(x, Metric):
        return _metric(x), _ATOM
    if isinstance(x, BlackBoxMetric):
        return f"blackbox({literal(x.name)})", _ATOM
    if isinstance(x, Sum):
        return _sum(x), _SUM
    if isinstance(x, Product):
        return f"{_at(x.left, _PRODUCT)} * {_at(x.right, _ATOM)}", _PRODUCT
    if isinstance(x, Quotient):
        return f"{_at(x.left, _PRODUCT)} / {_at(x.right, _ATOM)}", _PRODUCT
    if isinstance(x, Apply):
        return f"{x.function}({', '.join(_at(a, _SUM) for a in x.args)})", _ATOM
    if isinstance(x, Reduce):
        columns = ", ".join(literal(c) for c in x.columns)
        return f"{_at(x.inner, _ATOM)}.{x.kind}({columns})", _ATOM
    if isinstance(x, Baseline):
        return f"{_at(x.inner, _ATOM)}.baseline()", _ATOM
    raise TypeError(f"not an expression of the language: {type(x).__name__}")


def _at(x: Expression, least: int) -> str:
    text, binds = _write(x)
    return text if binds >= least else f"({text})"


def _sum(x: Sum) -> str:
    sign, first = x.terms[0]
    out = _at(first, _PRODUCT if sign > 0 else _ATOM)
    if sign < 0:
        out = "-" + out
    for sign, term in x.terms[1:]:
        out += (" + " if sign > 0 else " - ") + _at(term, _PRODUCT)
    return out


def _metric(x: Metric) -> str:
    arguments = [_parameter(name, value) for name, value in x.params]
    if x.label is not None:
        arguments.append(f"label={literal(x.label)}")
    call = f"({', '.join(arguments)})" if arguments else ""
    return x.name + call + _population(x.population)


def _parameter(name: str, value: Any) -> str:
    if name in ("costs", "priors"):
        pairs = (f"{_key(k)}: {literal(v)}" for k, v in value)
        return "{" + ", ".join(pairs) + "}"
    return literal(value)


def _key(key: Any) -> str:
    return f"({literal(key[0])}, {literal(key[1])})" if isinstance(key, tuple) else literal(key)


def _population(population: Population) -> str:
    parts = [] if population.dataset is None else [literal(population.dataset)]
    if all(_is_name(c) for c, _ in population.where):
        parts += [f"{c}={literal(v)}" for c, v in population.where]
    else:
        parts.append(
            "{" + ", ".join(f"{literal(c)}: {literal(v)}" for c, v in population.where) + "}"
        )
    return f".on({', '.join(parts)})" if parts else ""


def _is_name(column: str) -> bool:
    """Whether the column can stand before "=" (Python would change other identifiers)."""
    plain = column.isascii() and column.isidentifier()
    return plain and not keyword.iskeyword(column) and column != "__debug__"
