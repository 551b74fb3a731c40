"""Passes over tables: the first, those that look again; and checkpoints between them."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, is_zipfile

import numpy as np

from setpoint.counts import BinCounts, Binning, Bins, Confusion, Tally
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Goal
from setpoint.inputs import check_writable, whole_file
from setpoint.rules import Mixture, PerSegment, Rule, Threshold
from setpoint.search import CountPass, Ranges
from setpoint.sources.counted import CountedRows, CountedTable, FrameRows, Tables
from setpoint.sources.source import Rest, TooManyLinesError

# --- Passes over the tables of a goal -------------------------------------------------------------


_BINS, _LEAST_BINS, _SAMPLE = 2**16, 256, 100_000
"""Bins of a segment and class where there are few, and where there are many; rows of a sample."""

_AT_ONCE = 1_000
"""Segments whose thresholds are bins of one pass."""


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

    def first(self, stored: Tables | None = None, **known: Any) -> CountedRows:
        """Count all rows by bins of their score; fewer bins where groups are many."""
        if stored is not None:
            return CountedRows.first_pass(self.goal, self.rows, stored=stored, **known)
        first = self.rows[None]
        assert first.score is not None
        while True:
            scores = first.source.sample(first.score, first.y, _SAMPLE)
            binning = Binning.from_sample(scores, self.n_bins)
            try:
                return CountedRows.first_pass(self.goal, self.rows, binning, **known)
            except TooManyLinesError:
                if self.n_bins <= _LEAST_BINS:
                    raise
            self.n_bins = max(self.n_bins // 16, _LEAST_BINS)

    def again(
        self, counted: CountedRows, tally: Tally, ranges: Ranges, by_score: bool
    ) -> BinCounts:
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
        for name, table in counted.tables.items():
            parts = [
                combinations[s][name]._replace(ranges=own)
                for s, own in ends.items()
                if name in combinations[s]
            ]
            counts[name] = table.rows.source.count(table.by, finer, parts)
        return counted.again(counts).lines(by_score=by_score)

    def recounted(self, counted: CountedRows, rule: Rule) -> Confusion:
        """What a rule does, counted where the rows are by the thresholds of their segment."""
        segments = counted.codebook.segments
        known = dict.fromkeys(segments, rule)
        if isinstance(rule, PerSegment) and rule.needs_segments:
            known = dict(zip(rule.segment_keys, rule.rules, strict=True))
        thresholds = [_edges(known[key]) if key in known else [] for key in segments]
        combinations, tables = counted.combinations(), counted.tables.items()
        by_unit = {name: replace(t, by=t.by.and_by(t.rows.units)) for name, t in tables}
        counted = replace(counted, tables=by_unit)
        found: dict[str | None, list[BinCounts]] = {name: [] for name in counted.tables}
        for start in range(0, len(segments), _AT_ONCE):
            some = range(start, min(start + _AT_ONCE, len(segments)))
            binning = Binning.at(np.array([t for s in some for t in thresholds[s]]))
            for name, table in counted.tables.items():
                own = [combinations[s][name] for s in some if name in combinations.get(s, {})]
                parts = [part._replace(ranges=((-np.inf, np.inf),)) for part in own]
                whole = len(segments) <= _AT_ONCE
                if whole or parts:
                    some_rows = () if whole else parts
                    found[name].append(table.rows.source.count(table.by, binning, some_rows))
        counts = {name: BinCounts.merge(parts) for name, parts in found.items()}
        return counted.again(counts, checked=True).confusion_of(rule)

    def note(self, step: CountPass) -> None:
        """Take down a pass."""
        rows = step.tally.n_rows if not self.done else self.done[-1].left
        self.done.append(Pass(len(self.done) + 1, rows, step.gap, step.rows))
        if self.watch is not None:
            self.watch(self.done[-1])


def _edges(rule: Rule) -> list[float]:
    if isinstance(rule, Mixture):
        return [t for _, r in rule.atoms for t in _edges(r)]
    assert isinstance(rule, Threshold)
    return [rule.threshold]


# --- Checkpoints of passes: between two of them the tally is all there is -------------------------


_FORMAT = 2
_LOOKED_AT = 10_000
_REST = {"rest": True}
"""How JSON has the rest of a column's values."""


@dataclass
class CountsCheckpoint:
    """A file that holds the counts so far."""

    path: Any
    goal: Goal
    rows: Mapping[str | None, FrameRows]
    asked: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.path, (str, os.PathLike)):
            raise InputTypeError(
                f"`checkpoint` is the path of a file, found {type(self.path).__name__}"
            )
        self.path = Path(self.path)
        check_writable(self.path)

    def read(self) -> Tables | None:
        """The counts of the first pass; None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            if not is_zipfile(self.path):
                raise InputError("no archive of arrays")
            with np.load(self.path, allow_pickle=False) as arrays:
                self._arrays = dict(arrays)
            head = json.loads(str(self._arrays.pop("head")))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, zlib.error) as error:
            raise InputError(
                f"`checkpoint`: {str(self.path)!r} is not one, or is damaged ({error}); name "
                "another file, or remove it"
            ) from None
        for what, own in self._head().items():
            if head.get(what) != own:
                raise InputError(
                    f"`checkpoint`: {str(self.path)!r} is of another {what}: "
                    f"{head.get(what)!r}, and not {own!r}; name another file, or remove it"
                )
        tables = {}
        for k, (name, own) in enumerate(self.rows.items()):
            if head["counts"][k] is not None:
                q, stored = head["counts"][k]
                levels = tuple([Rest.REST if v == _REST else v for v in level] for level in stored)
                by = own.group_by(self.goal, name, self.asked["decide_on"], q)
                tables[name] = CountedTable(own, by, BinCounts(levels, **self._held(f"{k} ")))
        return tables

    def refined(self, tally: Tally) -> Tally:
        """The tally with the bins of the last pass that was stored."""
        held = (Bins(**self._held(f"bins {s} "), kinds=b.kinds) for s, b in enumerate(tally.bins))
        return replace(tally, bins=tuple(held))

    def write(self, tables: Tables, tally: Tally) -> None:
        """Store the first counts and the bins as they are; the file is there whole or not."""
        held: dict[str, Any] = {f"bins {s} ": bins for s, bins in enumerate(tally.bins)}
        stored: list[Any] = []
        for k, name in enumerate(self.rows):
            if name not in tables:
                stored.append(None)
                continue
            held[f"{k} "] = counts = tables[name].counts
            levels = [[_REST if v is Rest.REST else v for v in own] for own in counts.levels]
            stored.append((tables[name].by.q, levels))
        arrays: dict[str, Any] = {
            place + name: value
            for place, one in held.items()
            for name, value in vars(one).items()
            if isinstance(value, np.ndarray)
        }
        head = json.dumps({**self._head(), "counts": stored})
        with whole_file(self.path) as file:
            np.savez_compressed(file, head=np.array(head), **arrays)

    def _held(self, place: str) -> dict[str, Any]:
        """The arrays of one of the things stored, by their names."""
        return {n.removeprefix(place): a for n, a in self._arrays.items() if n.startswith(place)}

    def _head(self) -> dict[str, Any]:
        columns = [
            [name, own.y, own.score, own.weight, own.baseline, list(own.columns)]
            for name, own in self.rows.items()
        ]
        sizes = [own.source.rows() for own in self.rows.values()]
        asked = {name: json.loads(json.dumps(v, default=str)) for name, v in self.asked.items()}
        return {
            "format": _FORMAT,
            "goal": str(self.goal),
            "columns": columns,
            **asked,
            "table": [sizes, self._beginnings],
        }

    @cached_property
    def _beginnings(self) -> list[str]:
        """What tells tables of as many rows apart: the scores that they begin with."""
        out = []
        for own in self.rows.values():
            assert own.score is not None
            scores = np.sort(own.source.sample(own.score, None, _LOOKED_AT))
            digest = blake2b((scores + 0.0).tobytes(), digest_size=8).hexdigest()
            out.append(f"{own.source.engine} {digest}")
        return out
