"""``setpoint monitor``: a stored model, watched from the shell."""

import json

import pandas as pd
import pytest

from setpoint import Monitor, load_model
from setpoint.tables import labels_of, read_table

GOAL = "maximize recall subject to precision >= 0.55 and predicted_rate <= 0.6"
IMPOSSIBLE = "maximize recall subject to precision >= 0.999"


def part(folder, path, rows, drop=()):
    table = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    table.iloc[rows].drop(columns=list(drop)).to_csv(path, index=False)
    return path


def test_it_agrees_with_the_library_and_goes_on_from_its_state(run, folder, model, tmp_path):
    first = part(folder, tmp_path / "a.csv", slice(0, 120))
    second = part(folder, tmp_path / "b.csv", slice(120, 300))
    state = tmp_path / "s.watch"
    given = ("--goal", GOAL, "--state", state)
    one = run("monitor", model, first, *given)
    assert one.exit_code == 0, one.stderr
    assert one.stdout.startswith("No alarm after 120 rows.\n\nGoal: maximize recall subject to")
    assert f"Wrote the state to {state}." in one.stdout
    two = run("monitor", model, second, *given, "--json")
    out = json.loads(two.stdout)
    stored = load_model(model)
    table = read_table(folder / "new.csv", columns=stored.columns)
    monitor = Monitor(stored.classifier, GOAL)
    monitor.update(stored.frame(table), labels_of(table, stored.target, stored.classifier.classes_))
    assert json.loads(state.read_text("utf-8")) == json.loads(json.dumps(monitor.to_dict()))
    assert (out["status"], out["rows"], out["new_rows"]) == ("no alarm", 300, 180)
    assert [s["wealth"] for s in out["statements"]] == monitor.wealth_.tolist()
    assert [s["needs_labels"] for s in out["statements"]] == [True, False]
    assert out["alarms"] == []


def test_an_alarm_ends_with_3_and_stays(run, folder, model, tmp_path):
    state, picture = tmp_path / "s.watch", tmp_path / "p.svg"
    given = ("--goal", IMPOSSIBLE, "--state", state)
    done = run("monitor", model, folder / "new.csv", *given, "--picture", picture)
    assert done.exit_code == 3, done.stderr
    assert done.stdout.startswith("Alarm at row ")
    assert "precision >= 0.999: broken, seen at row " in done.stdout
    assert picture.read_bytes().startswith(b"<?xml")
    again = run("monitor", model, folder / "new.csv", *given, "--json")
    out = json.loads(again.stdout)
    assert (again.exit_code, out["status"], out["rows"]) == (3, "alarm", 600)
    assert [a["new"] for a in out["alarms"]] == [False]


def test_rows_without_labels_and_the_labels_later(run, folder, model, tmp_path):
    bare = part(folder, tmp_path / "bare.csv", slice(0, 300), drop=["y"])
    given = ("--goal", GOAL, "--alpha", 0.01, "--no-restart", "--json")
    state = tmp_path / "s.watch"
    done = run("monitor", model, bare, *given, "--no-labels", "--state", state)
    assert done.exit_code == 0, done.stderr
    late = run("monitor", model, folder / "new.csv", *given, "--late-labels", "--state", state)
    whole = run("monitor", model, folder / "new.csv", *given)
    before, after, at_once = (json.loads(x.stdout)["statements"] for x in (done, late, whole))
    assert before[0]["wealth"] == 1.0
    assert [s["wealth"] for s in after] == [s["wealth"] for s in at_once]
    assert before[1]["wealth"] == after[1]["wealth"] != 1.0


def test_the_goal_is_that_of_the_fit_groups_and_all(run, folder, model):
    done = run("monitor", model, folder / "new.csv", "--json")
    out = json.loads(done.stdout)
    assert [s["text"].split(" (")[0] for s in out["statements"]] == [
        "precision >= 0.7",
        'recall.difference("sex") <= 0.3',
        'recall.difference("sex") <= 0.3',
    ]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (("--goal", "maximize recall subject to precision >= 0.56"), "is of another goal"),
        (("--goal", GOAL, "--alpha", 0.5), "is of another alpha"),
        (("--goal", GOAL, "--no-restart"), "is of another --no-restart"),
    ],
)
def test_a_state_of_something_else_is_refused_and_stays(
    run, folder, model, tmp_path, changed, words
):
    state = tmp_path / "s.watch"
    run("monitor", model, folder / "new.csv", "--goal", GOAL, "--state", state)
    before = state.read_bytes()
    done = run("monitor", model, folder / "new.csv", *changed, "--state", state)
    assert done.exit_code == 1
    assert f"error: --state: {state}: the state {words}" in done.stderr
    assert state.read_bytes() == before


def test_a_state_of_another_model(run, folder, model, tmp_path):
    state, other = tmp_path / "s.watch", tmp_path / "m.skops"
    run("fit", folder / "new.csv", "--target", "y", "--goal", GOAL, "--drop", "id,old",
        "--test-size", "0", "--model", other)  # fmt: skip
    run("monitor", other, folder / "new.csv", "--goal", GOAL, "--state", state)
    done = run("monitor", model, folder / "new.csv", "--goal", GOAL, "--state", state)
    assert (done.exit_code, "the state is of another model" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("no json", "is not a state of setpoint monitor"),
        ("[1]", "is not a state of setpoint monitor"),
        ('{"format": 7}', "a state of a Monitor of format 1 is read here"),
    ],
)
def test_a_file_that_holds_no_state(run, folder, model, tmp_path, text, words):
    (tmp_path / "s").write_text(text, "utf-8")
    done = run("monitor", model, folder / "new.csv", "--state", tmp_path / "s", "--json")
    assert (done.exit_code, words in done.stderr) == (1, True)
    assert json.loads(done.stdout)["status"] == "error"
    assert (tmp_path / "s").read_text("utf-8") == text


def test_a_damaged_state(run, folder, model, tmp_path):
    state = tmp_path / "s"
    run("monitor", model, folder / "new.csv", "--state", state)
    stored = json.loads(state.read_text("utf-8"))
    del stored["wealth"]["clock"]
    state.write_text(json.dumps(stored), "utf-8")
    done = run("monitor", model, folder / "new.csv", "--state", state)
    assert (done.exit_code, "the state is damaged" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--picture", "p.gif"), "ends neither in .svg nor in .png"),
        (("--goal", "maximize recall"), "has no constraint to watch"),
        (("--goal", "maximize f1 subject to g_mean >= 0.5"), "cannot be watched row by row"),
        (("--goal", "maximize f1 subject to recall.min(old) >= 0.1"), "--goal compares groups"),
        (("--goal", "maximize f1 subject to recall.on('a') >= 0.1"), "one table is taken here"),
        (("--no-labels", "--goal", IMPOSSIBLE), "every constraint needs labels"),
        (("--no-labels", "--late-labels"), "--late-labels is for rows with labels"),
        (("--late-labels",), "--late-labels goes on from the --state"),
        (("--alpha", "1"), "--alpha"),
        (("--target", "truth"), "has no column 'truth'"),
    ],
)
def test_wrong_options(run, folder, model, given, words):
    done = run("monitor", model, folder / "new.csv", *given)
    assert done.exit_code == 1
    assert words in done.stderr


def test_wrong_files(run, folder, model, tmp_path):
    missing = run("monitor", model, tmp_path / "none.csv")
    assert (missing.exit_code, "none.csv" in missing.stderr) == (1, True)
    table = run("monitor", folder / "new.csv", folder / "new.csv")
    assert table.exit_code == 1
    same = run("monitor", model, folder / "new.csv", "--state", model)
    assert (same.exit_code, "would overwrite MODEL" in same.stderr) == (1, True)
