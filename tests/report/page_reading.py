"""What a reader finds in reports and in their pages, and what holds for every page."""

import itertools
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

from setpoint.report import Chapter, Document, Header, Prose, report_document

__all__ = ["advice", "checked", "page_text", "people", "read_part", "said", "words_of"]

VOID = {"meta", "br", "hr", "img", "input", "link"}
MOST = 120_000
"""Bytes of a page."""


# --- Of a document: what it says in one place -----------------------------------------------------
def inside(block):
    """All blocks of a document or a chapter, those of chapters too."""
    if not isinstance(block, Document | Chapter):
        return [block]
    lead = getattr(block, "lead", ())
    own = block.chapters if isinstance(block, Document) else block.blocks
    return [b for part in (*lead, *own) for b in inside(part)]


def said(report, style, fitted=None, **more):
    """The sentences in one place of a report: "advice", "cautions", "people", "command"."""
    found = report_document(report, fitted, **({"header": Header()} | more))
    blocks = (b for b in inside(found) if isinstance(b, Prose) and b.style == style)
    return [line for b in blocks for line in map(str, b.lines) if line]


def advice(report, fitted=None, **more):
    """What to do, in one text."""
    return " ".join(said(report, "advice", fitted, **more))


def people(report):
    """The first bar of a report: of 10,000 rows how many are accepted rightly, and so on."""
    bars = [b.bars for b in inside(report_document(report)) if hasattr(b, "bars")]
    return {part.words: part for part in bars[0][0][1]} if bars else {}


def words_of(text):
    return " ".join(str(text).split())


# --- Of a page ------------------------------------------------------------------------------------
def page_text(report, held_out=None, about=(), header=None):
    """The file of a report."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "report.html")
        report.to_html(path, held_out=held_out, about=about, header=header)
        assert [*Path(folder).iterdir()] == [path]
        return path.read_text("utf-8")


class Reader(HTMLParser):
    """Checks that elements are closed in order; keeps elements, attributes and text."""

    def __init__(self):
        super().__init__()
        self.open, self.tags, self.words = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)


def checked(page):
    """The page's text, after everything that holds for every page."""
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode("utf-8")) <= MOST
    found = Reader()
    found.feed(page)
    found.close()
    assert found.open == []
    names = {tag for tag, _ in found.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    assert dict(found.tags)["html"] == {"lang": "en"}
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    own = [a["id"] for _, a in found.tags if "id" in a]
    assert len(own) == len(set(own))
    assert set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", page)) <= set(own)
    for tag, attributes in found.tags:
        assert not any(name.startswith(("on", "src")) for name in attributes), (tag, attributes)
        assert attributes.get("href", "#").startswith("#")
        assert attributes.get("role") != "img" or attributes["aria-label"]
    for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        assert re.search(r'role="img" aria-label="[^"]+">', figure)
        assert "<figcaption>" in figure
        assert not re.search(r"#[0-9a-f]{6}\b", figure), "a colour that dark mode cannot change"
    levels = [int(t[1]) for t, _ in found.tags if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    text = words_of(" ".join(found.words))
    assert "None" not in text
    assert not re.search(r"\bnan\b", text)
    return text


def read_part(html):
    """The text of a piece of a page."""
    return words_of(unescape(re.sub("<[^>]+>", " ", html)))
