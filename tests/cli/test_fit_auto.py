"""``setpoint fit`` where nobody names a model: several race under the goal."""

import json

import pytest

from setpoint import load_model

GOAL = "maximize recall subject to precision >= 0.7"


@pytest.fixture
def fit(run, folder, tmp_path):
    def command(*more, data="loans.csv"):
        return run(
            "fit", folder / data, "--target", "y", "--goal", GOAL, "--drop", "id,since,old",
            "--model", tmp_path / "m.skops", *more,
        )  # fmt: skip

    return command


@pytest.fixture
def models(monkeypatch):
    """As it is without the tests' own default."""
    monkeypatch.setattr("setpoint.tables.settings.DEFAULT", "auto")


@pytest.mark.usefixtures("models")
def test_a_model_is_chosen_reported_and_kept(fit, run, folder, tmp_path):
    done = fit("--report", tmp_path / "r.html")
    assert done.exit_code in (0, 3, 4), done.output
    choice = load_model(tmp_path / "m.skops").classifier.choice_
    names = [one.name for one in choice.tried]
    assert {"logistic", "boosting of 30 rounds", "boosting of 120 rounds"} <= set(names)
    assert not any("lightgbm" in name for name in names)
    assert "The model, chosen under the goal, on 600 rows, by cross-validation" in done.stdout
    assert f"Chosen: {choice.chosen}." in done.stdout
    page = (tmp_path / "r.html").read_text()
    assert f"The model inside is {choice.chosen}, chosen under the goal, with seed 0" in page
    assert "The model, chosen under the goal" in page
    shown = " ".join(run("show", tmp_path / "m.skops").stdout.split())
    assert f"({choice.chosen}, chosen under the goal)" in shown
    predicted = run("predict", tmp_path / "m.skops", folder / "new.csv")
    assert predicted.exit_code == 0, predicted.output


def test_the_same_again_in_json(fit):
    first, second = (json.loads(fit("--estimator", "auto", "--json").stdout) for _ in range(2))
    first.pop("run")
    second.pop("run")
    assert first == second
    assert first["estimator"] == "auto"
    [section] = [s for s in first["fitted"]["sections"] if s["name"] == "models"]
    assert section["values"]["chosen"] in {one["name"] for one in section["values"]["tried"]}


def test_time_that_is_too_short(fit):
    done = fit("--estimator", "auto", "--set", "max-seconds=1e-9")
    assert done.exit_code in (0, 3, 4), done.output
    assert "simplest model alone was judged of 3 within 1e-09 seconds; more time (--set" in (
        done.stderr
    )
    assert "It is the simplest, and no other was judged" in " ".join(done.stdout.split())


def test_a_metric_needs_a_name(run, folder, tmp_path, monkeypatch):
    (tmp_path / "own.py").write_text("def right(true, decisions):\n    return 1.0\n")
    monkeypatch.chdir(tmp_path)
    done = run(
        "train", folder / "loans.csv", "--target", "y", "--metric", "own:right",
        "--model", tmp_path / "m.skops", "--set", "estimator=auto",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "compares models by goals that are counted" in done.stderr
