"""A model's decisions on some rows, judged by a goal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Codes, Floats
from setpoint.estimators.base import GoalClassifier
from setpoint.evidence import Evidence
from setpoint.exact.frontier import frontier_exact
from setpoint.goals.errors import GoalError
from setpoint.goals.goal import Goal
from setpoint.inputs.classes import ClassOrder
from setpoint.inputs.inputs import CheckedData, GivenRows
from setpoint.program.link import link
from setpoint.report import GoalReport, report_on
from setpoint.report.counting import entries_on
from setpoint.report.heavy import heavy_tails
from setpoint.report.paired import against_deployed, with_deployed
from setpoint.search.frontier import Frontier, Vary, vary_of

__all__ = ["JudgedModel", "judged_classifier", "judged_decisions"]

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
    scores: Floats | None
    why: str
    _seen_by: Callable[[Goal], CheckedData]
    _evidence: Callable[[CheckedData], Evidence]
    _trace: Callable[[Goal, Evidence, Vary], Frontier]

    def frontier(self, vary: Vary) -> Frontier:
        """The best objective of its scores as one bound moves, on these rows."""
        goal, i = vary_of(Goal.parse(self.report.goal), vary)
        return self._trace(goal, self._evidence(self._rows(goal)), i)

    def point(self, vary: Vary) -> tuple[float, float]:
        """The moving side and the objective, as its decisions reach them; NaN if not counted."""
        goal, i = vary_of(Goal.parse(self.report.goal), vary)
        seen = self._rows(goal)
        linked = link(goal, seen.rows.codebook)
        entries = entries_on(linked, seen.confusion(self.shares), None, checked=False)
        x, y = entries[1 + i].value, entries[0].value
        return np.nan if x is None else float(x), np.nan if y is None else float(y)

    def _rows(self, goal: Goal) -> CheckedData:
        """The rows, as a goal refers to them that may have one constraint more."""
        return self.seen if goal == Goal.parse(self.report.goal) else self._seen_by(goal)


def judged_classifier(
    name: str,
    clf: GoalClassifier,
    goal: Goal,
    rows: Mapping[str, Any],
    known: Mapping[str | None, Floats],
) -> JudgedModel:
    """A fitted classifier of this library, judged on rows with labels."""
    X, sides = rows["X"], rows.get("sensitive_features")
    own = (
        X, rows["y"], rows.get("sample_weight"), sides, rows.get("baseline"),
        rows.get("datasets"),
    )  # fmt: skip

    def seen_by(wanted: Goal) -> tuple[dict[str | None, GivenRows], CheckedData]:
        return clf._seen(wanted, *own)

    given, seen = seen_by(goal)
    raw = {one: known[one] if one in known else clf._scores(given[one].X) for one in seen.tables}
    report = clf._evaluated(goal, *own, raw=raw)

    def shares_of(one: str | None) -> NDArray[np.float64]:
        own, columns = (X, sides) if one is None else (given[one].X, given[one].sensitive_features)
        scores = clf._beside_values(own, raw[one], columns)
        return clf._shares(goal, scores, clf._segments(own, columns))

    cuts = len(seen.classes.labels) == 2 and raw[None].ndim == 1

    def trace(wanted: Goal, evidence: Evidence, vary: Vary) -> Frontier:
        return clf._frontier_on(wanted, evidence, vary, None, getattr(clf, "randomized", False))

    return JudgedModel(
        name,
        report,
        seen,
        seen.classes.codes(clf._decided(X, raw[None], sides), "predict(X)"),
        {one: shares_of(one) for one in seen.tables},
        raw[None] if cuts else None,
        "" if cuts else _NO_SCORE,
        lambda wanted: seen_by(wanted)[1],
        lambda checked: checked.evidence({one: raw[one] for one in checked.tables}),
        trace,
    )


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

    def trace(wanted: Goal, evidence: Evidence, vary: Vary) -> Frontier:
        return frontier_exact(wanted, evidence, vary)

    def evidence_of(checked: CheckedData) -> Evidence:
        if scores is None:
            raise GoalError(_ONLY_DECISIONS)
        return checked.evidence({None: scores})

    seen = seen_by(goal)
    table = seen.tables[None]
    decided: Shares = {None: codes}
    linked, confusion = link(goal, seen.rows.codebook), seen.confusion(decided)
    report = report_on(linked, confusion, warnings=heavy_tails(goal, table))
    report = with_deployed(report, against_deployed(goal, classes.labels, table, codes))
    why = "" if scores is not None else _ONLY_DECISIONS
    return JudgedModel(name, report, seen, codes, decided, scores, why, seen_by, evidence_of, trace)
