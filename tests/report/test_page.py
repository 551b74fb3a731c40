"""The page of a report: its order, its sections, its pictures, and how it is written."""

import errno
import os
import re
import sys
from dataclasses import replace

import pytest

from report.page_reading import PLAIN, checked, part, read, read_part
from report.pages import (
    FAIR,
    HEADER,
    empty,
    fair,
    floor,
    line,
    many_classes,
    many_groups,
    nearest,
    priced,
    prices,
    searched,
    three,
)
from setpoint import Goal
from setpoint.goals import TABLE, goal_in_words
from setpoint.report import (
    Comparison,
    GoalReport,
    RuleFacts,
    Run,
    TextSection,
    cleaned,
    headline,
    report_text,
)
from setpoint.report.displays.sections import pictures_of
from setpoint.report.page import page_text
from thinning import thinned

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


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
    text = report_text(report, at_shell=True)  # the header has a command
    assert " ".join(cleaned(text).split()) in found.text
    lead = report if held_out is None else held_out
    first = headline(lead)[:200]
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
        '<p class="from">', "<h1", '<p class="people">', '<div class="pieces',
        '<section class="box', "What to do", '<p class="goal">', "What was asked",
        "Precision and recall", ">Groups<",
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
    assert text.count("Cost for 10,000 rows") == 2  # and in the text to copy


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
    from setpoint.goals import example_of

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
            [
                "Precision and recall",
                "The objective at every cut-off",
                "What a higher precision costs",
            ],
            ["Hits and false alarms"],
        ),
        (lambda: fair()[0], ["Precision and recall"], ["Hits and false alarms", "Recall by group"]),
        (three, [], ["How the search went"]),
        (searched, ["The metric along the search"], []),
        (lambda: PLAIN, [], []),
    ],
)
def test_pictures_where_there_are_numbers(make, shown, folded):
    first, _, below = page_text(make()).partition("<summary><h2>For statisticians")
    for page, titles in zip((first, below), (shown, folded), strict=True):
        found = re.findall(r"<figure[^>]*>\s*<h3><bdi>(.*?)</bdi>", page)
        assert found == titles
        for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
            assert re.search(r'<svg viewBox="[^"]+" role="img" aria-label="[^"]+">', figure)
            assert re.search(r"<figcaption>\s*<p>[A-Z]", figure)
            assert "font-family" not in figure
            assert "var(--ink)" in figure
            assert not re.search(r"#[0-9a-f]{6}\b", figure), "a colour that dark mode cannot change"


@pytest.mark.parametrize(
    ("side", "relation", "title"),
    [
        ("recall.difference(g)", "<=", "What a smaller gap in recall between groups by g costs"),
        ("predicted_rate", "<=", "What a lower predicted rate costs"),
        ("recall.min(g)", ">=", "What the bound on smallest recall over groups by g costs"),
    ],
)
def test_frontiers_say_in_words_what_is_paid_for(side, relation, title):
    found = replace(line(), side=side, relation=relation)
    assert [p.title for p in pictures_of((found,))] == [title]


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
    table = page_text(report, held_out).split('<table class="groups one">')[1].split("</table>")[0]
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
    assert [read_part(head) for head in heads] == [
        "group",
        "rows",
        "true share",
        "accepted",
        "right",
        "found",
    ]
    for row, group in zip(
        re.findall(r'<tr><th scope="row".*?</tr>', table, re.DOTALL),
        [g for g in held_out.groups if g.compared],
        strict=True,
    ):
        assert f'cx="{round(100 * group.value, 2)}%"' in row
        assert group.name in row
        assert row.count("<circle") == 1


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


def test_what_draws_could_reach_names_its_rows():
    report, held_out = fair()
    report = replace(report, certificate=replace(report.certificate, with_draws=0.99))
    draws = f"ith draws {report.objective.text} could reach 99.0 %"
    assert f"On the rows the rule was chosen on: w{draws}" in read(page_text(report, held_out)).text
    assert f"W{draws}" in read(page_text(report)).text
