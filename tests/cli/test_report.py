"""``setpoint report``: the page of a stored model."""

import json

import pytest


def test_the_page_of_a_table_is_that_of_evaluate(run, model, folder, tmp_path):
    ours, theirs = tmp_path / "r.html", tmp_path / "e.html"
    done = run("report", model, folder / "new.csv", "-o", ours)
    assert done.exit_code == 0, done.stderr
    assert done.stdout.endswith(f"Wrote the page to {ours}.\n")
    assert run("evaluate", model, folder / "new.csv", "--report", theirs).exit_code in (0, 3, 4)
    assert len(ours.read_text("utf-8")) == pytest.approx(len(theirs.read_text("utf-8")), rel=1e-3)


def test_without_a_table_it_is_that_of_the_fit(run, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run("report", model)
    assert (done.exit_code, done.stdout.splitlines()[-1]) == (0, "Wrote the page to model.html.")
    assert "200 rows" in (tmp_path / "model.html").read_text("utf-8")
    again = run("report", model)
    assert again.exit_code == 1
    assert "model.html is there already; name the page with -o" in again.stderr
    assert run("report", model, "-o", "model.html").exit_code == 0


def test_json(run, model, folder, fitted, tmp_path):
    page = tmp_path / "r.html"
    found = json.loads(run("report", model, "-o", page, "--json").stdout)
    assert found["status"] == fitted["status"]
    assert found["judged"] == fitted["held_out"]
    assert found["run"]["report"] == str(page)
    goal = "maximize recall subject to precision >= 0.5"
    args = ("report", model, folder / "new.csv", "-o", page, "--goal", goal, "--json")
    assert json.loads(run(*args).stdout)["goal"] == goal


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("-o", "-"), "-o: the page is a file"),
        (("-o", "no/such/r.html"), "there is no folder"),
        (("-o", "{tmp}/r.html", "--goal", "f1"), "--goal is for a table"),
        (("-o", "{tmp}/r.html", "--target", "z"), "--target is for a table"),
        (("-o", "{tmp}/r.html", "--skip-unlabelled"), "is for a table"),
        (("-o", "{model}"), "would overwrite MODEL"),
    ],
)
def test_bad_input(run, model, tmp_path, args, message):
    done = run("report", model, *(a.format(tmp=tmp_path, model=model) for a in args))
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in done.stderr
    assert not (tmp_path / "r.html").exists()
