"""Tables of two classes from rates that somebody states, where there are no rows yet."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence import Confusion
from setpoint.evidence.strata import Stratum
from setpoint.goals.errors import nearest
from setpoint.goals.goal import Goal
from setpoint.goals.populations import Label
from setpoint.parameters import is_number

__all__ = ["stated_tables"]

CLASSES = ("negative", "positive")

_RATES = ("recall", "precision", "predicted_rate", "false_positive_rate", "specificity")
_WANTED = (
    "'prior' and two of 'recall', 'precision', 'predicted_rate' and 'false_positive_rate' (or "
    "'specificity')"
)
_ROWS = 1e10
"""Of the table that stated rates stand for: counts are whole numbers."""

_ROUNDING = 1e-9


def stated_tables(rates: Mapping[str, Any], goal: Goal) -> list[Confusion]:
    """The table that the rates settle; or two, where one rate beside the prior leaves it open.

    Examples
    --------
    >>> goal = Goal.parse("maximize recall s.t. precision >= 0.5")
    >>> rates = {"prior": 0.25, "recall": 0.5, "precision": 0.5}
    >>> [table] = stated_tables(rates, goal)
    >>> (table.counts[0, :2] / table.counts.sum()).tolist()
    [[0.625, 0.125], [0.125, 0.125]]
    """
    if not isinstance(rates, Mapping):
        raise InputTypeError(f"`rates` is a mapping of names to shares, got {type(rates).__name__}")
    if goal.needs.datasets or goal.needs.baseline:
        raise InputError(
            "`rates`: the goal refers to data sets or to the deployed model, of which stated rates "
            "say nothing; pass `y_true` and `y_pred` of a pilot"
        )
    columns = set(goal.needs.columns.get(None, {}))
    grouped = {name: isinstance(value, Mapping) for name, value in rates.items()}
    if columns and not (rates and all(grouped.values())):
        column = min(columns)
        raise InputError(
            f"`rates`: the goal names the column {column!r}, so each group has its own "
            f"rates and its share of the rows, under '{column}=a', '{column}=b' and so on"
        )
    if any(grouped.values()) and not columns:
        raise InputError("`rates`: the goal names no column, so there are no groups to state")
    if not columns:
        return [_confusion((Stratum(),), [t]) for t in _tables(rates, "`rates`")]
    keys = [_key(name, goal, columns) for name in rates]
    shares = [_share_of(name, group) for name, group in rates.items()]
    if abs(sum(shares) - 1.0) > 1e-6:
        raise InputError(f"`rates`: the shares of the groups sum to {sum(shares):.6g}, not to 1")
    found = [
        _tables({k: v for k, v in group.items() if k != "share"}, f"`rates[{name!r}]`")
        for name, group in rates.items()
    ]
    strata = tuple(Stratum(None, key) for key in keys)
    return [
        _confusion(strata, [share * t[which] for share, t in zip(shares, found, strict=True)])
        for which in ((0, -1) if any(len(t) > 1 for t in found) else (0,))
    ]


def _confusion(strata: tuple[Stratum, ...], tables: list[Floats]) -> Confusion:
    counts = np.zeros((len(strata), 3, 2))
    counts[:, :2] = np.rint(_ROWS * np.stack(tables))
    rows = counts.sum(axis=2)
    return Confusion(
        CLASSES,
        strata,
        counts,
        counts.copy(),
        rows.astype(np.int64),
        np.where(rows > 0, 1.0, np.inf),
    )


def _key(name: str, goal: Goal, columns: set[str]) -> tuple[tuple[str, Label], ...]:
    """The values of columns that a group's name says."""
    out: dict[str, Label] = {}
    for part in str(name).split(","):
        column, equals, text = (x.strip() for x in part.partition("="))
        if not equals or column not in columns:
            wanted = ", ".join(f"{c}=value" for c in sorted(columns))
            raise InputError(f"`rates`: a group is written {wanted!r} here, got {name!r}")
        named = goal.needs.columns[None][column] or ()
        out[column] = next((value for value in named if str(value) == text), text)
    if out.keys() != columns:
        raise InputError(f"`rates`: {name!r} says nothing of {min(columns - out.keys())!r}")
    return tuple(sorted(out.items()))


def _share_of(name: str, group: Mapping[str, float]) -> float:
    if "share" not in group:
        raise InputError(f"`rates[{name!r}]`: 'share' is missing, the group's share of the rows")
    _check(group["share"], "share", f"`rates[{name!r}]`")
    return float(group["share"])


def _check(value: Any, name: str, where: str) -> None:
    if not is_number(value) or not 0.0 <= value <= 1.0:
        raise InputError(f"{where}: {name} is a share between 0 and 1, got {value!r}")


def _tables(rates: Mapping[str, float], where: str) -> list[Floats]:
    """Shares of rows (2, 2) by true and predicted class: one table, or two that have the rates."""
    known = dict(rates)
    for name, value in known.items():
        if name not in ("prior", *_RATES):
            raise InputError(
                f"{where}: {name!r} is not a rate that can be stated ({nearest(name, _RATES)})"
            )
        _check(value, name, where)
    if "specificity" in known:
        fpr = 1.0 - known.pop("specificity")
        if abs(known.setdefault("false_positive_rate", fpr) - fpr) > _ROUNDING:
            raise InputError(f"{where}: specificity and false_positive_rate contradict each other")
    others = known.keys() - {"prior"}
    if "prior" not in known or len(others) not in (1, 2):
        raise InputError(f"{where}: a table of two classes takes {_WANTED}, got {sorted(rates)}")
    prior = known["prior"]
    ways = [known] if len(others) == 2 else [{**known, **more} for more in _open(prior, known)]
    out = []
    for way in ways:
        tp, fp = _accepted(prior, way)
        table = np.array([[1.0 - prior - fp, fp], [prior - tp, tp]])
        if not (0.0 < prior < 1.0 and np.isfinite(table).all() and (table >= -_ROUNDING).all()):
            raise InputError(f"{where}: no table of two classes has {dict(rates)}")
        out.append(np.maximum(table, 0.0))
    return out


def _open(prior: float, known: Mapping[str, float]) -> list[dict[str, float]]:
    """Two values of a second rate, where only one is known."""
    if "recall" in known:
        return [{"false_positive_rate": 0.2}, {"false_positive_rate": 0.4}]
    low, high = 0.0, 1.0
    if "precision" in known:
        odds = (1.0 - known["precision"]) / max(known["precision"], 1e-12)
        high = min(1.0, (1.0 - prior) / max(odds * prior, 1e-12))
    if "predicted_rate" in known:
        accepted = known["predicted_rate"] / max(prior, 1e-12)
        low, high = max(0.0, accepted - (1.0 - prior) / max(prior, 1e-12)), min(1.0, accepted)
    return [{"recall": low + part * (high - low)} for part in (0.3, 0.6)]


def _accepted(prior: float, known: Mapping[str, float]) -> tuple[float, float]:
    """The shares of all rows that are accepted rightly and wrongly: two equations."""
    equations: dict[str, Callable[[float], tuple[list[float], float]]] = {
        "recall": lambda r: ([1.0, 0.0], prior * r),
        "false_positive_rate": lambda r: ([0.0, 1.0], (1.0 - prior) * r),
        "predicted_rate": lambda r: ([1.0, 1.0], r),
        "precision": lambda r: ([1.0 - r, -r], 0.0),
    }
    found = [equation(known[name]) for name, equation in equations.items() if name in known]
    left, right = np.array([f[0] for f in found]), np.array([f[1] for f in found])
    if abs(np.linalg.det(left)) < 1e-12:
        return math.nan, math.nan
    tp, fp = np.linalg.solve(left, right)
    return float(tp), float(fp)
