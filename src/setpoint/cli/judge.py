"""Commands that judge: ``evaluate``, ``compare`` and ``plan``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import (
    accept_option,
    certified_before,
    certified_json,
    code_of,
    level_of,
    report_json,
    status_of,
    verdict,
)
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.estimators import RowsNeeded
    from setpoint.report import Entry, GoalReport, Header, TextSection
    from setpoint.tasks import ComparedTables


# --- ``setpoint evaluate``: how far a stored model, or decisions in tables ------------------------


@click.command(
    epilog="\b\nFor example:\n  setpoint evaluate loans.skops this-month.csv && echo shown\n"
    "  setpoint evaluate 'decided/*.parquet' --target repaid --prediction prediction \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9'"
)
@click.argument("model")
@click.argument("data", required=False)
@click.argument("tables", nargs=-1)
@shell.target_option
@click.option(
    "--prediction",
    metavar="COL",
    help="The column with decisions: then there is no MODEL, all arguments are tables, and "
    "DuckDB counts them where they are.",
)
@click.option("--positive", metavar="LABEL", help="With --prediction: the positive class of two.")
@shell.sensitive_option
@shell.weight_option
@click.option(
    "--baseline",
    metavar="COL",
    help="The deployed model's predictions, or its scores if the fit took scores; else likewise.",
)
@click.option(
    "--metric", metavar="MODULE:NAME", help="The function, if the model was fitted for one."
)
@click.option("--report", metavar="FILE", help="The HTML page to write.")
@click.option(
    "--goal",
    "goal_text",
    metavar="TEXT",
    help="Another goal to judge by, such as one with other bounds; else that of the fit, or what "
    "its --judge-by says.",
)
@shell.skip_option
@accept_option
@shell.datasets_option
@shell.new_groups_option
@shell.as_json
@shell.trust_option
@settings_option(*READING, "lower-is-better", "takes", "defer-label")
def evaluate(
    model: str,
    data: str | None,
    tables: tuple[str, ...],
    goal_text: str | None,
    datasets: tuple[str, ...],
    settings: dict[str, Any],
    **asked: Any,
) -> None:
    """Judge a model file by a table with labels, or decisions that are a column of tables.

    With --prediction TABLES take the place of MODEL and DATA: Parquet or CSV files, patterns of
    them in quotes, or one table of a DuckDB database as name.duckdb::table.

    Model files name a metric of your own and hold no code, so --metric is needed again.
    The exit code is 0 if these rows show that the goal holds on new rows, 3 if they show
    that it fails, and 4 if it is too close to call (--accept too-close makes that 0).
    """
    files = shell.named_files(datasets)
    if asked["prediction"] is not None:
        for option, given in (
            ("--metric", asked["metric"]), ("--set takes", "takes" in settings),
            ("--set lower-is-better", "lower_is_better" in settings), ("--trust", asked["trust"]),
            ("--new-groups", asked["unknown_group"] != "raise"),
            ("--skip-unlabelled", asked["skip_unlabelled"]),
        ):  # fmt: skip
            if given:
                raise shell.CommandError(
                    f"{option} is for a model file, and --prediction names decisions"
                )
        several = (model, *([] if data is None else [data]), *tables)
        _evaluate_tables(several, goal_text, files, settings, asked)
    for option in ("positive", "sensitive", "weight"):
        if asked[option]:
            raise shell.CommandError(f"--{option} goes with --prediction, a column of decisions")
    if "defer_label" in settings:
        raise shell.CommandError(
            "--set defer-label goes with --prediction: a model file knows its own"
        )
    if data is None or tables or _is_many(data):
        _refuse_many(data, tables)
    _evaluate_model(model, data, goal_text, files, settings, asked)


def _evaluate_model(
    model: str,
    data: str,
    goal_text: str | None,
    files: dict[str, str],
    settings: dict[str, Any],
    asked: dict[str, Any],
) -> NoReturn:
    """Judge a model file by a table; this ends the command."""
    from setpoint.report import Header
    from setpoint.tasks import NamedMetric, evaluate_table, module_file

    report = asked["report"]
    lower, takes = settings.pop("lower_is_better", False), settings.pop("takes", None)
    named = NamedMetric(asked["metric"], lower, takes)
    inputs = {"MODEL": model, "DATA": data}
    shell.check_outputs({"--report": report}, inputs | module_file(named), files)
    judged = evaluate_table(
        model, data, goal=goal_text, metric=named, target=asked["target"],
        baseline=asked["baseline"], datasets=files, skip_unlabelled=asked["skip_unlabelled"],
        unknown_group=asked["unknown_group"],
        trust=asked["trust"], reading=reading_of(settings), journal=shell.current(),
    )  # fmt: skip
    if report is not None:
        _write(judged.report, report, judged.about(), Header(judged.loaded.table.name, model))
    before = certified_before(judged.promised, judged.holds)
    paths = {"model": model, "data": data, "report": report, "datasets": files}
    guarantee = certified_json(judged.promised, judged.holds)
    _end(judged.report, judged.loaded.model.target, guarantee, before, paths, asked)


def _evaluate_tables(
    paths: Sequence[str],
    goal_text: str | None,
    files: dict[str, str],
    settings: dict[str, Any],
    asked: dict[str, Any],
) -> NoReturn:
    """Judge decisions that are a column of tables; this ends the command."""
    from setpoint.goals import as_goal
    from setpoint.report import Header, TextSection
    from setpoint.tasks import evaluate_tables

    target, report = asked["target"], asked["report"]
    if goal_text is None or target is None:
        missing = "--goal" if goal_text is None else "--target"
        raise click.UsageError(f"--prediction goes with --goal and --target: {missing} is missing")
    goal = as_goal(goal_text)
    inputs = {f"TABLES {i}": path for i, path in enumerate(paths, 1)}
    shell.check_outputs({"--report": report}, inputs, files)
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    found, name = evaluate_tables(
        paths, goal, prediction=asked["prediction"], target=target, pos_label=asked["positive"],
        weight=asked["weight"], baseline=asked["baseline"], sensitive=asked["sensitive"],
        datasets=files, reading=reading_of(settings), journal=shell.current(), **settings,
    )  # fmt: skip
    if report is not None:
        lines = (f"{found.counts.n_rows:,} rows from {name}", *shell.current().notes)
        _write(found, report, [TextSection("The data", lines)], Header(name))
    run = {"tables": list(paths), "report": report, "datasets": files}
    _end(found, target, None, "", run, asked)


def _write(found: GoalReport, path: str, about: Sequence[TextSection], header: Header) -> None:
    with shell.writing(path):
        found.to_html(path, about=about, header=header)


def _end(
    found: GoalReport,
    target: str,
    guarantee: Any,
    before: str,
    paths: dict[str, Any],
    asked: Mapping[str, Any],
) -> NoReturn:
    """Print the report, and end with the verdict's code."""
    n_rows = found.counts.n_rows
    if asked["as_json"]:
        out, run = report_json(found)
        what = {
            "command": "evaluate",
            "status": status_of(found),
            "goal": found.goal,
            "target": target,
            "rows": n_rows,
            "evaluated": out,
            "guarantee": guarantee,
            "notes": shell.current().notes,
        }
        shell.print_json(what, {**paths, "evaluated": run})
    else:
        first = "\n".join(line for line in (verdict(found, f"{n_rows:,} rows"), before) if line)
        click.echo(f"{first}\n\n{found}")
        if paths["report"] is not None:
            click.echo(f"\nWrote the page to {paths['report']}.")
    raise click.exceptions.Exit(code_of(found, asked["accept"]))


def _is_many(path: str) -> bool:
    """Whether a path is a pattern, or names a table of a database.

    Examples
    --------
    >>> _is_many("scores/*.parquet"), _is_many("risk.duckdb::scores"), _is_many("a.csv")
    (True, True, False)
    """
    return not Path(path).exists() and ("::" in path or has_magic(path))


def _refuse_many(data: str | None, tables: tuple[str, ...]) -> NoReturn:
    """A model judges one table at a time."""
    if data is None:
        raise click.UsageError("Missing argument 'DATA'.")
    found = f"{1 + len(tables)} tables" if tables else f"DATA is {data}"
    raise shell.CommandError(
        f"a model file is judged by one table in a file, and {found}: decide them with setpoint "
        "predict MODEL FILES --output FOLDER/, with --keep for the target, then name the column "
        "with --prediction"
    )


# --- ``setpoint compare``: two stored models on the same rows -------------------------------------


_COLORS = {"shown to be better": "green", "shown to be worse": "red"}
_CODES = {"shown to be better": shell.SHOWN, "shown to be worse": shell.FAILED}


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint compare old.skops new.skops this-month.csv && echo better\n"
    "  setpoint compare old.skops new.skops this-month.csv --report page.html --changed rows.csv"
)
@click.argument("model_a", metavar="MODEL_A")
@click.argument("model_b", metavar="MODEL_B")
@click.argument("data")
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="The goal to judge by; else that of MODEL_A."
)
@shell.target_option
@shell.datasets_option
@shell.skip_option
@shell.new_groups_option
@accept_option
@shell.picture_option
@click.option("--changed", metavar="FILE", help="The rows that change, as CSV.")
@click.option("--report", metavar="FILE", help="A page for those who decide, as HTML.")
@shell.as_json
@shell.trust_option
@settings_option(*READING)
def compare(
    model_a: str,
    model_b: str,
    data: str,
    goal_text: str | None,
    target: str | None,
    datasets: tuple[str, ...],
    skip_unlabelled: bool,
    unknown_group: str,
    accept: str | None,
    picture: str | None,
    changed: str | None,
    report: str | None,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels.

    B is better if its objective is shown to be better and every constraint of the goal holds as
    surely as for A, or if B is shown to meet the goal and A to fail it. Where a goal refers to
    the deployed model, that is A.

    The exit code is 0 if B is shown to be better, 3 if it is shown to be worse, and 4 if it is
    too close to call (--accept too-close makes that 0).
    """
    from setpoint.tasks import compare_tables

    files = shell.named_files(datasets)
    inputs = {"MODEL_A": model_a, "MODEL_B": model_b, "DATA": data}
    outputs = {"--picture": picture, "--changed": changed, "--report": report}
    shell.check_outputs(outputs, inputs, files)
    shell.check_picture(picture)
    found = compare_tables(
        model_a, model_b, data, goal=goal_text, target=target, datasets=files,
        skip_unlabelled=skip_unlabelled,
        unknown_group=unknown_group,
        frontier=picture is not None or report is not None,
        trust=trust, reading=reading_of(settings), journal=shell.current(),
    )  # fmt: skip
    if picture is not None and not found.comparison.points:
        raise shell.CommandError("--picture: the frontiers are those of models of two classes")
    about = {"A": model_a, "B": model_b}
    _compare_write(found, outputs, data, about)
    paths = {"model_a": model_a, "model_b": model_b, "data": data, "datasets": files}
    paths |= {name.removeprefix("--"): path for name, path in outputs.items() if path is not None}
    if as_json:
        what, run = _json(found)
        shell.print_json({**what, "notes": shell.current().notes}, {**paths, **run})
    else:
        from setpoint.report import printed, sentence

        click.echo(printed(f"A, of today: {model_a}\nB, the candidate: {model_b}\n"))
        word = sentence(found.verdict)
        styled = click.style(word, fg=_COLORS.get(found.verdict, "yellow"), bold=True)
        click.echo(str(found.comparison).replace(word, styled, 1))
        wrote = [path for path in outputs.values() if path is not None]
        if wrote:
            click.echo(f"\nWrote {', '.join(wrote)}.")
    code = _CODES.get(found.verdict, shell.TOO_CLOSE)
    raise click.exceptions.Exit(shell.SHOWN if accept and code == shell.TOO_CLOSE else code)


def _compare_write(
    found: ComparedTables, outputs: Mapping[str, str | None], data: str, about: Mapping[str, str]
) -> None:
    """The picture, the rows and the page, where they are wanted."""
    picture, changed, page = (outputs[name] for name in ("--picture", "--changed", "--report"))
    if picture is not None:
        shell.draw(picture, found.comparison.plot)
    if changed is not None:
        from setpoint.inputs import atomic_write

        with shell.writing(changed):
            text = found.changed_frame().to_csv(index=False, lineterminator="\n")
            atomic_write(changed, text.encode("utf-8"))
    if page is not None:
        from setpoint.report import Header

        models = ", ".join(f"{name}: {path}" for name, path in about.items())
        with shell.writing(page):
            found.comparison.to_html(page, header=Header(data, models))


def _json(found: ComparedTables) -> tuple[dict[str, Any], dict[str, Any]]:
    """The object of ``--json``, and what of it differs between two runs."""
    from setpoint.judging import accepted

    a, run_a = report_json(found.today)
    b, run_b = report_json(found.candidate)
    changes = found.changes
    parts = [
        {
            "part": "constraint" if i else "objective",
            "text": part.today.text,
            "a": _entry(part.today),
            "b": _entry(part.candidate),
            "difference": None if part.difference is None else _entry(part.difference),
            "b_is": part.verdict,
            "rows_needed": part.rows_needed,
        }
        for i, part in enumerate(found.parts)
    ]
    what = {
        "command": "compare",
        "status": found.verdict,
        "why": found.why,
        "goal": str(found.goal),
        "target": found.loaded.model.target,
        "rows": found.candidate.counts.n_rows,
        "parts": parts,
        "accepted": {"a": accepted(found.today), "b": accepted(found.candidate)},
        "changes": {name: getattr(changes, name) for name in _CHANGES},
        "groups": [
            {"column": g.column, "value": g.value}
            | {name: getattr(g.changes, name) for name in ("rows", *_CHANGES)}
            for g in found.groups
        ],
        "a": a,
        "b": b,
    }
    return what, {"a": run_a, "b": run_b}


_CHANGES = ("changed", "wins", "losses")


def _entry(entry: Entry) -> dict[str, Any]:
    names = ("value", "low", "high", "bound")
    return {name: value for name, value in asdict(entry).items() if name in names} | {
        "verdict": entry.verdict
    }


# --- ``setpoint plan``: how many rows it takes to certify a goal ----------------------------------


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint plan 'maximize precision subject to recall >= 0.9' \\\n"
    "    --rate prior=0.1 --rate recall=0.93\n"
    "  setpoint plan 'maximize recall subject to precision >= 0.9' old.csv \\\n"
    "    --target repaid --prediction decision"
)
@click.argument("goal")
@click.argument("data", required=False)
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
@click.option("--prediction", metavar="COL", help="The column with decisions on these rows.")
@click.option(
    "--model", metavar="FILE", help="A model file that decides the rows, instead of --prediction."
)
@click.option("--positive", metavar="LABEL", help="The positive class of two.")
@click.option("--baseline", metavar="COL", help="The deployed model's predictions.")
@click.option(
    "--rate",
    "rates",
    multiple=True,
    metavar="NAME=SHARE",
    help="Instead of DATA: prior, and two of recall, precision, predicted_rate, "
    "false_positive_rate and specificity; one where the constraints depend on no other. Of "
    "groups COL=VALUE:NAME=SHARE, with the share of each.",
)
@click.option(
    "--confidence",
    default="0.95",
    show_default=True,
    metavar="C",
    callback=level_of,
    help="Of constraints without one of their own.",
)
@click.option(
    "--power",
    default="0.8",
    show_default=True,
    metavar="P",
    callback=level_of,
    help="The chance that so many rows certify the goal, if they are as assumed.",
)
@shell.picture_option
@shell.datasets_option
@shell.as_json
@shell.trust_option
@settings_option(*READING)
def plan(
    goal: str,
    data: str | None,
    target: str | None,
    prediction: str | None,
    model: str | None,
    positive: str | None,
    baseline: str | None,
    rates: tuple[str, ...],
    confidence: float,
    power: float,
    picture: str | None,
    datasets: tuple[str, ...],
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Say how many rows it takes to certify a goal on new rows.

    How good decisions are is counted on DATA, a table with labels and decisions, or on which a
    model file decides; or it is stated, with --rate. Rows that certify are none of those, and
    take no part in the fit. The exit code is 3 if the decisions do not meet a bound: then no
    number of rows certifies it.
    """
    from setpoint.goals import as_goal

    wanted = as_goal(goal)
    files = shell.named_files(datasets)
    inputs = {} if data is None else {"DATA": data}
    inputs |= {} if model is None else {"--model": model}
    shell.check_outputs({"--picture": picture}, inputs, files)
    shell.check_picture(picture)
    _check(data, target, prediction, model, positive, rates)
    session, reading = shell.current(), reading_of(settings)
    pilot: dict[str, Any]
    if data is None:
        pilot = {"rates": _stated(rates)}
    elif model is not None:
        from setpoint.tasks import load_and_read, pilot_of_model

        loaded = load_and_read(
            model, data, reading, session, trust=trust, target=target, baseline=baseline,
            files=files, judging=True, goal=goal,
        )  # fmt: skip
        with session.step("deciding"), session.warnings_as_notes():
            pilot = pilot_of_model(loaded)
    else:
        from setpoint.tasks import pilot_of_table

        assert target is not None
        assert prediction is not None
        pilot = pilot_of_table(
            wanted, data, target=target, prediction=prediction, pos_label=positive,
            baseline=baseline, datasets=files, reading=reading, journal=session,
        )  # fmt: skip
    from setpoint.estimators import rows_needed

    with session.step("counting rows"), session.warnings_as_notes():
        found = rows_needed(wanted, confidence=confidence, power=power, **pilot)
    if picture is not None:
        shell.draw(picture, found.plot)
    _say(found, data, model, picture, files, as_json)
    raise click.exceptions.Exit(shell.SHOWN if found.rows is not None else shell.FAILED)


def _say(
    found: RowsNeeded,
    data: str | None,
    model: str | None,
    picture: str | None,
    files: dict[str, str],
    as_json: bool,
) -> None:
    if as_json:
        what = {
            "command": "plan",
            "status": "planned" if found.rows is not None else "not met",
            "plan": found.to_dict(),
            "notes": shell.current().notes,
        }
        shell.print_json(
            what, {"data": data, "model": model, "picture": picture, "datasets": files}
        )
        return
    click.echo(str(found))
    if picture is not None:
        click.echo(f"\nWrote the picture to {picture}.")


def _check(
    data: str | None,
    target: str | None,
    prediction: str | None,
    model: str | None,
    positive: str | None,
    rates: Sequence[str],
) -> None:
    """Where the assumed values come from: exactly one place."""
    if (data is None) == (not rates):
        raise shell.CommandError(
            "name a table with labels and decisions, or state rates with --rate prior=0.1 and so "
            "on: one of the two is wanted"
        )
    named = {
        "--target": target, "--prediction": prediction, "--model": model, "--positive": positive
    }  # fmt: skip
    if rates:
        for option, value in named.items():
            if value is not None:
                raise shell.CommandError(f"{option} belongs to a table, and --rate needs none")
    elif (prediction is None) == (model is None):
        raise shell.CommandError(
            "the decisions on the rows of DATA come from a column, --prediction COL, or from a "
            "model file, --model FILE: one of the two is wanted"
        )
    elif prediction is not None and target is None:
        raise shell.CommandError("name the column with the labels, --target COL")
    elif model is not None and positive is not None:
        raise shell.CommandError("--positive: the model file knows the positive class")


def _stated(texts: Sequence[str]) -> dict[str, Any]:
    """Rates as the library takes them.

    Examples
    --------
    >>> _stated(["prior=0.1", "recall=85%"])
    {'prior': 0.1, 'recall': 0.85}
    >>> _stated(["sex=f:share=0.4", "sex=f:prior=0.1"])
    {'sex=f': {'share': 0.4, 'prior': 0.1}}
    """
    out: dict[str, Any] = {}
    for text in texts:
        group, colon, rest = text.rpartition(":")
        name, equals, share = rest.partition("=")
        into = out.setdefault(group, {}) if colon else out
        try:
            value = float(share.removesuffix("%")) / (100 if share.endswith("%") else 1)
        except ValueError:
            value = None
        if not equals or value is None:
            raise shell.CommandError(f"--rate is NAME=SHARE, as in recall=0.85, got {text!r}")
        if name in into:
            raise shell.CommandError(f"--rate names {name!r} twice")
        into[name.strip()] = value
    return out
