"""``setpoint plan``: rows that certify a goal, from a table, a model or stated rates."""

import json

import pandas as pd
import pytest

from setpoint import load_model, rows_needed
from setpoint.tables import labels_of, read_table

RECALL = "maximize precision subject to recall >= 0.9"
GAP = "maximize precision subject to recall.difference(sex) <= 0.3"
RATES = ("--rate", "prior=0.1", "--rate", "recall=93%")


def plan_of(done):
    assert done.exit_code in (0, 3), done.stderr
    return json.loads(done.stdout)["plan"]


def same(plan, found):
    return plan == json.loads(json.dumps(found.to_dict()))


def test_stated_rates_agree_with_the_library(run, tmp_path):
    found = rows_needed(RECALL, rates={"prior": 0.1, "recall": 0.93})
    done = run("plan", RECALL, *RATES, "--json")
    assert same(plan_of(done), found)
    assert done.exit_code == 0
    picture = tmp_path / "rows.svg"
    text = run("plan", RECALL, *RATES, "--picture", picture)
    assert text.stdout == f"{found}\n\nWrote the picture to {picture}.\n"
    assert picture.read_text("utf-8").count("<svg") == 1


def test_confidence_and_power(run):
    asked = ("--confidence", "99%", "--power", "0.9")
    found = rows_needed(RECALL, rates={"prior": 0.1, "recall": 0.93}, confidence=0.99, power=0.9)
    assert same(plan_of(run("plan", RECALL, *RATES, *asked, "--json")), found)
    done = run("plan", RECALL, *RATES, "--confidence", "95")
    assert (done.exit_code, "is not above 0 and below 1" in done.stderr) == (1, True)


def test_groups_are_stated_one_by_one(run):
    two = {"share": 0.5, "prior": 0.2, "recall": 0.8}
    rates = {"sex=f": two, "sex=m": {**two, "recall": 0.7}}
    options = [f"--rate={g}:{name}={x}" for g, of in rates.items() for name, x in of.items()]
    assert same(plan_of(run("plan", GAP, *options, "--json")), rows_needed(GAP, rates=rates))


def test_a_table_with_decisions(run, folder):
    table = pd.read_csv(folder / "new.csv", keep_default_na=False)
    beside = {"sensitive_features": {"sex": table["sex"]}}
    found = rows_needed(GAP, table["y"], table["old"], **beside)
    done = run("plan", GAP, folder / "new.csv", "--target", "y", "--prediction", "old", "--json")
    assert same(plan_of(done), found)


def test_a_further_table(run, folder):
    goal = "maximize precision subject to recall.on('checked') >= 0.3"
    options = ("--target", "y", "--prediction", "old", "--json")
    done = run(
        "plan", goal, folder / "new.csv", *options, f"--dataset=checked={folder}/checked.csv"
    )
    rows, checked = (pd.read_csv(folder / f"{name}.csv") for name in ("new", "checked"))
    found = rows_needed(
        goal, rows["y"], rows["old"], datasets={"checked": (checked["y"], checked["old"])}
    )
    assert same(plan_of(done), found)
    missing = run("plan", goal, folder / "new.csv", *options)
    assert "give its table, --dataset checked=FILE" in missing.stderr


def test_a_model_decides(run, folder, model):
    stored = load_model(model)
    table = read_table(folder / "new.csv", columns=stored.columns)
    X = stored.frame(table)
    found = rows_needed(
        GAP,
        labels_of(table, stored.target, stored.classifier.classes_),
        stored.classifier.predict(X),
        sensitive_features=X,
    )
    done = run("plan", GAP, folder / "new.csv", "--model", model, "--json")
    assert same(plan_of(done), found)


def test_a_bound_that_is_not_met_ends_with_3(run):
    rates = ("--rate", "prior=0.1", "--rate", "recall=0.84")
    done = run("plan", RECALL, *rates)
    assert done.exit_code == 3
    assert "recall >= 0.9: at 0.84 it is not met" in done.stdout
    assert "no number of rows certifies it" in done.stdout
    out = json.loads(run("plan", RECALL, *rates, "--json").stdout)
    assert (out["status"], out["plan"]["rows"]) == ("not met", None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "name a table with labels and decisions, or state rates with --rate prior=0.1"),
        (("t.csv", *RATES), "one of the two is wanted"),
        (("t.csv", "--target", "y"), "--prediction COL, or from a model file, --model FILE"),
        (("t.csv", "--prediction", "p"), "name the column with the labels, --target COL"),
        ((*RATES, "--target", "y"), "--target belongs to a table, and --rate needs none"),
        (("t.csv", "--model", "m", "--positive", "1"), "the model file knows the positive class"),
        (("--rate", "prior"), "--rate is NAME=SHARE, as in recall=0.85, got 'prior'"),
        ((*RATES, "--rate", "prior=0.2"), "--rate names 'prior' twice"),
        (("--rate", "recal=0.2"), "--rate: 'recal' is not a rate that can be stated"),
        ((*RATES, "--rate", "recall=x"), "got 'recall=x'"),
        ((*RATES, "--picture", "a.jpg"), "ends neither in .svg nor in .png"),
        (("none.csv", "--target", "y", "--prediction", "p"), "none.csv"),
    ],
)
def test_wrong_options_are_named(run, options, words):
    done = run("plan", RECALL, *options)
    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr


def test_groups_that_are_missing_are_asked_for_in_options(run):
    done = run("plan", GAP, *RATES)
    assert "--rate: the goal names the column 'sex', so each group has its own" in done.stderr
    assert "under 'sex=a', 'sex=b' and so on" in done.stderr


def test_columns_that_are_missing_are_named(run, folder):
    done = run("plan", RECALL, folder / "new.csv", "--target", "y", "--prediction", "odl")
    assert "new.csv has no column 'odl'" in done.stderr
