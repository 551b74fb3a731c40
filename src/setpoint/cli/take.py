"""``setpoint take``: the rule of a stored model, moved; the model is not fitted again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import click

from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.rule_files import rule_in_file
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.verdicts import (
    accept_option,
    code_of,
    report_json,
    status_of,
    verdict,
)
from setpoint.cli.writing import end_infeasible
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.rules import Rule
    from setpoint.tasks import MovedRule

__all__ = ["take"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint take loans.skops new.csv --bound 'precision >= 0.8' --model bold.skops\n"
    "  setpoint take loans.skops new.csv --line 0.35 --model at-35.skops\n"
    "  setpoint take loans.skops new.csv --rule rule.json --model by-group.skops"
)
@click.argument("model")
@click.argument("data", required=False)
@click.option(
    "--bound",
    "bounds",
    multiple=True,
    metavar="TEXT",
    help="The constraint with its new bound; one that the goal lacks is added.",
)
@click.option(
    "--line",
    type=click.FLOAT,
    metavar="T",
    help="In place of --bound: all rows with this score, as predict writes it, or more are "
    "decided positive.",
)
@click.option(
    "--rule",
    metavar="JSON",
    help="In place of both: a rule as explore and export write it, as text or a file.json. One "
    "threshold, or one for each group.",
)
@click.option("--model", "new", required=True, metavar="FILE", help="The model file to write.")
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@target_option
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@datasets_option
@skip_option
@accept_option
@as_json
@trust_option
@settings_option(*READING)
def take(
    model: str,
    data: str | None,
    bounds: tuple[str, ...],
    line: float | None,
    rule: str | None,
    new: str,
    report: str | None,
    target: str | None,
    baseline: str | None,
    datasets: tuple[str, ...],
    skip_unlabelled: bool,
    accept: str | None,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Move the rule of MODEL to another bound, without a new fit."""
    if data is None:
        raise click.UsageError(
            "Missing argument 'DATA': the rule is found on rows with labels, which a model file "
            "does not hold."
        )
    if bool(bounds) + (line is not None) + (rule is not None) != 1:
        raise click.UsageError(
            "--bound, --line or --rule: one of the three is needed, and no more."
        )
    files = named_files(datasets)
    inputs = {"MODEL": model, "DATA": data}
    if rule is not None and rule.endswith(".json"):
        inputs["--rule"] = rule
    check_outputs({"--model": new, "--report": report}, inputs, files)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    from setpoint.search import InfeasibleError
    from setpoint.tasks import move_rule

    paths = {"model": model, "data": data, "new": new, "report": report, "datasets": files}
    try:
        moved = move_rule(
            model, data, bounds=bounds, line=line, rule=_rule_of(rule), target=target,
            baseline=baseline, datasets=files, skip_unlabelled=skip_unlabelled, trust=trust,
            reading=reading_of(settings), journal=current(),
        )  # fmt: skip
    except InfeasibleError as error:
        goal = error.goal
        assert goal is not None
        what = {"command": "take", "goal": str(goal)}
        end_infeasible(error, goal, "nothing was written", what, paths, as_json=as_json)
    _write(moved, new, report)
    _end(moved, paths, accept, as_json=as_json)


def _rule_of(given: str | None) -> Rule | str | None:
    """The rule as text, or in a file."""
    return rule_in_file(given) if given is not None and given.endswith(".json") else given


def _write(moved: MovedRule, new: str, report: str | None) -> None:
    from setpoint.estimators import save_model
    from setpoint.report.page import Header

    with writing(new):
        save_model(moved.model, new)
    if report is None:
        return
    header = Header(moved.before.table.name, new)
    with writing(report):
        moved.report.to_html(report, about=moved.about(), header=header)


def _end(moved: MovedRule, paths: dict[str, Any], accept: str | None, *, as_json: bool) -> NoReturn:
    """Print the report, and end with the verdict's code."""
    found = moved.report
    if as_json:
        out, run = report_json(found)
        what = {
            "command": "take",
            "status": status_of(found),
            "goal": str(moved.goal),
            "target": moved.model.target,
            "rows": found.counts.n_rows,
            "taken": out,
            "notes": current().notes,
        }
        print_json(what, {**paths, "taken": run})
    else:
        from setpoint.report.text import report_text

        given = found.status == "evaluated"
        chosen = "that may have chosen the rule" if given else "that the rule was chosen on"
        where = f"the {found.counts.n_rows:,} rows {chosen}"
        click.echo(f"{verdict(found, where)}\n\n{report_text(found, at_shell=True)}\n")
        page = f" and the page to {paths['report']}" if paths["report"] else ""
        click.echo(f"Wrote the model to {paths['new']}{page}.")
    raise click.exceptions.Exit(code_of(found, accept))
