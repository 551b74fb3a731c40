"""Numbers as people read them: shares in per cent, counts, amounts."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from functools import cache, lru_cache
from types import UnionType
from typing import Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints
from unicodedata import category

import numpy as np

from setpoint.array_types import Floats
from setpoint.counts import Deferred
from setpoint.errors import InputTypeError
from setpoint.goals import (
    TABLE,
    Baseline,
    Const,
    Constraint,
    Expression,
    Goal,
    Label,
    Metric,
    Reduce,
    Sum,
    column_in_words,
    walk,
)
from setpoint.inputs import CheckedTable


def number(x: float | None) -> str:
    """A number in four decimals, or more digits where it is small.

    Examples
    --------
    >>> number(0.91237), number(0.00001234), number(22695.3), number(float("inf")), number(None)
    ('0.9124', '1.23e-05', '22,695.3', 'inf', '-')
    """
    if x is None:
        return "-"
    if x == 0:
        return "0"
    if abs(x) < 5e-4:
        return f"{x:.3g}"
    if abs(x) < 1000:
        return f"{x:.4f}"
    return f"{x:,.6g}" if abs(x) < 1e6 else f"{x:,.0f}"


def percent(share: float | None) -> str:
    """A share in per cent with one digit; more where it would read as nothing or all.

    Examples
    --------
    >>> percent(0.4992), percent(0.00004), percent(1.0), percent(0.99996), percent(None)
    ('49.9 %', '0.004 %', '100 %', '99.996 %', '-')
    """
    if share is None:
        return "-"
    if not math.isfinite(share):
        return f"{share}"
    whole = 100.0 * share
    if whole == 0.0:
        return "0 %"
    near = min(abs(whole), abs(100.0 - abs(whole)))
    if near == 0.0 or near >= 0.05:
        text = f"{whole:.1f}"
        return f"{text.removesuffix('.0') if abs(whole) == 100.0 else text} %"
    digits = min(2 - math.floor(math.log10(near)) - 2, 8)
    return f"{whole:.{digits}f} %"


def count(x: float) -> str:
    """A count of rows; weights with one decimal.

    Examples
    --------
    >>> count(1234.0), count(2.5)
    ('1,234', '2.5')
    """
    return f"{x:,.0f}" if abs(x - round(x)) < 1e-9 else f"{x:,.1f}"


def amount(x: float) -> str:
    """An amount of money, or of anything that is not a share.

    Examples
    --------
    >>> amount(35320.4), amount(3.532), amount(-0.02)
    ('35,320', '3.53', '-0.02')
    """
    if not math.isfinite(x):
        return f"{x}"
    if x == 0 or abs(x) >= 100:
        return f"{x:,.0f}"
    return f"{x:.2f}" if abs(x) >= 0.01 else f"{x:.3g}"


def plural(n: int, word: str) -> str:
    """A count of something.

    Examples
    --------
    >>> plural(1, "row"), plural(1500, "row")
    ('1 row', '1,500 rows')
    """
    return f"{n:,} {word}" + ("" if n == 1 else "s")


# --- In which unit a metric is written: shares in per cent, money as amounts ----------------------


Unit: TypeAlias = Literal["share", "amount", "number"]

_AMOUNTS = ("cost", "profit", "value")


@lru_cache(maxsize=256)
def unit_of(x: Expression) -> Unit:
    """The unit of an expression.

    Examples
    --------
    >>> from setpoint.metrics import mcc, profit, recall
    >>> unit_of(recall - recall.baseline()), unit_of(mcc), unit_of(profit(tp="amount - 5"))
    ('share', 'number', 'amount')
    """
    metrics = [m for m in walk(x) if isinstance(m, Metric)]
    if any(m.name in _AMOUNTS for m in metrics):
        return "amount"
    terms = x.terms if isinstance(x, Sum) else ((1.0, x),)
    known = [(sign, part) for sign, part in terms if not isinstance(part, Const)]
    shares = all(_is_share(part) for _, part in known)
    # The difference of two shares is one; of their sum 150 % says nothing.
    one_each = len({sign > 0.0 for sign, _ in known}) == len(known)
    return "share" if metrics and shares and one_each else "number"


def _is_share(x: Expression) -> bool:
    """Whether it is a share of rows, of the deployed model's, or over groups of them."""
    if isinstance(x, Metric):
        return TABLE[x.name].low >= 0.0 and TABLE[x.name].high <= 1.0
    if isinstance(x, Reduce):
        return x.kind in ("min", "max", "mean", "difference", "ratio") and _is_share(x.inner)
    return isinstance(x, Baseline) and _is_share(x.inner)


def shown(x: float | None, unit: Unit) -> str:
    """A value in its unit.

    Examples
    --------
    >>> shown(0.4992, "share"), shown(3.532, "amount"), shown(0.31, "number")
    ('49.9 %', '3.53', '0.3100')
    """
    if unit == "share":
        return percent(x)
    return "-" if x is None else amount(x) if unit == "amount" else number(x)


def asked(constraint: Constraint, bound: float | None) -> str:
    """A bound in words.

    Examples
    --------
    >>> from setpoint.metrics import precision
    >>> asked(precision >= 0.5, 0.5)
    'at least 50 %'
    """
    words = "at least" if constraint.relation == ">=" else "at most"
    return f"{words} {shown_bound(bound, unit_of(constraint.lhs))}"


def shown_bound(x: float | None, unit: Unit) -> str:
    """A bound as short as it was written."""
    if unit == "share" and x is not None and math.isfinite(x):
        return f"{100.0 * x:.6g} %"
    return "-" if x is None else f"{x:.6g}"


# --- The rows of a report in counts ---------------------------------------------------------------


MOST_CLASSES = 50
"""Of more classes the confusion is not kept whole: it grows with their square."""

_MOST_MISTAKES = 100


@dataclass(frozen=True)
class Counts:
    """The rows that were counted, by true and decided class.

    Parameters
    ----------
    n_rows : int
        Rows of all data sets.
    classes : tuple of labels
        With two classes, (negative, positive).
    confusion : tuple of n + 1 tuples of n floats
        Weight of the rows of X by true class (the last: unlabelled) and decided class. A rule
        that draws is counted in expectation. Empty for more than 50 classes.
    cells : tuple of (true class, decided class, weight)
        For more than 50 classes the diagonal and the 100 most frequent mistakes, by class
        codes.
    labelled : float
        Weight of the rows of X that have a label.
    sizes : tuple of n floats
        For more than 50 classes the weight of the rows of X of each true class.
    deferred : tuple of n + 1 floats
        Weight of the rows of X that are not decided, by true class (the last: unlabelled); empty
        where the rule decides every row. The confusion holds those that are decided.
    seen : float
        The share of the rows of X that are rows of the fit too, by their hashes.
    units : int
        What was drawn, such as customers, where that is not rows; `units_called` says what.
    units_alone : int
        Units of one row, of which nothing was said.
    largest_unit : float
        The share of all weight that one unit has.
    effective_units, design_effect : float
        Of objective and constraints: so few units of equal size tell as much of one, and so many
        times as many rows as independent ones it takes.

    Examples
    --------
    >>> Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0))).positive
    'yes'
    """

    n_rows: int = 0
    classes: tuple[Label, ...] = ()
    confusion: tuple[tuple[float, ...], ...] = ()
    cells: tuple[tuple[int, int, float], ...] = ()
    labelled: float = 0.0
    seen: float = 0.0
    sizes: tuple[float, ...] = field(default=(), metadata={"optional": True})
    deferred: tuple[float, ...] = field(default=(), metadata={"optional": True})
    units: int = field(default=0, metadata={"optional": True})
    units_called: str = field(default="", metadata={"optional": True})
    units_alone: int = field(default=0, metadata={"optional": True})
    largest_unit: float = field(default=0.0, metadata={"optional": True})
    effective_units: float = field(default=0.0, metadata={"optional": True})
    design_effect: float = field(default=0.0, metadata={"optional": True})

    def __post_init__(self) -> None:
        if self.confusion:
            rows = self.confusion[: len(self.classes)]
            decided = float(sum(sum(row) for row in rows))
            deferred = float(sum(self.deferred[: len(self.classes)]))
            object.__setattr__(self, "labelled", decided + deferred)

    @classmethod
    def of(cls, n_rows: int, classes: tuple[Label, ...], table: Floats) -> Counts:
        """Those of a table (n + 1, n) of weights by true and decided class.

        Examples
        --------
        >>> import numpy as np
        >>> from setpoint.counts.codebook import DEFERRED
        >>> found = np.array([[6.0, 1, 1], [0, 3, 2], [0, 0, 0], [0, 0, 0]])
        >>> Counts.of(13, ("no", "yes", DEFERRED), found).deferred
        (1.0, 2.0, 0.0)
        """
        n = len(classes)
        if isinstance(classes[-1], Deferred):
            kept = np.delete(table, n - 1, axis=0)
            out = cls.of(n_rows, classes[:-1], kept[:, :-1])
            deferred = tuple(kept[:, -1].tolist())
            if out.confusion:
                return replace(out, deferred=deferred)
            sizes = tuple(map(sum, zip(out.sizes, deferred, strict=False)))
            return replace(out, deferred=deferred, sizes=sizes, labelled=sum(sizes))
        if n <= MOST_CLASSES:
            return cls(n_rows, classes, tuple(tuple(row) for row in table.tolist()))
        wrong = [(i, j, float(table[i, j])) for i, j in zip(*table[:n].nonzero(), strict=True)]
        wrong = [(int(i), int(j), x) for i, j, x in wrong if i != j]
        wrong.sort(key=lambda cell: (-cell[2], cell))
        right = [(i, i, float(table[i, i])) for i in range(n)]
        sizes = tuple(table[:n].sum(axis=1).tolist())
        cells = (*right, *wrong[:_MOST_MISTAKES])
        return cls(n_rows, classes, (), cells, float(table[:n].sum()), sizes=sizes)

    def table(self) -> Iterator[tuple[int, int, float]]:
        """The cells of labelled rows that are known: true class, decided class, weight."""
        if self.cells:
            yield from self.cells
        for i, row in enumerate(self.confusion[: len(self.classes)]):
            yield from ((i, j, x) for j, x in enumerate(row))

    @property
    def on_new(self) -> str:
        """What limits refer to; on rows of the fit they show nothing of new ones."""
        return "if these rows were new" if self.seen > 0.0 else "on new rows"

    @property
    def total(self) -> float:
        """Weight of the rows of X, as far as the confusion is kept."""
        return float(sum(map(sum, self.confusion)) + sum(self.deferred))

    def of_class(self, code: int) -> float:
        """Weight of the rows of X of one true class."""
        if self.sizes:
            return self.sizes[code]
        return float(sum(self.confusion[code]) + (self.deferred[code] if self.deferred else 0.0))

    @property
    def positive(self) -> Label | None:
        """The positive class of two."""
        return self.classes[1] if len(self.classes) == 2 else None


# --- How many of 10,000 rows are accepted, rightly and wrongly ------------------------------------


PER = 10_000
"""Rows that prices and counts of people refer to."""

_MOST = 3
"""Mistakes between classes that are named."""


@dataclass(frozen=True)
class RowShare:
    """A part of the rows: what is said of it, how many of 10,000, and whether that is right."""

    words: str
    rows: float
    right: bool
    kind: str = ""

    @property
    def count(self) -> str:
        """How many of 10,000; of a fraction of one it says that there are some."""
        return so_many(self.rows)


def parts_of(
    counts: Counts, confusion: Sequence[Sequence[float]] | None = None
) -> tuple[RowShare, ...]:
    """The labelled rows by what is decided: for two classes four parts, else right and wrong.

    Examples
    --------
    >>> found = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
    >>> for part in parts_of(found):
    ...     print(part.words, round(part.rows))
    accepted rightly 700
    accepted wrongly 200
    missed 300
    left out rightly 8800
    """
    found = _of(counts, confusion)
    if not found.labelled > 0.0:
        return ()
    if len(counts.classes) == 2:
        (tn, fp), (fn, tp) = found.confusion[:2]
        named = [
            ("accepted rightly", tp, True, "hit"),
            ("accepted wrongly", fp, False, "alarm"),
            ("missed", fn, False, "miss"),
            ("left out rightly", tn, True, "rest"),
        ]
    else:
        right = sum(x for i, j, x in found.table() if i == j)
        wrong = found.labelled - sum(found.deferred[:-1]) - right
        named = [
            ("decided rightly", right, True, "hit"),
            ("decided wrongly", wrong, False, "alarm"),
        ]
    if found.deferred:
        named.append(("deferred", sum(found.deferred[:-1]), False, "deferred"))
    rows = _that_add_up([PER * (x / found.labelled) for _, x, *_ in named])
    return tuple(replace(RowShare(*part), rows=n) for part, n in zip(named, rows, strict=True))


def _that_add_up(rows: list[float]) -> list[float]:
    """Whole numbers with the sum of the rows, by the largest remainders; one of none stays."""
    whole = [math.floor(x) for x in rows]
    order = sorted(range(len(rows)), key=lambda i: whole[i] - rows[i])
    for i in order[: round(sum(rows)) - sum(whole)]:
        whole[i] += 1
    return [float(n) if n or x == 0.0 else min(x, 0.49) for n, x in zip(whole, rows, strict=True)]


def _of(counts: Counts, confusion: Sequence[Sequence[float]] | None) -> Counts:
    """The counts of other decisions on the same rows."""
    if confusion is None:
        return counts
    return Counts.of(counts.n_rows, tuple(counts.classes), np.array(confusion))


def in_ten_thousand(counts: Counts, confusion: Sequence[Sequence[float]] | None = None) -> str:
    """How many of 10,000 rows are accepted, rightly and wrongly, and missed; "" without labels.

    Examples
    --------
    >>> found = Counts(10_000, ("no", "yes"), ((8412.0, 420.0), (707.0, 461.0), (0.0, 0.0)))
    >>> in_ten_thousand(found)
    "Of 10,000 rows like these 881 are accepted: 461 rightly, 420 wrongly; 707 of class 'yes' are \
missed."
    >>> table = ((5.0, 1.0), (0.0, 2.0), (0.0, 0.0))
    >>> in_ten_thousand(Counts(10, ("no", "yes"), table, deferred=(1.0, 1.0, 0.0)))
    "Of 10,000 rows like these 2,000 are deferred to a person; of the others 3,000 are accepted: \
2,000 rightly, 1,000 wrongly; 0 of class 'yes' are missed."
    """
    parts = parts_of(counts, confusion)
    if not parts:
        return ""
    start = f"Of {PER:,} rows like these"
    if counts.deferred and confusion is None:
        parts, left = parts[:-1], parts[-1]
        verb = "is" if round(left.rows) == 1 else "are"
        start = f"{start} {so_many(left.rows)} {verb} deferred to a person; of the others"
    if len(counts.classes) == 2:
        tp, fp, fn, *_ = (p.rows for p in parts)
        missed = f"{so_many(fn)} of {named(counts.classes[1])} are missed"
        if round(tp + fp) == 0:
            return f"{start} {so_many(tp + fp)} are accepted; {missed}."
        return (
            f"{start} {so_many(tp + fp)} are accepted: {so_many(tp)} rightly, "
            f"{so_many(fp)} wrongly; {missed}."
        )
    right, wrong = parts
    text = f"{start} {so_many(right.rows)} are decided rightly, {so_many(wrong.rows)} wrongly"
    mistakes = _mistakes(_of(counts, confusion))
    return f"{text}; most often {', '.join(mistakes)}." if mistakes else f"{text}."


def named(label: Label) -> str:
    """A class in a sentence.

    Examples
    --------
    >>> named("yes"), named(1)
    ("class 'yes'", 'class 1')
    """
    return f"class {label!r}"


def _mistakes(counts: Counts) -> list[str]:
    """The most frequent mistakes."""
    wrong = [(x, i, j) for i, j, x in counts.table() if i != j and x > 0]
    wrong.sort(key=lambda cell: (-cell[0], cell[1:]))
    classes = counts.classes
    return [
        f"{so_many(PER * (x / counts.labelled))} of {named(classes[i])} taken for {classes[j]!r}"
        for x, i, j in wrong[:_MOST]
    ]


def so_many(x: float) -> str:
    """A number of people; of a fraction of one it says that there are some."""
    return f"{x:,.0f}" if x >= 0.5 or x == 0 else "fewer than one"


# --- Texts of users as a page and a picture can hold them -----------------------------------------


_UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def cleaned(text: str) -> str:
    r"""Text without characters that no page may hold, such as halves of surrogate pairs.

    Examples
    --------
    >>> cleaned("a\x00b")
    'a\ufffdb'
    """
    return _UNSAFE.sub("\ufffd", text)


def printed(text: str) -> str:
    r"""Text for a terminal: what it could take for a command is written as an escape.

    Examples
    --------
    >>> print(printed("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(repr(c)[1:-1] if _commands(c) else c for c in text)


def _commands(c: str) -> bool:
    """Whether a character moves, colours or turns what follows, other than the end of a line."""
    return c not in _JOINERS and category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")


_JOINERS = "\n\u200c\u200d"
"""Beside the end of a line, what scripts and pictures of several characters need."""


def shortened(text: str, most: int = 36) -> str:
    """Clean text of at most so many characters, its end left out.

    Examples
    --------
    >>> shortened("northern region", 10)
    'northern …'
    """
    return cleaned(text if len(text) <= most else f"{text[: most - 1]}…")


# --- A table as text in columns -------------------------------------------------------------------


def aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, every column as wide as it has to be, numbers to the right.

    Examples
    --------
    >>> print(aligned(("name", "value"), [("a", "0.25"), ("bb", "1")]))
    name  value
    a      0.25
    bb        1
    """
    table = [head, *rows]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    right = [i > 0 and all(_is_number(row[i]) for row in rows) for i in range(len(head))]
    lines = (
        "  ".join(
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in table
    )
    return "\n".join(lines)


def _is_number(text: str) -> bool:
    try:
        float(text.removesuffix(" %").replace(",", ""))
    except ValueError:
        return text in ("", "-")
    return True


# --- Values of a report as plain dicts that JSON takes --------------------------------------------


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


# --- Columns of numbers whose sum a handful of rows carries ---------------------------------------


MOST = 10
"""Rows that are looked at, those with the largest values."""

SHARE = 1.0 / 3.0
"""Of the sum: what these rows may carry without a word."""

LEAST_ROWS = 200
"""Of fewer rows ten are many."""


class HeavyTailWarning(UserWarning):
    """Ten rows carry a third or more of the sum of a column by which rows count."""


def heavy_tails(goal: Goal, table: CheckedTable) -> list[str]:
    """A sentence for each column by which rows count whose sum ten rows carry a third of.

    Examples
    --------
    >>> from setpoint.counts.codebook import Column
    >>> amounts = np.r_[np.full(10, 900.0), np.full(290, 50.0)]
    >>> table = CheckedTable(None, None, {"amount": Column(amounts)}, None)
    >>> (text,) = heavy_tails(Goal.parse("maximize recall.weighted(amount)"), table)
    >>> text[:43]
    '10 of 300 rows carry 38.3 % of the sum of a'
    """
    out = []
    for name in goal.needs.measures.get(None, {}):
        if name not in table.columns:
            continue
        size = np.abs(np.asarray(table.columns[name].values, np.float64))
        if table.weight is not None:
            size = size * table.weight
        total, n = float(size.sum()), int(np.count_nonzero(size))
        if n < LEAST_ROWS or not total > 0.0:
            continue
        largest = np.argpartition(-size, MOST)[:MOST]
        largest = largest[np.lexsort((largest, -size[largest]))]
        share = float(size[largest].sum()) / total
        if share >= SHARE:
            out.append(
                f"{MOST} of {len(size):,} rows carry {percent(share)} of the sum of "
                f"{column_in_words(name)}, and what is found rests on them: rows "
                f"{', '.join(map(str, largest.tolist()))}"
            )
    return out
