"""The work of ``setpoint stream``: begin or go on, learn batch by batch, save."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.files import old_stays
from setpoint.cli.options import Reading, columns_named
from setpoint.cli.output import step
from setpoint.cli.session import StoppedByUser, current
from setpoint.cli.stream_live import LiveLine, SaveEvery, Stopping
from setpoint.cli.stream_output import Decisions

if TYPE_CHECKING:
    from setpoint.data.streaming.state import StreamState
    from setpoint.data.streaming.stream import Stream
    from setpoint.report import GoalReport

__all__ = ["Asked", "Run", "opened"]

_BATCH = 2**14  # rows


@dataclass(frozen=True)
class Asked:
    """What the options say; None: nothing, so that of the state, or the default."""

    target: str | None
    goal: str | None
    positive: str | None
    classes: Sequence[str] | None
    drop: Sequence[str]
    text: Sequence[str]
    solver: str | None
    learner: str | None
    window: int | None
    track: bool | None

    def settings(self) -> dict[str, Any]:
        """Arguments of the classifier that were named."""
        names = ("goal", "solver", "learner", "window", "track")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


@dataclass(eq=False)
class Run:
    """A stream and what learns from it.

    Parameters
    ----------
    stream : Stream
    state : StreamState
    path : str or None
        The state file.
    again : bool
        Whether the source can be read again.
    output : Decisions, optional
        Where decisions go.
    """

    stream: Stream
    state: StreamState
    path: str | None
    again: bool
    output: Decisions | None = None
    stopped: bool = False
    n_before: int = field(init=False)

    def __post_init__(self) -> None:
        self.n_before = self.state.n_rows

    def go(self, every: SaveEvery, skip_bad: bool, stopping: Stopping) -> None:
        """Learn what comes, until it ends or somebody stops it.

        Raises
        ------
        CommandError
            At a row that cannot be read. What came before it is saved.
        """
        from setpoint.data import TableError

        most = min(_BATCH, every.rows or _BATCH)
        every.saved(self.state.n_read)
        began = time.monotonic()
        try:
            with LiveLine(lambda: self._line(began)) as line:
                for batch in self.stream.batches(
                    self.state.schema, most_rows=most, skip_bad=skip_bad
                ):
                    decided = self.state.learn(batch, decide_all=self.output is not None)
                    self.stream.place.take(batch.text)
                    if self.output is not None:
                        self.output.write(batch.lines, decided)
                    if batch.bad and len(batch.bad) == self.state.n_bad:
                        current().note(f"{batch.bad[0]}; such rows are left out")
                    if every.is_due(self.state.n_read):
                        self._save()
                        every.saved(self.state.n_read)
                    line.look()
                    if stopping.asked:
                        self.stopped = True
                        break
        except StoppedByUser:  # while waiting for rows
            self.stopped = True
        except TableError as error:
            self._save()
            n = self.state.n_rows - self.n_before
            kept = f"{n:,} rows before it were learnt"
            if self.path is None:
                kept = "--state FILE keeps what was learnt before"
            raise CommandError(f"{error}; {kept}") from error
        self._save()

    def _save(self) -> None:
        if self.path is not None and self.state.n_rows:
            if self.output is not None:
                self.state.output = self.output.kept()
            with old_stays(self.path):
                self.state.save(self.path, self.stream.place if self.again else None)

    def report(self) -> GoalReport:
        """Of all rows that were decided, in this run and before."""
        found: GoalReport = self.state.classifier.goal_report_
        return found

    def settings(self) -> dict[str, Any]:
        """The settings of the classifier that options name, for JSON."""
        params = self.state.classifier.get_params()
        return {name: params[name] for name in ("solver", "learner", "window", "track")}

    def _line(self, began: float) -> str:
        """The line that a terminal shows."""
        n, clf = self.state.n_rows, self.state.classifier
        rate = (n - self.n_before) / max(time.monotonic() - began, 1e-9)
        told = [f"{n:,} rows ({rate:,.0f}/s)"]
        if n:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the report at the end says it once
                report = self.report()
            told.append(f"{report.objective.text} {report.objective.value:.4f}")
            last = report.stream
            if last is not None and last.window_value is not None:
                told.append(f"the last {last.window_rows:,}: {last.window_value:.4f}")
            told.append(f"threshold {clf.threshold_:.4f}")
        return ", ".join(told)


def opened(
    data: str,
    path: str | None,
    asked: Asked,
    reading: Reading,
    first_rows: int,
    stopping: Stopping,
) -> Run:
    """Begin, or go on from a state file.

    Raises
    ------
    CommandError, TableError
        If something does not fit.
    """
    from setpoint.data.streaming.stream import Stream

    again = data != "-" and not (Path(data).exists() and not Path(data).is_file())
    if path is None or not Path(path).exists():
        return _begun(data, path, asked, reading, first_rows, stopping, again)
    state = _loaded(path)
    schema = state.schema
    _check_same(state, asked, reading, path)

    def source() -> Stream:
        return Stream(
            data,
            encoding=reading.encoding or schema.encoding,
            separator=reading.separator or schema.separator,
            first_rows=0,
            waiting=stopping.waiting,
        )

    stream = source()
    session = current()
    dropped = columns_named("--drop", asked.drop, stream.names, stream.name)
    schema.check(stream.names, dropped, stream.name)
    before = f"{state.n_rows:,} rows were learnt before, by {path}"
    if again and state.checksum:
        with step(f"going on in {data}"):
            same = stream.go_on(state.offset, state.checksum)
        if same:
            session.note(f"{stream.name}: {before}; it goes on in line {stream.place.line}")
            return Run(stream, state, path, again)
        stream = source()
        session.note(
            f"{stream.name} is not the table in which reading stopped, or it was changed: it is "
            f"read from its beginning; {before}"
        )
    else:
        session.note(f"{stream.name}: {before}")
    return Run(stream, state, path, again)


def _begun(
    data: str,
    path: str | None,
    asked: Asked,
    reading: Reading,
    first_rows: int,
    stopping: Stopping,
    again: bool,
) -> Run:
    if asked.target is None:
        raise CommandError("name the column to predict with --target")
    with step("loading packages"):
        from setpoint.data.streaming.state import StreamState
        from setpoint.data.streaming.stream import Stream
        from setpoint.goals import as_goal
        from setpoint.online import OnlineFClassifier

        if path is not None:
            import skops.io  # noqa: F401  (takes seconds, which rows should not wait for)

        settings = asked.settings()
        if "goal" in settings:
            as_goal(settings["goal"])
    with step(f"reading the first rows of {'stdin' if data == '-' else data}"):
        stream = Stream(
            data,
            encoding=reading.encoding,
            separator=reading.separator,
            first_rows=first_rows,
            waiting=stopping.waiting,
        )
        schema = stream.schema(
            asked.target,
            drop=columns_named("--drop", asked.drop, stream.names, stream.name),
            text=columns_named("--text", asked.text, stream.names, stream.name),
            classes=asked.classes,
            positive=asked.positive,
            decimal=reading.decimal,
            encoding=reading.encoding,
        )
    for note in stream.notes:
        current().note(f"{stream.name}: {note}")
    if asked.positive is None and asked.classes is None:
        current().note(
            f"the positive class is {schema.classes[1]!r}, the last in order; --positive names "
            "another"
        )
    negative, positive = schema.classes
    classifier = OnlineFClassifier(**settings, classes=[negative, positive], pos_label=positive)
    return Run(stream, StreamState(classifier, schema), path, again)


def _loaded(path: str) -> StreamState:
    with step(f"reading {path}"):
        from setpoint.data.streaming.state import StreamState
        from setpoint.estimators import ModelFileError

        try:
            return StreamState.load(path)
        except ModelFileError as error:
            raise CommandError(
                f"--state: {in_shell_words(str(error))}; name another file, or move this one away "
                "to begin anew"
            ) from error


def _check_same(state: StreamState, asked: Asked, reading: Reading, path: str) -> None:
    """Refuse options that say otherwise than the state."""
    from setpoint.data.streaming.schema import labels_as
    from setpoint.goals import as_goal

    schema, params = state.schema, state.classifier.get_params()
    pairs: dict[str, tuple[Any, Any]] = {"--target": (schema.target, asked.target)}
    for name, value in asked.settings().items():
        if name == "goal":
            pairs["--goal"] = (str(as_goal(params["goal"])), str(as_goal(value)))
        else:
            pairs[f"--{name}"] = (params[name], value)
    if asked.classes is not None and asked.positive is None:
        pairs["--classes"] = (schema.classes, labels_as(asked.classes, schema.classes))
    if asked.positive is not None:
        pairs["--positive"] = (schema.classes[1], labels_as([asked.positive], schema.classes)[0])
    if reading.decimal is not None:
        marks = {str(column.decimal) for column in schema.columns if column.kind == "number"}
        pairs["--decimal"] = (marks or {reading.decimal}, {reading.decimal})
    kinds = {c.name: c.kind for c in schema.columns}
    for name in asked.text:
        if kinds.get(name, "category") != "category":
            pairs[f"--text {name}"] = (kinds[name], "text")
    for option, (known, wanted) in pairs.items():
        if wanted is not None and wanted != known:
            raise CommandError(
                f"{option}: {path} was learnt with {_told(known)}, not {_told(wanted)}; leave the "
                "option out, or name another file with --state to begin anew"
            )


def _told(value: Any) -> str:
    return " and ".join(map(_told, value)) if isinstance(value, (tuple, set)) else str(value)
