"""Units: rows of one customer lie on one side, however they are called, in every classifier."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GroupKFold, KFold

from conformance.cases import COLUMNS, LATER, TRAINED, new
from setpoint import Confidence, Dataset, load_model, save_model
from setpoint.classifiers import folds_of, open_fit
from setpoint.counts import Units
from setpoint.errors import InputError
from thinning import over

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::setpoint.{name}")
    for name in ("ConstantGoalWarning", "FewRowsWarning", "NotMonotoneWarning")
]
NAMES = ["a", "b", "c", "d"]
SURE = "maximize recall subject to precision >= 0.6"
FOLDED = ["plug-in", "adaptive"]


def drawn(n_units, each=4, seed=0):
    """Rows of units that are nearly equal within a unit, in the order of the units."""
    rng = np.random.default_rng(seed)
    own = rng.normal(size=(n_units, 4))
    y = (own @ [1.0, 0.8, 0.4, -0.3] + 0.7 * rng.normal(size=n_units) > 0.3).astype(int)
    u = np.repeat(np.arange(n_units), each)
    return own[u] + 0.01 * rng.normal(size=(len(u), 4)), y[u], u


X, Y, U = drawn(60)
FRAME = pd.DataFrame(X, columns=NAMES).assign(who=U)


@cache
def fitted(name):
    """To be looked at only."""
    return new(name).fit(pd.DataFrame(X, columns=NAMES), Y, units=U)


def check_decides_as_fitted(model, name):
    other = fitted(name)
    assert np.array_equal(model.predict(FRAME), other.predict(FRAME[NAMES]))
    assert model.goal_report_.objective == other.goal_report_.objective


# ---------------------------------------------------------------------- how units are named
@pytest.mark.parametrize("name", TRAINED)
def test_a_column_of_units_is_not_a_feature(name):
    model = new(name).fit(FRAME, Y, units="who")
    assert model.n_features_in_ == 4
    assert model.feature_names_in_.tolist() == NAMES
    check_decides_as_fitted(model, name)
    lasting = new(name, units="who").fit(FRAME, Y)
    check_decides_as_fitted(lasting, name)
    # Rows to be decided may have the column or not; of other rows it is read.
    without = FRAME[NAMES]
    for method in ("predict", "decision_function", "decision_distribution"):
        call = getattr(lasting, method)
        np.testing.assert_array_equal(call(FRAME), call(without))
    by_name, beside = lasting.evaluate(FRAME, Y), lasting.evaluate(without, Y, units=U)
    assert by_name.objective == beside.objective
    with pytest.warns(UserWarning, match="no column 'who', the unit of the fit"):
        assert lasting.evaluate(without, Y).objective.interval != "units"
    assert by_name.objective.interval == "units"


def test_units_are_taken_in_the_order_of_x():
    beside = pd.Series(U, name="who").sample(frac=1.0, random_state=0)
    found = [open_fit(new("plug-in"), FRAME[NAMES], Y, units=units) for units in (U, beside)]
    np.testing.assert_array_equal(*(data.units.names for data in found))


def test_draws_do_not_look_at_units_and_rows_that_certify_may_lack_the_column():
    model = new("ramp", randomized=True, units="who").fit(FRAME, Y)
    assert model.rule_.randomized
    np.testing.assert_array_equal(model.predict(FRAME), model.predict(FRAME[NAMES]))
    x, y, u = drawn(60, seed=2)
    held = Dataset(pd.DataFrame(x, columns=NAMES), y, units=u + 60)
    asked = Confidence(0.5, on_uncertified="nearest")
    sure = new("plug-in", goal=SURE, units="who", confidence=asked).fit(FRAME, Y, certify_on=held)
    assert sure.goal_report_.guarantee.rows == 240


@pytest.mark.parametrize("name", TRAINED)
def test_copies_and_files_know_the_column(name, tmp_path):
    model = new(name, units="who").fit(FRAME, Y)
    assert clone(model).units == "who"
    save_model(model, tmp_path / "m.skops")
    for copy in (pickle.loads(pickle.dumps(model)), load_model(tmp_path / "m.skops")):
        check_decides_as_fitted(copy, name)
        assert copy.evaluate(FRAME, Y) == model.evaluate(FRAME, Y)


@over("form", [
    list, pl.Series, pd.Categorical, lambda u: u.astype(object), lambda u: u.astype(float),
    lambda u: u[:, None],
])  # fmt: skip
def test_kinds_of_columns_of_units(form):
    own = new("plug-in").fit(X, Y, units=U)
    other = new("plug-in").fit(X, Y, units=form(U))
    assert own.goal_report_ == other.goal_report_


def test_frames_of_polars_and_units_that_are_text():
    text = np.array([f"customer {u}" for u in U])
    one = new("plug-in").fit(FRAME[NAMES], Y, units=text)
    frame = pl.from_pandas(FRAME[NAMES]).with_columns(customer_id=pl.Series(text))
    other = new("plug-in", units="customer_id").fit(frame, Y)
    assert other.goal_report_.objective == one.goal_report_.objective
    assert np.array_equal(other.predict(frame), one.predict(FRAME[NAMES]))


@over("missing", [None, np.nan, pd.NA])
def test_a_row_without_a_unit_is_one_by_itself(missing):
    odd = U.astype(object)
    odd[:8] = missing
    single = U.copy()
    single[:8] = np.arange(1_000, 1_008)
    one, other = (new("plug-in").fit(X, Y, units=u).evaluate(X, Y, units=u) for u in (odd, single))
    assert one.objective.rows == other.objective.rows
    assert one.objective.high - one.objective.low == pytest.approx(
        other.objective.high - other.objective.low, rel=0.1
    )


# ---------------------------------------------------------------------- units stay whole
@over("cv", [None, 3, 0.3])
@over("order", ["as given", "by class", "shuffled"])
def test_folds_never_cut_a_unit_and_have_both_classes(cv, order):
    index = {
        "as given": np.arange(len(Y)), "by class": np.argsort(Y, kind="stable"),
        "shuffled": np.random.default_rng(0).permutation(len(Y)),
    }[order]  # fmt: skip
    x, y, u = X[index], Y[index], U[index]
    folds = folds_of(cv, x, y, 0, units=Units.of(u))
    assert len(folds) == {None: 5, 3: 3, 0.3: 1}[cv]
    for train, test in folds:
        assert not np.intersect1d(u[train], u[test]).size
        assert np.array_equal(np.sort(np.concatenate([train, test])), np.arange(len(y)))
        assert abs(y[test].mean() - y.mean()) < 0.15
    if cv != 0.3:
        assert np.array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(240))
    # Whichever order the rows are in, a unit lies in the same fold.
    first = folds_of(cv, X, Y, 0, units=Units.of(U))
    for (_, test), (_, other) in zip(folds, first, strict=True):
        assert np.array_equal(np.unique(u[test]), np.unique(U[other]))


@pytest.mark.parametrize("name", TRAINED)
def test_rows_that_certify_are_of_other_units(name):
    for index in (np.arange(240), np.argsort(Y, kind="stable")):
        data = open_fit(new(name, goal=SURE, confidence=0.9), X[index], Y[index], units=U[index])
        apart = np.setdiff1d(np.arange(240), data.index)
        assert 40 <= len(apart) <= 110
        u = U[index]
        assert not np.intersect1d(u[data.index], u[apart]).size
        assert set(Y[index][apart]) == {0, 1}
        assert data.certifying.judged.n_rows[None] == len(apart)


@pytest.mark.parametrize("name", TRAINED)
def test_a_promise_by_units_is_of_units(name):
    x, y, u = drawn(200, 3, seed=1)
    asked = Confidence(0.8, on_uncertified="nearest")
    model = new(name, goal=SURE, confidence=asked).fit(x, y, units=u)
    (shown,) = model.goal_report_.guarantee.constraints
    assert shown.kind == "gaffke"
    assert model.goal_report_.constraints[0].interval == "units"
    by_row = new(name, goal=SURE, confidence=asked).fit(x, y)
    assert by_row.goal_report_.guarantee.constraints[0].kind == "binomial"


# ---------------------------------------------------------------------- what is refused
@pytest.mark.parametrize("name", TRAINED)
def test_a_unit_of_the_fit_cannot_certify(name):
    model = new(name, goal=SURE, confidence=0.9)
    for units in (np.arange(59, 119), np.arange(30, 90)):
        both = len(np.intersect1d(units, U))
        held = Dataset(X, Y, units=np.repeat(units, 4))
        with pytest.raises(InputError, match=rf"`certify_on`: {both} of its units have rows in"):
            model.fit(X, Y, units=U, certify_on=held)
    with pytest.raises(InputError, match="give them for both"):
        model.fit(X, Y, units=U, certify_on=(X + 9, Y))
    with pytest.raises(InputError, match="give them for both"):
        model.fit(X, Y, certify_on=Dataset(X + 9, Y, units=U))
    assert not hasattr(model, "rule_")


@pytest.mark.filterwarnings("ignore:The groups parameter is ignored")
@pytest.mark.parametrize("name", FOLDED)
def test_a_splitter_that_cuts_units_is_refused(name):
    with pytest.raises(
        InputError, match=r"`cv`: a split has rows of \d+ of the same units on both"
    ):
        new(name, cv=KFold(3, shuffle=True, random_state=0)).fit(X, Y, units=U)
    model = new(name, cv=GroupKFold(3)).fit(X, Y, units=U)
    assert model.goal_report_.objective.interval == "units"
    halves = [(np.flatnonzero(U < 30), np.flatnonzero(U >= 30))]
    new(name, cv=halves).fit(X, Y, units=U)


@pytest.mark.parametrize("name", TRAINED)
def test_units_that_are_wrong(name):
    for units, message in ((U[:-1], "units"), ("whose", "whose"), (np.zeros((240, 2)), "units")):
        with pytest.raises((ValueError, TypeError), match=message):
            new(name).fit(FRAME, Y, units=units)


@pytest.mark.parametrize("name", COLUMNS)
def test_units_and_groups_and_further_data_sets(name):
    goal = "minimize error_rate subject to recall.on('later') >= 0.2"
    if name == "adaptive":
        goal = "maximize f1"
    model = new(name, goal=goal, units="who")
    later = pd.DataFrame(LATER.X, columns=NAMES).assign(who=np.repeat(np.arange(25), 4))
    sets = {} if name == "adaptive" else {"datasets": {"later": Dataset(later, LATER.y)}}
    model.fit(FRAME, Y, **sets)
    assert model.n_features_in_ == 4
    assert all(c.interval == "units" for c in model.goal_report_.constraints)
