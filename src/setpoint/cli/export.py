"""``setpoint export``: the rule of a model in SQL, Python or JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.errors import CommandError
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import trust_option
from setpoint.cli.rule_files import rule_in_file
from setpoint.cli.session import current
from setpoint.inputs.files import whole_file
from setpoint.tasks.reading import open_model

if TYPE_CHECKING:
    from setpoint.goals.populations import Label
    from setpoint.rules import Rule

__all__ = ["export"]

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
@trust_option
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
    """Write the decision rule of a model, to decide where the rows are."""
    given = {
        "--score": scores,
        "--dialect": dialect,
        "--column": columns,
        "--hash-column": hash_column,
        "--name": name,
    }
    for option, value in given.items():
        if value and kind not in _FOR[option]:
            raise CommandError(f"{option} is for --format {_FOR[option][0]}, not {kind}")
    check_outputs({"-o": output}, {"MODEL": model})
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
        return _Found(rule_in_file(path), None, None)
    clf: Any = open_model(path, trust, current()).classifier
    order = clf._classes.order
    classes = tuple(clf.classes_.tolist()[i] for i in order)
    several = clf.rule_.score_columns is not None and len(classes) > 2
    scores = tuple(f"score_{label}" for label in classes) if several else None
    if clf._defers:
        answers = (*classes, clf._answers.defer_label)
        text = [isinstance(answer, str) for answer in answers]
        if any(text) and not all(text):
            current().note(f"the decisions are text, as {answers[-1]!r} is")
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
        raise CommandError(
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
            raise CommandError(f"--column is NAME=COL, got {text!r}")
        if name in out:
            raise CommandError(f"--column names {name!r} twice")
        out[name] = column
    return out


def _write(text: str, output: str) -> None:
    if output == "-":
        click.echo(text)
        return
    with writing(output), whole_file(output) as file:
        file.write((text + "\n").encode("utf-8"))
