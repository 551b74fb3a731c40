"""Tables with amounts: goals that count rows by them, and rules that leave rows to a person."""

import numpy as np
import pandas as pd
import pytest

from setpoint import Goal, InputError, compare
from setpoint.errors import GoalError
from setpoint.tables import Table, TableError
from setpoint.tables.roles import values_of
from tables.fits import fit_table

PROFIT = "maximize profit(tp=amount - 5, fp=-5) subject to predicted_rate <= 0.1"
DEFER = "minimize deferral_rate subject to accuracy.decided >= 0.9"


def made(n, seed):
    """The larger the amount, the more a fraud is worth; `x` knows something of `y`."""
    r = np.random.default_rng(seed)
    sex, x = r.choice(["f", "m"], n), r.normal(size=n).round(4)
    p = 1.0 / (1.0 + np.exp(1.5 - 1.4 * x - 0.5 * (sex == "m")))
    amount = np.exp(r.normal(4.0, 1.0, n)).round(2)
    y = np.where(r.random(n) < p, "yes", "no")
    return pd.DataFrame({"sex": sex, "x": x, "amount": amount, "y": y})


FRAME, NEW = made(900, 0), made(300, 1)


@pytest.fixture(scope="module")
def paid():
    return fit_table(FRAME, PROFIT, target="y")


@pytest.fixture(scope="module")
def deferring():
    return fit_table(FRAME, DEFER, target="y")


def test_the_model_and_the_rule_look_at_the_amount(paid, said):
    assert paid.classifier.rule_.value_columns == ("amount",)
    assert [c.name for c in paid.columns] == ["sex", "x", "amount"]
    found = paid.predict(NEW)
    kept = (found["prediction"] == "yes").to_numpy()
    assert NEW["amount"][kept].mean() > NEW["amount"][~kept].mean()
    assert not [note for note in said() if "deferred" in note]


def test_the_amount_can_be_kept_from_the_model_or_from_the_rule():
    hidden = fit_table(FRAME, PROFIT, target="y", sensitive=["amount"])
    assert hidden.classifier.rule_.value_columns == ("amount",)
    assert hidden.classifier.estimator_[0].get_feature_names_out().tolist()
    assert "amount" not in str(hidden.classifier.estimator_[0].get_feature_names_out())
    blind = fit_table(FRAME, PROFIT, target="y", decide_on="none")
    assert blind.classifier.rule_.value_columns == ()
    assert blind.predict(NEW.assign(amount=1.0))["score"].between(0, 1).all()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("12 €", "column 'amount', row 3: '12 €' is not a number, and the goal counts rows by it"),
        (None, "1 row has no value in column 'amount', which the goal counts rows by, in row 3"),
        (-4.0, "column 'amount', row 3: -4 is below 0, and the goal weighs rows by it"),
        (np.inf, "row 3: column 'amount' holds an infinite number"),
    ],
)
def test_an_amount_that_is_none_is_refused_with_its_place(value, words):
    frame = FRAME.astype({"amount": object})
    frame.loc[2, "amount"] = value
    if not isinstance(value, str):
        frame = frame.astype({"amount": float})
    else:
        frame = frame.astype({"amount": str})
    with pytest.raises(TableError, match="amount") as caught:
        fit_table(frame, "maximize recall.weighted(amount)", target="y")
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("goal", "more", "words"),
    [
        (
            "maximize recall.weighted(amont)",
            {},
            "'amont', and the table has none .did you mean 'am",
        ),
        ("maximize recall.weighted(y)", {}, "the goal counts rows by 'y', and that is the target"),
        (PROFIT, {"drop": ["amount"]}, "`drop`: the goal counts rows by 'amount'; name it with"),
        (DEFER, {"parameters": {"defer_label": "no"}}, "it is a class of y"),
        ("f1", {"parameters": {"defer_label": "ask"}}, "by the goal no rule defers any"),
    ],
)
def test_what_does_not_fit_is_refused(goal, more, words):
    with pytest.raises(InputError, match=words):
        fit_table(FRAME, goal, target="y", **more)


@pytest.mark.parametrize("goal", [PROFIT, DEFER])
@pytest.mark.parametrize("solver", ["portfolio", "augmented-lagrangian", "surrogate-weights"])
def test_models_are_trained_on_rows_that_count_once(goal, solver):
    with pytest.raises(GoalError, match="setpoint fit takes such goals"):
        fit_table("nowhere.csv", goal, target="y", solver=solver)


def test_a_column_that_the_rule_needs_is_named(paid):
    with pytest.raises(TableError, match=r"no column 'amount' .*add it, or fit again with `dec"):
        paid.predict(NEW.drop(columns="amount"))
    gap = NEW.copy()
    gap.loc[[4, 7], "amount"] = np.nan
    with pytest.raises(TableError, match="2 rows have no value in column 'amount', which the rule"):
        paid.predict(gap)


def test_deferred_rows_are_noted(deferring, said):
    found = deferring.predict(NEW)
    n = int((found["prediction"] == "defer").sum())
    assert 0 < n < 300
    assert f"the table: {n} of 300 rows are deferred to a person" in said()


def test_numbers_stand_as_text_beside_deferred_rows():
    numbers = FRAME.assign(y=(FRAME["y"] == "yes").astype(int))
    fitted = fit_table(numbers, DEFER, target="y", parameters={"defer_label": "ask"})
    found = fitted.predict(NEW)
    assert set(found["prediction"]) == {"0", "1", "ask"}


def test_goals_that_differ_from_the_rule_in_deferring(paid, deferring):
    found = paid.evaluate(NEW, goal=DEFER)
    assert found.objective.value == 0.0
    counted = deferring.evaluate(NEW, goal="maximize recall subject to deferral_rate <= 1")
    assert counted.constraints[0].value > 0.0
    worth = "maximize profit(tp=amount - 5, fp=-5, defer=-2)"
    assert deferring.evaluate(NEW, goal=worth).objective.value is not None
    with pytest.raises(GoalError, match="the rule defers rows, and 'maximize recall' does not say"):
        deferring.evaluate(NEW, goal="maximize recall")


def test_models_that_defer_are_not_compared(paid, deferring):
    with pytest.raises(InputError, match="'B' defers rows to a person"):
        compare(None, {"A": paid, "B": deferring}, NEW)
    assert compare(None, {"A": paid, "B": paid}, NEW).pairs["B"].changes.changed == 0.0


def test_a_frontier_is_of_rules_that_look_at_the_amount(paid):
    found = paid.frontier(NEW, values=[0.05, 0.1])
    assert found.thresholds is None
    assert found.values[0] < found.values[1]


def test_a_line_is_for_one_score(paid, deferring):
    for model, why in ((paid, "looks at amount, too"), (deferring, "defers rows between")):
        with pytest.raises(GoalError, match=why):
            model.moved(NEW, line=0.5)


def test_values_of_a_data_set():
    goal = Goal.parse('maximize recall subject to recall.on("new").weighted(amount) >= 0.5')
    table = Table("new.csv", NEW)
    assert values_of(table, goal) == ()
    assert [c.name for c in values_of(table, goal, "new")] == ["amount"]
