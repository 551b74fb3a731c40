"""What the columns of a table held where a model was fitted, and what of other rows is odd."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.tables.schema import Column

__all__ = ["odd_columns", "profile_of"]

_MOST_VALUES = 200
_SOME = 0.02
"""Fewer rows than this share are not worth a word."""


def profile_of(frame: pd.DataFrame, columns: Sequence[Column]) -> dict[str, list[Any]]:
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
