"""``setpoint fit``: columns, classes, verdicts and exit codes, files, advice, Ctrl-C."""

import contextlib
import html
import json
import re
import shlex
import signal

import numpy as np
import pandas as pd
import pytest

from cli.samples import GOAL, write
from setpoint import PlugInClassifier, load_model
from thinning import over

FIT = "fit loans.csv --target y --drop id"
MODEL = "--model m.skops --goal"


def goal(bound):
    return f"maximize recall subject to precision >= {bound}"


NOWHERE = "maximize recall subject to precision >= 0.99 and recall >= 0.99"


# ---------------------------------------------------------------------- columns and classes
def test_columns_go_where_they_belong(folder):
    found = json.loads((folder / "fit.json").read_text())
    assert found["columns"] == {
        "features": {"age": "number", "income": "number", "city": "category", "since": "date"},
        "decides_on": {"sex": "category"},
        "hidden": {
            "y": "the target", "old": "what the deployed model says", "sex": "sensitive",
            "id": "dropped",
        },
        "left_out": {},
        "scores": None,
    }  # fmt: skip
    assert found["rows"] == {"fitted": 600, "held_out": 200, "certifying": 0}
    assert [found[on]["deployed"]["rows"] for on in ("fitted", "held_out")] == [600, 200]
    assert found["held_out"]["counts"]["n_rows"] == 200
    assert (found["positive"], found["goal"]) == (1, GOAL.replace("sex", '"sex"'))
    assert found["status"] == found["held_out"]["verdict"] == "too close to call"
    stored = load_model(folder / "model.skops")
    inner = stored.classifier.estimator_.named_steps["columns"]
    seen = {name for _, _, names in inner.transformers for name in names}
    assert seen == set(found["columns"]["features"])
    assert [c.name for c in stored.columns] == ["age", "income", "city", "since", "sex"]


def test_text_json_and_page(run, once, here):
    text = once(FIT, "--goal", goal(0.7))
    assert text.out.startswith(f"Too close to call on 200 rows held out.\n\nGoal: {goal(0.7)}\n")
    assert "Measured on 200 rows; the positive class is 1." in text.out
    assert f"Wrote the model to {text.model} and the page to " in text.out
    assert "note: the positive class is 1; --positive names another" in text.err
    found = once(f"{FIT} --json", "--goal", goal(0.7))
    assert found.out.count("\n") == 1
    assert json.dumps(found.json, sort_keys=True) == found.out.strip()
    again = run(f"{FIT} --json {MODEL}", goal(0.7)).json
    assert {**again, "run": None} == {**found.json, "run": None}


def test_the_rule_may_be_kept_from_looking_at_groups(run, once, here):
    asked = "maximize recall subject to precision >= 0.6 and predicted_rate.difference(sex) <= 0.4"
    found = once(f"{FIT} --json --decide-on none", "--goal", asked)
    assert found.json["columns"]["decides_on"] == {}
    assert "sex" not in found.json["columns"]["features"]
    new = (here / "new.csv").read_text("utf-8").replace(",sex,", ",_,", 1)
    (here / "bare.csv").write_text(new, "utf-8")
    assert run("predict", found.model, "bare.csv").code == 0
    assert run("evaluate --json", found.model, "new.csv").json["evaluated"]["groups"]


def test_more_classes_and_names_with_commas(run, here):
    r = np.random.default_rng(0)
    x = r.normal(size=(300, 2))
    y = np.where(x[:, 0] > 0.5, "high", np.where(x[:, 1] > 0, "mid", "low"))
    table = pd.DataFrame({"a, b": x[:, 0], "c": x[:, 1], "g": r.choice(["u", "v"], 300), "y": y})
    table.to_csv("t.csv", index=False)
    naive = "--estimator sklearn.naive_bayes.GaussianNB"
    found = run(
        f"fit t.csv --target y --sensitive g --drop 'a, b' --json {naive} {MODEL} macro_f1"
    ).json
    assert (found["positive"], found["columns"]["features"]) == (None, {"c": "number"})
    assert found["columns"]["hidden"] == {"y": "the target", "g": "sensitive", "a, b": "dropped"}
    head = run("predict m.skops t.csv").out.split("\n")[0]
    assert head.startswith("prediction,score_high,score_low,score_mid")


@over("low, high", [("no", "yes"), ("Nein", "Ja"), ("0", "1"), ("3", "7")])
def test_the_positive_class_that_is_settled_is_said(run, here, low, high):
    r = np.random.default_rng(0)
    true = r.random(200) < 0.3
    write(here / "t.csv", [f"{r.normal() + 2 * t:.3f},{high if t else low}" for t in true], "x,y")
    fit = "fit t.csv --target y --json --model m.skops"
    done = run(f"{fit} --goal f1")
    positive = done.json["positive"]
    assert str(positive) == high
    assert f"note: the positive class is {positive!r}; --positive names another" in done.err
    other = run(f"{fit} --goal f1 --positive {low}{'.0' if low.isdigit() else ''}")
    assert str(other.json["positive"]) == low
    for words in ("accuracy", f"maximize f1(label='{high}')"):
        if not high.isdigit():
            assert "the positive class is" not in other.err + run(fit, "--goal", words).err


def test_types_of_other_packages_are_trusted_by_name(run, here, monkeypatch):
    own = "from sklearn.naive_bayes import GaussianNB\nclass Own(GaussianNB):\n    pass\n"
    (here / "other.py").write_text(own)
    monkeypatch.syspath_prepend(here)
    assert "--trust other.Own" in run(f"{FIT} --estimator other.Own {MODEL} f1").err
    error = run("predict m.skops new.csv").error
    assert "other.Own" in error
    assert "--trust names" in error
    assert run("predict m.skops new.csv --trust other.Own").code == 0


# ---------------------------------------------------------------------- models that race
@pytest.fixture
def racing(monkeypatch):
    """As it is without the tests' own default."""
    monkeypatch.setattr("setpoint.tables.settings.DEFAULT", "auto")


@pytest.mark.usefixtures("racing")
def test_a_model_is_chosen_under_the_goal_reported_and_kept(run, here):
    fit = f"{FIT},since,old --report r.html {MODEL}"
    done = run(fit, goal(0.7))
    assert done.code in (0, 3, 4), done.err
    choice = load_model("m.skops").classifier.choice_
    names = [one.name for one in choice.tried]
    assert {"logistic", "boosting of 30 rounds", "boosting of 120 rounds"} <= set(names)
    assert not any("lightgbm" in name for name in names)
    assert "The model, chosen under the goal, on 600 rows, by cross-validation" in done.out
    assert f"Chosen: {choice.chosen}." in done.out
    page = (here / "r.html").read_text("utf-8")
    assert f"The model inside is {choice.chosen}, chosen under the goal, with seed 0" in page
    assert f"({choice.chosen}, chosen under the goal)" in run("show m.skops").text


def test_a_race_that_has_no_time(run, here):
    done = run(f"{FIT} --estimator auto --set max-seconds=1e-9 {MODEL}", goal(0.7))
    assert done.code in (0, 3, 4), done.err
    assert "simplest model alone was judged of 3 within 1e-09 seconds; more time (--set" in done.err
    assert "It is the simplest, and no other was judged" in done.text


# ---------------------------------------------------------------------- verdicts and exit codes
CODES = {0.4: (0, "shown"), 0.7: (4, "too close to call"), 0.9: (3, "shown to fail")}


@over("bound", CODES)
def test_the_exit_code_is_the_verdict_of_the_rows_held_out(run, here, bound):
    code, verdict = CODES[bound]
    judged = ("--judge-by", goal(bound))
    found = run(f"{FIT} --json {MODEL}", goal(0.65), *judged)
    assert (found.code, found.json["status"]) == (code, verdict)
    assert (here / "m.skops").exists()  # whatever the verdict
    accepted = run(f"{FIT} --accept too-close {MODEL}", goal(0.65), *judged)
    assert accepted.code == (0 if code == 4 else code)


def test_a_goal_without_bounds_is_measured(run, once, here):
    done = once(FIT, "--goal", "maximize f1")
    assert (done.code, done.out.split("\n")[0]) == (
        0, "The rule was measured on 200 rows held out."
    )  # fmt: skip
    found = run("evaluate --json", done.model, "new.csv").json
    assert (found["status"], found["evaluated"]["verdict"]) == ("measured", None)


def test_one_bound_to_search_with_and_another_to_be_judged_by(run, once, here):
    found = once(f"{FIT} --json", "--goal", goal(0.54), "--judge-by", goal(0.5))
    (searched,), (judged,) = (found.json[on]["constraints"] for on in ("fitted", "held_out"))
    assert (searched["bound"], searched["worked"]) == (0.54, None)
    assert (judged["bound"], judged["worked"]) == (0.5, 0.54)
    assert (found.json["goal"], found.json["held_out"]["goal"]) == (goal(0.54), goal(0.5))
    # It is the rule of the one goal, and the verdict of the other.
    plain = load_model(once(f"{FIT} --json", "--goal", goal(0.54)).model)
    assert plain.classifier.rule_ == load_model(found.model).classifier.rule_
    assert plain.judge_by is None
    # So later months are, unless a goal is named; a frontier is of what was searched with.
    judge = ("evaluate --json", found.model, "new.csv")
    for more, bounds in (((), (0.5, 0.54)), (("--goal", goal(0.54)), (0.54, None))):
        (entry,) = run(*judge, *more).json["evaluated"]["constraints"]
        assert (entry["bound"], entry["worked"]) == bounds
    assert run("frontier --json", found.model, "new.csv").json["frontier"]["asked"] == 0.54


# ---------------------------------------------------------------------- advice
def commands_of(page):
    """What a page has to paste."""
    found = re.findall(r'<pre class="command"[^>]*>(.*?)</pre>', page, re.DOTALL)
    return [html.unescape(one) for one in found]


def paste(run, command):
    program, *words = shlex.split(command)
    assert program == "setpoint"
    return run("", *words)


@over("more", ["", "--test-size 0"])
def test_advice_can_be_pasted_and_comes_once(run, here, more):
    first = run(f"{FIT} --report r.html --set seed=1 {more} {MODEL}", goal(0.7))
    assert first.code == 4
    assert "Search with at least" in first.text
    (command,) = commands_of((here / "r.html").read_text("utf-8"))
    assert f"\nTo search with the margin:\n  {command}\n" in first.out
    assert f"--judge-by '{goal(0.7)}'" in command
    assert "--test-size" not in command  # rows held out are what it is judged by
    done = paste(run, command)
    assert done.code in (0, 4), done.err
    assert f"\nGoal: {goal(0.7)}\n" in done.out
    assert commands_of((here / "r.html").read_text("utf-8")) == []
    # With a margin there is no second one, neither now nor on the rows of another month.
    later = run("evaluate m.skops checked.csv --report r.html")
    assert later.code == 4, later.err
    assert "earch with" not in done.out + later.out
    assert commands_of((here / "r.html").read_text("utf-8")) == []
    assert "The rule was searched with a margin already" in later.text


def test_a_goal_that_no_rule_meets_says_what_is_reachable(run, here):
    fit = f"{FIT} --report r.html {MODEL}"
    done = run(fit, NOWHERE)
    assert (done.code, (here / "m.skops").exists()) == (3, False)
    assert "so no model was written" in done.out
    assert "highest reachable" in done.out
    assert "on_infeasible" not in done.out
    found = run(fit, NOWHERE, "--json").json
    assert found["status"] == "infeasible"
    page = html.unescape((here / "r.html").read_text("utf-8"))
    commands = [c for c in commands_of(page) if c.startswith("setpoint ")]
    assert len(commands) == len(found["goals"]) > 0
    for near, command in zip(found["goals"], commands, strict=True):
        assert near in page
        assert paste(run, command).code in (0, 4, 3)  # each can be met on the same scores
        (here / "m.skops").unlink()


# ---------------------------------------------------------------------- doubtful columns
def test_columns_that_know_too_much_are_noted(run, here):
    """A date that is filled in for those who leave, and a group in disguise."""
    r = np.random.default_rng(0)
    leaves, black = r.random(600) < 0.3, r.random(600) < 0.5
    table = pd.DataFrame({"x": r.normal(leaves, 1.0).round(3), "race_black": black.astype(int)})
    table["cancelled"] = np.where(leaves, "2024-05-01", "")
    table["race"], table["y"] = np.where(black, "b", "w"), np.where(leaves, "yes", "no")
    table.to_csv("t.csv", index=False)
    fit = f"fit t.csv --target y --sensitive race --report r.html {MODEL}"
    done = run(fit, goal(0.3))
    page = html.unescape((here / "r.html").read_text("utf-8"))
    for words in (
        "The column cancelled alone decides y: ",
        "The column race_black says which group of race a row is of, ",
    ):
        assert f"note: {words}" in done.err
        assert words in page
    # What the deployed model looks at is not a leak.
    table["old"] = np.where(black, "yes", "no")
    table.drop(columns=["cancelled", "race"]).to_csv("t.csv", index=False)
    assert "says which" not in run(f"fit t.csv --target y --baseline old {MODEL}", goal(0.3)).err


def test_few_rows_of_the_search_are_not_taken_for_those_that_judge(run, here):
    lines = (here / "loans.csv").read_text("utf-8").splitlines()
    (here / "few.csv").write_text("\n".join(lines[:200]) + "\n", "utf-8")
    done = run(f"fit few.csv --target y --drop id {MODEL}", goal(0.5))
    few = "precision >= 0.5: measured on few rows"
    notes = [line for line in done.err.split("\n") if few in line]
    assert [line.split(few)[0] for line in notes] == ["note: where the rule was chosen: "]
    assert f"\n{few}" in done.out


def test_a_column_that_one_word_keeps_from_being_a_number_is_not_lost_in_silence(run, here):
    r = np.random.default_rng(0)
    table = pd.DataFrame({"a": r.normal(size=200).round(3).astype(str), "b": r.normal(size=200)})
    table["y"] = np.where(table.b > 0, "yes", "no")
    table.loc[7, "a"] = "?"
    table.to_csv("t.csv", index=False)
    done = run(f"fit t.csv --target y {MODEL} f1")
    assert "column 'a' has 1 value that is not a number (first: '?' in line 9)" in done.err
    assert "the model does not look at column 'a'" in done.err


# ---------------------------------------------------------------------- stopped
def test_a_failing_page_leaves_the_model_and_says_so(run, here, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    (here / "r.html").write_text("old")
    monkeypatch.setattr("setpoint.report.GoalReport.to_html", full)
    done = run(f"{FIT} --report r.html {MODEL}", goal(0.7))
    assert done.code == 1
    assert done.err.splitlines()[-1] == (
        "error: r.html cannot be written: No space left on device; the old r.html stays; "
        "m.skops was written"
    )
    assert (here / "r.html").read_text() == "old"
    assert load_model("m.skops").target == "y"


def test_ctrl_c_writes_nothing_or_says_what_is_written(run, here, monkeypatch):
    """A search that Ctrl-C ends returns its best rule; at a shell that is not wanted."""
    real = PlugInClassifier.fit

    def interrupted(self, *args, **kw):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return real(self, *args, **kw)

    def stop(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(PlugInClassifier, "fit", interrupted)
        done = run(f"{FIT} {MODEL}", goal(0.7))
    assert (done.code, done.out) == (130, "")
    assert done.err.splitlines()[-1] == "stopped; nothing was written"
    assert not (here / "m.skops").exists()
    monkeypatch.setattr("setpoint.cli.fit.shell.print_json", stop)
    done = run(f"{FIT} --json {MODEL}", goal(0.7))
    assert done.code == 130
    assert done.err.endswith("stopped; m.skops was written\n")
