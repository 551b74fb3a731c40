"""Entries of the table of metrics: one metric as data, and its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from setpoint.goals.errors import GoalError
from setpoint.goals.events import Event
from setpoint.goals.linear import LinearForm
from setpoint.goals.populations import DEFER, Label, literal, plain_label

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression

__all__ = ["INF", "TABLE", "Better", "Entry", "Param", "parameters_of"]

Better: TypeAlias = Literal["higher", "lower"] | None
Param: TypeAlias = Label | LinearForm | tuple[Any, ...]
INF = float("inf")


@dataclass(frozen=True)
class Entry:
    """One metric as data."""

    name: str
    words: str
    of_class: bool
    better: Better
    low: float = 0.0
    high: float = 1.0
    event: Event | None = None
    given: Event | None = None
    formula: Callable[..., Expression] | None = None
    params: tuple[str, ...] = ()
    optional: bool = False
    any_of: bool = False
    misses_deferred: bool = False

    @property
    def in_units(self) -> bool:
        """Whether it is in the units of what its parameters say a row is worth."""
        return self.any_of or "values" in self.params

    @property
    def example(self) -> str:
        """One that is in the units of columns, for messages."""
        return f'as in {self.name}(tp="amount - 5", fp=-5)'

    @property
    def signature(self) -> str:
        """How to write it."""
        if self.any_of:
            given = ", ".join(f"{p}=..." for p in self.params)
            return f"{self.name}({given}), any of these, {self.example}"
        return f"{self.name}({', '.join(self.params)})"


TABLE: dict[str, Entry] = {}
"""All metrics by name; :mod:`setpoint.goals.table` fills it."""


def parameters_of(
    entry: Entry, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[str, Param], ...]:
    """A metric's parameters, by position or by name, checked."""
    if entry.any_of:
        return _some_of(entry, args, named)
    if len(args) > len(entry.params):
        raise GoalError(f"{entry.signature} takes {len(entry.params)} parameter(s)")
    given = dict(zip(entry.params, args, strict=False))
    for key, value in named.items():
        if key not in entry.params or key in given:
            hint = ""
            if {"costs", "values"} & set(entry.params):
                pairs = '{("no", "yes"): 1, ("yes", "no"): 5}'
                hint = f"; write {entry.name}({pairs}), each pair the true and the predicted class"
            raise GoalError(f"{entry.signature}: unexpected or repeated parameter {key!r}{hint}")
        given[key] = value
    missing = [p for p in entry.params if p not in given]
    if missing and not entry.optional:
        raise GoalError(f"{entry.signature} needs {', '.join(missing)}")
    return tuple((p, _PARAMETERS[p](given[p])) for p in entry.params if p in given)


def _some_of(
    entry: Entry, args: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[str, Param], ...]:
    """What rows are worth by how they are decided: linear forms by name."""
    known = ", ".join(f"`{p}`" for p in entry.params)
    if args or not named:
        got = f", got {args[0]!r} without one" if args else ""
        raise GoalError(f"{entry.name} takes any of {known} by name, {entry.example}{got}")
    for key in named:
        if key not in entry.params:
            raise GoalError(
                f"{entry.name} takes any of {known}, {entry.example}, got the argument `{key}`"
            )
    return tuple(
        (p, LinearForm.of(named[p], f"`{p}` of {entry.name}")) for p in entry.params if p in named
    )


def _beta(value: object) -> Param:
    plain = plain_label(value, "beta")
    if isinstance(plain, (bool, str)) or not plain > 0:
        raise GoalError(f"beta is a number above 0, got {value!r}")
    return float(plain)


def _label(value: object) -> Param:
    return plain_label(value, "a class label")


def _numbers(value: object, what: str, low: float) -> tuple[tuple[Any, float], ...]:
    if not isinstance(value, Mapping) or not value:
        raise GoalError(f"{what}, got {value!r}")
    out = []
    for key, number in value.items():
        plain = plain_label(number, f"the number for {key!r}")
        if isinstance(plain, (bool, str)) or not plain >= low:
            raise GoalError(f"{what}: the number for {key!r} is {number!r}")
        out.append((key, float(plain)))
    return tuple(out)


def _costs(value: object) -> Param:
    return _pairs(value, "costs")


def _values(value: object) -> Param:
    return _pairs(value, "values")


def _pairs(value: object, name: str) -> Param:
    what = f"{name} is a dict {{('true', 'predicted'): number or linear expression in columns}}"
    if not isinstance(value, Mapping) or not value:
        raise GoalError(f"{what}, got {value!r}")
    out: list[tuple[tuple[Param, Param], float | LinearForm]] = []
    for key, worth in value.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise GoalError(f"{what}, got the key {key!r}")
        true, predicted = _label(key[0]), _label(key[1])
        if true == DEFER:
            raise GoalError(
                f"{what}, got the key {key!r}: {DEFER!r} is an answer and never a true class, so "
                f"it stands second, as in ('yes', {DEFER!r})"
            )
        form = LinearForm.of(worth, f"the entry of {name} for {key!r}")
        out.append(((true, predicted), form if form.terms else form.constant))
    return tuple(sorted(out, key=lambda x: (literal(x[0][0]), literal(x[0][1]))))


def _priors(value: object) -> Param:
    what = "priors is a dict {label: share} with shares above 0 that sum to 1"
    pairs = [(_label(k), p) for k, p in _numbers(value, what, 0.0)]
    out = tuple(sorted(pairs, key=lambda x: literal(x[0])))
    if min(p for _, p in out) <= 0 or abs(sum(p for _, p in out) - 1) > 1e-6:
        raise GoalError(f"{what}, got {dict(out)!r}")
    return out


_PARAMETERS: dict[str, Callable[[object], Param]] = {
    "beta": _beta,
    "default": _label,
    "true": _label,
    "predicted": _label,
    "costs": _costs,
    "values": _values,
    "priors": _priors,
}
