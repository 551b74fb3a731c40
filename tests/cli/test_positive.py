"""``setpoint fit`` and ``stream`` ask which class is positive where nothing says it."""

import json

import numpy as np
import pytest


@pytest.fixture
def table(tmp_path):
    """A table with a number and two labels, the second of which goes with high numbers."""

    def write(low, high):
        r = np.random.default_rng(0)
        true = r.random(300) < 0.3
        lines = [f"{r.normal() + 2 * t:.3f},{high if t else low}" for t in true]
        path = tmp_path / "t.csv"
        path.write_text("\n".join(["x,y", *lines]) + "\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def fit(run, tmp_path):
    def invoke(data, goal, *args):
        model = tmp_path / "m.skops"
        return run("fit", data, "--target", "y", "--goal", goal, "--model", model, *args)

    return invoke


def test_fit_asks_and_names_both_labels(table, fit, tmp_path):
    data = table("legit", "a fraud")
    done = fit(data, "maximize recall subject to precision >= 0.3")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        "error: t.csv: column 'y' holds 'a fraud' and 'legit', and the goal refers to the positive "
        "class: say which it is, --positive 'a fraud' or --positive legit"
    )
    assert not (tmp_path / "m.skops").exists()
    goal = "maximize recall subject to precision >= 0.3"
    for positive in ("a fraud", "legit"):
        done = fit(data, goal, "--positive", positive, "--json")
        assert json.loads(done.stdout)["positive"] == positive
        assert "the positive class is" not in done.stderr


@pytest.mark.parametrize(("low", "high"), [("no", "yes"), ("Nein", "Ja"), ("0", "1"), ("3", "7")])
def test_what_is_settled_is_said(table, fit, low, high):
    done = fit(table(low, high), "f1", "--json")
    positive = json.loads(done.stdout)["positive"]
    assert str(positive) == high
    assert f"note: the positive class is {positive!r}; --positive names another" in done.stderr


@pytest.mark.parametrize("goal", ["accuracy", "maximize f1(label='fraud')"])
def test_a_goal_without_a_positive_class_does_not_ask(table, fit, goal):
    done = fit(table("legit", "fraud"), goal)
    assert done.exit_code == 0
    assert "note: the positive class" not in done.stderr


def test_a_number_as_target_is_said_to_be_one(tmp_path, fit):
    data = tmp_path / "ages.csv"
    rows = [f"{i % 7},{18 + i % 70 if i else 88}" for i in range(141)]
    data.write_text("\n".join(["x,y", *rows]) + "\n", encoding="utf-8")
    done = fit(data, "accuracy")
    assert done.exit_code == 1
    assert "column 'y' is a number with 71 values, and class 88 has 1 of 141" in done.stderr
