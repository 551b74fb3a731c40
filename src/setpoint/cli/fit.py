"""``setpoint fit`` and ``setpoint train``: from a table and a goal to a model file and a page."""

from __future__ import annotations

import shlex
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

import click

from setpoint import search
from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, Page, command, command_text, styled, verdict, wrote
from setpoint.cli.options import READING, Asked, refuse
from setpoint.cli.session import metric_of, module_file
from setpoint.errors import InputError
from setpoint.goals import Goal, as_goal
from setpoint.tables import TableFile, certifying, judged_on, note, training_solver

if TYPE_CHECKING:
    from setpoint.report import Header


# --- What ``setpoint fit`` and ``setpoint train`` do with their options ---------------------------


def _worded(report: Any) -> Any:
    """A report whose warnings name the options of the shell."""
    if report is None:
        return None
    return replace(report, warnings=tuple(map(shell.in_shell_words, report.warnings)))


_OF_COMMAND = {
    "data", "new", "report", "explore", "reading", "datasets", "skip_unlabelled", "validation",
    "certify_on", "metric", "lower_is_better", "takes", "as_json", "accept",
}  # fmt: skip
"""What neither the model nor its classifier takes."""


def _fit(asked: Asked, goal: Goal, own: Any = None) -> Ending:
    """Fit on tables in memory, write and print."""
    from setpoint.classifiers import save_model
    from setpoint.report import Header, command_for, stricter_goal, sure
    from setpoint.tables import (
        TableModel,
        costs_of_constraints,
        explore_fit,
        fit_facts,
        fit_tables,
        fit_text,
        read_tables,
        write_page,
    )  # fmt: skip

    data, new, report, explore = asked.data, asked.new, asked.report, asked.get("explore")
    apart = asked.only("validation certify_on")
    more = asked.only("datasets skip_unlabelled")
    more |= {name: TableFile(path, **asked.reading) for name, path in apart.items()}
    parameters = asked.only(" ".join(f.name for f in fields(TableModel) if f.init))
    given = {name: value for name, value in vars(asked).items() if value is not None}
    rest = {name: given[name] for name in given.keys() - parameters.keys() - _OF_COMMAND}
    fitted = TableModel(**parameters | {"goal": own or goal}, parameters=rest)
    read = read_tables(fitted, TableFile(data, **asked.reading), **more)
    paths: dict[str, Any] = {"data": data, "model": new, "report": report, **apart}
    paths["datasets"] = {name: file.path for name, file in asked.datasets.items()}
    paths |= {} if explore is None else {"explore": explore}
    again: dict[str, str | None] = {"goal": "{goal}", "judge_by": None}
    held_out = again if fitted.share_held_out > 0 else again | {"test_size": None}
    header = Header(data, new, command_text(**again), tuple(fitted.cautions))
    shell.current().page = Page(report, header, read.goal, paths)

    def judging(goal: str) -> Header:
        command = f"{command_text(**held_out)} --judge-by {shlex.quote(goal)}"
        return replace(header, command=command)

    try:
        fit_tables(fitted, read)
    except search.InfeasibleError as error:
        if explore is not None:
            from setpoint.cli.stored import explore_infeasible

            explore_infeasible(error, read.goal, explore, header.command)
        raise
    fitted.report, fitted.held_out = _worded(fitted.report), _worded(fitted.held_out)
    guarantee = fitted.guarantee
    costs = costs_of_constraints(fitted) if report else ()
    with shell.writing(new):  # first, as the page can be made again from it
        save_model(fitted, new)
        _note_foreign(fitted.choice.estimator, new)
    if report is not None:
        # Advice that moves a bound keeps the one that is meant; certified is what was asked for.
        with shell.writing(report):
            top = header if guarantee is not None else judging(fitted.judged.goal)
            write_page(fitted, report, top, costs)
    if explore is not None:
        from setpoint.cli.stored import write_explorer

        try:
            write_explorer(explore_fit(fitted), explore, new, data)
        except InputError as why:
            note(f"{explore} was not written: {why}")

    def text() -> str:
        stricter = None if guarantee else stricter_goal(fitted.judged, fitted.report)
        margin = "" if stricter is None else command_for(stricter, judging(fitted.judged.goal))
        moved = [] if explore is None else [f"Bounds are moved by hand on {explore}."]
        first = verdict(fitted.judged, judged_on(fitted))
        if guarantee is not None:
            certified, where = guarantee.state == "certified", certifying(fitted)
            word = styled("Certified" if certified else "NOT certified", guarantee.state)
            shows = "do not show that the goal holds on new rows"
            shows = f", on {where}." if certified else f": {where} {shows}."
            first = f"{word} at {sure(guarantee.confidence)}{shows}"
        found = shell.in_shell_words(f"{first}\n\n{fit_text(fitted, margin)}")
        return "\n".join([found, wrote(model=new, page=report), *moved])

    reports = {"fitted": fitted.report, "held_out": fitted.held_out}
    return Ending(text, fit_facts(fitted, read.goal), reports=reports, files=paths)


def _note_foreign(estimator: str | None, model: str) -> None:
    """Whoever reads a model of another package has to trust its types."""
    from setpoint.classifiers import TRUSTED_TYPES
    from setpoint.tables import LEARNERS

    if estimator is None or estimator in ("auto", *LEARNERS) or estimator.startswith("sklearn."):
        return
    from setpoint.classifiers import skops_io

    foreign = sorted({*skops_io().get_untrusted_types(file=model)} - {*TRUSTED_TYPES})
    if foreign:
        trust = " ".join(f"--trust {name}" for name in foreign)
        note(f"{model} holds types of other packages; its readers need {trust}")


# --- ``setpoint fit`` and ``setpoint train`` ------------------------------------------------------


_COMMON = (
    f"{READING} seed max-seconds certify-on certification-size largest-unit strict uncertified"
)
_GROUPS = {
    "Columns and tables": "sensitive drop baseline units datasets",
    "Rows that judge": "test_size test_by skip_unlabelled",
    "Output": "new! report accept as_json",
}
_WORDS: dict[str, Any] = {
    "target": "The column to predict.",
    "sensitive": "Not for the model to look at, like those that the goal names.",
    "baseline": "The deployed model's predictions.",
}


@command(
    "DATA",
    {
        "What is asked for": "target! goal! pos_label confidence judge_by",
        "Model and rule": "estimator decide_on randomized",
        **_GROUPS,
        "Output": "new! report explore accept as_json",
    },
    "setpoint fit loans.csv --target repaid --positive no --drop id \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9' \\\n"
    "    --model loans.skops --report loans.html",
    sets=f"solver {_COMMON} defer-label",
    without_rule="no model was written",
    **_WORDS,
)
def fit(asked: Asked) -> Ending:
    """Fit a model and find the rule for its scores that reaches a goal.

    DATA is a CSV, Excel or Parquet file, or '-' for stdin. Some rows are held out and judge the
    rule, or with --confidence certify it. Columns that the goal names, as in
    recall.difference(sex), are not shown to the model. If no rule meets the goal, the command
    says what is reachable and writes no model. 'setpoint train' trains the model itself for the
    goal.
    """
    goal = as_goal(asked.goal)
    refuse(
        goal.is_blackbox,
        "--goal names a metric without a formula: name its function, setpoint train --metric",
    )
    asked.decide_on = asked.decide_on or None
    return _fit(asked, goal)


@command(
    "DATA",
    {
        "What is asked for": "target! goal metric pos_label confidence judge_by",
        "Model": "solver module",
        **_GROUPS,
    },
    "setpoint train clicks.csv --target clicked --goal f1 --model clicks.skops",
    "setpoint train shop.csv --target bought --metric shop:revenue --model shop.skops",
    sets=f"{_COMMON} budget baseline-threshold min-positives validation-fraction validation "
    "checkpoint surrogates surrogate-group inverse-regularization draws estimator "
    "lower-is-better takes",
    checks=False,
    without_rule="no model was written",
    **_WORDS,
    goal="See setpoint goal. Or --metric, one of the two.",
)
def train(asked: Asked) -> Ending:
    """Train a model for a goal, over the rows as a whole.

    As 'setpoint fit', but the model itself is trained, and not only a rule found for its
    scores. A metric without a formula is a Python function (--metric), looked for in the
    current folder and then where Python looks; it is given the columns that its parameters
    name, dropped ones too. Ctrl-C ends its search, and the best so far is written.
    """
    goal, metric = asked.goal, asked.metric
    if (goal is None) == (metric is None):
        what = "one of the two is needed" if metric is None else "they are not taken together"
        raise click.UsageError(
            f"--goal 'maximize ...' says what is asked for, or --metric module:function: {what}"
        )
    own = metric_of(metric, asked.get("lower_is_better", False), asked.get("takes"))
    wanted = as_goal(goal if own is None else own)
    refuse(
        own is None and wanted.is_blackbox,
        "--goal names a metric without a formula: name its function, --metric",
    )
    shell.check_files(module_file(metric))
    if asked.solver is None:
        moved = own is not None and hasattr(asked, "estimator")
        asked.solver = "post-shift" if moved else training_solver(wanted, own is not None)
    return _fit(asked, wanted, own)
