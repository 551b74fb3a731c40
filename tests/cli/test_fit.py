"""``setpoint fit``: columns, classes, verdicts and exit codes, files, advice, Ctrl-C."""

import contextlib
import html
import json
import re
import shlex
import signal

import numpy as np

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


def test_the_rule_may_be_kept_from_looking_at_groups(run, here):
    asked = "maximize recall subject to precision >= 0.6 and predicted_rate.difference(sex) <= 0.4"
    columns = run(f"{FIT} --json --decide-on none {MODEL}", asked).json["columns"]
    assert (columns["decides_on"], columns["hidden"]["sex"]) == ({}, "sensitive")
    assert "sex" not in columns["features"]
    assert run("evaluate --json m.skops new.csv").json["evaluated"]["groups"]


@over("low, high", [("Nein", "Ja"), ("3", "7")])
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


def test_a_race_that_has_no_time(run, here):
    done = run(f"{FIT} --estimator auto --set max-seconds=1e-9 {MODEL}", goal(0.7))
    assert done.code in (0, 3, 4), done.err
    assert "simplest model alone was judged of 3 within 1e-09 seconds; more time (--set" in done.err
    assert "It is the simplest, and no other was judged" in done.text


# ---------------------------------------------------------------------- verdicts and exit codes
@over(
    "judged_by, code, verdict",
    [
        (goal(0.4), 0, "shown"),
        (goal(0.7), 4, "too close to call"),
        (goal(0.9), 3, "shown to fail"),
        ("maximize recall", 0, "measured"),
    ],
)
def test_the_exit_code_is_the_verdict_of_the_rows_held_out(run, here, judged_by, code, verdict):
    searched, more = goal(0.65), ("--judge-by", judged_by)
    if verdict == "measured":
        searched, more = judged_by, ()
    accept = "--accept too-close" if code == 3 else ""  # a verdict that stays what it is
    found = run(f"{FIT} --json {accept} {MODEL}", searched, *more)
    assert (found.code, found.json["status"]) == (code, verdict)
    assert (here / "m.skops").exists()  # whatever the verdict
    if code == 4:
        assert run(f"{FIT} --accept too-close {MODEL}", searched, *more).code == 0


def test_one_bound_to_search_with_and_another_to_be_judged_by(run, here):
    found = run(f"{FIT} --json {MODEL}", goal(0.54), "--judge-by", goal(0.5)).json
    (searched,), (judged,) = (found[on]["constraints"] for on in ("fitted", "held_out"))
    assert (searched["bound"], searched["worked"]) == (0.54, None)
    assert (judged["bound"], judged["worked"]) == (0.5, 0.54)
    assert (found["goal"], found["held_out"]["goal"]) == (goal(0.54), goal(0.5))
    # So later months are, unless a goal is named; a frontier is of what was searched with.
    judge = "evaluate --json m.skops new.csv"
    for more, bounds in (((), (0.5, 0.54)), (("--goal", goal(0.54)), (0.54, None))):
        (entry,) = run(judge, *more).json["evaluated"]["constraints"]
        assert (entry["bound"], entry["worked"]) == bounds
    assert run("frontier --json m.skops new.csv").json["frontier"]["asked"] == 0.54


# ---------------------------------------------------------------------- advice
def commands_of(page):
    """What a page has to paste."""
    found = re.findall(r'<pre class="command"[^>]*>(.*?)</pre>', page, re.DOTALL)
    return [html.unescape(one) for one in found]


def paste(run, command):
    program, *words = shlex.split(command)
    assert program == "setpoint"
    return run("", *words)


def test_advice_can_be_pasted_and_comes_once(run, here):
    first = run(f"{FIT} --report r.html --set seed=1 --test-size 0 {MODEL}", goal(0.7))
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
    later = run("evaluate m.skops checked.csv")
    assert later.code == 4, later.err
    assert "earch with" not in done.out + later.out
    assert "The rule was searched with a margin already" in later.text


def test_a_goal_that_no_rule_meets_says_what_is_reachable(run, here):
    done = run(f"{FIT} --report r.html {MODEL}", NOWHERE)
    assert (done.code, (here / "m.skops").exists()) == (3, False)
    assert "so no model was written" in done.out
    assert "highest reachable" in done.out
    assert "on_infeasible" not in done.out
    found = run(f"{FIT} {MODEL}", NOWHERE, "--json").json
    assert found["status"] == "infeasible"
    page = html.unescape((here / "r.html").read_text("utf-8"))
    commands = [c for c in commands_of(page) if c.startswith("setpoint ")]
    assert len(commands) == len(found["goals"]) > 0
    assert all(near in page for near in found["goals"])
    assert paste(run, commands[0].replace(" --report r.html", "")).code in (0, 4, 3)
    assert (here / "m.skops").exists()  # it can be met on the same scores


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
