"""Values of a report as plain dicts that JSON takes, and back by the types of their fields."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from setpoint.errors import InputTypeError

__all__ = ["plain", "read"]

T = TypeVar("T")


def plain(value: Any) -> Any:
    """Dicts, lists and scalars; infinite numbers and NaN become the text that float() reads.

    Examples
    --------
    >>> plain({"a": (1, float("inf"))})
    {'a': [1, 'inf']}
    """
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if is_dataclass(value) and not isinstance(value, type):
        held = ((f, getattr(value, f.name)) for f in fields(value))
        return {f.name: plain(x) for f, x in held if x or not f.metadata.get("optional")}
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return [plain(v) for v in value]
    return value


def read(kind: type[T], data: Any, **ready: Any) -> T:
    """The dataclass that :func:`plain` wrote; `ready` are fields that were read already."""
    if not isinstance(data, Mapping):
        raise InputTypeError(
            f"{kind.__name__} is written as an object, found {type(data).__name__}"
        )
    types = _types(kind)  # type: ignore[arg-type]  # classes are hashable
    derived = {f.name for f in fields(kind) if not f.init}  # type: ignore[arg-type]
    given = {k: _value(types.get(k, Any), v) for k, v in data.items() if k not in derived}
    return kind(**given, **ready)


@cache
def _types(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _value(kind: Any, data: Any) -> Any:
    """A value of an annotated type: numbers as float, lists as tuples, dicts as dataclasses."""
    if data is None:
        return None
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        known = [k for k in inner if k is not type(None)]
        # A label is a text or a number as it stands.
        return _value(known[0], data) if len(known) == 1 else data
    if kind is float:
        return float(data)
    if is_dataclass(kind):
        return read(kind, data)  # type: ignore[arg-type]
    if origin is tuple:
        each = (inner[0],) * len(data) if inner[1:] == (...,) else inner
        return tuple(_value(k, v) for k, v in zip(each, data, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {k: _value(inner[1], v) for k, v in data.items()}
    return data
