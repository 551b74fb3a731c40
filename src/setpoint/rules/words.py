"""The words in which a rule explains itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from setpoint.errors import InputError
from setpoint.goals.populations import DEFER, Label

__all__ = ["ClassNames", "first_lines", "indented", "probabilities_in_words"]

_LINES = 20
"""Of a rule, from which on the others are counted."""

SHORTEST, LONGEST = 4, 17
"""Significant digits: what a reader wants, and what tells any two float64 apart."""


@dataclass(frozen=True)
class ClassNames:
    """The names of the classes and of the score in the words of a rule.

    Parameters
    ----------
    classes : tuple of Label
        The class labels by class index; in binary problems (negative, positive). Of a
        rule that may defer, the last one is "defer".
    score : str
        What the score is called, with its article.

    Raises
    ------
    ValueError
        If there are fewer than two classes.

    Examples
    --------
    >>> names = ClassNames(classes=("no", "yes"))
    >>> names.label(1), names.score_of(1)
    ("'yes'", "the score of 'yes'")
    """

    classes: tuple[Label, ...]
    score: str = "the score"

    def __post_init__(self) -> None:
        if len(self.classes) < 2:
            raise InputError(f"`classes`: at least two are needed, got {self.classes!r}")

    @property
    def defers(self) -> bool:
        """Whether the last of three names or more is that of the rows that are not decided.

        Examples
        --------
        >>> ClassNames(("no", "yes", "defer")).defers
        True
        """
        return len(self.classes) > 2 and self.classes[-1] == DEFER

    def label(self, index: int) -> str:
        """Write the class as in a sentence."""
        return repr(self.classes[index])

    def score_of(self, index: int) -> str:
        """Write the score of one class as in a sentence."""
        return f"{self.score} of {self.label(index)}"


def probabilities_in_words(probabilities: Iterable[float]) -> list[str]:
    """Write probabilities in four digits, and in more where one would else read as 1.

    Examples
    --------
    >>> probabilities_in_words([0.37, 0.999999])
    ['0.37', '0.999999']
    """
    texts = []
    for p in probabilities:
        digits = SHORTEST
        while digits < LONGEST and p != 1.0 and float(f"{p:.{digits}g}") == 1.0:
            digits += 1
        texts.append(f"{p:.{digits}g}")
    return texts


def indented(text: str) -> str:
    """Move every line of `text` two blanks further in."""
    return "\n".join("  " + line for line in text.split("\n"))


def first_lines(text: str) -> str:
    r"""The words of a rule as they are printed: of many lines the first, and how many follow.

    Examples
    --------
    >>> first_lines("\n".join("abcdefghijklmnopqrstuvwxyz")).splitlines()[-2:]
    ['t', '... and 6 more lines; `explain` and `to_json` of the rule have all']
    """
    lines = text.split("\n")
    more = len(lines) - _LINES
    if more <= 1:
        return text
    end = f"... and {more:,} more lines; `explain` and `to_json` of the rule have all"
    return "\n".join([*lines[:_LINES], end])
