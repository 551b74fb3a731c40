"""``setpoint fit`` and ``setpoint train``: from a table and a goal to a model file and a page."""

from __future__ import annotations

import textwrap
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import (
    Page,
    accept_option,
    code_of,
    command_text,
    end_infeasible,
    guarantee_line,
    level_of,
    measured_lines,
    report_json,
    status_of,
    verdict,
    write_fit,
)
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.errors import InputError
from setpoint.goals import Goal
from setpoint.packages import require_packages
from setpoint.solvers import SOLVERS
from setpoint.tables import MODULES, certifying, chosen_on, judged_on, note, training_solver

if TYPE_CHECKING:
    from setpoint.tables import TableModel, Tables


# --- What ``setpoint fit`` and ``setpoint train`` print: as text, and as JSON ---------------------


def fit_text(fitted: TableModel, margin: str) -> str:
    """What ``setpoint fit`` found, for a terminal."""
    from setpoint.report import report_text

    held, guarantee = fitted.held_out, fitted.guarantee
    if guarantee is not None:
        first = guarantee_line(guarantee, certifying(fitted))
        lines = [first, "", report_text(fitted.report, at_shell=True), ""]
        if held is not None:
            lines += [f"Measured beside it on {judged_on(fitted)}:", *measured_lines(held), ""]
        return "\n".join(lines)
    chosen = None if held is None else fitted.report
    report = report_text(fitted.judged, chosen, at_shell=True)
    lines = [verdict(fitted.judged, judged_on(fitted)), "", report, ""]
    if margin:
        lines += [f"To search with the margin:\n  {margin}", ""]
    lines += _searched(fitted)
    if held is not None and fitted.report.satisfied is False:
        n = fitted.report.counts.n_rows
        lines += [f"The {n:,} rows that the rule was chosen on miss a bound: see the page.", ""]
    return "\n".join(lines)


def _searched(fitted: TableModel) -> list[str]:
    """What a search among models found, where the report on rows held out cannot say it."""
    found = (fitted.report.section(name) for name in ("models", "adaptive"))
    summary = next((one for one in found if one is not None), None)
    if summary is None or fitted.held_out is None:
        return []
    where = chosen_on(fitted)
    wrapped = (
        textwrap.fill(line, 79, initial_indent="  ", subsequent_indent="    ")
        for line in summary.lines()
    )
    return [f"{summary.title}, on {where}", *wrapped, ""]


def fit_json(command: str, goal: Goal, fitted: TableModel) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``--json``, and what of it differs between two runs."""
    roles, choice = fitted.roles, fitted.choice
    chosen, chosen_run = report_json(fitted.report)
    held, held_run = report_json(fitted.held_out)
    guarantee = fitted.guarantee
    out = {
        "command": command,
        "status": status_of(fitted.judged) if guarantee is None else guarantee.state,
        "goal": str(goal),
        "metric": None if fitted.metric is None else fitted.metric.name,
        "target": fitted.target,
        "positive": fitted.report.counts.positive,
        "classes": dict(fitted.classes),
        "rows": {
            "fitted": fitted.fitted_rows,
            "held_out": fitted.n_held_out,
            "certifying": 0 if guarantee is None else guarantee.rows,
        },
        "datasets": {name: asdict(rows) for name, rows in fitted.datasets.items()},
        "validation": None if fitted.validation is None else asdict(fitted.validation),
        "solver": choice.solver,
        "family": choice.family,
        "estimator": choice.estimator,
        "module": choice.module,
        "candidates": fitted.candidates,
        "seed": fitted.random_state,
        "columns": {
            "features": {c.name: c.kind for c in roles.features},
            "decides_on": {c.name: c.kind for c in roles.decides_on},
            "hidden": dict(roles.hidden),
            "left_out": dict(roles.left_out),
            "scores": None if roles.scores is None else roles.scores.name,
        },
        "fitted": chosen,
        "held_out": held,
        "notes": shell.current().notes,
    }
    return out, {"fitted": chosen_run, "held_out": held_run}


# --- What ``setpoint fit`` and ``setpoint train`` do with their options ---------------------------


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
    from setpoint.tables import TableModel, read_tables

    reading = reading_of(settings)
    tables = {name: settings.pop(name, None) for name in ("validation", "certify_on")}
    tables = {name: path for name, path in tables.items() if path is not None}
    wanted = TableModel(
        goal if own is None else own,
        pos_label=asked["positive"],
        solver=settings.pop("solver", "auto"),
        estimator=settings.pop("estimator", asked.get("estimator")),
        random_state=settings.pop("random_state", 0),
        baseline_threshold=settings.pop("baseline_threshold", None),
        surrogate_groups=settings.pop("surrogate_groups", ()),
        parameters=settings,
        **{name: asked[name] for name in _ASKED if name in asked},
    )
    model, report, checkpoint = asked["model"], asked["report"], settings.get("checkpoint")
    inputs = {"DATA": data} | {f"--set {name.replace('_', '-')}": p for name, p in tables.items()}
    inputs |= {f"--dataset {name}": path for name, path in files.items()}
    explore = asked.get("explore")
    outputs = {"--model": model, "--report": report, "--explore": explore}
    shell.check_outputs({**outputs, "--set checkpoint": checkpoint}, inputs | code)
    for name in ("report", "explore"):
        if asked.get(name) is not None:
            require_packages(f"--{name}", "report", "jinja2", "matplotlib")
    if checkpoint is not None:
        shell.current().expect(checkpoint)
    read = read_tables(
        wanted, data, datasets=files, reading=reading,
        skip_unlabelled=asked["skip_unlabelled"], **tables,
    )  # fmt: skip
    paths = {"data": data, "model": model, "report": report, "datasets": files, **tables}
    paths |= {} if explore is None else {"explore": explore}
    _finish(wanted, read, data, asked, paths)


_ASKED = ("target", "confidence", "judge_by", "sensitive", "drop", "decide_on", "baseline",
          "randomized", "test_size", "test_by")  # fmt: skip


def _worded(report: Any) -> Any:
    """A report whose warnings name the options of the shell."""
    if report is None:
        return None
    return replace(report, warnings=tuple(map(shell.in_shell_words, report.warnings)))


def _finish(
    fitted: TableModel, read: Tables, data: str, asked: dict[str, Any], paths: dict[str, Any]
) -> None:
    """Fit, write and print; this ends the command."""
    from setpoint.cli.choose import explore_infeasible, write_explorer
    from setpoint.search import InfeasibleError
    from setpoint.tables import fit_tables
    from setpoint.tasks import explore_fit

    goal, model, report = read.goal, asked["model"], asked["report"]
    explore = asked.get("explore")
    command = str(click.get_current_context().info_name)
    again: dict[str, str | None] = {"goal": "{goal}", "judge_by": None}
    held_out = again if fitted.share_held_out > 0 else again | {"test_size": None}
    page = Page(
        report, data, model, command_text(**again), command_text(**held_out), fitted.cautions
    )
    try:
        fit_tables(fitted, read)
    except InfeasibleError as error:
        what = {"command": command, "goal": str(goal)}
        if explore is not None:
            explore_infeasible(error, goal, explore, page)
        end_infeasible(
            error, goal, "no model was written", what, paths, as_json=asked["as_json"], page=page
        )
    fitted.report, fitted.held_out = _worded(fitted.report), _worded(fitted.held_out)
    write_fit(fitted, page)
    if explore is not None:
        try:
            write_explorer(explore_fit(fitted), explore, model, data)
        except InputError as why:
            note(f"{explore} was not written: {why}")
    if asked["as_json"]:
        out, run = fit_json(command, goal, fitted)
        shell.print_json(out, {**paths, **run})
    else:
        certified = fitted.guarantee is not None
        margin = "" if certified else page.with_margin(fitted.judged, fitted.report)
        click.echo(shell.in_shell_words(fit_text(fitted, margin)))
        click.echo(
            f"Wrote the model to {model}" + (f" and the page to {report}." if report else ".")
        )
        if explore is not None:
            click.echo(f"Bounds are moved by hand on {explore}.")
    if shell.current().stopped:
        click.echo(shell.current().last_words(), err=True)
        raise click.exceptions.Exit(shell.STOPPED)
    if fitted.guarantee is not None:
        raise click.exceptions.Exit(
            shell.SHOWN if fitted.guarantee.state == "certified" else shell.FAILED
        )
    raise click.exceptions.Exit(code_of(fitted.judged, asked["accept"]))


# --- ``setpoint fit`` and ``setpoint train`` ------------------------------------------------------


_COMMON = (*READING, "seed", "max-seconds", "certify-on", "certification-size", "strict",
           "uncertified")  # fmt: skip
_TRAINERS = [name for name, s in SOLVERS.items() if s.family != "plugin"]

_data = click.argument("data")
_target = click.option("--target", required=True, metavar="COL", help="The column to predict.")
_asked = shell.together(
    click.option(
        "--positive",
        metavar="LABEL",
        help="The positive class of two; else that of words such as no and yes.",
    ),
    click.option(
        "--confidence",
        callback=level_of,
        metavar="SHARE",
        help="Certify that the goal holds on new rows, such as 95%.",
    ),
    click.option(
        "--judge-by",
        metavar="TEXT",
        help="The goal that is meant, where --goal asks for more to be safe.",
    ),
)
_columns = shell.together(
    click.option(
        "--sensitive",
        multiple=True,
        metavar="COLS",
        help="Not for the model to look at, like those that the goal names.",
    ),
    click.option("--drop", multiple=True, metavar="COLS", help="To leave out."),
    click.option("--baseline", metavar="COL", help="The deployed model's predictions."),
    shell.datasets_option,
)
_rows = shell.together(
    click.option(
        "--test-size",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="SHARE",
        help="Held out to judge the rule. Default: 0.25, or 0 with --confidence.",
    ),
    click.option(
        "--test-by",
        metavar="COL",
        help="Hold out the last dates of COL, or whole customers.",
    ),
    click.option("--skip-unlabelled", is_flag=True, help="Leave out rows without a label."),
)
_written = shell.together(
    click.option("--model", required=True, metavar="FILE", help="The model file to write."),
    click.option("--report", metavar="FILE", help="The HTML page to write."),
    accept_option,
    shell.as_json,
)
_GROUPS = {
    "Columns and tables": ("--sensitive", "--drop", "--baseline", "--dataset"),
    "Rows that judge": ("--test-size", "--test-by", "--skip-unlabelled"),
    "Output": ("--model", "--report", "--accept", "--json"),
}


@click.command(
    cls=shell.GroupedCommand,
    groups={
        "What is asked for": ("--target", "--goal", "--positive", "--confidence", "--judge-by"),
        "Model and rule": ("--estimator", "--decide-on", "--draws"),
        **_GROUPS,
        "Output": ("--model", "--report", "--explore", "--accept", "--json"),
    },
    epilog="\b\nFor example:\n"
    "  setpoint fit loans.csv --target repaid --positive no --drop id \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9' \\\n"
    "    --model loans.skops --report loans.html",
)
@_data
@_target
@click.option("--goal", "goal_text", required=True, metavar="TEXT", help="See setpoint goal.")
@_asked
@click.option(
    "--estimator",
    metavar="NAME",
    help="auto (several under the goal), logistic, hist-gradient-boosting, random-forest or "
    "a.module.Class.  [default: auto]",
)
@click.option(
    "--decide-on",
    multiple=True,
    metavar="COLS|none",
    help="For the rule beside the score; else those that the goal names.",
)
@click.option("--draws", "randomized", is_flag=True, help="The rule may decide by chance.")
@_columns
@_rows
@_written
@click.option(
    "--explore",
    metavar="FILE",
    help="The page to write on which bounds are moved by hand; also if no rule meets the goal.",
)
@settings_option("solver", *_COMMON, "defer-label")
def fit(
    data: str,
    goal_text: str,
    settings: dict[str, Any],
    datasets: tuple[str, ...],
    decide_on: tuple[str, ...],
    **asked: Any,
) -> None:
    """Fit a model and find the rule for its scores that reaches a goal.

    DATA is a CSV, Excel or Parquet file, or '-' for stdin. Some rows are held out and judge the
    rule, or with --confidence certify it. Columns that the goal names, as in
    recall.difference(sex), are not shown to the model. If no rule meets the goal, the command
    says what is reachable and writes no model. 'setpoint train' trains the model itself for the
    goal.
    """
    from setpoint.goals import as_goal

    goal = as_goal(goal_text)
    if goal.is_blackbox:
        raise shell.CommandError(
            "--goal names a metric without a formula: name its function, setpoint train --metric"
        )
    asked["decide_on"] = decide_on or None
    fit_in_memory(data, goal, None, settings, asked, shell.named_files(datasets), {})


@click.command(
    cls=shell.GroupedCommand,
    groups={
        "What is asked for": (
            "--target", "--goal", "--metric", "--positive", "--confidence", "--judge-by",
        ),
        "Model": ("--solver", "--module"),
        **_GROUPS,
    },
    epilog="\b\nFor example:\n"
    "  setpoint train clicks.csv --target clicked --goal f1 --model clicks.skops\n"
    "  setpoint train shop.csv --target bought --metric shop:revenue --model shop.skops",
)  # fmt: skip
@_data
@_target
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="See setpoint goal. Or --metric, one of the two."
)
@click.option(
    "--metric",
    metavar="MODULE:NAME",
    help="A Python function of true labels and decisions, such as shop:revenue; its code is run.",
)
@_asked
@click.option(
    "--solver",
    type=click.Choice([*_TRAINERS, "post-shift"]),
    metavar="NAME",
    help="portfolio, or augmented-lagrangian where the goal has groups, data sets or a deployed "
    "model; adaptive-surrogates for --metric. Or "
    f"{', '.join(n for n in [*_TRAINERS, 'post-shift'] if n not in _TRAINERS[:1])}.",
)
@click.option("--module", type=click.Choice(MODULES), help="The model to train.  [default: linear]")
@_columns
@_rows
@_written
@settings_option(
    *_COMMON, "budget", "baseline-threshold", "min-positives", "validation-fraction",
    "validation", "checkpoint", "surrogates",
    "surrogate-group", "inverse-regularization", "draws", "estimator", "lower-is-better", "takes",
)  # fmt: skip
def train(
    data: str,
    goal_text: str | None,
    metric: str | None,
    solver: str | None,
    module: str | None,
    settings: dict[str, Any],
    datasets: tuple[str, ...],
    **asked: Any,
) -> None:
    """Train a model for a goal, over the rows as a whole.

    As 'setpoint fit', but the model itself is trained, and not only a rule found for its
    scores. A metric without a formula is a Python function (--metric), looked for in the
    current folder and then where Python looks; it is given the columns that its parameters
    name, dropped ones too. Ctrl-C ends its search, and the best so far is written.
    """
    from setpoint.goals import as_goal
    from setpoint.tasks import NamedMetric, metric_of, module_file

    if (goal_text is None) == (metric is None):
        what = "one of the two is needed" if metric is None else "they are not taken together"
        raise click.UsageError(
            f"--goal 'maximize ...' says what is asked for, or --metric module:function: {what}"
        )
    lower, takes = settings.pop("lower_is_better", False), settings.pop("takes", None)
    named = NamedMetric(metric, lower, takes)
    own = metric_of(named)
    goal = own.goal if own is not None else as_goal(str(goal_text))
    if own is None and goal.is_blackbox:
        raise shell.CommandError(
            "--goal names a metric without a formula: name its function, --metric"
        )
    settings["solver"] = solver or training_solver(goal, own is not None)
    if solver is None and own is not None and "estimator" in settings:
        settings["solver"] = "post-shift"
    if module is not None:
        settings["module"] = module
    asked["randomized"] = settings.pop("randomized", False)
    fit_in_memory(data, goal, own, settings, asked, shell.named_files(datasets), module_file(named))
