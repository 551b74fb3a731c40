"""The page of a report: what it says, what it never holds, and how it is written."""

import errno
import itertools
import os
import re
import shlex
import sys
from dataclasses import replace
from html import unescape
from html.parser import HTMLParser

import pytest

from report.pages import (
    FAIR,
    HEADER,
    ODD,
    empty,
    fair,
    floor,
    infeasible,
    many_classes,
    many_groups,
    nearest,
    priced,
    prices,
    searched,
    three,
)
from setpoint import Goal
from setpoint.goals.table import TABLE
from setpoint.goals.words import goal_in_words
from setpoint.report import (
    Certificate,
    Comparison,
    Counts,
    Entry,
    GoalReport,
    OperatingSection,
    RuleFacts,
    Run,
    TextSection,
)
from setpoint.report.findings import headline
from setpoint.report.page import Header, infeasible_page, page_text, write_infeasible
from setpoint.report.page.paths import shorter
from setpoint.report.printable import cleaned
from thinning import thinned

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")

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


REPORTS = {
    "fair": lambda: (fair()[0], None),
    "fair held out": fair,
    "floor": lambda: (floor(), None),
    "priced": lambda: (priced(), None),
    "three": lambda: (three(), None),
    "nearest": lambda: (nearest(), None),
    "groups": lambda: (many_groups(), None),
    "classes": lambda: (many_classes(), None),
    "empty": lambda: (empty(), None),
    "prices": lambda: (prices(), None),
    "searched": lambda: (searched(), None),
    "plain": lambda: (PLAIN, None),
}


@pytest.mark.parametrize("name", REPORTS)
def test_a_page_is_whole_html_without_scripts_or_links(name):
    report, held_out = REPORTS[name]()
    about = (TextSection("The data", ("500 rows", "<b>bold</b>")),)
    found = checked(page_text(report, held_out, about, HEADER))
    assert "<b>bold</b>" in found.text
    assert " ".join(report.goal.split()) in found.text
    assert " ".join(cleaned(str(report)).split()) in found.text
    lead = report if held_out is None else held_out
    first = headline(lead, Goal.parse(report.goal))[:200]
    assert " ".join(first.split()) in found.text
    assert found.text.index("The column 'code' alone decides the class.") < found.text.index(
        "What was asked"
    )


@pytest.mark.parametrize("name", thinned(REPORTS, 3))
def test_the_same_report_gives_the_same_page(name):
    report, held_out = REPORTS[name]()
    page = page_text(report, held_out)
    assert page == page_text(report, held_out)
    # Day and versions stand in the first line and under "This run" alone, and a report read
    # back is the same.
    run = Run("2020-02-02T02:02:02+00:00", 77.0, {"numpy": "9"})
    again = replace(GoalReport.from_json(report.to_json()), run=run)
    other = held_out if held_out is None else replace(held_out, run=run)
    one, two = (p.split("<h1", 1)[1] for p in (page, page_text(again, other)))
    assert one.split("</main>")[0] == two.split("</main>")[0]
    footer = read_part(two.split("<footer>")[1])
    assert "search 77 seconds" in footer
    assert footer.endswith("numpy 9")


def test_the_first_line_names_table_rows_day_model_and_version():
    run = Run("2026-11-23T07:00:00+00:00", versions={"setpoint": "1.2", "numpy": "2"})
    page = page_text(replace(PLAIN, run=run), header=HEADER)
    line = page.split('<p class="from">')[1].split("</p>")[0]
    assert (
        re.sub("<[^>]+>", "", line)
        == "bank.csv · 1,000 rows · 2026-11-23 · bank.skops · setpoint 1.2"
    )
    without = page_text(PLAIN).split('<p class="from">')[1].split("</p>")[0]
    assert re.sub("<[^>]+>", "", without) == "1,000 rows"


def test_the_page_is_in_the_order_of_its_readers():
    report, held_out = fair()
    page = page_text(report, held_out, [TextSection("The data", ("here",))], HEADER)
    marks = [
        '<p class="from">', "<h1", '<p class="people">', '<div class="pieces', '<section class="box',
        "What to do", '<p class="goal">', "What was asked", "Precision and recall", ">Groups<",
        ">The rule<", "For statisticians", "How the rule was found",
        "On the rows the rule was chosen on</h3>", "Hits and false alarms", "Recall by group",
        "Please note", "Columns and data", "As text",
    ]  # fmt: skip
    places = [page.index(mark) for mark in marks]
    assert places == sorted(places)
    folded = page[page.index("<details") :]
    assert page.index("<details") > page.index(">The rule<")
    for mark in marks[11:]:
        assert mark in folded


def test_people_in_a_bar_with_its_labels():
    page = page_text(PLAIN)
    rects = re.findall(r'<rect class="(\w+)" x="([\d.]+)%" width="([\d.]+)%" y="0"', page)
    assert rects == [
        ("hit", "0.0", "7.0"), ("alarm", "7.0", "2.0"), ("miss", "9.0", "3.0"),
        ("rest", "12.0", "88.0"),
    ]  # fmt: skip
    labels = re.findall(r"<li><b>(.*?)</b> (.*?)</li>", page)
    assert labels == [
        ("700", "accepted rightly"), ("200", "accepted wrongly"), ("300", "missed"),
        ("8,800", "left out rightly"),
    ]  # fmt: skip
    two = re.findall(r"<li><b>(.*?)</b> (.*?)</li>", page_text(three()))
    assert [words for _, words in two] == ["decided rightly", "decided wrongly"]
    assert "<li><b>" not in page_text(empty())


def test_money_is_said_under_the_people():
    page = page_text(priced())
    text = read(page).text
    assert page.index("<h1") < page.index('<p class="money">') < page.index('class="box')
    assert "accepting nobody 844,000; accepting everybody 28,900" in text
    assert text.count("Mean cost for 10,000 rows") == 2  # and in the text to copy


def test_the_goal_in_words():
    page = read(page_text(floor())).text
    assert "Find as many cases of class 1 as possible (recall as high as it goes), with" in page
    assert "recall share of the class that is found" in page
    for text, words in {
        "minimize error_rate subject to recall.on(country='IN') >= 0.8, accuracy.on('egregious') "
        ">= 1": "Decide wrong as seldom as possible (error rate as low as it goes), with recall "
        "(country = IN) at least 0.8 and accuracy (in the data set egregious) at least 1",
        "maximize macro_f1 s.t. recall.ratio(sex, age) >= 0.8": "Make macro F1 as high as "
        "possible, with the smallest over largest recall of groups by sex and age at least 0.8",
        "maximize recall s.t. recall >= recall.baseline() - 0.01": "Find as many positive cases as "
        "possible (recall as high as it goes), with recall at least recall of the deployed model "
        "minus 0.01",
        "maximize recall(label='fraud') s.t. recall(label=1) >= 0.5": "Find as many fraud cases as "
        "possible (recall of fraud as high as it goes), with recall of class 1 at least 0.5",
        "minimize 2 * fp + 5 * fn": "Make 2 times false positives plus 5 times false negatives as "
        "low as possible",
    }.items():
        assert goal_in_words(Goal.parse(text)) == words
    long = " + ".join(f"recall(label='class number {i}')" for i in range(40))
    sentence = goal_in_words(Goal.parse(f"maximize {long} s.t. churn <= 0.1"))
    assert sentence == "Make a custom metric as high as possible, under 1 constraints"


def test_every_metric_has_words():
    from setpoint.program.describe import example_of

    for name, entry in TABLE.items():
        for sense in ("maximize", "minimize"):
            words = goal_in_words(Goal(sense, example_of(entry)), "fraud")
            assert words[0].isupper()
            assert "{" not in words
            assert "_" not in words, name


def test_rows_held_out_lead_and_the_rows_of_the_search_are_folded():
    report, held_out = fair()
    page = page_text(report, held_out)
    first, folded = page.split("<details", 1)
    assert "Measured on 500 rows; the positive class is 1." in read_part(first)
    assert "took no part in choosing the rule" in first
    assert "75.9" not in first  # the accuracy on the rows of the search
    assert "They flatter the rule" in folded
    assert "75.9" in folded
    assert "The rule was chosen on these very rows" not in read_part(first)
    assert "The rule was chosen on these very rows" in read_part(
        page_text(report).split("<details")[0]
    )


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


@pytest.mark.parametrize(
    ("report", "tone", "word"),
    [
        (constrained(), "shown", "Shown"),
        (constrained(low=0.88), "open", "Too close to call"),
        (constrained(value=0.85, low=0.8, high=0.92), "open", "Too close to call"),
        (constrained(value=0.85, low=0.8, high=0.89), "fails", "Shown to fail"),
        (constrained(value=None, low=None, high=None), "open", "Too close to call"),
        (PLAIN, "plain", ""),
        (replace(PLAIN, status="optimal"), "plain", ""),
        (None, "fails", "Shown to fail"),
    ],
)
def test_three_verdicts_three_words_three_signs(report, tone, word):
    report = nearest() if report is None else report
    found = verdict(report)
    assert found[:3] == (tone, "" if tone == "plain" else tone, word)
    rows = re.findall(
        r'<td class="verdict (\w+)">(?:<svg[^>]*><use href="#sign-(\w+)"/></svg>)?<span>(.*?)</span>',
        page_text(report),
    )
    assert rows[0] == ("plain", "", "Objective")
    for entry, (own, sign, said) in zip(report.constraints, rows[1:], strict=True):
        assert own == sign
        assert said.lower() == (entry.verdict or "not evaluated")


def test_without_rows_it_says_why():
    text = verdict(constrained(value=None, low=None, high=None, why="no rows of class 1"))[3]
    assert "Precision was not evaluated: no rows of class 1." in text
    assert "not evaluated no rows of class 1" in text


def part(page, i):
    """The cells of one part of the goal, and its bar."""
    rows = re.findall(r"<tr>.*?</tr>", page.split('<table class="parts">')[1], re.DOTALL)
    return rows[1 + i]


def test_parts_of_the_goal_share_one_axis():
    page = page_text(constrained())
    first, second = part(page, 0), part(page, 1)
    assert 'cx="70.0%"' in first
    assert 'class="bound"' not in first
    assert 'class="allowed"' not in first
    assert re.search(r'class="interval" x="60.0%" width="20.0%"', first)
    assert "as high as possible" in first
    assert "70 of 100" in first
    assert 'cx="95.0%"' in second
    assert re.search(r'class="bound" x1="90.0%" x2="90.0%"', second)
    assert re.search(r'class="allowed" x="90.0%" width="10.0%"', second)
    assert "at least 90\u00a0%" in second
    assert "93.0\u00a0% to 97.0\u00a0%" in second
    assert (
        'aria-label="95.0\u00a0%; on new rows 93.0\u00a0% to 97.0\u00a0%; bound 90.0\u00a0%"'
        in second
    )
    below = part(page_text(constrained("recall.difference(g) <= 0.1", 0.05, 0.0, 0.08)), 1)
    assert re.search(r'class="allowed" x="0.0%" width="10.0%"', below)
    assert "ends own" not in page


def test_what_is_no_share_has_an_axis_of_its_own_or_none():
    cost = Entry("cost({(0, 1): 5})", 3.5, low=3.0, high=4.0, interval="normal", rows=10)
    page = page_text(replace(PLAIN, goal="minimize cost({(0, 1): 5})", objective=cost))
    assert "<span>2.88</span><span>4.12</span>" in part(page, 0)
    assert 'href="#ticks"' not in part(page, 0)
    alone = replace(cost, low=None, high=None, interval=None)
    page = page_text(replace(PLAIN, goal="minimize cost({(0, 1): 5})", objective=alone))
    assert "<circle" not in part(page, 0)
    assert "<b>3.50</b>" in part(page, 0)
    mcc = Entry("mcc", -0.2, low=-0.4, high=0.1, interval="delta", rows=10)
    assert "<span>-0.46</span>" in part(
        page_text(replace(PLAIN, goal="maximize mcc", objective=mcc)), 0
    )


def test_the_bound_that_was_searched_with_is_said_beside_the_one_that_is_meant():
    text = read_part(part(page_text(constrained(worked=0.93)), 1))
    assert "at least 90 % searched with at least 93 %" in text
    assert "searched" not in read_part(part(page_text(constrained()), 1))


def test_certified_and_bootstrap_limits_say_so():
    entry = replace(constrained().constraints[0], interval="bootstrap", certified=0.91)
    page = page_text(replace(constrained(), constraints=(entry,)))
    assert "97.0 % bootstrap; certified: 91.0 %" in read_part(part(page, 1))


def test_the_command_has_the_goal_with_its_margin():
    close = constrained(value=0.92, low=0.89, high=0.94)
    stricter = "maximize recall subject to precision >= 0.951"
    page = page_text(close, header=HEADER)
    (command,) = re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page, re.DOTALL)
    command = read(command).text
    assert shlex.split(command) == [
        "setpoint", "fit", "bank.csv", "--model", "bank.skops", "--goal", stricter,
    ]  # fmt: skip
    (goal,) = re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page_text(close))
    assert read(goal).text == stricter
    for settled in (constrained(), constrained(value=None, low=None, high=None), PLAIN):
        assert 'class="command"' not in page_text(settled, header=HEADER)


def test_names_in_a_goal_cannot_leave_their_quotes():
    goal = """maximize recall subject to recall.difference("it's; $(rm)") <= 0.5"""
    text = goal.partition(" subject to ")[2]
    entry = Entry(text, 0.4, 0.5, 0.1, True, 0.3, 0.55, "pairs", 100, 100.0, relation="<=")
    page = page_text(replace(PLAIN, goal=goal, constraints=(entry,)), header=HEADER)
    (command,) = re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page, re.DOTALL)
    words = shlex.split(read(command).text)
    assert len(words) == 7
    assert "it's; $(rm)" in words[-1]


def test_what_to_do_follows_the_verdict():
    for status in ("feasible", "stationary"):
        text = verdict(replace(constrained(), status=status))[3]
        assert "It is not proved that this rule is the best" in text
    found = replace(constrained(), status="feasible", certificate=Certificate(gap=0.2))
    assert "better by more than 20.0 % (certified)" in verdict(found)[3]
    text = verdict(nearest())[3]
    assert "No rule of this kind meets every constraint on these scores" in text
    assert re.search(r"Loosen (precision|recall) >= 0.99 first, which weighs most", text)


def test_a_bound_met_in_the_search_and_missed_on_rows_held_out():
    report = replace(constrained(), status="optimal")
    page = page_text(report, constrained(value=0.85, low=0.8, high=0.86))
    assert "so it was hardly chance" in read(page).text


def test_more_cautions_than_a_few_are_folded():
    header = Header(cautions=tuple(f"Caution {i}." for i in range(7)))
    box = page_text(constrained(), header=header).split('class="box')[1].split("</section>")[0]
    first, folded = box.split("<details")
    assert "Caution 3." in first
    assert "Caution 4." not in first
    assert "3 more like these" in folded
    assert "Caution 6." in folded
    with pytest.raises(TypeError, match="sequence of sentences"):
        Header(cautions="one text")


def test_warnings_of_both_reports_are_folded_once():
    report = replace(constrained(), warnings=("Mind it", "precision is partly noise"))
    held_out = replace(report, warnings=("Mind it",))
    folded = page_text(report, held_out).split("For statisticians")[1].split("As text")[0]
    assert folded.count("Mind it") == 1
    assert "precision is partly noise" in folded


def test_the_rule_what_it_looks_at_and_draws():
    report, held_out = fair()
    page = page_text(report, held_out)
    text = read_part(page.split(">The rule<")[1].split("<details")[0])
    assert "predict 1 when the score is at least" in text
    assert "It looks at g beside the score." in text
    assert re.search(r"The decision on [\d.]+ % of the rows is drawn\.", text)
    assert ">The rule<" not in page_text(PLAIN)
    named = replace(PLAIN, rule=RuleFacts("predict 1 always"))
    assert "predict 1 always" in page_text(named)


@pytest.mark.parametrize(
    ("make", "shown", "folded"),
    [
        (
            floor,
            ["Precision and recall", "The objective at every cut-off", "What precision costs"],
            ["Hits and false alarms"],
        ),
        (
            lambda: fair()[0],
            ["Precision and recall"],
            ["Hits and false alarms", "Recall by group"],
        ),
        (three, [], ["How the search went"]),
        (searched, ["The metric along the search"], []),
        (lambda: PLAIN, [], []),
    ],
)
def test_pictures_where_there_are_numbers(make, shown, folded):
    pages = page_text(make()).split("<summary><h2>For statisticians")
    for page, titles in zip(pages, (shown, folded), strict=True):
        found = re.findall(r"<figure[^>]*>\s*<h3><bdi>(.*?)</bdi>", page)
        assert found == titles
        for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
            assert re.search(r'<svg viewBox="[^"]+" role="img" aria-label="[^"]+">', figure)
            assert re.search(r"<figcaption>\s*<p>[A-Z]", figure)
            assert "font-family" not in figure
            assert "var(--ink)" in figure
            assert not re.search(r"#[0-9a-f]{6}\b", figure), "a colour that dark mode cannot change"


def test_pictures_of_two_kinds_of_rows_say_which():
    report, held_out = fair()
    page = page_text(report, held_out)
    figure = page.split("Precision and recall</bdi>")[1].split("</figure>")[0]
    assert "On the rows the rule was chosen on." in figure
    assert "On the rows the rule was chosen on." not in page_text(report).split("<details")[0]
    both = replace(held_out, sections=report.sections)
    page = page_text(report, both)
    assert page.count("Precision and recall</bdi>") == 1
    figure = page.split("Precision and recall</bdi>")[1].split("</figure>")[0]
    assert "On rows that took no part in choosing the rule." in figure


def test_sections_with_words_have_their_own_place():
    extra = (TextSection("The stream", ("It runs.",)), TextSection("Empty", ()))
    page = page_text(replace(PLAIN, sections=extra))
    assert "<h2><bdi>The stream</bdi></h2>\n<p><bdi>It runs.</bdi></p>" in page
    assert "<bdi>Empty</bdi>" not in page


def test_the_deployed_model_in_words_people_and_rings():
    page = page_text(priced())
    text = read(page).text
    assert "the deployed model has" in text
    assert "The ring is the deployed model." in text
    assert 'class="ring"' in part(page, 0)
    assert 'class="ring"' in part(page, 1)
    assert page.count('<div class="pieces') == 3
    same = replace(PLAIN, deployed=Comparison(1000, changed=0.0))
    page = page_text(same)
    assert "No decision on 1,000 rows changes." in page
    assert 'class="ring"' not in page


def test_groups_in_one_table_with_dots_on_one_axis():
    report, held_out = fair()
    table = page_text(report, held_out).split('<table class="groups">')[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>(\w[\w -]*)', table)
    assert heads == ["group", "rows", "true share", "accepted", "right", "found"]
    for row, group in zip(
        re.findall(r'<tr><th scope="row".*?</tr>', table, re.DOTALL),
        [g for g in held_out.groups if g.compared],
        strict=True,
    ):
        assert f'cx="{round(100 * group.value, 2)}%"' in row
        assert group.name in row
        assert row.count("<circle") == 1


# -- bad input ----------------------------------------------------------------------------
def test_odd_texts_are_escaped():
    header = Header(ODD[0], ODD[1], f"fit {ODD[2]} --goal {{goal}}", ODD)
    page = page_text(many_groups(), about=[TextSection(n, ODD) for n in ODD], header=header)
    found = checked(page)
    assert "<script" not in page
    assert page.count("</style>") == 1
    words = "".join(found.words)
    for name in ODD[:-2]:
        assert name.strip() in words
    assert "zero\ufffd and half \ufffd of a pair" in words
    assert "\ufffd[31mred" in words
    assert page.encode("utf-8")
    cells = re.findall(r'<th scope="row"[^>]*>(?:<bdi>)(.*?)</bdi>', page)
    assert max(map(len, cells)) <= 160  # with what escaping adds
    assert f'title="region = {ODD[5]}"' in page


def test_hundreds_of_groups_are_the_ends_and_the_rest_folded():
    page = page_text(many_groups(400))
    found = checked(page)
    assert "<figure" not in page
    shown, folded = page.split("The other groups")
    assert "Of 400 groups the 20 lowest and the 20 highest by found" in found.text
    shown = shown.split('<table class="groups">')[1]
    assert shown.count('<th scope="row"') == 40
    assert "region 390" in shown
    assert "region 200" not in shown
    assert folded.count('<th scope="row"') == 300
    assert "region 200" in folded
    assert 'class="bar"' not in folded


def test_fifty_groups_are_all_shown():
    page = page_text(many_groups())
    table = page.split('<table class="groups">')[1].split("</table>")[0]
    assert table.count('<th scope="row"') == 50
    assert table.count("no rows") == 2  # its share and what is found


def test_hundreds_of_classes_with_long_names():
    page = page_text(many_classes())
    found = checked(page)
    assert "Of 15 constraints" in found.text
    assert "more like these" in found.text
    assert "Not evaluated" in found.text


def test_an_empty_table_has_its_page():
    page = page_text(empty())
    found = checked(page)
    assert "0 rows" in found.text
    assert found.text.count("Not evaluated") == 2
    assert "<circle" not in page.split("<main>")[1]
    assert 'class="plot"' not in page.split('<table class="parts">')[1].split("</table>")[0]


def test_a_page_of_many_curves_and_points_stays_small():
    report = floor()
    points = report.section("operating").points
    (curve,) = points.curves
    for n in (12, 13):
        curves = tuple(replace(curve, name=f"{ODD[5]} {i}") for i in range(n))
        own = OperatingSection(replace(points, curves=curves))
        page = page_text(replace(report, sections=(own,)))
        checked(page)
        assert ("Hits and false alarms" in page) == (n == 12)


def test_infinite_and_missing_numbers():
    ratio = Entry("win_loss_ratio", float("inf"), low=2.0, high=float("inf"), rows=10)
    checked(page_text(replace(PLAIN, goal="maximize win_loss_ratio", objective=ratio)))
    checked(page_text(replace(PLAIN, objective=Entry("recall", None))))
    checked(page_text(constrained("precision >= 0", 0.0, 0.0, 0.0)))
    checked(page_text(prices()))


def test_another_goal_is_refused():
    with pytest.raises(ValueError, match="another goal"):
        page_text(PLAIN, constrained())


def test_a_path_keeps_its_shape_with_fewer_letters():
    assert shorter("M 0 0\nL 1.004 0\nL 3 0\nL 3 2\nL 3 1\nz") == "M0 0 3 0 3 2 3 1z"
    assert shorter("M 0 0 L 1 1 L 2 2") == "M0 0 1 1 2 2"
    assert shorter("M 1 1 L 1 1") == "M1 1 1 1"
    curved = "M 0 0 C 1 1 2 2 3.123 3 z"
    assert shorter(curved) == "M 0 0 C 1 1 2 2 3.12 3 z"


# -- where no rule meets the goal ---------------------------------------------------------
def test_the_page_of_an_infeasible_goal():
    page = infeasible()
    found = checked(page)
    assert re.search(r"<h1>No rule meets the goal</h1>", page)
    assert "These cannot hold together" in found.text
    assert "bank.csv · bank.skops" in found.text
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', page, re.DOTALL)
    assert len(rows) == 3
    assert 'cx="38.8%"' in rows[0]
    assert 'class="bound" x1="99.0%"' in rows[0]
    assert "<b>38.8\u00a0%</b>" in rows[0]
    assert "not known" in rows[1]
    assert "<circle" not in rows[1]
    assert "<b>0.2500</b>" in rows[2]  # not one of the goal's own
    assert "What precision costs" in found.text
    commands = [
        read(c).text for c in re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page)
    ]
    assert commands[0] == "maximize accuracy subject to precision >= 0.9"
    assert shlex.split(commands[1])[-1] == commands[0]
    assert commands[2] == "maximize accuracy"


def test_an_infeasible_goal_with_nothing_known_and_odd_names(tmp_path):
    goal = Goal.parse("""maximize recall subject to recall.min("<script>'") >= 0.9""")
    path = tmp_path / "page.html"
    write_infeasible(path, goal, ODD[1], header=Header(ODD[0], cautions=ODD))
    page = path.read_text("utf-8")
    found = checked(page)
    assert "<script" not in page
    assert "<table" not in page
    assert "<figure" not in page
    assert ODD[1].strip() in "".join(found.words)
    assert page == infeasible_page(goal, ODD[1], header=Header(ODD[0], cautions=ODD))


# -- the file -----------------------------------------------------------------------------
def test_the_file_is_the_page(tmp_path):
    report, held_out = fair()
    path = tmp_path / "report.html"
    about = [TextSection("The data", ["here"])]
    assert report.to_html(path, held_out=held_out, about=about, header=HEADER) is None
    assert path.read_text("utf-8") == page_text(report, held_out, about, HEADER)
    report.to_html(str(path))
    assert path.read_text("utf-8") == page_text(report)
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("where", ["os.fsync", "pathlib.Path.replace"])
def test_the_old_file_stays_until_the_new_one_is_whole(tmp_path, monkeypatch, where):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "report.html"
    path.write_text("old")
    monkeypatch.setattr(where, full)
    with pytest.raises(OSError, match="No space left"):
        PLAIN.to_html(path)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["report.html"]


@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_says_how_to_install_it(tmp_path, monkeypatch, package):
    report = floor()
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape("pip install 'setpoint[report]'")):
        report.to_html(tmp_path / "report.html")
    assert os.listdir(tmp_path) == []


def test_a_report_without_pictures_needs_no_matplotlib(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    checked(page_text(PLAIN))


def test_fair_goal_is_the_one_meant():
    assert fair()[0].goal == str(Goal.parse(FAIR))
