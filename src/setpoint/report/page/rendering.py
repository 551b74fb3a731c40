"""Templates: values become a page, every text escaped and clean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from setpoint.report.printable import cleaned

__all__ = ["rendered"]

_PERCENT = re.compile(r"(?<=\d) %")


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """A template of this folder with its values and the style of all pages.

    Parameters
    ----------
    template : str
        File name.
    values : mapping
        Texts are escaped, but for the `svg` of pictures.

    Raises
    ------
    ImportError
        If jinja2 is not installed.
    """
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
        loader=FunctionLoader(_read),
    )
    # What matplotlib drew was escaped by it.
    environment.filters["drawn"] = Markup
    environment.filters["exact"] = Exact
    return environment.get_template(template).render(style=Markup(_read("page.css")), **values)


class Exact(str):
    """A text to copy, such as a goal or a name: none of its spaces is changed."""

    __slots__ = ()


def _read(name: str) -> str:
    return files("setpoint.report.page").joinpath(name).read_text("utf-8")


def _finalize(x: Any) -> Any:
    """Text that a page may hold; what is HTML already stays as it is."""
    if not isinstance(x, str) or hasattr(x, "__html__"):
        return x
    text = cleaned(x)
    # A number and its sign stay on one line.
    return text if isinstance(x, Exact) else _PERCENT.sub("\u00a0%", text)
