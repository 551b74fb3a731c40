"""What is said of rows that are not as they were in the fit."""

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError
from table_models.test_fitting import FRAME, NEW
from tables.fits import fit_table


@pytest.fixture(scope="module")
def model():
    goal = "maximize recall subject to precision >= 0.6"
    return fit_table(FRAME, goal, target="y", drop=("customer", "day"))


def notes_of(said):
    return [note for note in said() if note.startswith("the table: ")]


def test_rows_as_before_need_no_word(model, said):
    model.predict(NEW)
    assert notes_of(said) == []


def test_what_is_odd_comes_in_one_line(model, said):
    odd = NEW.assign(a=NEW["a"].abs() * 100, city="Rome")
    model.predict(odd)
    (line,) = notes_of(said)
    assert "'yes' for " in line
    assert "where the rule was chosen" in line
    assert "city: 100 % values never seen" in line
    assert "a: 9" in line
    assert " beyond " in line


def test_a_class_that_became_rare(model, said):
    rare = pd.concat([NEW[NEW["y"] == "no"], NEW[NEW["y"] == "yes"][:10]])
    judged = model.evaluate(rare)
    share = 100 * 10 / len(rare)
    (line,) = [note for note in said() if "what held there need not hold here" in note]
    assert f"class 'yes' is {share:.3g} % of these rows" in line
    assert line in judged.warnings
    model.evaluate(NEW)
    assert not [n for n in said() if "need not hold here" in n]


def test_a_column_that_is_empty_now_is_odd(model, said):
    model.predict(NEW.assign(a=np.nan))
    (line,) = notes_of(said)
    assert "a: no value in any row" in line


# ---------------------------------------------------------------------- the rule found anew
def test_adapt_keeps_a_bound_on_what_is_predicted(said):
    goal = "maximize recall subject to predicted_rate <= 0.2"
    fitted = fit_table(FRAME, goal, target="y", drop=("customer", "day"))
    shifted = NEW.assign(a=NEW["a"] + 1)
    before = fitted.predict(shifted)
    assert (before["prediction"] == "yes").mean() > 0.3
    adapted = fitted.predict(shifted, adapt=True)
    share = (adapted["prediction"] == "yes").mean()
    assert 0.18 <= share <= 0.2
    assert any("found anew" in note for note in said())


def test_adapt_needs_a_rule_and_no_labels(model):
    with pytest.raises(ValueError, match="precision needs labels"):
        model.predict(NEW, adapt=True)
    trained = fit_table(FRAME, "f1", target="y", solver="profiled", drop=("customer", "day"))
    with pytest.raises(InputError, match="`adapt` finds the rule of a model anew"):
        trained.predict(NEW, adapt=True)
