"""The page: one file with its data and its script, which asks for nothing from outside."""

from __future__ import annotations

import json
from typing import Any

from setpoint.explorer.bundle import bundled
from setpoint.report.page.rendering import rendered

__all__ = ["ROOM", "in_script", "page_of"]

ROOM = "setpoint.explorer"
"""Where the templates lie."""


def page_of(payload: dict[str, Any]) -> str:
    """The page of a payload as text."""
    values = {
        "headline": payload["programs"][0]["goal"],
        "script": bundled(),
        "payload": in_script(payload),
    }
    return rendered("template.html.j2", values, room=ROOM)


def in_script(payload: dict[str, Any]) -> str:
    r"""JSON that a script element can hold whatever its texts say.

    Examples
    --------
    >>> print(in_script({"goal": "</script><!--"}))
    {"goal":"\u003c/script>\u003c!--"}
    """
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
