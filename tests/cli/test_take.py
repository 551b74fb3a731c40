"""``setpoint take``: the rule moved, the files written, or not."""

import json
from pathlib import Path

import pytest

from setpoint import load_model
from setpoint.rules import Mixture, PerSegment, Threshold

from .conftest import GOAL


def take(run, model, folder, *args, to="taken.skops"):
    return run("take", model, folder / "new.csv", *args, "--model", to)


def test_a_bound(run, model, folder, tmp_path):
    new, page = tmp_path / "n.skops", tmp_path / "n.html"
    done = take(run, model, folder, "--bound", "precision >= 0.8", "--report", page, to=new)
    assert done.exit_code == 4, done.stderr
    assert "on the 300 rows that the rule was chosen on." in done.stdout
    assert done.stdout.endswith(f"Wrote the model to {new} and the page to {page}.\n")
    assert "0.8" in page.read_text("utf-8")
    shown = json.loads(run("show", new, "--json").stdout)
    assert shown["goal"] == GOAL.replace("0.7", "0.8").replace("sex", '"sex"')
    assert f"The rule of {model}, which was found for" in shown["about"][-1]
    assert "on 300 rows of new.csv" in shown["about"][-1]
    before = run("predict", model, folder / "new.csv").stdout.splitlines()
    after = run("predict", new, folder / "new.csv").stdout.splitlines()
    assert [x.split(",")[1] for x in before] == [x.split(",")[1] for x in after]
    assert before != after


def test_json(run, model, folder, tmp_path):
    done = take(run, model, folder, "--line", "0.5", "--json", to=tmp_path / "n.skops")
    found = json.loads(done.stdout)
    assert (found["command"], found["rows"]) == ("take", 300)
    assert found["taken"]["rule"]["cutoffs"] == [[[], 0.5]]
    assert found["run"]["new"] == str(tmp_path / "n.skops")
    again = json.loads(run("evaluate", tmp_path / "n.skops", folder / "new.csv", "--json").stdout)
    assert again["evaluated"]["objective"] == found["taken"]["objective"]
    codes = {"shown": 0, "shown to fail": 3, "too close to call": 4}
    assert done.exit_code == codes[found["status"]]


def by_group(*thresholds):
    keys = [(("sex", value),) for value in "fm"]
    return PerSegment([Threshold(t) for t in thresholds], keys)


def test_a_rule_as_text_and_in_a_file(run, model, folder, tmp_path):
    rule = by_group(0.4, float("inf"))
    file, new = tmp_path / "rule.json", tmp_path / "n.skops"
    file.write_text(rule.to_json())
    for given in (file, rule.to_json()):
        done = take(run, model, folder, "--rule", given, to=new)
        assert done.exit_code in (0, 3, 4), done.stderr
        assert load_model(new).classifier.rule_ == rule
        new.unlink()
    done = take(run, model, folder, "--rule", file, to=new)
    rows = run("predict", new, folder / "new.csv").stdout.splitlines()[1:]
    said = (folder / "new.csv").read_text(encoding="utf-8").splitlines()[1:]
    for row, line in zip(rows, said, strict=True):
        decided, score = row.split(",")[-2:]
        assert (decided == "1") == (line.split(",")[1] == "f" and float(score) >= 0.4)
    assert "replaced by one that was given, and measured on 300" in " ".join(
        run("show", new).stdout.split()
    )


def test_infeasible(run, model, folder, tmp_path):
    new = tmp_path / "n.skops"
    args = ("--bound", "precision >= 0.99", "--bound", "recall >= 0.99")
    done = take(run, model, folder, *args, to=new)
    assert done.exit_code == 3
    assert "so nothing was written." in done.stdout
    assert "These can be met on the same scores:" in done.stdout
    assert not new.exists()
    found = json.loads(take(run, model, folder, *args, "--json", to=new).stdout)
    assert found["status"] == "infeasible"
    assert found["reachable"]


def test_rows_of_the_fit_are_said(run, model, folder, tmp_path):
    done = run(
        "take", model, folder / "loans.csv", "--bound", "precision >= 0.75",
        "--model", tmp_path / "n.skops",
    )  # fmt: skip
    assert "of which the model was fitted on" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((), "--bound, --line or --rule: one of the three is needed, and no more"),
        (
            ("--bound", "recall >= 0.5", "--line", "1"),
            "--bound, --line or --rule: one of the three is needed, and no more",
        ),
        (("--bound", "recall"), "--bound: 'recall' is not a constraint"),
        (("--bound", "recal >= 0.5"), "unknown word 'recal'"),
        (
            ("--line", "0.5", "--rule", "r.json"),
            "--bound, --line or --rule: one of the three is needed, and no more",
        ),
        (("--rule", "{}"), "--rule is not a rule as JSON"),
        (("--rule", "none.json"), "none.json"),
        (
            ("--rule", Mixture([(0.5, Threshold(0)), (0.5, Threshold(1))]).to_json()),
            "--rule is one threshold of the score of two classes, or one for each group",
        ),
        (("--rule", Threshold(0.5, 0.1).to_json()), "--rule decides without draws"),
        (
            ("--rule", PerSegment([Threshold(0)], [(("sex", "f"),)]).to_json()),
            "--rule has no threshold for",
        ),
        (
            ("--rule", PerSegment([Threshold(0)], [(("town", "f"),)]).to_json()),
            "'town' beside the score, and rules of this model can look only at",
        ),
        (("--line", "nan"), "--line is a finite number, got nan"),
        (("--line", "high"), "--line"),
        (("--bound", "recall >= 0.5", "--target", "z"), "has no column 'z'"),
        (("--bound", "recall >= 0.5", "--report", "no/such/p.html"), "there is no folder"),
    ],
)
def test_bad_input(run, model, folder, tmp_path, args, message):
    new = tmp_path / "n.skops"
    done = take(run, model, folder, *args, to=new)
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in " ".join(done.stderr.split())
    assert not new.exists()


def test_labels_are_needed(run, model, tmp_path):
    done = run("take", model, "--bound", "recall >= 0.5", "--model", tmp_path / "n.skops")
    assert done.exit_code == 1
    assert "rows with labels, which a model file does not hold" in " ".join(done.stderr.split())


def test_the_model_is_not_overwritten(run, model, folder):
    before = Path(model).read_bytes()
    done = take(run, model, folder, "--bound", "recall >= 0.5", to=model)
    assert done.exit_code == 1
    assert f"--model: {model} would overwrite MODEL {model}" in done.stderr
    assert Path(model).read_bytes() == before
