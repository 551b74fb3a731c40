"""Passes over tables elsewhere: the first, those that look again, and one that counts rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.counting.source import GroupBy, TooManyLinesError
from setpoint.evidence import Confusion
from setpoint.evidence.binning import Binning
from setpoint.evidence.counts import Counts
from setpoint.evidence.tally import Lines, Tally
from setpoint.exact.again import Ranges
from setpoint.exact.tallied import Step
from setpoint.goals.goal import Goal
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import FrameRows
from setpoint.rules import Mixture, PerSegment, Rule, Threshold

__all__ = ["Pass", "Passes"]

_BINS, _LEAST_BINS, _SAMPLE = 2**16, 256, 100_000
"""Bins of a segment and class where there are few, and where there are many; rows of a sample."""


class Pass(NamedTuple):
    """What a pass was, for a line on the terminal."""

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
    """Passes over the tables of a goal, and what each was."""

    goal: Goal
    rows: Mapping[str | None, FrameRows]
    watch: Callable[[Pass], None] | None = None
    done: list[Pass] = field(default_factory=list)
    n_bins: int = _BINS

    def first(self, stored: Any = None, **known: Any) -> CountedRows:
        """Count all rows by bins of their score; fewer bins where groups are many."""
        if stored is not None:
            return CountedRows.of_counts(self.goal, self.rows, *stored, **known)
        while True:
            binning = Binning.from_sample(self._sample(), self.n_bins)
            try:
                return CountedRows.first_pass(self.goal, self.rows, binning, **known)
            except TooManyLinesError:
                if self.n_bins <= _LEAST_BINS:
                    raise
            self.n_bins = max(self.n_bins // 16, _LEAST_BINS)

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

        def count(name: str | None, by: GroupBy) -> Counts:
            steps = [
                (combinations[s][name], t)
                for s, t in enumerate(by_segment)
                if name in combinations.get(s, {})
            ]
            return self.rows[name].source.recount(by, steps)

        again = counted.counted(count)
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


def _thresholds(rule: Rule, counted: CountedRows) -> list[Floats]:
    """The thresholds of each segment, ascending."""
    segments = counted.codebook.segments
    parts = [rule] * len(segments)
    if isinstance(rule, PerSegment) and rule.needs_segments:
        known = dict(zip(rule.segment_keys, rule.rules, strict=True))
        parts = [known.get(key, Threshold(np.inf)) for key in segments]
    return [np.unique(_edges(part)) for part in parts]


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
