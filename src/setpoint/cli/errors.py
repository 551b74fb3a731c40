"""Errors as one line that names the remedy, and the exit codes."""

from __future__ import annotations

import os
import re
import sys
import traceback
from importlib.util import find_spec
from shlex import quote
from types import TracebackType

import click

from setpoint.blackbox.errors import MetricError
from setpoint.errors import rename_arguments
from setpoint.goals.errors import GoalError

__all__ = [
    "BROKEN_PIPE",
    "ERROR",
    "FAILED",
    "SHOWN",
    "STOPPED",
    "TOO_CLOSE",
    "CommandError",
    "in_shell_words",
    "message_of",
    "require_packages",
]

SHOWN, ERROR, FAILED, TOO_CLOSE, STOPPED = 0, 1, 3, 4, 130
BROKEN_PIPE = 141
"""As other programs end whose reader has left."""

_SOLVER = re.compile(r"\bsolver='([\w-]+)'")
_BUDGET = re.compile(r"\blimits: evaluations=(\d+) are too few")
_DATASET = re.compile(r"\bdatasets\['([^']*)'\]")
_COLUMN = re.compile(r"\bsensitive_features(?:\['([^']*)'\])+")
_DIRECTION = re.compile(r"\b(maximize|minimize)\((.*?)\)(?= or |$)")
_ONE = re.compile(r"\bhas 1 rows\b")
_WEIGHT = re.compile(r"and the rows(?: of X)? (?:have a weight of|weigh) (\S+)$")
_CHANGED_SETTING = re.compile(
    r"(?:(?<=is of another training: )|(?<=is of another search: ))\w+(?= was )"
)
_QUOTED = re.compile(r"(?<= raised )\w+: .*(?=; it was called with )", re.DOTALL)
"""What a metric of one's own said: its words, not those of the library."""
_OPTION_OF_SETTING = {
    "goal": "--goal",
    "metric": "--metric",
    "module": "--module",
    "solver": "--solver",
    "random_state": "--seed",
    "min_positives": "--min-positives",
    "rows": "the number of its rows",
    "features": "the number of its features",
    "data": "the digest of its rows",
}
"""What a checkpoint remembers of its training or search."""

# What messages of the library recommend, as it is written at a shell.
_SHELL = (
    (" (on_infeasible='nearest' returns that rule)", ""),
    ("allow it with randomized='auto'", "allow it with --draws"),
    (
        "Use draw='random', draw= a column that identifies the row, or randomized=False",
        "Leave out --draws",
    ),
    ("(decide_on=None)", "(--decide-on none)"),
    (
        "give them a group of their own, for example with fillna('unknown') in pandas or "
        "fill_null('unknown') in polars",
        "fill them in, or leave such rows out",
    ),
    ("; bin them first, for example with numpy.digitize or pandas.cut", "; join some of them"),
    ("Confidence(on_uncertified='nearest') gives", "--uncertified nearest writes"),
    ("say how confidently (confidence=0.95)", "say how confidently (--confidence 0.95)"),
    ("confidence=0.95", "--confidence 0.95"),
    ("strict=True takes what is proved", "--strict takes what is proved"),
    ("certification_size", "--certification-size"),
    ("certify_on", "--certify-on"),
    ("response=ModelResponse(unknown_group='largest')", "--new-groups largest"),
    ("which datasets= does not hold", "which no --dataset gives"),
    ("trusted=[...] names those that you trust", "--trust TYPE names one that you trust"),
    (" (on_infeasible='nearest' returns it)", ""),
    (" min_positives= sets it.", " --min-positives sets it."),
    ("as min_positives asks", "as --min-positives asks"),
    ("min_positives is ", "--min-positives is "),
    (
        "validation_fraction= holds rows out.",
        "--validation-fraction keeps rows from the training to choose by.",
    ),
    ("validation_fraction is 'auto' or a ", "--validation-fraction is a "),
    ("validation_fraction is ", "--validation-fraction is "),
    ("seconds is a number above 0 or None", "--max-seconds is a number above 0"),
    ("(limits=SearchLimits(seconds=, calls=))", "(--max-seconds)"),
    ("C is a number above 0", "--inverse-regularization is a number above 0"),
    ("PlugInClassifier takes more of them", "without --solver setpoint fit takes more of them"),
    ("RampClassifier takes ", "a linear model is trained for "),
    ("give another path, or remove the file", "give another --checkpoint, or remove the file"),
    (
        "PlugInClassifier takes such goals, after training",
        "without --solver setpoint fit takes such goals, after training",
    ),
    (
        "PlugInClassifier takes any goal, after training",
        "without --solver setpoint fit takes any goal, after training",
    ),
    ("PlugInClassifier takes such goals, on rows that are kept", "setpoint fit takes such goals"),
    ("holds a TableModel, no state", "is a model file of setpoint fit, no state"),
    ("holds a StreamState, no model", "is a state of setpoint stream, no model"),
    ("window is for solver='sketch', got it with solver=", "--window is for --solver sketch, not "),
    ("say takes='predictions' or takes='scores'", "say --takes predictions or --takes scores"),
    ("; check greater_is_better", "; --lower-is-better turns it"),
    ("surrogate_groups: ", "--surrogate-group: "),
    ("validation holds no row", "--validation holds no row"),
    ("pos_label", "--positive"),
    ("hash_column is needed", "--hash-column is needed"),
    ("columns: the rule does not", "--column: the rule does not"),
    ("dialect is one of", "--dialect is one of"),
    ("name: a function", "--name: a function"),
    ("no row of X has that value", "no row of DATA has that value"),
    ("vary= ", "--vary "),
    ("vary=", "--vary "),
    ("values= ", "--values "),
)


_GROUPS = ("--group", "--groups", "--sensitive-feature", "--sensitive-features", "--protected")
_GROUP = (
    "The columns that the goal names are the groups, as in 'recall.difference(sex) <= 0.1'; "
    "--sensitive names others that the model may not look at"
)
"""For who looks for an option that names the groups."""


_ARGUMENTS = frozenset(
    (
        "classes", "constant_step", "decimal", "drop", "encoding", "first_rows", "goal", "learner",
        "output", "positive", "save_every", "separator", "skip_bad", "solver", "state", "target",
        "text", "window",
    )
)  # fmt: skip


class CommandError(Exception):
    """Something is wrong with what was asked for; the message names the remedy."""


def in_shell_words(text: str) -> str:
    """A message of the library with the options of the shell for its remedies.

    Examples
    --------
    >>> in_shell_words("pos_label 'x' is not a class"), in_shell_words("solver='fofo' maximises F")
    ("--positive 'x' is not a class", '--solver fofo maximises F')
    >>> in_shell_words("m:f raised KeyError: 'pos_label'; it was called with 3 rows")
    "m:f raised KeyError: 'pos_label'; it was called with 3 rows"
    """
    quoted = _QUOTED.search(text)
    if quoted is not None:
        before, after = text[: quoted.start()], text[quoted.end() :]
        return in_shell_words(before) + quoted[0] + in_shell_words(after)
    for python, shell in _SHELL:
        text = text.replace(python, shell)
    text = _COLUMN.sub(r"column '\1'", text)
    text = _DIRECTION.sub(r"'\1 \2'", text)
    text = _ONE.sub("has 1 row", text)
    text = _BUDGET.sub(r"--budget \1 is too small", text)
    text = _DATASET.sub(r"--dataset \1", text)
    text = _WEIGHT.sub(r"and there are \1 rows to count it on", text)
    text = _CHANGED_SETTING.sub(lambda found: _OPTION_OF_SETTING.get(found[0], found[0]), text)
    return rename_arguments(_SOLVER.sub(r"--solver \1", text), _option)


def _option(name: str, value: str | None) -> str | None:
    """An argument of reading or of a stream as an option."""
    if name not in _ARGUMENTS:
        return None
    given = "" if value is None else f" {quote(value.strip(chr(39)))}"
    return f"--{name.replace('_', '-')}{given}"


def require_packages(option: str, extra: str, *names: str) -> None:
    """Know before any work that a package is missing; `extra` of setpoint installs it.

    Raises
    ------
    CommandError
        If there is one.
    """
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise CommandError(
            f"{option} needs {' and '.join(missing)}: pip install 'setpoint[{extra}]'"
        )


def message_of(error: BaseException) -> str:
    """An error as a line or a few, without "error:".

    Errors that the library raises itself say what is wrong; others are unexpected.

    Examples
    --------
    >>> message_of(CommandError("a.csv is empty"))
    'a.csv is empty'
    >>> message_of(KeyError("x"))
    "unexpected KeyError: 'x'; setpoint --debug COMMAND shows where"
    """
    if isinstance(error, click.ClickException):
        return _usage(error)
    install = isinstance(error, ImportError) and "pip install" in str(error)
    if install or isinstance(error, (CommandError, GoalError, MetricError)) or _is_ours(error):
        return in_shell_words(str(error)) + _hint(error)
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


def _is_ours(error: BaseException) -> bool:
    """Whether an error is a check of the library, not an accident below it."""
    if not isinstance(error, (ValueError, TypeError, RuntimeError)):
        return False
    last: TracebackType | None = error.__traceback__
    if last is None:
        return False
    while last.tb_next is not None:
        last = last.tb_next
    return str(last.tb_frame.f_globals.get("__name__", "")).startswith("setpoint.")


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
