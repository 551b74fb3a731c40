"""Commands on a stored model: ``show``, ``export``, ``explain`` and ``monitor``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, blocks, certified_before, command, status_of, wrote
from setpoint.cli.options import OPTIONS, READING
from setpoint.cli.session import opened, opened_with
from setpoint.goals import Goal, Label
from setpoint.inputs import whole_file
from setpoint.tables import note, step, warnings_as_notes

if TYPE_CHECKING:
    from setpoint.estimators import Monitor
    from setpoint.rules import Rule
    from setpoint.tables import TableModel


# --- ``setpoint show``: what a model file holds ---------------------------------------------------


_MOST_COLUMNS = 60


@command(
    "MODEL",
    "report card as_json trust",
    "setpoint show loans.skops --report loans.html",
    "setpoint show loans.skops --card > README.md",
    report="The HTML page of the fit to write.",
)
def show(model: str, report: str | None, card: bool, trust: tuple[str, ...]) -> Ending | None:
    """Show what a model file holds: its goal, its rule, its columns, and what was reached then.

    No table is needed, and nothing in the file is run.
    """
    from setpoint.report import card_text, printed

    if card and shell.asks_json():
        raise click.UsageError("--card is Markdown: leave --json out")
    found = opened(model, trust=trust)
    if report is not None:
        with shell.writing(report):
            found.to_html(report)
    if card:
        text = card_text(
            found.classifier.goal_report_, name=Path(model).stem, held_out=found.held_out
        )
        click.echo(text, nl=False)
        return None
    facts = found.to_dict()
    return Ending(
        lambda: blocks(printed("\n".join(_text(found, facts))), wrote(page=report)),
        {"status": status_of(found.judged), **facts},
        run={"written": found.written},
    )


def _text(model: TableModel, found: dict[str, Any]) -> Iterator[str]:
    """The facts, in the order of the questions of who finds a file."""
    from setpoint.report import goal_table, headline, rule_lines

    judged, written = model.judged, model.written
    when = f"{written.pop('when', '')[:16].replace('T', ' ')} UTC"
    versions = ", ".join(f"{name} {version}" for name, version in written.items())
    labels, positive = [repr(label) for label in found["classes"]], repr(found["positive"])
    classes = ", ".join(labels)
    if found["positive"] is not None:
        other = next(label for label in labels if label != positive)
        classes = f"positive is {positive}, negative {other}"
    words = {"fitted": "in the fit", "held_out": "held out", "certifying": "that certify"}
    rows = ", ".join(f"{n:,} {words[what]}" for what, n in found["rows"].items() if n)
    facts = {
        "Model file": f"{model.source}; {when}; {versions}",
        "Goal": found["goal"],
        "Judged by": "" if found["judge_by"] == found["goal"] else found["judge_by"],
        "Target": f"{model.target}: {classes}",
        "Scores": f"{found['model']}; the rule is by "
        + ", ".join(filter(None, (found["family"], found["solver"]))),
        "Rows": rows or f"{judged.counts.n_rows:,} judged",
        "Data sets": ", ".join(found["datasets"]),
        "Deployed": found["baseline"] and f"column {found['baseline']}",
    }
    for title, text in facts.items():
        yield from _filled(title, text or "")
    rule = rule_lines(model.classifier.goal_report_)
    yield from ("", "Rule", *(f"  {line}" for line in rule))
    yield from ("", f"Then, on {found['judged_on']}")
    yield from _filled("", f"{headline(judged)}.", 2)
    for first, *more in goal_table(judged).lines:
        yield from (f"  {first}", *(f"    {text}" for text in more))
    yield from _filled("", certified_before(model.guarantee, model.certified_holds), 2)
    columns = found["columns"]
    yield from ("", f"Columns that a table needs ({len(columns):,})")
    kinds: dict[str, list[str]] = {}
    for name, kind in list(columns.items())[:_MOST_COLUMNS]:
        kinds.setdefault(kind, []).append(name)
    for kind, names in kinds.items():
        yield from _filled(kind, ", ".join(names), 2)
    if len(columns) > _MOST_COLUMNS:
        yield from _filled("more", f"{len(columns) - _MOST_COLUMNS:,}, which --json lists", 2)
    if model.notes:
        yield from ("", "About the fit")
        for line in model.notes:
            yield from _filled("", line, 2)


def _filled(title: str, text: Any, indent: int = 0) -> list[str]:
    import textwrap

    head = " " * indent + (f"{title:<12}" if title else "")
    return textwrap.wrap(
        str(text), 79, initial_indent=head, subsequent_indent=" " * len(head),
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


# --- ``setpoint export``: the rule of a model in SQL, Python or JSON ------------------------------


_ONLY_FOR = {
    "scores": "sql", "dialect": "sql", "columns": "sql", "hash_column": "sql", "name": "python"
}  # fmt: skip
"""The format that takes an option."""


@command(
    "MODEL",
    "kind! scores dialect columns hash_column name output trust",
    "setpoint export loans.skops --format sql --dialect duckdb",
    "setpoint export loans.skops --format python -o decide.py",
)
def export(
    model: str,
    kind: str,
    scores: tuple[str, ...],
    dialect: str | None,
    columns: dict[str, str],
    hash_column: str | None,
    name: str | None,
    output: str,
    trust: tuple[str, ...],
) -> None:
    """Write the decision rule of a model, to decide where the rows are.

    MODEL is a model file, or a rule as JSON. What is written is the rule, and not the model: it
    decides from scores, which the model still has to compute; 'setpoint predict' writes them. It
    decides nothing (NULL, None) where a score is missing or a group is new.
    """
    given = click.get_current_context().params
    for argument, own in _ONLY_FOR.items():
        if given[argument] and kind != own:
            option = OPTIONS[argument].flags[-1]
            raise shell.CommandError(f"{option} is for --format {own}, not {kind}")
    rule, classes, known = _opened(model, trust)
    if kind == "json":
        text = rule.to_json()
    elif kind == "python":
        text = rule.to_python(name or "decide", classes=classes)
    else:
        text = rule.to_sql(
            _scores(rule, known, scores),
            dialect=dialect or "ansi",
            columns=columns,
            classes=classes,
            hash_column=hash_column,
        )
    if output == "-":
        click.echo(text)
        return
    with shell.writing(output), whole_file(output) as file:
        file.write((text + "\n").encode("utf-8"))


def _opened(
    path: str, trust: Sequence[str]
) -> tuple[Rule, tuple[Label, ...] | None, tuple[str, ...] | None]:
    """The rule in a file, the labels of its classes, and its score columns, where known."""
    with Path(path).open("rb") as file:
        begins = file.read(64).lstrip()
    if begins.startswith(b"{"):
        return shell.rule_in_file(path), None, None
    clf: Any = opened(path, trust=trust).classifier
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
def explain(model: str, data: str, rows: tuple[int, ...], **asked: Any) -> Ending:
    """Say why rows are decided as they are.

    For each row: its score, the cut-off that holds for it, and how far it lies. DATA is a CSV,
    Excel or Parquet file, or '-' for stdin.
    """
    from setpoint.report import printed

    stored, table, _ = opened_with(model, data, **asked)
    found = stored.explain(table, rows=rows or None)

    def text() -> str:
        shown = found if rows else found[:_SHOWN]
        more = len(found) - len(shown)
        cut = [f"{more:,} more rows: --row N explains one, --json all."] if more else []
        return printed("\n".join([*map(str, shown), *cut, found.covers]))

    return Ending(text, {"covers": found.covers, "rows": found.to_dicts()})


# --- ``setpoint monitor``: whether a stored model keeps its constraints ---------------------------


@command(
    "MODEL DATA",
    "state alpha goal no_restart no_labels late_labels target baseline picture unknown_group "
    "as_json trust",
    "setpoint monitor loans.skops today.csv --state loans.watch || echo alarm",
    sets=READING,
    goal="Its constraints are watched; else the fit's.",
)
def monitor(
    model: str,
    data: str,
    state: str | None,
    alpha: float,
    no_restart: bool,
    no_labels: bool,
    late_labels: bool,
    picture: str | None,
    goal: str | None,
    baseline: str | None,
    **asked: Any,
) -> Ending:
    """Watch a model file on new rows, in their order.

    Every row counts as new: with --state, send those alone that came since the last time.
    The exit code is 3 from the first alarm on, and 0 before.
    """
    if no_labels and late_labels:
        raise shell.CommandError(
            "--late-labels is for rows with labels, and --no-labels for others"
        )
    if late_labels and state is None:
        raise shell.CommandError("--late-labels goes on from the --state that counted these rows")
    stored, table, _ = opened_with(model, data, **asked)
    wanted = stored.goal_by(goal)
    rows = stored.rows(table, wanted, baseline=baseline, datasets=None, labelled=not no_labels)
    del rows["datasets"]
    found = _monitor(stored, wanted, alpha, not no_restart)
    if no_labels and all(found.needs_labels):
        raise shell.CommandError(
            "--no-labels: every constraint needs labels, so there is nothing to count; "
            "predicted_rate and churn need none"
        )
    before = _resume(found, state)
    with (
        warnings_as_notes(),
        step("watching the rows"),
        redirect_stdout(sys.stderr),
    ):
        found.update(**rows, late=late_labels)
    if state is not None:
        with shell.writing(state), whole_file(state) as file:
            file.write(json.dumps(found.to_dict(), sort_keys=True).encode("utf-8"))
    if picture is not None:
        shell.draw(picture, found.plot)

    def text() -> str:
        first, *lines = found.lines()
        first = click.style(first, fg="red" if found.alarms_ else "green", bold=True)
        n_rows = len(table.frame)
        more = "" if n_rows == found.n_rows_ else f" {n_rows:,} of them are new."
        return blocks(
            first + more, f"Goal: {found.goal}", "\n".join(lines),
            wrote(state=state), wrote(picture=picture),
        )  # fmt: skip

    code = shell.FAILED if found.alarms_ else shell.SHOWN
    what = {"target": stored.target, "new_rows": len(table.frame)}
    return Ending(text, _monitored(found, before) | what, code)


def _monitor(model: TableModel, goal: Goal, alpha: float, restart: bool) -> Monitor:
    """A monitor of a model file, before any row."""
    from setpoint.estimators import Monitor

    try:
        return Monitor(model.classifier, goal, alpha=alpha, restart=restart)
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
    try:
        stored: Any = json.loads(Path(path).read_bytes())
    except ValueError as error:
        raise shell.CommandError(f"--state: {path} is not a state of setpoint monitor") from error
    if not isinstance(stored, dict):
        raise shell.CommandError(f"--state: {path} is not a state of setpoint monitor")
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
