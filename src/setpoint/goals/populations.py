"""Which rows a rate is measured on, how side information splits them, and the text of both.

A *population* is chosen without looking at the prediction. A column that a goal
names with ``.on`` splits into that value and :class:`Other`; a column named by a
reducer splits into all its values.
"""

from __future__ import annotations

import keyword
import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from setpoint.errors import GoalError, InputTypeError

if TYPE_CHECKING:
    from setpoint.goals.expressions import Expression


Label: TypeAlias = str | int | float | bool
"""A value of a column, or a class label, as a plain Python scalar."""

DEFER = "defer"
"""The answer of a row that is not decided, where answers are named."""


@dataclass(frozen=True)
class Other:
    """Every value of a column but the ones named.

    Examples
    --------
    >>> str(Other(("IN",)))
    'other than IN'
    """

    than: tuple[Label, ...]

    def __str__(self) -> str:
        return "other than " + ", ".join(value_in_words(v) for v in self.than)


def value_in_words(value: object) -> str:
    """A value of a column as in a sentence: text in quotes where it could be misread.

    Examples
    --------
    >>> [value_in_words(v) for v in ("a b", "", " y", "1", 1, "True", "x, y")]
    ['a b', "''", "' y'", "'1'", '1', "'True'", "'x, y'"]
    """
    if not isinstance(value, str):
        return str(value)
    plain = value == value.strip() != "" and value.isprintable() and not set(value) & set(",;='\"")
    return value if plain and not _reads_otherwise(value) else repr(value)


def column_in_words(column: str) -> str:
    r"""A column's name as in a sentence: with escapes where it holds what cannot be printed.

    Examples
    --------
    >>> print(column_in_words("sex"), column_in_words("two\nlines"))
    sex 'two\nlines'
    """
    return column if column.isprintable() else repr(column)


def _reads_otherwise(text: str) -> bool:
    """Whether a text would be read as a number, a boolean or a missing value."""
    if text in ("True", "False", "None"):
        return True
    try:
        float(text)
    except ValueError:
        return False
    return True


Key: TypeAlias = tuple[tuple[str, Label | Other], ...]
"""Column by column, the part a stratum or a segment stands for; sorted by column."""


_LARGEST = 2**1024
"""Beyond it an integer has no float, and soon no decimal text either."""


def plain_label(value: Any, what: str) -> Label:
    """The plain Python scalar behind `value`; NumPy scalars are unwrapped."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        raise InputTypeError(
            f"{what} must be text, a number or a bool, got None, which marks a missing value: fill "
            "such rows in, for example with 'unknown', and name that"
        )
    if not isinstance(value, (str, int, float)):
        raise InputTypeError(
            f"{what} must be text, a number or a bool, got {value!r} ({type(value).__name__})"
        )
    if isinstance(value, (bool, str)):
        return value if isinstance(value, bool) else str.__str__(value)
    if isinstance(value, int):
        if abs(value) >= _LARGEST:
            raise GoalError(f"{what} must be below 2 ** 1024 in size")
        return int(value)
    if not math.isfinite(value):
        raise GoalError(f"{what} must be finite, got {value!r}")
    return float(value)


def real_number(value: object, wanted: str) -> float:
    """A number as a float, infinite where it is too large for one; refuses what is none."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(f"{wanted}, got {value!r} ({type(value).__name__})")
    try:
        return float(value)
    except OverflowError:
        return math.inf


@dataclass(frozen=True)
class Population:
    """The rows of one data set on which a rate is measured.

    Examples
    --------
    >>> Population().narrowed("unlabelled", {"country": "IN"})
    Population(dataset='unlabelled', where=(('country', 'IN'),), measure=None)
    """

    dataset: str | None = None
    where: Key = ()
    measure: str | None = None

    @property
    def in_words(self) -> str:
        """The rows that it holds, for messages."""
        parts = [] if self.dataset is None else [f"data set {self.dataset!r}"]
        parts += [f"{column_in_words(c)} = {value_in_words(v)}" for c, v in self.where]
        return "the rows of " + (", ".join(parts) or "X")

    def weighted(self, measure: str) -> Population:
        """The same rows, each counted by its number in a column."""
        if self.measure is not None:
            raise GoalError(
                f"the rows are already weighted by {self.measure!r}; they cannot be weighted by "
                f"{measure!r} too"
            )
        return replace(self, measure=measure)

    def within(self, outer: Population) -> Population:
        """This population, restricted to another one."""
        out = self.narrowed(outer.dataset, dict(outer.where))
        return out if outer.measure is None else out.weighted(outer.measure)

    def narrowed(self, dataset: str | None, where: Mapping[str, Label | Other]) -> Population:
        """This population, restricted further."""
        if dataset is not None and self.dataset is not None:
            raise GoalError(
                f"the population is already the data set {self.dataset!r}; "
                f"it cannot be {dataset!r} too"
            )
        have = dict(self.where)
        for column in where:
            if column in have:
                raise GoalError(
                    f"the population already has {column!r} = {have[column]!r}; "
                    f"a column is fixed once"
                )
        merged = tuple(sorted({**have, **where}.items()))
        return replace(self, dataset=self.dataset if dataset is None else dataset, where=merged)


EVERYWHERE = Population()
"""All rows of X."""


def chosen_rows(
    population: tuple[Any, ...], where: Mapping[str, Any]
) -> tuple[str | None, dict[str, Label]]:
    """The data set and the column values that the arguments of ``.on`` name."""
    dataset: str | None = None
    columns: dict[str, Label] = {}
    pairs: list[tuple[Any, Any]] = []
    for item in population:
        if isinstance(item, Mapping):
            pairs += item.items()
        elif not isinstance(item, str):
            raise InputTypeError(
                f".on takes the name of a data set, a dict or column=value, got {item!r}"
            )
        elif dataset is not None:
            raise GoalError(f".on takes one data set, got {dataset!r} and {item!r}")
        elif not item:
            raise GoalError(".on: the name of a data set cannot be empty")
        else:
            dataset = str.__str__(item)
    for name, value in [*pairs, *where.items()]:
        if not isinstance(name, str) or not name:
            raise InputTypeError(f".on: a column is named by text, got {name!r}")
        if name in columns:
            raise GoalError(f".on names the column {name!r} twice")
        columns[str.__str__(name)] = plain_label(value, f"the value of {name!r} in .on")
    if dataset is None and not columns:
        raise GoalError(".on needs a data set or a column: recall.on(country='IN')")
    return dataset, columns


def measure_name(column: object) -> str:
    """The column that ``.weighted`` names, as plain text."""
    if not isinstance(column, str) or not column:
        raise InputTypeError(
            f".weighted takes the name of one column of numbers, got {column!r} "
            f"({type(column).__name__})"
        )
    return str.__str__(column)


def literal(value: Any) -> str:
    """A label, number or table of parameters as Python reads it; text in double quotes."""
    if isinstance(value, str):
        return '"' + "".join(map(_character, value)) + '"'
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))})"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(float(value)) if isinstance(value, float) else repr(value)  # of NumPy too


def _character(c: str) -> str:
    if c in '"\\':
        return "\\" + c
    # Line ends, invisible characters and halves of surrogate pairs are spelled out.
    return c if c.isprintable() else c.encode("unicode_escape").decode("ascii")


def parameter_text(name: str, value: Any) -> str:
    """A parameter of a metric: a number, a label, a table of them, or a linear form by name."""
    if name in ("costs", "values", "priors"):
        pairs = (f"{literal(k)}: {literal(v) if isinstance(v, float) else v}" for k, v in value)
        return "{" + ", ".join(pairs) + "}"
    # What a row is worth stands behind its name, as it takes no fixed place.
    return literal(value) if isinstance(value, (str, int, float)) else f"{name}={value}"


def population_text(population: Population) -> str:
    """The ``.on(...)`` that chooses the rows and the ``.weighted(...)`` that counts them."""
    parts = [] if population.dataset is None else [literal(population.dataset)]
    if all(is_name(c) for c, _ in population.where):
        parts += [f"{c}={literal(v)}" for c, v in population.where]
    else:
        parts.append(
            "{" + ", ".join(f"{literal(c)}: {literal(v)}" for c, v in population.where) + "}"
        )
    text = f".on({', '.join(parts)})" if parts else ""
    if population.measure is not None:
        text += f".weighted({literal(population.measure)})"
    return text


def is_name(column: str) -> bool:
    """Whether the column can stand before "=" (Python would change other identifiers)."""
    plain = column.isascii() and column.isidentifier()
    return plain and not keyword.iskeyword(column) and column != "__debug__"


# --- A constraint: what bounds an expression, as an immutable value -------------------------------


Relation: TypeAlias = Literal[">=", "<="]


@dataclass(frozen=True, repr=False)
class Constraint:
    """``lhs >= rhs`` or ``lhs <= rhs``, kept as written (a number stands on the right).

    Comparing expressions gives one.

    Parameters
    ----------
    lhs : Expression
    relation : {">=", "<="}
    rhs : Expression
    confidence : float or None
        How sure it is to be kept on new rows, above 0 and below 1; None: no confidence of its own.

    Raises
    ------
    GoalError
        If both sides are numbers, or `confidence` is outside its range.
    TypeError
        If `confidence` is not a number.

    Examples
    --------
    >>> from setpoint.metrics import precision
    >>> bound = (precision >= 0.9).with_confidence(0.99)
    >>> print(bound)
    precision >= 0.9 with confidence 0.99
    >>> bound.confidence
    0.99
    """

    lhs: Expression
    relation: Relation
    rhs: Expression
    confidence: float | None = None

    def __post_init__(self) -> None:
        if self.confidence is not None:
            object.__setattr__(self, "confidence", _confidence(self.confidence))
        if self.lhs.is_number and self.rhs.is_number:
            raise GoalError("a constraint between two numbers says nothing about a classifier")
        if self.lhs.is_number:
            flipped = "<=" if self.relation == ">=" else ">="
            lhs, rhs = self.rhs, self.lhs
            object.__setattr__(self, "lhs", lhs)
            object.__setattr__(self, "rhs", rhs)
            object.__setattr__(self, "relation", flipped)

    def __bool__(self) -> bool:
        raise InputTypeError(
            "a constraint is neither true nor false before it is measured; write "
            "'0.3 <= x <= 0.5' as two constraints, and join constraints with commas: "
            "subject_to(a >= 0.3, a <= 0.5)"
        )

    def with_confidence(self, confidence: float) -> Constraint:
        """The same constraint, to be kept on new rows with a confidence of its own.

        Parameters
        ----------
        confidence : float
            Above 0 and below 1.

        Raises
        ------
        GoalError
            If it is outside that range.
        TypeError
            If it is not a number.
        """
        return replace(self, confidence=_confidence(confidence))

    def __str__(self) -> str:
        text = f"{self.lhs} {self.relation} {self.rhs}"
        if self.confidence is not None:
            text += f" with confidence {literal(self.confidence)}"
        return text

    def __repr__(self) -> str:
        return str(self)


def _confidence(value: object) -> float:
    wanted = "`confidence` is a number above 0 and below 1, such as 0.99"
    number = real_number(value, wanted)
    # NaN is in no range.
    if not 0.0 < number < 1.0:
        raise GoalError(f"{wanted}, got {value!r:.40}")
    return number


# --- Reducers: one number from the groups of some columns -----------------------------------------


REDUCERS: dict[str, str] = {
    "mean": "arithmetic mean",
    "sum": "sum",
    "min": "smallest",
    "max": "largest",
    "difference": "largest minus smallest",
    "ratio": "smallest over largest",
    "geometric_mean": "geometric mean",
    "harmonic_mean": "harmonic mean",
    "quadratic_mean": "quadratic mean",
    "deviation": "largest distance from the pooled value",
}
"""Kind of reducer and what it says in words."""


def reducer_columns(kind: str, columns: tuple[object, ...]) -> tuple[str, ...]:
    """The columns of a reducer as plain text; refuses what is not a name."""
    names: list[str] = []
    for c in columns:
        if not isinstance(c, str) or not c:
            raise InputTypeError(f".{kind} takes names of columns, got {c!r}")
        if c in names:
            raise GoalError(f".{kind} names the column {c!r} twice")
        names.append(str.__str__(c))
    if kind == "deviation" and not names:
        raise GoalError(".deviation compares groups with all rows: it needs a column")
    return tuple(names)
