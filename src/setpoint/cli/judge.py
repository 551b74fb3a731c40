"""Commands that judge: ``evaluate``, ``compare`` and ``plan``."""

from __future__ import annotations

from collections.abc import Sequence
from glob import has_magic
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, blocks, command, judged, styled, wrote
from setpoint.cli.options import READING, Asked, Option, level_of, refuse
from setpoint.cli.session import metric_for, module_file, opened, opened_with
from setpoint.goals import as_goal
from setpoint.tables import (
    TableFile,
    guarantee_facts,
    guarantee_text,
    only_one_stdin,
    step,
    warnings_as_notes,
)

if TYPE_CHECKING:
    import pandas as pd

    from setpoint.judging import ModelComparison
    from setpoint.tables import Table


# --- ``setpoint evaluate``: how far a stored model, or decisions in tables ------------------------


_OF_MODEL = (
    "metric", "takes", "lower_is_better", "trust", "unknown_group", "skip_unlabelled"
)  # fmt: skip
_OF_TABLES = ("pos_label", "sensitive", "weight", "defer_label")
"""Options that go with a model file, and those that go with ``--prediction``."""


@command(
    "MODEL [DATA] [TABLES]...",
    "target prediction pos_label sensitive weight baseline units metric report goal "
    "skip_unlabelled accept datasets unknown_group as_json trust",
    "setpoint evaluate loans.skops this-month.csv && echo shown",
    "setpoint evaluate 'decided/*.parquet' --target repaid --prediction prediction \\\n"
    "    --goal 'maximize recall subject to precision >= 0.9'",
    sets=f"{READING} lower-is-better takes defer-label",
    checks=False,
    prediction="The column with decisions: then there is no MODEL, all arguments are tables, and "
    "DuckDB counts them where they are.",
    pos_label="With --prediction: the positive class of two.",
    baseline="The deployed model's predictions, or its scores if the fit took scores; else "
    "likewise.",
    metric="The function, if the model was fitted for one.",
    goal="Another goal to judge by, such as one with other bounds; else that of the fit, or what "
    "its --judge-by says.",
)
def evaluate(asked: Asked) -> Ending:
    """Judge a model file by a table with labels, or decisions that are a column of tables.

    With --prediction TABLES take the place of MODEL and DATA: Parquet or CSV files, patterns of
    them in quotes, or one table of a DuckDB database as name.duckdb::table.

    Model files name a metric of your own and hold no code, so --metric is needed again.
    The exit code is 0 if these rows show that the goal holds on new rows, 3 if they show
    that it fails, and 4 if it is too close to call (--accept too-close makes that 0).
    """
    decided = asked.prediction is not None
    for name in _OF_MODEL if decided else _OF_TABLES:
        if asked.get(name) not in (None, False, (), "raise"):
            why = "is for a model file, and --prediction names decisions"
            if not decided:
                known = name == "defer_label"
                why = "goes with --prediction"
                why += ": a model file knows its own" if known else ", a column of decisions"
            raise shell.CommandError(f"{shell.option_of(name)} {why}")
    if decided:
        return _evaluate_tables(asked)
    if asked.data is None:
        raise click.UsageError("Missing argument 'DATA'.")
    several = f"{1 + len(asked.tables)} tables" if asked.tables else f"DATA is {asked.data}"
    refuse(
        asked.tables or _is_many(asked.data),
        f"a model file is judged by one table in a file, and {several}: decide them with setpoint "
        "predict MODEL FILES --output FOLDER/, with --keep for the target, then name the column "
        "with --prediction",
    )
    return _evaluate_model(asked)


def _evaluate_model(asked: Asked) -> Ending:
    """Judge a model file by a table."""
    from setpoint.report import Header

    shell.check_files(module_file(asked.metric))
    stored, table = opened_with(asked, asked.data)
    goal = metric_for(stored, asked) or asked.goal
    found = stored.evaluate(table, goal=goal, **asked.only("baseline datasets units"))
    rows = f"{len(table.frame):,} rows"
    about = {
        "The data": (f"{rows} from {table.name}", *table.notes),
        "The model and the rows it was fitted on": stored.notes,
    }
    files = shell.named_files()
    del files["tables"]
    what = {"target": stored.target, "guarantee": guarantee_facts(stored)}
    return judged(
        "evaluated", found, rows, what, page=asked.report, about=about,
        header=Header(table.name, asked.model), at_shell=False, files=files,
        before=guarantee_text(stored),
    )  # fmt: skip


def _evaluate_tables(asked: Asked) -> Ending:
    """Judge decisions that are a column of tables."""
    from setpoint.report import Header
    from setpoint.tables import evaluate_tables

    missing = "--goal" if asked.goal is None else "--target"
    if asked.goal is None or asked.target is None:
        raise click.UsageError(f"--prediction goes with --goal and --target: {missing} is missing")
    meant = as_goal(asked.goal)
    paths = [path for path in (asked.model, asked.data, *asked.tables) if path is not None]
    shell.check_files({f"TABLES {i}": path for i, path in enumerate(paths, 1)})
    columns = "prediction target pos_label weight baseline units sensitive datasets defer_label"
    found, name = evaluate_tables(paths, meant, reading=asked.reading, **asked.only(columns))
    rows = f"{found.counts.n_rows:,} rows"
    about = {"The data": (f"{rows} from {name}", *shell.current().notes)}
    files = {"tables": paths, "report": asked.report, "datasets": shell.named_files()["datasets"]}
    return judged(
        "evaluated", found, rows, {"target": asked.target, "guarantee": None}, page=asked.report,
        about=about, header=Header(name), at_shell=False, files=files,
    )  # fmt: skip


def _is_many(path: str) -> bool:
    """Whether a path is a pattern, or names a table of a database.

    Examples
    --------
    >>> _is_many("scores/*.parquet"), _is_many("risk.duckdb::scores"), _is_many("a.csv")
    (True, True, False)
    """
    return not Path(path).exists() and ("::" in path or has_magic(path))


# --- ``setpoint compare``: two stored models on the same rows -------------------------------------


@command(
    "MODEL_A MODEL_B DATA",
    "goal target units datasets skip_unlabelled unknown_group accept picture changed report "
    "as_json trust",
    "setpoint compare old.skops new.skops this-month.csv && echo better",
    "setpoint compare old.skops new.skops this-month.csv --report page.html --changed rows.csv",
    sets=READING,
    goal="The goal to judge by; else that of MODEL_A.",
    report="A page for those who decide, as HTML.",
)
def compare(asked: Asked) -> Ending:
    """Compare the candidate MODEL_B with MODEL_A, today's, on a table with labels.

    B is better if its objective is shown to be better and every constraint of the goal holds as
    surely as for A, or if B is shown to meet the goal and A to fail it. Where a goal refers to
    the deployed model, that is A.

    The exit code is 0 if B is shown to be better, 3 if it is shown to be worse, and 4 if it is
    too close to call (--accept too-close makes that 0).
    """
    from setpoint import compare as compared
    from setpoint.tables import columns_of_all, labelled_rows, read

    written = [asked.picture, asked.changed, asked.report]
    only_one_stdin([asked.data, *asked.datasets.values()])
    today, new = (opened(asked, path) for path in (asked.model_a, asked.model_b))
    table = read(TableFile(asked.data, **asked.reading), columns_of_all([today, new]))
    if asked.skip_unlabelled:
        table = labelled_rows(table, today.target)
    drawn = asked.picture is not None or asked.report is not None
    models = {"A": today, "B": new}
    found = compared(asked.goal, models, table, frontier=drawn, **asked.only("datasets units"))
    refuse(
        asked.picture is not None and not found.points,
        "--picture: the frontiers are those of models of two classes",
    )
    shell.draw(asked.picture, found.plot)
    if asked.changed is not None:
        rows = _changed(found, table).to_csv(index=False, lineterminator="\n")
        shell.write(asked.changed, rows)
    if asked.report is not None:
        from setpoint.report import Header

        header = Header(asked.data, f"A: {asked.model_a}, B: {asked.model_b}")
        with shell.writing(asked.report):
            found.to_html(asked.report, header=header)

    def text() -> str:
        from setpoint.report import printed, sentence

        first = printed(f"A, of today: {asked.model_a}\nB, the candidate: {asked.model_b}\n")
        word = sentence(found.verdict)
        body = str(found).replace(word, styled(word, found.verdict), 1)
        paths = ", ".join(path for path in written if path is not None)
        return blocks(f"{first}\n{body}", f"Wrote {paths}." if paths else "")

    files = {name: path for name, path in shell.named_files().items() if path is not None}
    what, reports = found.to_dict(), {name.lower(): r for name, r in found.reports.items()}
    return Ending(text, what | {"target": today.target}, reports=reports, files=files)


def _changed(found: ModelComparison, table: Table) -> pd.DataFrame:
    """The rows that change, with the columns of the table behind."""
    import pandas as pd

    own = pd.DataFrame(found.changed)
    rest = table.frame.iloc[own["row"].to_numpy()].reset_index(drop=True)
    taken = {name: f"{name} (column)" for name in rest.columns if name in own.columns}
    return pd.concat([own, rest.rename(columns=taken)], axis=1)


# --- ``setpoint plan``: how many rows it takes to certify a goal ----------------------------------


@command(
    "GOAL [DATA]",
    "target prediction model pos_label baseline units rates confidence power picture datasets "
    "as_json trust",
    "setpoint plan 'maximize precision subject to recall >= 0.9' \\\n"
    "    --rate prior=0.1 --rate recall=0.93",
    "setpoint plan 'maximize recall subject to precision >= 0.9' old.csv \\\n"
    "    --target repaid --prediction decision",
    sets=READING,
    pos_label="The positive class of two.",
    baseline="The deployed model's predictions.",
    confidence=Option(
        "--confidence C",
        "Of constraints without one of their own.",
        callback=level_of,
        default="0.95",
        show_default=True,
    ),
)
def plan(asked: Asked) -> Ending:
    """Say how many rows it takes to certify a goal on new rows.

    How good decisions are is counted on DATA, a table with labels and decisions, or on which a
    model file decides; or it is stated, with --rate. Rows that certify are none of those, and
    take no part in the fit. The exit code is 3 if the decisions do not meet a bound: then no
    number of rows certifies it.
    """
    from setpoint.classifiers import rows_needed
    from setpoint.tables import pilot_of_table

    goal, data = as_goal(asked.goal), asked.data
    _check(asked)
    pilot: dict[str, Any]
    if data is None:
        pilot = {"rates": _stated(asked.rates)}
    elif asked.model is not None:
        stored, table = opened_with(asked, data)
        pilot = stored.pilot(table, asked.goal, **asked.only("baseline datasets units"))
    else:
        columns = asked.only("target prediction pos_label baseline datasets units")
        pilot = pilot_of_table(goal, TableFile(data, **asked.reading), **columns)
    with step("counting rows"), warnings_as_notes():
        found = rows_needed(goal, **asked.only("confidence power"), **pilot)
    shell.draw(asked.picture, found.plot)
    status = "not met" if found.rows is None else "planned"
    what = {"status": status, "plan": found.to_dict()}
    return Ending(lambda: blocks(str(found), wrote(picture=asked.picture)), what)


def _check(asked: Asked) -> None:
    """Where the assumed values come from: exactly one place."""
    refuse(
        (asked.data is None) == (not asked.rates),
        "name a table with labels and decisions, or state rates with --rate prior=0.1 and so on: "
        "one of the two is wanted",
    )
    given = [n for n, v in asked.only("target prediction model pos_label units").items() if v]
    if asked.rates and given:
        option = shell.option_of(given[0])
        raise shell.CommandError(f"{option} belongs to a table, and --rate needs none")
    if asked.rates:
        return
    refuse(
        ("prediction" in given) == ("model" in given),
        "the decisions on the rows of DATA come from a column, --prediction COL, or from a model "
        "file, --model FILE: one of the two is wanted",
    )
    missing = "model" not in given and "target" not in given
    refuse(missing, "name the column with the labels, --target COL")
    known = "model" in given and "pos_label" in given
    refuse(known, "--positive: the model file knows the positive class")


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
