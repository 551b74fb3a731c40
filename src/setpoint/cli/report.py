"""``setpoint report``: the page of a stored model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from setpoint.cli.certifying import certified_before, certified_json
from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, keep_old_on_error
from setpoint.cli.options import (
    as_json,
    datasets_option,
    named_files,
    new_groups_option,
    skip_option,
    target_option,
    trust_option,
)
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.cli.verdicts import report_json, status_of, verdict
from setpoint.packages import require_packages

__all__ = ["report"]


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint report loans.skops this-month.csv -o this-month.html\n"
    "  setpoint report loans.skops"
)
@click.argument("model")
@click.argument("data", required=False)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    help="The HTML page to write. Default: the name of MODEL with .html, if there is none yet.",
)
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="Another goal to judge by; else as evaluate does."
)
@target_option
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@click.option(
    "--metric", metavar="MODULE:NAME", help="The function, if the model was fitted for one."
)
@datasets_option
@skip_option
@new_groups_option
@as_json
@trust_option
@settings_option(*READING, "lower-is-better", "takes")
def report(
    model: str,
    data: str | None,
    output: str | None,
    goal_text: str | None,
    target: str | None,
    baseline: str | None,
    metric: str | None,
    datasets: tuple[str, ...],
    skip_unlabelled: bool,
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Write the page of a model file: on a table with labels, or as it was judged in the fit.

    The exit code is 0 if the page was written, whatever it says; that of setpoint evaluate says
    whether the goal is reached.
    """
    from setpoint.tasks import page_of_model
    from setpoint.tasks.own_metric import NamedMetric, module_file

    files = named_files(datasets)
    path = _output(model, output)
    reading = reading_of(settings)
    named = NamedMetric(metric, settings.pop("lower_is_better", False), settings.pop("takes", None))
    inputs = {"MODEL": model} | ({} if data is None else {"DATA": data})
    inputs |= {f"--dataset {name}": file for name, file in files.items()} | module_file(named)
    check_outputs({"-o": path}, inputs)
    require_packages("setpoint report", "report", "jinja2", "matplotlib")
    asked: dict[str, Any] = {
        "goal": goal_text,
        "target": target,
        "baseline": baseline,
        "datasets": files,
        "skip_unlabelled": skip_unlabelled,
        "unknown_group": unknown_group,
    }
    if data is not None:
        asked |= {"metric": named, "reading": reading}
    elif metric is not None:
        asked["metric"] = metric
    page = page_of_model(model, data, trust=trust, journal=current(), **asked)
    session = current()
    session.expect(path)
    with session.step(f"writing {path}"), keep_old_on_error(path), session.warnings_as_notes():
        page.write(path)
    judged = page.judged
    if as_json:
        out, run = report_json(judged)
        what = {
            "command": "report",
            "status": status_of(judged),
            "goal": judged.goal,
            "target": page.target,
            "rows": judged.counts.n_rows,
            "judged": out,
            "guarantee": certified_json(page.promised, page.holds),
            "notes": session.notes,
        }
        paths = {"model": model, "data": data, "report": path, "datasets": files}
        print_json(what, {**paths, "judged": run})
        return
    where = f"{judged.counts.n_rows:,} rows{'' if data else ' of the fit'}"
    before = certified_before(page.promised, page.holds)
    click.echo("\n".join(x for x in (verdict(judged, where), before) if x))
    click.echo(f"Wrote the page to {path}.")


def _output(model: str, output: str | None) -> str:
    """Where the page goes; none is overwritten that was not named.

    Raises
    ------
    CommandError
    """
    if output is not None:
        if output == "-":
            raise CommandError("-o: the page is a file; name one that ends in .html")
        return output
    path = f"{Path(model).stem}.html"
    if Path(path).exists():
        raise CommandError(f"{path} is there already; name the page with -o, also to overwrite it")
    return path
