"""The text of a goal as people write it, in the spelling that Python's ``ast`` reads."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import NoReturn

from setpoint.goals.errors import GoalSyntaxError
from setpoint.goals.synonyms import AT_K

__all__ = ["CONFIDENCE", "Source", "fail"]

CONFIDENCE = "as in 'precision >= 0.9 with confidence 0.99'"
"""How the confidence of a constraint is written."""

_NUMBER = r"(?:\d+(?:\.\d*)?|\.\d+)(?:\s*%|(?:e[-+]?\d+)?)"
_PIECES = re.compile(
    r"""(?P<triple>\"{3}|'{3})|(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
    rf"""|(?P<sure>\bwith\s+(?:confidence\s+{_NUMBER}|{_NUMBER}\s*confidence\b))"""
    rf"""|(?P<unsure>\bwith\s+confidence\b|\bconfidence\s+{_NUMBER}|\bat\s+confidence\b"""
    rf"""|\bat\s+{_NUMBER}\s*confidence\b|\bwith\s+{_NUMBER}(?=\s*(?:$|\)|and\b|,\s*\D)))"""
    r"""|(?P<subject>\b(?:subject\s+to|such\s+that)\b|\bs\.\s?t\.)|(?P<with>\b(?:with|where)\b)"""
    r"""|(?P<and>\band\b)|(?P<percent>(?<![\w.])(?:\d+(?:\.\d*)?|\.\d+)\s*%)"""
    r"""|(?P<least>\b(?:(?:is|of)\s+)?at\s+least\b)|(?P<most>\b(?:(?:is|of)\s+)?at\s+most\b)"""
    r"""|(?P<rank>\bat\s+(?:top\s+)?(?:k|\d+)\b(?!\s*%|\.\d))|(?P<level>\bat\s+\d*\.?\d+\s*%?)"""
    r"""|(?P<word>\w+)|(?P<ge>≥|=>)|(?P<le>≤|=<)|(?P<space>\s+)|(?P<other>.)""",
    re.DOTALL | re.IGNORECASE,
)
_WORDS = re.compile(r"with|confidence|\s", re.IGNORECASE)
_SPELLED = {"space": " ", "ge": ">=", "least": ">=", "le": "<=", "most": "<=", "and": "and"}
_OPEN, _CLOSED = ("(", "[", "{"), (")", "]", "}")


class Source:
    """The text in Python's spelling, with the place in the original of each character."""

    def __init__(self, text: str, start: int) -> None:
        self.text = text
        self.parts: list[list[str]] = [[]]
        self.places: list[list[int]] = [[]]
        self.sure: list[list[int]] = [[]]
        depth = 0  # in brackets a bare word may be the name of a column or of a label
        for match in _PIECES.finditer(text, start):
            piece = match.group()
            kind = match.lastgroup or ""
            depth = max(0, depth + (piece in _OPEN) - (piece in _CLOSED))
            if kind == "subject" or (kind == "with" and not depth):
                self.parts.append([])
                self.places.append([])
                self.sure.append([])
                continue
            if kind == "triple" or piece in ("#", "\0", ";", "\\"):
                fail(text, f"the character {piece!r} has no meaning here", match.start())
            if kind == "rank":
                fail(text, f"{piece!r}: {AT_K}", match.start())
            if kind == "level":
                bound = "'maximize recall subject to precision >= 0.9'"
                fail(
                    text,
                    f"{piece.strip()!r}: a level that is kept is a bound, as in {bound}",
                    match.start(),
                )
            if kind == "unsure":
                what = "a confidence is a number above 0 and below 1 after a constraint"
                fail(text, f"{piece.strip()!r}: {what}, {CONFIDENCE}", match.start())
            if kind == "sure":
                self.sure[-1].append(match.start())
                number = _WORDS.sub("", piece)
                spelled = f" not in {_share(number) if '%' in number else f'{number} '}"
            elif kind == "percent":
                spelled = _share(piece)
            elif kind == "and" and depth:
                spelled = piece
            else:
                spelled = _SPELLED.get(kind, piece)
            self.parts[-1] += spelled
            self.places[-1] += [
                match.start() + (i if spelled == piece else 0) for i in range(len(spelled))
            ]

    def part(self, index: int) -> tuple[str, list[int]]:
        """The text of a part, and the place of each of its characters."""
        code, places = "".join(self.parts[index]), self.places[index]
        skip = len(code) - len(code.lstrip())
        return code.strip(), places[skip:]


def _share(percent: str) -> str:
    """A number per cent as a share, exactly as that is written: 0.29 for 29%."""
    return f"{float(Decimal(percent.rstrip('%').strip()) / 100)!r} "


def fail(text: str, message: str, place: int) -> NoReturn:
    """Raise a GoalSyntaxError that shows where."""
    start, end = max(0, place - 30), min(len(text), place + 30)
    shown = ("..." if start else "") + text[start:end] + ("..." if end < len(text) else "")
    raise GoalSyntaxError(f"{message}, at character {place + 1}: {shown!r}")
