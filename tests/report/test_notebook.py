"""What notebooks and terminals show: goals, rules, reports, classifiers, with every caveat."""

import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from report.page_reading import said, words_of
from report.pages import MAKERS, ODD, fair, report_of
from setpoint import Goal, PlugInClassifier, RampClassifier, evaluate
from setpoint.report import Certificate, Entry, RuleFacts, Search, cleaned, goal_table, headline
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


def compared():
    goal = "maximize recall subject to precision >= 0.5"
    return replace(evaluate(goal, Y, Y, baseline=1 - Y), warnings=("Mind <the> gap.",))


def shown(html):
    """The texts of a piece of HTML, in order; markup of the goal's texts stays text."""
    return unescape(re.sub(r"<[^>]*>", "\n", html.replace("<br>", " ")))


def spaced(text):
    return words_of(cleaned(text))


@over("name", [*MAKERS, "seen", "compared"])
def test_every_caveat_is_there_and_nothing_from_outside(name):
    own = {"seen": seen, "compared": compared}
    report = own[name]() if name in own else report_of(name)[-1] or report_of(name)[0]
    html = report._repr_html_()
    found, text = spaced(shown(html)), spaced(str(report))
    lines = [
        f"{headline(report)}.",
        *report.warnings,
        *(x for s in report.sections for x in s.lines()),
    ]
    for style in ("people", "cautions", "advice", "apart"):
        lines += said(report, style, header=None)
    for line in lines:
        assert spaced(line) in found
    cells = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    for cell, row, entry in zip(cells, goal_table(report).rows, report.entries, strict=True):
        own = shown(cell)
        assert cleaned(entry.text) in own
        assert row[2].text in own
        assert row[4].text in own
        assert entry.why in own
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


# -- odd texts ----------------------------------------------------------------------------
ESCAPES = [
    "\x1b[31mred\x1b[0m",
    "a\rb",
    "a\nVerdict: shown",
    "\u202eright to left",
    "\x9b31m",
    "\x07",
]


@over("odd", [*(x.replace("\ud83d", "") for x in ODD[:-1]), *ESCAPES])
def test_odd_labels_columns_and_goals_are_escaped(odd):
    y, decided = np.array(["no", odd])[Y], np.array(["no", odd])[DECIDED]
    label = "" if odd in ESCAPES else f"(label={odd!r})"
    goal = f"maximize f1 subject to recall{label}.difference({odd!r}) <= 0.9"
    groups = {odd: np.where(GROUP, odd, "other")}
    report = evaluate(
        goal, y, decided, sensitive_features=groups, pos_label=odd, baseline=decided[::-1]
    )
    spoilt = replace(
        report,
        warnings=(odd,),
        rule=RuleFacts(f"predict {odd}", (odd,)),
        objective=Entry(odd, None, why=odd),
    )
    for one in (report, spoilt):
        text, html = str(one), one._repr_html_()
        assert all(c == "\n" or c.isprintable() or c in "\u200c\u200d" for c in text)
        assert "\nVerdict" not in text or one is spoilt
        assert not re.search(r"<(script|/style|/svg|b>)", html)
        assert not re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]", html)
        assert "<" not in odd or "&lt;" in html
    assert "<script" not in Goal.parse(goal)._repr_html_()


# -- goals, rules and classifiers ---------------------------------------------------------
def test_goals_and_rules():
    html = Goal.parse("maximize recall subject to precision >= 0.5")._repr_html_()
    assert "with precision at least 0.5" in html
    assert "<code>maximize recall subject to precision &gt;= 0.5</code>" in html
    html = Threshold(0.5)._repr_html_()
    assert escape("predict 1 when the score is at least 0.5") in html
    assert "It draws" not in html
    mixed = Mixture([(0.3, Threshold(0.2)), (0.7, Threshold(0.8))])._repr_html_()
    assert "<p>It draws: the same score may be decided either way.</p>" in mixed
    segments = [((ODD[0], ODD[0]),), ((ODD[0], "other"),)]
    odd = PerSegment([Threshold(0.3), Threshold(0.6)], segments)._repr_html_()
    assert "<script" not in odd
    assert "&lt;script&gt;" in odd


GOAL = "maximize recall subject to precision >= 0.5"


@over("clf", [PlugInClassifier(LogisticRegression(), GOAL), RampClassifier(GOAL)])
def test_a_classifier_keeps_its_diagram(clf):
    diagram = clf._repr_html_()
    assert type(clf).__name__ in diagram
    assert "setpoint-report" not in diagram
    clf.fit(X, Y)
    report = clf.goal_report_._repr_html_()
    for html in (clf._repr_html_(), clf._repr_mimebundle_()["text/html"]):
        assert html.count(report) == 1
        assert html.endswith(report)
        assert "sk-top-container" in html.removesuffix(report)
        assert type(clf).__name__ in html.removesuffix(report)
    assert clf._repr_mimebundle_()["text/plain"] == repr(clf)
