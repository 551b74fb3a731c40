"""``setpoint evaluate``, ``frontier`` and ``compare``: stored models, and decisions in tables."""

import json
import subprocess

import numpy as np
import pandas as pd
import pytest

from cli.samples import GOAL, lines_of, write
from setpoint import evaluate, load_model
from setpoint import frontier as frontier_of
from setpoint.tables import labels_of, read_table
from thinning import over

EVALUATE = "evaluate model.skops new.csv"
CODES = {"shown": 0, "too close to call": 4, "shown to fail": 3}


def rows_of(name):
    """A stored model, its frame and the labels of a table."""
    stored = load_model("model.skops")
    table = read_table(name, columns=stored.columns)
    return stored, stored.frame(table), labels_of(table, "y", stored.classifier.classes_), table


@pytest.fixture
def plain(run, here):
    """A model of one bound, p.skops."""
    goal = "maximize recall subject to precision >= 0.7"
    assert run("fit loans.csv --target y --drop id --model p.skops --goal", goal).code == 4


# ---------------------------------------------------------------------- evaluate
def test_evaluate_agrees_with_the_library(run, here):
    done = run(f"{EVALUATE} --json")
    stored, X, y, table = rows_of("new.csv")
    # The goal is silent on the deployed model; the fit named the column, and it is there.
    report = stored.classifier.evaluate(X, y, baseline=table.frame["old"])
    assert report.deployed.rows == 300
    found = done.json["evaluated"]
    assert {**found, "run": None} == json.loads(json.dumps({**report.to_dict(), "run": None}))
    assert done.json["status"] == report.verdict
    assert done.code == CODES[report.verdict]
    text = run(EVALUATE)
    assert "\nAgainst the deployed model\n" in text.out
    assert text.out.startswith("Shown to fail on 300 rows.\n\nGoal: maximize recall subject to")
    assert "\nMeasured on 300 rows; the positive class is 1.\n" in text.out.split("What was re")[0]


@over(
    "bound, code, verdict",
    [(0.4, 0, "shown"), (0.63, 4, "too close to call"), (0.9, 3, "shown to fail")],
)
def test_the_exit_code_is_that_of_the_verdict(run, plain, bound, code, verdict):
    line = ("evaluate p.skops new.csv --goal", f"maximize recall subject to precision >= {bound}")
    done = run(*line)
    assert done.code == code
    assert done.out.startswith(f"{verdict[0].upper()}{verdict[1:]} on 300 rows.\n")
    assert " (searched with 70 %)\n" in done.out
    found = run(*line, "--json").json
    assert found["status"] == found["evaluated"]["verdict"] == verdict
    (entry,) = found["evaluated"]["constraints"]
    assert (entry["bound"], entry["worked"]) == (bound, 0.7)
    assert run(*line, "--accept", "too-close").code == (0 if code == 4 else code)


# ---------------------------------------------------------------------- decisions in tables
@pytest.fixture(scope="module")
def decided():
    r = np.random.default_rng(1)
    z = r.normal(size=3_000)
    return {
        "decision": (z > 0.9).astype(int),
        "label": (z + r.normal(size=3_000) > 1).astype(int),
        "region": r.choice(["north", "south"], 3_000),
        "w": r.integers(1, 4, 3_000).astype(float),
        "old": (z > 1.2).astype(int),
        "case": r.integers(0, 400, 3_000),
    }


@pytest.fixture
def tables(decided, tmp_path, monkeypatch):
    duckdb = pytest.importorskip("duckdb", reason="tables are counted by DuckDB")
    monkeypatch.chdir(tmp_path)
    for k in range(3):
        part = pd.DataFrame({name: column[k::3] for name, column in decided.items()})
        part.to_parquet(f"p{k}.parquet", index=False)
    with duckdb.connect("risk.duckdb") as own:
        own.execute("CREATE TABLE decided AS FROM read_parquet('p*.parquet')")
        own.execute("COPY decided TO 'all.csv'")
    return tmp_path


COUNTED = "--target label --prediction decision --goal"
REGIONS = "maximize recall subject to precision >= 0.6 and recall.difference(region) <= 0.1"


@pytest.mark.usefixtures("tables")
@over(
    "data", ["'p*.parquet'", "p0.parquet p1.parquet p2.parquet", "all.csv", "risk.duckdb::decided"]
)
def test_the_report_is_that_of_rows_in_memory(run, decided, data):
    done = run(f"evaluate {data} --json --weight w --unit case {COUNTED}", REGIONS)
    memory = evaluate(
        REGIONS, decided["label"], decided["decision"], sample_weight=decided["w"],
        sensitive_features={"region": decided["region"]}, units=decided["case"],
    ).to_dict()  # fmt: skip
    assert done.code == CODES[done.json["status"]]
    for part in ("objective", "constraints"):
        assert done.json["evaluated"][part] == memory[part]
    assert (done.json["command"], done.json["rows"], done.json["target"]) == (
        "evaluate", 3_000, "label",
    )  # fmt: skip


def test_decisions_in_a_file_that_are_worth_amounts_or_deferred(run, here):
    table = pd.read_csv("new.csv")
    y, old, age = (table[name].to_numpy() for name in ("y", "old", "age"))
    judge = "evaluate new.csv --target y --json --prediction"
    done = run(f"{judge} old --goal", "maximize profit(tp=age - 30, fp=-9)")
    worth = np.where(old == 1, np.where(y == 1, age - 30, -9), 0).mean()
    assert done.json["evaluated"]["objective"]["value"] == pytest.approx(worth)
    assert (done.code, done.json["rows"]) == (0, 300)
    asked = age > 60
    table.assign(old=np.where(asked, "ask", old)).to_csv("new.csv", index=False)
    goal = "minimize deferral_rate subject to accuracy.decided >= 0.5"
    found = run(f"{judge} old --set defer-label=ask --goal", goal).json["evaluated"]
    assert found["objective"]["value"] == pytest.approx(asked.mean())
    right = (y == old)[~asked].mean()
    assert found["constraints"][0]["value"] == pytest.approx(right)


def test_the_page_and_the_deployed_model(run, tables):
    goal = "maximize recall subject to churn <= 0.2"
    done = run(f"evaluate 'p*.parquet' {COUNTED}", goal, "--baseline", "old", "--report", "p.html")
    assert done.out.startswith("Shown on 3,000 rows.\n"), done.err
    assert "3,000 rows from" in (tables / "p.html").read_text("utf-8")


@pytest.mark.long
def test_nothing_is_printed_at_the_end_of_the_process(shell, tmp_path):
    (tmp_path / "d.csv").write_text("y,d\n" + "1,1\n0,0\n1,0\n0,1\n" * 9)
    command, env = shell
    args = ("evaluate", "*.csv", "--target", "y", "--prediction", "d", "--goal", "recall", "--json")
    done = subprocess.run(
        [*command, *args], env=env, check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert done.stderr == ""
    assert json.loads(done.stdout)["rows"] == 36


# ---------------------------------------------------------------------- frontier
def test_a_frontier_agrees_with_the_library(run, here):
    line = "frontier model.skops loans.csv --vary precision --values"
    found = run(f"{line} 0.5:0.8:4 --json").json["frontier"]
    stored, X, y, _ = rows_of("loans.csv")
    same = frontier_of(stored.classifier, vary="precision", values=found["bounds"], X=X, y=y)
    assert found == json.loads(json.dumps(same.to_dict()))
    text = run(f"{line} 0.5,0.7,1.5")
    assert text.code == 0
    assert text.out.split("\n")[3].split("  ")[0] == "bound >="
    assert "-: no rule meets this bound." in text.out
    marked = [line.split() for line in text.out.splitlines() if line.endswith("  asked")]
    assert [row[:2] for row in marked] == [["70.0", "%"]]
    line = "frontier model.skops loans.csv --vary 'churn <= 0.3' --values 0.2:0.4:3 --picture"
    for picture, start in (("f.svg", b"<?xml"), ("f.png", b"\x89PNG")):
        assert run(f"{line} {picture}").code == 0
        assert (here / picture).read_bytes().startswith(start)


def test_the_table_of_a_frontier_has_the_bound_that_is_asked(run, plain):
    """Breakpoints are not bounds: of rules without draws the asked bound gets the next one's."""
    found = run("frontier --json p.skops loans.csv").json["frontier"]
    k = next(i for i, bound in enumerate(found["bounds"]) if bound >= 0.7)
    assert found["bounds"][k] > 0.7
    lines = run("frontier p.skops loans.csv").out.splitlines()
    assert "The bound of precision >= 0.7 moves; the goal asks for 70 %." in lines
    head = next(line for line in lines if line.startswith("bound >="))
    assert [name.strip() for name in head.split("  ") if name] == [
        "bound >=", "best recall", "precision reached", "threshold",
    ]  # fmt: skip
    (row,) = (line.split() for line in lines if line.endswith("asked"))
    share = f"{100 * found['values'][k]:.1f}", f"{100 * found['reached'][k]:.1f}"
    assert row[:6] == ["70.0", "%", share[0], "%", share[1], "%"]
    assert float(row[6]) == pytest.approx(found["thresholds"][k], abs=5e-5)


# ---------------------------------------------------------------------- compare
@pytest.fixture
def fresh(here):
    write(here / "fresh.csv", lines_of(900, seed=5))
    return "compare poor.skops model.skops fresh.csv"


def test_better_worse_and_the_codes(run, fresh):
    goal = "--goal 'maximize accuracy'"
    done = run(f"{fresh} {goal}")
    assert done.code == 0, done.err
    assert "\n\nShown to be better on 900 rows.\nIts accuracy is shown" in done.out
    assert run(f"compare model.skops poor.skops fresh.csv {goal}").code == 3
    same = run(f"compare model.skops model.skops fresh.csv {goal}")
    assert same.code == 4
    assert "Both models decide every row alike." in same.out
    assert run(f"compare model.skops model.skops fresh.csv {goal} --accept too-close").code == 0


def test_both_values_and_the_difference(run, fresh):
    lines = run(f"{fresh} --goal", GOAL).out.splitlines()
    assert {"A, of today: poor.skops", "B, the candidate: model.skops"} < set(lines)
    assert sum("; B - A " in line for line in lines) == 4
    found = run(f"{fresh} --json --goal", GOAL).json
    assert (found["status"], found["rows"]) == ("too close to call", 900)
    first = found["parts"][0]
    assert (first["part"], first["text"]) == ("objective", "recall")
    judged = run("evaluate model.skops fresh.csv --json --goal", GOAL).json["evaluated"]
    for part in ("objective", "counts"):
        assert found["b"][part] == judged[part]
    assert {g["value"] for g in found["groups"]} == {"f", "m"}


def test_picture_rows_and_page(run, here, fresh):
    done = run(f"{fresh} --picture both.svg --changed rows.csv --report page.html")
    assert done.code in (0, 3, 4), done.err
    assert done.out.endswith("Wrote both.svg, rows.csv, page.html.\n")
    assert done.out.startswith(run(fresh).out.rstrip("\n"))
    assert "<svg" in (here / "both.svg").read_text("utf-8")
    assert "What the scores of each could reach" in (here / "page.html").read_text("utf-8")
    changed = pd.read_csv("rows.csv", dtype={"id": str})
    differs = run(f"{fresh} --json").json["changes"]["changed"]
    assert len(changed) == pytest.approx(900 * differs)
    assert set(changed["change_B"]) <= {"win", "loss"}
    assert (changed["decision_A"] != changed["decision_B"]).all()
    table = pd.read_csv("fresh.csv", dtype={"id": str}).iloc[changed["row"]]
    assert changed["id"].tolist() == table["id"].tolist()
    assert changed["true"].tolist() == table["y"].tolist()
