"""What notebooks and terminals show: goals, rules, reports, and the table of groups."""

import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from report.page_reading import inside, said, words_of
from report.pages import MAKERS, ODD, fair, report_of
from setpoint import Goal, PlugInClassifier, evaluate
from setpoint.report import (
    Certificate,
    Entry,
    GoalReport,
    Grid,
    GroupRow,
    Header,
    RuleFacts,
    Search,
    cleaned,
    goal_table,
    headline,
    percent,
    report_document,
)
from setpoint.rules import Mixture, PerSegment, Threshold
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

RNG = np.random.default_rng(0)
Y = (RNG.random(400) < 0.4).astype(int)
X = RNG.normal(size=(400, 2)) + Y[:, None]
DECIDED = (X[:, 0] > 0.5).astype(int)
GROUP = RNG.random(400) < 0.5


def seen():
    report = fair()[0]
    return replace(
        report,
        counts=replace(report.counts, seen=0.25),
        rule=RuleFacts("predict <b>1</b> always", ("<i>sex</i>",), 0.25),
        certificate=Certificate(0.01, with_draws=0.9),
        search=Search("plugin", "exact", evidence="soft", folds=5),
    )


def shown(html):
    """The texts of a piece of HTML, in order; markup of the goal's texts stays text."""
    return unescape(re.sub(r"<[^>]*>", "\n", html.replace("<br>", " ")))


def spaced(text):
    return words_of(cleaned(text))


@over("name", [*MAKERS, "seen"])
def test_every_caveat_is_there_and_nothing_from_outside(name):
    report = seen() if name == "seen" else report_of(name)[-1] or report_of(name)[0]
    html = report._repr_html_()
    found, text = spaced(shown(html)), spaced(str(report))
    lines = [f"{headline(report)}.", *report.warnings]
    lines += [line for section in report.sections for line in section.lines()]
    for style in ("people", "cautions", "advice", "apart"):
        lines += said(report, style, header=None)
    for line in lines:
        assert spaced(line) in found
    cells = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    for cell, row, entry in zip(cells, goal_table(report).rows, report.entries, strict=True):
        own = shown(cell)
        for part in (cleaned(entry.text), row[2].text, row[4].text, entry.why):
            assert part in own
        if entry.relation is not None:
            assert row[6].text.lower() in own
            assert row[6].text.lower() in text
    assert (report.verdict or "") in text
    assert html.startswith('<div class="setpoint-report">')
    assert html.endswith("</div>")
    assert len(html) < 60_000  # names of classes and notes may be long
    tags = "div p code strong ul li table thead tbody tr th td br"
    assert set(re.findall(r"<(\w+)", html)) <= set(tags.split())
    for tag in ("div", "p", "ul", "li", "table", "tr", "td", "strong"):
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")
    assert not re.search(r"src=|href=|url\(|javascript:", re.sub(r">[^<]*<", "><", html))


ESCAPES = ["\x1b[31mred\x1b[0m", "a\rb", "a\nVerdict: shown", "\u202eright to left", "\x9b31m"]


@over("odd", [*(x.replace("\ud83d", "") for x in ODD[:-1]), *ESCAPES])
def test_odd_labels_columns_and_goals_are_escaped(odd):
    y, decided = np.array(["no", odd])[Y], np.array(["no", odd])[DECIDED]
    label = "" if odd in ESCAPES else f"(label={odd!r})"
    goal = f"maximize f1 subject to recall{label}.difference({odd!r}) <= 0.9"
    groups = {odd: np.where(GROUP, odd, "other")}
    report = evaluate(
        goal, y, decided, sensitive_features=groups, pos_label=odd, baseline=decided[::-1]
    )
    rule = RuleFacts(f"predict {odd}", (odd,))
    spoilt = replace(report, warnings=(odd,), rule=rule, objective=Entry(odd, None, why=odd))
    for one in (report, spoilt):
        text, html = str(one), one._repr_html_()
        assert all(c == "\n" or c.isprintable() or c in "\u200c\u200d" for c in text)
        assert "\nVerdict" not in text or one is spoilt
        assert not re.search(r"<(script|/style|/svg|b>)", html)
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", html)
        assert "<" not in odd or "&lt;" in html
    assert "<script" not in Goal.parse(goal)._repr_html_()


def test_goals_and_rules():
    html = Goal.parse("maximize recall subject to precision >= 0.5")._repr_html_()
    assert "with precision at least 0.5" in html
    assert "<code>maximize recall subject to precision &gt;= 0.5</code>" in html
    assert escape("predict 1 when the score is at least 0.5") in Threshold(0.5)._repr_html_()
    mixed = Mixture([(0.3, Threshold(0.2)), (0.7, Threshold(0.8))])._repr_html_()
    assert "<p>It draws: the same score may be decided either way.</p>" in mixed
    segments = [((ODD[0], ODD[0]),), ((ODD[0], "other"),)]
    odd = PerSegment([Threshold(0.3), Threshold(0.6)], segments)._repr_html_()
    assert "<script" not in odd
    assert "&lt;script&gt;" in odd


def test_a_classifier_keeps_its_diagram():
    clf = PlugInClassifier(LogisticRegression(), "f1", cv=2)
    assert "setpoint-report" not in clf._repr_html_()
    clf.fit(X, Y)
    report = clf.goal_report_._repr_html_()
    for html in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert html.endswith(report)
        for part in ("sk-top-container", "PlugInClassifier"):
            assert part in html.removesuffix(report)
    assert clf._repr_mimebundle_()["text/plain"] == repr(clf)


N = 900
TRUE = (RNG.random(N) < 0.4).astype(int)
SCORE = RNG.normal(size=N) + TRUE
NEW = (SCORE > 0.5).astype(int)
PLACE = RNG.choice(["a", "b", "c"], N, p=[0.2, 0.3, 0.5])
FAIR = "maximize accuracy subject to recall.difference(g) <= 0.1"


def table_of(report):
    """The heads of a report's table of groups, and the text of its cells."""
    found = [b for b in inside(report_document(report, header=Header())) if isinstance(b, Grid)]
    grids = [b for b in found if b.style.startswith("groups")]
    if not grids:
        return (), []
    return tuple(grids[0].head), [tuple(cell.text for cell in row) for row in grids[0].rows]


def test_the_cells_of_each_group():
    report = evaluate(FAIR, TRUE, NEW, sensitive_features={"g": PLACE})
    head, rows = table_of(report)
    assert head == ("group", "rows", "true share", "accepted", "right", "found")
    for row, name in zip(rows, "abc", strict=True):
        here = name == PLACE
        shares = (TRUE[here].mean(), NEW[here].mean(), TRUE[here & (NEW == 1)].mean())
        assert row[:5] == (f"g = {name}", f"{here.sum():,}", *map(percent, shares))
        (found,) = (g for g in report.groups if g.metric == "recall" and g.name == row[0])
        assert found.value == pytest.approx(NEW[here & (TRUE == 1)].mean())
        assert row[5] == f"{percent(found.value)} ({percent(found.low)} to {percent(found.high)})"
    # A group without rows of the class, and one of which nobody is accepted.
    y, decided = np.where(PLACE == "b", 0, TRUE), np.where(PLACE == "a", 0, NEW)
    first, second, third = table_of(evaluate(FAIR, y, decided, sensitive_features={"g": PLACE}))[1]
    assert first[3:5] == ("0 %", "no rows")
    assert (second[2], second[-1]) == ("0 %", "no rows")
    assert "no rows" not in third
    y, decided = RNG.integers(0, 3, (2, N))
    goal = "maximize macro_f1 subject to recall(label=2).difference(g) <= 0.5"
    head, rows = table_of(evaluate(goal, y, decided, sensitive_features={"g": PLACE}))
    assert head == ("group", "rows", "right", "recall(label=2)")
    for row, name in zip(rows, "abc", strict=True):
        assert row[2] == percent((y == decided)[name == PLACE].mean())


def test_a_long_table_is_cut():
    rows = tuple(
        GroupRow((("g", i or "n" * 200),), f"recall(label={k})", 0.5, 0.4, 0.6, 10, k > 0)
        for i in range(100)
        for k in range(20)
    )
    notes = tuple(f"note {i}" for i in range(500))
    report = GoalReport("maximize accuracy", Entry("accuracy", 0.5), groups=rows, warnings=notes)
    text = str(report)
    assert text.count("\n") < 1000
    assert max(map(len, text.split("\n"))) <= 79
    for words in ("60 more groups", "6 more metrics of each group", "470 more notes like these"):
        assert f"and {words}" in text
    assert "note 29" in text
    assert "note 30" not in text
