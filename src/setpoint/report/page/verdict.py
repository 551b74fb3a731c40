"""The verdict of a page: its word, what to beware of, what to do, and the command for it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from setpoint.goals.goal import Goal
from setpoint.inference.verdicts import FAILS
from setpoint.report.advice import Advice, advice_of, stricter_goal
from setpoint.report.facts import Facts
from setpoint.report.findings import caveats, headline, rows_in_words, sentence, summary
from setpoint.report.page.header import Header
from setpoint.report.page.parts import WORDS, Tone, tone_of
from setpoint.report.promised import STATES, assurances, promising

__all__ = ["Box", "box_of", "command_for", "is_refuted"]

_MOST = 4
"""More cautions and more advice than so many are folded."""

NO_PART = "These rows took no part in choosing the rule."


@dataclass(frozen=True)
class Box:
    """What stands under the headline."""

    tone: Tone
    word: str
    promise: tuple[str, ...]
    lines: tuple[str, ...]
    cautions: tuple[str, ...]
    more_cautions: tuple[str, ...]
    advice: tuple[Advice, ...]
    more_advice: tuple[Advice, ...]
    command: str
    command_words: str


def box_of(facts: Facts, held_out: Facts | None, goal: Goal, header: Header) -> Box:
    """The verdict on the rows that judge: those held out, where there are any."""
    lead = facts if held_out is None else held_out
    tone, word = _word(facts, lead)
    lines = [summary(lead), rows_in_words(lead)]
    if lead is not facts and facts.guarantee is not None and not is_refuted(facts, lead):
        lines.insert(0, f"{sentence(headline(lead, goal))}.")
    if held_out is not None:
        lines.append(NO_PART)
    known = tuple(dict.fromkeys([*header.cautions, *caveats(lead)]))
    fitted = None if held_out is None else facts
    advice = tuple(dict.fromkeys(advice_of(lead, fitted, at_shell=bool(header.command))))
    stricter = None if facts.guarantee is not None else stricter_goal(lead, goal, fitted)
    command = words = ""
    if stricter is not None:
        command = command_for(stricter, header)
        words = "To search with the margin, the goal is" if command == str(stricter) else ""
        words = words or "To search with the margin"
    return Box(
        tone,
        word,
        tuple(_promise(facts, lead)),
        tuple(text for text in lines if text),
        known[:_MOST],
        known[_MOST:],
        advice[:_MOST],
        advice[_MOST:],
        command,
        words,
    )


def _word(facts: Facts, lead: Facts) -> tuple[Tone, str]:
    """How the goal stands, and the word for it."""
    tone: Tone = tone_of(lead.verdict) if lead.constraints else ""
    promised = promising(lead, facts).guarantee
    if promised is None or is_refuted(facts, lead):
        return tone, WORDS.get(tone, "")
    if promised.state != "certified":
        return "fails" if tone == "fails" else "open", STATES[promised.state]
    # What no promise is about may leave the goal open.
    return (
        (tone, WORDS[tone]) if lead is facts and tone != "shown" else ("shown", STATES["certified"])
    )


def is_refuted(facts: Facts, lead: Facts) -> bool:
    """Whether other rows than those that certify show that the goal fails."""
    return lead is not facts and facts.guarantee is not None and lead.verdict == FAILS


def _promise(facts: Facts, lead: Facts) -> list[str]:
    """What goes with the promise, where there is one; where other rows refute it, itself too."""
    goal = Goal.parse(facts.goal)
    first = [f"{headline(facts, goal)}."] if is_refuted(facts, lead) else []
    return first + assurances(facts, goal)


def command_for(goal: Goal | str, header: Header) -> str:
    """The command for a goal, quoted for a shell; the goal's text where there is no command.

    Examples
    --------
    >>> command_for("maximize f1", Header(command="setpoint fit a.csv --goal {goal}"))
    "setpoint fit a.csv --goal 'maximize f1'"
    >>> command_for("maximize f1", Header())
    'maximize f1'
    """
    if not header.command:
        return str(goal)
    return header.command.replace("{goal}", shlex.quote(str(goal)))
