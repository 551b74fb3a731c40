"""The program: its commands, its last words, its exit codes."""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn, cast

import click
from click.shell_completion import CompletionItem

from setpoint.cli.session import BROKEN_PIPE, ERROR, STOPPED, Session, StoppedByUser, message_of
from setpoint.errors import SetpointError
from setpoint.tables import warnings_as_notes

# --- The commands of the program by name ----------------------------------------------------------


_MODULES = {
    "begin": "demo goal",
    "fit": "fit train",
    "predict": "solve predict",
    "judge": "evaluate compare plan",
    "stored": "frontier explore take monitor explain show export",
}
_PLACES = {name: module for module, names in _MODULES.items() for name in names.split()}

GROUPS = {
    "Begin": {
        "demo": "Run the main job on a table of 569 tumours.",
        "goal": "Say what a goal means and how it would be solved, or list the metrics.",
    },
    "Make": {
        "fit": "Fit a model and find the rule for its scores that reaches a goal.",
        "train": "Train a model for a goal, over the rows as a whole.",
        "solve": "Find the rule for the scores of a model, on tables of any size.",
    },
    "Judge": {
        "evaluate": "Judge a model file by a table with labels, or decisions that are a column of "
        "tables.",
        "compare": "Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels.",
        "plan": "Say how many rows it takes to certify a goal on new rows.",
    },
    "Choose": {
        "frontier": "Show the best objective as the bound of one constraint moves.",
        "explore": "Write a page on which the bounds of MODEL's goal are moved by hand.",
    },
    "Use": {
        "predict": "Decide the rows of a table, or of many, by a model file.",
        "take": "Move the rule of MODEL to another bound, without a new fit.",
        "monitor": "Watch a model file on new rows, in their order.",
        "explain": "Say why rows are decided as they are.",
        "show": "Show what a model file holds: its goal, its rule, its columns, and what was "
        "reached then.",
        "export": "Write the decision rule of a model, to decide where the rows are.",
    },
}
"""The line of each command, by what it is for."""

LINES = {name: line for group in GROUPS.values() for name, line in group.items()}


class LazyCommands(Mapping[str, click.Command]):
    """The commands as click takes them; looking one up imports its module.

    Examples
    --------
    >>> "fit" in list(LazyCommands()), LazyCommands()["goal"].name
    (True, 'goal')
    """

    def __getitem__(self, name: str) -> click.Command:
        module = import_module(f"setpoint.cli.{_PLACES[name]}")
        command: click.Command = getattr(module, name)
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(LINES)

    def __len__(self) -> int:
        return len(LINES)


# --- The program: its commands, its last words, its exit codes ------------------------------------


class App(click.Group):
    """The group of commands: whatever happens in one becomes words and an exit code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        *more: Any,
        **extra: Any,
    ) -> NoReturn:
        """Run a command and end the process."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # a terminal that lacks a letter shows its code
                stream.reconfigure(errors="backslashreplace")
        session = Session()
        extra = {"obj": session, **extra, "standalone_mode": False}
        if os.environ.get("NO_COLOR"):
            extra.setdefault("color", False)
        with session.listening():
            try:
                found = super().main(args, prog_name or "setpoint", *more, **extra)
                code = found if isinstance(found, int) else 0
            except BrokenPipeError:
                code = BROKEN_PIPE
            except (Exception, StoppedByUser, KeyboardInterrupt) as error:  # noqa: BLE001
                # Ctrl-C makes all kinds of errors of code that was not ready for it.
                stops = (StoppedByUser, click.Abort, KeyboardInterrupt)
                if session.interrupted or isinstance(error, stops):
                    code = STOPPED
                    with suppress(OSError):
                        click.echo(session.last_words(), err=True)
                else:
                    code = ERROR
                    self._report(error, session, sys.argv[1:] if args is None else args)
        sys.exit(code)

    def _report(self, error: BaseException, session: Session, given: Sequence[str]) -> None:
        """Say on stderr what went wrong, and as JSON on stdout to who asked for that."""
        name = next((arg for arg in given if arg in LINES), None)
        command = self if name is None else self.commands[name]
        with suppress(OSError), click.Context(command):  # its options stand in the message
            text = message_of(error)
            text += f"; {session.describe_written()}" if session.written() else ""
            if session.debug:
                traceback.print_exception(error, file=sys.stderr)
            color = False if os.environ.get("NO_COLOR") else None  # no context says so any more
            first = click.style("error:", fg="red", bold=True)
            click.echo(f"{first} {text}", err=True, color=color)
            # `predict` writes a line for each row.
            if "--json" in given and name not in (None, "predict"):
                out = {
                    "command": name,
                    "status": "error",
                    "error": text,
                    "kind": type(error).__name__,
                    "arguments": list(error.arguments) if isinstance(error, SetpointError) else [],
                }
                click.echo(json.dumps(out, sort_keys=True))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands by what is known of them without an import."""
        wide = max(map(len, LINES))
        for title, lines in GROUPS.items():
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{wide}}", line) for name, line in lines.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete the name of a command likewise, or an option of the program itself."""
        names = [name for name in sorted(LINES) if name.startswith(incomplete)]
        found = [CompletionItem(name, help=LINES[name]) for name in names]
        return found + click.Command.shell_complete(self, ctx, incomplete)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command of a context; see :meth:`main`."""
        try:
            try:
                with warnings_as_notes():
                    return super().invoke(ctx)
            finally:
                if sys.stdout is not None:  # closed by who started the program
                    sys.stdout.flush()
        except KeyboardInterrupt:
            raise StoppedByUser from None
        except BrokenPipeError as error:
            # click would end with 1, which here means an error.
            _leave_quietly()
            raise click.exceptions.Exit(BROKEN_PIPE) from error
        except OSError as error:
            if error.filename is not None:
                raise
            # Without a name it is the output; what is left of it would fail again at exit.
            _leave_quietly()
            raise OSError(error.errno, error.strerror, "the output") from error


def _leave_quietly() -> None:
    """Let nothing more go to an output that cannot be written to, not even at exit."""
    with suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


@click.group(
    cls=App,
    name="setpoint",
    commands=cast(Any, LazyCommands()),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    invoke_without_command=True,
    epilog="\b\nFor example:\n"
    "  setpoint fit loans.csv --target repaid --model loans.skops --report loans.html \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9'",
)
@click.option("--debug", is_flag=True, help="Show where an error arose.")
@click.option("--version", is_flag=True, help="Show the version and exit.")
@click.pass_context
def app(ctx: click.Context, debug: bool, version: bool) -> None:
    """Say what your classifier must achieve; setpoint finds the decision rule.

    A goal is a sentence such as 'maximize recall subject to precision >= 0.9'. Begin with
    'setpoint demo'.

    Exit codes: 0 the goal is shown to hold on new rows, 1 an error, 3 it is shown to fail or
    no rule can meet it, 4 it is too close to call, 130 stopped by Ctrl-C.
    """
    session = ctx.find_object(Session)
    if session is not None:
        session.debug = debug
    if version:
        from importlib.metadata import version as version_of

        click.echo(f"setpoint {version_of('setpoint')}")
    elif ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())
