"""How a stream begins, or goes on from a state file, and refuses what does not fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from setpoint.errors import InputError
from setpoint.goals.errors import nearest
from setpoint.tasks.journal import Journal
from setpoint.tasks.stream_run import Run, Stopping

if TYPE_CHECKING:
    from setpoint.tables import Reader, StreamState

__all__ = ["Wanted", "opened"]

_FIRST_ROWS = 1000
_REMEDY = "leave the option out, or name another file with `state` to begin anew"
_KINDS = {"number": "number", "boolean": "column of true and false", "date": "date"}


@dataclass(frozen=True)
class Wanted:
    """The arguments of ``stream``; None: what the state has, or the default."""

    data: str
    target: str | None
    goal: str | None
    positive: str | None
    classes: Sequence[str] | None
    state: str | None
    drop: Sequence[str]
    text: Sequence[str]
    first_rows: int | None
    solver: str | None
    learner: str | None
    window: int | None
    constant_step: bool | None
    encoding: str | None
    separator: str | None
    decimal: str | None
    stdin: BinaryIO | None

    def settings(self) -> dict[str, Any]:
        """Arguments of the classifier that were named."""
        names = ("goal", "solver", "learner", "window", "constant_step")
        return {name: value for name in names if (value := getattr(self, name)) is not None}

    @property
    def again(self) -> bool:
        """Whether the source can be read again."""
        return self.data != "-" and not (Path(self.data).exists() and not Path(self.data).is_file())

    def columns(self, argument: str, reader: Reader) -> tuple[str, ...]:
        """The columns that `drop` or `text` name; a name that is none is a list with commas."""
        found: dict[str, None] = {}
        for value in getattr(self, argument):
            for name in [value] if value in reader.names else map(str.strip, value.split(",")):
                if name not in reader.names:
                    raise InputError(
                        f"`{argument}`: {reader.name} has no column {name!r} "
                        f"({nearest(name, reader.names)})"
                    )
                found[name] = None
        return tuple(found)


def opened(wanted: Wanted, stopping: Stopping, journal: Journal) -> Run:
    """Begin, or go on from a state file.

    Raises
    ------
    InputError, TableError
        If something does not fit.
    Interrupted
        If there was no row yet when somebody stopped it.
    """
    from setpoint.tables import Interrupted, TableError

    try:
        if wanted.state is None or not Path(wanted.state).exists():
            return _begun(wanted, stopping, journal)
        return _going_on(wanted, wanted.state, stopping, journal)
    except TableError as error:
        if not stopping.asked:
            raise
        journal.note(str(error))  # why the rows that are there cannot be learnt
        raise Interrupted from None


def _going_on(wanted: Wanted, path: str, stopping: Stopping, journal: Journal) -> Run:
    from setpoint.tables import Reader

    if wanted.first_rows is not None:
        journal.note(f"`first_rows` has no effect: {path} holds what each column is")
    with journal.step(f"reading {path}"):
        state = _loaded(path)
    schema = state.schema
    _check_same(state, wanted, path)

    def source() -> Reader:
        return Reader(
            wanted.data,
            encoding=wanted.encoding or schema.encoding,
            separator=wanted.separator or schema.separator,
            first_rows=0,
            stdin=wanted.stdin,
            waiting=stopping.waiting,
            open_end=wanted.again,
        )

    reader = source()
    schema.check(reader.names, wanted.columns("drop", reader), reader.name)
    before = f"{state.n_rows:,} rows were learnt before, by {path}"
    if wanted.again and state.checksum:
        with journal.step(f"going on in {wanted.data}"):
            same = reader.go_on(state.offset, state.checksum)
        if same:
            journal.note(f"{reader.name}: {before}; it goes on in line {reader.place.line}")
        else:
            reader = source()
            journal.note(
                f"{reader.name} is not the table in which reading stopped, or it was changed: it "
                f"is read from its beginning; {before}"
            )
    else:
        journal.note(f"{reader.name}: {before}; what comes now counts as new rows")
    return Run(reader, state, path, wanted.again, journal)


def _begun(wanted: Wanted, stopping: Stopping, journal: Journal) -> Run:
    if wanted.target is None:
        raise InputError("name the column to predict with `target`")
    with journal.step("loading packages"):
        from setpoint.estimators.skops_io import skops_io
        from setpoint.goals import as_goal
        from setpoint.online import OnlineFClassifier
        from setpoint.tables import Reader, StreamState

        if wanted.state is not None:
            skops_io()  # takes seconds, which rows should not wait for

        settings = wanted.settings()
        if "goal" in settings:
            as_goal(settings["goal"])
    with journal.step(
        f"reading the first rows of {'stdin' if wanted.data == '-' else wanted.data}"
    ):
        reader = Reader(
            wanted.data,
            encoding=wanted.encoding,
            separator=wanted.separator,
            first_rows=_FIRST_ROWS if wanted.first_rows is None else wanted.first_rows,
            stdin=wanted.stdin,
            waiting=stopping.waiting,
            open_end=wanted.again and wanted.state is not None,
        )
        schema = reader.schema(
            wanted.target,
            drop=wanted.columns("drop", reader),
            text=wanted.columns("text", reader),
            classes=wanted.classes,
            positive=wanted.positive,
            decimal=wanted.decimal,
            encoding=wanted.encoding,
        )
    for note in reader.notes:
        journal.note(f"{reader.name}: {note}")
    if wanted.positive is None and wanted.classes is None:
        journal.note(f"the positive class is {schema.classes[1]!r}; `positive` names another")
    negative, positive = schema.classes
    classifier = OnlineFClassifier(**settings, classes=[negative, positive], pos_label=positive)
    return Run(reader, StreamState(classifier, schema), wanted.state, wanted.again, journal)


def _loaded(path: str) -> StreamState:
    from setpoint.estimators import ModelFileError
    from setpoint.tables import StreamState

    try:
        return StreamState.load(path)
    except ModelFileError as error:
        raise InputError(
            f"`state`: {error}; name another file, or move this one away to begin anew"
        ) from error


def _check_same(state: StreamState, wanted: Wanted, path: str) -> None:
    """Refuse arguments that say otherwise than the state."""
    from setpoint.goals import as_goal
    from setpoint.tables import labels_as

    schema, params = state.schema, state.classifier.get_params()
    pairs: dict[str, tuple[Any, Any]] = {"target": (schema.target, wanted.target)}
    for name, value in wanted.settings().items():
        if name == "goal":
            pairs["goal"] = (str(as_goal(params["goal"])), str(as_goal(value)))
        else:
            pairs[name] = (params[name], value)
    if wanted.classes is not None and wanted.positive is None:
        pairs["classes"] = (schema.classes, labels_as(wanted.classes, schema.classes))
    if wanted.positive is not None:
        pairs["positive"] = (schema.classes[1], labels_as([wanted.positive], schema.classes)[0])
    if wanted.decimal is not None:
        marks = {str(column.decimal) for column in schema.columns if column.kind == "number"}
        pairs["decimal"] = (marks or {wanted.decimal}, {wanted.decimal})
    for argument, (known, given) in pairs.items():
        if given is not None and given != known:
            raise InputError(f"{_difference(argument, path, known, given)}; {_REMEDY}")
    kinds = {c.name: c.kind for c in schema.columns}
    for name in wanted.text:
        if kinds.get(name, "category") != "category":
            raise InputError(
                f"`text`: {path} took column {name!r} for a {_KINDS[kinds[name]]}; {_REMEDY}"
            )


def _difference(argument: str, path: str, known: Any, given: Any) -> str:
    """What an argument says otherwise."""
    learnt = f"`{argument}`: {path} was learnt"
    if isinstance(known, bool):
        on = ("without", "with")
        return f"{learnt} {on[known]} `{argument}`, not {on[given]} `{argument}`"
    if known is None:
        return f"{learnt} without `{argument}`, not with `{argument}` {_as_text(given)}"
    return f"{learnt} with {_as_text(known)}, not {_as_text(given)}"


def _as_text(value: Any) -> str:
    return " and ".join(map(_as_text, value)) if isinstance(value, (tuple, set)) else str(value)
