"""``setpoint show``: what is in a model file, as text and as JSON."""

import json

import pytest

from setpoint import PlugInClassifier, save_model

from .conftest import GOAL


def test_text(run, model):
    done = run("show", model)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith(f"Model file  {model};")
    text = " ".join(done.stdout.split())
    for part in (
        'Goal maximize recall subject to precision >= 0.7 and recall.difference("sex") <= 0.3',
        "Target y: positive is 1, negative 0",
        "Scores LogisticRegression; the rule is by plugin, exact",
        "Rows 600 in the fit, 200 held out",
        "Deployed column old",
        "It looks at sex beside the score.",
        "Then, on 200 rows held out",
        "Columns that a table needs (5)",
    ):
        assert part in text
    assert max(map(len, lines[2:])) <= 79


def test_json_is_that_of_the_fit(run, model, fitted):
    done = run("show", model, "--json")
    found = json.loads(done.stdout)
    assert found["command"] == "show"
    assert found["goal"] == fitted["goal"]
    assert found["rows"] == fitted["rows"]
    assert found["status"] == fitted["status"]
    assert found["judged"] == fitted["held_out"]
    assert found["rule"]["decides_on"] == ["sex"]
    assert set(found["columns"]) == {*fitted["columns"]["features"], "sex"}
    assert found["run"]["written"]["setpoint"]
    again = json.loads(run("show", model, "--json").stdout)
    found.pop("run"), again.pop("run")
    assert found == again


def test_other_files_are_refused(run, folder, tmp_path):
    assert "is not a model file" in run("show", folder / "loans.csv").stderr
    assert run("show", tmp_path / "none.skops").stderr.endswith("No such file or directory\n")
    save_model(PlugInClassifier(None, GOAL), tmp_path / "python.skops")
    done = run("show", tmp_path / "python.skops")
    assert done.exit_code == 1
    assert "holds a PlugInClassifier, no model of a table" in done.stderr


def test_an_error_is_json_too(run, tmp_path):
    done = run("show", tmp_path / "none.skops", "--json")
    assert done.exit_code == 1
    assert json.loads(done.stdout)["status"] == "error"


def test_the_page_of_the_fit(run, model, tmp_path):
    page = tmp_path / "r.html"
    done = run("show", model, "--report", page)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, f"Wrote the page to {page}.")
    assert "200 rows" in page.read_text("utf-8")
    found = json.loads(run("show", model, "--report", page, "--json").stdout)
    assert found["run"]["report"] == str(page)


@pytest.mark.parametrize(
    ("page", "message"),
    [("no/such/r.html", "there is no folder"), ("{model}", "would overwrite MODEL")],
)
def test_a_page_that_cannot_be_written(run, model, page, message):
    done = run("show", model, "--report", page.format(model=model))
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
