"""``setpoint solve``: rules for scores in files and databases, counted where they are."""

import json
import os
import signal

import numpy as np
import pytest

from setpoint import solve
from setpoint.rules import Rule
from setpoint.sources import Passes
from setpoint.sources.engines import DuckDB

duckdb = pytest.importorskip("duckdb", reason="setpoint solve counts with DuckDB")
pa = pytest.importorskip("pyarrow", reason="Parquet files are written by it")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet files are written by it")

GOAL = "maximize recall subject to precision >= 0.6"
N = 6_000


@pytest.fixture(scope="module")
def columns():
    r = np.random.default_rng(0)
    z = r.normal(size=N)
    y = (z + r.normal(size=N) > 1).astype(int)
    return {
        "score": 1 / (1 + np.exp(-z)),
        "label": y,
        "region": r.choice(["north", "south"], N),
        "w": r.integers(1, 4, N).astype(float),
        "old": (z + r.normal(size=N) > 0.8).astype(int),
    }


@pytest.fixture(scope="module")
def at(columns, tmp_path_factory):
    """The same rows as Parquet files, CSV files and a table of a database."""
    at = tmp_path_factory.mktemp("scores")
    for k in range(3):
        part = {name: column[k::3] for name, column in columns.items()}
        pq.write_table(pa.table(part), at / f"p{k}.parquet")
        rows = zip(*(column.tolist() for column in part.values()), strict=True)
        lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
        (at / f"c{k}.csv").write_text("\n".join(lines) + "\n", "utf-8")
    with duckdb.connect(str(at / "risk.duckdb")) as own:
        own.execute(f"CREATE TABLE scores AS FROM read_parquet('{at}/p*.parquet')")
    return at


@pytest.fixture
def solved(run, at):
    def invoke(*args, tables="p*.parquet", goal=GOAL):
        return run(
            "solve",
            f"{at}/{tables}",
            "--score",
            "score",
            "--target",
            "label",
            "--goal",
            goal,
            *args,
        )

    return invoke


def last(done):
    assert done.exit_code == 1, done.output
    return done.stderr.strip().split("\n")[-1]


@pytest.mark.parametrize("tables", ["p*.parquet", "c*.csv", "risk.duckdb::scores"])
def test_the_rule_is_that_of_rows_in_memory(solved, columns, tables, tmp_path):
    goal = f"{GOAL} and recall.difference(region) <= 0.05"
    done = solved("--exact", "--rule", tmp_path / "r.json", tables=tables, goal=goal)
    assert done.exit_code == 4, done.output
    assert "DuckDB counted 6,000 rows in " in done.stdout
    assert f"Wrote the rule to {tmp_path / 'r.json'}." in done.stdout
    memory = solve(
        goal, columns["score"], columns["label"], sensitive_features={"region": columns["region"]}
    )
    assert Rule.from_json((tmp_path / "r.json").read_text("utf-8")) == memory.rule


def test_weights_the_deployed_model_and_draws(solved, columns, tmp_path):
    goal = "maximize precision subject to recall >= 0.6 and churn <= 0.2"
    more = ("--weight", "w", "--baseline", "old", "--draws", "--rule", tmp_path / "r.json")
    done = solved("--exact", "--accept", "too-close", "--json", *more, goal=goal)
    assert done.exit_code == 0, done.output
    out = json.loads(done.stdout)
    memory = solve(
        goal, columns["score"], columns["label"], sample_weight=columns["w"],
        baseline=columns["old"], randomized="auto",
    )  # fmt: skip
    value = out["solved"]["objective"]["value"]
    assert value == pytest.approx(memory.report.objective.value, abs=1e-9)
    assert (out["command"], out["status"], out["rows"]) == ("solve", "too close to call", N)
    assert out["rule"] == json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert out["passes"][0].startswith("pass 1: 6,000 rows; ")


def test_tol_and_a_page(solved, tmp_path):
    done = solved("--tol", "0.01", "--report", tmp_path / "p.html")
    assert done.exit_code == 4
    assert "in 1 pass, and once more by the rule" in done.stdout
    page = (tmp_path / "p.html").read_text("utf-8")
    assert "setpoint solve" in page
    assert "How the rows were counted" in page
    assert "expected" in last(solved("--tol", "2")) or "range" in last(solved("--tol", "2"))
    assert "--exact and --tol" in last(solved("--tol", "0.1", "--exact"))


def test_a_checkpoint_is_gone_on_from(solved, at, tmp_path):
    file = tmp_path / "c.npz"
    first = solved("--checkpoint", file, "--exact")
    again = solved("--checkpoint", file, "--exact")
    assert file.exists()
    assert first.stdout.split("How the rows")[0] == again.stdout.split("How the rows")[0]
    other = solved("--checkpoint", file, goal="f1")
    assert last(other).startswith("error: --checkpoint: ")
    assert "is of another goal" in last(other)


def test_ctrl_c_keeps_the_rule_of_the_passes_before(solved, monkeypatch, tmp_path):
    """Few bins, so that there is a second pass to stop in."""
    count = DuckDB.count

    def stopping(self, by, binning=None, parts=()):
        if parts:
            os.kill(os.getpid(), signal.SIGINT)
        return count(self, by, binning, parts)

    monkeypatch.setattr(DuckDB, "count", stopping)
    defaults = (*(Passes.__init__.__defaults__ or ())[:-1], 16)
    monkeypatch.setattr(Passes.__init__, "__defaults__", defaults)
    file, state = tmp_path / "r.json", tmp_path / "c.npz"
    done = solved("--exact", "--rule", file, "--checkpoint", state, goal="maximize f1")
    assert done.exit_code == 130, done.output
    assert f"stopped; {state} and {file} were written" in done.stderr
    assert "rows are not looked into" in " ".join(done.stdout.split())
    monkeypatch.undo()
    again = solved("--exact", "--checkpoint", state, goal="maximize f1")
    assert again.exit_code == 0
    assert "No threshold between two scores was left out." in again.stdout


def test_groups_that_the_rule_may_not_look_at(solved):
    goal = f"{GOAL} and recall.difference(region) <= 0.3"
    rule = json.loads(solved("--json", "--decide-on", "none", goal=goal).stdout)["rule"]["rule"]
    assert rule["type"] == "threshold"
    done = solved("--sensitive", "region", "--baseline", "old")
    assert "note: --sensitive region: the goal does not refer to this column" in done.stderr
    assert "note: --baseline old: the goal does not refer to the deployed model" in done.stderr


def test_a_further_table(solved, at):
    goal = f"{GOAL} and predicted_rate.on(new) <= 0.5"
    assert "--dataset new=FILE" in last(solved(goal=goal))
    done = solved("--dataset", f"new={at}/p0.parquet", goal=goal)
    assert done.exit_code == 4, done.output
    assert "predicted_rate" in done.stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (
            ("--score", "scor"),
            "--score: {at}/p*.parquet has no column 'scor' (did you mean 'score'?)",
        ),
        (("--target", "y"), "--target: {at}/p*.parquet has no column 'y'"),
        (("--score", "region"), "--score: the column 'region' of {at}/p*.parquet holds text"),
        (("--weight", "weight"), "--weight: {at}/p*.parquet has no column 'weight'"),
        (("--sensitive", "regio"), "--sensitive: {at}/p*.parquet has no column 'regio'"),
        (("--decide-on", "regio"), "--decide-on: {at}/p*.parquet has no column 'regio'"),
        (
            ("--goal", "maximize recall s.t. recall.min(regio) >= 0.1"),
            "refers to the column 'regio'",
        ),
        (("--goal", "maximize recall s.t. churn <= 0.1"), "with --baseline"),
        (("--positive", "2"), "--positive: column 'label' holds no class '2' (known: 0, 1)"),
        (("--set", "separator=;"), "separator is for CSV"),
        (("--rule", "/no/folder/r.json"), "--rule: there is no folder /no/folder"),
    ],
)
def test_errors_name_the_option(solved, at, args, words):
    assert words.format(at=at) in last(solved(*args))


def test_wrong_tables(run, at, tmp_path):
    more = ("--score", "score", "--target", "label", "--goal", GOAL)
    assert "no file fits this pattern" in last(run("solve", f"{at}/q*.parquet", *more))
    assert "is a folder; name the files in it" in last(run("solve", at, *more))
    assert "has no table 'score' (did you mean 'scores'?)" in last(
        run("solve", f"{at}/risk.duckdb::score", *more)
    )
    assert "all Parquet or all CSV" in last(run("solve", at / "p0.parquet", at / "c0.csv", *more))
    out = run("solve", at / "no.parquet", *more, "--json")
    assert json.loads(out.stdout)["status"] == "error"


def test_rows_that_cannot_be_counted_are_numbered(run, tmp_path):
    def refused(**more):
        columns = {"score": [0.1, 0.9, 0.5, 0.7], "label": [0, 1, 0, 1], "w": [1.0] * 4} | more
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        return last(
            run("solve", tmp_path / "t.parquet", "--score", "score", "--target", "label",
                "--weight", "w", "--goal", "maximize f1")
        )  # fmt: skip

    assert "--score: 2 of 4 rows have a score that is " in refused(score=[0.1, None, None, 0.7])
    assert "--score: 1 of 4 rows" in refused(score=[0.1, 0.2, float("nan"), 0.7])
    assert "--target: 1 of 4 rows have no value in the column 'label'" in refused(
        label=[0, 1, None, 1]
    )
    assert "--weight: 1 of 4 rows have a weight that is " in refused(w=[1.0, 1.0, -1.0, 1.0])
    assert "--positive" in refused(label=["a", "b", "a", "b"])


def test_text_labels(run, at, tmp_path):
    with duckdb.connect() as own:
        own.execute(
            f"COPY (SELECT score, if(label = 1, 'bad', 'good') AS label "
            f"FROM '{at}/p*.parquet') TO '{tmp_path}/t.parquet'"
        )
    args = (
        "solve",
        tmp_path / "t.parquet",
        "--score",
        "score",
        "--target",
        "label",
        "--goal",
        GOAL,
    )
    assert "--positive" in last(run(*args))
    done = run(*args, "--positive", "bad")
    assert done.exit_code == 4, done.output
    assert "predict 'bad' when the score is at least" in done.stdout


def test_a_goal_that_no_rule_meets(solved, tmp_path):
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    files = ("--rule", tmp_path / "r.json", "--report", tmp_path / "p.html")
    done = solved(*files, goal=goal)
    assert done.exit_code == 3, done.output
    assert "No rule was found that meets the goal, so no rule was written." in done.stdout
    assert not (tmp_path / "r.json").exists()
    assert "setpoint solve" in (tmp_path / "p.html").read_text("utf-8")
    out = json.loads(solved("--json", goal=goal).stdout)
    assert (out["command"], out["status"]) == ("solve", "infeasible")
    assert out["goals"]


def test_what_is_missing_is_named_before_any_work(solved, monkeypatch):
    monkeypatch.setattr("setpoint.packages.find_spec", lambda name: None)
    assert last(solved()).endswith("needs duckdb and pyarrow: pip install 'setpoint[scale]'")


def test_a_metric_without_a_formula_is_refused(solved):
    done = solved(goal="maximize average_precision")
    assert done.exit_code == 1
    assert "error: " in done.stderr
