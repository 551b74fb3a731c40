"""Texts of users as a page and a picture can hold them."""

from __future__ import annotations

import re
from unicodedata import category

__all__ = ["cleaned", "printed", "shortened"]

_UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def cleaned(text: str) -> str:
    r"""Text without characters that no page may hold, such as halves of surrogate pairs.

    Examples
    --------
    >>> cleaned("a\x00b")
    'a\ufffdb'
    """
    return _UNSAFE.sub("\ufffd", text)


def printed(text: str) -> str:
    r"""Text for a terminal: what it could take for a command is written as an escape.

    Examples
    --------
    >>> print(printed("a\x1b[31mb"))
    a\x1b[31mb
    """
    if text.isascii() and text.replace("\n", "").isprintable():
        return text
    return "".join(repr(c)[1:-1] if _commands(c) else c for c in text)


def _commands(c: str) -> bool:
    """Whether a character moves, colours or turns what follows, other than the end of a line."""
    return c not in _JOINERS and category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")


_JOINERS = "\n\u200c\u200d"
"""Beside the end of a line, what scripts and pictures of several characters need."""


def shortened(text: str, most: int = 36) -> str:
    """Clean text of at most so many characters, its end left out.

    Examples
    --------
    >>> shortened("northern region", 10)
    'northern …'
    """
    return cleaned(text if len(text) <= most else f"{text[: most - 1]}…")
