"""From rows with scores to the rule and its report: find, count, compare, warn."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from setpoint.caller import warn_caller
from setpoint.deciding.certifying import Certification, certified
from setpoint.deciding.found import Found
from setpoint.evidence import Counted, Evidence
from setpoint.goals.errors import listed
from setpoint.inputs.inputs import Table
from setpoint.program.program import LinkedGoal
from setpoint.report import GoalReport, report_on_outcome
from setpoint.report.facts import Search
from setpoint.report.heavy import heavy_tails, warn_heavy_tails
from setpoint.report.paired import against_deployed, with_deployed
from setpoint.report.reporting import warn_few_rows
from setpoint.rules import PerSegment, Rule
from setpoint.rules.segments import segment_in_words
from setpoint.search.limits import TracePoint, now

__all__ = ["Decision", "decide", "of_seen"]


@dataclass(frozen=True, eq=False)
class Decision:
    """A rule, its report, and how it was found."""

    rule: Rule
    report: GoalReport
    trace: tuple[TracePoint, ...]
    found: Found


def decide(
    linked: LinkedGoal,
    find: Callable[[], Found],
    *,
    family: str,
    solver: str | None = None,
    notes: Sequence[str] = (),
    folds: int | None = None,
    trace: Sequence[TracePoint] | None = None,
    table: Table | None = None,
    started: float | None = None,
    certification: Certification | None = None,
) -> Decision:
    """Find the rule, count what it reaches, and say everything once."""
    start = now() if started is None else started
    heavy = [] if table is None else heavy_tails(linked.goal, table)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find()
        outcome = replace(found.outcome, rule=of_seen(found.outcome.rule, found.evidence))
        evidence, guarantee = found.evidence, None
        if certification is not None:
            found = replace(found, outcome=outcome)
            tested = certified(linked, found, certification)
            found, evidence, guarantee = tested.found, tested.evidence, tested.guarantee
            outcome, table = found.outcome, certification.table
            # Approximately the scores are still those of cross-validation.
            folds = folds if certification.settings.guarantee == "approximate" else 1
    report = report_on_outcome(
        linked,
        outcome,
        evidence,
        Search(family, solver or "", folds=folds),
        objective=found.objective,
        notes=(*(str(w.message) for w in caught), *notes, *heavy),
        trace=trace,
        seconds=now() - start,
        guarantee=guarantee,
    )
    if table is not None and table.deployed is not None:
        rows = replace(table, X=None).counted
        assert rows.deployed is not None
        assert isinstance(evidence, Evidence)
        decided = evidence.distribution(outcome.rule)[: len(rows.deployed)]
        against = against_deployed(linked.goal, evidence.classes, rows, decided)
        report = with_deployed(report, against)
    for w in caught:
        warn_caller(w.message)
    warn_heavy_tails(heavy)
    if guarantee is None:
        warn_few_rows(report)
    steps = outcome.trace if trace is None else trace
    return Decision(outcome.rule, report, tuple(steps), found)


def of_seen(rule: Rule, rows: Counted) -> Rule:
    """The rule without the segments that had no row: nothing is known of them."""
    if not isinstance(rule, PerSegment) or not rule.needs_segments:
        return rule
    weights = rows.segment_weights
    empty = {key for key, w in zip(rows.segments, weights, strict=True) if w == 0.0}
    pairs = [p for p in zip(rule.rules, rule.segments, strict=True) if p[1] not in empty]
    if len(pairs) == len(rule.rules):
        return rule
    names = listed([segment_in_words(key) for key in sorted(empty, key=str)])
    warn_caller(
        f"there is no rule for {names}: none of its rows is among those that the rule was found "
        "on; predict takes it for unknown (`unknown_group` of ModelResponse)"
    )
    return PerSegment([r for r, _ in pairs], [key for _, key in pairs])
