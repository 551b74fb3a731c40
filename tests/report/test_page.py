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
    empty,
    fair,
    floor,
    infeasible,
    line,
    many_groups,
    page_of,
    report_of,
)
from setpoint import Goal
from setpoint.goals import TABLE, example_of, expression_of, goal_in_words, in_words
from setpoint.report import (
    Entry,
    Frontiers,
    Header,
    OperatingSection,
    Run,
    TextSection,
    as_page,
    cleaned,
    headline,
    infeasible_document,
    report_text,
)
from setpoint.report.page.page import shorter
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


def cells(page, i):
    """The texts of one part of the goal."""
    rows = re.findall(r"<tr>.*?</tr>", page.split('<table class="parts">')[1], re.DOTALL)
    return read_part(rows[1 + i])


SENSES = ("maximize", "minimize")


# -- the whole ----------------------------------------------------------------------------
RUN = Run("2020-02-02T02:02:02+00:00", 77.0, {"setpoint": "1.2", "numpy": "9"})


@over("name", MAKERS)
def test_a_page_is_whole_html_without_scripts_or_links(name):
    report, held_out = report_of(name)
    text = checked(page_of(name))
    assert "<b>bold</b>" in text
    assert words_of(report.goal) in text
    assert words_of(cleaned(report_text(report, at_shell=True))) in text  # with a command
    assert words_of(headline(held_out or report)[:200]) in text
    assert text.index("The column 'code' alone decides the class.") < text.index("What was asked")


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
    assert "On the rows the rule was chosen on: with draws accuracy could reach 99.0 %" in text
    assert "With draws accuracy could reach 99.0 %" in checked(page_text(report))
    # Without rows held out those of the search lead, and are said to flatter.
    alone = folded(page_text(report))[0]
    assert "The rule was chosen on these very rows" in alone
    assert "took no part in choosing" not in alone
    assert ">The rule<" not in page_text(PLAIN)
    with pytest.raises(ValueError, match="another goal"):
        page_text(PLAIN, constrained())


@over(
    ("goal", "words"),
    [
        ("minimize error_rate subject to recall.on(country='IN') >= 0.8, accuracy.on('x') >= 1",
         "Decide wrong as seldom as possible (error rate as low as it goes), with recall (country "
         "= IN) at least 0.8 and accuracy (in the data set x) at least 1"),
        ("maximize macro_f1 s.t. recall.ratio(sex, age) >= 0.8",
         "Make macro F1 as high as possible, with the smallest over largest recall of groups by "
         "sex and age at least 0.8"),
        ("maximize recall s.t. recall >= recall.baseline() - 0.01",
         "Find as many positive cases as possible (recall as high as it goes), with recall at "
         "least recall of the deployed model minus 0.01"),
        ("maximize recall(label='fraud') s.t. recall(label=1) >= 0.5",
         "Find as many fraud cases as possible (recall of fraud as high as it goes), with recall "
         "of class 1 at least 0.5"),
        ("minimize 2 * fp + 5 * fn",
         "Make 2 times false positives plus 5 times false negatives as low as possible"),
        (f"maximize {' + '.join(f'recall(label={i})' for i in range(80))} s.t. churn <= 0.1",
         "Make a custom metric as high as possible, under 1 constraints"),
    ],
)  # fmt: skip
def test_goals_in_words(goal, words):
    assert goal_in_words(Goal.parse(goal)) == words
    for name, entry in TABLE.items():
        known = [goal_in_words(Goal(sense, example_of(entry)), "x") for sense in SENSES]
        assert all(text[0].isupper() and not {"{", "_"} & {*text} for text in known), name


@over(
    ("text", "words"),
    [
        ("log(recall)", "logarithm of recall"),
        ("sqrt(recall + precision)", "square root of (recall plus precision)"),
        ("maximum(recall, precision)", "the largest of recall and precision"),
        ("minimum(recall, precision)", "the smallest of recall and precision"),
        ("micro_f1(default=0)", "micro F1 of all classes but 0"),
        ("fbeta(2) / 4", "F-measure with beta 2 over 4"),
        ("abs(recall)", "size of recall"),
        ("abs(recall - precision)", "distance between recall and precision"),
        ("recall.difference()", "gap in recall between the classes"),
        ("recall.mean(g)", "mean recall over groups by g"),
        ("recall.geometric_mean()", "geometric mean of recall over the classes"),
        ("recall.deviation(g)",
         "largest distance of recall in one group from that of all, over groups by g"),
    ],
)  # fmt: skip
def test_expressions_in_words(text, words):
    assert in_words(expression_of(text)) == words


# -- the verdict and what to do -----------------------------------------------------------


def test_parts_of_the_goal_say_value_bound_and_interval():
    page = page_text(constrained()).replace("\xa0", " ")
    assert cells(page, 0) == (
        "Recall recall 70.0 % 70 of 100 as high as possible 60.0 % to 80.0 % Objective"
    )
    assert cells(page, 1) == (
        "Precision precision >= 0.9 95.0 % at least 90 % 93.0 % to 97.0 % Shown"
    )
    assert 'aria-label="95.0 %; interval 93.0 % to 97.0 %; bound 90.0 %"' in page
    # Other units have an axis of their own, or none where there is one number alone.
    cost = Entry("cost({(0, 1): 5})", 3.5, low=3.0, high=4.0, interval="normal", rows=10)
    for entry, words in (
        (cost, "2.88 4.12 3.50 as low as possible 3.00 to 4.00"),
        (replace(cost, low=None, high=None, interval=None), "3.50 as low as possible -"),
        (replace(cost, text="mcc", value=-0.2, low=-0.4, high=0.1), "-0.46 0.16 -0.2000"),
    ):
        report = replace(PLAIN, goal=f"minimize {entry.text}", objective=entry)
        assert words in cells(page_text(report), 0)
    none = constrained(value=None, low=None, high=None, why="no rows of class 1")
    text = folded(page_text(none))[0]
    assert "Precision was not evaluated: no rows of class 1." in text
    assert "not evaluated no rows of class 1" in text


def test_the_command_has_the_goal_with_its_margin():
    close = constrained(value=0.92, low=0.89, high=0.94)
    stricter = "maximize recall subject to precision >= 0.951"
    (command,) = said(close, "command", header=HEADER)
    assert shlex.split(command) == [
        "setpoint", "fit", "bank.csv", "--model", "bank.skops", "--goal", stricter,
    ]  # fmt: skip
    assert said(close, "command") == [stricter]
    assert stricter in checked(page_text(close))
    for settled in (constrained(), constrained(value=None, low=None, high=None), PLAIN):
        assert said(settled, "command", header=HEADER) == []
    # Names in a goal cannot leave their quotes.
    text = """recall.difference("it's; $(rm)") <= 0.5"""
    (command,) = said(constrained(text, 0.4, 0.3, 0.55), "command", header=HEADER)
    words = shlex.split(command)
    assert len(words) == 7
    assert "it's; $(rm)" in words[-1]


def test_many_cautions_are_folded_and_notes_said_once():
    header = Header(cautions=tuple(f"Caution {i}." for i in range(7)))
    box = page_text(constrained(), header=header).split('class="box')[1].split("</section>")[0]
    first, rest = box.split("<details")
    assert ("Caution 3." in first, "Caution 4." in first, "Caution 6." in rest) == (1, 0, 1)
    assert "3 more like these" in rest
    with pytest.raises(TypeError, match="sequence of sentences"):
        Header(cautions="one text")
    report = replace(constrained(), warnings=("Mind it", "precision is partly noise"))
    notes = folded(page_text(report, replace(report, warnings=("Mind it",))))[1].split("As text")[0]
    assert notes.count("Mind it") == notes.count("precision is partly noise") == 1


# -- pictures, groups, the deployed model -------------------------------------------------
@over("name", ["floor", "three", "searched", "plain"])
def test_pictures_where_there_are_numbers(name):
    shown = {
        "floor": ["Precision and recall", "The objective at every cut-off",
                  "What a higher precision costs", "Hits and false alarms"],
        "three": ["How the search went"], "searched": ["The metric along the search"],
    }  # fmt: skip
    page = page_of(name)
    assert re.findall(r"<figure[^>]*>\s*<h3><bdi>(.*?)</bdi>", page) == shown.get(name, [])
    for figure in re.findall(r"<figure.*?</figure>", page, re.DOTALL):
        assert re.search(r'role="img" aria-label="[^"]+">', figure)
        assert re.search(r"<figcaption>\s*<p>[A-Z]", figure)
        assert not re.search(r"#[0-9a-f]{6}\b", figure), "a colour that dark mode cannot change"


def test_pictures_say_what_is_paid_for_and_on_which_rows():
    for side, relation, title in (
        ("recall.difference(g)", "<=", "What a smaller gap in recall between groups by g costs"),
        ("predicted_rate", "<=", "What a lower predicted rate costs"),
        ("recall.min(g)", ">=", "What the bound on smallest recall over groups by g costs"),
    ):
        section = Frontiers((replace(line(), side=side, relation=relation),))
        assert [p.title for p in section.pictures(PLAIN)] == [title]
    report, held_out = fair()
    page = page_text(report, replace(held_out, sections=report.sections))
    assert page.count("Precision and recall</bdi>") == 1
    figure = page.split("Precision and recall</bdi>")[1].split("</figure>")[0]
    assert "On rows that took no part in choosing the rule." in figure
    # More than a dozen curves are a tangle.
    points = floor().section("operating").points
    for n in (12, 13):
        curves = tuple(replace(points.curves[0], name=f"{ODD[5]} {i}") for i in range(n))
        own = OperatingSection(replace(points, curves=curves))
        text = checked(page_text(replace(floor(), sections=(own,))))
        assert ("Hits and false alarms" in text) == (n == 12)
    text = checked(page_of("priced"))
    assert "The ring is the deployed model." in text
    assert text.count("accepted rightly") == 3


def test_groups_in_one_table_and_of_hundreds_the_ends():
    page = page_of("groups")
    table = page.split('<table class="groups one">')[1].split("</table>")[0]
    assert table.count('<th scope="row"') == 50
    assert table.count("no rows") == 2  # its share and what is found
    page = page_of("hundreds")
    assert "Of 400 groups the 20 lowest and the 20 highest by found" in checked(page)
    assert "<figure" not in page
    shown, rest = page.split("The other groups")
    shown = shown.split('<table class="groups one">')[1]
    assert [part.count('<th scope="row"') for part in (shown, rest)] == [40, 200]
    assert "region 390" in shown
    assert "region 200" not in shown
    assert "region 150" in rest
    assert "no rows" not in shown  # neither lowest nor highest
    assert 'class="bar"' not in rest


# -- odd texts and numbers ----------------------------------------------------------------
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


def test_many_classes_empty_tables_and_odd_numbers():
    assert "Of 15 constraints" in checked(page_of("classes"))
    page = page_text(empty())
    assert checked(page).count("Not evaluated") == 2
    assert "<circle" not in page.split("<main>")[1]
    ratio = Entry("win_loss_ratio", float("inf"), low=2.0, high=float("inf"), rows=10)
    checked(page_text(replace(PLAIN, goal="maximize win_loss_ratio", objective=ratio)))
    checked(page_text(replace(PLAIN, objective=Entry("recall", None))))
    checked(page_text(constrained("precision >= 0", 0.0, 0.0, 0.0)))


def test_a_path_keeps_its_shape_with_fewer_letters():
    assert shorter("M 0 0\nL 1.04 0\nL 3 0\nL 3 2\nL 3 1\nz") == "M0 0h3v2v-1z"
    assert shorter("M 0 0 L 1 1 L 2 -2") == "M0 0l1 1l1-3"
    assert shorter("M 1 1 L 1 1") == "M1 1h0"
    assert shorter("M 0 0 C 1 1 2 2 3.123 3 z") == "M 0 0 C 1 1 2 2 3.12 3 z"


# -- where no rule meets the goal ---------------------------------------------------------
def test_the_page_of_an_infeasible_goal():
    page = infeasible()
    text = checked(page)
    assert re.search(r"bank\.csv · 20\d\d-\d\d-\d\d · bank\.skops · setpoint \d", text)
    assert "No rule meets the goal" in text
    assert "These cannot hold together" in text
    assert "Precision precision >= 0.99 at least 99 % 38.8 %" in text
    assert "Recall recall >= 0.99 at least 99 % not known" in text
    assert "macro_f1 >= 0.5 0.2500" in text  # not one of the goal's own
    assert "What a higher precision costs" in text
    found = re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page)
    commands = [read_part(c) for c in found]
    assert commands[0] == "maximize accuracy subject to precision >= 0.9"
    assert shlex.split(commands[1])[-1] == commands[0]
    assert commands[2] == "maximize accuracy"
    goal = Goal.parse("""maximize recall subject to recall.min("<script>'") >= 0.9""")
    page = as_page(infeasible_document(goal, ODD[1], header=Header(ODD[0], cautions=ODD)))
    assert words_of(ODD[1]) in checked(page)
    assert not re.search("<(script|table|figure)", page)


# -- the file -----------------------------------------------------------------------------
@pytest.mark.parametrize("package", ["jinja2", "matplotlib"])
def test_a_missing_package_says_how_to_install_it(tmp_path, monkeypatch, package):
    report = floor()
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape("pip install 'setpoint[report]'")):
        report.to_html(tmp_path / "report.html")
    assert os.listdir(tmp_path) == []
    if package == "matplotlib":  # a report without pictures needs none
        checked(page_text(PLAIN))
