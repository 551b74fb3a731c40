"""A matplotlib figure as SVG that lives inside a page: its inks, its fonts, no clash of ids."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from setpoint.report.page.paths import rounded, shorter
from setpoint.report.printable import cleaned

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["drawn"]

_INKS = {
    "#1b1f24": "var(--ink)",
    "#000000": "var(--ink)",
    "#ffffff": "var(--paper)",
    "#5b6470": "var(--muted)",
    "#d5dae1": "var(--grid)",
    "#1f5fbf": "var(--blue)",
    "#b3540b": "var(--orange)",
    "#2c7a4b": "var(--green)",
    "#b3261e": "var(--red)",
}
"""What the displays draw with, and the page's own colours, which follow light and dark."""

_INK = "#1b1f24"

_LINE = 0.17
"""Inches of one line of a legend."""

_FONT = re.compile(r"\s*font-family:[^;]*;?")
_COLOUR = re.compile(r"#[0-9a-fA-F]{6}\b")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def drawn(
    plot: Callable[[Any], object],
    *,
    size: tuple[float, float],
    prefix: str,
    description: str,
    panels: bool = False,
) -> str:
    """What `plot` draws, as the text of one ``<svg>`` element."""
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise ImportError(
            "the page draws with matplotlib; install it with: pip install 'setpoint[report]'"
        ) from None
    out = io.StringIO()
    settings: Any = {
        "svg.hashsalt": "setpoint",
        "svg.fonttype": "none",
        "text.parse_math": False,
        # Centred below narrow axes a long label would be cut off.
        "xaxis.labellocation": "right",
    }
    with rc_context(settings), warnings.catch_warnings():
        # The browser has the letters that matplotlib's own font lacks.
        warnings.filterwarnings("ignore", r"Glyph \d+", UserWarning)
        warnings.filterwarnings("ignore", "Matplotlib currently does not support", UserWarning)
        figure = Figure(figsize=size, layout="constrained")
        figure.patch.set_visible(False)
        if panels:
            plot(figure)
        else:
            plot(figure.subplots())
        for ax in figure.axes:
            ax.patch.set_visible(False)
            locator = ax.xaxis.get_major_locator()
            if isinstance(locator, MaxNLocator):
                locator.set_params(nbins=6)
        _legend_below(figure, size)
        figure.savefig(
            out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    return _embedded(cleaned(out.getvalue()), prefix, description)


def _legend_below(figure: Figure, size: tuple[float, float]) -> None:
    """Legends move below the picture, which grows by them: beside it there is no room."""
    handles: list[Any] = []
    labels: list[str] = []
    for ax in figure.axes:
        legend = ax.get_legend()
        if legend is not None:
            legend.remove()
            found = ax.get_legend_handles_labels()
            handles += found[0]
            labels += found[1]
    lines = sum(1 + label.count("\n") for label in labels)
    figure.set_size_inches(size[0], size[1] + _LINE * lines)
    if labels:
        figure.legend(
            handles,
            labels,
            loc="outside lower left",
            frameon=False,
            labelcolor=_INK,
            fontsize="small",
        )


def _embedded(text: str, prefix: str, description: str) -> str:
    root = ET.fromstring(text)
    for parent in root.iter():
        for child in list(parent):
            # A style element would hold for the whole page.
            if _plain(child.tag) in ("metadata", "style"):
                parent.remove(child)
    # Numbered as they appear, those that nothing refers to left out.
    found = dict.fromkeys(name for e in root.iter() for name in _references(e))
    names = {name: f"{prefix}{i}" for i, name in enumerate(found)}
    for element in root.iter():
        element.tag = _plain(element.tag)
        element.attrib = _attributes(element, names)
        if element.tag != "text" and not (element.text or "").strip():
            element.text = None
        if not (element.tail or "").strip():
            element.tail = None
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "role": "img",
        "aria-label": cleaned(description),
    }
    return ET.tostring(root, encoding="unicode")


def _attributes(element: ET.Element, names: dict[str, str]) -> dict[str, str]:
    out = {}
    for name, value in element.attrib.items():
        key = _plain(name)
        if key == "id":
            if value in names:
                out[key] = names[value]
        elif key == "href":
            out[key] = f"#{names[value.removeprefix('#')]}"
        elif key == "d":
            out[key] = shorter(value)
        elif key == "style":
            out[key] = _FONT.sub("", _COLOUR.sub(_ink, _referred(value, names))).strip()
        elif key in ("x", "y", "transform"):
            out[key] = rounded(value)
        else:
            out[key] = _referred(value, names)
    return out


def _referred(value: str, names: dict[str, str]) -> str:
    return _REFERENCE.sub(lambda match: f"url(#{names[match.group(1)]})", value)


def _references(element: ET.Element) -> list[str]:
    found = [n for v in element.attrib.values() for n in _REFERENCE.findall(v)]
    found += [v.removeprefix("#") for k, v in element.attrib.items() if _plain(k) == "href"]
    return found


def _ink(match: re.Match[str]) -> str:
    return _INKS.get(match.group().lower(), match.group())


def _plain(name: str) -> str:
    """A name without its namespace; HTML knows SVG without."""
    return name.rpartition("}")[2]
