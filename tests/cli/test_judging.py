"""``setpoint evaluate`` and ``setpoint frontier``: a stored model on other rows."""

import json

import numpy as np
import pandas as pd
import pytest

from setpoint import frontier as frontier_of
from setpoint import load_model
from setpoint.tables import labels_of, read_table


def test_evaluate_agrees_with_the_library(run, folder, model, tmp_path):
    done = run("evaluate", model, folder / "new.csv", "--json")
    out = json.loads(done.stdout)
    stored = load_model(model)
    table = read_table(folder / "new.csv", columns=stored.columns)
    # The goal is silent on the deployed model; the fit named the column, and it is there.
    report = stored.classifier.evaluate(
        stored.frame(table),
        labels_of(table, "y", stored.classifier.classes_),
        baseline=table.frame["old"],
    )
    assert report.deployed.rows == 300
    same = report.to_dict()
    same.pop("run")
    assert out["evaluated"] == json.loads(json.dumps(same))
    assert out["status"] == report.verdict
    assert (
        done.exit_code == {"shown": 0, "too close to call": 4, "shown to fail": 3}[report.verdict]
    )
    again = json.loads(run("evaluate", model, folder / "new.csv", "--json").stdout)
    out.pop("run")
    again.pop("run")
    assert json.dumps(out) == json.dumps(again)


def test_evaluate_takes_other_names_and_writes_a_page(run, folder, model, tmp_path):
    table = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    table.rename(columns={"y": "truth"}).to_csv(tmp_path / "t.csv", index=False)
    missing = run("evaluate", model, tmp_path / "t.csv")
    assert (missing.exit_code, "t.csv has no column 'y'" in missing.stderr) == (1, True)
    page = tmp_path / "r.html"
    done = run("evaluate", model, tmp_path / "t.csv", "--target", "truth", "--report", page)
    assert done.exit_code == 3
    assert done.stdout.startswith("Shown to fail on 300 rows.\n\nGoal: maximize recall subject to")
    assert "300 rows from t.csv" in page.read_text("utf-8")


def test_evaluate_compares_with_the_deployed_model(run, folder, model, tmp_path):
    title = "\nAgainst the deployed model\n"
    assert title in run("evaluate", model, folder / "new.csv").stdout
    table = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    table.rename(columns={"old": "today"}).to_csv(tmp_path / "t.csv", index=False)
    assert title in run("evaluate", model, tmp_path / "t.csv", "--baseline", "today").stdout
    without = run("evaluate", model, tmp_path / "t.csv")
    assert without.exit_code in (0, 3, 4), without.stderr
    assert title not in without.stdout
    missing = run("evaluate", model, tmp_path / "t.csv", "--baseline", "old")
    assert (missing.exit_code, "t.csv has no column 'old'" in missing.stderr) == (1, True)


def test_evaluate_names_a_label_that_is_not_a_class(run, folder, model, tmp_path):
    lines = (folder / "new.csv").read_text("utf-8").strip().split("\n")
    lines[7] = lines[7][:-1] + "2"
    (tmp_path / "t.csv").write_text("\n".join(lines), "utf-8")
    done = run("evaluate", model, tmp_path / "t.csv")
    assert done.exit_code == 1
    assert "t.csv, line 8: the label '2' in column 'y' is not a class of the model" in done.stderr


def test_frontier_table_and_json(run, folder, model, tmp_path):
    done = run(
        "frontier", model, folder / "loans.csv", "--vary", "precision", "--values", "0.5:0.8:4",
        "--json",
    )  # fmt: skip
    out = json.loads(done.stdout)["frontier"]
    stored = load_model(model)
    table = read_table(folder / "loans.csv", columns=stored.columns)
    same = frontier_of(
        stored.classifier, vary="precision", values=out["bounds"],
        X=stored.frame(table), y=labels_of(table, "y", stored.classifier.classes_),
    )  # fmt: skip
    assert out == json.loads(json.dumps(same.to_dict()))
    text = run(
        "frontier", model, folder / "loans.csv", "--vary", "precision", "--values", "0.5,0.7,1.5"
    )
    assert text.exit_code == 0
    assert text.stdout.split("\n")[3].split("  ")[0] == "bound >="
    assert "-: no rule meets this bound." in text.stdout
    marked = [line.split() for line in text.stdout.splitlines() if line.endswith("  asked")]
    assert [row[:2] for row in marked] == [["70.0", "%"]]


def test_the_table_of_a_frontier_has_the_bound_that_is_asked(run, folder, tmp_path):
    """Breakpoints are elsewhere: of rules without draws the asked bound gets the next one's."""
    model = tmp_path / "m.skops"
    goal = "maximize recall subject to precision >= 0.7"
    run("fit", folder / "loans.csv", "--target", "y", "--goal", goal, "--drop", "id",
        "--model", model)  # fmt: skip
    found = json.loads(run("frontier", model, folder / "loans.csv", "--json").stdout)["frontier"]
    k = next(i for i, bound in enumerate(found["bounds"]) if bound >= 0.7)
    assert found["bounds"][k] > 0.7
    lines = run("frontier", model, folder / "loans.csv").stdout.splitlines()
    assert "The bound of precision >= 0.7 moves; the goal asks for 70 %." in lines
    head = next(line for line in lines if line.startswith("bound >="))
    assert [name.strip() for name in head.split("  ") if name] == [
        "bound >=", "best recall", "precision reached", "threshold",
    ]  # fmt: skip
    (row,) = (line.split() for line in lines if line.endswith("asked"))
    share = f"{100 * found['values'][k]:.1f}", f"{100 * found['reached'][k]:.1f}"
    assert row[:6] == ["70.0", "%", share[0], "%", share[1], "%"]
    assert float(row[6]) == pytest.approx(found["thresholds"][k], abs=5e-5)
    bounds = [float(line.split()[0]) for line in lines if line[2:3] == "." and " % " in line]
    assert bounds == sorted(bounds)


def test_frontier_of_a_new_constraint_and_its_picture(run, folder, model, tmp_path):
    for ending, start in ((".svg", b"<?xml"), (".png", b"\x89PNG")):
        picture = tmp_path / f"f{ending}"
        done = run(
            "frontier", model, folder / "loans.csv", "--vary", "churn <= 0.3",
            "--values", "0.2:0.4:3", "--picture", picture,
        )  # fmt: skip
        assert done.exit_code == 0, done.stderr
        assert picture.read_bytes().startswith(start)


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "error: --vary says which bound moves"),
        (("--vary", "churn"), "is the left side of no constraint"),
        (("--vary", "precision", "--values", "0.9:0.5:3"), "LOW is below HIGH"),
        (("--vary", "precision", "--values", "a"), "--values is LOW:HIGH:N"),
        (("--vary", "precision", "--picture", "f.gif"), "ends neither in .svg nor in .png"),
    ],
)
def test_what_is_wrong_with_a_frontier(run, folder, model, args, words):
    done = run("frontier", model, folder / "loans.csv", *args)
    assert done.exit_code == 1
    assert words in done.stderr


@pytest.mark.parametrize("classes", [2, 3])
def test_a_frontier_by_probabilities_says_so(run, tmp_path, classes):
    rng = np.random.default_rng(0)
    y = np.arange(300) % classes
    table = pd.DataFrame({"a": rng.normal(size=300) + y, "b": rng.normal(size=300) - y})
    table.assign(y=np.array(["no", "yes", "x"])[y]).to_csv(tmp_path / "t.csv", index=False)
    done = run(
        "fit", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.skops",
        "--goal", 'maximize accuracy subject to recall(label="yes") >= 0.3',
    )  # fmt: skip
    assert done.exit_code in (0, 3, 4), done.stderr
    done = run("frontier", tmp_path / "m.skops", tmp_path / "t.csv", "--values", "0.2,0.5")
    assert done.exit_code == 0, done.stderr
    assert ("not counts of true classes" in done.stdout) == (classes == 3)
