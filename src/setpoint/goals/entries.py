"""Events: what a rate counts, as a conjunction of words.

A rate is the mean, over a population chosen without looking at the prediction, of an
event ``L[baseline class, true class, predicted class]``. Events are written in the words
below; ``!`` negates a word.
"""

from __future__ import annotations

import ast
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias

from setpoint.errors import GoalError
from setpoint.goals.populations import DEFER, Label, is_name, literal, plain_label, real_number

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression


Costs: TypeAlias = tuple[tuple[int, int, float], ...]
"""Entries (true class, predicted class, cost)."""

_WORDS = {
    "actual": ("true = k", "true ≠ k"),
    "predicted": ("predicted = k", "predicted ≠ k"),
    "correct": ("predicted = true", "predicted ≠ true"),
    "changed": ("predicted ≠ deployed", "predicted = deployed"),
    "was_correct": ("deployed = true", "deployed ≠ true"),
    "deferred": ("not decided", "decided"),
    "labelled": ("with a label", "without a label"),
    "found": ("found", "not found"),
}
"""What each means, with and without "!"."""
_OF_A_CLASS = {"actual", "predicted", "found"}
_NEEDS_TRUTH = {"actual", "correct", "was_correct", "labelled"}
_NEEDS_BASELINE = {"changed", "was_correct"}
_OF_PREDICTION = {"predicted", "found", "correct", "changed", "deferred"}


@cache
def _parts(words: str) -> tuple[tuple[str, bool], ...]:
    """Each word of an event, and whether it is wanted."""
    return tuple((w.lstrip("!"), not w.startswith("!")) for w in words.split())


@dataclass(frozen=True)
class Event:
    """A conjunction of words about (true, predicted, baseline) class, or numbers for pairs."""

    words: str = ""
    costs: Costs | None = None

    @property
    def in_words(self) -> str:
        """As equations between true, predicted and deployed class."""
        return " and ".join(_WORDS[word][not wanted] for word, wanted in _parts(self.words))

    @cached_property
    def names_class(self) -> bool:
        """Whether it refers to one class."""
        return any(w in _OF_A_CLASS for w, _ in _parts(self.words))

    @cached_property
    def needs_truth(self) -> bool:
        """Whether the event cannot be counted on unlabelled rows."""
        return self.costs is not None or any(w in _NEEDS_TRUTH for w, _ in _parts(self.words))

    @cached_property
    def needs_baseline(self) -> bool:
        """Whether the event refers to the deployed model."""
        return any(w in _NEEDS_BASELINE for w, _ in _parts(self.words))

    @cached_property
    def ignores_prediction(self) -> bool:
        """Whether every decision gives the same count."""
        seen = any(w in _OF_PREDICTION for w, _ in _parts(self.words))
        return self.costs is None and not seen


# --- Linear forms in columns of numbers: what one row is worth ------------------------------------


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
        wanted = f"{what} must be a number or a linear expression in columns, as in 'amount - 5'"
        return cls.build({}, real_number(value, wanted), what)

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
        terms = _read(node, refuse)
        return LinearForm.build(terms, terms.pop(None, 0.0))
    except OverflowError:
        refuse(node, "a number here is too large")


def _read(node: ast.expr, refuse: Refuse) -> dict[Any, float]:
    """The factor of each column, and the number that stands alone under None."""
    out: dict[Any, float] = {}
    # A sum of a thousand terms is a thousand levels deep on its left: walk it.
    while isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Sub)):
        _add(out, _part(node.right, refuse), 1.0 if isinstance(node.op, ast.Add) else -1.0)
        node = node.left
    return _add(out, _part(node, refuse))


def _add(out: dict[Any, float], terms: dict[Any, float], factor: float = 1.0) -> dict[Any, float]:
    for column, x in terms.items():
        total = out.pop(column, 0.0) + factor * x
        if not math.isfinite(total):
            raise OverflowError
        if total or column is None:
            out[column] = total
    return out


def _part(node: ast.expr, refuse: Refuse) -> dict[Any, float]:
    match node:
        case ast.Constant(value=""):
            refuse(node, "the name of a column cannot be empty")
        case ast.Name(id=name) | ast.Constant(value=str(name)):
            return {name: 1.0}
        case ast.Constant(value=value):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                refuse(node, f"{value!r} has no meaning here: {_ALLOWED}")
            return {None: float(value)}
        case ast.UnaryOp(op=ast.USub() | ast.UAdd() as sign, operand=inner):
            return _add({}, _read(inner, refuse), -1.0 if isinstance(sign, ast.USub) else 1.0)
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            return _read(node, refuse)
        case ast.BinOp(left, ast.Mult(), right):
            form, number = _part(left, refuse), _part(right, refuse)
            if number.keys() - {None}:
                form, number = number, form
            if number.keys() - {None}:
                refuse(node, f"a product of columns is not linear: {_OWN}")
            return _add({}, form, number.get(None, 0.0))
        case ast.BinOp(left, ast.Div(), right):
            form, number = _part(left, refuse), _part(right, refuse)
            if number.keys() - {None}:
                refuse(node, f"a number over a column is not linear: {_OWN}")
            if not number.get(None):
                refuse(node, "division by the number 0")
            return _add({}, {c: x / number[None] for c, x in form.items()})
        case ast.BinOp(op=ast.Pow()):
            refuse(node, f"a power is not linear: {_OWN}")
    return refuse(node, f"this ({type(node).__name__.lower()}) has no meaning here: {_ALLOWED}")


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


def _finite(value: float, what: str) -> float:
    if not math.isfinite(value):
        raise GoalError(f"{what} must hold finite numbers, got {value}")
    return value + 0.0  # -0.0 becomes 0.0


# --- Entries of the table of metrics: one metric as data, and its parameters ----------------------


Better: TypeAlias = Literal["higher", "lower"] | None
Param: TypeAlias = Label | LinearForm | tuple[Any, ...]
INF = float("inf")


@dataclass(frozen=True)
class MetricEntry:
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
    called: str = ""
    aim: str = ""
    also: str = ""

    @property
    def kind(self) -> str:
        """Whether it is a rate, a formula over rates, or has parameters."""
        if self.params:
            return "with parameters"
        return "formula" if self.event is None else "rate"

    @property
    def range(self) -> str:
        """Its least and its largest value, in words."""
        return f"from {self.low:g} to {self.high:g}".replace("inf", "infinity")

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


TABLE: dict[str, MetricEntry] = {}
"""All metrics by name; :mod:`setpoint.goals.table` fills it."""


def parameters_of(
    entry: MetricEntry, args: tuple[Any, ...], named: Mapping[str, Any]
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
    entry: MetricEntry, args: tuple[Any, ...], named: Mapping[str, Any]
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


def _pairs(name: str) -> Callable[[object], Param]:
    what = f"{name} is a dict {{('true', 'predicted'): number or linear expression in columns}}"

    def checked(value: object) -> Param:
        if not isinstance(value, Mapping) or not value:
            raise GoalError(f"{what}, got {value!r}")
        out: list[tuple[tuple[Param, Param], float | LinearForm]] = []
        for key, worth in value.items():
            if not isinstance(key, tuple) or len(key) != 2:
                raise GoalError(f"{what}, got the key {key!r}")
            true, predicted = _label(key[0]), _label(key[1])
            if true == DEFER:
                raise GoalError(
                    f"{what}, got the key {key!r}: {DEFER!r} is an answer and never a true class, "
                    f"so it stands second, as in ('yes', {DEFER!r})"
                )
            form = LinearForm.of(worth, f"the entry of {name} for {key!r}")
            out.append(((true, predicted), form if form.terms else form.constant))
        return tuple(sorted(out, key=lambda x: (literal(x[0][0]), literal(x[0][1]))))

    return checked


def _priors(value: object) -> Param:
    what = "priors is a dict {label: share} with shares above 0 that sum to 1"
    if not isinstance(value, Mapping) or not value:
        raise GoalError(f"{what}, got {value!r}")
    pairs = []
    for key, number in value.items():
        plain = plain_label(number, f"the number for {key!r}")
        if isinstance(plain, (bool, str)) or not plain >= 0.0:
            raise GoalError(f"{what}: the number for {key!r} is {number!r}")
        pairs.append((key, float(plain)))
    out = tuple(sorted(((_label(k), p) for k, p in pairs), key=lambda x: literal(x[0])))
    if min(p for _, p in out) <= 0 or abs(sum(p for _, p in out) - 1) > 1e-6:
        raise GoalError(f"{what}, got {dict(out)!r}")
    return out


_PARAMETERS: dict[str, Callable[[object], Param]] = {
    "beta": _beta,
    "default": _label,
    "true": _label,
    "predicted": _label,
    "costs": _pairs("costs"),
    "values": _pairs("values"),
    "priors": _priors,
}
