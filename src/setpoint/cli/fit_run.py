"""What ``setpoint fit`` and ``setpoint train`` do with their options; they end the command."""

from __future__ import annotations

from typing import Any, Protocol

import click

from setpoint.cli.errors import FAILED, SHOWN, STOPPED, CommandError, in_shell_words
from setpoint.cli.files import check_outputs
from setpoint.cli.fit_output import fit_json, fit_text
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import SETTINGS, reading_of
from setpoint.cli.verdicts import code_of
from setpoint.cli.writing import Page, command_text, end_infeasible, write_fit
from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.packages import require_packages
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import choose_solver

__all__ = ["counts_elsewhere", "fit_files", "fit_in_memory"]


class _Prepared(Protocol):
    """A fit that was checked: all but the work."""

    @property
    def goal(self) -> Goal: ...
    @property
    def settings(self) -> FitSettings: ...
    @property
    def cautions(self) -> list[str]: ...
    def run(self) -> FittedTable: ...


def fit_in_memory(
    data: str,
    goal: Goal,
    own: Any,
    settings: dict[str, Any],
    asked: dict[str, Any],
    files: dict[str, str],
    code: dict[str, str],
) -> None:
    """Fit on tables in memory.

    Parameters
    ----------
    settings : dict
        Of --set, and what a command adds to it.
    asked : dict
        What the other options say.
    files : dict of str to str
        Of --dataset.
    code : dict of str to str
        Files of a metric, which no output may overwrite.
    """
    from setpoint.tasks.fitting import HELD_OUT, prepare_fit
    from setpoint.tasks.promise import promise_of

    reading = reading_of(settings)
    tables = {name: settings.pop(name, None) for name in ("validation", "certify_on")}
    tables = {name: path for name, path in tables.items() if path is not None}
    certify = {
        name: settings.pop(name)
        for name in ("certification_size", "uncertified", "strict")
        if name in settings
    }
    confidence = promise_of(
        goal, asked["confidence"], judge_by=asked["judge_by"],
        certify_on=tables.get("certify_on"), **certify,
    )  # fmt: skip
    model, report, checkpoint = asked["model"], asked["report"], settings.get("checkpoint")
    inputs = {"DATA": data} | {f"--set {name.replace('_', '-')}": p for name, p in tables.items()}
    inputs |= {f"--dataset {name}": path for name, path in files.items()}
    explore = asked.get("explore")
    outputs = {"--model": model, "--report": report, "--explore": explore}
    check_outputs({**outputs, "--set checkpoint": checkpoint}, inputs | code)
    for name in ("report", "explore"):
        if asked.get(name) is not None:
            require_packages(f"--{name}", "report", "jinja2", "matplotlib")
    wanted = _wanted(settings, asked, own, HELD_OUT if confidence is None else 0.0, confidence,
                     "validation" in tables)  # fmt: skip
    if checkpoint is not None:
        current().expect(checkpoint)
    prepared = prepare_fit(
        data, goal, wanted, datasets=files, reading=reading, journal=current(),
        judge_by=asked["judge_by"], skip_unlabelled=asked["skip_unlabelled"], **tables,
    )  # fmt: skip
    paths = {"data": data, "model": model, "report": report, "datasets": files, **tables}
    paths |= {} if explore is None else {"explore": explore}
    _finish(prepared, data, asked, paths)


def _wanted(
    settings: dict[str, Any],
    asked: dict[str, Any],
    own: Any,
    test_size: float,
    confidence: Any,
    validates: bool,
) -> FitSettings:
    """The settings of the fit, where they fit together."""
    threshold, groups = settings.get("baseline_threshold"), settings.get("surrogate_groups", ())
    seed = settings.pop("random_state", 0)
    choice = choose_solver(
        settings.pop("solver", "auto"), own_metric=own is not None,
        estimator=settings.pop("estimator", asked.get("estimator")),
        randomized=asked["randomized"], decide_on=asked.get("decide_on"),
        validation=True if validates else None, **settings,
    )  # fmt: skip
    return FitSettings(
        asked["target"], asked["positive"], choice, asked["sensitive"], asked["drop"],
        asked.get("decide_on"), asked["baseline"], threshold, asked["randomized"],
        test_size if asked["test_size"] is None else asked["test_size"], asked["test_by"], seed,
        own, tuple(groups), confidence,
    )  # fmt: skip


_COUNTED = {
    "data", "target", "goal_text", "accept", "model", "report", "positive", "estimator",
    "sensitive", "baseline", "drop", "decide_on", "randomized", "as_json", "settings",
}  # fmt: skip
_COUNTED_SETTINGS = {"engine", "scheduler", "rows_for_fit", "random_state"}


def counts_elsewhere(settings: dict[str, Any], data: str, goal: Goal) -> bool:
    """Whether the table is counted where it lies; what does not go with that is refused."""
    if "engine" not in settings:
        for name in ("scheduler", "rows_for_fit"):
            if name in settings:
                raise CommandError(
                    f"--set {name.replace('_', '-')} is for tables that are counted where they "
                    "lie: add --set engine=dask, or leave it out"
                )
        return False
    context = click.get_current_context()
    given = [
        str(p.opts[0])
        for p in context.command.params
        if context.get_parameter_source(str(p.name)) == click.core.ParameterSource.COMMANDLINE
        and p.name not in _COUNTED
    ]
    given += [
        f"--set {name}"
        for name, setting in SETTINGS.items()
        if setting.argument in settings.keys() - _COUNTED_SETTINGS
        and (name, settings[setting.argument]) != ("solver", "auto")
    ]
    if given:
        names = [p.opts[0] for p in context.command.params if p.name in _COUNTED]
        raise CommandError(
            f"{given[0]} is for tables in memory, and engine=dask counts the rows where they lie; "
            f"beside it go {', '.join(n for n in names if n.startswith('--'))}"
        )
    if data == "-":
        raise CommandError(
            "engine=dask reads Parquet files several times, and DATA is stdin; name files"
        )
    if goal.needs.datasets:
        raise CommandError(
            f"engine=dask: the goal refers to the data set {goal.needs.datasets[0]!r}, and one "
            "table is counted; leave engine out, and the tables are read into memory"
        )
    if any(c.confidence is not None for c in goal.constraints):
        raise CommandError(
            "engine=dask: what is counted does not certify, and the goal asks for a confidence; "
            "leave that out of the goal, or leave engine out"
        )
    require_packages("--set engine", "scale", "pandas", "pyarrow")
    if "scheduler" in settings:
        require_packages("--set scheduler", "scale", "dask", "distributed")
    return True


def fit_files(data: str, goal: Goal, settings: dict[str, Any], asked: dict[str, Any]) -> None:
    """Fit on Parquet files that are counted where they lie."""
    from setpoint.tasks.fit_elsewhere import prepare_files

    model, report = asked["model"], asked["report"]
    check_outputs({"--model": model, "--report": report}, {"DATA": data})
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    engine, scheduler = settings.pop("engine"), settings.pop("scheduler", None)
    rows_for_fit = settings.pop("rows_for_fit", None)
    if asked["estimator"] is None:
        current().note("engine=dask: the model is logistic; --estimator names another")
        asked["estimator"] = "logistic"
    wanted = _wanted(settings, asked, None, 0.0, None, False)
    paths = {"data": data, "model": model, "report": report}
    paths |= {"engine": engine, "scheduler": scheduler}
    with prepare_files(
        data, goal, wanted, scheduler=scheduler, rows_for_fit=rows_for_fit, journal=current()
    ) as prepared:
        _finish(prepared, data, asked, paths)


def _finish(prepared: _Prepared, data: str, asked: dict[str, Any], paths: dict[str, Any]) -> None:
    """Fit, write and print; this ends the command.

    Parameters
    ----------
    paths : dict
        What the JSON says of the run.
    """
    from setpoint.cli.explore import explore_infeasible, write_explorer
    from setpoint.search import InfeasibleError
    from setpoint.tasks.exploring import explore_fit

    goal, model, report = prepared.goal, asked["model"], asked["report"]
    explore = asked.get("explore")
    command = str(click.get_current_context().info_name)
    again: dict[str, str | None] = {"goal": "{goal}", "judge_by": None}
    held_out = again if prepared.settings.test_size > 0 else again | {"test_size": None}
    page = Page(
        report, data, model, command_text(**again), command_text(**held_out), prepared.cautions
    )
    try:
        fitted = prepared.run()
    except InfeasibleError as error:
        what = {"command": command, "goal": str(goal)}
        if explore is not None:
            explore_infeasible(error, goal, explore, page)
        end_infeasible(
            error, goal, "no model was written", what, paths, as_json=asked["as_json"], page=page
        )
    write_fit(fitted, page)
    if explore is not None:
        try:
            write_explorer(explore_fit(fitted, current()), explore, model, data)
        except InputError as why:
            current().note(f"{explore} was not written: {why}")
    if asked["as_json"]:
        out, run = fit_json(command, goal, fitted)
        print_json(out, {**paths, **run})
    else:
        judged_again = fitted.guarantee is None and not fitted.counted
        margin = page.with_margin(fitted.judged, fitted.report) if judged_again else ""
        click.echo(in_shell_words(fit_text(fitted, margin)))
        click.echo(
            f"Wrote the model to {model}" + (f" and the page to {report}." if report else ".")
        )
        if explore is not None:
            click.echo(f"Bounds are moved by hand on {explore}.")
    if current().stopped:
        click.echo(current().last_words(), err=True)
        raise click.exceptions.Exit(STOPPED)
    if fitted.guarantee is not None:
        raise click.exceptions.Exit(SHOWN if fitted.guarantee.state == "certified" else FAILED)
    raise click.exceptions.Exit(code_of(fitted.judged, asked["accept"]))
