"""fit_table and its relatives as a user of Python calls them: frames in, values with notes out."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from setpoint import InfeasibleError, InputError, SetpointError, load_model, save_model
from setpoint.tables import TableError, TableFile
from tables.fits import fit_table

GOAL = "maximize recall subject to precision >= 0.6"


def frame_of(n=600, seed=0):
    r = np.random.default_rng(seed)
    x, sex = r.normal(size=(n, 2)), r.choice(["f", "m"], size=n)
    days = pd.date_range("2024-01-01", periods=n // 6, freq="D")
    return pd.DataFrame(
        {
            "a": x[:, 0],
            "b": x[:, 1],
            "sex": sex,
            "city": r.choice(["Bonn", "Kiel", "Ulm"], size=n),
            "day": np.sort(r.choice(days, size=n)),
            "customer": [f"c{i}" for i in r.integers(0, n // 4, size=n)],
            "y": np.where(x[:, 0] + 0.5 * (sex == "m") + r.normal(size=n) > 0.6, "yes", "no"),
        }
    )


FRAME, NEW = frame_of(), frame_of(seed=1)


@pytest.fixture(scope="module")
def fitted():
    return fit_table(FRAME, GOAL, target="y", drop=("customer",))


def test_a_fit_is_a_value_that_knows_its_rows(fitted):
    assert fitted.held_out is fitted.judged
    assert fitted.fitted_rows + fitted.n_held_out == len(FRAME)
    assert fitted.choice.model == "logistic"
    assert fitted.drop == ("customer",)
    assert [title for title, _ in fitted.about] == ["The data", "The model"]
    assert fitted.target == "y"
    assert fitted.profile["city"] == ["Bonn", "Kiel", "Ulm"]


def test_files_frames_and_other_frames_are_the_same(fitted, tmp_path):
    FRAME.to_csv(tmp_path / "t.csv", index=False, sep=";", decimal=",")
    from_file = fit_table(
        TableFile(tmp_path / "t.csv", separator=";"),
        GOAL,
        target="y",
        drop=("customer",),
    )
    from_polars = fit_table(pl.from_pandas(FRAME), GOAL, target="y", drop=("customer",))
    rules = {found.classifier.rule_.to_json() for found in (fitted, from_file, from_polars)}
    assert len(rules) == 1


def test_what_is_said_is_logged(caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    fit_table(FRAME, GOAL, target="y")
    assert "the positive class is 'yes'; `pos_label` names another" in _notes(caplog)
    assert "judging the rule on rows held out" in _timed(caplog)


def _notes(caplog):
    return [r.getMessage() for r in caplog.records if r.levelname == "INFO"]


def _timed(caplog):
    return [r.step for r in caplog.records if getattr(r, "seconds", None) is not None]


def test_a_model_is_stored_judged_and_used(fitted, tmp_path):
    save_model(fitted, tmp_path / "m.skops")
    judged = load_model(tmp_path / "m.skops").evaluate(NEW)
    assert judged.counts.n_rows == len(NEW)
    assert judged.counts.seen == 0
    decided = fitted.predict(NEW, keep=("customer",))
    assert list(decided) == ["customer", "prediction", "score"]
    truth = NEW["y"].to_numpy()
    recall = (decided["prediction"][truth == "yes"] == "yes").mean()
    assert judged.objective.value == pytest.approx(recall, abs=1e-12)
    moved = fitted.frontier(NEW, values=[0.5, 0.7])
    assert moved.values[0] >= moved.values[1]


def test_settings_of_a_trained_model():
    found = fit_table(
        FRAME, "f1", target="y", solver="profiled", parameters={"min_positives": 9},
        drop=("customer",), random_state=3,
    )  # fmt: skip
    assert found.classifier.get_params()["min_positives"] == 9
    assert found.choice.module == "linear"
    with pytest.raises(InputError, match="`C` is for solvers that train the model") as error:
        fit_table(FRAME, "f1", target="y", solver="profiled", parameters={"C": 1.0})
    assert error.value.arguments == ("C", "solver")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"target": "z"}, "`target`: the table has no column 'z'"),
        ({"target": "y", "solver": "exakt"}, "`solver`: there is no 'exakt'"),
        ({"target": "y", "drop": ("zz",)}, "`drop`: the table has no column 'zz'"),
        ({"target": "y", "test_by": "zz"}, "`test_by`: the table has no column 'zz'"),
        ({"target": "y", "test_by": "day", "test_size": 0.0}, "`test_size=0` holds out none"),
        ({"target": "y", "judge_by": GOAL, "test_size": 0.0}, "`judge_by` judges by rows held"),
        ({"target": "y", "baseline_threshold": 0.5}, "`baseline_threshold` is for solvers"),
        ({"target": "y", "pos_label": "maybe"}, "`pos_label`: column 'y' holds no class 'maybe'"),
        ({"target": "y", "decide_on": ("y",)}, "`decide_on`: 'y' is the target"),
        ({"target": "y", "baseline": "y"}, "`baseline`: 'y' is the target"),
        ({"target": "y", "test_by": "y"}, "`test_by`: 'y' is the target"),
        ({"target": "y", "test_size": 2}, "`test_size` is a share of the rows"),
        ({"target": "y", "test_size": "x"}, "`test_size` is a share of the rows"),
        ({"target": "y", "test_by": "a", "confidence": 0.9}, "are drawn one by one"),
        ({"target": "y", "drop": "zz"}, "`drop`: the table has no column 'zz'"),
    ],
)
def test_what_does_not_fit_is_named_before_any_work(settings, words, caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    with pytest.raises(InputError, match=words):
        fit_table(FRAME, GOAL, **settings)
    assert "fitting the model and finding the rule" not in _timed(caplog)


def test_an_unreachable_goal_says_what_can_be_reached():
    with pytest.raises(InfeasibleError) as error:
        fit_table(FRAME, "maximize recall subject to precision >= 0.99 and recall >= 0.9",
                  target="y")  # fmt: skip
    assert error.value.reachable


# ---------------------------------------------------------------------- rows that judge
def test_the_last_days_are_held_out():
    found = fit_table(FRAME, GOAL, target="y", test_by="day", test_size=0.25)
    shares = FRAME["day"].value_counts(normalize=True).sort_index(ascending=False).cumsum()
    n_held = int((FRAME["day"] >= shares.index[(shares - 0.25).abs().argmin()]).sum())
    assert found.n_held_out == n_held
    assert abs(n_held / len(FRAME) - 0.25) <= FRAME["day"].value_counts(normalize=True).max()


@pytest.mark.parametrize("seed", [0, 1])
def test_no_customer_is_on_both_sides(monkeypatch, seed):
    import setpoint.tables.model as table_fit

    seen = {}

    def spy(rows, roles, settings, table, by):
        first, sets = hold_out(rows, roles, settings, table, by)
        seen["held"] = first.held
        return first, sets

    hold_out = table_fit.hold_out
    monkeypatch.setattr(table_fit, "hold_out", spy)
    fit_table(FRAME, GOAL, target="y", test_by="customer", drop=("customer",), random_state=seed)
    held = set(FRAME["customer"][seen["held"]])
    assert held
    assert not held & set(FRAME["customer"][~seen["held"]])
    assert abs(seen["held"].mean() - 0.25) < 0.05


def test_by_a_column_that_says_nothing():
    one = FRAME.assign(one=1)
    with pytest.raises(InputError, match="`test_by`: column 'one' holds one value only"):
        fit_table(one, GOAL, target="y", test_by="one")
    gaps = FRAME.assign(day=FRAME["day"].where(FRAME.index > 2))
    with pytest.raises(InputError, match="`test_by`: 3 rows have no value in column 'day'"):
        fit_table(gaps, GOAL, target="y", test_by="day")


# ---------------------------------------------------------------------- rows without a label
def test_rows_without_a_label_are_an_error_or_left_out(fitted, tmp_path, said):
    gaps = FRAME.assign(y=FRAME["y"].where(FRAME.index % 10 != 0))
    with pytest.raises(TableError, match="60 rows have no label in column 'y'"):
        fit_table(gaps, GOAL, target="y")
    found = fit_table(gaps, GOAL, target="y", skip_unlabelled=True, drop=("customer",))
    assert any("60 of 600 rows have no label" in note for note in said())
    whole = gaps.dropna(subset="y").reset_index(drop=True)
    same = fit_table(whole, GOAL, target="y", drop=("customer",))
    assert found.classifier.rule_.to_json() == same.classifier.rule_.to_json()
    # Places in messages are those of the file.
    gaps["a"] = gaps["a"].astype(object).where(gaps.index != 21, "much")
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    with pytest.raises(TableError, match="line 23"):
        fitted.evaluate(fitted.read(tmp_path / "gaps.csv", skip_unlabelled=True))
    with pytest.raises(InputError, match="no row has a label in column 'y'"):
        fit_table(FRAME.assign(y=None), GOAL, target="y", skip_unlabelled=True)


def test_evaluating_without_unlabelled_rows(fitted):
    gaps = NEW.assign(y=NEW["y"].where(NEW.index >= 50))
    judged = fitted.evaluate(fitted.read(gaps, skip_unlabelled=True))
    same = fitted.evaluate(NEW[50:].reset_index(drop=True))
    run = [json.dumps({**r.to_dict(), "run": None, "warnings": None}, default=str)
           for r in (judged, same)]  # fmt: skip
    assert run[0] == run[1]


# ---------------------------------------------------------------------- frames that are no tables
@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda f: f.rename(columns={"a": 0}), "names of columns are text, got 0"),
        (lambda f: f.set_axis(["a", "a", *f.columns[2:]], axis=1), "has the column 'a' twice"),
        (lambda f: f.assign(a=pd.arrays.IntervalArray.from_breaks(range(601))), "column 'a'"),
        (lambda f: f.assign(a=[[1, 2]] * 600), "column 'a'"),
        (lambda f: f.assign(a=[1, "x"] * 300), "column 'a'"),
        (lambda f: f["a"], "a table is a path, a frame of pandas, Polars or PyArrow"),
        (lambda f: f.to_numpy(), "a table is a path"),
        (lambda f: {"a": [1]}, "a table is a path"),
        (lambda f: pl.from_pandas(f).lazy(), "a table is a path"),
    ],
)
def test_what_is_not_a_table(change, words):
    with pytest.raises(SetpointError, match=words):
        fit_table(change(FRAME), GOAL, target="y")


def test_an_index_does_not_matter(fitted):
    shuffled = FRAME.set_axis(np.arange(len(FRAME))[::-1] * 3)
    again = fit_table(shuffled, GOAL, target="y", drop="customer")
    assert again.classifier.rule_.to_json() == fitted.classifier.rule_.to_json()
    decided = fitted.predict(shuffled)
    assert decided.equals(fitted.predict(FRAME))


def test_drawn_values_are_said_to_be_drawn(said):
    fit_table(FRAME, GOAL, target="y", test_by="customer", drop="customer")
    assert any("that are held out are drawn" in note for note in said())
    fit_table(FRAME, GOAL, target="y", test_by="day", drop="customer")
    assert not any("that are held out are drawn" in note for note in said())


def test_other_tables_may_have_rows_without_a_label_too():
    gaps = NEW.assign(y=NEW["y"].where(NEW.index % 10 != 0))
    found = fit_table(
        FRAME, "maximize recall subject to precision >= 0.4", target="y", drop="customer",
        confidence=0.9, certify_on=gaps, skip_unlabelled=True,
    )  # fmt: skip
    assert found.guarantee.rows == int(gaps["y"].notna().sum())


def test_a_frontier_without_unlabelled_rows(fitted):
    gaps = NEW.assign(y=NEW["y"].where(NEW.index >= 50))
    with pytest.raises(TableError, match="50 rows have no label"):
        fitted.frontier(gaps, values=[0.6])
    found = fitted.frontier(fitted.read(gaps, skip_unlabelled=True), values=[0.6])
    same = fitted.frontier(NEW[50:], values=[0.6])
    assert found.values.tolist() == same.values.tolist()
