"""Against the deployed model: what changes, and what the report says about it."""

from dataclasses import replace

import numpy as np
import pytest

from setpoint import evaluate
from setpoint.report import Comparison, Counts, Entry, GoalReport, compared
from setpoint.report.facts import TITLE
from setpoint.report.page import page_text

PLAIN = GoalReport("maximize recall", Entry("recall", 0.8), counts=Counts(100))


# -- counting ---------------------------------------------------------------------------
def rows(n=200, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    true, old, new = rng.integers(0, classes, (3, n))
    return true, old, new, rng.integers(0, 3, n).astype(float)


@pytest.mark.parametrize("classes", [2, 3])
def test_shares_by_hand(classes):
    true, old, new, _ = rows(classes=classes)
    found = compared(true, old, new)
    assert found.rows == 200
    assert found.changed == np.mean(old != new)
    assert found.wins == np.mean((old != true) & (new == true))
    assert found.losses == np.mean((old == true) & (new != true))
    if classes == 2:
        assert found.changed == pytest.approx(found.wins + found.losses, abs=1e-15)
    else:
        assert found.changed > found.wins + found.losses + 0.1


def test_a_weight_is_a_number_of_rows():
    true, old, new, weight = rows()
    found = compared(true, old, new, weight)
    again = np.repeat(np.arange(200), weight.astype(int))
    plain = compared(true[again], old[again], new[again])
    assert found.rows == np.count_nonzero(weight)
    assert found.changed == pytest.approx(plain.changed, abs=1e-15)
    assert found.wins == pytest.approx(plain.wins, abs=1e-15)
    assert found.losses == pytest.approx(plain.losses, abs=1e-15)
    kept = weight > 0
    assert found == compared(true[kept], old[kept], new[kept], weight[kept])


@pytest.mark.parametrize("classes", [2, 3])
def test_a_rule_that_draws_counts_in_expectation(classes):
    true, old, new, weight = rows(classes=classes)
    other = rows(classes=classes, seed=1)[2]
    kinds = np.eye(classes)
    drawn = compared(true, old, 0.25 * kinds[new] + 0.75 * kinds[other], weight)
    one, two = compared(true, old, kinds[new], weight), compared(true, old, other, weight)
    assert one == compared(true, old, new, weight)
    for name in ("changed", "wins", "losses"):
        mean = 0.25 * getattr(one, name) + 0.75 * getattr(two, name)
        assert getattr(drawn, name) == pytest.approx(mean, abs=1e-12)


def test_no_changes_and_no_labels():
    true, old, *_ = rows()
    found = compared(true, old, old)
    assert found == Comparison(200, 0.0, 0.0, 0.0)
    assert found.fresh_labels is found.fresh_rows is None
    # What a mixture's weights leave behind is not a change.
    assert compared(true, old, np.eye(3)[old] * (1 - 1e-16)) == found
    unknown = compared(None, old, (old + 1) % 3)
    assert unknown == Comparison(200, 1.0)
    assert unknown.wins is unknown.losses is unknown.fresh_labels is None


def test_what_cannot_be_compared():
    with pytest.raises(ValueError, match="weights sum to zero"):
        compared([0, 1], [0, 1], [0, 1], [0.0, 0.0])


# -- in reports -------------------------------------------------------------------------
SEVERAL = [
    Comparison(1000, 0.02, 0.015, 0.005),
    Comparison(1000, 0.0, 0.0, 0.0),
    Comparison(1, 0.3),
    Comparison(7, 0.5, 0.0, 0.5),
    Comparison(90, 0.5, 0.2, 0.1),
]


@pytest.mark.parametrize("found", SEVERAL)
def test_to_json_and_back(found):
    report = replace(PLAIN, deployed=found)
    data = report.to_dict()
    assert data["deployed"]["fresh_labels"] == found.fresh_labels
    assert data["deployed"]["fresh_rows"] == found.fresh_rows
    back = GoalReport.from_json(report.to_json())
    assert back == report
    assert back.deployed == found
    assert isinstance(back.deployed.changed, float)
    # A writer of JSON elsewhere may turn 0.0 into 0.
    data["deployed"].update({k: int(v) for k, v in data["deployed"].items() if v == 0})
    assert isinstance(GoalReport.from_dict(data).deployed.changed, float)


@pytest.mark.parametrize(
    ("found", "sentences"),
    list(
        zip(
            SEVERAL,
            [
                [
                    "2 % of the decisions on 1,000 rows change (churn): 1.5 % from wrong to right "
                    "(wins), 0.5 % from right to wrong (losses).",
                    "To show with 95 % confidence that it is more often right, label fresh rows on "
                    "which the two models differ until there are 23 of them; that takes about "
                    "1,150 rows on average. If the shares above hold for them too, the one-sided "
                    "sign test then succeeds in 80 % of cases.",
                ],
                ["No decision on 1,000 rows changes."],
                [
                    "30 % of the decisions on 1 row change (churn).",
                    "Without labels it is unknown which of the changes are right.",
                ],
                [
                    "50 % of the decisions on 7 rows change (churn): 0 % from wrong to right "
                    "(wins), 50 % from right to wrong (losses).",
                    "It is not more often right (it does not win more than it loses), so no number "
                    "of labels would show that.",
                ],
                [
                    "50 % of the decisions on 90 rows change (churn): 20 % from wrong to right "
                    "(wins), 10 % from right to wrong (losses), 20 % from one wrong class to "
                    "another.",
                    "To show with 95 % confidence that it is more often right, label fresh rows on "
                    "which the two models differ until 58 of them are wins or losses; that takes "
                    "about 97 labels and 194 rows on average. If the shares above hold for them "
                    "too, the one-sided sign test then succeeds in 80 % of cases.",
                ],
            ],
            strict=True,
        )
    ),
)
def test_text_and_page_say_it(found, sentences):
    report = replace(PLAIN, deployed=found)
    assert found.lines() == sentences
    text = " ".join(str(report).split())
    assert text.endswith(f"{TITLE} - {' - '.join(sentences)}")
    assert f"\n{TITLE}\n" in str(report)
    assert max(map(len, str(report).split("\n"))) <= 79
    listed = "".join(f"<li>{one}</li>" for one in sentences)
    assert f"<strong>{TITLE}</strong></p><ul>{listed}</ul>" in report._repr_html_()
    page = page_text(report)
    assert page.count(f"<h2>{TITLE}</h2>") == 1
    assert " ".join(f"<p>{one}</p>" for one in sentences) in " ".join(page.split())
    assert page_text(report, held_out=PLAIN).count(f"<h2>{TITLE}</h2>") == 0
    assert TITLE not in str(PLAIN)
    assert f"<h2>{TITLE}</h2>" not in page_text(PLAIN)


def test_evaluate_compares_whatever_the_goal():
    y, old, new = ["a", "b", "b", "a"], ["a", "a", "b", "a"], ["a", "b", "b", "a"]
    for goal in ("recall", "maximize recall subject to churn <= 0.5"):
        found = evaluate(goal, y, new, baseline=old, pos_label="b").deployed
        assert (found.rows, found.changed, found.wins, found.losses) == (4, 0.25, 0.25, 0.0)
        assert (found.objective, found.difference.value) == (0.5, 0.5)
        assert found.confusion == ((2.0, 0.0), (1.0, 1.0), (0.0, 0.0))
        assert found.constraints == ()  # what compares the two says nothing of one of them
    assert evaluate("recall", y, new, pos_label="b").deployed is None
    unlabelled = evaluate(
        "maximize predicted_rate", None, new, baseline=old, classes=["a", "b"], pos_label="b"
    )
    assert unlabelled.deployed == Comparison(4, 0.25)
    weighted = evaluate(
        "recall", y, new, baseline=old, sample_weight=[1, 2, 0, 1], pos_label="b"
    ).deployed
    shares = (weighted.rows, weighted.changed, weighted.wins, weighted.losses)
    assert shares == (3, 0.5, 0.5, 0.0)
    assert (weighted.objective, weighted.difference.value) == (0.0, 1.0)
    assert weighted.confusion == ((2.0, 0.0), (2.0, 0.0), (0.0, 0.0))
