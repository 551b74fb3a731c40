"""``explain``: one decision in numbers and in words, by classifiers of all kinds."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import OnlineFClassifier, PlugInClassifier
from setpoint.classifiers import ExplainedRow, Explanation
from setpoint.errors import GoalError, InputTypeError
from setpoint.rules import Band, Mixture, PerSegment, Threshold

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
SEX = np.where(RNG.random(400) < 0.5, "F", "M")
Y = np.where(X[:, 0] + RNG.normal(size=400) > 0.3, "yes", "no")
CLASSES = np.array(["a", "b", "c"])[
    np.clip((X[:, 0] + 0.5 * RNG.normal(size=400) + 1), 0, 2).astype(int)
]


def fitted(goal="f1", y=Y, **more):
    sensitive = more.pop("sensitive_features", None)
    model = PlugInClassifier(LogisticRegression(), goal, cv=2, **more)
    return model.fit(X, y, sensitive_features=sensitive)


@pytest.fixture(scope="module")
def plain():
    return fitted(pos_label="yes")


def with_rule(model, rule, **changes):
    from copy import copy
    from dataclasses import replace

    out = copy(model)
    out.rule_ = rule
    facts = replace(model.goal_report_.rule, **changes)
    out.goal_report_ = replace(model.goal_report_, rule=facts)
    return out


def test_the_decisions_are_those_of_predict_and_the_frame_holds_them(plain):
    found = plain.explain(X)
    frame = found.to_frame()
    assert len(found) == len(frame) == 400
    assert (frame["decision"].to_numpy() == plain.predict(X)).all()
    cut = plain.rule_.threshold
    assert (frame["cut_off"] == cut).all()
    np.testing.assert_array_equal(frame["change"], cut - frame["score"])
    assert frame["score"].tolist() == plain.predict_proba(X)[:, 1].tolist()
    json.dumps(found[:3].to_dicts(), allow_nan=False)


def test_in_words(plain):
    model = with_rule(
        plain,
        PerSegment([Threshold(0.25), Threshold(np.inf)], [(("sex", "F"),), (("sex", "M"),)]),
        decides_on=("sex",),
    )
    model._scores = lambda X: np.array([0.412, 0.25, 0.125, 0.9])[: len(X)]
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


def test_a_row_between_two_cut_offs_is_deferred(plain):
    model = fitted("maximize accuracy.decided subject to deferral_rate <= 0.2", pos_label="yes")
    model = with_rule(model, Band(0.25, 0.75))
    model._scores = lambda X: np.array([0.5, 0.7, 0.8])
    found = model.explain(X[:3])
    assert str(found[1]) == (
        "Row 1: deferred. Its score 0.7 lies between 0.25 and 0.75, the cut-offs."
    )
    assert str(found[2]).endswith("Its score 0.8 is at least 0.75, the cut-off, by 0.05.")
    assert [row.decision for row in found] == ["defer", "defer", "yes"]


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
    model = fitted("macro_f1", CLASSES)
    found = model.explain(X[:40])
    p = model.predict_proba(X[:40])
    labels = model.classes_.tolist()
    assert [row.decision for row in found] == model.predict(X[:40]).tolist()
    for i, row in enumerate(found):
        assert row.score_of == row.decision
        assert row.score == p[i, labels.index(row.score_of)]
        assert row.cut_off is None
    assert str(found[0]).endswith(f"Its score of {found[0].score_of} is {found[0].score:.4g}.")


def test_amounts_are_said_beside_the_probability():
    amount = np.round(RNG.random(400) * 100 + 1)
    goal = "maximize profit(tp = amount - 5, fp = -5)"
    model = fitted(goal, pos_label="yes", decide_on="amount", sensitive_features={"amount": amount})
    assert model.rule_.value_columns == ("amount",)
    found = model.explain(X[:30], sensitive_features={"amount": amount[:30]})
    assert [row.values["amount"] for row in found] == amount[:30].tolist()
    assert str(found[0]).startswith("Row 0: predicted ")
    assert f"Its probability is {found[0].score:.4g} for amount = {amount[0]:g}." in str(found[0])


def test_a_stream_explains_too():
    stream = OnlineFClassifier("f1", classes=["no", "yes"], pos_label="yes").fit(X, Y)
    found = stream.explain(X[:5])
    assert [row.decision for row in found] == stream.predict(X[:5]).tolist()
    assert found.covers == "Nothing is certified of the rule."


def test_what_is_certified_is_said_of_all_rows_together():
    model = fitted(
        "maximize recall subject to precision >= 0.5", pos_label="yes", confidence=0.8,
        random_state=0,
    )  # fmt: skip
    covers = model.explain(X[:1]).covers
    assert covers.startswith("Certified at 80 % confidence: precision is at least 50 %")
    assert covers.endswith("this is said of all rows together, not of a single one.")
    changed = with_rule(model, Threshold(0.01))
    with pytest.warns(UserWarning, match="nothing is promised of it"):
        assert "nothing is promised" in changed.explain(X[:1]).covers


def test_notebooks_get_a_table_and_long_ones_an_end(plain):
    found = plain.explain(X)
    html = found._repr_html_()
    assert html.count("<tr>") == 21
    assert "380 more rows are in to_frame()" in html
    assert "380 more rows" in str(found)
    row = ExplainedRow(0, "<b>", 1.0, 0.5, 0.25, -0.25)
    assert "<b>" not in Explanation((row,), "<i>")._repr_html_()
    assert "<i>" not in Explanation((row,), "<i>")._repr_html_()


def test_rows_out_of_memory_are_refused(plain):
    class Lazy:
        def compute(self):
            raise AssertionError

    with pytest.raises(InputTypeError, match="`X`: rows are explained in memory"):
        plain.explain(Lazy())
    assert len(plain.explain(pd.DataFrame(X[:2], columns=list("abc")).to_numpy())) == 2
