"""Commands that choose: ``frontier``, ``explore`` and ``take``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli import session as shell
from setpoint.cli.endings import Ending, blocks, command, judged, typed_words, wrote
from setpoint.cli.options import GIVEN, READING, Asked, Option, refuse
from setpoint.cli.session import opened_with
from setpoint.errors import InputError
from setpoint.goals import Goal
from setpoint.packages import require_packages
from setpoint.tables import CHECKED, TableFile, note, only_one_stdin, step, warnings_as_notes

if TYPE_CHECKING:
    from setpoint.explorer import Command, Explorer
    from setpoint.search import InfeasibleError


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
    from setpoint.estimators import save_model
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
