"""What all commands share: words, files, errors, output, and the session they run in."""

from __future__ import annotations

import json
import logging
import math
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from importlib import import_module
from os import getcwd
from pathlib import Path
from shlex import quote
from types import FrameType, ModuleType
from typing import TYPE_CHECKING, Any

import click

from setpoint.blackbox import MetricError
from setpoint.cli.options import ARGUMENTS, OPTIONS, Asked, CommandError, refuse, role_of
from setpoint.errors import InputError, SetpointError, rename_arguments
from setpoint.inputs import whole_file
from setpoint.packages import require_packages
from setpoint.tables import LOG, TableFile, note, only_one_stdin, step

if TYPE_CHECKING:
    from setpoint.blackbox import BlackBox
    from setpoint.rules import Rule
    from setpoint.tables import Table, TableModel


# --- Errors as one line that names the remedy, and the exit codes ---------------------------------


SHOWN, ERROR, FAILED, TOO_CLOSE, STOPPED = 0, 1, 3, 4, 130
BROKEN_PIPE = 141
"""As other programs end whose reader has left."""

WORDS = {
    **{f"{name}[]": option.opts[-1] for name, option in OPTIONS.items() if option.multiple},
    **{name: option.opts[-1] for name, option in OPTIONS.items()},
    "PlugInClassifier": "setpoint fit",
    "RampClassifier": "a linear model",
    "X": "the table",
    "cv=GroupKFold()": "--test-by and its column",
    "cv=TimeSeriesSplit()": "--test-by and a column of dates",
    "data": "DATA",
    "decide_on=None": "--decide-on none",
    "randomized='auto'": "--draws",
    "randomized=False": "no --draws",
    "restart": "--no-restart",
    "sample_weight": "--weight",
    "sensitive_features": "the table",
    "sensitive_features[]": "column",
    "trusted": "--trust",
    "y": "--target",
    "y_pred": "--prediction",
    "y_true": "--target",
}
"""What stands at a shell for an argument, for an argument of some value, and for an item.

Where the command has no such option, but a setting of the name, it is ``--set NAME``.
"""

_SETTINGS = {argument: name for name, argument in ARGUMENTS.items()} | {
    "greater_is_better": "lower-is-better",
    "limits": "max-seconds",
    "on_uncertified": "uncertified",
    "seconds": "max-seconds",
}
"""The settings for arguments of the library, some of which it calls otherwise."""

_GROUPS = ("--group", "--groups", "--sensitive-feature", "--sensitive-features", "--protected")
_GROUP = (
    "The columns that the goal names are the groups, as in 'recall.difference(sex) <= 0.1'; "
    "--sensitive names others that the model may not look at"
)
"""For who looks for an option that names the groups."""


def in_shell_words(text: str) -> str:
    """A message of the library with the options of the shell for its arguments.

    Examples
    --------
    >>> in_shell_words("`pos_label` 'x' is not a class; `solver='fofo'` maximises F")
    "--positive 'x' is not a class; --solver fofo maximises F"
    >>> in_shell_words("`datasets['old']`: `min_positives=5` is too many")
    '--dataset old: --set min-positives=5 is too many'
    """
    return rename_arguments(text, option_of)


def option_of(argument: str, value: str | None = None) -> str | None:
    """The option for an argument, with its value as it is written at a shell."""
    context = click.get_current_context(silent=True)
    own = [] if context is None else [name for p in context.command.params for name in p.opts]
    exact = value is not None and f"{argument}={value}" in WORDS
    found = WORDS[f"{argument}={value}"] if exact else WORDS.get(argument)
    # A setting, where the command that runs has no such option.
    setting, there = _SETTINGS.get(argument, ""), context is None
    if found is None or not found.startswith("--"):
        there = False
    else:
        setting = found.removeprefix("--").partition(" ")[0]
    if setting in ARGUMENTS and not there and f"--{setting}" not in own:
        found, exact = f"--set {setting}", False
    if found is None or value in (None, "True") or exact:
        return found
    if not found.startswith("-"):
        return f"{found} {value!r}"
    plain = value[1:-1] if value[:1] in ("'", '"') else value
    return f"{found}{'=' if found.startswith('--set ') else ' '}{quote(plain)}"


def message_of(error: BaseException) -> str:
    """An error as a line or a few, without "error:".

    Examples
    --------
    >>> message_of(CommandError("a.csv is empty"))
    'a.csv is empty'
    >>> message_of(KeyError("x"))
    "unexpected KeyError: 'x'; setpoint --debug COMMAND shows where"
    """
    if isinstance(error, click.ClickException):
        out, context = error.format_message(), getattr(error, "ctx", None)
        if isinstance(error, click.NoSuchOption) and error.option_name in _GROUPS:
            out = f"there is no option {error.option_name}. {_GROUP}"
        if isinstance(error, click.UsageError) and context is not None:
            out = f"{out.rstrip('.')}; see {context.command_path} --help"
        return out
    if isinstance(error, SetpointError):
        text = in_shell_words(error.finding)
        if isinstance(error, MetricError) and "pos_label" in str(error):  # scikit-learn takes 1
            text += (
                "; wrap it in a function of your own that names the positive label (pos_label=...)"
            )
        return text
    if isinstance(error, ImportError) and "pip install" in str(error):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        return f"{name}{error.strerror}"
    if isinstance(error, MemoryError):
        return "there is not enough memory for this table; take fewer rows or columns"
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"unexpected {kind}{': ' if text else ''}{text}; setpoint --debug COMMAND shows where"


# --- What one run of a command has done so far: for its last words --------------------------------


_MOST_NAMED = 5


class StoppedByUser(Exception):
    """Ctrl-C was pressed."""


class Session(logging.Handler):
    """One run of a command, and what its work says: notes are shown, steps timed."""

    def __init__(self) -> None:
        super().__init__()
        self.debug = self.interrupted = self.stopped = self.streaming = False
        self.outputs: dict[str, object] = {}
        self.page: Any = None  # of endings, where a command writes one also without a rule
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}
        self._working: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        """Show a note once, in the words of the shell; show a step; end at Ctrl-C."""
        if getattr(record, "goes_on", False):
            self.stopped, self.interrupted = self.interrupted, False
        if (step := getattr(record, "step", None)) is not None:
            self._show_step(step, record)
        elif record.levelno >= logging.INFO and not self.interrupted:
            text = in_shell_words(record.getMessage())
            if text not in self.notes:
                if record.name == LOG.name:
                    self.notes.append(text)
                click.echo(f"{click.style('note:', fg='yellow')} {text}", err=True)

    def _show_step(self, name: str, record: logging.LogRecord) -> None:
        """Show a step and then the seconds it took, if stderr is a terminal."""
        if not hasattr(record, "seconds"):
            self.check()
            self._working = _status(name)
            if self._working is not None:
                self._working.start()
            return
        working, self._working = self._working, None
        if working is not None:
            working.stop()
        if record.seconds is not None:
            self.check()
            self.seconds[name] = record.seconds
            if working is not None:
                line = f"{name}: {record.seconds:.1f} s"
                working.console.print(line, style="dim", markup=False)

    def check(self) -> None:
        """End here if Ctrl-C was pressed."""
        if self.interrupted:
            raise StoppedByUser

    def last_words(self) -> str:
        """What is there after Ctrl-C."""
        if self.streaming:
            return "stopped; the output is not complete"
        return f"stopped; {self.describe_written()}"

    def expect(self, path: str) -> None:
        """Remember what is at a path that the command is to write."""
        self.outputs[path] = _state(path)

    def written(self) -> list[str]:
        """The files that were written: as they are, not as somebody meant to note."""
        return [path for path, before in self.outputs.items() if _state(path) not in (None, before)]

    def describe_written(self) -> str:
        """The same in words."""
        written = self.written()
        if not written:
            return "nothing was written"
        if len(written) > _MOST_NAMED:
            written = [*written[:_MOST_NAMED], f"{len(written) - _MOST_NAMED:,} more"]
        *first, last = written
        names = f"{', '.join(first)} and {last}" if first else last
        return f"{names} {'were' if first else 'was'} written"

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Hear what is logged; take note of Ctrl-C, and raise KeyboardInterrupt as usual."""

        def heard(_signal: int, _frame: FrameType | None) -> None:
            self.interrupted = True
            raise KeyboardInterrupt

        levels = {LOG: logging.DEBUG, logging.getLogger("setpoint.compiled"): logging.INFO}
        before = {log: log.level for log in levels}
        for log, level in levels.items():
            log.setLevel(level)
            log.addHandler(self)
        alone = threading.current_thread() is not threading.main_thread()
        handler = None if alone else signal.signal(signal.SIGINT, heard)
        try:
            yield
        finally:
            if not alone:
                signal.signal(signal.SIGINT, handler)
            for log, level in before.items():
                log.removeHandler(self)
                log.setLevel(level)


def _status(doing: str) -> Any:
    """What a terminal shows while something is done; None where stderr is none."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    console = Console(stderr=True, highlight=False)
    return console.status(console.render_str(doing, markup=False))


@contextmanager
def progress(doing: str) -> Iterator[Callable[[str, bool], None]]:
    """Called with what is done so far: a terminal shows it, and keeps what is done."""
    status = _status(doing)

    def tell(text: str, done: bool) -> None:
        if status is not None and done:
            status.console.print(text, style="dim", markup=False)
        elif status is not None:
            status.update(status.console.render_str(text, markup=False))

    with status or nullcontext():
        yield tell


def _state(path: str) -> object:
    """What changes when a file is written anew."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def current() -> Session:
    """The session of the command that runs."""
    found = click.get_current_context().find_object(Session)
    return Session() if found is None else found


# --- Files that a command will write: checked before the work -------------------------------------


def check_files(more: Mapping[str, str] | None = None) -> None:
    """Find out before the work what would fail after it; `more` files are read."""
    named = list(_files())
    taken = {_same(path): f"{what} {path}" for what, role, path in named if role in _READ}
    taken |= {_same(path): f"{what} {path}" for what, path in (more or {}).items()}
    for what, path in ((what, path) for what, role, path in named if role not in _READ):
        target, same = Path(path), _same(path)
        folder = target.resolve().parent
        refuse(target.is_dir(), f"{what}: {path} is a folder; name a file in it")
        refuse(not folder.is_dir(), f"{what}: there is no folder {folder}; make it with mkdir -p")
        if target.exists() and not target.is_file():
            refuse(what != "-o", f"{what}: {path} is not a plain file")
            continue  # a device or a pipe, written to as it is
        refuse(not os.access(folder, os.W_OK), f"{what}: the folder {folder} is not writable")
        refuse(
            same in taken, f"{what}: {path} would overwrite {taken.get(same)}; name another file"
        )
        taken[same] = f"{what} {path}"
        if what == "--picture":
            known = target.suffix.lower() in (".svg", ".png")
            refuse(not known, f"--picture: {path} ends neither in .svg nor in .png")
        elif what in ("--report", "--explore"):
            require_packages(what, "report", "jinja2", "matplotlib")
        elif what.endswith("checkpoint"):
            current().expect(path)


_READ = ("read", "asked")


def _files() -> Iterator[tuple[str, str, str]]:
    """The files of the command: what messages call each, its role, its path."""
    context = click.get_current_context()
    for param in context.command.params:
        given, what, role = context.params[str(param.name)], param.opts[0], role_of(param)
        name = what.upper() if isinstance(param, click.Argument) else what
        files = {name: given} if role else {}
        if what == "--dataset":
            role, files = "read", {f"--dataset {name}": path for name, path in given.items()}
        elif what == "--set":
            files = {f"--set {name}": given.get(ARGUMENTS[name]) for name in _IN_SETTINGS}
        elif role and isinstance(given, tuple):
            files = {f"{name} {i}": path for i, path in enumerate(given, 1)}
        for called, path in files.items():
            if path not in (None, "-"):
                yield called, role or _IN_SETTINGS.get(called[6:], "read"), path


_IN_SETTINGS = {"validation": "read", "certify-on": "read", "checkpoint": "kept"}


def named_files() -> dict[str, Any]:
    """The files of the command, as JSON names them."""
    context = click.get_current_context()
    return {
        str(param.name): list(given) if isinstance(given, tuple) else given
        for param in context.command.params
        for given in [context.params[str(param.name)]]
        if param.name == "datasets" or role_of(param) in ("read", "written")
    }


def _same(path: str) -> str:
    return str(Path(path).resolve())


@contextmanager
def keep_old_on_error(path: str) -> Iterator[None]:
    """Say of a file that could not be written that the old one is still there."""
    there = Path(path).is_file()
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        stays = f"; the old {path} stays" if there else ""
        raise CommandError(f"{path} cannot be written: {error.strerror or error}{stays}") from error


@contextmanager
def writing(path: str) -> Iterator[None]:
    """A step in which a file is written that the command may name in its last words."""
    session = current()
    session.expect(path)
    with step(f"writing {path}"), keep_old_on_error(path):
        yield


# --- What goes to stdout where a program reads it: one JSON object --------------------------------


def print_json(what: Mapping[str, Any], run: Mapping[str, Any] | None = None) -> None:
    """One JSON object on one line, keys sorted."""
    seconds = {name: round(value, 3) for name, value in current().seconds.items()}
    out = {**what, "run": {**(run or {}), "seconds": seconds}}
    click.echo(json.dumps(_finite(out), sort_keys=True, allow_nan=False))


def _finite(value: Any) -> Any:
    """NaN and infinite numbers as text that ``float`` reads."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    return [_finite(v) for v in value] if isinstance(value, (list, tuple)) else value


# --- Texts and pictures that a command writes to a file -------------------------------------------


def write(path: str | None, text: str) -> None:
    """Write a text to a file, if one is named."""
    if path is not None:
        with writing(path), whole_file(path) as file:
            file.write(text.encode("utf-8"))


def draw(path: str | None, plot: Callable[[Any], object]) -> None:
    """Write a picture to a file, if one is named."""
    if path is None:
        return
    with writing(path):
        try:
            from matplotlib.figure import Figure
        except ImportError:
            raise CommandError(
                "--picture needs matplotlib: pip install 'setpoint[report]'"
            ) from None
        figure = Figure(figsize=(6.4, 4.2), layout="constrained")
        plot(figure.subplots())
        kind = Path(path).suffix.lower().removeprefix(".")
        with whole_file(path) as file:
            # Without a date the same numbers give the same bytes.
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {}
            figure.savefig(file, format=kind, dpi=150, metadata=metadata)


# --- Rules in files of JSON -----------------------------------------------------------------------


def rule_in_file(path: str) -> Rule:
    """The rule in a file that `to_json` wrote."""
    from setpoint.rules import Rule, RuleFormatError

    with step(f"reading {path}"):
        try:
            return Rule.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not a rule: it is not text in UTF-8") from None
        except RuleFormatError as error:
            raise CommandError(f"{path} is not a rule: {error}") from None


# --- A model file and a table ---------------------------------------------------------------------


def opened(asked: Asked, path: str) -> TableModel:
    """The model in a file, with the target and what becomes of new groups as a command says."""
    from setpoint.tables import TableModel

    model = TableModel.load(path, asked.trust)
    clf, groups, target = model.classifier, asked.get("unknown_group"), asked.get("target")
    if groups is not None and "response" in clf.get_params(deep=False):
        clf.set_params(response__unknown_group=groups)
    return model if target is None else model.but(target=target)


def opened_with(asked: Asked, data: str) -> tuple[TableModel, Table]:
    """The model in a file, and the table that it is to look at."""
    only_one_stdin([data, *asked.get("datasets", {}).values()])
    model, skip = opened(asked, asked.model), asked.get("skip_unlabelled", False)
    return model, model.read(TableFile(data, **asked.reading), skip_unlabelled=skip)


# --- A metric of one's own, named by a text: a function in a Python module ------------------------


_SPELLED = "`metric` is module:function, such as shop:revenue"


def metric_of(
    path: str | None, lower_is_better: bool = False, takes: str | None = None
) -> BlackBox | None:
    """The metric that was named; None where there is none."""
    if path is None:
        for argument, given in {"lower_is_better": lower_is_better, "takes": takes}.items():
            if given:
                raise InputError(f"`{argument}` goes with `metric`, which is not there")
        return None
    from setpoint.blackbox import BlackBox

    _import(path)
    kind: Any = takes or "auto"
    try:
        found = BlackBox(path, not lower_is_better, takes=kind)
    except (ValueError, TypeError, ImportError) as error:
        raise InputError(f"`metric`: {error}") from error
    if "<" in found.path:
        raise InputError(
            f"`metric={path}`: {found.path.partition(':')[2]} cannot be found by its name; write "
            "the function with def, outside of other functions"
        )
    return found


def metric_for(model: TableModel, asked: Asked) -> BlackBox | None:
    """The metric that judges a model, in the sense of its fit; None where its goal does."""
    from setpoint.blackbox import BlackBox
    from setpoint.goals import as_goal

    path, stored = asked.metric, model.classifier.goal
    lower_is_better, takes = asked.get("lower_is_better", False), asked.get("takes")
    own = stored if isinstance(stored, BlackBox) else None
    if own is not None and path == own.name:
        if lower_is_better and own.greater_is_better:
            note(
                f"{model.source} was fitted for a high value of {own.name}; here `lower_is_better` "
                "judges it the other way round"
            )
        lower_is_better = lower_is_better or not own.greater_is_better
        takes = takes or own.takes
    found = metric_of(path, lower_is_better, takes)
    if found is not None and (own is None or own.name != found.name):
        what = f"'{as_goal(stored)}'" if own is None else f"the metric {own.name}"
        note(f"{model.source} was fitted for {what}; here `metric={found.name}` judges it")
    return found


def module_file(path: str | None) -> dict[str, str]:
    """The file of the metric's module, which no output may overwrite, by what messages call it."""
    if path is None:
        return {}
    file = _import(path).__file__
    return {} if file is None else {"the module of `metric`": file}


def _import(path: str) -> ModuleType:
    """Run the module, and tell what goes wrong in it from what is not there."""
    module, colon, name = path.partition(":")
    if not colon or not name or not module:
        raise InputError(f"{_SPELLED}, got {path!r}; goals of the language go with `goal`")
    folders = module.removesuffix(".py").replace("\\", "/").split("/")
    if module.endswith(".py") or len(folders) > 1:
        inside = [f for f in folders if f != "."]
        known = "" not in inside and ".." not in inside  # else it is in no folder below
        meant = ".".join(inside if known else inside[-1:])
        raise InputError(
            f"{_SPELLED}, got {path!r}: say a module's name, {meant}:{name}, not a path"
        )
    if getcwd() not in sys.path:  # it stays: processes that are started look there too
        sys.path.insert(0, getcwd())
    try:
        with redirect_stdout(sys.stderr):
            return import_module(module)
    except (Exception, SystemExit) as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing is not None and f"{module}.".startswith(f"{missing}."):
            why = f"there is no module {missing!r}, neither in the current folder nor where Python "
            why += "looks"
        else:
            frames = traceback.extract_tb(error.__traceback__)
            own = [f for f in frames if "importlib" not in f.filename and f.filename != __file__]
            where = f", in {Path(own[-1].filename).name}, line {own[-1].lineno}" if own else ""
            said = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
            why = f"importing {module} raised {said}{where}"
        raise InputError(f"`metric={path}`: {why}") from error
