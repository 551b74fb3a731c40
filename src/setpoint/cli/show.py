"""Commands on a stored model: ``show``, ``export``, ``explain`` and ``monitor``."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, blocks, command, styled, wrote
from setpoint.cli.options import READING, Asked, refuse
from setpoint.cli.session import opened, opened_with
from setpoint.goals import Goal, Label
from setpoint.tables import model_text, note, step, warnings_as_notes

if TYPE_CHECKING:
    from setpoint.estimators import Monitor
    from setpoint.rules import Rule
    from setpoint.tables import TableModel


# --- ``setpoint show``: what a model file holds ---------------------------------------------------


@command(
    "MODEL",
    "report card as_json trust",
    "setpoint show loans.skops --report loans.html",
    "setpoint show loans.skops --card > README.md",
    report="The HTML page of the fit to write.",
)
def show(asked: Asked) -> Ending | None:
    """Show what a model file holds: its goal, its rule, its columns, and what was reached then.

    No table is needed, and nothing in the file is run.
    """
    from setpoint.report import card_text, printed

    if asked.card and asked.as_json:
        raise click.UsageError("--card is Markdown: leave --json out")
    found, report = opened(asked, asked.model), asked.report
    if report is not None:
        with shell.writing(report):
            found.to_html(report)
    if asked.card:
        fitted = found.classifier.goal_report_
        text = card_text(fitted, name=Path(asked.model).stem, held_out=found.held_out)
        click.echo(text, nl=False)
        return None
    facts = found.to_dict()
    return Ending(
        lambda: blocks(printed(model_text(found, facts)), wrote(page=report)),
        {"status": found.judged.verdict or "measured", **facts},
        code=shell.SHOWN,
        run={"written": found.written},
    )


# --- ``setpoint export``: the rule of a model in SQL, Python or JSON ------------------------------


@command(
    "MODEL",
    "kind! scores dialect columns hash_column name output trust",
    "setpoint export loans.skops --format sql --dialect duckdb",
    "setpoint export loans.skops --format python -o decide.py",
)
def export(asked: Asked) -> None:
    """Write the decision rule of a model, to decide where the rows are.

    MODEL is a model file, or a rule as JSON. What is written is the rule, and not the model: it
    decides from scores, which the model still has to compute; 'setpoint predict' writes them. It
    decides nothing (NULL, None) where a score is missing or a group is new.
    """
    rule, classes, known = _opened(asked)
    if asked.kind == "json":
        text = rule.to_json()
    elif asked.kind == "python":
        text = rule.to_python(asked.name or "decide", classes=classes)
    else:
        text = rule.to_sql(
            _scores(rule, known, asked.scores),
            dialect=asked.dialect or "ansi",
            classes=classes,
            **asked.only("columns hash_column"),
        )
    if asked.output == "-":
        click.echo(text)
    else:
        shell.write(asked.output, text + "\n")


def _opened(
    asked: Asked,
) -> tuple[Rule, tuple[Label, ...] | None, tuple[str, ...] | None]:
    """The rule in a file, the labels of its classes, and its score columns, where known."""
    with Path(asked.model).open("rb") as file:
        begins = file.read(64).lstrip()
    if begins.startswith(b"{"):
        return shell.rule_in_file(asked.model), None, None
    clf: Any = opened(asked, asked.model).classifier
    order = clf._classes.order
    classes = tuple(clf.classes_.tolist()[i] for i in order)
    several = clf.rule_.score_columns is not None and len(classes) > 2
    scores = tuple(f"score_{label}" for label in classes) if several else None
    if clf._defers:
        answers = (*classes, clf._answers.defer_label)
        text = [isinstance(answer, str) for answer in answers]
        if any(text) and not all(text):
            note(f"the decisions are text, as {answers[-1]!r} is")
            answers = tuple(map(str, answers))
        classes = answers
    return clf.rule_, classes, scores


def _scores(
    rule: Rule, known: tuple[str, ...] | None, given: tuple[str, ...]
) -> str | tuple[str, ...]:
    """The names of the score columns, as the rule takes them."""
    columns = rule.score_columns
    n = None if columns is None else columns - len(rule.value_columns)
    of_two = n == 2 and bool(rule.value_columns)  # one probability says both
    names = given or known or (("score",) if n is None or of_two else ())
    if of_two and len(names) == 1:
        return names[0]
    if len(names) != (1 if n is None else n):
        wanted = "one score" if n in (None, 1) else f"{n} scores"
        raise shell.CommandError(
            f"--score: the rule looks at {wanted}, and {len(names)} are named; give --score once "
            "for each, in their order"
        )
    return names[0] if n is None else names


# --- ``setpoint explain``: why rows are decided as they are ---------------------------------------


_SHOWN = 20
"""Rows in words, where none were named."""


@command(
    "MODEL DATA",
    "rows unknown_group as_json trust",
    "setpoint explain loans.skops new.csv --row 3",
    "setpoint explain loans.skops new.csv --json",
    sets=READING,
)
def explain(asked: Asked) -> Ending:
    """Say why rows are decided as they are.

    For each row: its score, the cut-off that holds for it, and how far it lies. DATA is a CSV,
    Excel or Parquet file, or '-' for stdin.
    """
    from setpoint.report import printed

    stored, table = opened_with(asked, asked.data)
    found = stored.explain(table, rows=asked.rows or None)

    def text() -> str:
        shown = found if asked.rows else found[:_SHOWN]
        more = len(found) - len(shown)
        cut = [f"{more:,} more rows: --row N explains one, --json all."] if more else []
        return printed("\n".join([*map(str, shown), *cut, found.covers]))

    return Ending(text, {"covers": found.covers, "rows": found.to_dicts()}, shell.SHOWN)


# --- ``setpoint monitor``: whether a stored model keeps its constraints ---------------------------


@command(
    "MODEL DATA",
    "state alpha goal no_restart no_labels late_labels target baseline picture unknown_group "
    "as_json trust",
    "setpoint monitor loans.skops today.csv --state loans.watch || echo alarm",
    sets=READING,
    goal="Its constraints are watched; else the fit's.",
)
def monitor(asked: Asked) -> Ending:
    """Watch a model file on new rows, in their order.

    Every row counts as new: with --state, send those alone that came since the last time.
    The exit code is 3 from the first alarm on, and 0 before.
    """
    state, no_labels, late = asked.state, asked.no_labels, asked.late_labels
    refuse(no_labels and late, "--late-labels is for rows with labels, and --no-labels for others")
    refuse(
        late and state is None,
        "--late-labels goes on from the --state that counted these rows",
    )
    stored, table = opened_with(asked, asked.data)
    wanted = stored.goal_by(asked.goal)
    rows = stored.rows(table, wanted, baseline=asked.baseline, labelled=not no_labels)
    del rows["datasets"]
    found = _monitor(stored, wanted, asked)
    refuse(
        no_labels and all(found.needs_labels),
        "--no-labels: every constraint needs labels, so there is nothing to count; "
        "predicted_rate and churn need none",
    )
    before = _resume(found, state)
    with warnings_as_notes(), step("watching the rows"), redirect_stdout(sys.stderr):
        found.update(**rows, late=late)
    shell.write(state, json.dumps(found.to_dict(), sort_keys=True))
    shell.draw(asked.picture, found.plot)

    def text() -> str:
        first, *lines = found.lines()
        first = styled(first, what["status"])
        n_rows = len(table.frame)
        more = "" if n_rows == found.n_rows_ else f" {n_rows:,} of them are new."
        return blocks(
            first + more, f"Goal: {found.goal}", "\n".join(lines),
            wrote(state=state), wrote(picture=asked.picture),
        )  # fmt: skip

    what = _monitored(found, before) | {"target": stored.target, "new_rows": len(table.frame)}
    return Ending(text, what)


def _monitor(model: TableModel, goal: Goal, asked: Asked) -> Monitor:
    """A monitor of a model file, before any row."""
    from setpoint.estimators import Monitor

    try:
        return Monitor(model.classifier, goal, alpha=asked.alpha, restart=not asked.no_restart)
    except ValueError as error:
        if not str(error).startswith("`groups`: "):
            raise
        raise shell.CommandError(
            "--goal compares groups that the fit did not look at, and which there may be is not "
            "known: name them, as in 'recall.on(city=\"Bonn\") >= 0.8'"
        ) from error


def _resume(found: Monitor, path: str | None) -> int:
    """Go on from a state file, if there is one; the alarms that there were."""
    if path is None or not Path(path).exists():
        return 0
    stored: Any = None
    with suppress(ValueError):
        stored = json.loads(Path(path).read_bytes())
    refuse(not isinstance(stored, dict), f"--state: {path} is not a state of setpoint monitor")
    try:
        found.resume(stored)
    except ValueError as error:
        remedy = "name another file, or one that is not there yet"
        text = shell.in_shell_words(str(error))
        raise shell.CommandError(f"--state: {path}: {text}; {remedy}") from error
    except (KeyError, TypeError) as error:
        raise shell.CommandError(f"--state: {path}: the state is damaged") from error
    return len(found.alarms_)


def _monitored(found: Monitor, before: int) -> dict[str, Any]:
    """A monitor for JSON."""
    names = ("text", "wealth", "needs_labels")
    statements = zip(found.names(), found.wealth_.tolist(), found.needs_labels, strict=True)
    return {
        "status": "alarm" if found.alarms_ else "no alarm",
        "goal": str(found.goal),
        "rows": found.n_rows_,
        "alpha": found.alpha,
        "restart": found.restart,
        "limit": found.limit,
        "statements": [dict(zip(names, one, strict=True)) for one in statements],
        "alarms": [{**asdict(a), "new": i >= before} for i, a in enumerate(found.alarms_)],
    }
