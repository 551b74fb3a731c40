"""Tables with amounts: goals that count rows by them, and rules that leave rows to a person."""

import numpy as np
import pytest

from setpoint import InputError
from setpoint.errors import GoalError
from setpoint.tables import TableError
from table_models.samples import DEFER, PAYING, PAYING_LATER, PROFIT, fit_table
from thinning import over


@pytest.fixture(scope="module")
def paid():
    return fit_table(PAYING, PROFIT)


@pytest.fixture(scope="module")
def deferring():
    return fit_table(PAYING, DEFER)


def test_the_model_and_the_rule_look_at_the_amount(paid, said):
    assert paid.classifier.rule_.value_columns == ("amount",)
    assert [c.name for c in paid.columns] == ["sex", "x", "amount"]
    found = paid.predict(PAYING_LATER)
    kept = (found["prediction"] == "yes").to_numpy()
    assert PAYING_LATER["amount"][kept].mean() > PAYING_LATER["amount"][~kept].mean()
    assert not [note for note in said() if "deferred" in note]


def test_the_amount_can_be_kept_from_the_model_or_from_the_rule():
    hidden = fit_table(PAYING, PROFIT, sensitive=["amount"])
    assert hidden.classifier.rule_.value_columns == ("amount",)
    assert hidden.classifier.estimator_[0].get_feature_names_out().tolist()
    assert "amount" not in str(hidden.classifier.estimator_[0].get_feature_names_out())
    blind = fit_table(PAYING, PROFIT, decide_on="none")
    assert blind.classifier.rule_.value_columns == ()
    assert blind.predict(PAYING_LATER.assign(amount=1.0))["score"].between(0, 1).all()


@over(
    "value, words",
    [
        ("12 €", "column 'amount', row 3: '12 €' is not a number, and the goal counts rows by it"),
        (None, "1 row has no value in column 'amount', which the goal counts rows by, in row 3"),
        (-4.0, "column 'amount', row 3: -4 is below 0, and the goal weighs rows by it"),
        (np.inf, "row 3: column 'amount' holds an infinite number"),
    ],
)
def test_an_amount_that_is_none_is_refused_with_its_place(value, words):
    frame = PAYING.astype({"amount": object})
    frame.loc[2, "amount"] = value
    frame = frame.astype({"amount": str if isinstance(value, str) else float})
    with pytest.raises(TableError, match="amount") as caught:
        fit_table(frame, "maximize recall.weighted(amount)")
    assert words in str(caught.value)


@over(
    "goal, more, words",
    [
        ("maximize recall.weighted(amont)", {}, "'amont', and the table has none .did you mean"),
        ("maximize recall.weighted(y)", {}, "the goal counts rows by 'y', and that is the target"),
        (PROFIT, {"drop": ["amount"]}, "`drop`: the goal counts rows by 'amount'; name it with"),
        (DEFER, {"parameters": {"defer_label": "no"}}, "it is a class of y"),
        ("f1", {"parameters": {"defer_label": "ask"}}, "by the goal no rule defers any"),
        (DEFER, {"solver": "portfolio"}, "setpoint fit takes such goals"),
        (PROFIT, {"solver": "augmented-lagrangian"}, "setpoint fit takes such goals"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(goal, more, words):
    with pytest.raises((InputError, GoalError), match=words):
        fit_table(PAYING, goal, **more)


def test_a_column_that_the_rule_needs_is_named(paid):
    with pytest.raises(TableError, match=r"no column 'amount' .*add it, or fit again with `dec"):
        paid.predict(PAYING_LATER.drop(columns="amount"))
    gap = PAYING_LATER.copy()
    gap.loc[[4, 7], "amount"] = np.nan
    with pytest.raises(TableError, match="2 rows have no value in column 'amount', which the rule"):
        paid.predict(gap)


def test_deferred_rows_are_noted(deferring, said):
    found = deferring.predict(PAYING_LATER)
    n = int((found["prediction"] == "defer").sum())
    assert 0 < n < 300
    assert f"the table: {n} of 300 rows are deferred to a person" in said()


def test_numbers_stand_as_text_beside_deferred_rows():
    numbers = PAYING.assign(y=(PAYING["y"] == "yes").astype(int))
    fitted = fit_table(numbers, DEFER, parameters={"defer_label": "ask"})
    found = fitted.predict(PAYING_LATER)
    assert set(found["prediction"]) == {"0", "1", "ask"}


def test_goals_that_differ_from_the_rule_in_deferring(paid, deferring):
    found = paid.evaluate(PAYING_LATER, goal=DEFER)
    assert found.objective.value == 0.0
    counted = deferring.evaluate(PAYING_LATER, goal="maximize recall subject to deferral_rate <= 1")
    assert counted.constraints[0].value > 0.0
    worth = "maximize profit(tp=amount - 5, fp=-5, defer=-2)"
    assert deferring.evaluate(PAYING_LATER, goal=worth).objective.value is not None
    with pytest.raises(GoalError, match="the rule defers rows, and 'maximize recall' does not say"):
        deferring.evaluate(PAYING_LATER, goal="maximize recall")


def test_a_line_is_for_one_score(paid, deferring):
    for model, why in ((paid, "looks at amount, too"), (deferring, "defers rows between")):
        with pytest.raises(GoalError, match=why):
            model.moved(PAYING_LATER, line=0.5)


def test_amounts_of_a_data_set(paid):
    goal = 'maximize recall subject to recall.on("new").weighted(amount) >= 0.1'
    data = {"new": PAYING_LATER}
    report = paid.evaluate(PAYING, goal=goal, datasets=data)
    amount, true = PAYING_LATER["amount"], PAYING_LATER["y"] == "yes"
    accepted = paid.predict(PAYING_LATER)["prediction"] == "yes"
    reached = amount[true & accepted].sum() / amount[true].sum()
    assert report.constraints[0].value == pytest.approx(reached)
    with pytest.raises(TableError, match="'amount'"):
        paid.evaluate(PAYING, goal=goal, datasets={"new": PAYING_LATER.drop(columns="amount")})
