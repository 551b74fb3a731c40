"""``setpoint solve``: rules for scores in files and databases, counted where they are."""

import json
import signal

import numpy as np
import pytest

from setpoint import solve
from setpoint.rules import Rule
from setpoint.sources import Passes
from thinning import over

duckdb = pytest.importorskip("duckdb", reason="setpoint solve counts with DuckDB")
pa = pytest.importorskip("pyarrow", reason="Parquet files are written by it")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet files are written by it")

GOAL = "maximize recall subject to precision >= 0.6"
SCORES = "--score score --target label --goal"
SOLVE = f"solve 'p*.parquet' {SCORES}"
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
        "case": r.integers(0, N // 9, N),
    }


@pytest.fixture(scope="module")
def scores(columns, tmp_path_factory):
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


@pytest.fixture(autouse=True)
def here(scores, tmp_path, monkeypatch):
    for path in scores.iterdir():
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@over("tables", ["'p*.parquet'", "'c*.csv'", "risk.duckdb::scores"])
def test_the_rule_is_that_of_rows_in_memory(run, here, columns, tables):
    goal = f"{GOAL} and recall.difference(region) <= 0.05"
    done = run(f"solve {tables} --exact --rule r.json {SCORES}", goal)
    assert done.code == 4, done.err
    assert "DuckDB counted 6,000 rows in " in done.out
    assert "Wrote the rule to r.json." in done.out
    groups = {"region": columns["region"]}
    memory = solve(goal, columns["score"], columns["label"], sensitive_features=groups)
    assert Rule.from_json((here / "r.json").read_text("utf-8")) == memory.rule


def test_weights_the_deployed_model_and_draws(run, here, columns):
    goal = "maximize precision subject to recall >= 0.6 and churn <= 0.2"
    more = "--weight w --unit case --baseline old --draws --exact --accept too-close"
    done = run(f"{SOLVE} '{goal}' {more} --json --rule r.json")
    assert done.code == 0, done.err
    memory = solve(
        goal, columns["score"], columns["label"], sample_weight=columns["w"],
        baseline=columns["old"], units=columns["case"], randomized="auto",
    )  # fmt: skip
    found = done.json
    value = found["solved"]["objective"]["value"]
    assert value == pytest.approx(memory.report.objective.value, abs=1e-9)
    assert found["solved"]["objective"]["low"] == pytest.approx(memory.report.objective.low)
    assert (found["command"], found["status"], found["rows"]) == ("solve", "too close to call", N)
    assert found["rule"] == json.loads((here / "r.json").read_text("utf-8"))
    assert found["passes"][0].startswith("pass 1: 6,000 rows; ")


def test_ctrl_c_keeps_the_rule_of_the_passes_before(run, monkeypatch):
    """Few bins, so that there is a second pass to stop in."""
    again = Passes.again

    def stopping(*args):
        signal.raise_signal(signal.SIGINT)
        return again(*args)

    line = f"{SOLVE} 'maximize f1' --exact --checkpoint c.npz"
    with monkeypatch.context() as patch:
        patch.setattr(Passes, "again", stopping)
        defaults = (*(Passes.__init__.__defaults__ or ())[:-1], 16)
        patch.setattr(Passes.__init__, "__defaults__", defaults)
        done = run(f"{line} --rule r.json")
    assert done.code == 130, done.err
    assert "stopped; c.npz and r.json were written" in done.err
    assert "rows are not looked into" in done.text
    done = run(line)
    assert done.code == 0
    assert "No threshold between two scores was left out." in done.out


def test_groups_that_the_rule_may_not_look_at_and_a_further_table(run):
    goal = f"{GOAL} and recall.difference(region) <= 0.3"
    found = run(f"{SOLVE} '{goal}' --json --decide-on none").json
    assert found["rule"]["rule"]["type"] == "threshold"
    done = run(f"{SOLVE} '{GOAL}' --sensitive region --baseline old")
    assert "note: --sensitive region: the goal does not refer to this column" in done.err
    assert "note: --baseline old: the goal does not refer to the deployed model" in done.err
    goal = f"{GOAL} and predicted_rate.on(new) <= 0.5"
    done = run(f"{SOLVE} '{goal}' --dataset new=p0.parquet")
    assert done.code == 4, done.err
    assert "predicted_rate" in done.out


def test_text_labels(run):
    with duckdb.connect() as own:
        own.execute(
            "COPY (SELECT score, if(label = 1, 'bad', 'good') AS label "
            "FROM 'p*.parquet') TO 't.parquet'"
        )
    line = f"solve t.parquet {SCORES} '{GOAL}'"
    assert "--positive" in run(line).error
    done = run(f"{line} --positive bad")
    assert done.code == 4, done.err
    assert "predict 'bad' when the score is at least" in done.out


def test_a_goal_that_no_rule_meets(run, here):
    goal = "maximize recall subject to precision >= 0.99 and recall >= 0.9"
    done = run(f"{SOLVE} '{goal}' --rule r.json --report p.html")
    assert done.code == 3, done.err
    assert "No rule was found that meets the goal, so no rule was written." in done.out
    assert not (here / "r.json").exists()
    assert "setpoint solve" in (here / "p.html").read_text("utf-8")
    found = run(f"{SOLVE} '{goal}' --json").json
    assert (found["command"], found["status"]) == ("solve", "infeasible")
    assert found["goals"]


@over(
    "rest, words",
    [
        ("--score scor", "--score: p*.parquet has no column 'scor' (did you mean 'score'?)"),
        ("--score region", "--score: the column 'region' of p*.parquet holds text"),
        ("--target y", "--target: p*.parquet has no column 'y'"),
        ("--weight weight", "--weight: p*.parquet has no column 'weight'"),
        ("--unit cas", "--unit: p*.parquet has no column 'cas' (did you mean 'case'?)"),
        ("--unit label", "--unit: 'label' has another role"),
        ("--sensitive regio", "--sensitive: p*.parquet has no column 'regio'"),
        ("--decide-on regio", "--decide-on: p*.parquet has no column 'regio'"),
        ("--goal 'maximize recall s.t. recall.min(regio) >= 0.1'", "refers to the column 'regio'"),
        ("--goal 'maximize recall s.t. churn <= 0.1'", "with --baseline"),
        ("--positive 2", "--positive: column 'label' holds no class '2' (known: 0, 1)"),
        ("--set separator=;", "separator is for CSV"),
        ("--rule /no/folder/r.json", "--rule: there is no folder /no/folder"),
        ("--tol 2", "2"),
        ("--tol 0.1 --exact", "--exact and --tol"),
        ("c0.csv", "all Parquet or all CSV"),
    ],
)
def test_errors_name_the_option(run, rest, words):
    done = run(f"{SOLVE} '{GOAL}' {rest.replace(';', chr(92) + ';')}")
    assert words in done.error


def test_rows_that_cannot_be_counted_and_a_missing_package(run, monkeypatch):
    columns = {"score": [0.1, None, None, 0.7], "label": [0, 1, 0, 1]}
    pq.write_table(pa.table(columns), "t.parquet")
    words = "--score: 2 of 4 rows have a score that is "
    assert words in run(f"solve t.parquet {SCORES} f1").error
    monkeypatch.setattr("setpoint.packages.find_spec", lambda name: None)
    error = run(SOLVE, GOAL).error
    assert error.endswith("needs duckdb and pyarrow: pip install 'setpoint[scale]'")
