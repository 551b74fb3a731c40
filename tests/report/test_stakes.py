"""Reports of goals over values of rows, and of rules that defer."""

import numpy as np
import pytest

from setpoint import Goal
from setpoint.counts import DEFERRED, Column, Rows
from setpoint.program import link
from setpoint.report import GoalReport, compared, report_on
from setpoint.report.numbers import in_ten_thousand, parts_of

TWO = ("no", "yes")
MONEY = (
    "maximize profit(tp=amount - 5, fp=-5) subject to recall.weighted(amount) >= 0.5, "
    "recall.weighted(amount).difference(sex) <= 0.9"
)
DEFERS = (
    "minimize deferral_rate subject to accuracy.decided >= 0.8, "
    "deferral_rate.difference(sex) <= 0.9"
)


def report(text, decided=None, classes=TWO, n=600):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < 0.3).astype(int)
    d = np.where(rng.random(n) < np.where(y, 0.8, 0.1), 1, 0)
    if len(classes) == 3:
        d = np.where(rng.random(n) < 0.2, 2, d)
    columns = {
        "amount": Column(rng.exponential(50.0, n)), "sex": Column(rng.choice(["F", "M"], n)),
    }  # fmt: skip
    goal = Goal.parse(text)
    rows = Rows.from_arrays(classes, y, n, needs=goal.needs, columns=columns)
    return report_on(link(goal, rows.codebook), rows.confusion(d)), y, d, columns


def test_money_is_not_a_share_and_rows_count_once():
    found, y, d, columns = report(MONEY)
    amount = columns["amount"].values
    assert found.counts.n_rows == len(y)
    assert found.counts.total == len(y)
    assert found.objective.value == pytest.approx((d * np.where(y, amount - 5.0, -5.0)).mean())
    assert found.objective.denominator == len(y)
    text = " ".join(str(found).split())
    assert "Profit for 10,000 rows" in text
    assert f"{100 * found.constraints[0].value:.1f} % (" in text
    assert found.constraints[0].numerator == pytest.approx(amount[(y == 1) & (d == 1)].sum())


def test_deferred_rows_are_a_column_of_their_own():
    found, y, d, _ = report(DEFERS, classes=(*TWO, DEFERRED))
    counts = found.counts
    assert counts.classes == TWO
    assert counts.positive == "yes"
    assert counts.deferred == (float((d[y == 0] == 2).sum()), float((d[y == 1] == 2).sum()), 0.0)
    assert counts.labelled == counts.total == len(y)
    assert counts.of_class(1) == y.sum()
    assert [p.words for p in parts_of(counts)][-1] == "deferred"
    assert sum(p.rows for p in parts_of(counts)) == pytest.approx(10_000)
    assert "are deferred to a person; of the others" in in_ten_thousand(counts)
    assert "deferred" in str(found).split("Groups")[1]


def test_deferring_costs_something():
    text = "minimize cost({('yes', 'no'): 'amount', ('no', 'yes'): 5, ('no', 'defer'): 1})"
    found, *_ = report(text, classes=(*TWO, DEFERRED))
    assert "deferring everybody" in str(found)


def test_three_classes_and_deferring():
    goal = Goal.parse("minimize deferral_rate subject to accuracy.decided >= 0.5")
    classes = ("a", "b", "c", DEFERRED)
    rng = np.random.default_rng(0)
    y, d = rng.integers(0, 3, 300), rng.integers(0, 4, 300)
    rows = Rows.from_arrays(classes, y, 300, needs=goal.needs)
    found = report_on(link(goal, rows.codebook), rows.confusion(d))
    words = in_ten_thousand(found.counts)
    assert words.startswith("Of 10,000 rows like these")
    assert "deferred to a person; of the others" in words
    right, wrong, left = (p.rows for p in parts_of(found.counts))
    assert right + wrong + left == pytest.approx(10_000)


@pytest.mark.parametrize(("text", "classes"), [(MONEY, TWO), (DEFERS, (*TWO, DEFERRED))])
def test_every_face_reads_them_and_json_brings_them_back(text, classes, tmp_path):
    found, *_ = report(text, classes=classes)
    again = GoalReport.from_dict(found.to_dict())
    assert str(again) == str(found)
    assert again.counts == found.counts
    assert found._repr_html_()
    found.to_html(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert ('class="deferred"' in page) == (text == DEFERS)


def test_a_deferred_row_is_neither_changed_nor_won_nor_lost():
    found = compared([1, 1, 0, 0], deployed=[0, 1, 0, 0], decided=[2, 2, 1, 0], defer=2)
    assert (found.changed, found.wins, found.losses) == (0.25, 0.0, 0.25)
    shares = np.eye(3)[[2, 2, 1, 0]]
    assert compared([1, 1, 0, 0], [0, 1, 0, 0], shares, defer=2) == found
