"""Columns looked at: odd rows, and those that are too good to be true."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables.fitted import FittedModel
    from setpoint.tables.table import TableColumn


# --- What the columns of a table held where a model was fitted ------------------------------------


_MOST_VALUES = 200
_SOME = 0.02
"""Fewer rows than this share are not worth a word."""


def profile_of(frame: pd.DataFrame, columns: Sequence[TableColumn]) -> dict[str, list[Any]]:
    """The ends of each column of numbers, and the values of each column of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from setpoint.tables import kinds_of
    >>> frame = pd.DataFrame({"age": [31, 45], "city": ["Bonn", "Kiel"]})
    >>> profile_of(frame, kinds_of(frame))
    {'age': [31.0, 45.0], 'city': ['Bonn', 'Kiel']}
    """
    out: dict[str, list[Any]] = {}
    for column in columns:
        values = frame[column.name].dropna()
        if not len(values):
            continue
        if column.kind == "number":
            out[column.name] = [float(values.min()), float(values.max())]
        elif column.kind == "category":
            seen = sorted(map(str, values.unique()))
            if len(seen) <= _MOST_VALUES:
                out[column.name] = seen
    return out


def odd_columns(frame: pd.DataFrame, profile: Mapping[str, Sequence[Any]]) -> list[str]:
    """Columns of which at least 2 % of the rows hold what no row of the fit did, in words.

    Examples
    --------
    >>> import pandas as pd
    >>> profile = {"age": [31.0, 45.0], "city": ["Bonn", "Kiel"]}
    >>> odd_columns(pd.DataFrame({"age": [40, 90], "city": ["Bonn", "Bonn"]}), profile)
    ['age: 50 % beyond 31 to 45']
    """
    found: list[tuple[float, str]] = []
    for name, seen in profile.items():
        values = frame[name].dropna()
        if not len(values):
            if len(frame):
                found.append((1.0, f"{name}: no value in any row"))
            continue
        if isinstance(seen[0], str):
            share = 1.0 - float(np.mean(values.isin(list(seen))))
            text = "values never seen"
        else:
            low, high = seen
            numbers = values.to_numpy(dtype=np.float64)
            share = float(np.mean((numbers < low) | (numbers > high)))
            text = f"beyond {low:g} to {high:g}"
        if share >= _SOME:
            found.append((share, f"{name}: {100 * share:.3g} % {text}"))
    return [text for _, text in sorted(found, key=lambda pair: -pair[0])]


# --- Columns that are too good to be true: one that decides the class -----------------------------


_ALMOST = 0.999
"""The share of rows of each class, or of a group, that a column has to get right."""

_TAIL = 0.01  # well above what `_ALMOST` leaves wrong

_FEWEST = 20
"""Rows of a class or a group below which nothing is said."""

_MOST_LEVELS = 0.1
"""A column with more values a row is an identifier, and knows every row by itself."""


def decides_alone(column: pd.Series, y: pd.Series) -> bool:
    """Whether one column, or whether it is filled, tells the classes apart all but perfectly.

    Examples
    --------
    >>> y = pd.Series(["stays"] * 30 + ["leaves"] * 30)
    >>> decides_alone(pd.Series([None] * 30 + ["May"] * 30), y)
    True
    >>> decides_alone(pd.Series(range(60)) % 7, y)
    False
    """
    known = y.notna().to_numpy()
    classes = pd.factorize(y[known])[0]
    sizes = np.bincount(classes)
    if len(sizes) < 2 or sizes.min() < _FEWEST:
        return False
    column = column[known]
    missing = column.isna().to_numpy()
    if missing.any() and _purity(_counts(missing, classes)) >= _ALMOST:
        return True
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column.to_numpy(dtype=np.float64, na_value=np.nan)
        values = np.where(np.isnan(values), -np.inf, values)  # missing as lowest
        if len(sizes) != 2 or _overlap(values[classes == 0], values[classes == 1]):
            return False
        counts = _counts(np.unique(values, return_inverse=True)[1], classes)
        below, other = (counts.cumsum(axis=0) / counts.sum(axis=0)).T
        best = np.maximum(np.minimum(below, 1 - other), np.minimum(other, 1 - below)).max()
        return bool(best >= _ALMOST)
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    return len(levels) <= _MOST_LEVELS * len(codes) and _purity(_counts(codes, classes)) >= _ALMOST


def gives_away(column: pd.Series, group: pd.Series) -> bool:
    """Whether the values of one column say which group a row is of.

    Examples
    --------
    >>> race = pd.Series(["black", "white", "asian"] * 40)
    >>> gives_away(race == "black", race), gives_away(race.str.upper(), race)
    (True, True)
    >>> gives_away(pd.Series(["f", "m"] * 60), race)
    False
    """
    codes, levels = pd.factorize(column, use_na_sentinel=False)
    groups = pd.factorize(group, use_na_sentinel=False)[0]
    sizes = np.bincount(groups).astype(np.float64)
    if not 1 < len(levels) <= max(_MOST_LEVELS * len(codes), 2) or len(sizes) < 2:
        return False
    # One group alone that values stand for is given away, though others are not. Only the
    # pairs that there are count: groups may be thousands, such as the values of a postcode.
    pairs, inside = np.unique(codes * len(sizes) + groups, return_counts=True)
    value, k = np.divmod(pairs, len(sizes))
    outside = np.bincount(codes)[value] - inside
    others = len(codes) - sizes
    stands = inside / sizes[k] > outside / others[k]
    found = np.bincount(k, inside * stands, minlength=len(sizes)) / sizes
    kept = 1.0 - np.bincount(k, outside * stands, minlength=len(sizes)) / others
    return bool((np.minimum(found, kept)[sizes >= _FEWEST] >= _ALMOST).any())


def suspects(
    frame: pd.DataFrame, target: str, features: Sequence[str], hidden: Sequence[str]
) -> list[str]:
    """A sentence for each feature that decides the class alone, or gives away a hidden group."""
    out = []
    for name in features:
        if decides_alone(frame[name], frame[target]):
            out.append(
                f"The column {name} alone decides {target}: if it is filled in after the fact, "
                "this result will not be seen on new rows. Leave it out unless it is known in time."
            )
        out += [
            f"The column {name} says which group of {group} a row is of, so the model looks at "
            f"{group} though it is not shown to it. Leave it out too."
            for group in hidden
            if gives_away(frame[name], frame[group])
        ]
    return out


def _counts(codes: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Rows of each value, a row of the result, by class."""
    n = classes.max() + 1
    counts = np.bincount(codes * n + classes, minlength=(codes.max() + 1) * n)
    return counts.reshape(-1, n).astype(np.float64)


def _purity(counts: np.ndarray) -> float:
    """The smallest share of a class that is found where each value takes its likeliest class."""
    sizes = counts.sum(axis=0)
    best = (counts / sizes).argmax(axis=1)
    right = np.bincount(best, counts[np.arange(len(best)), best], minlength=len(sizes))
    return float((right / sizes).min())


def _overlap(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two classes overlap so much that no cut-off gets `_ALMOST` all right: no sorting."""
    (low, high), (other_low, other_high) = map(_ends, (one, other))
    return bool(high > other_low and other_high > low)


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The values that at least 1 % lie at or below, and fewer than 99 % below."""
    low, high = int(np.ceil(_TAIL * len(values))) - 1, int(np.ceil((1 - _TAIL) * len(values))) - 1
    found = np.partition(values, (low, high))
    return found[low], found[high]


# --- What of new rows is not as it was where a rule was chosen, in words --------------------------


_ERRORS, _RATIO = 4.0, 1.2
_NAMED = 3


def differs(share: float, n: int, before: float, n_before: float) -> bool:
    """Whether two shares differ by more than chance, and by a fifth.

    Examples
    --------
    >>> differs(0.033, 10_000, 0.117, 30_000), differs(0.12, 10_000, 0.117, 30_000)
    (True, False)
    """
    if n_before <= 0 or n == 0:
        return False
    pooled = (share * n + before * n_before) / (n + n_before)
    error = math.sqrt(max(pooled * (1 - pooled), 0.0) * (1 / n + 1 / n_before))
    low, high = sorted((share, before))
    return abs(share - before) > _ERRORS * error and high > _RATIO * low


def odd_rows(model: FittedModel, frame: Any, decisions: Any) -> str:
    """One line on what is odd about rows that were decided; "" if nothing is."""
    counts = model.classifier.goal_report_.counts
    parts: list[str] = []
    if len(counts.classes) == 2 and counts.confusion:
        n, positive = len(decisions), counts.classes[1]
        share = float((decisions == positive).mean())
        total = counts.total
        before = sum(row[1] for row in counts.confusion) / total if total else 0.0
        if differs(share, n, before, min(total, counts.n_rows)):
            parts.append(
                f"{positive!r} for {_percent(share)} of {n:,} rows, and for {_percent(before)} "
                "where the rule was chosen"
            )
    found = odd_columns(frame, model.profile)
    parts += found[:_NAMED]
    if len(found) > _NAMED:
        parts.append(f"{len(found) - _NAMED:,} more columns")
    return "; ".join(parts)


def class_share_moved(report: GoalReport, before: GoalReport) -> str:
    """A sentence on the class whose share differs from that of the fit; "" if none does."""
    now, then = report.counts, before.counts
    if not now.confusion or not then.confusion or now.classes != then.classes:
        return ""
    n, n_before = now.labelled, then.labelled
    if not n or not n_before:
        return ""
    moves = []
    for code, label in enumerate(now.classes):
        share, was = now.of_class(code) / n, then.of_class(code) / n_before
        if differs(share, now.n_rows, was, then.n_rows):
            moves.append((round(abs(share - was), 9), code, label, share, was))
    if not moves:
        return ""
    # Of two classes that moved alike, the positive one stands last.
    *_, label, share, was = max(moves)
    return (
        f"class {label!r} is {_percent(share)} of these rows, and {_percent(was)} of those that "
        "the rule was chosen on: what held there need not hold here"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
