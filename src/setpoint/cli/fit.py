"""``setpoint fit`` and ``setpoint train``: from a table and a goal to a model file and a page."""

from __future__ import annotations

from typing import Any, Protocol

import click

from setpoint.cli.certifying import level_of
from setpoint.cli.errors import FAILED, SHOWN, STOPPED, CommandError, require_packages
from setpoint.cli.files import check_outputs
from setpoint.cli.fit_output import fit_json, fit_text
from setpoint.cli.groups import GroupedCommand
from setpoint.cli.options import as_json, datasets_option, named_files, together
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import READING, SETTINGS, reading_of, settings_option
from setpoint.cli.verdicts import accept_option, code_of, infeasible_json, infeasible_text
from setpoint.cli.writing import Page, command_text, write_fit, write_infeasible
from setpoint.goals.goal import Goal
from setpoint.solvers import SOLVERS
from setpoint.tasks.fitted import FittedTable
from setpoint.tasks.settings import FitSettings
from setpoint.tasks.solver_choice import MODULES, choose_solver, training_solver

__all__ = ["fit", "train"]

_COMMON = (*READING, "seed", "max-seconds", "certify-on", "certification-size", "strict",
           "uncertified", "jobs")  # fmt: skip
_TRAINERS = [name for name, s in SOLVERS.items() if s.family != "plugin"]

_data = click.argument("data")
_target = click.option("--target", required=True, metavar="COL", help="The column to predict.")
_asked = together(
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
_columns = together(
    click.option(
        "--sensitive",
        multiple=True,
        metavar="COLS",
        help="Not for the model to look at, like those that the goal names.",
    ),
    click.option("--drop", multiple=True, metavar="COLS", help="To leave out."),
    click.option("--baseline", metavar="COL", help="The deployed model's predictions."),
    datasets_option,
)
_rows = together(
    click.option(
        "--test-size",
        type=click.FloatRange(0, 1, max_open=True),
        metavar="SHARE",
        help="Held out to judge the rule. Else 0.25, or 0 with --confidence.",
    ),
    click.option(
        "--test-by",
        metavar="COL",
        help="Hold out the last dates of COL, or whole customers.",
    ),
    click.option("--skip-unlabelled", is_flag=True, help="Leave out rows without a label."),
)
_written = together(
    click.option("--model", required=True, metavar="FILE", help="The model file to write."),
    click.option("--report", metavar="FILE", help="The HTML page to write."),
    accept_option,
    as_json,
)
_GROUPS = {
    "Columns and tables": ("--sensitive", "--drop", "--baseline", "--dataset"),
    "Rows that judge": ("--test-size", "--test-by", "--skip-unlabelled"),
    "Output": ("--model", "--report", "--accept", "--json"),
}


@click.command(
    cls=GroupedCommand,
    groups={
        "What is asked for": ("--target", "--goal", "--positive", "--confidence", "--judge-by"),
        "Model and rule": ("--estimator", "--decide-on", "--draws"),
        **_GROUPS,
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
    help="logistic, hist-gradient-boosting, random-forest or a.module.Class.",
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
@settings_option("solver", *_COMMON, "engine", "scheduler", "rows-for-fit")
def fit(
    data: str,
    goal_text: str,
    settings: dict[str, Any],
    datasets: tuple[str, ...],
    decide_on: tuple[str, ...],
    **asked: Any,
) -> None:
    """Fit a model and find the rule for its scores that reaches a goal.

    DATA is a CSV or Parquet file, or '-' for stdin. Some rows are held out and judge the rule,
    or with --confidence certify it. Columns that the goal names, as in recall.difference(sex),
    are not shown to the model. If no rule meets the goal, the command says what is reachable
    and writes no model. 'setpoint train' trains the model itself for the goal.
    """
    from setpoint.goals import as_goal

    goal = as_goal(goal_text)
    if goal.is_blackbox:
        raise CommandError(
            "--goal names a metric without a formula: name its function, setpoint train --metric"
        )
    asked["decide_on"] = decide_on or None
    if _engine(settings, data, goal):
        _fit_files(data, goal, settings, asked)
        return
    _fit(data, goal, None, settings, asked, named_files(datasets), {})


@click.command(
    cls=GroupedCommand,
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
    from setpoint.tasks.own_metric import NamedMetric, metric_of, module_file

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
        raise CommandError("--goal names a metric without a formula: name its function, --metric")
    settings["solver"] = solver or training_solver(goal, own is not None)
    if solver is None and own is not None and "estimator" in settings:
        settings["solver"] = "post-shift"
    if module is not None:
        settings["module"] = module
    asked["randomized"] = settings.pop("randomized", False)
    _fit(data, goal, own, settings, asked, named_files(datasets), module_file(named))


class _Prepared(Protocol):
    """A fit that was checked: all but the work."""

    @property
    def goal(self) -> Goal: ...
    @property
    def settings(self) -> FitSettings: ...
    @property
    def cautions(self) -> list[str]: ...
    def run(self) -> FittedTable: ...


def _fit(
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
    outputs = {"--model": model, "--report": report, "--set checkpoint": checkpoint}
    check_outputs(outputs, inputs | code)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    wanted = _wanted(settings, asked, own, HELD_OUT if confidence is None else 0.0, confidence,
                     "validation" in tables)  # fmt: skip
    if checkpoint is not None:
        current().expect(checkpoint)
    prepared = prepare_fit(
        data, goal, wanted, datasets=files, reading=reading, journal=current(),
        judge_by=asked["judge_by"], skip_unlabelled=asked["skip_unlabelled"], **tables,
    )  # fmt: skip
    paths = {"data": data, "model": model, "report": report, "datasets": files, **tables}
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


def _engine(settings: dict[str, Any], data: str, goal: Goal) -> bool:
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


def _fit_files(data: str, goal: Goal, settings: dict[str, Any], asked: dict[str, Any]) -> None:
    """Fit on Parquet files that are counted where they lie."""
    from setpoint.tasks.fit_elsewhere import prepare_files

    model, report = asked["model"], asked["report"]
    check_outputs({"--model": model, "--report": report}, {"DATA": data})
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    engine, scheduler = settings.pop("engine"), settings.pop("scheduler", None)
    rows_for_fit = settings.pop("rows_for_fit", None)
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
    from setpoint.search import InfeasibleError

    goal, model, report = prepared.goal, asked["model"], asked["report"]
    command = str(click.get_current_context().info_name)
    again: dict[str, str | None] = {"goal": "{goal}", "judge_by": None}
    held_out = again if prepared.settings.test_size > 0 else again | {"test_size": None}
    page = Page(
        report, data, model, command_text(**again), command_text(**held_out), prepared.cautions
    )
    try:
        fitted = prepared.run()
    except InfeasibleError as error:
        if report is not None:
            write_infeasible(error, goal, page)
        if asked["as_json"]:
            print_json(
                {"command": command, "goal": str(goal), **infeasible_json(error, goal)}, paths
            )
        else:
            click.echo(infeasible_text(error, goal, "no model was written"))
            if report is not None:
                click.echo(f"\nWrote the page to {report}.")
        raise click.exceptions.Exit(FAILED) from error
    write_fit(fitted, page)
    if asked["as_json"]:
        out, run = fit_json(command, goal, fitted)
        print_json(out, {**paths, **run})
    else:
        judged_again = fitted.guarantee is None and not fitted.counted
        click.echo(fit_text(fitted, page.with_margin(fitted.judged) if judged_again else ""))
        click.echo(
            f"Wrote the model to {model}" + (f" and the page to {report}." if report else ".")
        )
    if current().stopped:
        click.echo(current().last_words(), err=True)
        raise click.exceptions.Exit(STOPPED)
    if fitted.guarantee is not None:
        raise click.exceptions.Exit(SHOWN if fitted.guarantee.state == "certified" else FAILED)
    raise click.exceptions.Exit(code_of(fitted.judged, asked["accept"]))
