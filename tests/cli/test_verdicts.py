"""Verdicts at the shell: exit codes, the goal that is meant, advice that can be pasted."""

import html
import json
import re
import shlex

import numpy as np
import pandas as pd
import pytest

from setpoint import load_model

PRECISION = "maximize recall subject to precision >= {}"


def goal(bound):
    return PRECISION.format(bound)


@pytest.fixture
def fit(run, folder, tmp_path):
    def invoke(asked, *more):
        return run(
            "fit", folder / "loans.csv", "--target", "y", "--drop", "id", "--goal", asked,
            "--model", tmp_path / "m.skops", *more,
        )  # fmt: skip

    return invoke


def commands_of(page):
    """What a page has to paste."""
    found = re.findall(r'<pre class="command"[^>]*>(.*?)</pre>', page.read_text("utf-8"), re.DOTALL)
    return [html.unescape(one) for one in found]


def paste(run, command):
    program, *words = shlex.split(command)
    assert program == "setpoint"
    return run(*words)


# ---------------------------------------------------------------------- exit codes
CODES = [(0.4, 0, "shown"), (0.7, 4, "too close to call"), (0.9, 3, "shown to fail")]


@pytest.mark.parametrize(
    ("bound", "code", "verdict"), [CODES[0], (0.63, 4, "too close to call"), CODES[2]]
)
def test_evaluate_ends_with_the_code_of_its_verdict(
    fit, run, folder, tmp_path, bound, code, verdict
):
    assert fit(goal(0.7)).exit_code == 4
    args = ("evaluate", tmp_path / "m.skops", folder / "new.csv", "--goal", goal(bound))
    done = run(*args)
    assert done.exit_code == code
    assert done.stdout.startswith(f"{verdict[0].upper()}{verdict[1:]} on 300 rows.\n")
    found = run(*args, "--json")
    out = json.loads(found.stdout)
    assert (found.exit_code, out["status"], out["evaluated"]["verdict"]) == (code, verdict, verdict)
    accepted = run(*args, "--accept", "too-close")
    assert accepted.exit_code == (0 if code == 4 else code)
    assert accepted.stdout == done.stdout


@pytest.mark.parametrize(("bound", "code", "verdict"), CODES)
def test_fit_ends_with_the_code_of_its_verdict(fit, tmp_path, bound, code, verdict):
    done = fit(goal(0.65), "--judge-by", goal(bound), "--json")
    out = json.loads(done.stdout)
    assert (done.exit_code, out["status"]) == (code, verdict)
    assert (tmp_path / "m.skops").exists()  # whatever the verdict
    accepted = fit(goal(0.65), "--judge-by", goal(bound), "--accept", "too-close")
    assert accepted.exit_code == (0 if code == 4 else code)


def test_a_goal_without_bounds_is_measured(fit, run, folder, tmp_path):
    done = fit("maximize f1")
    assert (done.exit_code, done.stdout.split("\n")[0]) == (
        0, "The rule was measured on 200 rows held out.",
    )  # fmt: skip
    out = json.loads(run("evaluate", tmp_path / "m.skops", folder / "new.csv", "--json").stdout)
    assert (out["status"], out["evaluated"]["verdict"]) == ("measured", None)


def test_what_is_accepted_is_named(fit, tmp_path):
    done = fit(goal(0.7), "--accept", "anything")
    assert done.exit_code == 1
    assert "'too-close'" in done.stderr
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- two bounds
def test_evaluate_judges_by_another_goal_and_says_both_bounds(fit, run, folder, tmp_path):
    fit(goal(0.54))
    args = ("evaluate", tmp_path / "m.skops", folder / "new.csv", "--goal", goal(0.5))
    (entry,) = json.loads(run(*args, "--json").stdout)["evaluated"]["constraints"]
    assert (entry["bound"], entry["worked"], entry["text"]) == (0.5, 0.54, "precision >= 0.5")
    assert entry["slack"] == pytest.approx(entry["value"] - 0.5)
    text = run(*args).stdout
    assert f"\nGoal: {goal(0.5)}\n" in text
    assert "at least 50 % asked: " in text
    assert " (searched with 54 %)\n" in text
    # Other sides are another goal: nothing was searched with for them.
    other = run(*args[:-1], "maximize precision subject to recall >= 0.2", "--json")
    (entry,) = json.loads(other.stdout)["evaluated"]["constraints"]
    assert (entry["bound"], entry["worked"]) == (0.2, None)


def test_fit_searches_with_one_bound_and_is_judged_by_another(fit, run, folder, tmp_path):
    done = fit(goal(0.54), "--judge-by", goal(0.5), "--json")
    out = json.loads(done.stdout)
    (searched,), (judged,) = (out[on]["constraints"] for on in ("fitted", "held_out"))
    assert (searched["bound"], searched["worked"]) == (0.54, None)
    assert (judged["bound"], judged["worked"]) == (0.5, 0.54)
    assert (out["goal"], out["held_out"]["goal"]) == (goal(0.54), goal(0.5))
    # The bound alone differs: it is the rule of the one goal, and the verdict of the other.
    rule = load_model(tmp_path / "m.skops").classifier.rule_
    fit(goal(0.54))
    plain = load_model(tmp_path / "m.skops")
    assert plain.classifier.rule_.to_json() == rule.to_json()
    assert plain.judge_by is None


def test_later_months_are_judged_by_what_is_meant(fit, run, folder, tmp_path):
    fit(goal(0.54), "--judge-by", goal(0.5))
    args = ("evaluate", tmp_path / "m.skops", folder / "new.csv", "--json")
    (entry,) = json.loads(run(*args).stdout)["evaluated"]["constraints"]
    assert (entry["bound"], entry["worked"]) == (0.5, 0.54)
    (entry,) = json.loads(run(*args, "--goal", goal(0.54)).stdout)["evaluated"]["constraints"]
    assert (entry["bound"], entry["worked"]) == (0.54, None)
    # A frontier is of the goal that was searched with.
    assert json.loads(run("frontier", *args[1:]).stdout)["frontier"]["asked"] == 0.54


@pytest.mark.parametrize(
    ("other", "more", "words"),
    [
        ("maximize recall subject to accuracy >= 0.5", (), "differs from '"),
        ("maximize recall subject to precision <= 0.5", (), "differs from '"),
        ("maximize precision subject to precision >= 0.5", (), "differs from '"),
        ("maximize recall", (), "evaluate the model by another goal afterwards"),
        (goal(0.5), ("--test-size", "0"), "and --test-size 0 leaves none"),
        ("maximize recal", (), "unknown word 'recal'"),
    ],
)
def test_what_fit_cannot_be_judged_by(fit, tmp_path, other, more, words):
    done = fit(goal(0.54), "--judge-by", other, *more)
    assert (done.exit_code, done.stdout) == (1, "")
    assert words in done.stderr
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------------- advice
@pytest.mark.parametrize("more", [(), ("--test-size", "0")])
def test_advice_can_be_pasted_and_comes_once(fit, run, folder, tmp_path, more):
    page = tmp_path / "r.html"
    first = fit(goal(0.7), "--report", page, "--set", "seed=1", *more)
    assert first.exit_code == 4
    assert "Search with at least" in " ".join(first.stdout.split())
    (command,) = commands_of(page)
    assert f"\nTo search with the margin:\n  {command}\n" in first.stdout
    assert f"--judge-by '{goal(0.7)}'" in command
    assert "--test-size" not in command  # rows held out are what it is judged by
    done = paste(run, command)
    assert done.exit_code in (0, 4), done.stderr
    judged = run("evaluate", tmp_path / "m.skops", folder / "new.csv", "--json")
    (entry,) = json.loads(judged.stdout)["evaluated"]["constraints"]
    assert (entry["bound"], entry["text"]) == (0.7, "precision >= 0.7")
    assert entry["worked"] > 0.7
    assert f"\nGoal: {goal(0.7)}\n" in done.stdout
    # With a margin there is no second one, neither now nor on the rows of another month.
    later = run("evaluate", tmp_path / "m.skops", folder / "checked.csv", "--report", page)
    assert later.exit_code == 4, later.stderr
    for text in (done.stdout, later.stdout):
        assert "Search with" not in text
        assert "To search with" not in text
    assert commands_of(page) == []
    assert "The rule was searched with a margin already" in " ".join(later.stdout.split())
    paste(run, command)
    assert commands_of(page) == []


# ---------------------------------------------------------------------- a goal out of reach
def test_a_page_where_no_rule_meets_the_goal(fit, run, tmp_path):
    asked = "maximize recall subject to precision >= 0.99 and recall >= 0.99"
    page, model = tmp_path / "r.html", tmp_path / "m.skops"
    done = fit(asked, "--report", page, "--json")
    out = json.loads(done.stdout)
    assert (done.exit_code, out["status"], model.exists()) == (3, "infeasible", False)
    text = html.unescape(page.read_text("utf-8"))
    assert out["goals"]
    for near in out["goals"]:
        assert near in text
    commands = [c for c in commands_of(page) if c.startswith("setpoint ")]
    assert len(commands) == len(out["goals"])
    for command in commands:  # each can be met on the same scores
        assert paste(run, command).exit_code in (0, 4, 3)
        assert model.exists()
        model.unlink()


# ---------------------------------------------------------------------- too good to be true
@pytest.fixture
def leaking(tmp_path):
    """A date that is filled in for those who leave, and a group in disguise."""
    r = np.random.default_rng(0)
    leaves = r.random(600) < 0.3
    race = r.choice(["black", "white"], 600)
    table = pd.DataFrame(
        {
            "x": r.normal(leaves, 1.0).round(3),
            "cancelled": np.where(leaves, "2024-05-01", ""),
            "race_black": (race == "black").astype(int),
            "race": race,
            "y": np.where(leaves, "yes", "no"),
        }
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def test_columns_that_know_too_much_are_noted(run, leaking, tmp_path):
    page = tmp_path / "r.html"
    asked = "maximize recall subject to precision >= 0.3"
    args = ("fit", leaking, "--target", "y", "--goal", asked, "--sensitive", "race",
            "--model", tmp_path / "m.skops", "--report", page)  # fmt: skip
    done = run(*args)
    alone = "The column cancelled alone decides y: "
    disguised = "The column race_black says which group of race a row is of, "
    text = html.unescape(page.read_text("utf-8"))
    for words in (alone, disguised):
        assert f"note: {words}" in done.stderr
        assert words in text
    clean = run(*args, "--drop", "cancelled,race_black", "--json")
    assert not any(" alone decides " in note for note in json.loads(clean.stdout)["notes"])
    text = page.read_text("utf-8")
    assert "alone decides" not in text
    assert "says which group" not in text


def test_what_the_deployed_model_looks_at_is_not_a_leak(run, leaking, tmp_path):
    table = pd.read_csv(leaking, keep_default_na=False).drop(columns=["cancelled", "race"])
    table["old"] = np.where(table.race_black == 1, "yes", "no")
    table.to_csv(leaking, index=False)
    done = run(
        "fit", leaking, "--target", "y", "--goal", "maximize recall subject to precision >= 0.3",
        "--baseline", "old", "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert done.exit_code in (0, 3, 4), done.stderr
    assert "says which group" not in done.stderr


# ---------------------------------------------------------------------- whose rows
def test_evaluating_the_rows_of_the_fit_says_so(fit, run, folder, tmp_path):
    fit(goal(0.7))
    args = ("evaluate", tmp_path / "m.skops")
    done = run(*args, folder / "loans.csv", "--json")
    assert json.loads(done.stdout)["evaluated"]["counts"]["seen"] == 0.75
    first = run(*args, folder / "loans.csv").stdout.split("\n")[0]
    assert first.endswith(" on 800 rows, 75.0 % of which the model was fitted on.")
    words = "75.0 % of these rows are among those that the model was fitted on"
    page = tmp_path / "r.html"
    assert words in " ".join(run(*args, folder / "loans.csv", "--report", page).stdout.split())
    assert words in page.read_text("utf-8")
    done = run(*args, folder / "new.csv", "--json")
    assert json.loads(done.stdout)["evaluated"]["counts"]["seen"] == 0.0
    assert "was fitted on" not in run(*args, folder / "new.csv").stdout


def test_few_rows_of_the_search_are_not_taken_for_those_that_judge(run, folder, tmp_path):
    lines = (folder / "loans.csv").read_text("utf-8").splitlines()[:200]
    (tmp_path / "few.csv").write_text("\n".join(lines) + "\n", "utf-8")
    done = run(
        "fit", tmp_path / "few.csv", "--target", "y", "--drop", "id", "--goal", goal(0.5),
        "--model", tmp_path / "m.skops",
    )  # fmt: skip
    few = "precision >= 0.5: measured on few rows"
    notes = [line for line in done.stderr.split("\n") if few in line]
    assert [line.split(few)[0] for line in notes] == ["note: where the rule was chosen: "]
    assert f"\n{few}" in done.stdout


def test_the_class_and_the_rows_stand_above_the_numbers(fit, run, folder, tmp_path):
    fit(goal(0.7))
    text = run("evaluate", tmp_path / "m.skops", folder / "new.csv").stdout
    top = text.partition("What was reached")[0]
    assert "\nMeasured on 300 rows; the positive class is 1.\n" in top


# ---------------------------------------------------------------------- errors for programs
@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("evaluate", "none.skops", "none.csv"), "none.skops"),
        (("frontier", "none.skops", "none.csv"), "none.skops"),
        (("fit", "none.csv", "--target", "y", "--goal", "f1", "--model", "m"), "none.csv"),
        (("fit", "none.csv", "--colour", "red"), "--colour"),
        (("goal", "maximize recal"), "unknown word 'recal'"),
        (("goal", "recal"), "there is no metric 'recal'"),
    ],
)
def test_an_error_is_an_object_for_who_asked_for_json(run, args, words):
    done = run(*args, "--json")
    assert done.exit_code == 1
    assert done.stdout.count("\n") == 1
    out = json.loads(done.stdout)
    assert json.dumps(out, sort_keys=True) == done.stdout.strip()
    assert set(out) == {"command", "status", "error", "kind", "arguments"}
    assert (out["command"], out["status"]) == (args[0], "error")
    assert words in out["error"]
    assert done.stderr.splitlines()[-1] == f"error: {out['error']}"
    assert run(*args).stdout == ""


def test_lines_of_json_hold_rows_and_not_errors(run):
    done = run("predict", "none.skops", "none.csv", "--json")
    assert (done.exit_code, done.stdout) == (1, "")
