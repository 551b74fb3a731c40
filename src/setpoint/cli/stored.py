"""Commands on a stored model: where its rule could be, what it holds, why it decides."""

from __future__ import annotations

import json
import shlex
import sys
from contextlib import redirect_stdout, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, blocks, command, judged, styled, typed_words, wrote
from setpoint.cli.options import GIVEN, READING, Asked, Option, refuse
from setpoint.cli.session import opened, opened_with
from setpoint.errors import InputError
from setpoint.goals import Goal, Label
from setpoint.packages import require_packages
from setpoint.tables import (
    CHECKED,
    TableFile,
    model_text,
    note,
    only_one_stdin,
    step,
    warnings_as_notes,
)  # fmt: skip

if TYPE_CHECKING:
    from setpoint.classifiers import Monitor
    from setpoint.explorer import Command, Explorer
    from setpoint.rules import Rule
    from setpoint.search import InfeasibleError
    from setpoint.tables import TableModel


# --- ``setpoint frontier``: what it would cost to ask for more ------------------------------------


_LINES, _POINTS = 25, 300

_BY_POSTERIORS = (
    "Values are what the model's probabilities say and not counts of true classes; setpoint\n"
    "evaluate counts those."
)


@command(
    "MODEL DATA",
    "target baseline vary values skip_unlabelled picture datasets as_json trust",
    "setpoint frontier loans.skops loans.csv --vary precision --values 0.8:0.99:20",
    "setpoint frontier loans.skops loans.csv --vary 'recall.difference(sex) <= 0.1'",
    sets=READING,
    without_rule="there is no frontier",
)
def frontier(asked: Asked) -> Ending:
    """Show the best objective as the bound of one constraint moves.

    Other rules for the scores of a stored model are compared on the rows of DATA.
    """
    from setpoint.report import frontier_text, plot_frontier

    stored, table = opened_with(asked, asked.data)
    side = None if asked.vary is None else _side(asked.vary)
    more = asked.only("baseline datasets")
    found = stored.frontier(table, vary=side, values=_levels(asked.values), **more)
    thin = found.thinned(_POINTS)
    shell.draw(asked.picture, lambda ax: plot_frontier(thin, ax=ax))

    def text() -> str:
        soft = stored.classifier.goal_report_.search.evidence == "soft"
        return blocks(
            frontier_text(found, _LINES),
            _BY_POSTERIORS if soft else "",
            wrote(picture=asked.picture),
        )

    rows = len(table.frame)
    return Ending(text, {"status": "found", "rows": rows, "frontier": thin.to_dict()})


def _side(text: str) -> str:
    """What --vary says, as goals write it; as it is if it is not an expression without a bound.

    Examples
    --------
    >>> _side("recall.on(new)"), _side("recall>=0.5"), _side("recal")
    ('recall.on("new")', 'recall>=0.5', 'recal')
    """
    from setpoint.errors import GoalError

    if any(sign in text for sign in "<>≤≥"):
        return text
    try:
        found = Goal.parse(f"maximize {text}")
    except GoalError:
        return text
    return text if found.constraints else str(found.objective)


def _levels(text: str | None) -> list[float] | None:
    """The bounds of ``LOW:HIGH:N`` or of a list.

    Examples
    --------
    >>> _levels("0:1:3"), _levels("0.5,0.9")
    ([0.0, 0.5, 1.0], [0.5, 0.9])
    """
    if text is None:
        return None
    wrong = f"--values is LOW:HIGH:N, as in 0.8:0.99:20, or numbers with commas, got {text!r}"
    try:
        if ":" not in text:
            return [float(x) for x in text.split(",")]
        first, last, steps = text.split(":")
        low, high, n = float(first), float(last), int(steps)
    except ValueError:
        raise shell.CommandError(wrong) from None
    if not low < high or not 2 <= n <= 10_000:
        raise shell.CommandError(f"{wrong}; LOW is below HIGH, and N from 2 to 10,000")
    return [low + (high - low) * i / (n - 1) for i in range(n)]


# --- ``setpoint explore``: a page on which bounds are moved by hand -------------------------------


_NEW = "new.skops"
"""The model file that the commands on the page write."""


@command(
    "MODEL DATA",
    "page! goal other_goal by check test_size target baseline skip_unlabelled unknown_group "
    "as_json trust",
    "setpoint explore loans.skops this-month.csv -o explore.html",
    "setpoint explore loans.skops may.csv --check june.csv --by region -o explore.html",
    sets=READING,
    goal="Another goal; else as evaluate does.",
    by=Option("--by COLS...", "Further columns with groups to show side by side."),
    test_size="Of DATA, set apart for the check where there is no --check. Default: 0.3.",
)
def explore(asked: Asked) -> Ending:
    """Write a page on which the bounds of MODEL's goal are moved by hand.

    The page shows at once what each bound brings on the rows of DATA, which have labels and best
    took no part in the fit; it needs no network and no server. Part of DATA, or --check, is kept
    apart: to choose on rows is to look at them, and a chosen point is checked on others.
    """
    page, check, share = asked.page, asked.check, asked.test_size
    refuse(
        check is not None and share is not None,
        "--check and --test-size: both name the rows for the check; give one",
    )
    refuse(page == "-", "-o: the page is a file; name one that ends in .html")
    require_packages("setpoint explore", "report", "jinja2", "matplotlib")
    if check is not None:
        only_one_stdin([asked.data, check])
    stored, table = opened_with(asked, asked.data)
    apart: Any = CHECKED if share is None else share
    if check is not None:
        other = TableFile(check, **asked.reading)
        apart = stored.read(other, skip_unlabelled=asked.skip_unlabelled)
    found = stored.explore(table, check=apart, **asked.only("goal other_goal by baseline"))
    write_explorer(found, page, asked.model, asked.data)
    return Ending(lambda: f"{found}\n{wrote(page=page)}", {"status": "written", **found.summary()})


def write_explorer(explorer: Explorer, path: str, model: str, data: str) -> None:
    """Write the page; its commands move the rule of the stored model."""
    from setpoint.explorer import THRESHOLD

    given = _reads_likewise()
    take = shlex.join(["setpoint", "take", model, data, *given])
    new = " " + shlex.join(["--model", str(Path(model).with_name(_NEW))])
    with shell.writing(path):
        explorer.for_shell([f"{take} --line=", THRESHOLD, new]).to_html(path)


def _reads_likewise() -> list[str]:
    """Options of the command that runs by which another one reads the table in the same way."""
    context = click.get_current_context()
    asked = dict(context.params)
    asked["settings"] = [
        setting
        for setting in context.meta.get(GIVEN, ())
        if setting.partition("=")[0].strip() in READING.split()
    ]
    own = ["target", "baseline"] if context.info_name == "explore" else []  # a model knows its own
    names = [*own, "sheet", "skip_unlabelled", "trust", "settings"]
    params = {param.name: param for param in context.command.params}
    given = (name for name in names if asked.get(name) is not None)
    return [word for name in given for word in typed_words(params[name], asked[name])]


def explore_infeasible(error: InfeasibleError, goal: Goal, path: str, command: str) -> None:
    """Write the page of a goal that no rule meets, where its rows are known."""
    if error.evidence is None:
        note(f"{path} was not written: the rows that no rule suits were not kept")
        return
    from setpoint.explorer import explorer_on

    try:
        with warnings_as_notes(), step("counting what every cut-off does"):
            explorer = explorer_on(goal, error.evidence)
    except InputError as why:
        note(f"{path} was not written: {why}")
        return
    with shell.writing(path):
        explorer.for_shell(_fit_anew(command)).to_html(path)
    note(f"bounds are moved by hand on {path}")


def _fit_anew(command: str) -> Command:
    """A command that fits for the goal of the page; the rule is found anew."""
    from setpoint.explorer import GOAL

    words = shlex.split(command)
    at = words.index("--goal") + 1
    after = shlex.join(words[at + 1 :])
    before = f"# Fits anew and chooses by the goal.\n{shlex.join(words[:at])} "
    return [before, GOAL, f" {after}" if after else ""]


# --- ``setpoint take``: the rule of a stored model, moved -----------------------------------------


@command(
    "MODEL [DATA]",
    "bounds line rule new! report target baseline datasets skip_unlabelled accept as_json trust",
    "setpoint take loans.skops new.csv --bound 'precision >= 0.8' --model bold.skops",
    "setpoint take loans.skops new.csv --line 0.35 --model at-35.skops",
    "setpoint take loans.skops new.csv --rule rule.json --model by-group.skops",
    sets=READING,
    without_rule="nothing was written",
    rule=Option(
        "--rule JSON",
        "In place of both: a rule as explore and export write it, as text or a file.json. One "
        "threshold, or one for each group.",
        file="asked",
    ),
)
def take(asked: Asked) -> Ending:
    """Move the rule of MODEL to another bound, without a new fit.

    The rule is found anew on the scores of the rows of DATA, which have labels and best took no
    part in the fit. setpoint frontier shows beforehand what each bound brings. Nothing is
    certified of the new rule.

    The exit code is that of setpoint evaluate; if no rule meets the goal it is 3, and nothing is
    written. Rows that --line or --rule come with may have chosen it, and show of no bound that it
    holds: judge the new file by others.
    """
    if asked.data is None:
        raise click.UsageError(
            "Missing argument 'DATA': the rule is found on rows with labels, which a model file "
            "does not hold."
        )
    if bool(asked.bounds) + (asked.line is not None) + (asked.rule is not None) != 1:
        raise click.UsageError(
            "--bound, --line or --rule: one of the three is needed, and no more."
        )
    from setpoint.classifiers import save_model
    from setpoint.report import Header

    stored, table = opened_with(asked, asked.data)
    in_file = str(asked.rule).endswith(".json")
    rule = shell.rule_in_file(asked.rule) if in_file else asked.rule
    moved = stored.moved(table, rule=rule, **asked.only("bounds line baseline datasets"))
    with shell.writing(asked.new):
        save_model(moved, asked.new)
    found = moved.classifier.goal_report_
    about = {
        "The data": (f"{len(table.frame):,} rows from {table.name}", *table.notes),
        "The model": moved.notes,
    }
    given = found.status == "evaluated"
    chosen = "that may have chosen the rule" if given else "that the rule was chosen on"
    return judged(
        "taken", found, f"the {found.counts.n_rows:,} rows {chosen}", {"target": moved.target},
        model=asked.new, page=asked.report, about=about, header=Header(table.name, asked.new),
    )  # fmt: skip


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
def export(asked: Asked) -> None:
    """Write the decision rule of a model, to decide where the rows are.

    MODEL is a model file, or a rule as JSON. What is written is the rule, and not the model: it
    decides from scores, which the model still has to compute; 'setpoint predict' writes them. It
    decides nothing (NULL, None) where a score is missing or a group is new.
    """
    for name, own in _ONLY_FOR.items():
        unread = asked.get(name) and asked.kind != own
        refuse(unread, f"{shell.option_of(name)} is for --format {own}, not {asked.kind}")
    rule, classes, known = _opened(asked)
    if asked.kind == "json":
        text = rule.to_json()
    elif asked.kind == "python":
        text = rule.to_python(asked.name or "decide", classes=classes)
    else:
        text = rule.to_sql(
            _scores(rule, asked.scores or known),
            dialect=asked.dialect or "ansi",
            classes=classes,
            **asked.only("columns hash_column"),
        )
    if asked.output == "-":
        click.echo(text)
    else:
        shell.write(asked.output, text + "\n")


def _opened(asked: Asked) -> tuple[Rule, tuple[Label, ...] | None, tuple[str, ...]]:
    """The rule in a file, the labels of its classes, and its score columns, where known."""
    with Path(asked.model).open("rb") as file:
        begins = file.read(64).lstrip()
    if begins.startswith(b"{"):
        return shell.rule_in_file(asked.model), None, ()
    clf: Any = opened(asked, asked.model).classifier
    order = clf._classes.order
    classes = tuple(clf.classes_.tolist()[i] for i in order)
    several = clf.rule_.score_columns is not None and len(classes) > 2
    scores = tuple(f"score_{label}" for label in classes) if several else ()
    if clf._defers:
        answers = (*classes, clf._answers.defer_label)
        text = [isinstance(answer, str) for answer in answers]
        if any(text) and not all(text):
            note(f"the decisions are text, as {answers[-1]!r} is")
            answers = tuple(map(str, answers))
        classes = answers
    return clf.rule_, classes, scores


def _scores(rule: Rule, named: tuple[str, ...]) -> str | tuple[str, ...]:
    """The names of the score columns, as the rule takes them."""
    n = None if rule.score_columns is None else rule.score_columns - len(rule.value_columns)
    of_two = n == 2 and bool(rule.value_columns)  # one probability says both
    names = named or (("score",) if n is None or of_two else ())
    if len(names) == 1 and (n is None or of_two):
        return names[0]
    wanted = "one score" if n in (None, 1) else f"{n} scores"
    refuse(
        len(names) != (n or 1),
        f"--score: the rule looks at {wanted}, and {len(names)} are named; give --score once for "
        "each, in their order",
    )
    return names


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
    "state alpha goal no_restart no_labels late_labels target baseline units picture "
    "unknown_group as_json trust",
    "setpoint monitor loans.skops today.csv --state loans.watch || echo alarm",
    sets=f"{READING} largest-unit",
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
    rows = stored.rows(
        table, wanted, baseline=asked.baseline, datasets=None, labelled=not no_labels,
        units=asked.units or ("" if asked.get("largest_unit") is None else None),
    )  # fmt: skip
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
        n = len(table.frame)
        more = "" if found.largest_unit or n == found.n_rows_ else f" {n:,} of them are new."
        return blocks(
            first + more, f"Goal: {found.goal}", "\n".join(lines),
            wrote(state=state), wrote(picture=asked.picture),
        )  # fmt: skip

    what = _monitored(found, before) | {"target": stored.target, "new_rows": len(table.frame)}
    return Ending(text, what)


def _monitor(model: TableModel, goal: Goal, asked: Asked) -> Monitor:
    """A monitor of a model file, before any row."""
    from setpoint.classifiers import Monitor

    try:
        how = {"restart": not asked.no_restart, "largest_unit": asked.get("largest_unit")}
        return Monitor(model.classifier, goal, alpha=asked.alpha, **how)
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
