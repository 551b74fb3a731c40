"""Two models on the same rows: judged, paired, and which of them is better."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.counts import Evidence
from setpoint.estimators import GoalClassifier
from setpoint.goals import Expression, Goal
from setpoint.inference import FAILS, OPEN, SHOWN
from setpoint.inputs import CheckedData, CheckedTable, ClassOrder, GivenRows, index_of
from setpoint.judging.judge import report_of, shown_by
from setpoint.program import link
from setpoint.report import (
    LEVEL,
    Comparison,
    Entry,
    GoalReport,
    against_deployed,
    compared,
    differences_of_constraints,
    entries_on,
    sentence,
)
from setpoint.search import Frontier, Vary, frontier_exact

# --- A model's decisions on some rows, judged by a goal -------------------------------------------


Shares: TypeAlias = Mapping[str | None, NDArray[Any]]
"""Class codes (N,) of each data set, or the probability (N, n) of each class."""

_NO_SCORE = "it decides by several scores, and a frontier is that of one"
_ONLY_DECISIONS = "only its decisions are known"


@dataclass(frozen=True, eq=False)
class JudgedModel:
    """A model's decisions on some rows, and what the goal says of them."""

    name: str
    report: GoalReport
    seen: CheckedData
    codes: Codes
    shares: Shares
    raw: Mapping[str | None, Floats]
    why: str
    """Why there is no frontier; "" where there is one."""
    seen_by: Callable[[Goal], CheckedData]
    """The rows, as a goal refers to them that may have one constraint more."""
    trace: Callable[[Goal, Evidence, Vary], Frontier]

    @property
    def scores(self) -> Floats | None:
        """One score a row, where the model goes by one."""
        return None if self.why else self.raw[None]

    def stands(
        self, goal: Goal, seen: CheckedData, vary: int
    ) -> tuple[tuple[float, float], Frontier | str]:
        """The moving side and the objective, NaN if not counted; the frontier, or why none is."""
        linked = link(goal, seen.rows.codebook)
        entries = entries_on(linked, seen.confusion(self.shares), None, checked=False)
        x, y = (
            np.nan if e.value is None else float(e.value) for e in (entries[1 + vary], entries[0])
        )
        if self.why:
            return (x, y), self.why
        try:
            evidence = seen.evidence({one: self.raw[one] for one in seen.tables})
            return (x, y), self.trace(goal, evidence, vary)
        except ValueError as error:  # a shape that no method takes, or no rule meets the others
            return (x, y), str(error).rstrip(".")


def judged_classifier(
    name: str,
    clf: GoalClassifier,
    goal: Goal,
    rows: Mapping[str, Any],
    known: Mapping[str | None, Floats],
) -> JudgedModel:
    """A fitted classifier of this library, judged on rows with labels."""
    report, seen, raw, shares = clf._evaluated(goal, rows, known)
    cuts = len(seen.classes.labels) == 2 and raw[None].ndim == 1
    decided = clf._decided(rows["X"], raw[None], rows.get("sensitive_features"))
    codes = seen.classes.codes(decided, "predict(X)")

    def trace(wanted: Goal, evidence: Evidence, vary: Vary) -> Frontier:
        return clf._frontier_on(wanted, evidence, vary, None, getattr(clf, "randomized", False))

    return JudgedModel(
        name, report, seen, codes, shares, raw, "" if cuts else _NO_SCORE,
        lambda wanted: clf._seen(wanted, **rows)[1], trace,
    )  # fmt: skip


def judged_decisions(
    name: str,
    codes: Codes,
    scores: Floats | None,
    goal: Goal,
    classes: ClassOrder,
    rows: GivenRows,
) -> JudgedModel:
    """Decisions of any other model, judged on rows with labels."""

    def seen_by(wanted: Goal) -> CheckedData:
        return CheckedData.check(wanted, classes, {None: rows}, None)

    seen, decided = seen_by(goal), dict[str | None, Codes]({None: codes})
    raw: dict[str | None, Floats] = {} if scores is None else {None: scores}
    why = _ONLY_DECISIONS if scores is None else ""
    report = report_of(goal, seen, decided)[0]
    return JudgedModel(name, report, seen, codes, decided, raw, why, seen_by, frontier_exact)


# --- The rows on which models decide otherwise than the one in use --------------------------------


ChangedRows: TypeAlias = dict[str, NDArray[Any]]
"""Columns of equal length: see :attr:`ModelComparison.changed`."""


def changed_rows(models: Sequence[JudgedModel], X: Any) -> ChangedRows:
    """The rows that at least one model decides otherwise than the first."""
    today, others = models[0], models[1:]
    table, classes = today.seen.tables[None], today.seen.classes
    moved = np.any([m.codes != today.codes for m in others], axis=0)
    if table.weight is not None:
        moved &= table.weight > 0.0
    rows = np.flatnonzero(moved)
    labels = classes.sorted[np.array(classes.order)]
    out: ChangedRows = {"row": rows}
    index = index_of(X)
    if index is not None:
        out["index"] = np.asarray(index)[rows]
    true = table.labels[rows]
    out["true"] = labels[true]
    if table.weight is not None:
        out["weight"] = table.weight[rows]
    out |= {f"decision_{m.name}": labels[m.codes[rows]] for m in models}
    out |= {f"score_{m.name}": m.scores[rows] for m in models if m.scores is not None}
    before = today.codes[rows]
    for m in others:
        after = m.codes[rows]
        kinds = [before == after, after == true, before == true]
        out[f"change_{m.name}"] = np.select(kinds, ["none", "win", "loss"], "other")
    return out


# --- Which of two models serves a goal better: by its objective -----------------------------------


BETTER, WORSE = "shown to be better", "shown to be worse"

TODAY, CANDIDATE = "the model of today", "the candidate"
"""What the two are called that have no names."""

_IS: dict[str | None, str | None] = {SHOWN: BETTER, FAILS: WORSE, OPEN: OPEN, None: None}
_DOUBT = {SHOWN: 0, OPEN: 1, None: 1, FAILS: 2}


@dataclass(frozen=True)
class Part:
    """The objective or a constraint, of two models."""

    today: Entry
    candidate: Entry
    difference: Entry | None
    side: Expression
    rows_needed: int | None = None

    @property
    def verdict(self) -> str | None:
        """What the difference shows of the candidate; None where it is not known."""
        return _IS[shown_by(self.difference)]


def which_is_better(
    today: GoalReport,
    candidate: GoalReport,
    parts: Sequence[Part],
    changed: float,
    names: tuple[str, str] = (TODAY, CANDIDATE),
) -> tuple[str, str]:
    """What the rows show of the candidate, and why."""
    old, new = today.verdict, candidate.verdict
    first, second = names
    gain, name = parts[0].verdict, parts[0].today.text
    apart = "{} is shown to meet the goal, and {} is shown to fail it".format
    if (new, old) == (SHOWN, FAILS):
        return BETTER, f"{sentence(apart(second, first))}."
    if (new, old) == (FAILS, SHOWN):
        return WORSE, f"{sentence(apart(first, second))}."
    if (new, old) == (FAILS, FAILS):
        more = f"; by {name} {second} is {gain}" if gain in (BETTER, WORSE) else ""
        return OPEN, f"Both models are shown to fail the goal{more}."
    if changed == 0.0:
        return OPEN, "Both models decide every row alike."
    if gain is None:
        return OPEN, f"The difference in {name} was not measured on these rows."
    if gain == OPEN:
        return OPEN, f"The difference in {name} is too close to call."
    ahead = gain == BETTER
    flattered = candidate if ahead else today
    who = second if ahead else first
    its = f"Its {name}" if second == CANDIDATE else f"The {name} of {second}"
    if flattered.counts.seen > 0.0:
        share = f"{100 * flattered.counts.seen:.3g} %"
        return OPEN, f"{share} of these rows are rows of the fit of {who}, which flatter it."
    doubted = less_sure(parts, ahead)
    if doubted:
        return OPEN, f"{its} is {gain}, but {doubted} is less sure to hold for {who}."
    more = ", and every constraint holds as surely" if len(parts) > 1 else ""
    return gain, f"{its} is {gain}{more if ahead else ''}."


def less_sure(parts: Sequence[Part], ahead: bool) -> str:
    """The constraint that holds less surely for the one ahead than for the other; "" if none."""
    for part in parts[1:]:
        one, other = part.candidate.verdict, part.today.verdict
        if not ahead:
            one, other = other, one
        lost = _DOUBT[one] > _DOUBT[other]
        if lost or (one != SHOWN and part.verdict == (WORSE if ahead else BETTER)):
            return part.today.text
    return ""


# --- Two models on the same rows: the difference of each part of the goal -------------------------


_MOST_GROUPS = 40


@dataclass(frozen=True)
class ChangedGroup:
    """What changes in one group."""

    column: str
    value: Any
    changes: Comparison


@dataclass(frozen=True, eq=False)
class Pair:
    """A model against the one that is in use, on the same rows."""

    today: str
    candidate: str
    parts: Sequence[Part]
    changes: Comparison
    groups: Sequence[ChangedGroup]
    verdict: str
    why: str
    level: float

    @property
    def rows_needed(self) -> int | None:
        """About how many rows like these would show a difference of the objective."""
        return self.parts[0].rows_needed


def pair_of(
    goal: Goal,
    today: JudgedModel,
    candidate: JudgedModel,
    *,
    apart: bool = False,
    level: float = LEVEL,
    names: tuple[str, str] = (TODAY, CANDIDATE),
) -> Pair:
    """Compare two models that were judged on the same rows."""
    # Pairs are those of decisions as they are made: against the other model's.
    table = replace(candidate.seen.tables[None], deployed=today.codes)
    shares = candidate.shares[None]
    labels = candidate.seen.classes.labels
    changes = against_deployed(goal, labels, table, shares, level=level)
    assert changes is not None
    if apart and replace(goal, constraints=()).needs.baseline:
        changes = replace(changes, objective=None, difference=None)
    gains = [
        changes.difference,
        *differences_of_constraints(goal, labels, table, shares, level),
    ]
    texts = [goal.objective, *(c.lhs for c in goal.constraints)]
    one, other = today.report, candidate.report
    parts = [
        Part(a, b, gain, side, _rows_needed(gain, other.counts.n_rows))
        for a, b, gain, side in zip(one.entries, other.entries, gains, texts, strict=True)
    ]
    verdict, why = which_is_better(one, other, parts, changes.changed, names)
    groups = _groups(goal, table, shares)
    return Pair(today.name, candidate.name, parts, changes, groups, verdict, why, level)


def _rows_needed(gain: Entry | None, n_rows: int) -> int | None:
    """How many rows like these would show a difference as large as this one."""
    if gain is None or not gain.value or gain.low is None or gain.high is None:
        return None
    # An interval shrinks with the root of the number of rows.
    past = gain.low if gain.value > 0.0 else gain.high
    times = ((past - gain.value) / gain.value) ** 2
    return math.ceil(times * n_rows) if times > 1.0 else None


def _groups(goal: Goal, table: CheckedTable, shares: Any) -> list[ChangedGroup]:
    """The decisions that change, in each group of the columns that the goal names."""
    assert table.deployed is not None
    out = []
    for name in sorted(goal.needs.columns.get(None, {})):
        values = table.columns[name].values
        for value in sorted(set(values.tolist()), key=str)[:_MOST_GROUPS]:
            rows = np.flatnonzero(values == value)
            weight = None if table.weight is None else table.weight[rows]
            if weight is not None and not weight.any():
                continue
            changes = compared(table.labels[rows], table.deployed[rows], shares[rows], weight)
            out.append(ChangedGroup(name, value, changes))
    return out
