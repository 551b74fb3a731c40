"""Texts of users as a page and a picture can hold them."""

from __future__ import annotations

import re

__all__ = ["cleaned", "shortened"]

_UNSAFE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def cleaned(text: str) -> str:
    r"""Text without characters that no page may hold, such as halves of surrogate pairs.

    Examples
    --------
    >>> cleaned("a\x00b")
    'a\ufffdb'
    """
    return _UNSAFE.sub("\ufffd", text)


def shortened(text: str, most: int = 36) -> str:
    """Clean text of at most so many characters, its end left out.

    Examples
    --------
    >>> shortened("northern region", 10)
    'northern …'
    """
    return cleaned(text if len(text) <= most else f"{text[: most - 1]}…")
