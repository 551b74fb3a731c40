"""``setpoint evaluate --prediction``: decisions in files and databases, counted where they are."""

import json
import subprocess

import numpy as np
import pytest

from setpoint import evaluate

duckdb = pytest.importorskip("duckdb", reason="tables are counted by DuckDB")
pa = pytest.importorskip("pyarrow", reason="Parquet files are written by it")
pq = pytest.importorskip("pyarrow.parquet", reason="Parquet files are written by it")

GOAL = "maximize recall subject to precision >= 0.6 and recall.difference(region) <= 0.1"
N = 3_000


@pytest.fixture(scope="module")
def columns():
    r = np.random.default_rng(1)
    z = r.normal(size=N)
    return {
        "decision": (z > 0.9).astype(int),
        "label": (z + r.normal(size=N) > 1).astype(int),
        "region": r.choice(["north", "south"], N),
        "w": r.integers(1, 4, N).astype(float),
        "old": (z > 1.2).astype(int),
    }


@pytest.fixture(scope="module")
def at(columns, tmp_path_factory):
    at = tmp_path_factory.mktemp("decided")
    for k in range(3):
        pq.write_table(pa.table({n: c[k::3] for n, c in columns.items()}), at / f"p{k}.parquet")
    with duckdb.connect(str(at / "risk.duckdb")) as own:
        own.execute(f"CREATE TABLE decided AS FROM read_parquet('{at}/p*.parquet')")
        own.execute(f"COPY decided TO '{at}/all.csv'")
    return at


@pytest.fixture
def judged(run, at):
    def invoke(*args, tables=("p*.parquet",), goal=GOAL, more=("--prediction", "decision")):
        paths = [f"{at}/{t}" for t in tables]
        return run("evaluate", *paths, "--target", "label", "--goal", goal, *more, *args)

    return invoke


@pytest.mark.parametrize(
    "tables",
    [
        ("p*.parquet",), ("p0.parquet", "p1.parquet", "p2.parquet"), ("all.csv",),
        ("risk.duckdb::decided",),
    ],
)  # fmt: skip
def test_the_report_is_that_of_rows_in_memory(judged, columns, tables):
    done = judged("--json", "--weight", "w", tables=tables)
    out = json.loads(done.stdout)
    memory = evaluate(
        GOAL, columns["label"], columns["decision"], sample_weight=columns["w"],
        sensitive_features={"region": columns["region"]},
    ).to_dict()  # fmt: skip
    assert done.exit_code == {"shown": 0, "too close to call": 4, "shown to fail": 3}[out["status"]]
    assert out["evaluated"]["objective"] == memory["objective"]
    assert out["evaluated"]["constraints"] == memory["constraints"]
    assert (out["command"], out["rows"], out["target"]) == ("evaluate", N, "label")


def test_words_the_page_and_the_deployed_model(judged, tmp_path):
    goal = "maximize recall subject to churn <= 0.2"
    assert "with --baseline" in judged(goal=goal).stderr
    done = judged("--baseline", "old", "--report", tmp_path / "p.html", goal=goal)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("Shown on 3,000 rows.\n")
    assert "3,000 rows from" in (tmp_path / "p.html").read_text("utf-8")
    assert (
        judged("--positive", "0", goal="maximize recall subject to recall >= 0.999").exit_code == 3
    )


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--prediction", "decisio"), "--prediction: {at}/p*.parquet has no column 'decisio'"),
        (("--target", "labl"), "--target: {at}/p*.parquet has no column 'labl'"),
        (("--weight", "region"), "--weight: the column 'region' of {at}/p*.parquet holds text"),
        (("--metric", "m:f"), "--metric is for a model file"),
        (("--new-groups", "largest"), "--new-groups is for a model file"),
        (("--set", "encoding=latin-1"), "--set encoding: CSV that is counted is UTF-8"),
        (("--goal", "maximize recall subject to recall.min(regio) >= 0.1"), "the column 'regio'"),
    ],
)
def test_errors_name_the_option(judged, at, args, words):
    done = judged(*args)
    assert done.exit_code == 1
    assert words.format(at=at) in done.stderr


def test_what_is_missing(run, judged, at, folder, model):
    tables = f"{at}/p*.parquet"
    done = run("evaluate", tables, "--prediction", "decision", "--target", "label")
    assert "--goal is missing" in done.stderr
    done = run("evaluate", tables, "--prediction", "decision", "--goal", GOAL)
    assert "--target is missing" in done.stderr
    assert "Missing argument 'DATA'" in run("evaluate", model).stderr
    done = run("evaluate", model, folder / "new.csv", "--weight", "w")
    assert "--weight goes with --prediction" in done.stderr
    for more in (
        [tables],
        [folder / "new.csv", folder / "loans.csv"],
        [f"{at}/risk.duckdb::decided"],
    ):
        done = run("evaluate", model, *more)
        assert done.exit_code == 1
        assert "a model file is judged by one table" in done.stderr


def test_rows_without_a_decision_are_numbered(run, tmp_path):
    pq.write_table(pa.table({"y": [0, 1, 1], "d": [0, None, 1]}), tmp_path / "t.parquet")
    done = run(
        "evaluate", tmp_path / "t.parquet", "--target", "y", "--prediction", "d", "--goal", "f1"
    )
    assert done.exit_code == 1
    assert "--prediction: 1 of 3 rows have no value in the column 'd'" in done.stderr


def test_nothing_is_printed_at_the_end_of_the_process(shell, tmp_path):
    table = tmp_path / "d.csv"
    table.write_text("y,d\n" + "1,1\n0,0\n1,0\n0,1\n" * 9)
    command, env = shell
    args = ("--target", "y", "--prediction", "d", "--goal", "recall", "--json")
    done = subprocess.run(
        [*command, "evaluate", str(tmp_path / "*.csv"), *args],
        env=env, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr == ""
    assert json.loads(done.stdout)["rows"] == 36
