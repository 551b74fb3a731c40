"""How ``setpoint stream`` begins, or goes on from a state file, and refuses what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setpoint.cli.errors import CommandError, in_shell_words
from setpoint.cli.options import Reading, columns_named
from setpoint.cli.output import step
from setpoint.cli.session import StoppedByUser, current
from setpoint.cli.stream_live import SignalHandler
from setpoint.cli.stream_run import Run

if TYPE_CHECKING:
    from setpoint.tables import Reader, StreamState

__all__ = ["Asked", "opened"]

_FIRST_ROWS = 1000
_REMEDY = "leave the option out, or name another file with --state to begin anew"
_KINDS = {"number": "number", "boolean": "column of true and false", "date": "date"}


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
    constant_step: bool | None

    def settings(self) -> dict[str, Any]:
        """Arguments of the classifier that were named."""
        names = ("goal", "solver", "learner", "window", "constant_step")
        return {name: value for name in names if (value := getattr(self, name)) is not None}


def opened(
    data: str,
    path: str | None,
    asked: Asked,
    reading: Reading,
    first_rows: int | None,
    stopping: SignalHandler,
) -> Run:
    """Begin, or go on from a state file.

    Raises
    ------
    CommandError, TableError
        If something does not fit.
    StoppedByUser
        If there was no row yet when somebody stopped it.
    """
    from setpoint.tables import Interrupted, TableError

    again = data != "-" and not (Path(data).exists() and not Path(data).is_file())
    try:
        if path is None or not Path(path).exists():
            n = _FIRST_ROWS if first_rows is None else first_rows
            return _begun(data, path, asked, reading, n, stopping, again)
        if first_rows is not None:
            current().note(f"--first-rows has no effect: {path} holds what each column is")
        return _going_on(data, path, asked, reading, stopping, again)
    except Interrupted:
        raise StoppedByUser from None
    except TableError as error:
        if not stopping.asked:
            raise
        current().note(str(error))  # why the rows that are there cannot be learnt
        raise StoppedByUser from None


def _going_on(
    data: str, path: str, asked: Asked, reading: Reading, stopping: SignalHandler, again: bool
) -> Run:
    from setpoint.tables import Reader

    state = _loaded(path)
    schema = state.schema
    _check_same(state, asked, reading, path)

    def source() -> Reader:
        return Reader(
            data,
            encoding=reading.encoding or schema.encoding,
            separator=reading.separator or schema.separator,
            first_rows=0,
            waiting=stopping.waiting,
            open_end=again,
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
        session.note(f"{stream.name}: {before}; what comes now counts as new rows")
    return Run(stream, state, path, again)


def _begun(
    data: str,
    path: str | None,
    asked: Asked,
    reading: Reading,
    first_rows: int,
    stopping: SignalHandler,
    again: bool,
) -> Run:
    if asked.target is None:
        raise CommandError("name the column to predict with --target")
    with step("loading packages"):
        from setpoint.estimators.skops_io import skops_io
        from setpoint.goals import as_goal
        from setpoint.online import OnlineFClassifier
        from setpoint.tables import Reader, StreamState

        if path is not None:
            skops_io()  # takes seconds, which rows should not wait for

        settings = asked.settings()
        if "goal" in settings:
            as_goal(settings["goal"])
    with step(f"reading the first rows of {'stdin' if data == '-' else data}"):
        stream = Reader(
            data,
            encoding=reading.encoding,
            separator=reading.separator,
            first_rows=first_rows,
            waiting=stopping.waiting,
            open_end=again and path is not None,
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
        current().note(f"the positive class is {schema.classes[1]!r}; --positive names another")
    negative, positive = schema.classes
    classifier = OnlineFClassifier(**settings, classes=[negative, positive], pos_label=positive)
    return Run(stream, StreamState(classifier, schema), path, again)


def _loaded(path: str) -> StreamState:
    with step(f"reading {path}"):
        from setpoint.estimators import ModelFileError
        from setpoint.tables import StreamState

        try:
            return StreamState.load(path)
        except ModelFileError as error:
            raise CommandError(
                f"--state: {in_shell_words(str(error))}; name another file, or move this one away "
                "to begin anew"
            ) from error


def _check_same(state: StreamState, asked: Asked, reading: Reading, path: str) -> None:
    """Refuse options that say otherwise than the state."""
    from setpoint.goals import as_goal
    from setpoint.tables import labels_as

    schema, params = state.schema, state.classifier.get_params()
    pairs: dict[str, tuple[Any, Any]] = {"--target": (schema.target, asked.target)}
    for name, value in asked.settings().items():
        if name == "goal":
            pairs["--goal"] = (str(as_goal(params["goal"])), str(as_goal(value)))
        else:
            pairs[f"--{name.replace('_', '-')}"] = (params[name], value)
    if asked.classes is not None and asked.positive is None:
        pairs["--classes"] = (schema.classes, labels_as(asked.classes, schema.classes))
    if asked.positive is not None:
        pairs["--positive"] = (schema.classes[1], labels_as([asked.positive], schema.classes)[0])
    if reading.decimal is not None:
        marks = {str(column.decimal) for column in schema.columns if column.kind == "number"}
        pairs["--decimal"] = (marks or {reading.decimal}, {reading.decimal})
    for option, (known, wanted) in pairs.items():
        if wanted is not None and wanted != known:
            raise CommandError(f"{_difference(option, path, known, wanted)}; {_REMEDY}")
    kinds = {c.name: c.kind for c in schema.columns}
    for name in asked.text:
        if kinds.get(name, "category") != "category":
            raise CommandError(
                f"--text: {path} took column {name!r} for a {_KINDS[kinds[name]]}; {_REMEDY}"
            )


def _difference(option: str, path: str, known: Any, wanted: Any) -> str:
    """What an option says otherwise, as it is written at a shell."""
    if isinstance(known, bool) and isinstance(wanted, bool):  # --constant-step, --no-constant-step
        return f"{option}: {path} was learnt {_with(known, option)}, not {_with(wanted, option)}"
    if known is None:
        return f"{option}: {path} was learnt without {option}, not with {option} {_as_text(wanted)}"
    return f"{option}: {path} was learnt with {_as_text(known)}, not {_as_text(wanted)}"


def _with(is_on: bool, option: str) -> str:
    return f"{'with' if is_on else 'without'} {option}"


def _as_text(value: Any) -> str:
    return " and ".join(map(_as_text, value)) if isinstance(value, (tuple, set)) else str(value)
