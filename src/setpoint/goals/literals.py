"""Labels, numbers, parameters and populations as the text of a goal writes them."""

from __future__ import annotations

import keyword
from typing import Any

from setpoint.goals.populations import Population

__all__ = ["literal", "parameter_text", "population_text"]


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


def parameter_text(name: str, value: Any) -> str:
    """A parameter of a metric: a number, a label, or a table of them."""
    if name in ("costs", "priors"):
        pairs = (f"{_key(k)}: {literal(v)}" for k, v in value)
        return "{" + ", ".join(pairs) + "}"
    return literal(value)


def _key(key: Any) -> str:
    return f"({literal(key[0])}, {literal(key[1])})" if isinstance(key, tuple) else literal(key)


def population_text(population: Population) -> str:
    """The ``.on(...)`` that chooses the rows; empty for all of them."""
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
