"""``setpoint show``, ``take``, ``explain``, ``explore``, ``export``, ``monitor`` and ``plan``."""

import json
import re
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd

from cli.samples import GOAL
from setpoint import Monitor, load_model, rows_needed
from setpoint.rules import Mixture, PerSegment, Rule, Threshold
from setpoint.tables import labels_of, read_table


def rows_of(name):
    """A stored model, its frame and the labels of a table."""
    stored = load_model("model.skops")
    table = read_table(name, columns=stored.columns)
    return stored, stored.frame(table), labels_of(table, "y", stored.classifier.classes_)


# ---------------------------------------------------------------------- show
def test_show_is_the_fit_in_text_in_json_and_as_a_page(run, here):
    done = run("show model.skops")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[0].startswith("Model file  model.skops;")
    for part in (
        'Goal maximize recall subject to precision >= 0.7 and recall.difference("sex") <= 0.3',
        "Scores LogisticRegression; the rule is by plugin, exact",
        "Rows 600 in the fit, 200 held out",
        "It looks at sex beside the score.",
        "Then, on 200 rows held out",
    ):
        assert part in done.text
    assert max(map(len, lines[2:])) <= 79
    fitted = json.loads((here / "fit.json").read_text())
    found = run("show model.skops --report r.html --json").json
    assert found["command"] == "show"
    for name in ("goal", "rows", "status"):
        assert found[name] == fitted[name]
    assert found["judged"] == fitted["held_out"]
    assert "200 rows" in (here / "r.html").read_text("utf-8")
    card = run("show model.skops --card")
    assert (card.code, card.err) == (0, "")
    assert "\n## Intended use\n" in card.out
    assert card.out.count("\n## ") == 4
    assert "--card is Markdown" in run("show model.skops --card --json").json["error"]


# ---------------------------------------------------------------------- take
TAKE = "take model.skops new.csv --model n.skops"


def test_take_a_bound(run, here):
    done = run(f"{TAKE} --bound 'precision >= 0.8' --report n.html")
    assert done.code == 4, done.err
    assert "on the 300 rows that the rule was chosen on." in done.out
    assert done.out.endswith("Wrote the model to n.skops and the page to n.html.\n")
    assert "0.8" in (here / "n.html").read_text("utf-8")
    shown = run("show n.skops --json").json
    assert shown["goal"] == GOAL.replace("0.7", "0.8").replace("sex", '"sex"')
    assert "The rule of model.skops, which was found for" in shown["about"][-1]


def test_take_a_rule_as_text_and_in_a_file(run, here):
    rule = PerSegment([Threshold(0.4), Threshold(np.inf)], [(("sex", v),) for v in "fm"])
    (here / "rule.json").write_text(rule.to_json())
    for given, model in (("rule.json", "n.skops"), (rule.to_json(), "o.skops")):
        done = run("take model.skops new.csv --model", model, "--rule", given)
        assert done.code in (0, 3, 4), done.err
        assert load_model(model).classifier.rule_ == rule
    assert "replaced by one that was given, and measured on 300" in run("show o.skops").text


# ---------------------------------------------------------------------- explain
def test_explain_rows_in_words_and_in_json(run, here):
    done = run("explain model.skops new.csv --row 4 --row 1")
    assert done.code == 0, done.err
    first, second, *covers = done.out.splitlines()
    assert first.startswith("Row 4: predicted ")
    assert second.startswith("Row 1: predicted ")
    assert "this is said of all rows together" in covers[-1]
    found = run("explain model.skops new.csv --json").json
    frame = load_model("model.skops").predict(read_table("new.csv"))
    assert [row["decision"] for row in found["rows"]] == frame["prediction"].tolist()
    assert [row["score"] for row in found["rows"]] == frame["score"].tolist()
    assert (found["rows"][3]["words"], found["command"]) == (first, "explain")
    lines = run("explain model.skops new.csv").out.splitlines()
    assert len(lines) == 22
    assert lines[20] == "280 more rows: --row N explains one, --json all."


# ---------------------------------------------------------------------- explore
EXPLORE = "explore model.skops new.csv -o x.html"


def payload_of(page):
    start = '<script type="application/json" id="payload">'
    found = re.search(f"{start}(.*?)</script>", page.read_text("utf-8"), re.DOTALL)
    return json.loads(found[1])


def test_explore_and_the_rows_of_its_check(run, here):
    done = run(f"{EXPLORE} --by old")
    assert done.code == 0, done.err
    assert "A chosen point is checked on 92 rows held out." in done.out  # about 30 % of 300
    assert "Wrote the page to x.html." in done.out
    page = payload_of(here / "x.html")
    assert [g["column"] for g in page["groups"]] == ["sex", "old"]
    shell = page["take"]["shell"]
    assert shell[:2] == ["setpoint take model.skops new.csv --line=", ["threshold"]]
    found = run(f"{EXPLORE} --check checked.csv --json").json
    assert (found["rows"], found["check_rows"]) == (300, 80)
    same = load_model("model.skops").explore("new.csv", check="checked.csv")
    page = payload_of(here / "x.html")
    assert page["curve"] == json.loads(json.dumps(same.payload["curve"]))
    done = run(f"{EXPLORE} --test-size 0 --other-goal 'maximize f1'")
    assert "No rows are held out for a check." in done.out
    assert payload_of(here / "x.html")["programs"][1]["goal"] == "maximize f1"


def test_fit_writes_a_page_of_a_goal_that_no_rule_meets_too(run, here):
    fit = "fit loans.csv --target y --drop id --model m.skops --explore e.html --goal"
    done = run(f"{fit} 'maximize recall subject to precision >= 0.6'")
    assert "Bounds are moved by hand on e.html." in done.out, done.err
    page = payload_of(here / "e.html")
    assert (page["rows"]["n"], page["check"]["n"]) == (600, 200)
    (here / "m.skops").unlink()
    done = run(f"{fit} 'maximize recall subject to precision >= 0.99 and recall >= 0.9'")
    assert (done.code, (here / "m.skops").exists()) == (3, False)
    assert "bounds are moved by hand on e.html" in " ".join(done.err.split())
    assert not payload_of(here / "e.html")["programs"][0]["start"]["feasible"]


# ---------------------------------------------------------------------- export
def decided_by_sql(sql, frame):
    with closing(sqlite3.connect(":memory:")) as con:
        frame.to_sql("t", con, index=False)
        return [row[0] for row in con.execute(f"SELECT {sql} FROM t ORDER BY rowid")]


SQL = "--format sql --dialect sqlite"


def test_exports_decide_as_predict(run, here):
    table = read_table("new.csv")
    found = load_model("model.skops").predict(table)
    frame = pd.concat([table.frame[["sex"]], found], axis=1)
    decisions = found["prediction"].tolist()
    done = run(f"export model.skops {SQL}")
    assert (done.code, done.err) == (0, "")
    assert decided_by_sql(done.out, frame) == decisions
    renamed = run(f"export model.skops {SQL} --score p --column 'sex=the sex'").out
    assert decided_by_sql(renamed, frame.rename(columns={"sex": "the sex", "score": "p"})) == (
        decisions
    )
    done = run("export model.skops --format python --name yes -o decide.py")
    assert (done.code, done.out) == (0, "")
    names = {}
    exec((here / "decide.py").read_text("utf-8"), names)  # noqa: S102  (our own source)
    rows = frame.to_dict("records")
    assert [names["yes"](row["score"], columns=row) for row in rows] == decisions
    text = run("export model.skops --format json").out
    assert Rule.from_json(text) == load_model("model.skops").classifier.rule_
    (here / "rule.json").write_text(text)
    assert run("export rule.json --format json").out == text


def test_exports_of_other_rules(run, here):
    r = np.random.default_rng(0)
    X = r.normal(size=(400, 2))
    kind = np.array(["it's", "b c", "a"])[np.argmax(X @ r.normal(size=(2, 3)), axis=1)]
    pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "kind": kind}).to_csv("t.csv", index=False)
    fit = "fit t.csv --target kind --goal 'maximize g_mean' --model m.skops"
    assert run(fit).code == 0
    decided = load_model("m.skops").predict(read_table("t.csv"))
    sql = run(f"export m.skops {SQL}").out
    assert '"score_it\'s"' in sql
    assert decided_by_sql(sql, decided) == decided["prediction"].tolist()
    # One that draws, by a column of hashes.
    drawn = Mixture([(0.5, Threshold(0.2)), (0.5, Threshold(0.8))])
    (here / "rule.json").write_text(drawn.to_json())
    frame = pd.DataFrame({"score": [0.5, 0.5, 0.9], "u": [0.4, 0.6, 0.9]})
    found = run(f"export rule.json {SQL} --hash-column u").out
    assert decided_by_sql(found, frame) == [1, 0, 1]


# ---------------------------------------------------------------------- monitor
WATCHED = "maximize recall subject to precision >= 0.55 and predicted_rate <= 0.6"
WATCH = "monitor model.skops new.csv --state s.watch"


def test_monitor_agrees_with_the_library_and_goes_on_from_its_state(run, here):
    table = pd.read_csv("new.csv", dtype=str, keep_default_na=False)
    table[:120].to_csv("a.csv", index=False)
    table[120:].to_csv("b.csv", index=False)
    one = run("monitor model.skops a.csv --state s.watch --goal", WATCHED)
    assert one.code == 0, one.err
    assert one.out.startswith("No alarm after 120 rows.\n\nGoal: maximize recall subject to")
    assert "Wrote the state to s.watch." in one.out
    found = run("monitor model.skops b.csv --state s.watch --json --goal", WATCHED).json
    stored, X, y = rows_of("new.csv")
    monitor = Monitor(stored.classifier, WATCHED)
    monitor.update(X, y)
    state = json.loads((here / "s.watch").read_text("utf-8"))
    assert state == json.loads(json.dumps(monitor.to_dict()))
    assert (found["status"], found["rows"], found["new_rows"]) == ("no alarm", 300, 180)
    assert [s["wealth"] for s in found["statements"]] == monitor.wealth_.tolist()


def test_a_monitor_bets_on_the_units_of_a_column(run, here):
    goal = "maximize recall s.t. precision >= 0.1"
    done = run("monitor model.skops new.csv --unit since --set largest-unit=9 --goal", goal)
    n = len({line.split(",")[5] for line in (here / "new.csv").read_text("utf-8").split()[1:]})
    assert (done.code, done.out.split("\n")[0]) == (0, f"No alarm after {n} units.")


def test_an_alarm_ends_with_3_and_stays(run, here):
    line = f"{WATCH} --goal 'maximize recall subject to precision >= 0.999'"
    done = run(f"{line} --picture p.svg")
    assert done.code == 3, done.err
    assert done.out.startswith("Alarm at row ")
    assert "precision >= 0.999: broken, seen at row " in done.out
    assert (here / "p.svg").read_bytes().startswith(b"<?xml")
    again = run(f"{line} --json")
    assert (again.code, again.json["status"], again.json["rows"]) == (3, "alarm", 600)
    assert [a["new"] for a in again.json["alarms"]] == [False]


def test_a_state_of_something_else_is_refused_and_stays(run, here):
    line = f"{WATCH} --goal '{WATCHED}'"
    run(line)
    state = (here / "s.watch").read_bytes()
    words = "--state: s.watch: the state is of another --no-restart"
    assert run(f"{line} --no-restart").error.startswith(words)
    assert (here / "s.watch").read_bytes() == state


# ---------------------------------------------------------------------- plan
RECALL = "maximize precision subject to recall >= 0.9"
GAP = "maximize precision subject to recall.difference(sex) <= 0.3"


def test_plan_agrees_with_the_library(run, here, monkeypatch):
    monkeypatch.setattr("setpoint.classifiers.planning.MARGINS", (0.02, 0.1))
    table, checked = (pd.read_csv(f"{n}.csv", keep_default_na=False) for n in ("new", "checked"))
    on_checked = "maximize precision subject to recall.on('checked') >= 0.3"
    rates = {"prior": 0.1, "recall": 0.93}
    two = {"share": 0.5, "prior": 0.2, "recall": 0.8}
    groups = {"sex=f": two, "sex=m": {**two, "recall": 0.7}}
    stated = [f"--rate={g}:{name}={x}" for g, of in groups.items() for name, x in of.items()]
    stored, X, y = rows_of("new.csv")
    more = ["--rate", "prior=0.1", "--rate", "recall=93%", "--confidence", "99%", "--power", "0.9"]
    decided = ["new.csv", "--target", "y", "--prediction", "old", "--dataset=checked=checked.csv"]
    data = {"checked": (checked["y"], checked["old"])}
    for words, found in (
        ([RECALL, *more],
         rows_needed(RECALL, rates=rates, confidence=0.99, power=0.9)),
        ([GAP, *stated], rows_needed(GAP, rates=groups)),
        ([on_checked, *decided],
         rows_needed(on_checked, table["y"], table["old"], datasets=data)),
        ([GAP, "new.csv", "--model", "model.skops"],
         rows_needed(GAP, y, stored.classifier.predict(X), sensitive_features=X)),
    ):  # fmt: skip
        done = run("plan", *words, "--json")
        assert done.code in (0, 3), done.err
        assert done.json["plan"] == json.loads(json.dumps(found.to_dict()))
    text = run("plan", RECALL, "--rate", "prior=0.1", "--rate", "recall=0.84", "--picture", "n.svg")
    assert text.code == 3
    assert "recall >= 0.9: at 0.84 it is not met" in text.out
    assert "no number of rows certifies it" in text.out
    assert text.out.endswith("\n\nWrote the picture to n.svg.\n")
    assert (here / "n.svg").read_text("utf-8").count("<svg") == 1
