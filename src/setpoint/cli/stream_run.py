"""The work of ``setpoint stream``: learn batch by batch, save, report."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError
from setpoint.cli.files import keep_old_on_error
from setpoint.cli.session import current
from setpoint.cli.stream_live import SaveEvery, SignalHandler
from setpoint.cli.stream_output import Decisions

if TYPE_CHECKING:
    from setpoint.report import GoalReport
    from setpoint.tables import Reader, StreamState

__all__ = ["Run"]

_BATCH = 2**14  # rows
_UNSCALED = ("sgd", "adagrad")  # learners that columns of different scales mislead
_FLAT = 0.3  # a slope of calibration; 1 is right


@dataclass(eq=False)
class Run:
    """A stream and what learns from it.

    Parameters
    ----------
    path : str or None
        The state file.
    again : bool
        Whether the source can be read again.
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
    output: Decisions | None = None
    stopped: bool = False
    first_bad: str = ""
    n_before: int = field(init=False)
    read_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_before, self.read_before = self.state.n_rows, self.state.n_read

    def go(self, every: SaveEvery, skip_bad: bool, stopping: SignalHandler) -> None:
        """Learn what comes, until it ends or somebody stops it.

        Raises
        ------
        CommandError
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
                        current().note(f"{self.first_bad}; such rows are left out")
                    for note in batch.notes:
                        current().note(note)
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
                kept = "--state FILE keeps what was learnt before"
            elif not self.again:
                kept += ", and count as new if they are sent again"
            raise CommandError(f"{error}; {kept}") from error
        self.stopped = stopping.asked
        self._save()

    def _save(self) -> None:
        if self.path is not None and self.state.n_rows:
            if self.output is not None:
                self.state.output = self.output.kept()
            with keep_old_on_error(self.path):
                self.state.save(self.path, self.stream.place if self.again else None)

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
                    f"{what}: --learner {learner} is for columns scaled alike; --learner nag "
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
