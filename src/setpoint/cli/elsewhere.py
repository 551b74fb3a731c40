"""Options of ``setpoint fit`` for tables that are counted where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

import click
from click.core import ParameterSource

from setpoint.cli.errors import CommandError, require_packages
from setpoint.cli.options import together
from setpoint.goals.goal import Goal

__all__ = ["Elsewhere", "elsewhere_options"]

_TAKEN = {
    "data", "target", "goal_text", "accept", "model", "report", "positive", "estimator",
    "sensitive", "baseline", "drop", "decide_on", "draws", "seed", "as_json", "engine",
    "scheduler", "rows_for_fit",
}  # fmt: skip


@dataclass(frozen=True)
class Elsewhere:
    """What was said of tables that are counted where they lie.

    Parameters
    ----------
    engine : {"dask"} or None
        None: the table is read into memory.
    scheduler : str or None
        The address of a cluster; None: threads of this process.
    rows_for_fit : int or None
    """

    engine: str | None = None
    scheduler: str | None = None
    rows_for_fit: int | None = None

    def check(self, data: str, goal: Goal) -> bool:
        """Whether the table is counted where it lies; what does not go with that is refused.

        Raises
        ------
        CommandError
            It names the option, and those that are allowed.
        """
        if self.engine is None:
            for option in ("scheduler", "rows_for_fit"):
                if getattr(self, option) is not None:
                    raise CommandError(
                        f"--{option.replace('_', '-')} is for tables that are counted where they "
                        "lie: add --engine dask, or leave it out"
                    )
            return False
        context = click.get_current_context()
        for param in context.command.params:
            name = str(param.name)
            given = context.get_parameter_source(name) == ParameterSource.COMMANDLINE
            if not given or name in _TAKEN or (name, context.params[name]) == ("solver", "auto"):
                continue
            names = [p.opts[0] for p in context.command.params if str(p.name) in _TAKEN]
            raise CommandError(
                f"{param.opts[0]} is for tables in memory, and --engine dask counts the rows where "
                f"they lie; beside it go {', '.join(n for n in names if n.startswith('--'))}"
            )
        if data == "-":
            raise CommandError(
                "--engine dask reads Parquet files several times, and DATA is stdin; name files"
            )
        if goal.needs.datasets:
            raise CommandError(
                f"--engine dask: the goal refers to the data set {goal.needs.datasets[0]!r}, and "
                "one table is counted; leave --engine out, and the tables are read into memory"
            )
        if any(c.confidence is not None for c in goal.constraints):
            raise CommandError(
                "--engine dask: what is counted does not certify, and the goal asks for a "
                "confidence; leave that out of the goal, or leave --engine out"
            )
        require_packages("--engine", "scale", "pandas", "pyarrow")
        if self.scheduler is not None:
            require_packages("--scheduler", "scale", "dask", "distributed")
        return True


def elsewhere_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Where tables are counted: the argument `elsewhere`."""

    @wraps(command)
    def given(
        engine: str | None, scheduler: str | None, rows_for_fit: int | None, **more: Any
    ) -> Any:
        return command(elsewhere=Elsewhere(engine, scheduler, rows_for_fit), **more)

    return together(
        click.option(
            "--engine",
            type=click.Choice(["dask"]),
            help="For tables of any size: DATA is Parquet files (a folder, or a pattern in "
            "quotes), the model is fitted on some rows, and the rule found on all others, "
            "counted piece by piece.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="The dask cluster that counts for --engine dask, such as tcp://host:8786. Else "
            "threads of this machine.",
        ),
        click.option(
            "--rows-for-fit",
            type=click.IntRange(1),
            metavar="N",
            help="About so many rows for the model with --engine dask. Else 1,000,000.",
        ),
    )(given)
