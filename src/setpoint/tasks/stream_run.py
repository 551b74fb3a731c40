"""A stream as it runs: learn batch by batch, save, report."""

from __future__ import annotations

import re
import time
import warnings
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.errors import InputError
from setpoint.tasks.journal import Journal
from setpoint.tasks.stream_output import Decisions

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import Reader, StreamState

__all__ = ["Run", "SaveEvery", "Stopping"]

_BATCH = 2**14  # rows
_UNSCALED = ("sgd", "adagrad")  # learners that columns of different scales mislead
_FLAT = 0.3  # a slope of calibration; 1 is right


class Stopping:
    """Says when a stream is to end: never; a front end overrides it.

    Attributes
    ----------
    asked : bool
        Whether to end after the rows that were read.
    """

    asked = False

    def waiting(self) -> AbstractContextManager[object]:
        """What to be in while waiting for rows; it may raise Interrupted."""
        return nullcontext()


@dataclass
class SaveEvery:
    """When to save: after so many rows, or seconds.

    Examples
    --------
    >>> SaveEvery.parse("5000").rows, SaveEvery.parse("30s").seconds
    (5000, 30.0)
    """

    rows: int | None = None
    seconds: float | None = None
    _row: int = field(default=0, init=False, repr=False)
    _time: float = field(default_factory=time.monotonic, init=False, repr=False)

    @classmethod
    def parse(cls, text: int | str) -> SaveEvery:
        """Read a number of rows, or of seconds as in "30s".

        Raises
        ------
        InputError
            If it is neither.
        """
        found = re.fullmatch(r"([1-9]\d*)(s?)", str(text).replace("_", ""))
        if found is None:
            raise InputError(
                "`save_every` is a number of rows such as 5000, or of seconds such as 30s, got "
                f"{text!r}"
            )
        number = int(found[1])
        return cls(seconds=float(number)) if found[2] else cls(rows=number)

    def is_due(self, n_rows: int) -> bool:
        """Whether to save now, when so many rows were read."""
        if self.rows is not None:
            return n_rows - self._row >= self.rows
        return self.seconds is not None and time.monotonic() - self._time >= self.seconds

    def saved(self, n_rows: int) -> None:
        """Count from here."""
        self._row, self._time = n_rows, time.monotonic()


@dataclass(eq=False)
class Run:
    """A stream and what learns from it.

    Parameters
    ----------
    path : str or None
        The state file.
    again : bool
        Whether the source can be read again.
    journal : Journal
        Takes the notes.
    output : Decisions, optional
        Where decisions go.

    Attributes
    ----------
    stopped : bool
        Whether somebody stopped it.
    first_bad : str
        The first row of this run that was left out as it cannot be read, and why.
    n_before, read_before : int
        Rows that were learnt, and read, before this run.
    """

    stream: Reader
    state: StreamState
    path: str | None
    again: bool
    journal: Journal
    output: Decisions | None = None
    stopped: bool = False
    first_bad: str = ""
    n_before: int = field(init=False)
    read_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_before, self.read_before = self.state.n_rows, self.state.n_read

    @property
    def notes(self) -> list[str]:
        """What was said."""
        return self.journal.notes

    def go(self, every: SaveEvery, skip_bad: bool, stopping: Stopping) -> None:
        """Learn what comes, until it ends or somebody stops it.

        Raises
        ------
        InputError
            At a row that cannot be read. What came before it is saved.
        """
        from setpoint.estimators.progress import LiveLine
        from setpoint.tables import TableError

        most = min(_BATCH, every.rows or _BATCH)
        every.saved(self.state.n_read)
        began = time.monotonic()
        try:
            with LiveLine() as line:
                for batch in self.stream.batches(
                    self.state.schema, most_rows=most, skip_bad=skip_bad
                ):
                    decided = self.state.learn(batch, decide_all=self.output is not None)
                    self.stream.place.take(batch.text)
                    if self.output is not None:
                        self.output.write(batch.lines, decided)
                    if batch.bad and not self.first_bad:
                        self.first_bad = batch.bad[0]
                        self.journal.note(f"{self.first_bad}; such rows are left out")
                    for note in batch.notes:
                        self.journal.note(note)
                    if every.is_due(self.state.n_read):
                        self._save()
                        every.saved(self.state.n_read)
                    line.show(lambda: self._line(began))
                    if stopping.asked and self.again:  # a pipe would lose what was read of it
                        break
        except TableError as error:
            self._save()
            n = self.state.n_rows - self.n_before
            kept = f"{n:,} rows before it were learnt"
            if self.path is None:
                kept = "`state` keeps what was learnt before"
            elif not self.again:
                kept += ", and count as new if they are sent again"
            raise InputError(f"{error}; {kept}") from error
        self.stopped = stopping.asked
        self._save()

    def _save(self) -> None:
        if self.path is not None and self.state.n_rows:
            if self.output is not None:
                self.state.output = self.output.kept()
            there = Path(self.path).is_file()
            try:
                self.state.save(self.path, self.stream.place if self.again else None)
            except OSError as error:
                stays = f"; the old {self.path} stays" if there else ""
                raise InputError(
                    f"{self.path} cannot be written: {error.strerror or error}{stays}"
                ) from error

    def remarks(self) -> list[str]:
        """What there is to say when everything was read that is there."""
        out, state, stream = [], self.state, self.stream
        if stream.left is not None and not self.stopped:
            out.append(
                f"{stream.name}: line {stream.left} has no line end and may be half-written: it is "
                "left for a run that finds it ended"
            )
        elif state.n_read == self.read_before and not self.stopped:
            out.append(f"{stream.name}: no new rows have come")
        counts = self.report().section("stream") if state.n_rows else None
        if counts is None:
            return out
        negative, positive = state.schema.classes
        for label, n in (
            (negative, counts.fp + counts.tn),
            (positive, counts.tp + counts.fn),
        ):
            if not n:
                out.append(f"no row of class {label!r} has come; is the label written so?")
        learner = self.settings()["learner"]
        if learner in _UNSCALED:
            flat = counts.slope is not None and counts.slope < _FLAT
            if flat or not counts.fn + counts.tn:
                what = f"every row was decided {positive!r}"
                if flat:
                    what = f"the slope of the calibration is {counts.slope:.2g}, far below 1"
                out.append(
                    f"{what}: `learner={learner!r}` is for columns scaled alike; `learner='nag'` "
                    "scales them itself"
                )
        return out

    def report(self) -> GoalReport:
        """Of all rows that were decided, in this run and before."""
        found: GoalReport = self.state.classifier.goal_report_
        return found

    def settings(self) -> dict[str, Any]:
        """The settings of the classifier that options name, for JSON."""
        params = self.state.classifier.get_params()
        return {name: params[name] for name in ("solver", "learner", "window", "constant_step")}

    def _line(self, began: float) -> str:
        """The line that a terminal shows."""
        n, clf = self.state.n_rows, self.state.classifier
        rate = (n - self.n_before) / max(time.monotonic() - began, 1e-9)
        parts = [f"{n:,} rows ({rate:,.0f}/s)"]
        if n:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the report at the end says it once
                report = self.report()
            parts.append(f"{report.objective.text} {report.objective.value:.4f}")
            last = report.section("stream")
            if last is not None and last.window_value is not None:
                parts.append(f"the last {last.window_rows:,}: {last.window_value:.4f}")
            parts.append(f"threshold {clf.threshold_:.4f}")
        return ", ".join(parts)
