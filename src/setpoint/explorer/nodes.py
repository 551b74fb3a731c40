"""Functions of the rates as plain data, from which a page computes the same values."""

from __future__ import annotations

from typing import Any

from setpoint.errors import InputError
from setpoint.program.functions import (
    Absolute,
    Affine,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    PowerMean,
    Product,
    Quotient,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)

__all__ = ["node_of"]

_NAMES: dict[type[RateFunction], str] = {
    WeightedSum: "sum",
    Product: "product",
    Quotient: "quotient",
    Absolute: "abs",
    Log: "log",
    Sqrt: "sqrt",
    Max: "max",
    Min: "min",
    MaxMinusMin: "spread",
    MinOverMax: "minmax",
    PowerMean: "power",
}


def node_of(x: RateFunction) -> dict[str, Any]:
    """A function as a tree: its kind, its numbers, its parts, and the range that is known.

    Examples
    --------
    >>> node_of(Affine({0: 2.0}, 1.0, {0: (0.0, 1.0)}))
    {'low': 1.0, 'high': 3.0, 'k': 'affine', 'terms': [[0, 2.0]], 'const': 1.0}
    """
    out: dict[str, Any] = {"low": float(x.low), "high": float(x.high)}
    if isinstance(x, Affine):
        terms = [[int(j), float(a)] for j, a in x.terms.items()]
        return out | {"k": "affine", "terms": terms, "const": x.const}
    if isinstance(x, Ratio):
        ends = {"offset": float(x.offset), "atZero": float(x.at_zero)}
        return out | {"k": "ratio", "of": [node_of(x.above), node_of(x.below)], **ends}
    name = _NAMES.get(type(x))
    if name is None:
        raise InputError(f"`goal`: a page has no formula for {type(x).__name__}")
    out |= {"k": name, "of": [node_of(c) for c in x.children]}
    if isinstance(x, WeightedSum):
        out["coefs"] = list(x.coefs)
    if isinstance(x, PowerMean):
        out["order"] = x.order
    return out
