"""What is said of rows that are not as they were in the fit."""

import numpy as np
import pandas as pd
import pytest

from setpoint import InputError
from table_models.samples import DATED, LATER, fit_table


def notes_of(said):
    return [note for note in said() if note.startswith("the table: ")]


def test_what_is_odd_comes_in_one_line(precise, said):
    precise.predict(LATER)
    assert notes_of(said) == []
    odd = LATER.assign(a=LATER["a"].abs() * 100, city="Rome")
    precise.predict(odd)
    (line,) = notes_of(said)
    assert "'yes' for " in line
    assert "where the rule was chosen" in line
    assert "city: 100 % values never seen" in line
    assert "a: 9" in line
    assert " beyond " in line
    precise.predict(LATER.assign(a=np.nan))
    (line,) = notes_of(said)
    assert "a: no value in any row" in line


def test_a_class_that_became_rare(precise, said):
    rare = pd.concat([LATER[LATER["y"] == "no"], LATER[LATER["y"] == "yes"][:10]])
    judged = precise.evaluate(rare)
    share = 100 * 10 / len(rare)
    (line,) = [note for note in said() if "what held there need not hold here" in note]
    assert f"class 'yes' is {share:.3g} % of these rows" in line
    assert line in judged.warnings
    precise.evaluate(LATER)
    assert not [n for n in said() if "need not hold here" in n]


# ---------------------------------------------------------------------- the rule found anew
def test_adapt_keeps_a_bound_on_what_is_predicted(said):
    goal = "maximize recall subject to predicted_rate <= 0.2"
    fitted = fit_table(DATED, goal, drop=("customer", "day"))
    shifted = LATER.assign(a=LATER["a"] + 1)
    before = fitted.predict(shifted)
    assert (before["prediction"] == "yes").mean() > 0.3
    adapted = fitted.predict(shifted, adapt=True)
    share = (adapted["prediction"] == "yes").mean()
    assert 0.18 <= share <= 0.2
    assert any("found anew" in note for note in said())
    few = fitted.predict(shifted, at_most=5, adapt=True)
    assert (few["prediction"] == "yes").sum() == 5


def test_adapt_needs_a_rule_and_no_labels(precise):
    with pytest.raises(ValueError, match="precision needs labels"):
        precise.predict(LATER, adapt=True)
    trained = fit_table(DATED, "f1", solver="profiled", drop=("customer", "day"))
    with pytest.raises(InputError, match="`adapt` finds the rule of a model anew"):
        trained.predict(LATER, adapt=True)
