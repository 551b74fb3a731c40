"""Errors as one line that names the remedy, and the exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from shlex import quote

import click

from setpoint.blackbox.errors import MetricError
from setpoint.cli.settings import SETTINGS
from setpoint.errors import SetpointError, rename_arguments

__all__ = [
    "BROKEN_PIPE",
    "ERROR",
    "FAILED",
    "OPTIONS",
    "SHOWN",
    "STOPPED",
    "TOO_CLOSE",
    "CommandError",
    "in_shell_words",
    "message_of",
]

SHOWN, ERROR, FAILED, TOO_CLOSE, STOPPED = 0, 1, 3, 4, 130
BROKEN_PIPE = 141
"""As other programs end whose reader has left."""

OPTIONS = {
    "PlugInClassifier": "setpoint fit",
    "RampClassifier": "a linear model",
    "X": "the table",
    "alpha": "--alpha",
    "at_most": "--at-most",
    "at_most[]": "--at-most",
    "baseline": "--baseline",
    "by": "--by",
    "columns": "--column",
    "confidence": "--confidence",
    "datasets": "--dataset",
    "datasets[]": "--dataset",
    "decide_on": "--decide-on",
    "decide_on=None": "--decide-on none",
    "dialect": "--dialect",
    "exact": "--exact",
    "goal": "--goal",
    "hash_column": "--hash-column",
    "metric": "--metric",
    "module": "--module",
    "name": "--name",
    "pos_label": "--positive",
    "power": "--power",
    "randomized": "--draws",
    "randomized='auto'": "--draws",
    "randomized=False": "no --draws",
    "rates": "--rate",
    "rates[]": "--rate",
    "restart": "--no-restart",
    "rows": "--row",
    "sample_weight": "--weight",
    "score": "--score",
    "scores": "--score",
    "sensitive_features": "the table",
    "sensitive_features[]": "column",
    "solver": "--solver",
    "test_size": "--test-size",
    "tol": "--tol",
    "trusted": "--trust",
    "unknown_group": "--new-groups",
    "values": "--values",
    "vary": "--vary",
    "y": "--target",
    "y_pred": "--prediction",
    "y_true": "--target",
    "check": "--check",
    "checkpoint": "--checkpoint",
    "cv=GroupKFold()": "--test-by and its column",
    "cv=TimeSeriesSplit()": "--test-by and a column of dates",
    "data": "DATA",
    "drop": "--drop",
    "estimator": "--estimator",
    "other_goal": "--other-goal",
    "output": "--output",
    "positive": "--positive",
    "state": "--state",
    "judge_by": "--judge-by",
    "keep": "--keep",
    "adapt": "--adapt",
    "bounds": "--bound",
    "rule": "--rule",
    "line": "--line",
    "prediction": "--prediction",
    "sensitive": "--sensitive",
    "sheet": "--sheet",
    "target": "--target",
    "test_by": "--test-by",
    "test_size=0": "--test-size 0",
    "weight": "--weight",
}
"""What stands at a shell for an argument, for an argument of some value, and for an item.

Where the command has no such option, but a setting of the name, it is ``--set NAME``.
"""

_SETTINGS = {
    "greater_is_better": "lower_is_better",
    "limits": "max_seconds",
    "on_uncertified": "uncertified",
    "seconds": "max_seconds",
}
"""Arguments of the library that the settings call otherwise."""

_GROUPS = ("--group", "--groups", "--sensitive-feature", "--sensitive-features", "--protected")
_GROUP = (
    "The columns that the goal names are the groups, as in 'recall.difference(sex) <= 0.1'; "
    "--sensitive names others that the model may not look at"
)
"""For who looks for an option that names the groups."""


class CommandError(SetpointError):
    """Something is wrong with what was asked for; the message names the remedy."""


def in_shell_words(text: str) -> str:
    """A message of the library with the options of the shell for its arguments.

    Examples
    --------
    >>> in_shell_words("`pos_label` 'x' is not a class; `solver='fofo'` maximises F")
    "--positive 'x' is not a class; --solver fofo maximises F"
    >>> in_shell_words("`datasets['old']`: `min_positives=5` is too many")
    '--dataset old: --set min-positives=5 is too many'
    """
    return rename_arguments(text, _option)


def _option(argument: str, value: str | None) -> str | None:
    """The option for an argument, with its value as it is written at a shell."""
    exact = value is not None and f"{argument}={value}" in OPTIONS
    found = OPTIONS[f"{argument}={value}"] if exact else OPTIONS.get(argument)
    setting = _setting(argument, found)
    if setting is not None:
        found, exact = f"--set {setting}", False
    if found is None or value in (None, "True") or exact:
        return found
    if not found.startswith("-"):
        return f"{found} {value!r}"
    plain = value[1:-1] if value[:1] in ("'", '"') else value
    return f"{found}{'=' if found.startswith('--set ') else ' '}{quote(plain)}"


def _setting(argument: str, option: str | None) -> str | None:
    """The setting for an argument that is not an option of the command that runs."""
    context = click.get_current_context(silent=True)
    own = [] if context is None else [name for p in context.command.params for name in p.opts]
    if option is not None and option.startswith("--"):
        name = option.removeprefix("--").partition(" ")[0]
        there = context is None or f"--{name}" in own
        return name if name in SETTINGS and not there else None
    wanted = _SETTINGS.get(argument, argument)
    names = [name for name, setting in SETTINGS.items() if setting.argument == wanted]
    return next((name for name in names if f"--{name}" not in own), None)


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
        return _usage(error)
    if isinstance(error, SetpointError):
        return in_shell_words(error.finding) + _hint(error)
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


def _hint(error: BaseException) -> str:
    """What to do where a metric of scikit-learn takes 1 for the positive label."""
    if not isinstance(error, MetricError) or "pos_label" not in str(error):
        return ""
    return "; wrap it in a function of your own that names the positive label (pos_label=...)"


def _usage(error: click.ClickException) -> str:
    out = error.format_message()
    if isinstance(error, click.NoSuchOption) and error.option_name in _GROUPS:
        out = f"there is no option {error.option_name}. {_GROUP}"
    context = getattr(error, "ctx", None)
    if isinstance(error, click.UsageError) and context is not None:
        out = f"{out.rstrip('.')}; see {context.command_path} --help"
    return out


def report_error(error: BaseException, debug: bool, more: str = "") -> None:
    """Write an error to stderr, with its traceback if asked for, and what else there is to say."""
    if debug:
        traceback.print_exception(error, file=sys.stderr)
    text = message_of(error) + (f"; {more}" if more else "")
    color = False if os.environ.get("NO_COLOR") else None  # no context says so any more
    click.echo(f"{click.style('error:', fg='red', bold=True)} {text}", err=True, color=color)


def silence(stream_number: int) -> None:
    """Let nothing more go to a stream that cannot be written to, not even at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream_number)
    os.close(null)
