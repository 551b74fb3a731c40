"""Commands on a stored model: ``show``, ``export``, ``explain`` and ``monitor``."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import certified_before, status_of
from setpoint.cli.settings import READING, reading_of, settings_option
from setpoint.inputs import whole_file
from setpoint.packages import require_packages
from setpoint.tasks import open_model

if TYPE_CHECKING:
    from setpoint.estimators import Monitor
    from setpoint.goals import Label
    from setpoint.rules import Rule
    from setpoint.tasks import LoadedModel, ShownModel


# --- ``setpoint show``: what a model file holds ---------------------------------------------------


_MOST_COLUMNS = 60


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint show loans.skops --report loans.html\n"
    "  setpoint show loans.skops --card > README.md"
)
@click.argument("model")
@click.option("--report", metavar="FILE", help="The HTML page of the fit to write.")
@click.option("--card", is_flag=True, help="The model card instead, as Markdown.")
@shell.as_json
@shell.trust_option
def show(model: str, report: str | None, card: bool, as_json: bool, trust: tuple[str, ...]) -> None:
    """Show what a model file holds: its goal, its rule, its columns, and what was reached then.

    No table is needed, and nothing in the file is run.
    """
    from setpoint.report import card_text, printed
    from setpoint.tasks import show_model

    if card and as_json:
        raise click.UsageError("--card is Markdown: leave --json out")
    shell.check_outputs({"--report": report}, {"MODEL": model})
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    session = shell.current()
    found = show_model(model, trust=trust, journal=session)
    if report is not None:
        with shell.writing(report):
            found.to_html(report, model)
    if card:
        text = card_text(found.chosen, name=Path(model).stem, held_out=found.model.held_out)
        click.echo(text, nl=False)
    elif as_json:
        what = {"command": "show", "status": status_of(found.judged), **found.to_dict()}
        what["notes"] = session.notes
        shell.print_json(what, {"model": model, "report": report, "written": dict(found.written)})
    else:
        click.echo(printed("\n".join(_text(found, model))))
        if report is not None:
            click.echo(f"\nWrote the page to {report}.")


def _text(found: ShownModel, path: str) -> Iterator[str]:
    """The facts, in the order of the questions of who finds a file."""
    from setpoint.report import rule_lines

    facts = dict(found.written)
    when = f"{facts.pop('when', '')[:16].replace('T', ' ')} UTC"
    versions = ", ".join(f"{name} {version}" for name, version in facts.items())
    yield from _filled("Model file", "; ".join((path, when, versions)))
    yield from _filled("Goal", str(found.goal))
    if found.meant != found.goal:
        yield from _filled("Judged by", str(found.meant))
    yield from _filled("Target", _target(found))
    yield from _filled("Scores", f"{found.inside}; the rule is by {_who(found)}")
    yield from _filled("Rows", _rows(found))
    if found.model.dataset_names:
        yield from _filled("Data sets", ", ".join(found.model.dataset_names))
    if found.baseline:
        yield from _filled("Deployed", f"column {found.baseline}")
    yield from ("", "Rule", *(f"  {line}" for line in rule_lines(found.chosen)))
    yield from ("", *_reached(found))
    yield from ("", f"Columns that a table needs ({len(found.columns):,})")
    for kind, names in _by_kind(found).items():
        yield from _filled(kind, ", ".join(names), indent=2)
    if found.notes:
        yield from ("", "About the fit")
        for line in found.notes:
            yield from _filled("", line, indent=2)


def _target(found: ShownModel) -> str:
    clf = found.model.classifier
    labels = [repr(label) for label in clf.classes_.tolist()]
    if clf.positive_ is None:
        return f"{found.model.target}: {', '.join(labels)}"
    other = next(label for label in labels if label != repr(clf.positive_))
    return f"{found.model.target}: positive is {clf.positive_!r}, negative {other}"


def _who(found: ShownModel) -> str:
    return ", ".join(x for x in (found.family, found.solver) if x)


def _rows(found: ShownModel) -> str:
    words = {"fitted": "in the fit", "held_out": "held out", "certifying": "that certify"}
    parts = [f"{n:,} {words[what]}" for what, n in found.rows.items() if n]
    return ", ".join(parts) or f"{found.judged.counts.n_rows:,} judged"


def _reached(found: ShownModel) -> Iterator[str]:
    """The verdict then, and the values."""
    from setpoint.report import goal_table, headline

    judged = found.judged
    yield f"Then, on {found.where}"
    yield from _filled("", f"{headline(judged)}.", indent=2)
    for first, *more in goal_table(judged).lines:
        yield from (f"  {first}", *(f"    {text}" for text in more))
    before = certified_before(found.guarantee, found.certified_holds)
    if before:
        yield from _filled("", before, indent=2)


def _by_kind(found: ShownModel) -> dict[str, list[str]]:
    out: dict[str, list[str]] = {}
    for name, kind in list(found.columns.items())[:_MOST_COLUMNS]:
        out.setdefault(kind, []).append(name)
    if len(found.columns) > _MOST_COLUMNS:
        out["more"] = [f"{len(found.columns) - _MOST_COLUMNS:,}, which --json lists"]
    return out


def _filled(title: str, text: Any, indent: int = 0) -> list[str]:
    import textwrap

    head = " " * indent + (f"{title:<12}" if title else "")
    return textwrap.wrap(
        str(text), 79, initial_indent=head, subsequent_indent=" " * len(head),
        break_on_hyphens=False, break_long_words=False,
    )  # fmt: skip


# --- ``setpoint export``: the rule of a model in SQL, Python or JSON ------------------------------


_FOR = {
    "--score": ("sql",),
    "--dialect": ("sql",),
    "--column": ("sql",),
    "--hash-column": ("sql",),
    "--name": ("python",),
}
"""The formats that take an option."""


@dataclass(frozen=True)
class _Found:
    """A rule, the labels of its classes by index, and its score columns where they are known."""

    rule: Rule
    classes: tuple[Label, ...] | None
    scores: tuple[str, ...] | None


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint export loans.skops --format sql --dialect duckdb\n"
    "  setpoint export loans.skops --format python -o decide.py"
)
@click.argument("model")
@click.option(
    "--format",
    "kind",
    type=click.Choice(["sql", "python", "json"]),
    required=True,
    help="An SQL expression, a Python function that imports nothing, or the rule as data.",
)
@click.option(
    "--score",
    "scores",
    multiple=True,
    metavar="NAME",
    help="SQL: the table's column with the score; for a rule over several scores once for each, "
    "in their order. Default: score, or score_LABEL for each class, as predict names them.",
)
@click.option("--dialect", metavar="NAME", help="SQL: the database, such as duckdb. Default: ansi.")
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME=COL",
    help="SQL: what a column that the rule looks at is called in the table, if otherwise.",
)
@click.option(
    "--hash-column",
    metavar="COL",
    help="SQL, for a rule that draws: a column with one uniform number in [0, 1) for each row, "
    "such as a hash of its id divided by the number of hashes.",
)
@click.option("--name", metavar="NAME", help="Python: the function's name. Default: decide.")
@click.option("-o", "--output", default="-", metavar="FILE", help="Default: stdout.")
@shell.trust_option
def export(
    model: str,
    kind: str,
    scores: tuple[str, ...],
    dialect: str | None,
    columns: tuple[str, ...],
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
    given = {
        "--score": scores,
        "--dialect": dialect,
        "--column": columns,
        "--hash-column": hash_column,
        "--name": name,
    }
    for option, value in given.items():
        if value and kind not in _FOR[option]:
            raise shell.CommandError(f"{option} is for --format {_FOR[option][0]}, not {kind}")
    shell.check_outputs({"-o": output}, {"MODEL": model})
    found = _opened(model, trust)
    if kind == "json":
        text = found.rule.to_json()
    elif kind == "python":
        text = found.rule.to_python(name or "decide", classes=found.classes)
    else:
        text = found.rule.to_sql(
            _scores(found, scores),
            dialect=dialect or "ansi",
            columns=_renamed(columns),
            classes=found.classes,
            hash_column=hash_column,
        )
    _write(text, output)


def _opened(path: str, trust: Sequence[str]) -> _Found:
    """The rule in a file."""
    with Path(path).open("rb") as file:
        begins = file.read(64).lstrip()
    if begins.startswith(b"{"):
        return _Found(shell.rule_in_file(path), None, None)
    clf: Any = open_model(path, trust, shell.current()).classifier
    order = clf._classes.order
    classes = tuple(clf.classes_.tolist()[i] for i in order)
    several = clf.rule_.score_columns is not None and len(classes) > 2
    scores = tuple(f"score_{label}" for label in classes) if several else None
    if clf._defers:
        answers = (*classes, clf._answers.defer_label)
        text = [isinstance(answer, str) for answer in answers]
        if any(text) and not all(text):
            shell.current().note(f"the decisions are text, as {answers[-1]!r} is")
            answers = tuple(map(str, answers))
        classes = answers
    return _Found(clf.rule_, classes, scores)


def _scores(found: _Found, given: tuple[str, ...]) -> str | tuple[str, ...]:
    """The names of the score columns, as the rule takes them."""
    columns = found.rule.score_columns
    n = None if columns is None else columns - len(found.rule.value_columns)
    of_two = n == 2 and bool(found.rule.value_columns)  # one probability says both
    names = given or found.scores or (("score",) if n is None or of_two else ())
    if of_two and len(names) == 1:
        return names[0]
    if len(names) != (1 if n is None else n):
        wanted = "one score" if n in (None, 1) else f"{n} scores"
        raise shell.CommandError(
            f"--score: the rule looks at {wanted}, and {len(names)} are named; give --score once "
            "for each, in their order"
        )
    return names[0] if n is None else names


def _renamed(columns: Sequence[str]) -> dict[str, str]:
    """The names of ``NAME=COL``."""
    out: dict[str, str] = {}
    for text in columns:
        name, equals, column = text.partition("=")
        if not name or not equals or not column:
            raise shell.CommandError(f"--column is NAME=COL, got {text!r}")
        if name in out:
            raise shell.CommandError(f"--column names {name!r} twice")
        out[name] = column
    return out


def _write(text: str, output: str) -> None:
    if output == "-":
        click.echo(text)
        return
    with shell.writing(output), whole_file(output) as file:
        file.write((text + "\n").encode("utf-8"))


# --- ``setpoint explain``: why rows are decided as they are ---------------------------------------


_SHOWN = 20
"""Rows in words, where none were named."""


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint explain loans.skops new.csv --row 3\n"
    "  setpoint explain loans.skops new.csv --json"
)
@click.argument("model")
@click.argument("data")
@click.option(
    "--row",
    "rows",
    type=int,
    multiple=True,
    metavar="N",
    help="The row to explain; the first of DATA is 1. Repeated for more. Default: the first 20, "
    "with --json all.",
)
@shell.new_groups_option
@shell.as_json
@shell.trust_option
@settings_option(*READING)
def explain(
    model: str,
    data: str,
    rows: tuple[int, ...],
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
    """Say why rows are decided as they are.

    For each row: its score, the cut-off that holds for it, and how far it lies. DATA is a CSV,
    Excel or Parquet file, or '-' for stdin.
    """
    from setpoint.report import printed
    from setpoint.tasks import explain_table

    found = explain_table(
        model, data, rows=rows or None, unknown_group=unknown_group, trust=trust,
        reading=reading_of(settings), journal=shell.current(),
    ).explanation  # fmt: skip
    if as_json:
        what = {"command": "explain", "covers": found.covers, "rows": found.to_dicts()}
        shell.print_json({**what, "notes": shell.current().notes}, {"model": model, "data": data})
        return
    shown = found if rows else found[:_SHOWN]
    lines = [*map(str, shown)]
    if len(shown) < len(found):
        lines.append(f"{len(found) - len(shown):,} more rows: --row N explains one, --json all.")
    click.echo(printed("\n".join([*lines, found.covers])))


# --- ``setpoint monitor``: whether a stored model keeps its constraints ---------------------------


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint monitor loans.skops today.csv --state loans.watch || echo alarm"
)
@click.argument("model")
@click.argument("data")
@click.option("--state", metavar="FILE", help="To go on from, if it is there, and to save to.")
@click.option(
    "--alpha",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.001,
    show_default=True,
    metavar="A",
    help="While all is well a false alarm comes after 1/A rows or more on average; with "
    "--no-restart, A is the chance that one ever comes.",
)
@click.option(
    "--goal", "goal_text", metavar="TEXT", help="Its constraints are watched; else the fit's."
)
@click.option(
    "--no-restart",
    is_flag=True,
    help="Bets do not begin anew with every row: what went well for long delays the alarm.",
)
@click.option(
    "--no-labels",
    is_flag=True,
    help="The labels are not known yet: count only what needs none, such as predicted_rate.",
)
@click.option(
    "--late-labels",
    is_flag=True,
    help="The labels of rows that were counted with --no-labels have come: count the rest.",
)
@click.option("--target", metavar="COL", help="The column with the labels; else as in the fit.")
@click.option("--baseline", metavar="COL", help="The deployed model's predictions; else likewise.")
@shell.picture_option
@shell.new_groups_option
@shell.as_json
@shell.trust_option
@settings_option(*READING)
def monitor(
    model: str,
    data: str,
    state: str | None,
    alpha: float,
    goal_text: str | None,
    no_restart: bool,
    no_labels: bool,
    late_labels: bool,
    target: str | None,
    baseline: str | None,
    picture: str | None,
    unknown_group: str,
    as_json: bool,
    trust: tuple[str, ...],
    settings: dict[str, Any],
) -> None:
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
    inputs = {"MODEL": model, "DATA": data}
    shell.check_outputs({"--state": state, "--picture": picture}, inputs)
    shell.check_picture(picture)
    from setpoint.tasks import decide_new_groups, load_and_read

    session = shell.current()
    judged = load_and_read(
        model, data, reading_of(settings), session, trust=trust, target=target,
        baseline=baseline, files=None, judging=True, goal=goal_text, labelled=not no_labels,
    )  # fmt: skip
    decide_new_groups(judged.model.classifier, unknown_group)
    found = _monitor(judged, alpha, not no_restart)
    if no_labels and all(found.needs_labels):
        raise shell.CommandError(
            "--no-labels: every constraint needs labels, so there is nothing to count; "
            "predicted_rate and churn need none"
        )
    before = _resume(found, state)
    rows = judged.rows()
    rows.pop("datasets")
    with (
        session.warnings_as_notes(),
        session.step("watching the rows"),
        redirect_stdout(sys.stderr),
    ):
        found.update(**rows, late=late_labels)
    if state is not None:
        with shell.writing(state), whole_file(state) as file:
            file.write(json.dumps(found.to_dict(), sort_keys=True).encode("utf-8"))
    if picture is not None:
        from setpoint.estimators import MonitorDisplay

        shell.draw(picture, MonitorDisplay(found).plot)
    if as_json:
        paths = {"model": model, "data": data, "state": state, "picture": picture}
        shell.print_json(_as_json(found, judged, before), paths)
    else:
        click.echo(_monitor_text(found, judged.part.n_rows))
        for what, path in (("state", state), ("picture", picture)):
            if path is not None:
                click.echo(f"\nWrote the {what} to {path}.")
    raise click.exceptions.Exit(shell.FAILED if found.alarms_ else shell.SHOWN)


def _monitor(judged: LoadedModel, alpha: float, restart: bool) -> Monitor:
    """A monitor of a model file, before any row."""
    from setpoint.estimators import Monitor

    try:
        return Monitor(judged.model.classifier, judged.goal, alpha=alpha, restart=restart)
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


def _monitor_text(found: Monitor, n_rows: int) -> str:
    first, *lines = found.lines()
    color = "red" if found.alarms_ else "green"
    more = "" if n_rows == found.n_rows_ else f" {n_rows:,} of them are new."
    return "\n".join(
        [click.style(first, fg=color, bold=True) + more, "", f"Goal: {found.goal}", "", *lines]
    )


def _as_json(found: Monitor, judged: LoadedModel, before: int) -> dict[str, Any]:
    from dataclasses import asdict

    statements = zip(found.names(), found.wealth_.tolist(), found.needs_labels, strict=True)
    return {
        "command": "monitor",
        "status": "alarm" if found.alarms_ else "no alarm",
        "goal": str(found.goal),
        "target": judged.model.target,
        "rows": found.n_rows_,
        "new_rows": judged.part.n_rows,
        "alpha": found.alpha,
        "restart": found.restart,
        "limit": found.limit,
        "statements": [
            {"text": text, "wealth": wealth, "needs_labels": needs}
            for text, wealth, needs in statements
        ],
        "alarms": [{**asdict(a), "new": i >= before} for i, a in enumerate(found.alarms_)],
        "notes": shell.current().notes,
    }
