"""``setpoint plan``: rows needed, from the shell."""

import json

import numpy as np
import pandas as pd
import pytest

from setpoint import load_model, rows_needed
from setpoint.data import read_table

GOAL = "maximize recall subject to precision >= 0.9"
RATES = ("--rate", "prior=0.1", "--rate", "recall=.7", "--rate", "precision=0.93")
EASY = "maximize recall subject to precision >= 0.5"


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    """A pilot with text labels and decisions."""
    path = tmp_path_factory.mktemp("plan") / "pilot.csv"
    y = np.repeat(["bad", "bad", "good", "good"], [140, 60, 9, 791])
    p = np.repeat(["bad", "good", "bad", "good"], [140, 60, 9, 791])
    pd.DataFrame({"y": y, "p": p, "sex": np.resize(["f", "m"], 1_000)}).to_csv(path, index=False)
    return path


def test_stated_rates(run, tmp_path):
    picture = tmp_path / "p.png"
    done = run("plan", GOAL, *RATES, "--picture", picture)
    found = rows_needed(GOAL, rates={"prior": 0.1, "recall": 0.7, "precision": 0.93})
    assert done.exit_code == 0, done.stderr
    first, *rest = found.lines()
    assert done.stdout.startswith(f"{first}\n\nGoal: {GOAL}\n{rest[0]}\n")
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = json.loads(run("plan", GOAL, *RATES, "--confidence", "99%", "--json").stdout)
    sure = rows_needed(
        GOAL, rates={"prior": 0.1, "recall": 0.7, "precision": 0.93}, confidence=0.99
    )
    assert out["plan"] == json.loads(json.dumps(sure.to_dict()))
    assert (out["command"], out["status"]) == ("plan", "found")


def test_a_pilot_with_decisions(run, pilot):
    table = pd.read_csv(pilot)
    given = ("--target", "y", "--prediction", "p", "--positive", "bad", "--power", "0.9", "--json")
    done = run("plan", GOAL, pilot, *given)
    found = rows_needed(GOAL, table["y"], table["p"], pos_label="bad", power=0.9)
    assert json.loads(done.stdout)["plan"]["rows"] == found.rows is not None
    unsaid = run("plan", GOAL, pilot, "--target", "y", "--prediction", "p")
    assert (unsaid.exit_code, "--positive bad or --positive good" in unsaid.stderr) == (1, True)
    groups = "maximize precision subject to recall.difference(sex) <= 0.9"
    assert run("plan", groups, pilot, *given).exit_code == 0


def test_a_pilot_that_a_model_decides(run, folder, model):
    done = run("plan", EASY, folder / "new.csv", "--model", model, "--json")
    stored = load_model(model)
    table = read_table(folder / "new.csv", columns=stored.columns)
    y, y_pred = stored.target_of(table), stored.predict(table)["prediction"]
    found = rows_needed(EASY, y, y_pred)
    assert json.loads(done.stdout)["plan"] == json.loads(json.dumps(found.to_dict()))
    deployed = "maximize recall subject to precision >= 0.5 and churn <= 0.6"
    more = run("plan", deployed, folder / "new.csv", "--model", model, "--json")
    assert [c["rows"] is None for c in json.loads(more.stdout)["plan"]["constraints"]] == [
        False, False,
    ]  # fmt: skip


def test_what_is_not_met_ends_with_3(run):
    done = run("plan", "maximize recall subject to precision >= 0.95", *RATES)
    assert (done.exit_code, "No number of rows certifies this goal" in done.stdout) == (3, True)
    out = json.loads(
        run("plan", "maximize recall subject to precision >= 0.95", *RATES, "--json").stdout
    )
    assert (out["status"], out["plan"]["rows"]) == ("not met", None)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((), "what the rule reaches is wanted"),
        (("--rate", "recall"), "--rate is NAME=VALUE"),
        (("--rate", "recall=1", "--rate", "recall=1"), "names 'recall' twice"),
        (("--rate", "recall=1"), "takes 'prior' and two of"),
        (("--rate", "recal=1"), "'recal' is not one of"),
        ((*RATES, "--power", "1"), "is not above 0 and below 1"),
        ((*RATES, "--target", "y"), "--target is of DATA"),
        ((*RATES, "--picture", "p.gif"), "ends neither in .svg nor in .png"),
        (("PILOT", *RATES), "--rate stands in place of DATA"),
        (("PILOT", "--target", "y"), "the decisions of DATA are wanted"),
        (("PILOT", "--model", "m", "--prediction", "p"), "no --prediction, --positive"),
        (("PILOT", "--target", "y", "--prediction", "q"), "has no column 'q'"),
        (("PILOT", "--target", "y", "--prediction", "sex"), "is not a class"),
        (("none.csv", "--target", "y", "--prediction", "p"), "none.csv"),
    ],
)
def test_wrong_options(run, pilot, given, words):
    done = run("plan", GOAL, *(pilot if x == "PILOT" else x for x in given))
    assert done.exit_code == 1
    assert words in done.stderr


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("maximize recall", "has no constraint that rows could certify"),
        ("maximize recall subject to precision.on('a') >= 0.5", "takes one table"),
        ("maximize recal subject to precision >= 0.5", "recal"),
    ],
)
def test_wrong_goals(run, goal, words):
    done = run("plan", goal, *RATES, "--json")
    assert (done.exit_code, words in done.stderr) == (1, True)
    assert json.loads(done.stdout)["status"] == "error"
