"""``setpoint compare``: the candidate against today's model, in words, JSON and exit codes."""

import json

import pandas as pd
import pytest
from click.testing import CliRunner

from setpoint.cli.app import app

from .conftest import GOAL, lines_of, write


@pytest.fixture(scope="module")
def poor(folder):
    """A model that sees neither income nor age."""
    path = str(folder / "poor.skops")
    args = ["fit", str(folder / "loans.csv"), "--target", "y", "--drop", "id,income,age"]
    args += ["--goal", "maximize recall subject to precision >= 0.5", "--model", path]
    assert CliRunner().invoke(app, args).exit_code in (0, 3, 4)
    return path


@pytest.fixture(scope="module")
def fresh(folder):
    return write(folder / "fresh.csv", lines_of(900, seed=5))


def test_better_worse_and_the_codes(run, poor, model, fresh):
    goal = ("--goal", "maximize accuracy")
    done = run("compare", poor, model, fresh, *goal)
    assert done.exit_code == 0, done.stderr
    assert "\n\nShown to be better on 900 rows.\nIts accuracy is shown" in done.stdout
    assert run("compare", model, poor, fresh, *goal).exit_code == 3
    same = run("compare", model, model, fresh, *goal)
    assert same.exit_code == 4
    assert "Both models decide every row alike." in same.stdout
    assert run("compare", model, model, fresh, *goal, "--accept", "too-close").exit_code == 0


def test_text_has_both_values_and_the_difference(run, poor, model, fresh):
    text = run("compare", poor, model, fresh, "--goal", GOAL).stdout
    lines = text.splitlines()
    assert f"A, of today: {poor}" in lines
    assert f"B, the candidate: {model}" in lines
    assert sum("; B - A " in line for line in lines) == 4
    assert any(line.startswith("  rows accepted") for line in lines)
    assert any(line.startswith("  precision >= 0.7: ") for line in lines)
    assert "of the decisions differ (churn)." in text
    assert any(line.startswith("  sex = f") for line in lines)


def test_json(run, poor, model, fresh):
    done = run("compare", poor, model, fresh, "--goal", GOAL, "--json")
    found = json.loads(done.stdout)
    assert found["status"] in ("shown to be better", "too close to call")
    assert found["rows"] == 900
    first = found["parts"][0]
    assert (first["part"], first["text"]) == ("objective", "recall")
    assert first["difference"]["value"] == pytest.approx(first["b"]["value"] - first["a"]["value"])
    evaluated = json.loads(run("evaluate", model, fresh, "--goal", GOAL, "--json").stdout)
    assert found["b"]["objective"] == evaluated["evaluated"]["objective"]
    assert found["b"]["counts"] == evaluated["evaluated"]["counts"]
    assert {g["value"] for g in found["groups"]} == {"f", "m"}
    assert 0 < found["accepted"]["b"] < 1


def test_how_many_rows_would_show_it(run, model, folder, poor):
    few = write(folder / "few.csv", lines_of(60, seed=8))
    args = ("compare", poor, model, few, "--goal", "maximize specificity")
    first = json.loads(run(*args, "--json").stdout)["parts"][0]
    gain, low, high = (first["difference"][x] for x in ("value", "low", "high"))
    past = low if gain > 0 else high
    assert first["b_is"] == "too close to call"
    assert first["rows_needed"] == pytest.approx(60 * ((past - gain) / gain) ** 2, abs=1)
    text = " ".join(run(*args).stdout.split())
    assert f"would be shown by about {first['rows_needed']:,} rows." in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--goal", "maximize recal"), "unknown word 'recal'"),
        (("--target", "z"), "has no column 'z'"),
        (("--goal", "recall >="), "at character"),
        (("--dataset", "old"), "--dataset is NAME=FILE"),
    ],
)
def test_bad_input(run, poor, model, fresh, args, message):
    done = run("compare", poor, model, fresh, *args)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr


def test_models_that_decide_something_else(run, model, folder):
    other = str(folder / "sex.skops")
    args = ("fit", folder / "loans.csv", "--target", "sex", "--positive", "f", "--goal", "f1")
    assert run(*args, "--drop", "id", "--model", other).exit_code == 0
    done = run("compare", model, other, folder / "new.csv")
    assert done.exit_code == 1
    assert f"the target of {model} is 'y', and of {other} 'sex'" in " ".join(done.stderr.split())
    assert "--target names the column" in done.stderr
    done = run("compare", model, other, folder / "new.csv", "--target", "y")
    assert f"the classes of {model} is [0, 1], and of {other} ['f', 'm']" in done.stderr


def test_picture_rows_and_page(run, poor, model, fresh, tmp_path):
    names = {"--picture": "both.svg", "--changed": "rows.csv", "--report": "page.html"}
    paths = {option: str(tmp_path / name) for option, name in names.items()}
    options = [x for pair in paths.items() for x in pair]
    done = run("compare", poor, model, fresh, *options)
    assert done.exit_code in (0, 3, 4), done.stderr
    assert done.stdout.endswith(f"Wrote {', '.join(paths.values())}.\n")
    plain = run("compare", poor, model, fresh).stdout
    assert done.stdout.startswith(plain.rstrip("\n"))
    assert "<svg" in (tmp_path / "both.svg").read_text(encoding="utf-8")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What the scores of each could reach" in page
    assert fresh in page
    changed = pd.read_csv(tmp_path / "rows.csv", dtype={"id": str})
    differs = json.loads(run("compare", poor, model, fresh, "--json").stdout)["changes"]["changed"]
    assert len(changed) == pytest.approx(900 * differs)
    assert set(changed["change_B"]) <= {"win", "loss"}
    assert (changed["decision_A"] != changed["decision_B"]).all()
    table = pd.read_csv(fresh, dtype={"id": str}).iloc[changed["row"]]
    assert changed["id"].tolist() == table["id"].tolist()
    assert changed["true"].tolist() == table["y"].tolist()


def test_files_are_checked_before_the_work(run, poor, model, fresh, tmp_path):
    done = run("compare", poor, model, fresh, "--picture", str(tmp_path / "both.gif"))
    assert (done.exit_code, done.stdout) == (1, "")
    assert "ends neither in .svg nor in .png" in done.stderr
    done = run("compare", poor, model, fresh, "--changed", fresh)
    assert f"would overwrite DATA {fresh}" in " ".join(done.stderr.split())
