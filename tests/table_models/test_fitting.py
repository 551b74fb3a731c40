"""Tables in, models out: what a fit is given, holds out, stores and shows."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from setpoint import InputError, SetpointError, compare, load_model, rows_needed, save_model
from setpoint.tables import TableError, TableFile, TableModel
from table_models.samples import DATED, FAIR, LATER, fit_table
from thinning import over

# ---------------------------------------------------------------------- what a fit is given
GOAL = "maximize recall subject to precision >= 0.6"


@pytest.fixture(scope="module")
def fitted():
    return fit_table(DATED, GOAL, drop=("customer",))


def test_a_fit_is_a_value_that_knows_its_rows(fitted):
    assert fitted.held_out is fitted.judged
    assert fitted.fitted_rows + fitted.n_held_out == len(DATED)
    assert fitted.choice.model == "logistic"
    assert [title for title, _ in fitted.about] == ["The data", "The model"]
    assert fitted.profile["city"] == ["Bonn", "Kiel", "Ulm"]


def test_files_frames_and_other_frames_are_the_same(fitted, tmp_path):
    DATED.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    shuffled = DATED.set_axis(np.arange(len(DATED))[::-1] * 3)  # an index does not matter
    file = TableFile(tmp_path / "t.csv", separator=";")
    models = [fit_table(t, GOAL, drop="customer") for t in (file, pl.from_pandas(DATED), shuffled)]
    assert len({found.classifier.rule_.to_json() for found in (fitted, *models)}) == 1
    assert fitted.predict(shuffled).equals(fitted.predict(DATED))


def test_a_model_is_stored_judged_and_used(fitted, tmp_path):
    save_model(fitted, tmp_path / "m.skops")
    judged = load_model(tmp_path / "m.skops").evaluate(LATER)
    assert judged.counts.n_rows == len(LATER)
    assert judged.counts.seen == 0
    decided = fitted.predict(LATER, keep=("customer",))
    assert list(decided) == ["customer", "prediction", "score"]
    truth = LATER["y"].to_numpy()
    recall = (decided["prediction"][truth == "yes"] == "yes").mean()
    assert judged.objective.value == pytest.approx(recall, abs=1e-12)
    moved = fitted.frontier(LATER, values=[0.5, 0.7])
    assert moved.values[0] >= moved.values[1]


def test_settings_of_a_trained_model():
    options = {"solver": "profiled", "drop": ("customer",), "random_state": 3}
    found = fit_table(DATED, "f1", parameters={"min_positives": 9}, **options)
    assert found.classifier.get_params()["min_positives"] == 9
    assert found.choice.module == "linear"
    with pytest.raises(InputError, match="`C` is for solvers that train the model") as error:
        fit_table(DATED, "f1", parameters={"C": 1.0}, **options)
    assert error.value.arguments == ("C", "solver")


@over(
    "settings, words",
    [
        ({"target": "z"}, "`target`: the table has no column 'z'"),
        ({"solver": "exakt"}, "`solver`: there is no 'exakt'"),
        ({"drop": ("zz",)}, "`drop`: the table has no column 'zz'"),
        ({"test_by": "zz"}, "`test_by`: the table has no column 'zz'"),
        ({"test_by": "day", "test_size": 0.0}, "`test_size=0` holds out none"),
        ({"judge_by": GOAL, "test_size": 0.0}, "`judge_by` judges by rows held"),
        ({"baseline_threshold": 0.5}, "`baseline_threshold` is for solvers"),
        (
            {"baseline_threshold": np.inf, "baseline": "a", "solver": "augmented-lagrangian"},
            "`baseline_threshold` is a number, got inf",
        ),
        ({"pos_label": "maybe"}, "`pos_label`: column 'y' holds no class 'maybe'"),
        ({"decide_on": ("y",)}, "`decide_on`: 'y' is the target"),
        ({"baseline": "y"}, "`baseline`: 'y' is the target"),
        ({"test_by": "y"}, "`test_by`: 'y' is the target"),
        ({"test_size": 2}, "`test_size` is a share of the rows"),
        ({"test_by": "a", "confidence": 0.9}, "are drawn one by one"),
        ({"units": "custome"}, r"`units`: the table has no column 'custome' \(did you mean"),
        ({"units": "y"}, "`units`: 'y' has another role"),
        ({"units": "city", "decide_on": ("city",)}, "`units`: 'city' has another role"),
        ({"units": "one"}, "`units`: the table has 1, too few to hold some out"),
        ({"test_by": "one"}, "`test_by`: column 'one' holds one value only"),
        ({"test_by": "gap"}, "`test_by`: 3 rows have no value in column 'gap'"),
    ],
)
def test_what_does_not_fit_is_named_before_any_work(settings, words, caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    table = DATED.assign(one=1, gap=DATED["day"].where(DATED.index > 2))
    with pytest.raises(InputError, match=words):
        fit_table(table, GOAL, **settings)
    assert not [r for r in caplog.records if getattr(r, "seconds", 0) and "finding" in r.step]


# ---------------------------------------------------------------------- rows that judge
def test_the_last_days_are_held_out():
    found = fit_table(DATED, GOAL, test_by="day", test_size=0.25)
    shares = DATED["day"].value_counts(normalize=True).sort_index(ascending=False).cumsum()
    n_held = int((DATED["day"] >= shares.index[(shares - 0.25).abs().argmin()]).sum())
    assert found.n_held_out == n_held
    assert abs(n_held / len(DATED) - 0.25) <= DATED["day"].value_counts(normalize=True).max()


def test_no_customer_is_on_both_sides():
    table = DATED.assign(customer=[f"c{i}" for i in np.arange(len(DATED)) % 8])
    model = fit_table(table, GOAL, test_by="customer", drop=("customer",), random_state=1)
    assert model.n_held_out == 0.25 * len(DATED)
    parts = [part.reset_index(drop=True) for _, part in table.groupby("customer")]
    assert sorted(model.evaluate(part).counts.seen for part in parts) == [0.0] * 2 + [1.0] * 6


def test_rows_of_a_unit_are_on_one_side_and_limits_are_by_unit(tmp_path, said):
    table = DATED.assign(customer=[f"c{i}" for i in np.arange(len(DATED)) % 60])
    model = fit_table(table, GOAL, units="customer")
    held = set(model.held.units)
    assert "customer" not in [c.name for c in model.columns]
    assert model.n_held_out == table["customer"].isin(held).sum()
    assert 0.1 <= len(held) / 60 <= 0.3
    save_model(model, tmp_path / "m.skops")
    stored = load_model(tmp_path / "m.skops")
    assert (stored.units, stored.to_dict()["units"]) == ("customer", "customer")
    asked = stored.classifier.evaluate(LATER, LATER["y"], units=LATER["customer"]).objective
    found, other = stored.evaluate(LATER).objective, stored.evaluate(LATER, units="day").objective
    assert (found.low, found.high) == (asked.low, asked.high) != (other.low, other.high)
    both = compare(GOAL, {"old": stored, "new": stored}, LATER, frontier=False)
    assert both.reports["new"].objective.low == found.low
    plan = rows_needed(easy := "maximize recall s.t. precision >= 0.3", **stored.pilot(LATER, easy))
    assert plan.called == "customers"
    plain = stored.evaluate(LATER.drop(columns="customer")).objective
    assert plain.low == stored.classifier.evaluate(LATER, LATER["y"]).objective.low != found.low
    assert any("has no column 'customer', the unit of the fit" in n for n in said())


def test_units_of_several_tables_are_on_one_side():
    table = DATED.assign(customer=[f"c{i}" for i in np.arange(len(DATED)) % 60])
    goal = "maximize recall subject to precision >= 0.5 and recall.on(audit) >= 0.2"
    model = fit_table(table[:300], goal, units="customer", datasets={"audit": table[300:]})
    held, n = set(model.held.units), model.datasets["audit"]
    assert (n.held_out, n.shared) == (table[300:]["customer"].isin(held).sum(), 300)
    sure = {"units": "customer", "confidence": 0.9, "test_size": 0.0}
    easy, one = "maximize recall subject to precision >= 0.3", table["customer"].isin(held)
    assert fit_table(table[~one], easy, certify_on=table[one], **sure).guarantee.rows == one.sum()
    with pytest.raises(InputError, match=r"`certify_on`: .* customers have rows in the fit, too"):
        fit_table(table[~one], easy, certify_on=table, **sure)


# ---------------------------------------------------------------------- rows without a label
def test_rows_without_a_label_are_an_error_or_left_out(fitted, tmp_path, said):
    gaps = DATED.assign(y=DATED["y"].where(DATED.index % 10 != 0))
    with pytest.raises(TableError, match="60 rows have no label in column 'y'"):
        fit_table(gaps, GOAL)
    more = LATER.assign(y=LATER["y"].where(LATER.index % 10 != 0))
    options = {"drop": "customer", "confidence": 0.9, "skip_unlabelled": True}
    found = fit_table(gaps, "maximize recall s.t. precision >= 0.4", certify_on=more, **options)
    assert any("60 of 600 rows have no label" in note for note in said())
    assert found.fitted_rows + found.n_held_out == 540
    assert found.guarantee.rows == int(more["y"].notna().sum())
    # Places in messages are those of the file.
    gaps["a"] = gaps["a"].astype(object).where(gaps.index != 21, "much")
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    with pytest.raises(TableError, match="line 23"):
        fitted.evaluate(fitted.read(tmp_path / "gaps.csv", skip_unlabelled=True))
    with pytest.raises(InputError, match="no row has a label in column 'y'"):
        fit_table(DATED.assign(y=None), GOAL, skip_unlabelled=True)


def test_judging_without_unlabelled_rows(fitted):
    gaps = LATER.assign(y=LATER["y"].where(LATER.index >= 50))
    given, whole = fitted.read(gaps, skip_unlabelled=True), LATER[50:].reset_index(drop=True)
    judged, same = (replace(fitted.evaluate(t), warnings=()) for t in (given, whole))
    assert judged == same
    with pytest.raises(TableError, match="50 rows have no label"):
        fitted.frontier(gaps, values=[0.6])
    found = fitted.frontier(given, values=[0.6])
    assert found.values.tolist() == fitted.frontier(whole, values=[0.6]).values.tolist()


# ---------------------------------------------------------------------- frames that are no tables
@over(
    "change, words",
    [
        (lambda f: f.rename(columns={"a": 0}), "names of columns are text, got 0"),
        (lambda f: f.set_axis(["a", "a", *f.columns[2:]], axis=1), "has the column 'a' twice"),
        (lambda f: f.assign(a=pd.arrays.IntervalArray.from_breaks(range(601))), "column 'a'"),
        (lambda f: f.assign(a=[[1, 2]] * 600), "column 'a'"),
        (lambda f: f.assign(a=[1, "x"] * 300), "column 'a'"),
        (lambda f: f.to_numpy(), "a table is a path, a frame of pandas, Polars or PyArrow"),
    ],
)
def test_what_is_not_a_table(change, words):
    with pytest.raises(SetpointError, match=words):
        fit_table(change(DATED), GOAL)


# ---------------------------------------------------------------------- files and scores
def rows(n=200):
    """Gaps, dates, and codes that look like numbers."""
    rng = np.random.default_rng(0)
    a, city = rng.normal(size=n), rng.choice(["Bonn", "Kiel"], n)
    born = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 999, n), "D")
    X = pd.DataFrame({"a": a, "city": city, "born": born, "code": rng.choice(["1", "2"], n)})
    X.loc[::10, ["a", "city"]] = None
    return X.assign(y=(a + (city == "Kiel") + 0.3 * rng.normal(size=n) > 0.5).astype(int))


def test_round_trip_through_a_file(tmp_path):
    table = rows(120)
    model = fit_table(table, "maximize f1", estimator="hist-gradient-boosting")
    save_model(model, tmp_path / "m.skops")
    again = load_model(tmp_path / "m.skops")
    for name in ("columns", "target", "dataset_names", "notes"):
        assert getattr(again, name) == getattr(model, name)
    table.to_csv(tmp_path / "t.csv", index=False)
    pd.testing.assert_frame_equal(model.predict(table), again.predict(tmp_path / "t.csv"))


@over(("pos_label", "estimator"), [(0, "logistic"), (1, "sklearn.svm.LinearSVC")])
def test_scores_are_of_the_positive_class(pos_label, estimator):
    model = fit_table(rows(), "f1", estimator=estimator, pos_label=pos_label, test_size=0.0)
    out = model.predict(rows())
    assert out.columns.tolist() == ["prediction", "score"]
    positive = out["prediction"] == pos_label
    assert out["score"][positive].min() >= out["score"][~positive].max()


def test_scores_of_many_classes_and_drawn_decisions():
    table = rows()
    words = np.array(["low", "mid", "high"])[np.digitize(table["a"].fillna(0), [-0.5, 0.5])]
    out = fit_table(table.assign(y=words), "macro_f1").predict(table)
    assert out.columns[:4].tolist() == ["prediction", "score_high", "score_low", "score_mid"]
    goal = "maximize recall subject to predicted_rate <= 0.3777"
    model = fit_table(table, goal, randomized=True)
    assert model.classifier.rule_.randomized
    columns = ["prediction", "score", "decision_0", "decision_1"]
    assert model.predict(table).columns.tolist() == columns


# ---------------------------------------------------------------------- what it stores and shows
@pytest.fixture(scope="module")
def deciding(fitted_on):
    return fit_table(fitted_on, FAIR, baseline="old")


def test_the_facts_of_a_fit(deciding, tmp_path):
    save_model(deciding, tmp_path / "m.skops")
    found = TableModel.load(tmp_path / "m.skops")
    facts = found.to_dict()
    assert json.loads(json.dumps(facts)) == facts
    assert {
        "rows": {"fitted": 900, "held_out": 300, "certifying": 0}, "model": "LogisticRegression",
        "solver": "exact", "family": "plugin", "baseline": "old", "classes": ["no", "yes"],
        "columns": {"sex": "category", "x": "number", "w": "number"}, "positive": "yes",
    }.items() <= facts.items()  # fmt: skip
    assert facts["rule"]["decides_on"] == ["sex"]
    assert facts["judged"]["verdict"] == deciding.held_out.verdict
    assert found.judged == deciding.held_out
    assert found.judged_on == "300 rows held out"
    assert set(found.written) == {"when", "setpoint", "scikit-learn", "numpy"}
    assert "highspy" in deciding.written  # no file: as the report says


def test_what_was_certified(fitted_on, fresh):
    model = fit_table(
        fitted_on, "maximize recall subject to precision >= 0.6", drop=["old"],
        test_size=0.0, confidence=0.9,
    )  # fmt: skip
    assert model.guarantee.state == "certified"
    assert model.certified_holds
    assert model.to_dict()["rows"]["certifying"] == model.guarantee.rows
    assert model.judged_on == f"{model.guarantee.rows:,} rows that certify"
