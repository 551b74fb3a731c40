"""What the page is made of: rows, groups, marks and the check."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.counts import Column, Evidence, counted_rows
from setpoint.errors import (
    EmptyPopulationError,
    GoalError,
    InputError,
    InputTypeError,
    nearest,
    quoted,
)
from setpoint.explorer.limits import (
    BoundGoal,
    GroupColumn,
    ScoredRows,
    ShownBins,
    chosen_cuts,
    limits_at,
    packed,
    places_of,
    sure_limits,
    sure_places,
)
from setpoint.explorer.page import Explorer, take_templates
from setpoint.goals import Goal
from setpoint.inputs import CheckedData, GivenRows, as_columns
from setpoint.report import percent
from setpoint.rules import ClassNames, Rule, Threshold

# --- From checked rows to what a page is made of: rows with scores, groups ------------------------


_SEED = 24


def joined(goal: Goal, *others: Goal) -> Goal:
    """A goal that refers to all that any refers to: what rows have to tell apart.

    Examples
    --------
    >>> both = joined(Goal.parse("maximize f1"), Goal.parse("maximize recall.min(sex)"))
    >>> both.needs.names
    ('sex',)
    """
    if not others:
        return goal
    more = [c for other in others for c in (*other.constraints, other.objective >= 0.0)]
    return Goal(goal.sense, goal.objective, (*goal.constraints, *more))


def names_of(by: Any) -> tuple[str, ...]:
    """The columns that `by` names."""
    if by is None:
        return ()
    names = (by,) if isinstance(by, str) else by
    if not isinstance(names, (list, tuple)) or not all(isinstance(x, str) for x in names):
        raise InputTypeError(f"`by` is a name of a column, or a list of names, found {by!r}")
    return tuple(dict.fromkeys(names))


def check_curve(
    goal: Goal, n_classes: int, values: Sequence[str] = (), defers: bool = False
) -> None:
    """Refuse a goal that has no curve of one threshold, such as one over three classes."""
    why = ""
    if goal.is_blackbox:
        why = "The metric has no formula, so a page cannot compute it."
    elif goal.defers or defers:
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


def check_of(check: Any, names: Sequence[str]) -> tuple[Mapping[str, Any] | None, float | None]:
    """The rows held out, whose parts have `names`, or the share of the rows to set apart."""
    if check is None:
        return None, None
    if isinstance(check, Mapping):
        for name in check:
            if name not in names:
                raise InputError(
                    f"`check` has no entry {name!r} ({nearest(name, names)}); allowed are "
                    f"{', '.join(map(quoted, names))}"
                )
        for name in names[:2]:
            if check.get(name) is None:
                holds = " and ".join(map(quoted, names[:2]))
                raise InputError(f"`check` as a dict holds {holds}, found no {quoted(name)}")
        return check, None
    if isinstance(check, bool) or not isinstance(check, (int, float, np.number)):
        raise InputTypeError(
            "`check` is None, a share of the rows between 0 and 1, or a dict of scores, y and what "
            f"else belongs to rows held out, found {type(check).__name__}"
        )
    if not 0.0 < check < 1.0:
        raise InputError(f"`check` as a share lies between 0 and 1, both left out, found {check!r}")
    return None, float(check)


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


@dataclass(frozen=True, eq=False)
class GivenScores:
    """Rows given, checked, with a score each and the columns that `by` names."""

    inputs: CheckedData
    scores: Floats
    columns: Mapping[str, Column]
    where: str
    by_rule: Floats | None = None  # the share of each row that counts, accepted by today's rule

    @classmethod
    def of(
        cls, given: GivenRows, inputs: CheckedData, scores: Floats, by: Sequence[str], where: str
    ) -> GivenScores:
        """The columns are checked too, and kept for the rows that count."""
        kept: Any = counted_rows(inputs.tables[None].weight)
        known = {}
        if by:
            sides, who = given.sensitive_features, "`by` names"
            known = as_columns(sides, n_rows=given.n_rows, X=given.X, wanted=by, who=who)
        return cls(inputs, scores, {name: known[name].take(kept) for name in by}, where)

    def decided(self, rule: Rule, codes: Codes | None) -> GivenScores:
        """The same rows with today's rule, which sees of each that counts its segment's code."""
        ranked = self.inputs.joined({None: self.scores})
        return replace(self, by_rule=rule.distribution(ranked, codes)[:, 1])

    def rows(self, goal: Goal, levels: Mapping[str, list[Any]]) -> ScoredRows:
        """The rows that count, with groups, and who else decided them."""
        evidence = self.inputs.evidence({None: self.scores})
        groups = _of_strata(evidence, goal, levels) + tuple(
            GroupColumn.of(name, values, own.levels, own.codes, name in goal.needs.names)
            for name, values in levels.items()
            for own in [self.columns[name]]
        )
        deployed = self.inputs.tables[None].counted.deployed
        return ScoredRows(evidence, groups, self.where, _others(self.by_rule, deployed))


def _of_strata(evidence: Evidence, goal: Goal, shown: Mapping[str, Any]) -> tuple[GroupColumn, ...]:
    """The columns that the goal names: strata tell them apart, the values of rows are not kept."""
    book, out = evidence.codebook, []
    for name in sorted(goal.needs.columns.get(None, {}).keys() - shown.keys()):
        keys = [dict(s.key).get(name) for s in book.strata[: book.n_plain]]
        values = list(dict.fromkeys(keys))
        out.append(GroupColumn.of(name, values, keys, evidence.rows.stratum, True))
    return tuple(out)


_RULE, _DEPLOYED = "today's rule", "the deployed model"


def _others(by_rule: Floats | None, deployed: Codes | None) -> dict[str, Floats]:
    """Today's rule and the deployed model, where they are known."""
    decided = None if deployed is None else (deployed == 1).astype(np.float64)
    found = {_RULE: by_rule, _DEPLOYED: decided}
    return {name: share for name, share in found.items() if share is not None}


SEVERAL = "The rule decides by more than one score a row: there is no one curve."
_OF_FIT = "The rows of fit on which the rule was chosen, with the scores that it was chosen by."


def rows_of_fit(goal: Goal, evidence: Evidence, rule: Rule | None = None) -> ScoredRows:
    """The rows of a fit, with the deployed model's decisions where strata tell them."""
    if evidence.n_scores is not None or evidence.credit.by_posteriors:
        raise InputError(SEVERAL)
    book = evidence.codebook
    known = [s.baseline for s in book.strata[: book.n_plain]]
    deployed = None if None in known else np.array(known)[evidence.rows.stratum]
    by_rule = None if rule is None else evidence.distribution(rule)[:, 1]
    groups = _of_strata(evidence, goal, {})
    return ScoredRows(evidence, groups, _OF_FIT, _others(by_rule, deployed))


def explorer_of(
    goals: Sequence[Goal],
    own: GivenScores | ScoredRows,
    held: GivenScores | float | None = None,
    *,
    held_name: str = "check",
    rule: Rule | None = None,
    warnings: Sequence[str] = (),
) -> Explorer:
    """The page of rows; held out for the check are others, or a share of the same."""
    given = [part for part in (own, held) if isinstance(part, GivenScores)]
    levels = {
        name: sorted(
            {level: None for part in given for level in part.columns[name].levels},
            key=lambda level: (str(type(level)), level),
        )
        for name in (own.columns if isinstance(own, GivenScores) else ())
    }
    both, check = joined(*goals), None
    rows = own.rows(both, levels) if isinstance(own, GivenScores) else own
    if isinstance(held, GivenScores):
        inputs = replace(held.inputs, codebook=rows.evidence.codebook)  # counted by the same codes
        try:
            check = replace(held, inputs=inputs).rows(both, levels)
        except EmptyPopulationError as error:
            raise InputError(f"`{held_name}`: {error}") from None
    elif held:
        rows, check = split_rows(rows, held)
    return Explorer(payload_of(goals, rows, rule=rule, check=check, warnings=warnings))


def explorer_on(goal: Goal, evidence: Evidence) -> Explorer:
    """The page of a goal on the rows of a fit, such as those for which no rule meets it."""
    check_curve(goal, evidence.n_classes, evidence.sees)
    return explorer_of([goal], rows_of_fit(goal, evidence))


def split_rows(rows: ScoredRows, share: float) -> tuple[ScoredRows, ScoredRows]:
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
    chosen = (
        f"{rows.where} {percent(1.0 - share)} of them, drawn at random; the others are held out "
        "for the check."
    )
    out = f"{percent(share)} of the rows, drawn at random before anything was chosen."
    return rows.take(np.flatnonzero(~held), chosen), rows.take(np.flatnonzero(held), out)


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
    rule: Rule | None = None,
    check: ScoredRows | None = None,
    warnings: Sequence[str] = (),
) -> dict[str, Any]:
    """Everything that the page of one goal, or of two, computes from."""
    evidence, curve = rows.evidence, rows.curve
    classes = evidence.classes
    names = ClassNames(tuple(classes))
    words = "" if rule is None else rule.explain(names)
    bound = [BoundGoal(goal, rows) for goal in goals]
    # The cut-offs that accept at least so many rows, by the scores alone.
    ranked = np.sort(evidence.scores)[::-1]
    lowest = ranked[np.minimum(sure_places(ranked), len(ranked)) - 1]
    sure_at = np.searchsorted(-curve.values, -lowest, side="right")
    own = {g.start[0] for g in bound}
    today = None
    if isinstance(rule, Threshold) and not rule.width:
        today = int(np.searchsorted(-curve.values, -rule.threshold, side="right"))
        own.add(today)
    room = MOST_CHARACTERS if check is None else MOST_CHARACTERS * _OF_TWO
    bins, written = _thinned(rows, {*own, *sure_at.tolist()}, MOST_BINS, room)
    # A link of a page with other rows is not read.
    digest = sha256(bins.thresholds.tobytes() + bins.counts.tobytes())
    if check is not None:
        digest.update(check.curve.values.tobytes() + check.curve.counts.tobytes())
    sure = np.unique([bins.place(c) for c in sure_at.tolist()])
    places = [places_of(bins, rows, bins.place(goal.start[0])) for goal in bound]
    programs = [
        goal.payload(bins, classes[1])
        | {"places": packed(at), "limits": limits_at(goal, bins, at)}
        | {"sure": sure_limits(goal, bins, sure) if goal.program.constraints else None}
        for goal, at in zip(bound, places, strict=True)
    ]
    objective = programs[0]["objective"]
    unit = objective["unit"]
    out = {
        "format": 1,
        "version": version("setpoint"),
        "digest": digest.hexdigest()[:16],
        "classes": [str(c) for c in classes],
        "positive": str(classes[1]),
        "positiveWords": names.label(1),
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
        "programs": programs,
        "markers": [
            {
                "name": name,
                "S": rows.accepted(share),
                "cut": bins.place(today) if name == _RULE and today is not None else None,
                "words": words if name == _RULE else "",
                "columns": [
                    np.bincount(
                        g.codes * 3 + evidence.rows.true, rows.weight * share, 3 * len(g.values)
                    )
                    for g in rows.groups
                ],
            }
            for name, share in rows.accepted_by.items()
        ],
        "prices": {"unit": unit, "text": objective["words"]} if unit == "amount" else None,
        "check": None if check is None else _checked(check, goals, bins, places),
        "take": take_templates(classes, goals, weighted=bool((rows.weight != 1.0).any())),
    }
    # Numbers that JSON lacks become the words for them.
    text = json.dumps(out, default=lambda value: value.tolist())
    found: dict[str, Any] = json.loads(text, parse_constant=str)
    return found


def _size(rows: ScoredRows) -> dict[str, Any]:
    evidence = rows.evidence
    labelled = int((evidence.rows.true < evidence.n_classes).sum())
    return {"n": evidence.n_rows, "labelled": labelled, "weight": float(rows.weight.sum())}


def _thinned(
    rows: ScoredRows, always: set[int], most: int, room: float
) -> tuple[ShownBins, dict[str, Any]]:
    """As many bins as the page can hold."""
    # What the page counts in the bins fits into the memory of a phone.
    counted = len(rows.curve.kinds) + sum(3 * len(g.values) for g in rows.groups)
    most = min(most, max(_MOST_COUNTS // counted, _FEWEST_BINS))
    while True:
        cuts = chosen_cuts(len(rows.curve.values), most, sorted(always))
        bins = ShownBins(rows.curve, cuts)
        written = bins.payload(rows)
        arrays = [written["thresholds"], written["counts"], *written["columns"]]
        if sum(len(a["z"]) for a in arrays) <= room or bins.m <= _FEWEST_BINS:
            return bins, written
        most = min(most, bins.m) // 2


def _checked(
    check: ScoredRows, goals: Sequence[Goal], bins: ShownBins, places: Sequence[Codes]
) -> dict[str, Any]:
    """The rows held out at the same cut-offs."""
    cuts = np.searchsorted(-check.curve.values, -bins.thresholds, side="right")
    held = ShownBins(check.curve, cuts, bins.thresholds)
    parts: list[dict[str, Any]] = []
    for goal, at in zip(goals, places, strict=True):
        try:
            own = BoundGoal(goal, check)
        except GoalError as error:
            parts.append({"why": str(error)})
        else:
            parts.append(own.formulas() | {"limits": limits_at(own, held, at), "why": None})
    return {
        "where": check.where,
        **_size(check),
        "kinds": [list(k) for k in held.kinds],
        "curve": held.tally(check),
        "programs": parts,
    }
