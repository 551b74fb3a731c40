"""Rules as JSON: the format, its version, and strict reading.

::

    {"format": 1, "rule": RULE}
    RULE = {"type": "threshold", "threshold": NUMBER | "inf" | "-inf", "width": NUMBER}
         | {"type": "argmax", "G": [[NUMBER]] | [NUMBER], "offset": [NUMBER] | null}
         | {"type": "per_slot", "by": "slot" | "top", "slots": [[[COLUMN, VALUE]]], "rules": [RULE]}
         | {"type": "mixture", "atoms": [{"probability": NUMBER, "rule": RULE}]}
    VALUE = text | number | true | false | {"other": [text | number | true | false]}

Every field is written, and every field is needed. A flat G is its diagonal. Numbers are
finite. Nothing is ever evaluated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any, NoReturn

from setpoint.goals.populations import Key, Label, Other
from setpoint.rules.argmax import Argmax
from setpoint.rules.base import Rule
from setpoint.rules.mixture import Mixture
from setpoint.rules.per_slot import PerSlot
from setpoint.rules.threshold import Threshold

__all__ = ["FORMAT", "RuleFormatError", "parse", "read", "write"]

FORMAT = 1
"""The version that is written, and the newest that is read."""


class RuleFormatError(ValueError):
    """A stored rule is not written as it must be."""


def write(rule: Rule) -> dict[str, Any]:
    """Write the rule as plain data.

    Raises
    ------
    TypeError
        If the rule, or one inside, is of a kind that the format does not have.

    Examples
    --------
    >>> write(Threshold(float("inf")))
    {'format': 1, 'rule': {'type': 'threshold', 'threshold': 'inf', 'width': 0.0}}
    """
    return {"format": FORMAT, "rule": _body(rule)}


def parse(text: Any) -> Any:
    """Read a JSON text: no NaN, no infinity, no field twice.

    Raises
    ------
    RuleFormatError
        If the text is not of that kind.

    Examples
    --------
    >>> parse('[1, 2.5]')
    [1, 2.5]
    """
    if not isinstance(text, str):
        _wrong("the JSON", text, "text")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_field_twice)
    except RuleFormatError:
        raise
    except RecursionError:
        raise RuleFormatError("the JSON is nested too deeply for a rule") from None
    except ValueError as error:
        raise RuleFormatError(f"the JSON is broken or cut off: {error}") from None


def read(data: Any) -> Rule:
    """Read the rule that `write` wrote.

    Raises
    ------
    RuleFormatError
        Naming the place, what was found and what is allowed.

    Examples
    --------
    >>> read({"format": 1, "rule": {"type": "threshold", "threshold": 0.5, "width": 0}})
    Threshold(threshold=0.5, width=0.0)
    """
    version = data.get("format") if isinstance(data, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version > FORMAT:
        raise RuleFormatError(
            f"format: found {version}, written by a newer setpoint; "
            f"this one reads format {FORMAT}: upgrade it"
        )
    fields = _fields(data, "the document", ("format", "rule"))
    if isinstance(version, bool) or not isinstance(version, int) or version != FORMAT:
        _wrong("format", version, str(FORMAT))
    try:
        return _read_rule(fields["rule"], "rule")
    except RecursionError:
        raise RuleFormatError("rule: nested too deeply") from None


def _body(rule: Rule) -> dict[str, Any]:
    # exact types: a subclass that decides otherwise must not come back as its parent
    if type(rule) is Threshold:
        t = rule.threshold
        written = t if math.isfinite(t) else ("inf" if t > 0.0 else "-inf")
        return {"type": "threshold", "threshold": written, "width": rule.width}
    if type(rule) is Argmax:
        offset = None if rule.offset is None else list(rule.offset)
        G = list(rule.weights) if rule.weights else [list(row) for row in rule.matrix or ()]
        return {"type": "argmax", "G": G, "offset": offset}
    if type(rule) is PerSlot:
        return {
            "type": "per_slot",
            "by": rule.by,
            "slots": [[[column, _value(v)] for column, v in slot] for slot in rule.slots],
            "rules": [_body(part) for part in rule.rules],
        }
    if type(rule) is Mixture:
        atoms = [{"probability": p, "rule": _body(part)} for p, part in rule.atoms]
        return {"type": "mixture", "atoms": atoms}
    raise TypeError(f"the format has no {type(rule).__name__}, only {', '.join(_READERS)}")


def _value(value: Label | Other) -> Any:
    return {"other": list(value.than)} if isinstance(value, Other) else value


def _read_rule(data: Any, where: str) -> Rule:
    if not isinstance(data, dict):
        _wrong(where, data, "an object")
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in _READERS:
        _wrong(f"{where}.type", kind, "one of " + ", ".join(repr(k) for k in _READERS))
    names, reader = _READERS[kind]
    fields = _fields(data, where, ("type", *names))
    try:
        return reader(fields, where)
    except RuleFormatError:
        raise
    except (TypeError, ValueError) as error:
        raise RuleFormatError(f"{where}: {error}") from None


def _read_threshold(fields: dict[str, Any], where: str) -> Rule:
    t = fields["threshold"]
    if isinstance(t, str) and t in ("inf", "-inf"):
        threshold = float(t)
    else:
        threshold = _number(t, f"{where}.threshold", "a finite number, 'inf' or '-inf'")
    return Threshold(threshold, _number(fields["width"], f"{where}.width"))


def _read_argmax(fields: dict[str, Any], where: str) -> Rule:
    rows = _list(fields["G"], f"{where}.G")
    offset = fields["offset"]
    constants = None if offset is None else _numbers(offset, f"{where}.offset")
    if rows and not any(isinstance(row, list) for row in rows):
        return Argmax.weighted(_numbers(rows, f"{where}.G"), constants)
    return Argmax([_numbers(row, f"{where}.G[{i}]") for i, row in enumerate(rows)], constants)


def _read_per_slot(fields: dict[str, Any], where: str) -> Rule:
    by = fields["by"]
    if not isinstance(by, str) or by not in ("slot", "top"):
        _wrong(f"{where}.by", by, "'slot' or 'top'")
    slots = _list(fields["slots"], f"{where}.slots")
    keys = [_key(slot, f"{where}.slots[{i}]") for i, slot in enumerate(slots)]
    parts = _list(fields["rules"], f"{where}.rules")
    rules = [_read_rule(part, f"{where}.rules[{i}]") for i, part in enumerate(parts)]
    return PerSlot(rules, keys, "slot" if by == "slot" else "top")


def _read_mixture(fields: dict[str, Any], where: str) -> Rule:
    atoms = []
    for i, atom in enumerate(_list(fields["atoms"], f"{where}.atoms")):
        place = f"{where}.atoms[{i}]"
        parts = _fields(atom, place, ("probability", "rule"))
        p = _number(parts["probability"], f"{place}.probability")
        atoms.append((p, _read_rule(parts["rule"], f"{place}.rule")))
    return Mixture(atoms)


_READERS: dict[str, tuple[tuple[str, ...], Callable[[dict[str, Any], str], Rule]]] = {
    "threshold": (("threshold", "width"), _read_threshold),
    "argmax": (("G", "offset"), _read_argmax),
    "per_slot": (("by", "slots", "rules"), _read_per_slot),
    "mixture": (("atoms",), _read_mixture),
}


def _key(data: Any, where: str) -> Key:
    pairs: list[tuple[str, Label | Other]] = []
    for i, pair in enumerate(_list(data, where)):
        place = f"{where}[{i}]"
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            _wrong(place, pair, "a list [column, value]")
        column, value = pair
        if isinstance(value, dict):
            than = _list(_fields(value, place, ("other",))["other"], f"{place}.other")
            pairs.append((column, Other(tuple(_label(v, f"{place}.other") for v in than))))
        else:
            pairs.append((column, _label(value, place)))
    return tuple(pairs)


def _label(value: Any, where: str) -> Label:
    finite = not isinstance(value, float) or math.isfinite(value)
    if not isinstance(value, (str, bool, int, float)) or not finite:
        _wrong(where, value, "text, a finite number, a bool or {'other': [...]}")
    return value


def _fields(data: Any, where: str, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(data, dict):
        _wrong(where, data, "an object")
    missing = [name for name in names if name not in data]
    extra = [name for name in data if name not in names]
    if missing or extra:
        found = ", ".join(
            f"{what} {names}" for what, names in (("missing", missing), ("unknown", extra)) if names
        )
        raise RuleFormatError(f"{where}: fields {found}; allowed are {list(names)}")
    return data


def _list(data: Any, where: str) -> list[Any]:
    if not isinstance(data, list):
        _wrong(where, data, "a list")
    return data


def _numbers(data: Any, where: str) -> list[float]:
    return [_number(v, f"{where}[{i}]") for i, v in enumerate(_list(data, where))]


def _number(value: Any, where: str, allowed: str = "a finite number") -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _wrong(where, value, allowed)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        _wrong(where, value, allowed)
    return number


def _wrong(where: str, found: Any, allowed: str) -> NoReturn:
    text = repr(found)
    text = text if len(text) <= 60 else text[:57] + "..."
    raise RuleFormatError(f"{where}: found {text} ({type(found).__name__}), allowed is {allowed}")


def _no_constant(name: str) -> NoReturn:
    raise RuleFormatError(f"the JSON holds {name}, which is no number there; infinity is 'inf'")


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise RuleFormatError(f"the JSON has an object with fields twice: {twice}")
    return data
