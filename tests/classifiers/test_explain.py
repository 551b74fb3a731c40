"""``explain``: one decision in numbers and in words, by classifiers of all kinds."""

import json
from copy import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import OnlineFClassifier, PlugInClassifier
from setpoint.classifiers import ExplainedRow, Explanation
from setpoint.errors import GoalError, InputTypeError
from setpoint.rules import Band, Mixture, PerSegment, Threshold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = np.where(X[:, 0] + RNG.normal(size=400) > 0.3, "yes", "no")


def fitted(goal="f1", y=Y, columns=None, **more):
    model = PlugInClassifier(LogisticRegression(), goal, cv=2, **{"pos_label": "yes", **more})
    return model.fit(X, y, sensitive_features=columns)


@pytest.fixture(scope="module")
def plain():
    return fitted()


def with_rule(model, rule, scores=None, **changes):
    """A model with another rule, and with scores that are known."""
    out = copy(model)
    out.rule_ = rule
    facts = replace(model.goal_report_.rule, **changes)
    out.goal_report_ = replace(model.goal_report_, rule=facts)
    if scores is not None:
        out._scores = lambda X: np.array(scores)[: len(X)]
    return out


def test_the_decisions_are_those_of_predict_and_the_frame_holds_them(plain):
    found = plain.explain(X)
    frame, cut = found.to_frame(), plain.rule_.threshold
    assert len(found) == len(frame) == 400
    assert (frame["decision"].to_numpy() == plain.predict(X)).all()
    assert (frame["cut_off"] == cut).all()
    np.testing.assert_array_equal(frame["change"], cut - frame["score"])
    assert frame["score"].tolist() == plain.predict_proba(X)[:, 1].tolist()
    json.dumps(found[:3].to_dicts(), allow_nan=False)
    html = found._repr_html_()
    assert html.count("<tr>") == 21
    for shown in (html, str(found)):
        assert "380 more rows" in shown
    with pytest.raises(InputTypeError, match="`X`: rows are explained in memory"):
        plain.explain(SimpleNamespace(compute=None))
    escaped = Explanation((ExplainedRow(0, "<b>", 1.0, 0.5, 0.25, -0.25),), "<i>")._repr_html_()
    assert "<b>" not in escaped
    assert "<i>" not in escaped


def test_in_words(plain):
    by_sex = PerSegment([Threshold(0.25), Threshold(np.inf)], [(("sex", "F"),), (("sex", "M"),)])
    model = with_rule(plain, by_sex, [0.412, 0.25, 0.125, 0.9], decides_on=("sex",))
    found = model.explain(X[:4], sensitive_features={"sex": ["F", "F", "F", "M"]})
    assert [str(row) for row in found] == [
        "Row 0: predicted yes. Its score 0.412 is at least 0.25, the cut-off for sex = F, "
        "by 0.162.",
        "Row 1: predicted yes. Its score 0.25 is the cut-off 0.25 itself for sex = F.",
        "Row 2: predicted no. Its score 0.125 is below 0.25, the cut-off for sex = F, by 0.125.",
        "Row 3: predicted no. Its score is 0.9 for sex = M.",
    ]
    assert (found[3].cut_off, found[3].change) == (None, None)
    with pytest.raises(GoalError, match="pass `sensitive_features`"):
        model.explain(X[:4])


def test_a_row_between_two_cut_offs_is_deferred():
    model = fitted("maximize accuracy.decided subject to deferral_rate <= 0.2")
    found = with_rule(model, Band(0.25, 0.75), [0.5, 0.7, 0.8]).explain(X[:3])
    assert [row.decision for row in found] == ["defer", "defer", "yes"]
    between = "Row 1: deferred. Its score 0.7 lies between 0.25 and 0.75, the cut-offs."
    assert str(found[1]) == between
    assert str(found[2]).endswith("Its score 0.8 is at least 0.75, the cut-off, by 0.05.")


def test_draws_are_kept_and_said(plain):
    model = with_rule(plain, Mixture([(0.75, Threshold(0.6)), (0.25, Threshold(0.4))]))
    found = model.explain(X)
    assert [row.decision for row in found] == model.predict(X).tolist()
    drawn = [row for row in found if row.by_draw]
    assert drawn
    for row in drawn:
        assert 0.4 <= row.score < 0.6
        assert row.probability == (0.25 if row.decision == "yes" else 0.75)
        assert row.cut_off == (0.4 if row.decision == "yes" else 0.6)
    assert "by a draw, as 25.0 % of rows with its score are" in " ".join(map(str, drawn))


def test_of_many_classes_the_probability_of_the_decided_one_is_said():
    three = np.array(["a", "b", "c"])[np.clip(X[:, 0] + X[:, 1] + 1, 0, 2).astype(int)]
    model = fitted("macro_f1", three, pos_label=None)
    found, p = model.explain(X[:40]), model.predict_proba(X[:40])
    assert [row.decision for row in found] == model.predict(X[:40]).tolist()
    for row, scores in zip(found, p, strict=True):
        assert row.score_of == row.decision
        assert row.score == scores[model.classes_.tolist().index(row.score_of)]
        assert row.cut_off is None
    assert str(found[0]).endswith(f"Its score of {found[0].score_of} is {found[0].score:.4g}.")


def test_amounts_are_said_beside_the_probability():
    amount = np.round(RNG.random(400) * 100 + 1)
    goal = "maximize profit(tp = amount - 5, fp = -5)"
    model = fitted(goal, columns={"amount": amount}, decide_on="amount")
    found = model.explain(X[:30], sensitive_features={"amount": amount[:30]})
    assert [row.values["amount"] for row in found] == amount[:30].tolist()
    assert str(found[0]).startswith("Row 0: predicted ")
    assert f"Its probability is {found[0].score:.4g} for amount = {amount[0]:g}." in str(found[0])


def test_what_is_certified_is_said_of_all_rows_together():
    goal = "maximize recall subject to precision >= 0.5"
    model = fitted(goal, confidence=0.8, random_state=0)
    covers = model.explain(X[:1]).covers
    assert covers.startswith("Certified at 80 % confidence: precision is at least 50 %")
    assert covers.endswith("this is said of all rows together, not of a single one.")
    with pytest.warns(UserWarning, match="nothing is promised of it"):
        assert "nothing is promised" in with_rule(model, Threshold(0.01)).explain(X[:1]).covers
    stream = OnlineFClassifier("f1", classes=["no", "yes"], pos_label="yes").fit(X, Y)
    found = stream.explain(X[:5])
    assert [row.decision for row in found] == stream.predict(X[:5]).tolist()
    assert found.covers == "Nothing is certified of the rule."
