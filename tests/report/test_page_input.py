"""Bad input has its page, and so has a goal that no rule meets."""

import re
import shlex
from dataclasses import replace

import numpy as np
import pytest

from report.page_reading import PLAIN, checked, constrained, read
from report.pages import ODD, empty, floor, infeasible, many_classes, many_groups, prices
from setpoint import Goal
from setpoint.report import (
    Entry,
    Header,
    OperatingSection,
    TextSection,
    as_page,
    infeasible_document,
)
from setpoint.report.page import page_text
from setpoint.report.page.page import shorter

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.report.FewRowsWarning")


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
    shown = shown.split('<table class="groups one">')[1]
    assert shown.count('<th scope="row"') == 40
    assert "region 390" in shown
    assert "region 200" not in shown
    assert folded.count('<th scope="row"') == 200
    assert "region 150" in folded
    assert "no rows" not in shown  # neither lowest nor highest
    assert 'class="bar"' not in folded


def test_fifty_groups_are_all_shown():
    page = page_text(many_groups())
    table = page.split('<table class="groups one">')[1].split("</table>")[0]
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
    assert shorter("M 0 0\nL 1.04 0\nL 3 0\nL 3 2\nL 3 1\nz") == "M0 0h3v2v-1z"
    assert shorter("M 0 0 L 1 1 L 2 -2") == "M0 0l1 1l1-3"
    assert shorter("M 1 1 L 1 1") == "M1 1h0"
    curved = "M 0 0 C 1 1 2 2 3.123 3 z"
    assert shorter(curved) == "M 0 0 C 1 1 2 2 3.12 3 z"


@pytest.mark.parametrize("seed", range(5))
def test_a_shorter_path_stays_within_a_twentieth_of_a_point(seed):
    rng = np.random.default_rng(seed)
    points = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    points[1:150, 1] = points[1, 1]  # a level piece, there and back
    d = f"M {' L '.join(f'{x:.6f} {y:.6f}' for x, y in points)}"
    at = [tuple(map(float, re.match(r"M(\S+) ([^hvlz]+)", shorter(d)).groups()))]
    for kind, numbers in re.findall(r"([hvl])([^hvl]*)", shorter(d)):
        step = [float(x) for x in re.findall(r"-?[\d.]+", numbers)]
        dx, dy = {"h": (step[0], 0.0), "v": (0.0, step[0]), "l": tuple(step[-2:])}[kind]
        at.append((at[-1][0] + dx, at[-1][1] + dy))
    corners = np.array(at)
    start, way = corners[:-1], np.diff(corners, axis=0)
    from_start = points[:, None] - start
    along = (from_start * way).sum(axis=2) / np.maximum((way**2).sum(axis=1), 1e-12)
    far = np.abs(from_start - np.clip(along, 0.0, 1.0)[..., None] * way).max(axis=2)
    assert len(corners) < len(points)
    assert far.min(axis=1).max() <= 0.05 + 1e-9
    assert np.abs(corners[:, None] - points).max(axis=2).min(axis=1).max() <= 0.05 + 1e-9
    assert np.abs(corners[[0, -1]] - points[[0, -1]]).max() <= 0.05 + 1e-9


# -- where no rule meets the goal ---------------------------------------------------------
def test_the_page_of_an_infeasible_goal():
    page = infeasible()
    found = checked(page)
    assert re.search(r"<h1>No rule meets the goal</h1>", page)
    assert "These cannot hold together" in found.text
    assert re.search(r"bank\.csv · 20\d\d-\d\d-\d\d · bank\.skops · setpoint \d", found.text)
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', page, re.DOTALL)
    assert len(rows) == 3
    assert 'cx="38.8%"' in rows[0]
    assert 'class="bound" x1="99.0%"' in rows[0]
    assert "<b>38.8\u00a0%</b>" in rows[0]
    assert "not known" in rows[1]
    assert "<circle" not in rows[1]
    assert "<b>0.2500</b>" in rows[2]  # not one of the goal's own
    assert "What a higher precision costs" in found.text
    commands = [
        read(c).text for c in re.findall(r'<pre class="command" tabindex="0">(.*?)</pre>', page)
    ]
    assert commands[0] == "maximize accuracy subject to precision >= 0.9"
    assert shlex.split(commands[1])[-1] == commands[0]
    assert commands[2] == "maximize accuracy"


def test_an_infeasible_goal_with_nothing_known_and_odd_names():
    goal = Goal.parse("""maximize recall subject to recall.min("<script>'") >= 0.9""")
    page = as_page(infeasible_document(goal, ODD[1], header=Header(ODD[0], cautions=ODD)))
    found = checked(page)
    assert "<script" not in page
    assert "<table" not in page
    assert "<figure" not in page
    assert ODD[1].strip() in "".join(found.words)
