"""``setpoint show``: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from setpoint.cli.certifying import certified_before
from setpoint.cli.files import check_outputs, writing
from setpoint.cli.options import as_json, trust_option
from setpoint.cli.output import print_json
from setpoint.cli.session import current
from setpoint.cli.verdicts import status_of
from setpoint.packages import require_packages

if TYPE_CHECKING:
    from setpoint.tasks import ShownModel

__all__ = ["show"]

_MOST_COLUMNS = 60


@click.command(
    epilog="\b\nFor example:\n"
    "  setpoint show loans.skops --report loans.html\n"
    "  setpoint show loans.skops --card > README.md"
)
@click.argument("model")
@click.option("--report", metavar="FILE", help="The HTML page of the fit to write.")
@click.option("--card", is_flag=True, help="The model card instead, as Markdown.")
@as_json
@trust_option
def show(model: str, report: str | None, card: bool, as_json: bool, trust: tuple[str, ...]) -> None:
    """Show what a model file holds: its goal, its rule, its columns, and what was reached then."""
    from setpoint.report.card import card_text
    from setpoint.report.printable import printed
    from setpoint.tasks import show_model

    if card and as_json:
        raise click.UsageError("--card is Markdown: leave --json out")
    check_outputs({"--report": report}, {"MODEL": model})
    if report is not None:
        require_packages("--report", "report", "jinja2", "matplotlib")
    session = current()
    found = show_model(model, trust=trust, journal=session)
    if report is not None:
        with writing(report):
            found.to_html(report, model)
    if card:
        text = card_text(found.chosen, name=Path(model).stem, held_out=found.model.held_out)
        click.echo(text, nl=False)
    elif as_json:
        what = {"command": "show", "status": status_of(found.judged), **found.to_dict()}
        what["notes"] = session.notes
        print_json(what, {"model": model, "report": report, "written": dict(found.written)})
    else:
        click.echo(printed("\n".join(_text(found, model))))
        if report is not None:
            click.echo(f"\nWrote the page to {report}.")


def _text(found: ShownModel, path: str) -> Iterator[str]:
    """The facts, in the order of the questions of who finds a file."""
    from setpoint.report.rule_words import rule_lines

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
    yield from ("", "Rule", *(f"  {line}" for line in rule_lines(found.chosen, found.goal)))
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
    from setpoint.report.findings import headline, lines_of
    from setpoint.report.text import entry_lines

    judged = found.judged
    goal = found.meant if str(found.meant) == judged.goal else found.goal
    yield f"Then, on {found.where}"
    yield from _filled("", f"{headline(judged, goal)}.", indent=2)
    for line in lines_of(judged, goal):
        first, *more = entry_lines(line)
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
