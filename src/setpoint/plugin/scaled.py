"""From a table elsewhere to a rule: two classes, one score, by counts."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from setpoint.caller import warn_caller
from setpoint.counting.source import (
    GroupBy,
    Source,
    TooManyLinesError,
)
from setpoint.deciding.decide import of_seen
from setpoint.evidence import Confusion
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts
from setpoint.evidence.tally import ChangedTableError, Lines, Tally
from setpoint.exact.again import Ranges
from setpoint.exact.tallied import Step, solve_tallied
from setpoint.goals.goal import Goal
from setpoint.inputs.arrays import some
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import FrameRows
from setpoint.inputs.inputs import DecideOn
from setpoint.plugin.checkpoints import Checkpoint
from setpoint.plugin.parameters import Options
from setpoint.program.link import link
from setpoint.report import GoalReport, report_on_outcome
from setpoint.report.facts import Search
from setpoint.report.reporting import warn_few_rows
from setpoint.report.section import TextSection
from setpoint.rules import Mixture, PerSegment, Rule, Threshold
from setpoint.search.limits import TracePoint
from setpoint.search.outcome import Outcome
from setpoint.typing import Floats

__all__ = ["CountedDecision", "Pass", "Passes", "decide_counted", "solve_counted"]

_BINS, _LEAST_BINS, _SAMPLE = 2**16, 256, 100_000
"""Bins of a segment and class where there are few, and where there are many; rows of a sample."""


class Pass(NamedTuple):
    """What a pass was, for a line on the terminal.

    Parameters
    ----------
    number : int
    rows : int
        Rows that it looked at.
    gap : float
        No rule is better by more; inf where none is known yet.
    left : int
        Rows that could still change the rule.
    """

    number: int
    rows: int
    gap: float
    left: int

    def __str__(self) -> str:
        known = f"gap at most {self.gap:.2g}" if np.isfinite(self.gap) else "no rule yet"
        left = f"; {self.left:,} rows left to look into" if self.left else ""
        return f"pass {self.number}: {self.rows:,} rows; {known}{left}"


@dataclass
class Passes:
    """Passes over the tables of a goal, and what each was.

    Parameters
    ----------
    goal : Goal
    rows : mapping of data set to FrameRows
    watch : callable, optional
        Called with each Pass.
    """

    goal: Goal
    rows: Mapping[str | None, FrameRows]
    watch: Callable[[Pass], None] | None = None
    done: list[Pass] = field(default_factory=list)
    n_bins: int = _BINS

    def first(self, stored: Any = None, **known: Any) -> CountedRows:
        """Count all rows by bins of their score; fewer bins where groups are many."""
        if stored is not None:
            return CountedRows.of_counts(self.goal, self.rows, *stored, **known)
        self.binning = Binning.from_sample(self._sample(), self.n_bins)
        while True:
            try:
                return CountedRows.first_pass(self.goal, self.rows, self._count, **known)
            except TooManyLinesError:
                if self.n_bins <= _LEAST_BINS:
                    raise
            self.n_bins = max(self.n_bins // 16, _LEAST_BINS)
            self.binning = Binning.from_sample(self._sample(), self.n_bins)

    def again(self, counted: CountedRows, tally: Tally, ranges: Ranges, by_score: bool) -> Lines:
        """Count the rows of some bins again."""
        ends: dict[int, tuple[tuple[float, float], ...]] = {}
        for s, own in ranges.items():
            bins = tally.bins[s]
            ends[s] = tuple((float(bins.low[b]), float(bins.high[a])) for a, b in own)
        finer = None
        if not by_score:
            every = [pair for own in ends.values() for pair in own]
            finer = Binning.from_ranges(every, self.n_bins)
        combinations = counted.combinations()
        counts = {}
        for name, by in counted.by.items():
            parts = [
                combinations[s][name]._replace(ranges=own)
                for s, own in ends.items()
                if name in combinations[s]
            ]
            counts[name] = self.rows[name].source.count(by, finer, parts)
        return counted.again(counts).lines(by_score=by_score)

    def recounted(self, counted: CountedRows, rule: Rule) -> Confusion:
        """What a rule does, counted where the rows are."""
        by_segment = _thresholds(rule, counted)
        combinations = counted.combinations()
        counts: dict[str | None, Counts] = {}
        for name, by in counted.by.items():
            steps = [
                (combinations[s][name], t)
                for s, t in enumerate(by_segment)
                if name in combinations.get(s, {})
            ]
            counts[name] = self.rows[name].source.recount(by, steps)
        again = counted.again(counts)
        lines = again.lines()
        segment = counted.codebook.stratum_segment[lines.stratum]
        pairs = zip(segment.tolist(), lines.bin.tolist(), strict=True)
        scores = np.array([_reaching(by_segment[s], b) for s, b in pairs])
        return again.confusion(rule.distribution(scores, segment if rule.needs_segments else None))

    def note(self, step: Step) -> None:
        """Take down a pass."""
        rows = step.tally.n_rows if not self.done else self.done[-1].left
        self.done.append(Pass(len(self.done) + 1, rows, step.gap, step.rows))
        if self.watch is not None:
            self.watch(self.done[-1])

    def _sample(self) -> Floats:
        first = self.rows[None]
        assert first.score is not None
        return first.source.sample(first.score, first.y, _SAMPLE)

    def _count(self, source: Source, by: GroupBy) -> Counts:
        return source.count(by, self.binning)


def _thresholds(rule: Rule, counted: CountedRows) -> list[Floats]:
    """The thresholds of each segment, ascending."""
    segments = counted.codebook.segments
    rules = [rule] * len(segments)
    if isinstance(rule, PerSegment) and rule.needs_segments:
        known = dict(zip(rule.segment_keys, rule.rules, strict=True))
        rules = [known.get(key, Threshold(np.inf)) for key in segments]
    return [np.unique(_edges(r)) for r in rules]


def _edges(rule: Rule) -> list[float]:
    if isinstance(rule, Mixture):
        return [t for _, r in rule.atoms for t in _edges(r)]
    assert isinstance(rule, Threshold)
    return [rule.threshold]


def _reaching(thresholds: Floats, n: int) -> float:
    """A score that reaches the first `n` of some thresholds."""
    if n == 0:
        first = float(thresholds[0])
        return float(np.nextafter(first, -np.inf)) if np.isfinite(first) else 0.0
    reached = float(thresholds[n - 1])
    if np.isfinite(reached):
        return reached
    following = thresholds[n] if n < len(thresholds) else np.inf
    return float(np.nextafter(following, -np.inf)) if np.isfinite(following) else 0.0


@dataclass(frozen=True, eq=False)
class CountedDecision:
    """A rule found by counts, its report, and how it was found.

    Parameters
    ----------
    rule : Rule
    report : GoalReport
    trace : tuple of TracePoint
    tally : Tally
        The counts after the last pass.
    """

    rule: Rule
    report: GoalReport
    trace: tuple[TracePoint, ...]
    tally: Tally


def solve_counted(
    goal: Goal, rows: Mapping[str | None, FrameRows], options: Options, **more: Any
) -> tuple[Rule, GoalReport]:
    """The rule and the report alone; arguments as of :func:`decide_counted`."""
    found = decide_counted(goal, rows, options, **more)
    return found.rule, found.report


def decide_counted(
    goal: Goal,
    rows: Mapping[str | None, FrameRows],
    options: Options,
    *,
    within: float,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    watch: Callable[[Pass], None] | None = None,
    checkpoint: Checkpoint | None = None,
) -> CountedDecision:
    """The rule over one score that reaches a goal on tables elsewhere, and its report.

    Parameters
    ----------
    goal : Goal
    rows : mapping of data set (None: the table itself) to FrameRows
    options : Options
    within : float
        The certified gap at which passes end; 0: at the rule of the whole sort.
    classes, pos_label, decide_on
        As :func:`setpoint.solve` takes them.
    watch : callable, optional
        Called after each pass.
    checkpoint : Checkpoint, optional
        Where the counts are stored after each pass, and read where they are there.

    Raises
    ------
    InfeasibleError, GoalError, ValueError, TypeError
        As :func:`setpoint.solve` raises them.
    ChangedTableError
        If passes do not agree.
    """
    started = time.perf_counter()
    passes = Passes(goal, rows, watch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stored = None if checkpoint is None else checkpoint.read()
        counted = passes.first(
            classes=classes, pos_label=pos_label, decide_on=decide_on, stored=stored
        )
        if counted.codebook.n_classes > 2:
            labels = counted.classes.sorted.tolist()
            raise ValueError(
                f"scores: y holds {len(labels)} classes, found one column; a column of posteriors "
                f"for each of [{some(labels)}] is allowed, as a list of names"
            )
        linked = link(goal, counted.codebook)
        tally = counted.tally()
        if checkpoint is not None and stored is not None:
            tally = checkpoint.refined(tally)

        def note(step: Step) -> None:
            passes.note(step)
            if checkpoint is not None:
                checkpoint.write(counted.by, counted.counts, step.tally)

        outcome, step = solve_tallied(
            linked,
            tally,
            partial(passes.again, counted),
            randomized=options.randomized,
            on_infeasible=options.on_infeasible,
            tol=options.tol,
            within=within,
            limits=options.watch(),
            watch=note,
        )
        outcome = replace(outcome, rule=of_seen(outcome.rule, step.tally))
        outcome = _confirmed(outcome, passes.recounted(counted, outcome.rule))
    report = report_on_outcome(
        linked,
        outcome,
        step.tally,
        Search("counted", ""),
        notes=[str(w.message) for w in caught],
        seconds=time.perf_counter() - started,
    )
    report = replace(report, sections=(*report.sections, _how(passes, counted, step, outcome)))
    for w in caught:
        warn_caller(w.message)
    warn_few_rows(report)
    return CountedDecision(outcome.rule, report, tuple(outcome.trace), step.tally)


def _confirmed(outcome: Outcome, found: Confusion) -> Outcome:
    """The outcome, if the engine that counted decides its rows as they were counted."""
    known = outcome.confusion
    near = 1e-9 * (1.0 + known.counts.sum())
    same = np.abs(found.counts - known.counts).max() <= near
    if not same or (found.rows != known.rows).any():
        raise ChangedTableError(
            "the rule, counted again by the engine, does not decide what it was chosen for: the "
            "table changed between two passes, or this engine compares numbers in another way "
            "than it groups them"
        )
    return outcome


def _how(passes: Passes, counted: CountedRows, step: Step, outcome: Outcome) -> TextSection:
    """Who counted, in how many passes, and what is left."""
    engines = dict.fromkeys(own.source.engine for own in passes.rows.values())
    looked = sum(one.rows for one in passes.done[1:])
    lines = [
        f"{' and '.join(engines)} counted {counted.n_rows:,} rows in {len(passes.done)} "
        f"{'pass' if len(passes.done) == 1 else 'passes'}, and once more by the rule.",
    ]
    if looked:
        lines.append(f"{looked:,} rows were looked at again.")
    if step.rows and np.isfinite(step.gap):
        lines.append(
            f"{step.rows:,} rows lie in bins that could hold a better threshold: better by "
            f"{step.gap:.2g} at most."
        )
    if not step.bins and outcome.status == "optimal":
        lines.append("No threshold between two scores was left out.")
    if counted.rounded:
        lines.append(f"Weights were rounded to multiples of {counted.unit:.3g}.")
    return TextSection("How the rows were counted", lines)
