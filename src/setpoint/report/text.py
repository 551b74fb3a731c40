"""Documents as text, in a notebook and as Markdown."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from html import escape

from setpoint.errors import InputError
from setpoint.goals import goal_in_words
from setpoint.report.blocks import Block, Cell, Chapter, Document, Grid, Prose
from setpoint.report.document import report_document
from setpoint.report.facts import Facts
from setpoint.report.numbers import cleaned, printed, shortened

# --- As text, for a terminal ----------------------------------------------------------------------


WIDTH = 79

_NAME = 30
"""Characters of a row's name in a table."""


def as_text(found: Document) -> str:
    """A document as text, 79 columns wide."""
    out = [_filled(f"Goal: {found.goal}", 0, 6), "", _filled(f"{found.title}.", 0)]
    out += [line for block in found.lead for line in _lines(block, 0)]
    return printed("\n".join([*out, *(x for c in found.chapters for x in _lines(c, 0))]))


def _lines(block: Block, indent: int = 2) -> Iterator[str]:
    """The lines of a block; below a title they are indented."""
    if isinstance(block, Chapter):
        title = block.plain or block.title
        parts = [[*_lines(b, 2 if title else 0)] for b in block.blocks]
        own = any(x for b, x in zip(block.blocks, parts, strict=True) if not isinstance(b, Chapter))
        yield from ["", title] if title and own else []
        yield from (line for part in parts for line in part)
    elif isinstance(block, Prose) and block.form not in ("hint", "glossary"):
        bullet = "- " if block.form == "list" and indent else ""
        hang = 0 if block.form == "joined" or not indent else 2
        for text in map(str, block.lines):
            for line in text.split("\n") if block.form == "code" else [text] * bool(text):
                depth = indent + len(line) - len(line.lstrip())
                yield _filled(f"{bullet}{line.lstrip()}", depth, hang)
    elif isinstance(block, Grid) and block.lines:
        for first, *more in block.lines:
            yield _filled(first, indent, 4)
            yield from (_filled(text, indent + 2, 4) for text in more)
    elif isinstance(block, Grid):
        yield from _columns([block.head, *([c.text for c in row] for row in block.rows)])


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, in pieces where it is too wide; numbers to the right."""
    names = [shortened(row[0], _NAME) for row in rows]
    first, wide = (
        max(map(len, names)),
        [max(map(len, column)) for column in zip(*rows, strict=True)],
    )
    start = 1
    while start < len(wide):
        end, room = start + 1, WIDTH - 4 - first - wide[start]
        while end < len(wide) and room >= wide[end] + 2:
            room -= wide[end] + 2
            end += 1
        yield from [""] * (start > 1)
        for name, row in zip(names, rows, strict=True):
            cells = [f"{row[i]:>{wide[i]}}" for i in range(start, end)]
            yield f"  {'  '.join([f'{name:<{first}}', *cells])}".rstrip()
        start = end


def _filled(text: str, indent: int, hang: int = 0) -> str:
    return "\n".join(
        textwrap.fill(
            line,
            WIDTH,
            initial_indent=" " * indent,
            subsequent_indent=" " * (indent + hang),
            break_on_hyphens=False,
            break_long_words=False,
        )
        for line in text.split("\n")
    )


def report_text(facts: Facts, fitted: Facts | None = None, *, at_shell: bool = False) -> str:
    """The whole report, 79 columns wide."""
    return as_text(report_document(facts, fitted, at_shell=at_shell))


# --- As short HTML for notebooks, with every caveat: no scripts -----------------------------------


_LEFT = ' style="text-align:left"'


def as_notebook(found: Document) -> str:
    """A document as HTML; all text is escaped, and of tables those of the goal are shown."""
    head = f"<p><code>{_text(found.goal)}</code></p><p><strong>{_text(found.title)}.</strong></p>"
    blocks = "".join(map(_html, [*found.lead, *found.chapters]))
    return f'<div class="setpoint-report">{head}{blocks}</div>'


def _html(block: Block) -> str:
    """A block, nested as little as a notebook needs."""
    if isinstance(block, Chapter):
        title = block.plain or block.title
        inside = "".join(map(_html, block.blocks))
        named = title and inside and not isinstance(block.blocks[0], Chapter)
        return f"<p><strong>{_text(title)}</strong></p>{inside}" if named else inside
    if isinstance(block, Prose) and block.form not in ("hint", "glossary"):
        texts = [_text(str(line)) for line in block.lines if str(line)]
        if block.form != "list" and block.style != "users":
            return "".join(f"<p>{text}</p>" for text in texts)
        return f"<ul>{''.join(f'<li>{text}</li>' for text in texts)}</ul>"
    if isinstance(block, Grid) and block.lines:
        columns = zip(block.head, *(map(_cell, row) for row in block.rows), strict=True)
        head, *rows = zip(*(c for c in columns if any(c[1:])), strict=True)
        body = "".join(_tr("td", row) for row in rows)
        return f"<table><thead>{_tr('th', head)}</thead><tbody>{body}</tbody></table>"
    return ""


def _cell(cell: Cell) -> str:
    text = cell.text.lower() if cell.tone else cell.code or cell.text
    return f"{text} ({cell.note})" if cell.note else text


def _tr(tag: str, texts: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}{_LEFT}>{_text(x)}</{tag}>' for x in texts)}</tr>"


def _text(text: str) -> str:
    return escape(cleaned(text)).replace("\n", "<br>")


# --- As Markdown: the card of a model -------------------------------------------------------------


HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def card_text(facts: Facts, *, name: str = "", held_out: Facts | None = None) -> str:
    """The card of a model: the goal, what was measured and on which rows.

    Examples
    --------
    >>> from setpoint.report.entry import Entry
    >>> text = card_text(Facts("maximize recall", Entry("recall", 0.8)), name="Loans")
    >>> text.splitlines()[4]
    '# Loans'
    """
    if held_out is not None and held_out.goal != facts.goal:
        raise InputError(
            f"`held_out` refers to the goal {held_out.goal!r}, and the model to {facts.goal!r}"
        )
    words = goal_in_words(facts.parsed_goal, facts.counts.positive)
    judged = report_text(facts) if held_out is None else report_text(held_out, facts)
    made = [f"fitted {facts.run.when} UTC", *(f"{k} {v}" for k, v in facts.run.versions.items())]
    made += [f"digest of {key}: {text}" for key, text in facts.run.digests.items()]
    use = [Prose((f"{words}. As a goal of setpoint:",)), Prose((facts.goal,), "code")]
    fit = Prose((facts.rule.text if held_out is None else report_text(facts),), "code")
    inside = (use, [Prose((judged,), "code")], [fit], [Prose(made, "list")])
    chapters = [Chapter(*pair) for pair in zip(HEADINGS, inside, strict=True)]
    blocks = ["---\nlibrary_name: setpoint\n---", f"# {_plain(name or 'A classifier')}"]
    return "\n\n".join([*blocks, *(x for c in chapters for x in _markdown(c))]) + "\n"


def _markdown(block: Block) -> Iterator[str]:
    if isinstance(block, Chapter):
        yield f"## {block.title}"
        yield from (text for b in block.blocks for text in _markdown(b))
    elif isinstance(block, Prose) and block.form == "code":
        yield from map(_code, map(str, block.lines))
    elif isinstance(block, Prose):
        bullet, between = ("- ", "\n") if block.form == "list" else ("", "\n\n")
        yield between.join(f"{bullet}{_plain(str(line))}" for line in block.lines)


def _plain(text: str) -> str:
    """Text that Markdown and HTML leave as it is."""
    return re.sub(r"([\\`*\[\]<>|])", r"\\\1", " ".join(cleaned(text).split()))


def _code(text: str) -> str:
    """A block of code, longer fenced than anything in it."""
    fence = "`" * max(3, 1 + max((len(x) for x in re.findall("`+", text)), default=0))
    return f"{fence}text\n{cleaned(text)}\n{fence}"
