"""From checked rows to what a page is made of: rows with scores, groups, and rows for the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.evidence import Evidence
from setpoint.evidence.columns import Column
from setpoint.evidence.rows import counted_rows
from setpoint.explorer.scored import GroupColumn, ScoredRows, columns_of_strata
from setpoint.goals.goal import Goal
from setpoint.goals.populations import value_in_words
from setpoint.inputs.columns import as_columns
from setpoint.inputs.inputs import CheckedData
from setpoint.report.numbers import percent

__all__ = [
    "by_columns",
    "cautions",
    "check_curve",
    "group_columns",
    "joined",
    "names_of",
    "scored_rows",
    "share_of",
    "split_rows",
]

_SEED = 24


def joined(goal: Goal, other: Goal | None) -> Goal:
    """A goal that refers to all that either refers to: what rows have to tell apart.

    Examples
    --------
    >>> both = joined(Goal.parse("maximize f1"), Goal.parse("maximize recall.min(sex)"))
    >>> both.needs.names
    ('sex',)
    """
    if other is None:
        return goal
    more = (*other.constraints, other.objective >= 0.0)
    return Goal(goal.sense, goal.objective, (*goal.constraints, *more))


def names_of(by: Any) -> tuple[str, ...]:
    """The columns that `by` names."""
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, (list, tuple)) or not all(isinstance(x, str) for x in names):
        raise InputTypeError(f"`by` is a name of a column, or a list of names, found {by!r}")
    return tuple(dict.fromkeys(names))


def check_curve(goal: Goal, n_classes: int, values: Sequence[str] = ()) -> None:
    """Refuse a goal that has no curve of one threshold, such as one over three classes."""
    why = ""
    if goal.is_blackbox:
        why = "The metric has no formula, so a page cannot compute it."
    elif goal.defers:
        why = "Rules may defer, so that they have two thresholds: there is no one curve."
    elif n_classes > 2:
        why = (
            f"There are {n_classes} classes, so no one threshold says what a rule does: there is "
            "nothing to drag along."
        )
    elif values:
        why = f"The rule looks at {', '.join(values)} beside the score: there is no one curve."
    elif goal.needs.datasets:
        why = "The goal refers to further data sets, and the page holds the rows of one."
    if why:
        raise InputError(why)


def share_of(check: Any) -> float | None:
    """The share of the rows that `check` sets apart; None where it is not a number."""
    if check is None or isinstance(check, Mapping):
        return None
    if isinstance(check, bool) or not isinstance(check, (int, float, np.number)):
        raise InputTypeError(
            "`check` is None, a share of the rows between 0 and 1, or a dict of scores, y and what "
            f"else belongs to rows held out, found {type(check).__name__}"
        )
    if not 0.0 < check < 1.0:
        raise InputError(f"`check` as a share lies between 0 and 1, both left out, found {check!r}")
    return float(check)


def cautions(goal: Goal, values: Sequence[str] = ()) -> list[str]:
    """What is to be said above a page.

    Examples
    --------
    >>> cautions(Goal.parse("maximize profit(tp=amount)"), ["amount"])
    ['Thresholds here look at the score alone; a rule that weighs amount may do better.']
    """
    out = []
    if any(c.confidence is not None for c in goal.constraints):
        out.append(
            "The goal asks for confidence on new rows. The bounds here are those on these rows; "
            "choose under “how sure” for limits that hold at all places at once."
        )
    if values:
        out.append(
            f"Thresholds here look at the score alone; a rule that weighs {', '.join(values)} "
            "may do better."
        )
    return out


def group_columns(
    evidence: Evidence,
    goal: Goal,
    by: Sequence[str],
    columns: Mapping[str, Column],
    others: Mapping[str, Column] | None = None,
) -> tuple[GroupColumn, ...]:
    """The columns of groups: those that the goal names, then those of `by`."""
    named = [n for n in sorted(goal.needs.columns.get(None, {})) if n not in by]
    out = list(columns_of_strata(evidence, named))
    for name in by:
        own, more = columns[name], None if others is None else others[name]
        levels = list(dict.fromkeys([*own.levels, *([] if more is None else more.levels)]))
        levels.sort(key=lambda v: (str(type(v)), v))
        place = np.array([levels.index(v) for v in own.levels], np.int64)
        words = tuple(str(value_in_words(v)) for v in levels)
        out.append(GroupColumn(name, words, place[own.codes], name in goal.needs.names))
    return tuple(out)


def by_columns(
    by: Sequence[str], sensitive_features: Any, n_rows: int, X: Any = None
) -> dict[str, Column]:
    """The columns that `by` names, checked."""
    if not by:
        return {}
    known = as_columns(sensitive_features, n_rows=n_rows, X=X, wanted=by, who="`by` names")
    return {name: known[name] for name in by}


def scored_rows(
    inputs: CheckedData,
    scores: Floats,
    goal: Goal,
    by: Sequence[str],
    columns: Mapping[str, Column],
    where: str,
    others: Mapping[str, Column] | None = None,
) -> ScoredRows:
    """The rows that count, with scores, groups and the deployed model's decisions."""
    table = inputs.tables[None]
    kept = counted_rows(table.weight)
    own = {n: c if isinstance(kept, slice) else c.take(kept) for n, c in columns.items()}
    evidence = inputs.evidence({None: scores})
    groups = group_columns(evidence, goal, by, own, others)
    return ScoredRows(evidence, groups, where, table.counted.deployed)


def split_rows(rows: ScoredRows, share: float) -> tuple[ScoredRows, ScoredRows, Codes]:
    """Rows to choose on and rows held out, drawn at random with a fixed seed."""
    kind = rows.evidence.rows.kind.astype(np.int64)
    rng = np.random.default_rng(_SEED)
    order = rng.permutation(len(kind))
    ranked = order[np.argsort(kind[order], kind="stable")]
    # Of each kind the first rows are held out; ends are drawn, so that small kinds take part.
    begins = np.searchsorted(kind[ranked], kind[ranked], side="left")
    place = np.arange(len(ranked)) - begins
    sizes = np.bincount(kind)
    wanted = sizes * share
    number = np.floor(wanted + rng.random(len(sizes))).astype(np.int64)
    number = np.clip(number, np.minimum(1, sizes // 2), np.maximum(sizes - 1, 0))
    held = np.zeros(len(kind), bool)
    held[ranked] = place < number[kind[ranked]]
    n = rows.evidence.n_classes
    true = rows.evidence.rows.true
    for part, what in ((held, "held out"), (~held, "left to choose on")):
        if len(np.unique(true[part][true[part] < n])) < min(n, len(np.unique(true[true < n]))):
            raise InputError(
                f"`check`: of {len(kind)} rows a share of {share:g} leaves a class without a row "
                f"{what}; pass rows held out as a dict, or None"
            )
    index = np.flatnonzero(~held)
    chosen = replace(
        rows.take(index),
        where=f"{rows.where} {percent(1.0 - share)} of them, drawn at random; the others are held "
        "out for the check.",
    )
    out = replace(
        rows.take(np.flatnonzero(held)),
        where=f"{percent(share)} of the rows, drawn at random before anything was chosen.",
    )
    return chosen, out, index
