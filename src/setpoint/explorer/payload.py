"""What the page is made of: rows, groups, marks and the check."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counts import Column, Curve, Evidence, counted_rows
from setpoint.errors import GoalError, InputError, InputTypeError
from setpoint.explorer.limits import (
    BoundGoal,
    GroupColumn,
    ScoredRows,
    ShownBins,
    chosen_cuts,
    columns_of_strata,
    limits_at,
    packed,
    places_of,
    plain,
    sure_limits,
    sure_places,
)
from setpoint.explorer.page import take_templates
from setpoint.goals import Goal, Label, value_in_words
from setpoint.inputs import CheckedData, as_columns
from setpoint.report import percent
from setpoint.rules import ClassNames, Rule, Threshold

# --- From checked rows to what a page is made of: rows with scores, groups ------------------------


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
    by: Sequence[str], sensitive_features: Any, n_rows: int, X: Any, weight: Floats | None
) -> dict[str, Column]:
    """The columns that `by` names, checked, for the rows that count."""
    if not by:
        return {}
    known = as_columns(sensitive_features, n_rows=n_rows, X=X, wanted=by, who="`by` names")
    kept: Any = counted_rows(weight)
    return {name: known[name].take(kept) for name in by}


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
    evidence = inputs.evidence({None: scores})
    groups = group_columns(evidence, goal, by, columns, others)
    return ScoredRows(evidence, groups, where, inputs.tables[None].counted.deployed)


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


# --- Decisions that a page compares with: today's rule --------------------------------------------


@dataclass(frozen=True, eq=False)
class Marker:
    """Decisions to compare with."""

    name: str
    share: Floats
    words: str = ""
    rule: Rule | None = None


def markers_of(
    rows: ScoredRows,
    labels: Sequence[Label],
    rule: Rule | None = None,
    share: Floats | None = None,
) -> list[Marker]:
    """Today's rule and the deployed model, where they are known."""
    out = []
    if rule is not None and share is not None:
        out.append(Marker("today's rule", share, rule.explain(ClassNames(tuple(labels))), rule))
    if rows.deployed is not None:
        out.append(Marker("the deployed model", (rows.deployed == 1).astype(np.float64)))
    return out


# --- The payload of a page: everything that it computes from, as plain data -----------------------


MOST_BINS = 2**16
MOST_CHARACTERS = 1_400_000
"""Of the curve: with it the page stays below 2 MB."""
_OF_TWO = 0.65
"""Of them for the rows to choose on, where others are held out."""
PER = 1000
_FEWEST_BINS = 2**8
_MOST_COUNTS = 2**22
"""Numbers of eight bytes."""


def payload_of(
    goals: Sequence[Goal],
    rows: ScoredRows,
    *,
    markers: Sequence[Marker] = (),
    check: ScoredRows | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the page of one goal, or of two, computes from."""
    evidence, curve = rows.evidence, rows.curve
    classes = evidence.classes
    bound = [BoundGoal(goal, rows) for goal in goals]
    accepted = sure_places(evidence.scores)
    sure_at = _cuts_accepting(rows, accepted)
    own = {g.start[0] for g in bound}
    own |= {cut for m in markers if (cut := _cut_of(m, curve)) is not None}
    room = MOST_CHARACTERS if check is None else MOST_CHARACTERS * _OF_TWO
    bins, written = _thinned(rows, {*own, *sure_at.tolist()}, MOST_BINS, room)
    programs = []
    for goal in bound:
        part = goal.payload(bins, classes[1])
        places = places_of(bins, rows, bins.place(goal.start[0]))
        part["places"] = places
        part["limits"] = limits_at(goal, bins, places)
        part["sure"] = None
        if goal.program.constraints:
            at = np.unique([bins.place(c) for c in sure_at.tolist()])
            part["sure"] = sure_limits(goal, bins, at)
        programs.append(part)
    objective = programs[0]["objective"]
    unit = objective["unit"]
    out = {
        "format": 1,
        "version": version("setpoint"),
        "digest": _digest(bins, check),
        "classes": [str(c) for c in classes],
        "positive": str(classes[1]),
        "positiveWords": ClassNames(tuple(classes)).label(1),
        "per": PER,
        "rows": {
            **_size(rows),
            "where": rows.where,
            "distinct": len(curve.values),
            "bins": bins.m,
            "open": int(bins.is_open.sum()),
            "warning": " ".join(warnings) or None,
        },
        "kinds": [list(k) for k in bins.kinds],
        "strata": [
            {
                "key": {c: str(v) for c, v in s.key},
                "plain": s.measure is None and s.dataset is None,
            }
            for s in evidence.codebook.strata
        ],
        "curve": written,
        "groups": [
            {"column": g.name, "values": list(g.values), "named": g.named} for g in rows.groups
        ],
        "programs": [p | {"places": packed(p["places"])} for p in programs],
        "markers": [_marker(m, rows, bins, curve) for m in markers],
        "prices": {"unit": unit, "text": objective["words"]} if unit == "amount" else None,
        "check": None if check is None else _checked(check, goals, bins, programs),
        "take": take_templates(classes, goals, weighted=bool((rows.weight != 1.0).any())),
    }
    return dict(plain(out))


def _size(rows: ScoredRows) -> dict[str, Any]:
    evidence = rows.evidence
    labelled = int((evidence.rows.true < evidence.n_classes).sum())
    return {"n": evidence.n_rows, "labelled": labelled, "weight": float(rows.weight.sum())}


def _thinned(
    rows: ScoredRows, always: set[int], most: int, room: float
) -> tuple[ShownBins, dict[str, Any]]:
    """As many bins as the page can hold."""
    most = min(most, _most_bins(rows))
    while True:
        cuts = chosen_cuts(len(rows.curve.values), most, sorted(always))
        bins = ShownBins(rows.curve, cuts, rows.kinds)
        written = bins.payload(rows)
        arrays = [written["thresholds"], written["counts"], *written["columns"]]
        if sum(len(a["z"]) for a in arrays) <= room or bins.m <= _FEWEST_BINS:
            return bins, written
        most = min(most, bins.m) // 2


def _most_bins(rows: ScoredRows) -> int:
    """So many bins that what the page counts in them fits into the memory of a phone."""
    counted = len(rows.kinds) + sum(3 * len(g.values) for g in rows.groups)
    return max(_MOST_COUNTS // counted, _FEWEST_BINS)


def _cuts_accepting(rows: ScoredRows, accepted: Codes) -> Codes:
    """The cut-offs that accept at least so many rows, by the scores alone."""
    ranked = np.sort(rows.evidence.scores)[::-1]
    lowest = ranked[np.minimum(accepted, len(ranked)) - 1]
    return np.asarray(np.searchsorted(-rows.curve.values, -lowest, side="right"))


def _cut_of(marker: Marker, curve: Curve) -> int | None:
    """The cut-off of a marker that is one threshold for all."""
    rule = marker.rule
    if not isinstance(rule, Threshold) or rule.width:
        return None
    return int(np.searchsorted(-curve.values, -rule.threshold, side="right"))


def _digest(bins: ShownBins, check: ScoredRows | None) -> str:
    """What tells a page of these rows from one of others: a link of the other is not read."""
    out = sha256(bins.thresholds.tobytes() + bins.counts.tobytes())
    if check is not None:
        out.update(check.curve.values.tobytes() + check.curve.counts.tobytes())
    return out.hexdigest()[:16]


def _marker(marker: Marker, rows: ScoredRows, bins: ShownBins, curve: Curve) -> dict[str, Any]:
    cut = _cut_of(marker, curve)
    weight, true = rows.weight * marker.share, rows.evidence.rows.true
    return {
        "name": marker.name,
        "S": rows.accepted(marker.share),
        "cut": None if cut is None else bins.place(cut),
        "words": marker.words,
        "columns": [
            np.bincount(g.codes * 3 + true, weight, 3 * len(g.values)) for g in rows.groups
        ],
    }


def _checked(
    check: ScoredRows,
    goals: Sequence[Goal],
    bins: ShownBins,
    programs: Sequence[dict[str, Any]],
) -> dict[str, Any]:
    """The rows held out at the same cut-offs."""
    cuts = np.searchsorted(-check.curve.values, -bins.thresholds, side="right")
    held = ShownBins(check.curve, cuts, check.kinds, bins.thresholds)
    parts: list[dict[str, Any]] = []
    for goal, known in zip(goals, programs, strict=True):
        try:
            own = BoundGoal(goal, check)
        except GoalError as error:
            parts.append({"why": str(error)})
            continue
        formulas = own.formulas()
        formulas["limits"] = limits_at(own, held, known["places"])
        parts.append(formulas | {"why": None})
    return {
        "where": check.where,
        **_size(check),
        "kinds": [list(k) for k in held.kinds],
        "curve": held.tally(check),
        "programs": parts,
    }
