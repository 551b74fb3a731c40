"""What notebooks show: goals, rules, reports and fitted classifiers, with every caveat."""

import re
from dataclasses import replace
from html import escape, unescape

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from report.pages import (
    ODD,
    empty,
    fair,
    floor,
    many_classes,
    many_groups,
    nearest,
    searched,
    three,
)
from setpoint import Goal, PlugInClassifier, RampClassifier, evaluate
from setpoint.goals import column_in_words
from setpoint.report import (
    Certificate,
    Counts,
    Entry,
    RuleFacts,
    Search,
    cleaned,
    goal_table,
    headline,
)
from setpoint.report.advice import advice_of
from setpoint.report.findings import caveats, rows_in_words, summary
from setpoint.report.numbers import in_ten_thousand
from setpoint.rules import Mixture, PerSegment, Threshold

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

RNG = np.random.default_rng(0)
Y = (RNG.random(400) < 0.4).astype(int)
X = RNG.normal(size=(400, 2)) + Y[:, None]

MAKERS = {
    "fair": lambda: fair()[0],
    "held out": lambda: fair()[1],
    "floor": floor,
    "three": three,
    "nearest": nearest,
    "groups": many_groups,
    "classes": many_classes,
    "empty": empty,
    "searched": searched,
    "seen": lambda: replace(
        fair()[0],
        counts=replace(fair()[0].counts, seen=0.25),
        rule=RuleFacts("predict <b>1</b> always", ("<i>sex</i>",), 0.25),
        certificate=Certificate(0.01, with_draws=0.9),
        search=Search("plugin", "exact", evidence="soft", folds=5),
    ),
}


def shown(html):
    """The texts of a piece of HTML, in order; markup of the goal's texts stays text."""
    return unescape(re.sub(r"<[^>]*>", "\n", html.replace("<br>", " ")))


def spaced(text):
    return " ".join(cleaned(text).split())


# -- reports ------------------------------------------------------------------------------
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_every_caveat_of_the_text_is_there(make):
    report = make()
    html = report._repr_html_()
    found = spaced(shown(html))
    said = [
        f"{headline(report)}.", rows_in_words(report), in_ten_thousand(report.counts),
        *caveats(report), *report.warnings,
        *(line for s in report.sections for line in s.lines()),
        *(f"{a.what} {a.remedy}" for a in advice_of(report)),
    ]  # fmt: skip
    if len(report.constraints) > 1:
        said.append(summary(report))
    for text in said:
        assert spaced(text) in found
    text = spaced(str(report))
    cells = re.findall(r"<tr>(.*?)</tr>", html)[1:]
    table = goal_table(report)
    for cell, row, entry in zip(cells, table.rows, report.entries, strict=True):
        own = shown(cell)
        assert cleaned(entry.text) in own
        assert row[2].text in own
        assert row[4].text in own
        assert entry.why in own
        if entry.relation is not None:
            assert row[6].text.lower() in own
            assert row[6].text.lower() in text
    assert (report.verdict or "") in text


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_it_is_short_and_closed_in_itself(make):
    html = make()._repr_html_()
    assert html.startswith('<div class="setpoint-report">')
    assert html.endswith("</div>")
    # Names of classes and notes may be long.
    assert len(html) < 60_000
    assert set(re.findall(r"<(\w+)", html)) <= {
        "div", "p", "code", "strong", "ul", "li", "table", "thead", "tbody", "tr", "th", "td", "br",
    }  # fmt: skip
    for tag in ("div", "p", "ul", "li", "table", "tr", "td", "strong"):
        assert len(re.findall(rf"<{tag}[ >]", html)) == html.count(f"</{tag}>")
    assert not re.search(r"src=|href=|url\(|javascript:", re.sub(r">[^<]*<", "><", html))


def test_warnings_and_deployed_models_are_there():
    report = evaluate("maximize recall subject to precision >= 0.5", Y, Y, baseline=1 - Y)
    found = spaced(shown(report._repr_html_()))
    for line in report.deployed.lines(Goal.parse(report.goal), report.counts):
        assert spaced(line) in found
    noted = replace(report, warnings=("Mind <the> gap.",))._repr_html_()
    assert "<li>Mind &lt;the&gt; gap.</li>" in noted


# -- odd texts ----------------------------------------------------------------------------
@pytest.mark.parametrize("odd", ODD)
def test_odd_labels_columns_and_goals_are_escaped(odd):
    odd = odd.replace("\ud83d", "")
    y, decided = np.array([odd, "no"])[Y], np.array([odd, "no"])[1 - Y]
    goal = f"maximize accuracy subject to recall(label={odd!r}).difference({odd!r}) <= 0.9"
    group = np.where(RNG.random(400) < 0.5, odd, "other")
    report = evaluate(goal, y, decided, sensitive_features={odd: group})
    html, text = report._repr_html_(), str(report)
    assert not re.search(r"<(script|/style|/svg|b>)", html)
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", html)
    if "<" in odd:
        assert "&lt;" in html
    assert all(c == "\n" or ord(c) >= 32 for c in text)
    assert "\x7f" not in text
    assert column_in_words(odd)[:20] in text
    goal_html = Goal.parse(goal)._repr_html_()
    assert "<script" not in goal_html


ESCAPES = [
    "\x1b[31mred\x1b[0m",
    "a\rb",
    "a\nVerdict: shown",
    "\u202eright to left",
    "\x9b31m",
    "\x07",
]


@pytest.mark.parametrize("odd", ESCAPES)
def test_no_escape_code_reaches_a_terminal(odd):
    y, decided = np.array(["no", odd])[Y], np.array(["no", odd])[(X[:, 0] > 0.5).astype(int)]
    group = np.where(RNG.random(400) < 0.5, odd, "other")
    goal = f"maximize f1 subject to recall.difference({odd!r}) <= 0.3"
    clf = PlugInClassifier(LogisticRegression(), goal, pos_label=odd)
    clf.fit(X, y, sensitive_features={odd: group})
    report = evaluate(
        goal, y, decided, sensitive_features={odd: group}, pos_label=odd, baseline=decided[::-1]
    )
    spoilt = replace(
        report,
        warnings=(odd,),
        rule=RuleFacts(f"predict {odd}", (odd,)),
        objective=Entry(odd, None, why=odd),
    )
    for one in (clf.goal_report_, report, spoilt):
        text = str(one)
        assert odd not in text
        assert "\nVerdict" not in text or one is spoilt
        for c in text:
            assert c == "\n" or c.isprintable(), repr(c)


@pytest.mark.parametrize("labels", [(0, 1), (False, True), (-2, 7), ("0", "1"), ("a" * 200, "b")])
def test_labels_of_every_kind(labels):
    y, decided = np.array(labels)[Y], np.array(labels)[(X[:, 0] > 0.5).astype(int)]
    report = evaluate("maximize f1 subject to recall >= 0.1", y, decided, pos_label=labels[1])
    assert f"class {labels[1]!r}" in " ".join(str(report).split())
    assert escape(f"class {labels[1]!r}") in report._repr_html_()


def test_three_hundred_classes_are_not_listed():
    report = many_classes(300)
    short = replace(
        report,
        goal="maximize macro_f1",
        constraints=(),
        counts=Counts(report.counts.n_rows, tuple(range(300)), report.counts.confusion),
    )
    assert len(str(short)) < 1500
    assert len(short._repr_html_()) < 2000


# -- goals and rules ----------------------------------------------------------------------
def test_a_goal():
    html = Goal.parse("maximize recall subject to precision >= 0.5")._repr_html_()
    assert "with precision at least 0.5" in html
    assert "<code>maximize recall subject to precision &gt;= 0.5</code>" in html
    assert len(html) < 1500
    odd = Goal.parse("maximize recall.on(region='<b>&') subject to precision >= 0.5")._repr_html_()
    assert "<b>" not in odd
    assert "&lt;b&gt;&amp;" in odd


def test_a_rule():
    html = Threshold(0.5)._repr_html_()
    assert escape("predict 1 when the score is at least 0.5") in html
    assert "It draws" not in html
    mixed = Mixture([(0.3, Threshold(0.2)), (0.7, Threshold(0.8))])
    assert "<p>It draws: the same score may be decided either way.</p>" in mixed._repr_html_()
    assert len(mixed._repr_html_()) < 1000
    segments = [((ODD[0], ODD[0]),), ((ODD[0], "other"),)]
    odd = PerSegment([Threshold(0.3), Threshold(0.6)], segments)._repr_html_()
    assert "<script" not in odd
    assert "&lt;script&gt;" in odd


# -- classifiers --------------------------------------------------------------------------
@pytest.mark.parametrize(
    "clf",
    [
        PlugInClassifier(LogisticRegression(), "maximize recall subject to precision >= 0.5"),
        RampClassifier("maximize recall subject to precision >= 0.5"),
    ],
    ids=["plugin", "ramp"],
)
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
    for text in caveats(clf.goal_report_):
        assert escape(text) in clf._repr_html_()
