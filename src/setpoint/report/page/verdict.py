"""The verdict of a page: its word, what to beware of, what to do, and the command for it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from setpoint.goals.goal import Goal
from setpoint.report.advice import Advice, advice_of, stricter_goal
from setpoint.report.facts import Facts
from setpoint.report.findings import caveats, rows_in_words, summary
from setpoint.report.page.header import Header
from setpoint.report.page.parts import WORDS, Tone, tone_of

__all__ = ["Box", "box_of", "command_for"]

_MOST = 4
"""More cautions and more advice than so many are folded."""

NO_PART = "These rows took no part in choosing the rule."


@dataclass(frozen=True)
class Box:
    """What stands under the headline.

    Parameters
    ----------
    tone : Tone
        "" where the goal has no constraint to judge.
    word : str
    lines : tuple of str
        How many constraints hold, and on which rows that was measured.
    cautions, advice : tuple
        The gravest first.
    more_cautions, more_advice : tuple
        What is folded.
    command : str
        What to paste: a command, or the goal with its margin; "" if there is no margin.
    command_words : str
    """

    tone: Tone
    word: str
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
    tone: Tone = tone_of(lead.verdict) if lead.constraints else ""
    lines = [text for text in (summary(lead), rows_in_words(lead)) if text]
    if held_out is not None:
        lines.append(NO_PART)
    known = tuple(dict.fromkeys([*header.cautions, *caveats(lead)]))
    advice = tuple(dict.fromkeys(advice_of(lead, None if held_out is None else facts)))
    stricter = stricter_goal(lead, goal)
    command = words = ""
    if stricter is not None:
        command = command_for(stricter, header)
        words = "To search with the margin, the goal is" if command == str(stricter) else ""
        words = words or "To search with the margin"
    return Box(
        tone,
        WORDS.get(tone, ""),
        tuple(lines),
        known[:_MOST],
        known[_MOST:],
        advice[:_MOST],
        advice[_MOST:],
        command,
        words,
    )


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
