"""What ``setpoint fit`` and ``setpoint train`` do with their options; they end the command."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import FAILED, SHOWN, STOPPED, in_shell_words
from setpoint.cli.files import check_outputs
from setpoint.cli.fit_output import fit_json, fit_text
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import reading_of
from setpoint.cli.verdicts import code_of
from setpoint.cli.writing import Page, command_text, end_infeasible, write_fit
from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.packages import require_packages
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import choose_solver

if TYPE_CHECKING:
    from setpoint.tasks.table_fit import TableFit

__all__ = ["fit_in_memory"]


def fit_in_memory(
    data: str,
    goal: Goal,
    own: Any,
    settings: dict[str, Any],
    asked: dict[str, Any],
    files: dict[str, str],
    code: dict[str, str],
) -> None:
    """Fit on tables in memory."""
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


def _finish(prepared: TableFit, data: str, asked: dict[str, Any], paths: dict[str, Any]) -> None:
    """Fit, write and print; this ends the command."""
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
        certified = fitted.guarantee is not None
        margin = "" if certified else page.with_margin(fitted.judged, fitted.report)
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
