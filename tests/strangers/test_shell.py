"""What an analyst met at a shell, on files in no good order: each with the defect of the review."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from setpoint import solve
from setpoint.cli.app import app
from thinning import over

GOAL = "maximize recall subject to precision >= 0.5"
ROOT = Path(__file__).parents[2]


def run(*args, code=None):
    done = CliRunner().invoke(app, [str(a) for a in args])
    if code is not None:
        assert done.exit_code == code, done.output
    return done


def flat(text):
    return " ".join(text.split())


def rows(n, seed):
    """Rows of which a third says yes, those with the highest amounts first."""
    r = np.random.default_rng(seed)
    amount, age = np.sort(r.normal(50, 15, n))[::-1], r.integers(18, 80, n)
    yes = (amount - 55) / 8 + (age - 50) / 20 + r.normal(0, 1.2, n) > 0
    return pd.DataFrame({"amount": amount.round(4), "age": age, "y": np.where(yes, "yes", "no")})


@pytest.fixture(scope="module")
def at(tmp_path_factory):
    """a.csv, b.csv and model.skops, fitted on the first."""
    folder = tmp_path_factory.mktemp("strangers")
    rows(900, 0).to_csv(folder / "a.csv", index=False)
    rows(1200, 1).to_csv(folder / "b.csv", index=False)
    fit(folder / "a.csv", folder / "model.skops")
    return folder


def fit(table, model, *more, goal=GOAL):
    return run(
        "fit", table, "--target", "y", "--goal", goal, "--estimator", "logistic",
        "--model", model, *more,
    )  # fmt: skip


@pytest.mark.filterwarnings("ignore::setpoint.FewRowsWarning")
def test_a_solve_prints_nothing_of_its_own(capfd):
    """eyes-python D4: HiGHS 1.16 writes two lines to stdout when it is made."""
    r = np.random.default_rng(0)
    g = np.repeat(["a", "b"], [300, 60])
    s = r.random(360) * np.where(g == "a", 1.0, 0.7)
    y = (r.random(360) < s).astype(int)
    goal = "maximize f1 subject to predicted_rate.difference(g) <= 0.05"
    solve(goal, s, y, sensitive_features={"g": g}, randomized=True)
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("way", [("--line", "0.7"), ("--rule", None)])
def test_rows_that_may_have_chosen_a_rule_do_not_show_it(at, tmp_path, way):
    """eyes-shell D4: take said "Shown" of a line that most of these rows had chosen."""
    option, value = way
    if value is None:
        value = json.dumps(
            {"format": 2, "rule": {"type": "threshold", "threshold": 0.7, "width": 0.0}}
        )
    new = tmp_path / "new.skops"
    done = run(
        "take", at / "model.skops", at / "b.csv", f"{option}={value}", "--model", new, code=4
    )
    assert done.stdout.startswith(
        "Too close to call on the 1,200 rows that may have chosen the rule"
    )
    assert "Judge it by rows that took no part." in flat(done.stdout)
    again = run("evaluate", new, at / "b.csv", code=4)
    assert "100 % of which the model was fitted on" in flat(again.stdout)
    rows(1200, 2).to_csv(tmp_path / "c.csv", index=False)
    others = run("evaluate", new, tmp_path / "c.csv", code=0)
    assert others.stdout.startswith("Shown on 1,200 rows.")


def test_rows_that_are_there_twice_are_found_across_the_split(tmp_path):
    """eyes-shell D5: 1,500 rows, each twice: 89 % on "rows held out", and not a word."""
    pd.concat([rows(700, 3)] * 2).to_csv(tmp_path / "twice.csv", index=False)
    done = fit(tmp_path / "twice.csv", tmp_path / "m.skops")
    said = "of the rows held out equal a row of the fit, so they flatter the rule"
    share = re.search(rf"([\d.]+) % {said}", flat(done.stderr))
    assert float(share[1]) == pytest.approx(75, abs=5)
    assert f"{share[1]} % of which the model was fitted on" in flat(done.stdout)
    assert done.exit_code != 0
    found = json.loads(run("show", tmp_path / "m.skops", "--json").stdout)
    assert found["judged"]["counts"]["seen"] == pytest.approx(0.75, abs=0.05)


def test_rows_that_are_equal_by_nature_are_not_called_copies(tmp_path):
    """eyes-shell D5, the other way round: ages and cities repeat, and labels differ."""
    r = np.random.default_rng(4)
    age, city = r.integers(20, 60, 1500), r.choice(["Bonn", "Kiel"], 1500)
    y = np.where(r.random(1500) < age / 90, "yes", "no")
    pd.DataFrame({"age": age, "city": city, "y": y}).to_csv(tmp_path / "few.csv", index=False)
    done = fit(tmp_path / "few.csv", tmp_path / "m.skops")
    assert "held out equal" not in done.stderr
    assert "was fitted on" not in done.stdout


def test_rows_of_the_fit_say_nothing_of_new_rows(at, tmp_path):
    """eyes-shell, item 8: evaluate on rows of the fit spoke of new rows."""
    page = tmp_path / "p.html"
    done = run("evaluate", at / "model.skops", at / "a.csv", "--report", page, code=4)
    assert "on new rows" not in flat(done.stdout).replace("shows nothing of new ones", "")
    assert "What was reached (if these rows were new: each end" in done.stdout
    assert "On new rows" not in page.read_text("utf-8")
    fresh = run("evaluate", at / "model.skops", at / "b.csv")
    assert "What was reached (on new rows: each end" in fresh.stdout


def test_a_sheet_can_be_named(at, tmp_path):
    """eyes-shell D12: a workbook with a cover had "no column 'y'", and no word of the second."""
    book = tmp_path / "two.xlsx"
    with pd.ExcelWriter(book) as out:
        pd.DataFrame({"Notes": ["of May"]}).to_excel(out, sheet_name="Cover", index=False)
        rows(300, 7).to_excel(out, sheet_name="Data", index=False)
    lost = fit(book, tmp_path / "m.skops")
    assert "first of the sheets 'Cover', 'Data'; --sheet names another" in lost.stderr
    assert (lost.exit_code, "has no column 'y'" in lost.stderr) == (1, True)
    done = fit(book, tmp_path / "m.skops", "--sheet", "Data")
    assert done.exit_code in (0, 3, 4), done.output
    wrong = run("evaluate", at / "model.skops", book, "--sheet", "Dat", code=1)
    assert "--sheet: two.xlsx has no sheet 'Dat' (did you mean 'Data'?)" in wrong.stderr
    other = run("evaluate", at / "model.skops", at / "b.csv", "--sheet", "Data", code=1)
    assert "--sheet is one of an Excel workbook, and b.csv is not one" in other.stderr
    assert "Excel" in run("fit", "--help").stdout.split("Options:")[0]


def test_the_title_of_an_alarm_is_its_row(at, tmp_path):
    """eyes-shell D6: "Alarm after 9,427 rows" where it came at row 653; "wealth"; no per cent."""
    goal = "maximize recall subject to precision >= 0.9"
    done = run("monitor", at / "model.skops", at / "b.csv", "--goal", goal, code=3)
    first = done.stdout.splitlines()[0]
    row = first.removeprefix("Alarm at row ").split(" ")[0]
    assert first.startswith(f"Alarm at row {row} of 1,200: since about row ")
    assert first.endswith(" %.")
    assert f"broken, seen at row {row};" in done.stdout
    assert "wealth" not in done.stdout


@over(
    "goal, says",
    [
        ("precision >= 0,9", "write 0.9 for 0,9"),
        ("precision >= 90", "which is [0, 1]; for 90 per cent write"),
    ],
)
def test_what_to_write_in_a_goal(goal, says):
    """eyes-shell D13: "a number does not stand alone"; "on these data", where there are none."""
    done = run("goal", f"maximize recall subject to {goal}", code=1)
    assert says in done.stderr
    assert "on these data" not in done.stderr
