"""The page: one file with its data and its script, which asks for nothing from outside."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from setpoint.explorer.bundle import bundled

__all__ = ["in_script", "page_of", "template_of"]


def page_of(payload: dict[str, Any]) -> str:
    """The page of a payload as text.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    return template_of(
        "template.html.j2",
        {
            "lang": "en",
            "title": payload["programs"][0]["goal"],
            "script": bundled(),
            "payload": in_script(payload),
        },
        _read("page.css"),
    )


def in_script(payload: dict[str, Any]) -> str:
    r"""JSON that a script element can hold whatever its texts say.

    Examples
    --------
    >>> print(in_script({"goal": "</script><!--"}))
    {"goal":"\u003c/script>\u003c!--"}
    """
    text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def template_of(name: str, values: dict[str, Any], style: str) -> str:
    """A template of this folder with its values.

    Parameters
    ----------
    name : str
    values : dict
        Texts are escaped, but for `script` and `payload`, and what passes the filter `drawn`.
    style : str

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup
    except ImportError:
        raise ImportError(
            "the page is made with jinja2; install it with: pip install 'setpoint[report]'"
        ) from None
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["drawn"] = Markup
    raw = {k: Markup(v) for k, v in values.items() if k in ("script", "payload")}
    text = environment.from_string(_read(name)).render(**{**values, **raw, "style": Markup(style)})
    return f"{text.rstrip()}\n"


def _read(name: str) -> str:
    return files("setpoint.explorer").joinpath(name).read_text("utf-8")
