"""Model cards: every heading, numbers of the report, and text that stays text."""

import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import PlugInClassifier
from setpoint.errors import InputError, InputTypeError
from setpoint.report import GoalReport, RuleFacts
from setpoint.report.card import HEADINGS, card_text
from setpoint.report.entry import Entry

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


def parts(text):
    """The head, the title, and the text under each heading."""
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    title, *rest = re.split(r"^## ", body, flags=re.MULTILINE)
    return head, title, dict(part.split("\n", 1) for part in rest)


def test_a_card_has_all_headings_and_what_the_report_knows(model, tmp_path):
    held_out = model.evaluate(X[:1000], Y[:1000], sensitive_features={"sex": SEX[:1000]})
    model.model_card(
        tmp_path / "README.md",
        name="Returns",
        held_out=held_out,
        about={"Ethical considerations": "Appeals go to *the desk*."},
    )
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    head, title, found = parts(text)
    assert "library_name: setpoint" in head
    assert "- recall" in head
    assert title.strip() == "# Returns"
    assert tuple(found) == HEADINGS
    assert all(part.strip() for part in found.values())
    assert model.goal_report_.rule.text in found["Model details"]
    assert "`estimator__C = 3`" in found["Model details"]
    assert model.goal_report_.audit.digests["model"] in found["Model details"]
    assert model.goal_report_.goal in found["Intended use"]
    assert "Measured in groups of sex." in found["Factors"]
    assert held_out.audit.digests["X"] in found["Evaluation data"]
    assert "took no part in choosing the rule" in found["Evaluation data"]
    assert model.goal_report_.audit.digests["X"] in found["Training data"]
    assert "| sex = F |" in found["Quantitative analyses"]
    assert "Appeals go to *the desk*." in found["Ethical considerations"]
    assert "\n\n\n" not in text
    tables = re.findall(r"(?:^\|.*\|$\n)+", text, re.MULTILINE)
    for table in tables:  # as many cells in every row, and a blank line before
        rows = table.strip().split("\n")
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1
        assert f"\n\n{rows[0]}" in text


def test_the_head_is_yaml(model, tmp_path):
    yaml = pytest.importorskip("yaml")
    model.model_card(tmp_path / "c.md")
    head, title, _ = parts((tmp_path / "c.md").read_text())
    found = yaml.safe_load(head)
    assert found["setpoint_goal"] == model.goal_report_.goal
    assert found["metrics"] == ["recall"]
    assert title.strip() == "# PlugInClassifier"


def test_text_of_users_stays_text():
    report = GoalReport("maximize recall", Entry("recall", 0.5), rule=RuleFacts("a ``` b"))
    report = replace(report, warnings=("<script>alert(1)</script> | a [b](c)",))
    text = card_text(report, name="<b>")
    assert "<script>" not in text.replace("\\<", "")
    assert r"# \<b\>" in text
    assert "````text\na ``` b\n````" in text


def test_bad_input_is_refused_before_a_file_is_written(model, tmp_path):
    path = tmp_path / "card.md"
    with pytest.raises(InputError, match="`about`: a card has no heading 'Ethics'"):
        model.model_card(path, about={"Ethics": "x"})
    with pytest.raises(InputTypeError, match="`about` is a dict from headings to text, got a str"):
        model.model_card(path, about="x")
    with pytest.raises(InputTypeError, match="`about`: 'Factors' is text, got a int"):
        model.model_card(path, about={"Factors": 3})
    other = model.evaluate(X, Y, goal="f1")
    with pytest.raises(InputError, match="`held_out` refers to the goal 'maximize f1'"):
        model.model_card(path, held_out=other)
    with pytest.raises(OSError, match="no/folder"):
        model.model_card(tmp_path / "no/folder/card.md")
    assert not path.exists()
