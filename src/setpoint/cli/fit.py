"""``setpoint fit`` and ``setpoint train``: from a table and a goal to a model file and a page."""

from __future__ import annotations

from typing import Any

import click

from setpoint.cli.certifying import level_of
from setpoint.cli.errors import CommandError
from setpoint.cli.fit_run import fit_in_memory
from setpoint.cli.groups import GroupedCommand
from setpoint.cli.options import as_json, datasets_option, named_files, together
from setpoint.cli.settings import READING, settings_option
from setpoint.cli.verdicts import accept_option
from setpoint.solvers import SOLVERS
from setpoint.tasks.solver_choice import MODULES, training_solver

__all__ = ["fit", "train"]

_COMMON = (*READING, "seed", "max-seconds", "certify-on", "certification-size", "strict",
           "uncertified")  # fmt: skip
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
        help="Held out to judge the rule. Default: 0.25, or 0 with --confidence.",
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
    """Fit a model and find the rule for its scores that reaches a goal."""
    from setpoint.goals import as_goal

    goal = as_goal(goal_text)
    if goal.is_blackbox:
        raise CommandError(
            "--goal names a metric without a formula: name its function, setpoint train --metric"
        )
    asked["decide_on"] = decide_on or None
    fit_in_memory(data, goal, None, settings, asked, named_files(datasets), {})


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
    """Train a model for a goal, over the rows as a whole."""
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
    fit_in_memory(data, goal, own, settings, asked, named_files(datasets), module_file(named))
