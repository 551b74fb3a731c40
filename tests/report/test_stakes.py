"""Reports of goals over values of rows, and of rules that defer."""

import numpy as np
import pytest

from report.page_reading import checked, page_text, people, said, words_of
from setpoint import Goal, GoalReport
from setpoint.counts import DEFERRED, Column, Rows
from setpoint.program import link
from setpoint.report import report_on
from thinning import over

TWO = ("no", "yes")
MONEY = (
    "maximize profit(tp=amount - 5, fp=-5) subject to recall.weighted(amount) >= 0.5, "
    "recall.weighted(amount).difference(sex) <= 0.9"
)
DEFERS = (
    "minimize deferral_rate subject to accuracy.decided >= 0.8, "
    "deferral_rate.difference(sex) <= 0.9"
)
N = 600


def report(text, classes=TWO):
    """A report, true and decided classes, and the amount of each row."""
    rng = np.random.default_rng(0)
    k = len(classes) - (DEFERRED in classes)
    y = np.minimum(rng.integers(0, 10, N) // 7, k - 1) if k == 2 else rng.integers(0, k, N)
    d = np.where(rng.random(N) < 0.8, y, rng.integers(0, len(classes), N))
    amount, sex = rng.exponential(50.0, N), rng.choice(["F", "M"], N)
    goal, columns = Goal.parse(text), {"amount": Column(amount), "sex": Column(sex)}
    rows = Rows.from_arrays(classes, y, N, needs=goal.needs, columns=columns)
    return report_on(link(goal, rows.codebook), rows.confusion(d)), y, d, amount


def test_money_is_not_a_share_and_rows_count_once():
    found, y, d, amount = report(MONEY)
    assert found.counts.n_rows == found.counts.total == found.objective.denominator == N
    assert found.objective.value == pytest.approx((d * np.where(y, amount - 5.0, -5.0)).mean())
    (share, _) = found.constraints
    assert share.numerator == pytest.approx(amount[(y == 1) & (d == 1)].sum())
    assert "Profit for 10,000 rows" in words_of(found)
    assert f"{100 * share.value:.1f} % (" in words_of(found)


def test_deferred_rows_are_a_column_of_their_own():
    found, y, d, _ = report(DEFERS, (*TWO, DEFERRED))
    counts = found.counts
    assert (counts.classes, counts.positive) == (TWO, "yes")
    assert counts.deferred == (float((d[y == 0] == 2).sum()), float((d[y == 1] == 2).sum()), 0.0)
    assert counts.labelled == counts.total == N
    assert counts.of_class(1) == y.sum()
    assert [*people(found)][-1] == "deferred"
    assert sum(p.rows for p in people(found).values()) == pytest.approx(10_000)
    assert "are deferred to a person; of the others" in said(found, "people")[0]
    assert "deferred" in str(found).split("Groups")[1]
    text = "minimize cost({('yes', 'no'): 'amount', ('no', 'yes'): 5, ('no', 'defer'): 1})"
    assert "deferring everybody" in str(report(text, (*TWO, DEFERRED))[0])
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.5"
    found, *_ = report(goal, ("a", "b", "c", DEFERRED))
    assert "deferred to a person; of the others" in said(found, "people")[0]
    right, wrong, left = (p.rows for p in people(found).values())
    assert right + wrong + left == pytest.approx(10_000)


@over(("text", "classes"), [(MONEY, TWO), (DEFERS, (*TWO, DEFERRED))])
def test_every_face_reads_them_and_json_brings_them_back(text, classes):
    found, *_ = report(text, classes)
    again = GoalReport.from_dict(found.to_dict())
    assert (str(again), again.counts) == (str(found), found.counts)
    assert found._repr_html_()
    assert ("deferred" in checked(page_text(found))) == (text == DEFERS)
