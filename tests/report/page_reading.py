"""What tests of pages read in them, and what holds for every page."""

import itertools
import re
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

from setpoint import Goal
from setpoint.report import Counts, Entry, GoalReport
from setpoint.report.page import page_text

VOID = {"meta", "br", "hr", "img", "input", "link"}
COUNTS = Counts(1000, ("no", "yes"), ((880.0, 20.0), (30.0, 70.0), (0.0, 0.0)))
PLAIN = GoalReport(
    "maximize recall",
    Entry("recall", 0.7, low=0.6, high=0.8, rows=100, numerator=70.0, denominator=100.0),
    counts=COUNTS,
)
MOST = 120_000
"""Bytes of a page."""


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


def read(page):
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    reader.text = " ".join(" ".join(reader.words).split())
    return reader


def checked(page):
    """The page's text, after everything that holds for every page."""
    assert page.startswith("<!DOCTYPE html>")
    assert len(page.encode("utf-8")) <= MOST
    found = read(page)
    names = {tag for tag, _ in found.tags}
    assert not names & {"script", "link", "iframe", "object", "embed", "img", "base", "form"}
    assert dict(found.tags)["html"] == {"lang": "en"}
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    own = [a["id"] for _, a in found.tags if "id" in a]
    assert len(own) == len(set(own))
    used = set(re.findall(r"(?:url\(#|href=\"#)([^)\"]+)", page))
    assert used <= set(own)
    for tag, attributes in found.tags:
        assert not any(name.startswith(("on", "src")) for name in attributes), (tag, attributes)
        assert attributes.get("href", "#").startswith("#")
        if attributes.get("role") == "img":
            assert attributes["aria-label"]
    levels = [int(t[1]) for t, _ in found.tags if re.fullmatch("h[1-6]", t)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(levels))
    assert "None" not in found.text
    assert not re.search(r"\bnan\b", found.text)
    return found


def read_part(html):
    return " ".join(unescape(re.sub("<[^>]+>", " ", html)).split())


def constrained(text="precision >= 0.9", value=0.95, low=0.93, high=0.97, **more):
    bound = Goal.parse(f"maximize recall subject to {text}").constraints[0].rhs.value
    sign = 1 if ">=" in text else -1
    slack = None if value is None else sign * (value - bound)
    entry = Entry(
        text, value, bound, slack, None if slack is None else slack >= -1e-9, low, high, "wilson",
        100, 100.0, relation=">=" if ">=" in text else "<=", **more,
    )  # fmt: skip
    return replace(PLAIN, goal=f"maximize recall subject to {text}", constraints=(entry,))


def verdict(report, header=None):
    """Tone, sign and word of the verdict, and the text without what is folded."""
    page = page_text(report, header=header)
    box = re.search(r'class="box (\w+)".*?</section>', page, re.DOTALL)
    word = re.search(r'href="#sign-(\w+)".*?<strong>(.*?)</strong>', box.group(), re.DOTALL)
    sign, said = ("", "") if word is None else word.groups()
    return (
        box.group(1),
        sign,
        said,
        read_part(page.split('<details class="fold">\n<summary><h2')[0]),
    )


def part(page, i):
    """The cells of one part of the goal, and its bar."""
    rows = re.findall(r"<tr>.*?</tr>", page.split('<table class="parts">')[1], re.DOTALL)
    return rows[1 + i]
