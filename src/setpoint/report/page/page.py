"""The page of a report: one self-contained HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from setpoint.goals.goal import Goal
from setpoint.goals.words import cases, glossary, goal_in_words
from setpoint.inputs.files import atomic_write
from setpoint.report.deployed import TITLE
from setpoint.report.entry import GroupRow
from setpoint.report.page.advice import notes_of
from setpoint.report.page.cards import cards_of, describe_rule, verdict_of
from setpoint.report.page.pictures import Picture, pictures_of
from setpoint.report.page.svg import cleaned
from setpoint.report.words import certificate, how_found, number

if TYPE_CHECKING:
    from setpoint.report.report import GoalReport

__all__ = ["Section", "page_text", "write_page"]

HELD_OUT = "rows held out"
CHOSEN_ON = "rows the rule was chosen on"


@dataclass(frozen=True)
class Section:
    """A title and sentences that somebody adds to a page, such as where the data came from.

    Parameters
    ----------
    title : str
    lines : sequence of str
        One bullet each.

    Raises
    ------
    TypeError
        If `lines` is one text.

    Examples
    --------
    >>> Section("The data", ("569 rows from wdbc.csv",)).title
    'The data'
    """

    title: str
    lines: Sequence[str]

    def __post_init__(self) -> None:
        if isinstance(self.lines, str):
            raise TypeError("lines= is a sequence of sentences, got one text")
        object.__setattr__(self, "lines", tuple(self.lines))


def write_page(
    path: str | os.PathLike[str],
    report: GoalReport,
    held_out: GoalReport | None = None,
    about: Sequence[Section] = (),
) -> None:
    """Write the page; an old file stays until the new one is whole.

    Parameters
    ----------
    report, held_out, about
        As in :func:`page_text`.

    Raises
    ------
    ImportError, ValueError
        As in :func:`page_text`.
    OSError
        If the file cannot be written.
    """
    atomic_write(path, page_text(report, held_out, about).encode("utf-8"))


def page_text(
    report: GoalReport, held_out: GoalReport | None = None, about: Sequence[Section] = ()
) -> str:
    """The page as text: HTML without scripts and outside resources.

    The same reports give the same text, but for what stands under "This run".

    Parameters
    ----------
    report : GoalReport
        Of the rows that the rule was chosen on, or of decisions that were measured.
    held_out : GoalReport, optional
        The same rule on rows held out; it leads the page.

    Raises
    ------
    ImportError
        If jinja2 or matplotlib is not installed.
    ValueError
        If `held_out` refers to another goal.
    """
    if held_out is not None and held_out.goal != report.goal:
        raise ValueError(
            f"held_out is a report on another goal: {held_out.goal!r}, not {report.goal!r}"
        )
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError(
            "the page is made with jinja2; install it with: pip install 'setpoint[report]'"
        ) from None
    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    folder = files("setpoint.report.page")
    template = environment.from_string(folder.joinpath("page.html.j2").read_text("utf-8"))
    pictures = [
        {"title": p.title, "svg": Markup(p.svg(f"p{i}-")), "caption": p.caption, "rows": rows}
        for i, (p, rows) in enumerate(_pictures(report, held_out), 1)
    ]
    style = Markup(folder.joinpath("page.css").read_text("utf-8"))
    return template.render(
        style=style, pictures=pictures, **_template_values(report, held_out, about)
    )


def _finalize(x: Any) -> Any:
    """Text that a page may hold; what is HTML already stays as it is."""
    return cleaned(x) if isinstance(x, str) and not hasattr(x, "__html__") else x


def _template_values(
    report: GoalReport, held_out: GoalReport | None, about: Sequence[Section]
) -> dict[str, Any]:
    """Everything that the template writes, as plain values."""
    goal = Goal.parse(report.goal)
    lead = report if held_out is None else held_out
    where = HELD_OUT if held_out is not None else _where(report)
    rule, rule_lines = describe_rule(report)
    shares = [("On the " + HELD_OUT, _tables(held_out.groups))] if held_out is not None else []
    shares.append((f"On the {_where(report)}" if shares else "", _tables(report.groups)))
    certified = certificate(report)
    return {
        "goal": report.goal,
        "sentence": goal_in_words(goal, report.positive),
        "of_class": "" if report.positive is None else cases(report.positive),
        "glossary": glossary(goal),
        "verdict": verdict_of(lead, where),
        "cards": cards_of(lead),
        "where": where,
        "search_cards": cards_of(report) if held_out is not None else [],
        "search_verdict": verdict_of(report, _where(report)) if held_out is not None else None,
        "against": TITLE,
        "deployed": [] if lead.deployed is None else lead.deployed.lines(),
        "adaptive": _adaptive(report),
        "notes": notes_of(report, held_out),
        "rule": rule,
        "rule_lines": rule_lines,
        "how": how_found(report, f"How it was found: {report.status},"),
        "certificate": certified if report.evidence != "soft" else "",
        "groups": [(title, tables) for title, tables in shares if tables],
        "level": f"{100 * lead.level:.4g}",
        "about": [*about, *_stream(lead)],
        "texts": _texts(report, held_out),
        "run": _run(report, held_out),
    }


def _adaptive(report: GoalReport) -> dict[str, Any] | None:
    """What a search over surrogates gained, on the rows of its metric."""
    found = report.adaptive
    if found is None:
        return None
    greater = report.goal.startswith("maximize")
    return {
        "title": found.TITLE,
        "metric": str(Goal.parse(report.goal).objective),
        "rows": found.rows(greater),
        "lines": found.short_lines(greater),
    }


def _stream(report: GoalReport) -> list[Section]:
    """How a stream stands."""
    if report.stream is None:
        return []
    return [Section("The stream", tuple(report.stream.lines()))]


def _where(report: GoalReport) -> str:
    if report.stream is not None:
        return "rows of the stream, each decided by the rule of its moment"
    if report.status == "evaluated":
        return "rows" if report.rule == "" else "rows that the rule was measured on"
    folds = "" if report.folds is None else f" (scores from {report.folds}-fold cross-validation)"
    if report.folds == 1:
        folds = " (held out from training)"
    return CHOSEN_ON + folds


def _pictures(report: GoalReport, held_out: GoalReport | None) -> list[tuple[Picture, str]]:
    """Pictures of both reports, and on which rows; the rows held out show their own groups."""
    if held_out is None:
        return [(p, "") for p in pictures_of(report)]
    own = [(p, f"On the {HELD_OUT}") for p in pictures_of(held_out)]
    seen = {p.title for p, _ in own}
    return own + [(p, f"On the {CHOSEN_ON}") for p in pictures_of(report) if p.title not in seen]


def _tables(groups: Sequence[GroupRow]) -> list[dict[str, Any]]:
    out = []
    for metric in dict.fromkeys(g.metric for g in groups):
        rows = [
            {
                "name": g.name,
                "value": number(g.value),
                "interval": "" if g.low is None else f"{number(g.low)} to {number(g.high)}",
                "rows": f"{g.rows:,}",
            }
            for g in groups
            if g.metric == metric
        ]
        out.append({"metric": metric, "rows": rows})
    return out


def _texts(report: GoalReport, held_out: GoalReport | None) -> list[tuple[str, str]]:
    if held_out is None:
        return [("", str(report))]
    return [(f"On the {HELD_OUT}", str(held_out)), (f"On the {CHOSEN_ON}", str(report))]


def _run(report: GoalReport, held_out: GoalReport | None) -> list[tuple[str, str]]:
    """What may differ between two runs of the same thing."""
    out = []
    if report.seconds is not None:
        out.append(("search", f"{report.seconds:.3g} seconds"))
    if report.n_oracle_calls is not None:
        out.append(("passes over the data", f"{report.n_oracle_calls:,}"))
    out += [(name, text) for name, text in report.versions.items()]
    return out
