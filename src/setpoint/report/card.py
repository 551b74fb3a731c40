"""A model card in Markdown: the goal, what was measured and on which rows, and the fit."""

from __future__ import annotations

import re

from setpoint.errors import InputError
from setpoint.goals.goal import Goal
from setpoint.goals.words import goal_in_words
from setpoint.report.facts import Facts
from setpoint.report.printable import cleaned
from setpoint.report.text import report_text

__all__ = ["HEADINGS", "card_text"]

HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def card_text(facts: Facts, *, name: str = "", held_out: Facts | None = None) -> str:
    """The card of a model as Markdown.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> text = card_text(Facts("maximize recall", Entry("recall", 0.8)), name="Loans")
    >>> text.splitlines()[4]
    '# Loans'
    """
    if held_out is not None and held_out.goal != facts.goal:
        raise InputError(
            f"`held_out` refers to the goal {held_out.goal!r}, and the model to {facts.goal!r}"
        )
    words = (
        f"{goal_in_words(Goal.parse(facts.goal), facts.counts.positive)}. As a goal of setpoint:"
    )
    judged = report_text(facts) if held_out is None else report_text(held_out, facts)
    run = facts.run
    made_by = [f"- {key} {text}" for key, text in run.versions.items()]
    made_of = [f"- digest of {key}: {text}" for key, text in run.digests.items()]
    parts = [
        f"{_text(words)}\n\n{_code(facts.goal)}",
        _code(judged),
        _code(facts.rule.text if held_out is None else report_text(facts)),
        "\n".join([f"- fitted {run.when} UTC", *map(_text, [*made_by, *made_of])]),
    ]
    blocks = [f"## {heading}\n\n{part}" for heading, part in zip(HEADINGS, parts, strict=True)]
    head = "---\nlibrary_name: setpoint\n---"
    return "\n\n".join([head, f"# {_text(name or 'A classifier')}", *blocks]) + "\n"


def _text(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(cleaned(text).split()))


def _code(text: str) -> str:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}text\n{cleaned(text)}\n{fence}"
