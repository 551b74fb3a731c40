"""Documents as pages: one self-contained HTML file each, without scripts and outside resources."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import count, pairwise
from typing import TYPE_CHECKING, Any

from setpoint.report.document import HELD_OUT, report_document, report_text, where
from setpoint.report.facts import Facts, Picture, TextSection
from setpoint.report.numbers import RowShare, cleaned, shortened
from setpoint.report.text import Document, Grid, Header

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# --- A document as a page -------------------------------------------------------------------------


_LONGEST = 240
"""Characters of a headline; names of classes may be long."""


def as_page(found: Document) -> str:
    """A document as HTML."""
    values = {
        "found": found,
        "headline": shortened(found.title, _LONGEST),
        "columns": columns_of,
        "kind": lambda block: type(block).__name__,
        "draw": drawn,
        "numbers": count(1),
        "placed": placed,
        "shortened": shortened,
    }
    return rendered("page.html.j2", values)


def placed(parts: Sequence[RowShare]) -> Iterator[tuple[RowShare, float, float, float, float]]:
    """Each part with its start, width and middle in the bar, and the place of its label, in %."""
    start, total = 0.0, sum(p.rows for p in parts)
    for i, part in enumerate(parts):
        width = 100.0 * part.rows / total
        a, b, c, d = start, width, start + width / 2.0, 100.0 * (i + 0.5) / len(parts)
        yield part, round(a, 2), round(b, 2), round(c, 2), round(d, 2)
        start += width


def columns_of(table: Grid) -> Iterator[dict[str, Any]]:
    """The columns of a table that hold anything: whether drawn, drawn alone, on shared axes."""
    for i, (head, *cells) in enumerate(zip(table.head, *table.rows, strict=True)):
        bars = [cell.bar for cell in cells if cell.bar is not None]
        alone = not any(cell.text for cell in cells)
        if i == 0 or bars or not alone:
            shared = any(not bar.ends[0] for bar in bars)
            yield {
                "place": i, "head": head, "drawn": bool(bars), "alone": alone, "shared": shared,
            }  # fmt: skip


def page_text(
    facts: Facts,
    held_out: Facts | None = None,
    about: Sequence[TextSection] = (),
    header: Header | None = None,
) -> str:
    """The page of a report, also with the rule on rows held out, which then lead."""
    header = header or Header()
    at_shell = bool(header.command)
    lead, chosen = (facts, None) if held_out is None else (held_out, facts)
    texts = [("", report_text(facts, at_shell=at_shell))]
    if held_out is not None:
        judged = report_text(held_out, facts, at_shell=at_shell)
        texts = [(HELD_OUT, judged), (where(facts), texts[0][1])]
    return as_page(
        report_document(lead, chosen, at_shell=at_shell, header=header, about=about, texts=texts)
    )


# --- Paths of pictures with fewer letters, as they look the same ----------------------------------


_DECIMALS = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_LINES = re.compile(r"M [-\d.e]+ [-\d.e]+(?: L [-\d.e]+ [-\d.e]+)+(?: z)?")


def rounded(text: str) -> str:
    """Numbers to a hundredth of a point.

    Examples
    --------
    >>> rounded("translate(1.23456 -0.001)")
    'translate(1.23 0)'
    """
    return _DECIMALS.sub(_short, text)


def shorter(d: str) -> str:
    """A path of straight lines to a tenth of a point, each step from the last one.

    Examples
    --------
    >>> shorter("M 0 0 L 1.001 0 L 2 0 L 2 5.52 L 3.26 7 z")
    'M0 0h2v5.5l1.3 1.5z'
    """
    path = " ".join(d.split())
    if _LINES.fullmatch(path) is None:
        return rounded(path)
    end = "z" if path.endswith("z") else ""
    kept: list[tuple[int, int]] = []
    for point in path.removesuffix(" z")[2:].split(" L "):
        # In tenths, so that no error adds up.
        x, y = (round(10.0 * float(number)) for number in point.split())
        while len(kept) > 1 and _passes(kept[-2], kept[-1], (x, y)):
            kept.pop()
        if not kept or kept[-1] != (x, y):
            kept.append((x, y))
    steps = [_step(b[0] - a[0], b[1] - a[1]) for a, b in pairwise(kept)]
    # A lone point is drawn where caps are round.
    return f"M{_tenths(kept[0][0])} {_tenths(kept[0][1])}{''.join(steps) or 'h0'}{end}"


def _step(x: int, y: int) -> str:
    if y == 0:
        return f"h{_tenths(x)}"
    if x == 0:
        return f"v{_tenths(y)}"
    return f"l{_tenths(x)}{'' if y < 0 else ' '}{_tenths(y)}"


def _tenths(x: int) -> str:
    return f"{x / 10:.12g}"


def _passes(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    """Whether a level or upright line from the first to the last goes through the middle."""
    for fixed, moving in ((0, 1), (1, 0)):
        if first[fixed] == middle[fixed] == last[fixed]:
            a, b, c = first[moving], middle[moving], last[moving]
            return a <= b <= c or a >= b >= c
    return False


def _short(match: re.Match[str]) -> str:
    text = f"{float(match.group()):.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


# --- A matplotlib figure as SVG that lives inside a page: its inks, its fonts ---------------------


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


def drawn(picture: Picture, number: int) -> str:
    """A picture as the text of one ``<svg>`` element; the number makes its names its own."""
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
        figure = Figure(figsize=picture.size, layout="constrained")
        figure.patch.set_visible(False)
        picture.plot(figure if picture.panels else figure.subplots())
        for ax in figure.axes:
            ax.patch.set_visible(False)
            locator = ax.xaxis.get_major_locator()
            if isinstance(locator, MaxNLocator):
                locator.set_params(nbins=6)
        _legend_below(figure, picture.size)
        figure.savefig(
            out, format="svg", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type"))
        )
    return _embedded(cleaned(out.getvalue()), f"p{number}-", picture.description)


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


_LEFT_OUT = re.compile(
    r"<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>|(?<=>)\s+(?=<)", re.DOTALL
)
"""A style element would hold for the whole page."""

_TAG = re.compile(r"<[a-z][^>]*>")
_ATTRIBUTE = re.compile(r"\s(?:xlink:)?([\w-]+)=\"([^\"]*)\"")
_NAMED = re.compile(r"(?<=#)[\w-]+|^[\w-]+$")
_REFERENCE = re.compile(r"(?<=url\(#)[^)]+|(?<=href=\"#)[^\"]+")


def _embedded(text: str, prefix: str, description: str) -> str:
    tags = _TAG.findall(text)
    # Numbered as they appear, those that nothing refers to left out.
    found = dict.fromkeys(name for tag in tags for name in _REFERENCE.findall(tag))
    names = {name: f"{prefix}{i}" for i, name in enumerate(found)}

    def attribute(match: re.Match[str]) -> str:
        key, value = match.groups()
        if key == "id" and value not in names:
            return ""
        if key == "d":
            value = shorter(value)
        elif key == "style":
            value = _FONT.sub(
                "", _COLOUR.sub(lambda m: _INKS.get(m.group().lower(), m.group()), value)
            ).strip()
        elif key in ("x", "y", "transform"):
            value = rounded(value)
        return f' {key}="{_NAMED.sub(lambda m: names.get(m.group(), m.group()), value)}"'

    text = _TAG.sub(lambda tag: _ATTRIBUTE.sub(attribute, tag.group()), text[text.index("<svg") :])
    size = re.search(r'viewBox="[^"]+"', text)
    assert size is not None
    start = f'<svg {size.group()} role="img" aria-label="{escape(cleaned(description))}">'
    return _LEFT_OUT.sub("", start + text[text.index(">") + 1 :])


# --- Templates: values become a page, every text escaped and clean --------------------------------


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
    environment.filters["exact"] = ExactText
    environment.filters["next"] = next
    style = "".join(_read("page.css", place) or "" for place in dict.fromkeys((_HERE, room)))
    return environment.get_template(template).render(style=Markup(style), **values)


class ExactText(str):
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
    return text if isinstance(x, ExactText) else _PERCENT.sub("\u00a0%", text)
