"""``solve`` on tables out of core: passes, checkpoints, certificates from counts."""

from __future__ import annotations

import json
import os
import warnings
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile, is_zipfile

import numpy as np

from setpoint.array_types import Floats
from setpoint.counting import GroupBy, Key, Rest, TooManyLinesError
from setpoint.deciding import (
    Certification,
    certified,
    check_enough,
    of_seen,
    promise_of,
    promised,
)
from setpoint.errors import GoalError, InputError, InputTypeError, warn_caller, without_races
from setpoint.evidence import BinCounts, Binning, Bins, ChangedTableError, Confusion, Lines, Tally
from setpoint.exact import CountPass, Ranges, nests, solve_tallied
from setpoint.goals import Goal
from setpoint.inputs import CountedRows, DecideOn, FrameRows, frame_rows_of, require_formula, some
from setpoint.plugin.parameters import Options
from setpoint.program import link
from setpoint.report import GoalReport, Search, TextSection, report_on_found, warn_few_rows
from setpoint.rules import Mixture, PerSegment, Rule, Threshold
from setpoint.search import Found, now
from setpoint.solvers import Confidence

# --- Passes over tables out of core: the first, those that look again -----------------------------


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

        def count(name: str | None, by: GroupBy) -> BinCounts:
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

    def note(self, step: CountPass) -> None:
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


# --- Checkpoints of passes: between two of them the tally is all there is -------------------------


_FORMAT = 1
_LOOKED_AT = 10_000
_ARRAYS = (
    "codes", "bin", "rows", "weight", "squares", "low", "high", "least", "most", "rounded",
)  # fmt: skip


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
        if not self.path.parent.is_dir():
            raise InputError(f"`checkpoint`: there is no folder {str(self.path.parent)!r}")
        if self.path.is_dir():
            raise InputError(f"`checkpoint`: {str(self.path)!r} is a folder; name a file in it")
        try:  # before any pass, not after it
            with self._new.open("ab"):
                pass
            self._new.unlink()
        except OSError as error:
            raise InputError(
                f"`checkpoint`: {str(self.path)!r} cannot be written ({error.strerror})"
            ) from None

    def read(self) -> tuple[dict[str | None, GroupBy], dict[str | None, BinCounts]] | None:
        """The counts of the first pass; None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            if not is_zipfile(self.path):
                raise InputError("no archive of arrays")
            with np.load(self.path, allow_pickle=False) as stored:
                arrays = dict(stored)
            head = json.loads(str(arrays.pop("head")))
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
        self._arrays = arrays
        by, counts = {}, {}
        for k, name in enumerate(self.rows):
            if f"{k} rows" not in arrays:
                continue
            own_by = head["by"][k]
            keys = tuple(Key(n, None if o is None else tuple(o)) for n, o in own_by["keys"])
            by[name] = GroupBy(keys, own_by["score"], own_by["weight"], own_by["q"])
            levels = tuple(
                [Rest.REST if v == {"rest": True} else v for v in level]
                for level in own_by["levels"]
            )
            counts[name] = BinCounts(levels, *(arrays[f"{k} {a}"] for a in _ARRAYS))
        return by, counts

    def refined(self, tally: Tally) -> Tally:
        """The tally with the bins of the last pass that was stored."""
        bins = []
        for s, own in enumerate(tally.bins):
            low, high, counts = (self._arrays[f"bins {s} {a}"] for a in ("low", "high", "counts"))
            bins.append(Bins(low, high, counts, own.kinds))
        return replace(tally, bins=tuple(bins))

    def write(
        self,
        by: Mapping[str | None, GroupBy],
        counts: Mapping[str | None, BinCounts],
        tally: Tally,
    ) -> None:
        """Store the first counts and the bins as they are; the file is there whole or not."""
        arrays: dict[str, Any] = {}
        stored: list[Any] = []
        for k, name in enumerate(self.rows):
            if name not in counts:
                stored.append(None)
                continue
            own, group = counts[name], by[name]
            stored.append(
                {
                    "keys": group.keys,
                    "score": group.score,
                    "weight": group.weight,
                    "q": group.q,
                    "levels": [
                        [{"rest": True} if v is Rest.REST else v for v in level]
                        for level in own.levels
                    ],
                }
            )
            arrays |= {f"{k} {a}": getattr(own, a) for a in _ARRAYS}
        for s, bins in enumerate(tally.bins):
            arrays |= {
                f"bins {s} low": bins.low,
                f"bins {s} high": bins.high,
                f"bins {s} counts": bins.counts,
            }
        head = json.dumps({**self._head(), "by": stored})
        with self._new.open("wb") as file:
            np.savez_compressed(file, head=np.array(head), **arrays)
        self._new.replace(self.path)

    @property
    def _new(self) -> Path:
        return Path(self.path).with_name(f"{self.path.name}.new")

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


# --- From a table out of core to a rule: two classes, one score, by counts ------------------------


def solve_counted(
    goal: Goal,
    rows: Mapping[str | None, FrameRows],
    options: Options,
    *,
    within: float,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    watch: Callable[[Pass], None] | None = None,
    checkpoint: CountsCheckpoint | None = None,
    confidence: Confidence | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule over one score that reaches a goal on tables elsewhere, and its report."""
    started = now()
    passes = Passes(goal, rows, watch)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        known: dict[str, Any] = {
            "classes": classes, "pos_label": pos_label, "decide_on": decide_on,
        }  # fmt: skip
        if confidence is not None:
            whole = CountedRows.first_pass(goal, _unscored(rows), **known)
            _refuse_many(whole)
            _check_promise(whole, options, confidence)
        stored = None if checkpoint is None else checkpoint.read()
        counted = passes.first(stored=stored, **known)
        _refuse_many(counted)
        linked = link(goal, counted.codebook)
        tally = counted.tally()
        if checkpoint is not None and stored is not None:
            tally = checkpoint.refined(tally)

        def note(step: CountPass) -> None:
            passes.note(step)
            if checkpoint is not None:
                checkpoint.write(counted.by, counted.counts, step.tally)

        found, step = solve_tallied(
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
        found = replace(found, rule=of_seen(found.rule, step.tally), evidence=step.tally)
        guarantee = None
        if confidence is not None:
            # Cut-offs inside bins are not tried: those between them nest as all do.
            how = Certification(confidence, lambda _: step.tally)
            found, _, guarantee = certified(linked, found, how)
        _check_recount(found.confusion, passes.recounted(counted, found.rule))
    meant = without_races(caught)
    report = report_on_found(
        linked,
        found,
        step.tally,
        Search("counted", ""),
        notes=[str(w.message) for w in meant],
        seconds=now() - started,
        guarantee=guarantee,
    )
    counting = _counting(passes, counted, step, found, confidence is not None)
    report = replace(report, sections=(*report.sections, counting))
    for w in meant:
        warn_caller(w.message)
    if guarantee is None:
        warn_few_rows(report)
    return found.rule, report


def _unscored(rows: Mapping[str | None, FrameRows]) -> dict[str | None, FrameRows]:
    return {name: replace(own, score=None) for name, own in rows.items()}


def _refuse_many(counted: CountedRows) -> None:
    if counted.codebook.n_classes > 2:
        labels = counted.classes.sorted.tolist()
        raise InputError(
            f"`scores`: y holds {len(labels)} classes ({some(labels)}), and rules for two are "
            "found on a table elsewhere; read its rows into memory"
        )


def _check_promise(whole: CountedRows, options: Options, settings: Confidence) -> None:
    """Refuse what counts of all rows cannot certify."""
    linked, tally = link(whole.goal, whole.codebook), whole.tally()
    promise = promise_of(linked, settings)
    check_enough(promise, tally, settings)
    if options.randomized is False and nests(tally, promise.tests(tally.marginals)):
        return
    raise GoalError(
        "`confidence`: on a table elsewhere rules are certified whose constraints only loosen as "
        f"a threshold moves one way, such as a floor on recall, and '{whole.goal}' has others, or "
        "its rule may draw: solve without it there, read scores and labels of rows that had no "
        "part in it into memory, and give them to setpoint.certify"
    )


def _check_recount(known: Confusion, found: Confusion) -> None:
    """Refuse a rule that the engine decides otherwise than its rows were counted."""
    near = 1e-9 * (1.0 + known.counts.sum())
    same = np.abs(found.counts - known.counts).max() <= near
    if not same or (found.rows != known.rows).any():
        raise ChangedTableError(
            "the rule, counted again by the engine, does not decide what it was chosen for: the "
            "table changed between two passes, or this engine compares numbers in another way "
            "than it groups them. With a `checkpoint`, its counts may be older than a change of "
            "the table: remove that file"
        )


def _counting(
    passes: Passes,
    counted: CountedRows,
    step: CountPass,
    found: Found,
    certified: bool,
) -> TextSection:
    """Who counted, in how many passes, and what is left."""
    engines = dict.fromkeys(own.source.engine for own in passes.rows.values())
    looked = sum(one.rows for one in passes.done[1:])
    lines = [
        f"{' and '.join(engines)} counted {counted.n_rows:,} rows in {len(passes.done)} "
        f"{'pass' if len(passes.done) == 1 else 'passes'}, and once more by the rule.",
    ]
    if certified:
        lines = [
            f"{' and '.join(engines)} counted {counted.n_rows:,} rows without their scores, by "
            f"them in {len(passes.done)} {'pass' if len(passes.done) == 1 else 'passes'}, and once "
            "more by the rule.",
        ]
    if looked:
        lines.append(f"{looked:,} rows were looked at again.")
    # Of the rule that was found first, which need not be the one that is certified.
    if not certified and step.rows and np.isfinite(step.gap):
        lines.append(
            f"{step.rows:,} rows lie in bins that could hold a better threshold: better by "
            f"{step.gap:.2g} at most."
        )
    if not certified and not step.bins and found.status == "optimal":
        lines.append("No threshold between two scores was left out.")
    if counted.rounded:
        lines.append(f"Weights were rounded to multiples of {counted.unit:.3g}.")
    return TextSection("How the rows were counted", lines)


# --- A goal on a table: columns by their names, in memory or out of core --------------------------


_TOL = 1e-4


def solve_lazy(
    goal: Goal,
    frame: Any,
    y: Any,
    scores: Any,
    options: Options,
    *,
    sample_weight: Any = None,
    sensitive_features: Any = None,
    baseline: Any = None,
    datasets: Mapping[str, Any] | None = None,
    classes: Any = None,
    pos_label: Any = None,
    decide_on: DecideOn = "auto",
    tol: float | None = None,
    exact: bool = False,
    checkpoint: Any = None,
    confidence: float | Confidence | None = None,
    watch: Callable[[Pass], None] | None = None,
) -> tuple[Rule, GoalReport]:
    """The rule for a table whose rows lie elsewhere; arguments as of :func:`setpoint.solve`."""
    require_formula(goal)
    if y is None:
        raise InputTypeError("`y` is the name of the column of labels, found None")
    promise = promised(goal, confidence)
    if isinstance(scores, (list, tuple)) and len(scores) == 1:
        scores = scores[0]
    if options.solver not in ("auto", "exact") or options.evidence == "soft":
        raise InputError(
            f"`solver`, `evidence`: a table elsewhere is solved exactly, by labels, found "
            f"{options.solver!r} and {options.evidence!r}"
        )
    rows = frame_rows_of(
        frame,
        y,
        sensitive_features,
        datasets,
        score=scores,
        weight=sample_weight,
        baseline=baseline,
    )
    return solve_counted(
        goal,
        rows,
        options,
        within=_within(tol, exact),
        classes=classes,
        pos_label=pos_label,
        decide_on=decide_on,
        watch=watch,
        checkpoint=None
        if checkpoint is None
        else CountsCheckpoint(
            checkpoint,
            goal,
            rows,
            {"classes": classes, "pos_label": pos_label, "decide_on": decide_on},
        ),
        confidence=promise,
    )


def _within(tol: float | None, exact: bool) -> float:
    flag: object = exact
    if not isinstance(flag, bool):
        raise InputTypeError(f"`exact` is True or False, found {exact!r}")
    if tol is None:
        return 0.0 if exact else _TOL
    given: object = tol
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not 0.0 <= tol < 1.0:
        raise InputError(f"`tol` is a number from 0 to 1, found {tol!r}")
    if exact and tol > 0.0:
        raise InputError(f"`tol`, `exact`: `exact=True` is `tol=0`, found `tol={tol!r}`")
    return float(tol)
