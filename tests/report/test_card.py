"""Model cards: every heading, numbers of the report, and text that stays text."""

from dataclasses import replace

import pytest
from sklearn.linear_model import LogisticRegression

from report.pages import sample
from setpoint import InputError, PlugInClassifier
from setpoint.report import Entry, GoalReport, RuleFacts, card_text

pytestmark = pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")

HEADINGS = ("Intended use", "What was measured", "The fit", "Versions and digests")


def test_a_card_has_all_headings_and_what_the_report_knows():
    s, y, g = sample(1000)
    goal = "maximize recall subject to recall.difference(g) <= 0.3, predicted_rate <= 0.5"
    model = PlugInClassifier(LogisticRegression(C=3), goal, cv=2)
    report = model.fit(s[:, None], y, sensitive_features={"g": g}).goal_report_
    held_out = model.evaluate(s[:500, None], y[:500], sensitive_features={"g": g[:500]})
    for text in (card_text(report, held_out=held_out), card_text(report, name="Returns")):
        assert all(f"\n## {heading}\n" in text for heading in HEADINGS)
        assert report.rule.text in text
        assert report.goal in text
        assert report.run.digests["model"] in text
    assert "\n# Returns\n" in text
    other = model.evaluate(s[:, None], y, goal="f1")
    with pytest.raises(InputError, match="`held_out` refers to the goal 'maximize f1'"):
        card_text(report, held_out=other)


def test_text_of_users_stays_text():
    report = GoalReport("maximize recall", Entry("recall", 0.5), rule=RuleFacts("a ``` b"))
    report = replace(report, warnings=("<script>alert(1)</script> | a [b](c)",))
    text = card_text(report, name="<b>")
    assert r"# \<b\>" in text
    assert "````text\na ``` b\n````" in text
