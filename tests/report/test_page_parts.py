"""The verdict of a page, the parts of the goal on one axis, and what to do."""

import re
import shlex
from dataclasses import replace

import pytest

from report.page_reading import PLAIN, constrained, part, read, read_part, verdict
from report.pages import HEADER, nearest
from setpoint.report import Certificate, Entry, Header
from setpoint.report.page import page_text

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


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
    drawn = r'(?:<svg[^>]*><use href="#sign-(\w+)"/></svg>)?'
    cell = rf'<td class="verdict (\w+)">{drawn}<span>(.*?)</span>'
    rows = re.findall(cell, page_text(report))
    assert rows[0] == ("plain", "", "Objective")
    for entry, (own, sign, said) in zip(report.constraints, rows[1:], strict=True):
        assert own == sign
        assert said.lower() == (entry.verdict or "not evaluated")


def test_without_rows_it_says_why():
    text = verdict(constrained(value=None, low=None, high=None, why="no rows of class 1"))[3]
    assert "Precision was not evaluated: no rows of class 1." in text
    assert "not evaluated no rows of class 1" in text


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
    said = "95.0\u00a0%; interval 93.0\u00a0% to 97.0\u00a0%; bound 90.0\u00a0%"
    assert f'aria-label="{said}"' in second
    below = part(page_text(constrained("recall.difference(g) <= 0.1", 0.05, 0.0, 0.08)), 1)
    assert re.search(r'class="allowed" x="0.0%" width="10.0%"', below)
    assert "ends own" not in page


def test_other_units_have_an_axis_of_their_own_or_none():
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


def test_bootstrap_limits_say_so():
    entry = replace(constrained().constraints[0], interval="bootstrap")
    page = page_text(replace(constrained(), constraints=(entry,)))
    assert "97.0 % bootstrap" in read_part(part(page, 1))


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
    assert "better by more than 20.0 % (proved)" in verdict(found)[3]
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
