"""From what a search found to a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setpoint.evidence import Counted
from setpoint.goals.populations import Key, Label, Other
from setpoint.guarantees.guarantee import Guarantee
from setpoint.program.program import LinkedGoal
from setpoint.report.deferral import deferral_points
from setpoint.report.entry import Entry
from setpoint.report.facts import Certificate, RuleFacts, Search
from setpoint.report.operating import operating_points
from setpoint.report.report import GoalReport
from setpoint.report.reporting import report_on
from setpoint.report.section import Section
from setpoint.report.sections import DeferralSection, OperatingSection, SearchTrace
from setpoint.rules import ClassNames, PerSegment, Rule, Threshold
from setpoint.rules.words import first_lines
from setpoint.search.limits import TracePoint
from setpoint.search.outcome import Outcome

__all__ = ["cutoffs_of", "in_words", "report_on_outcome", "rule_facts", "with_guarantee"]


def report_on_outcome(
    linked: LinkedGoal,
    outcome: Outcome,
    evidence: Counted,
    search: Search,
    *,
    objective: Entry | None = None,
    notes: Sequence[str] = (),
    trace: Sequence[TracePoint] | None = None,
    seconds: float | None = None,
    guarantee: Guarantee | None = None,
) -> GoalReport:
    """The report of what a search found, counted by labels."""
    expected = outcome.expected
    steps = outcome.trace if trace is None else trace
    report = report_on(linked, outcome.confusion, objective=objective, warnings=notes)
    certificate = Certificate(
        _number(outcome.gap), _number(outcome.bound), outcome.rivals, _number(outcome.with_draws)
    )
    entry = report.objective
    if expected is not None:
        entry = replace(entry, posteriors=float(expected.objective))
        certificate = replace(
            certificate,
            violation=float(expected.violation),
            calibration=_number(expected.calibration),
        )
    if guarantee is not None:
        report = with_guarantee(report, guarantee)
    return replace(
        report,
        status=outcome.status,
        objective=entry,
        search=replace(
            search,
            solver=search.solver or outcome.solver,
            why=outcome.why,
            evidence="label" if expected is None else "soft",
            calls=None if trace is not None else outcome.n_calls,
            blame={text: float(share) for text, share in (outcome.blame or {}).items()},
        ),
        certificate=certificate,
        rule=rule_facts(outcome.rule, evidence, float(outcome.randomized_share)),
        sections=(*report.sections, *_sections(linked, outcome, evidence, steps, trace is None)),
        run=replace(report.run, seconds=_number(seconds)),
    )


def with_guarantee(report: GoalReport, guarantee: Guarantee) -> GoalReport:
    """The report with what is promised, for the goal and for each constraint."""
    if guarantee.state == "approximate":
        return replace(report, guarantee=guarantee)
    shown = {c.text: c for c in guarantee.constraints}
    entries = []
    for entry in report.constraints:
        found = shown.get(entry.text)
        if found is None:
            entries.append(entry)
            continue
        limit = entry.bound if guarantee.state == "certified" else found.limit
        entries.append(replace(entry, certified=limit, passed=found.passed))
    objective = report.objective
    if guarantee.method == "every cut-off":
        # The best of thousands on these very rows: its limits would be too good.
        objective = replace(objective, low=None, high=None, interval=None)
    return replace(report, guarantee=guarantee, objective=objective, constraints=tuple(entries))


def rule_facts(rule: Rule, evidence: Counted, drawn: float) -> RuleFacts:
    """A rule in words, what it looks at, and its cut-offs where it has some."""
    return RuleFacts(
        first_lines(rule.explain(ClassNames(evidence.classes))),
        tuple(evidence.decide_on) if rule.needs_segments else (),
        drawn,
        cutoffs_of(rule),
    )


def in_words(report: GoalReport, words: str) -> GoalReport:
    """The report with its rule in other words."""
    return replace(report, rule=replace(report.rule, text=words))


def cutoffs_of(rule: Rule) -> tuple[tuple[tuple[tuple[str, Label], ...], float], ...]:
    """The cut-off of each segment of a rule over thresholds; none for rules of another kind."""
    pairs: list[tuple[Key, Rule]] = [((), rule)]
    if isinstance(rule, PerSegment) and rule.needs_segments:
        pairs = list(zip(rule.segments, rule.rules, strict=True))
    cuts = [(key, r.threshold) for key, r in pairs if isinstance(r, Threshold)]
    if len(cuts) < len(pairs):
        return ()
    return tuple((tuple((c, _label(v)) for c, v in key), float(cut)) for key, cut in cuts)


def _label(value: Label | Other) -> Label:
    return str(value) if isinstance(value, Other) else value


def _sections(
    linked: LinkedGoal,
    outcome: Outcome,
    evidence: Counted,
    steps: Sequence[TracePoint],
    of_passes: bool,
) -> list[Section]:
    """What the search and the thresholds add."""
    out: list[Section] = []
    points = operating_points(linked, evidence, outcome.rule)
    if points is not None:
        out.append(OperatingSection(points))
    deferred = deferral_points(evidence, outcome.rule)
    if deferred is not None:
        out.append(DeferralSection(deferred))
    if steps:
        trace = tuple((t.call, t.objective, t.bound, t.violation) for t in steps)
        out.append(SearchTrace(trace, of_passes))
    return out


def _number(x: float | None) -> float | None:
    return None if x is None else float(x)
