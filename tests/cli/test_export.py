"""``setpoint export``: the same decisions where the rows are."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from setpoint import load_model
from setpoint.rules import Argmax, Mixture, PerSegment, Rule, Threshold, ValueAware
from setpoint.tables import read_table

SEX = ((("sex", "f"),), (("sex", "m"),))


@pytest.fixture
def rule_file(tmp_path):
    """A file with a rule that was made in Python."""

    def write(rule):
        path = tmp_path / "rule.json"
        path.write_text(rule.to_json(), "utf-8")
        return str(path)

    return write


def decided_by_sql(sql, frame):
    with closing(sqlite3.connect(":memory:")) as con:
        frame.to_sql("t", con, index=False)
        return [row[0] for row in con.execute(f"SELECT {sql} FROM t ORDER BY rowid")]


@pytest.fixture
def decided(folder, model):
    """The table as predict reads it, with its decisions and scores."""
    table = read_table(folder / "new.csv")
    return pd.concat([table.frame[["sex"]], load_model(model).predict(table)], axis=1)


def test_sql_decides_as_predict(run, model, decided):
    done = run("export", model, "--format", "sql", "--dialect", "sqlite")
    assert (done.exit_code, done.stderr) == (0, "")
    assert decided_by_sql(done.stdout, decided) == decided["prediction"].tolist()
    called = decided.rename(columns={"sex": "the sex", "score": "p"})
    more = ("--score", "p", "--column", "sex=the sex")
    done = run("export", model, "--format", "sql", "--dialect", "sqlite", *more)
    assert decided_by_sql(done.stdout, called) == decided["prediction"].tolist()


def test_python_decides_as_predict(run, model, decided, tmp_path):
    out = tmp_path / "decide.py"
    done = run("export", model, "--format", "python", "--name", "yes", "-o", out)
    assert (done.exit_code, done.stdout) == (0, "")
    names = {}
    exec(out.read_text("utf-8"), names)  # noqa: S102  (our own source)
    rows = decided.to_dict("records")
    found = [names["yes"](row["score"], columns=row) for row in rows]
    assert found == decided["prediction"].tolist()


def test_json_comes_back(run, model, rule_file, tmp_path):
    text = run("export", model, "--format", "json").stdout
    rule = Rule.from_json(text)
    assert rule == load_model(model).classifier.rule_
    out = tmp_path / "again.json"
    assert run("export", rule_file(rule), "--format", "json", "-o", out).exit_code == 0
    assert out.read_text("utf-8") == text


def test_labels_and_scores_of_more_than_two_classes(run, tmp_path):
    r = np.random.default_rng(0)
    X = r.normal(size=(400, 2))
    kind = np.array(["it's", "b c", "a"])[np.argmax(X @ r.normal(size=(2, 3)), axis=1)]
    frame = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "kind": kind})
    frame.to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.skops"
    goal = "maximize g_mean"
    args = ("--target", "kind", "--goal", goal, "--model", model)
    assert run("fit", tmp_path / "t.csv", *args).exit_code == 0
    decided = load_model(model).predict(read_table(tmp_path / "t.csv"))
    done = run("export", model, "--format", "sql", "--dialect", "sqlite")
    assert done.exit_code == 0, done.stderr
    assert '"score_it\'s"' in done.stdout
    assert decided_by_sql(done.stdout, decided) == decided["prediction"].tolist()


def test_a_rule_that_draws_needs_a_column(run, rule_file):
    path = rule_file(Mixture([(0.5, Threshold(0.2)), (0.5, Threshold(0.8))]))
    done = run("export", path, "--format", "sql")
    assert done.exit_code == 1
    assert "error: --hash-column is needed: this rule is randomised" in done.stderr
    done = run("export", path, "--format", "sql", "--hash-column", "u", "--dialect", "sqlite")
    frame = pd.DataFrame({"score": [0.5, 0.5, 0.9], "u": [0.4, 0.6, 0.9]})
    assert decided_by_sql(done.stdout, frame) == [1, 0, 1]


def test_columns_of_values_keep_their_names(run, rule_file):
    path = rule_file(ValueAware(["amount"], Argmax(np.eye(4)[:, [0, 3]], [3.0, 0.0])))
    args = ("--format", "sql", "--dialect", "sqlite", "--score", "p", "--score", "q")
    frame = pd.DataFrame({"p": [0.5, 0.5], "q": [0.5, 0.5], "amount": [2.0, 8.0]})
    assert decided_by_sql(run("export", path, *args).stdout, frame) == [0, 1]
    renamed = run("export", path, *args, "--column", "amount=sum").stdout
    assert decided_by_sql(renamed, frame.rename(columns={"amount": "sum"})) == [0, 1]


def test_what_is_wrong_is_named(run, rule_file, tmp_path):
    one, three = Threshold(0.5), Argmax.weighted([1, 2, 3])
    groups = PerSegment([Threshold(0.3), Threshold(0.6)], SEX)
    sql = ("--format", "sql")
    for rule, args, words in (
        (one, (), "Missing option '--format'"),
        (one, (*sql, "--dialect", "oracle"), "--dialect is one of 'ansi', "),
        (one, (*sql, "--score", "a", "--score", "b"), "looks at one score, and 2 are named"),
        (three, sql, "--score: the rule looks at 3 scores, and 0 are named"),
        (groups, (*sql, "--column", "age=a"), "--column: the rule does not look at 'age'"),
        (groups, (*sql, "--column", "sex"), "--column is NAME=COL, got 'sex'"),
        (groups, (*sql, "--column", "sex=a", "--column", "sex=b"), "names 'sex' twice"),
        (one, (*sql, "--name", "f"), "--name is for --format python, not sql"),
        (one, ("--format", "json", "--dialect", "duckdb"), "is for --format sql, not json"),
        (one, ("--format", "python", "--name", "a b"), "--name: a function of Python cannot"),
        (one, (*sql, "-o", tmp_path / "no" / "x.sql"), "-o: there is no folder"),
        (one, (*sql, "-o", tmp_path / "rule.json"), "would overwrite MODEL"),
    ):
        done = run("export", rule_file(rule), *args)
        assert (done.exit_code, done.stdout) == (1, "")
        assert words in done.stderr


def test_files_that_hold_something_else(run, folder, tmp_path):
    path = tmp_path / "other.json"
    for content, words in (
        (json.dumps({"format": 2}).encode(), "is not a rule: the document: fields missing"),
        (b'{"rule": "\xff"}', "is not a rule: it is not text in UTF-8"),
    ):
        path.write_bytes(content)
        done = run("export", path, "--format", "sql")
        assert done.exit_code == 1
        assert words in done.stderr
    for other in (folder / "new.csv", tmp_path / "missing.skops", tmp_path):
        done = run("export", other, "--format", "sql")
        assert done.exit_code == 1
        assert str(other) in done.stderr
