"""``setpoint fit``: from a table and a goal to a model file and a report."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.asked import check_estimator, goal_asked, goal_meant, say_positive
from setpoint.cli.certifying import Certifying, certifying_options
from setpoint.cli.elsewhere import Elsewhere, elsewhere_options
from setpoint.cli.errors import FAILED, SHOWN, STOPPED, CommandError, require_packages
from setpoint.cli.files import check_outputs
from setpoint.cli.fit_elsewhere import open_files
from setpoint.cli.metric import Named, metric_options, module_file
from setpoint.cli.options import (
    Reading,
    as_json,
    datasets_option,
    named_files,
    reading_options,
    search_options,
    training_options,
)
from setpoint.cli.output import print_json, step
from setpoint.cli.roles import Choices, ColumnRoles, find_roles
from setpoint.cli.session import current
from setpoint.cli.solvers import SOLVERS, check_goal, resolve_solver
from setpoint.cli.tables import check_datasets, only_one_stdin, read, tell
from setpoint.cli.telling import about_fit, fit_json, fit_text, noted_suspects
from setpoint.cli.trained import Trained
from setpoint.cli.training import train
from setpoint.cli.verdicts import (
    accept_option,
    code_of,
    infeasible_json,
    infeasible_text,
)
from setpoint.cli.writing import Page, command_text, write_fit, write_infeasible_page

if TYPE_CHECKING:
    from setpoint.goals.goal import Goal

__all__ = ["fit"]

_HELD_OUT = 0.25
_EXPLAINED = ("auto", "portfolio", "augmented-lagrangian", "adaptive-surrogates")


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint fit loans.csv --target repaid --positive no --drop id \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9' \\\n"
    "    --model loans.skops --report loans.html"
)
@click.argument("data")
@click.option("--target", required=True, metavar="COL", help="The column to predict.")
@click.option(
    "--goal",
    "goal_text",
    metavar="TEXT",
    help="See setpoint goal. Required unless --metric is given.",
)
@click.option(
    "--judge-by",
    metavar="TEXT",
    help="The goal that is meant, where --goal asks for a little more to be safe; else --goal.",
)
@certifying_options
@accept_option
@metric_options
@click.option("--model", required=True, metavar="FILE", help="The model file to write.")
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@click.option(
    "--positive",
    metavar="LABEL",
    help="The positive class of two; needed for other text than such words as no and yes.",
)
@click.option(
    "--solver",
    type=click.Choice(SOLVERS),
    default="auto",
    show_default=True,
    metavar="NAME",
    help="auto finds the rule for the scores of a model; portfolio trains a model for the goal, "
    "augmented-lagrangian a linear one for goals over groups, data sets and the deployed model "
    "too, adaptive-surrogates one for a metric without a formula (auto, with --metric). "
    f"Or {', '.join(name for name in SOLVERS if name not in _EXPLAINED)}.",
)
@click.option(
    "--estimator",
    metavar="NAME",
    help="logistic (the default), hist-gradient-boosting, random-forest, or a class as "
    "package.module.Class.",
)
@training_options
@search_options
@click.option(
    "--sensitive",
    multiple=True,
    metavar="COLS",
    help="Columns that the model may not look at. Those that the goal names are.",
)
@click.option("--baseline", metavar="COL", help="The column with the deployed model's predictions.")
@click.option(
    "--baseline-threshold",
    type=float,
    metavar="T",
    help="Then COL holds scores, positive from T on, and a model trained by augmented-lagrangian "
    "or cutting-plane looks at them.",
)
@datasets_option
@click.option("--drop", multiple=True, metavar="COLS", help="Columns to leave out.")
@click.option(
    "--decide-on",
    multiple=True,
    metavar="COLS|none",
    help="Columns that the rule may look at beside the score; else those that the goal names.",
)
@click.option("--draws/--no-draws", help="Whether a rule may decide by chance. Else it does not.")
@click.option(
    "--test-size",
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the rows (of --validation, if given) held out to judge the rule, else 0.25; 0: "
    "judged by cross-validation, or on the rows that the model was trained on or chosen by. With "
    "--confidence the rows that certify judge: else 0, and others only measure.",
)
@click.option(
    "--seed", type=click.IntRange(0, 2**32 - 1), default=0, show_default=True, metavar="N"
)
@elsewhere_options
@as_json
@reading_options
def fit(
    data: str,
    target: str,
    goal_text: str | None,
    judge_by: str | None,
    certifying: Certifying,
    accept: str | None,
    metric: str | None,
    lower_is_better: bool,
    takes: str | None,
    model: str,
    report: str | None,
    positive: str | None,
    solver: str,
    estimator: str | None,
    checkpoint: str | None,
    surrogate_groups: tuple[str, ...],
    validation: str | None,
    sensitive: tuple[str, ...],
    baseline: str | None,
    baseline_threshold: float | None,
    datasets: tuple[str, ...],
    drop: tuple[str, ...],
    decide_on: tuple[str, ...],
    draws: bool,
    test_size: float | None,
    seed: int,
    as_json: bool,
    reading: Reading,
    elsewhere: Elsewhere,
    **solver_options: Any,
) -> None:
    """Fit a model and the rule that reaches a goal.

    DATA is a CSV or Parquet file, or '-' for stdin. Some rows are held out and judge the
    rule, or with --confidence certify it; columns that the goal names (as in
    recall.difference(sex)) are not shown to the model. If no rule meets the goal, it says
    what is reachable and writes no model. A metric without a formula is a Python function
    (--metric); it is given the columns that its parameters name, dropped ones too. Ctrl-C
    ends its search, and the best so far is written.
    """
    named = Named(metric, lower_is_better, takes)
    goal, own = goal_asked(goal_text, named)
    counted = elsewhere.check(data, goal)
    confidence = certifying.settings(goal, judge_by)
    if test_size is None:
        test_size = _HELD_OUT if confidence is None and not counted else 0.0
    files = named_files(datasets)
    apart = {"--validation": validation, "--certify-on": certifying.on}
    tables = {option: path for option, path in apart.items() if path is not None}
    only_one_stdin([data, *tables.values(), *files.values()])
    inputs = {"DATA": data} | tables | {f"--dataset {name}": path for name, path in files.items()}
    inputs |= module_file(named)
    outputs = {"--model": model, "--report": report, "--checkpoint": checkpoint}
    check_outputs(outputs, inputs)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    way = resolve_solver(
        solver, own_metric=own is not None, estimator=estimator, draws=draws, decide_on=decide_on,
        checkpoint=checkpoint, baseline_threshold=baseline_threshold, validation=validation,
        surrogate_group=surrogate_groups, **solver_options,
    )  # fmt: skip
    if baseline_threshold is not None and baseline is None:
        raise CommandError(
            "--baseline-threshold is for the scores of the deployed model: name their column with "
            "--baseline"
        )
    if baseline_threshold is not None and not math.isfinite(baseline_threshold):
        raise CommandError(f"--baseline-threshold is a number, got {baseline_threshold}")
    choices = Choices(
        target, positive, way, sensitive, drop, decide_on, baseline, baseline_threshold,
        draws, test_size, seed, own, surrogate_groups, confidence,
    )  # fmt: skip
    with step("loading packages"):
        check_goal(goal, way)
        check_estimator(way.estimator)
    if counted:
        with open_files(data, elsewhere) as found:
            roles, cautions = found.roles(goal, choices)
            page = Page(report, data, model, command_text(goal="{goal}"), "", cautions)
            paths: dict[str, Any] = {"data": data, "model": model, "report": report}
            paths |= {"engine": elsewhere.engine, "scheduler": elsewhere.scheduler}
            _fit(
                lambda: found.train(goal, choices, roles),
                lambda trained: found.about(choices, roles, trained),
                goal, choices, roles, page, paths, accept, as_json=as_json,
            )  # fmt: skip
    meant = None if judge_by is None else goal_meant(judge_by, goal, test_size)
    files = check_datasets(goal, files)
    table = read(data, reading)
    roles = find_roles(table, goal, choices)
    if baseline is not None and roles.scores is None and not goal.needs.baseline:
        looked = "is only compared with"
        if way.family == "penalty":
            looked = f"{looked}, on the rows held out" if test_size > 0 else "is not looked at"
        current().note(
            f"--baseline {baseline}: the goal does not refer to the deployed model, so the column "
            f"{looked}"
        )
    kinds = (*roles.columns, *roles.metric_columns)
    if files:
        others = {name: read(path, reading, kinds) for name, path in files.items()}
        roles = find_roles(table, goal, choices, list(others.values()))
    else:
        others = {}
    beside = {option: read(path, reading, kinds) for option, path in tables.items()}
    judging, testing = beside.get("--validation"), beside.get("--certify-on")
    for used in (table, *others.values(), *beside.values()):
        tell(used, roles.used)
    for name, why in roles.left_out.items():
        current().note(f"the model does not look at column {name!r}: {why}")
    cautions = noted_suspects(table, target, roles)
    again: dict[str, str | None] = {"goal": "{goal}", "judge_by": None}
    held_out = again if test_size > 0 else again | {"test_size": None}
    page = Page(report, data, model, command_text(**again), command_text(**held_out), cautions)
    paths = {"data": data, "model": model, "report": report, "datasets": files}
    paths |= {option.strip("-").replace("-", "_"): path for option, path in tables.items()}
    if checkpoint is not None:
        current().expect(checkpoint)

    def fitted() -> Trained:
        trained = train(table, others, goal, choices, roles, judging, meant, testing)
        say_positive(trained, goal, positive)
        return trained

    _fit(
        fitted,
        lambda trained: about_fit(table, others, choices, roles, trained, judging),
        goal, choices, roles, page, paths, accept, as_json=as_json,
    )  # fmt: skip


def _fit(
    fitted: Callable[[], Trained],
    about: Callable[[Trained], list[tuple[str, list[str]]]],
    goal: Goal,
    choices: Choices,
    roles: ColumnRoles,
    page: Page,
    paths: dict[str, Any],
    accept: str | None,
    *,
    as_json: bool,
) -> None:
    """Fit, write and print; this ends the command.

    Parameters
    ----------
    fitted : callable
        Does the work.
    about : callable
        Sections of the page.
    paths : dict
        What the JSON says of the run.
    """
    from setpoint.search import InfeasibleError

    report, model = page.path, page.model
    try:
        trained = fitted()
    except InfeasibleError as error:
        if report is not None:
            write_infeasible_page(error, goal, page)
        if as_json:
            print_json({"command": "fit", "goal": str(goal), **infeasible_json(error, goal)}, paths)
        else:
            click.echo(infeasible_text(error, goal, "no model was written"))
            if report is not None:
                click.echo(f"\nWrote the page to {report}.")
        raise click.exceptions.Exit(FAILED) from error
    write_fit(trained, roles, choices, goal.needs.datasets, page, about(trained))
    if as_json:
        out, run = fit_json(goal, choices, roles, trained)
        print_json(out, {**paths, **run})
    else:
        judged_again = trained.guarantee is None and not trained.counted
        click.echo(fit_text(trained, page.with_margin(trained.judged) if judged_again else ""))
        click.echo(
            f"Wrote the model to {model}" + (f" and the page to {report}." if report else ".")
        )
    if current().stopped:
        click.echo(current().last_words(), err=True)
        raise click.exceptions.Exit(STOPPED)
    if trained.guarantee is not None:
        raise click.exceptions.Exit(SHOWN if trained.guarantee.state == "certified" else FAILED)
    raise click.exceptions.Exit(code_of(trained.judged, accept))
