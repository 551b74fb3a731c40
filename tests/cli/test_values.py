"""Amounts and deferred rows at the shell: fit, predict, export, evaluate, words."""

import json

import pandas as pd
import pytest

from table_models.test_values import DEFER, FRAME, NEW, PROFIT


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    at = tmp_path_factory.mktemp("values")
    FRAME.to_csv(at / "data.csv", index=False)
    NEW.to_csv(at / "new.csv", index=False)
    return at


@pytest.fixture
def fitted(run, tables):
    """A model for a goal."""

    def made(goal, *more):
        path = tables / "model.skops"
        done = run("fit", tables / "data.csv", "--target", "y", "--goal", goal, "--model", path,
                   "--accept", "too-close", *more)  # fmt: skip
        assert done.exit_code in (0, 3), done.stderr
        return path, done

    return made


def test_a_rule_that_looks_at_the_amount_goes_round(run, tables, fitted):
    model, done = fitted(PROFIT)
    assert "predict 'yes' when the probability times amount exceeds" in done.stdout
    duckdb = pytest.importorskip("duckdb")
    out = tables / "decided.csv"
    run("predict", model, tables / "new.csv", "--keep", "amount,y", "-o", out)
    sql = run("export", model, "--format", "sql", "--dialect", "duckdb").stdout
    same = duckdb.sql(f"SELECT count(*) FROM '{out}' WHERE ({sql}) = prediction").fetchall()
    assert same == [(300,)]
    judged = run("evaluate", out, "--prediction", "prediction", "--target", "y", "--goal", PROFIT)
    assert "profit(tp=amount - 5, fp=-5)" in judged.stdout
    no_amount = tables / "less.csv"
    NEW.drop(columns="amount").to_csv(no_amount, index=False)
    missing = run("predict", model, no_amount)
    assert "no column 'amount'" in missing.stderr
    assert "fit again with --decide-on none" in missing.stderr


def test_deferred_rows_go_round(run, tables, fitted):
    model, done = fitted(DEFER, "--set", "defer-label=ask")
    assert "and defer in between" in " ".join(done.stdout.split())
    decided = run("predict", model, tables / "new.csv", "--json")
    answers = [json.loads(line)["prediction"] for line in decided.stdout.splitlines()]
    assert set(answers) == {"no", "yes", "ask"}
    assert f"{answers.count('ask')} of 300 rows are deferred to a person" in decided.stderr
    assert run("export", model, "--format", "sql").stdout.rstrip().endswith("ELSE 'ask'\nEND")
    model, _ = fitted(DEFER)
    out = tables / "deferred.csv"
    run("predict", model, tables / "new.csv", "--keep", "y", "-o", out)
    assert "defer" in set(pd.read_csv(out)["prediction"])
    common = ("evaluate", out, "--prediction", "prediction", "--target", "y", "--goal")
    assert "deferral_rate" in run(*common, DEFER).stdout


def test_tables_that_are_only_counted_say_so(run, tables):
    done = run("solve", tables / "data.csv", "--score", "x", "--target", "y", "--goal", DEFER)
    assert done.exit_code == 1
    assert "these tables are only counted; setpoint fit takes such goals" in done.stderr


def test_what_a_goal_needs_and_the_words_for_it(run):
    found = json.loads(run("goal", PROFIT, "--json").stdout)
    assert found["needs"]["numbers"] == {"": ["amount"]}
    assert found["trained"] == {}
    assert "numbers in the column amount" in run("goal", PROFIT).stdout
    three = 'maximize value({("fraud", "refer"): "amount - 5", ("ok", "defer"): -1})'
    assert json.loads(run("goal", three, "--json").stdout)["solver"]["more classes"]
    words = run("goal").stdout
    for word in ("deferral_rate", "profit(tp=", "recall.weighted(amount)", "accuracy.decided"):
        assert word in words
