"""Templates: values become a page, every text escaped and clean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from setpoint.report.printable import cleaned

__all__ = ["rendered"]

_HERE = "setpoint.report.page"
_PERCENT = re.compile(r"(?<=\d) %")


def rendered(template: str, values: Mapping[str, Any], room: str = _HERE) -> str:
    """A template with its values and the style of all pages."""
    try:
        from jinja2 import Environment, FunctionLoader, StrictUndefined
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
        loader=FunctionLoader(lambda name: _read(name, room) or _read(name, _HERE)),
    )
    # What matplotlib drew was escaped by it.
    environment.filters["drawn"] = Markup
    environment.filters["exact"] = Exact
    style = "".join(_read("page.css", place) or "" for place in dict.fromkeys((_HERE, room)))
    return environment.get_template(template).render(style=Markup(style), **values)


class Exact(str):
    """A text to copy, such as a goal or a name: none of its spaces is changed."""

    __slots__ = ()


def _read(name: str, room: str) -> str | None:
    """A file of a package; None if it has none of that name."""
    file = files(room).joinpath(name)
    return file.read_text("utf-8") if file.is_file() else None


def _finalize(x: Any) -> Any:
    """Text that a page may hold; what is HTML already stays as it is."""
    if not isinstance(x, str) or hasattr(x, "__html__"):
        return x
    text = cleaned(x)
    # A number and its sign stay on one line.
    return text if isinstance(x, Exact) else _PERCENT.sub("\u00a0%", text)
