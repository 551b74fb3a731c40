"""Rules as JSON: the format, its version, and strict reading.

::

    {"format": 2, "rule": RULE}
    RULE = {"type": "threshold", "threshold": NUMBER | "inf" | "-inf", "width": NUMBER}
         | {"type": "argmax", "G": [[NUMBER]] | [NUMBER], "offset": [NUMBER] | null}
         | {"type": "band", "low": NUMBER | "inf" | "-inf", "high": NUMBER | "inf" | "-inf"}
         | {"type": "value_aware", "columns": [COLUMN], "rule": RULE}
         | {"type": "per_segment", "by": "segment" | "top", "segments": [[[COLUMN, VALUE]]],
         "rules": [RULE]}
         | {"type": "mixture", "atoms": [{"probability": NUMBER, "rule": RULE}]}
    VALUE = text | number | true | false | {"other": [text | number | true | false]}

Each class says how its own fields are stored; here is what all share. Every field is written,
and every field is needed. A flat G is its diagonal. Numbers are finite. Nothing is ever
evaluated.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NoReturn

from setpoint.errors import InputError
from setpoint.goals import DEFER, Label

FORMAT = 2
"""The version that is written, and the only one that is read.

1: "per_slot" with "slots" where there is "per_segment" with "by" and "segments" now.
"""

TYPES = ("threshold", "argmax", "per_segment", "mixture", "band", "value_aware")
"""The types of rules."""


@dataclass(frozen=True)
class StoredAs:
    """How values of one kind are written, and read at a place."""

    write: Callable[[Any], Any]
    read: Callable[[Any, str], Any]

    @property
    def listed(self) -> StoredAs:
        """A list of such values."""
        return StoredAs(
            lambda values: [self.write(value) for value in values],
            lambda data, where: [
                self.read(value, f"{where}[{i}]") for i, value in enumerate(list_of(data, where))
            ],
        )


class RuleFormatError(InputError):
    """A stored rule is not written as it must be."""


def parse(text: Any) -> Any:
    """Read a JSON text: no NaN, no infinity, no field twice.

    Examples
    --------
    >>> parse('[1, 2.5]')
    [1, 2.5]
    """
    if not isinstance(text, str):
        wrong("the JSON", text, "text")
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_no_field_twice)
    except RuleFormatError:
        raise
    except RecursionError:
        raise RuleFormatError("the JSON is nested too deeply for a rule") from None
    except ValueError as error:
        raise RuleFormatError(f"the JSON is broken or cut off: {error}") from None


def body_of(data: Any) -> Any:
    """The rule inside a document, whose format and version are checked.

    Examples
    --------
    >>> body_of({"format": 2, "rule": {"type": "threshold", "threshold": 0.5, "width": 0}})
    {'type': 'threshold', 'threshold': 0.5, 'width': 0}
    """
    version = data.get("format") if isinstance(data, dict) else None
    known = version if isinstance(version, int) and not isinstance(version, bool) else None
    if known is not None and known > FORMAT:
        raise RuleFormatError(
            f"format: found {version}, written by a newer setpoint; "
            f"this one reads format {FORMAT}: upgrade it"
        )
    if known == 1:
        raise RuleFormatError(
            f"format: found 1, written by an older setpoint; this one reads format {FORMAT}: find "
            "the rule again and store it anew"
        )
    fields = fields_of(data, "the document", ("format", "rule"))
    if known != FORMAT:
        wrong("format", version, str(FORMAT))
    return fields["rule"]


def type_of(data: Any, where: str) -> str:
    """The type of a rule that is written as an object."""
    if not isinstance(data, dict):
        wrong(where, data, "an object")
    kind = data.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        wrong(f"{where}.type", kind, "one of " + ", ".join(map(repr, TYPES)))
    return kind


def fields_of(data: Any, where: str, names: tuple[str, ...]) -> dict[str, Any]:
    """An object that has exactly these fields."""
    if not isinstance(data, dict):
        wrong(where, data, "an object")
    missing = [name for name in names if name not in data]
    extra = [name for name in data if name not in names]
    if missing or extra:
        found = ", ".join(
            f"{what} {names}" for what, names in (("missing", missing), ("unknown", extra)) if names
        )
        raise RuleFormatError(f"{where}: fields {found}; allowed are {list(names)}")
    return data


def list_of(data: Any, where: str) -> list[Any]:
    """A list."""
    if not isinstance(data, list):
        wrong(where, data, "a list")
    return data


def number_of(value: Any, where: str, allowed: str = "a finite number") -> float:
    """A finite number, as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        wrong(where, value, allowed)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        wrong(where, value, allowed)
    return number


def cut_off_of(value: Any, where: str) -> float:
    """A number that may be infinite, as `written_cut_off` writes it.

    Examples
    --------
    >>> cut_off_of(1, "rule.low"), cut_off_of("-inf", "rule.low")
    (1.0, -inf)
    """
    if isinstance(value, str) and value in ("inf", "-inf"):
        return float(value)
    return number_of(value, where, "a finite number, 'inf' or '-inf'")


def written_cut_off(value: float) -> float | str:
    """A number for JSON, which has no infinity.

    Examples
    --------
    >>> written_cut_off(0.5), written_cut_off(math.inf)
    (0.5, 'inf')
    """
    if math.isfinite(value):
        return value
    return "inf" if value > 0.0 else "-inf"


NUMBER, CUT_OFF = StoredAs(float, number_of), StoredAs(written_cut_off, cut_off_of)
CHECKED = StoredAs(str, lambda data, where: data)
"""Text that the rule itself checks."""


def wrong(where: str, found: Any, allowed: str) -> NoReturn:
    """Refuse what was found at a place."""
    text = repr(found)
    text = text if len(text) <= 60 else text[:57] + "..."
    raise RuleFormatError(f"{where}: found {text} ({type(found).__name__}), allowed is {allowed}")


def _no_constant(name: str) -> NoReturn:
    raise RuleFormatError(f"the JSON holds {name}, which is not a number there; infinity is 'inf'")


def _no_field_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    data = dict(pairs)
    if len(data) < len(pairs):
        names = [name for name, _ in pairs]
        twice = sorted({name for name in names if names.count(name) > 1})
        raise RuleFormatError(f"the JSON has an object with fields twice: {twice}")
    return data


# --- The words in which a rule explains itself ----------------------------------------------------


_LINES = 20
"""Of a rule, from which on the others are counted."""

SHORTEST, LONGEST = 4, 17
"""Significant digits: what a reader wants, and what tells any two float64 apart."""


@dataclass(frozen=True)
class ClassNames:
    """The names of the classes and of the score in the words of a rule.

    Parameters
    ----------
    classes : tuple of Label
        The class labels by class index; in binary problems (negative, positive). Of a
        rule that may defer, the last one is "defer".
    score : str
        What the score is called, with its article.

    Raises
    ------
    ValueError
        If there are fewer than two classes.

    Examples
    --------
    >>> names = ClassNames(classes=("no", "yes"))
    >>> names.label(1), names.score_of(1)
    ("'yes'", "the score of 'yes'")
    """

    classes: tuple[Label, ...]
    score: str = "the score"

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise InputError(f"`classes`: at least two are needed, got {self.classes!r}")

    @property
    def defers(self) -> bool:
        """Whether the last of three names or more is that of the rows that are not decided.

        Examples
        --------
        >>> ClassNames(("no", "yes", "defer")).defers
        True
        """
        return len(self.classes) > 2 and self.classes[-1] == DEFER

    def label(self, index: int) -> str:
        """Write the class as in a sentence."""
        return repr(self.classes[index])

    def score_of(self, index: int) -> str:
        """Write the score of one class as in a sentence."""
        return f"{self.score} of {self.label(index)}"

    def columns(self, n: int) -> list[str]:
        """What `n` columns of scores are called: by the classes, where each has one.

        Examples
        --------
        >>> ClassNames(("no", "yes")).columns(1)
        ['the score in column 1']
        """
        own = n == len(self.classes) - int(self.defers)
        return [self.score_of(i) if own else f"{self.score} in column {i + 1}" for i in range(n)]


def probabilities_in_words(probabilities: Iterable[float]) -> list[str]:
    """Write probabilities in four digits, and in more where one would else read as 1.

    Examples
    --------
    >>> probabilities_in_words([0.37, 0.999999])
    ['0.37', '0.999999']
    """
    texts = []
    for p in probabilities:
        digits = SHORTEST
        while digits < LONGEST and p != 1.0 and float(f"{p:.{digits}g}") == 1.0:
            digits += 1
        texts.append(f"{p:.{digits}g}")
    return texts


def indented(text: str) -> str:
    """Move every line of `text` two blanks further in."""
    return "\n".join("  " + line for line in text.split("\n"))


def first_lines(text: str) -> str:
    r"""The words of a rule as they are printed: of many lines the first, and how many follow.

    Examples
    --------
    >>> first_lines("\n".join("abcdefghijklmnopqrstuvwxyz")).splitlines()[-2:]
    ['t', '... and 6 more lines; `explain` and `to_json` of the rule have all']
    """
    lines = text.split("\n")
    more = len(lines) - _LINES
    if more <= 1:
        return text
    end = f"... and {more:,} more lines; `explain` and `to_json` of the rule have all"
    return "\n".join([*lines[:_LINES], end])
