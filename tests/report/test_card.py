"""Model cards: every heading, numbers of the report, and text that stays text."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier
from setpoint.errors import InputError
from setpoint.report import Entry, GoalReport, RuleFacts, card_text
from setpoint.report.document import HEADINGS

N = 2000
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 2))
SEX = np.where(RNG.random(N) < 0.5, "F", "M")
Y = np.where(X[:, 0] + RNG.normal(size=N) > 0, "yes", "no")
GOAL = "maximize recall subject to recall.difference(sex) <= 0.3, predicted_rate <= 0.5"


@pytest.fixture(scope="module")
def model():
    clf = PlugInClassifier(LogisticRegression(C=3), GOAL, pos_label="yes", cv=2)
    return clf.fit(X, Y, sensitive_features={"sex": SEX})


def test_a_card_has_all_headings_and_what_the_report_knows(model):
    held_out = model.evaluate(X[:1000], Y[:1000], sensitive_features={"sex": SEX[:1000]})
    report = model.goal_report_
    for text in (card_text(report, held_out=held_out), card_text(report, name="Returns")):
        assert all(f"\n## {heading}\n" in text for heading in HEADINGS)
        assert report.rule.text in text
        assert report.goal in text
        assert report.run.digests["model"] in text
    assert "\n# Returns\n" in text
    other = model.evaluate(X, Y, goal="f1")
    with pytest.raises(InputError, match="`held_out` refers to the goal 'maximize f1'"):
        card_text(report, held_out=other)


def test_text_of_users_stays_text():
    report = GoalReport("maximize recall", Entry("recall", 0.5), rule=RuleFacts("a ``` b"))
    report = replace(report, warnings=("<script>alert(1)</script> | a [b](c)",))
    text = card_text(report, name="<b>")
    assert r"# \<b\>" in text
    assert "````text\na ``` b\n````" in text
