"""The page of a report: its order, its verdict, its pictures, odd texts, and the file."""

import os
import re
import shlex
import sys
from dataclasses import replace

import pytest

from report.page_reading import checked, page_text, read_part, said, words_of
from report.pages import (
    HEADER,
    MAKERS,
    ODD,
    PLAIN,
    fair,
    floor,
    infeasible,
    many_groups,
    page_of,
    report_of,
)
from setpoint import Goal
from setpoint.goals import TABLE, example_of, goal_in_words
from setpoint.report import (
    Entry,
    Header,
    Run,
    TextSection,
    as_page,
    cleaned,
    goal_table,
    headline,
    infeasible_document,
    report_text,
)
from thinning import over

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


def constrained(text="precision >= 0.9", value=0.95, low=0.93, high=0.97, **more):
    """A report with one constraint."""
    bound = Goal.parse(f"maximize recall subject to {text}").constraints[0].rhs.value
    way = ">=" if ">=" in text else "<="
    slack = None if value is None else (value - bound) * (1 if way == ">=" else -1)
    entry = Entry(
        text, value, bound, slack, None if slack is None else slack >= -1e-9, low, high, "wilson",
        100, 100.0, relation=way, **more,
    )  # fmt: skip
    return replace(PLAIN, goal=f"maximize recall subject to {text}", constraints=(entry,))


def folded(page):
    """The text that is seen at once, and what is folded."""
    return [read_part(part) for part in page.split('<details class="fold">\n<summary><h2', 1)]


RUN = Run("2020-02-02T02:02:02+00:00", 77.0, {"setpoint": "1.2", "numpy": "9"})


@over("name", MAKERS)
def test_a_page_is_whole_html_and_says_what_the_text_does(name):
    report, held_out = report_of(name)
    text = checked(page_of(name))
    assert "<b>bold</b>" in text
    assert words_of(report.goal) in text
    assert words_of(cleaned(report_text(report, at_shell=True))) in text  # with a command
    assert words_of(headline(held_out or report)[:200]) in text
    assert text.index("The column 'code' alone decides the class.") < text.index("What was asked")
    for row in goal_table(held_out or report).rows:
        for cells in (row[2:3], row[3:]):
            assert words_of(" ".join(cleaned(f"{c.text} {c.note}") for c in cells)) in text


def test_the_page_is_in_the_order_of_its_readers():
    report, held_out = fair()
    report = replace(report, certificate=replace(report.certificate, with_draws=0.99))
    header = replace(HEADER, cautions=("Beware.",))
    about = [TextSection("The data", ("here",)), TextSection("Nothing", ())]
    text = checked(page_text(report, replace(held_out, run=RUN), about, header))
    marks = [
        "bank.csv · 500 rows · 2020-02-02 · bank.skops · setpoint 1.2", headline(held_out),
        "Of 10,000 rows like these", "accepted rightly", "Measured on 500 rows",
        "took no part in choosing the rule", "Beware.", "What to do", "The goal:",
        "What was asked", "Precision and recall", "On the rows the rule was chosen on. Each point",
        "Groups group", "The rule ", "predict 1 when the score is at least",
        "It looks at g beside the score.", "of the rows is drawn.", "For statisticians",
        "How the rule was found", "On the rows the rule was chosen on 700 rows. They flatter",
        "75.9", "Hits and false alarms", "Recall by group", "Please note",
        "Columns and data", "The data here", "As text", "This run",
    ]  # fmt: skip
    at = 0
    for mark in marks:
        found = text.find(mark, at)
        assert found >= at, mark
        at = found
    assert "Nothing" not in text
    # Without rows held out those of the search lead, and are said to flatter.
    alone = folded(page_text(report))[0]
    assert "The rule was chosen on these very rows" in alone
    assert "took no part in choosing" not in alone
    with pytest.raises(ValueError, match="another goal"):
        page_text(PLAIN, constrained())


@over(
    ("goal", "words"),
    [
        ("minimize error_rate subject to recall.on(country='IN') >= 0.8, accuracy.on('x') >= 1",
         "Decide wrong as seldom as possible (error rate as low as it goes), with recall (country "
         "= IN) at least 0.8 and accuracy (in the data set x) at least 1"),
        ("maximize recall(label='fraud') s.t. recall >= recall.baseline() - 0.01",
         "Find as many fraud cases as possible (recall of fraud as high as it goes), with recall "
         "at least recall of the deployed model minus 0.01"),
        (f"maximize {' + '.join(f'recall(label={i})' for i in range(80))} s.t. churn <= 0.1",
         "Make a custom metric as high as possible, under 1 constraints"),
        *((f"minimize {text}", f"Make {words} as low as possible") for text, words in (
            ("log(mcc) * sqrt(recall + mcc)",
             "logarithm of MCC times square root of (recall plus MCC)"),
            ("maximum(recall, mcc)", "the largest of recall and MCC"),
            ("micro_f1(default=0)", "micro F1 of all classes but 0"),
            ("abs(recall - mcc)", "distance between recall and MCC"),
            ("recall.difference()", "gap in recall between the classes"),
            ("recall.ratio(sex, age)", "smallest over largest recall of groups by sex and age"),
        )),
    ],
)  # fmt: skip
def test_goals_in_words(goal, words):
    assert goal_in_words(Goal.parse(goal)) == words
    for name, entry in TABLE.items():
        text = goal_in_words(Goal("maximize", example_of(entry)), "x")
        assert text[0].isupper(), name
        assert not {"{", "_"} & {*text}, name


def test_the_command_has_the_goal_with_its_margin():
    close = constrained(value=0.92, low=0.89, high=0.94)
    stricter = "maximize recall subject to precision >= 0.951"
    (command,) = said(close, "command", header=HEADER)
    assert shlex.split(command) == [
        "setpoint", "fit", "bank.csv", "--model", "bank.skops", "--goal", stricter,
    ]  # fmt: skip
    assert said(close, "command") == [stricter]
    for settled in (constrained(), constrained(value=None, low=None, high=None), PLAIN):
        assert said(settled, "command", header=HEADER) == []
    # Names in a goal cannot leave their quotes.
    text = """recall.difference("it's; $(rm)") <= 0.5"""
    (command,) = said(constrained(text, 0.4, 0.3, 0.55), "command", header=HEADER)
    words = shlex.split(command)
    assert len(words) == 7
    assert "it's; $(rm)" in words[-1]


def test_of_hundreds_of_groups_the_ends_are_seen():
    page = page_text(many_groups(400))
    assert "Of 400 groups the 20 lowest and the 20 highest by found" in checked(page)
    shown, rest = page.split("The other groups")
    shown = shown.split('<table class="groups one">')[1]
    assert [part.count('<th scope="row"') for part in (shown, rest)] == [40, 200]
    assert "region 390" in shown
    assert "region 150" in rest


def test_odd_texts_are_escaped():
    header = Header(ODD[0], ODD[1], f"fit {ODD[2]} --goal {{goal}}", ODD)
    page = page_text(many_groups(), about=[TextSection(n, ODD) for n in ODD], header=header)
    text = checked(page)
    assert "<script" not in page
    assert page.count("</style>") == 1
    for name in ODD[:-2]:
        assert words_of(name) in text
    assert "zero\ufffd and half \ufffd of a pair" in text
    assert "\ufffd[31mred" in text


def test_the_page_of_an_infeasible_goal():
    page = infeasible()
    text = checked(page)
    for part in (
        "No rule meets the goal",
        "These cannot hold together",
        "Precision precision >= 0.99 at least 99 % 38.8 %",
        "Recall recall >= 0.99 at least 99 % not known",
        "macro_f1 >= 0.5 0.2500",  # not one of the goal's own
        "What a higher precision costs",
    ):
        assert part in text
    found = re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page)
    first, command, second, _ = (read_part(c) for c in found)
    assert first == shlex.split(command)[-1] == "maximize accuracy subject to precision >= 0.9"
    assert second == "maximize accuracy"
    goal = Goal.parse("""maximize recall subject to recall.min("<script>'") >= 0.9""")
    page = as_page(infeasible_document(goal, ODD[1], header=Header(ODD[0], cautions=ODD)))
    assert words_of(ODD[1]) in checked(page)


@over("package", ["jinja2", "matplotlib"])
def test_a_missing_package_says_how_to_install_it(tmp_path, monkeypatch, package):
    report = floor()
    with monkeypatch.context() as without:
        for name in [n for n in sys.modules if n.partition(".")[0] == package]:
            without.delitem(sys.modules, name)
        without.setitem(sys.modules, package, None)
        with pytest.raises(ImportError, match=re.escape("pip install 'setpoint[report]'")):
            report.to_html(tmp_path / "report.html")
        assert os.listdir(tmp_path) == []
        if package == "matplotlib":  # a report without pictures needs none
            checked(page_text(PLAIN))
