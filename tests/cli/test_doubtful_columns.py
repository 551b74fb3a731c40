"""Columns that may be read in two ways, of many values, named by the goal, or with infinities."""

import numpy as np
import pandas as pd
import pytest


@pytest.fixture
def german(tmp_path):
    """Amounts such as 4.899 and 9.917,50, and the class that they lead to."""
    r = np.random.default_rng(0)
    amount = np.round(r.uniform(1000, 9999, 200), 2)
    y = np.where(amount + r.normal(0, 1500, 200) > 5000, "yes", "no")
    whole = np.arange(200) % 2 == 0
    text = [
        f"{int(a):,}".replace(",", ".") + ("" if w else f",{round(a % 1 * 100):02d}")
        for a, w in zip(amount, whole, strict=True)
    ]
    path = tmp_path / "ger.csv"
    lines = [f"{t};{label}" for t, label in zip(text, y, strict=True)]
    path.write_text("\n".join(["amt;y", *lines]) + "\n", "utf-8")
    return path


def test_thousands_are_never_read_as_decimals(run, german, tmp_path):
    model = tmp_path / "m.skops"
    done = run("fit", german, "--target", "y", "--goal", "f1", "--model", model)
    assert done.exit_code in (0, 3, 4), done.stderr
    all_rows = run("predict", model, german).stdout.splitlines()[1:]
    lines = german.read_text("utf-8").splitlines()
    doubtful = tmp_path / "some.csv"
    doubtful.write_text("\n".join([lines[0], *lines[1::2]]) + "\n", "utf-8")
    refused = run("predict", model, doubtful)
    assert refused.exit_code == 1
    assert "or have decimals; say which with --set decimal" in refused.stderr
    output = run("predict", model, doubtful, "--set", "decimal=,").stdout.splitlines()[1:]
    assert output == all_rows[::2]
    fresh = run("fit", doubtful, "--target", "y", "--goal", "f1", "--model", tmp_path / "x.skops")
    assert fresh.exit_code == 1
    assert not (tmp_path / "x.skops").exists()


def test_a_column_that_one_word_keeps_from_being_a_number_is_not_lost_in_silence(run, tmp_path):
    r = np.random.default_rng(0)
    table = pd.DataFrame({"a": r.normal(size=200).round(3).astype(str), "b": r.normal(size=200)})
    table["y"] = np.where(table.b > 0, "yes", "no")
    table.loc[7, "a"] = "?"
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run(
        "fit", tmp_path / "t.csv", "--target", "y", "--goal", "f1", "--model", tmp_path / "m"
    )
    assert "column 'a' has 1 value that is not a number (first: '?' in line 9)" in done.stderr
    assert "the model does not look at column 'a'" in done.stderr


def test_many_groups(run, tmp_path):
    """Treating groups alike is tried before a goal is given up."""
    r = np.random.default_rng(0)
    n = 900
    y = r.random(n) < 0.5
    table = pd.DataFrame({"a": r.normal(y, 1.0).round(3), "g": [f"g{i % 30}" for i in range(n)]})
    table["y"] = np.where(y, "yes", "no")
    table.to_csv(tmp_path / "t.csv", index=False)
    goal = "maximize recall subject to predicted_rate.difference(g) <= 0.2 and precision >= 0.5"
    model = tmp_path / "m.skops"
    words = ("fit", tmp_path / "t.csv", "--target", "y", "--goal", goal, "--model", model)
    assert run(*words).exit_code in (0, 3, 4)
    assert model.exists()
    levels = "0.6,0.65,0.7,0.75"
    output = run("frontier", model, tmp_path / "t.csv", "--vary", "precision", "--values", levels)
    rows = [line.split() for line in output.stdout.splitlines() if line[2:5] == ".0 "]
    values = [float(row[2]) for row in rows]
    assert len(values) == 4
    assert (np.diff(values) <= 0).all()


def test_dropping_a_column_that_the_goal_names(run, folder, tmp_path):
    goal = "maximize f1 subject to predicted_rate.difference(sex) <= 0.1"
    done = run(
        "fit", folder / "loans.csv", "--target", "y", "--goal", goal, "--drop", "sex",
        "--model", tmp_path / "m.skops",
    )  # fmt: skip
    assert done.exit_code == 1
    assert "--drop: the goal refers to 'sex'" in done.stderr
    assert "--decide-on none" in done.stderr


def test_infinite_numbers_at_predict(run, folder, model, tmp_path):
    table = pd.read_csv(folder / "new.csv", dtype=str)
    table.loc[3, "age"] = "1e400"
    table.to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", model, tmp_path / "t.csv")
    assert done.exit_code == 1
    assert "line 5: column 'age' holds an infinite number" in done.stderr
