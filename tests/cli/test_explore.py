"""``setpoint explore``, and ``setpoint fit --explore``: pages on which bounds are moved by hand."""

import json
import re
import shlex
from pathlib import Path

import pytest

from explorer.in_node import called, needs_node
from setpoint import load_model
from setpoint.rules import Rule


def payload_of(page):
    found = re.search(
        r'<script type="application/json" id="payload">(.*?)</script>', page, re.DOTALL
    )
    return json.loads(found[1])


def explore(run, model, folder, *args, to):
    return run("explore", model, folder / "new.csv", "-o", to, *args)


def test_page_and_its_commands(run, model, folder, tmp_path):
    done = explore(run, model, folder, "--by", "old", to=tmp_path / "x.html")
    assert done.exit_code == 0, done.stderr
    assert "A chosen point is checked on 92 rows held out." in done.stdout  # about 30 % of 300
    assert f"Wrote the page to {tmp_path / 'x.html'}." in done.stdout
    page = payload_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert [g["column"] for g in page["groups"]] == ["sex", "old"]
    shell = page["take"]["shell"]
    assert shell[0] == f"setpoint take {model} {folder / 'new.csv'} --line="
    assert shell[1] == ["threshold"]


def test_a_table_for_the_check_and_json(run, model, folder, tmp_path):
    done = explore(
        run, model, folder, "--check", folder / "checked.csv", "--json", to=tmp_path / "x.html"
    )
    assert done.exit_code == 0, done.stderr
    out = json.loads(done.stdout)
    assert (out["rows"], out["check_rows"]) == (300, 80)
    same = load_model(model).explore(folder / "new.csv", check=folder / "checked.csv")
    page = payload_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert page["curve"] == json.loads(json.dumps(same.payload["curve"]))
    assert page["check"]["n"] == 80


def test_no_rows_for_the_check_and_a_second_goal(run, model, folder, tmp_path):
    done = explore(
        run, model, folder, "--test-size", "0", "--other-goal", "maximize f1",
        to=tmp_path / "x.html",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    assert "No rows are held out for a check." in done.stdout
    page = payload_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert [p["goal"] for p in page["programs"]][1] == "maximize f1"
    assert page["rows"]["n"] == 300


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--check", "c.csv", "--test-size", "0.2"), "--check and --test-size: both name"),
        (("--by", "town"), "--by: new.csv has no column 'town'"),
        (("--other-goal", "maximize recal"), "unknown word 'recal'"),
        (("--goal", "maximize recall.on(old_rows)"), "data set"),
        (("--check", "none.csv"), "none.csv"),
    ],
)
def test_bad_input(run, model, folder, tmp_path, args, message):
    done = explore(run, model, folder, *args, to=tmp_path / "x.html")
    assert (done.exit_code, done.stdout) == (1, "")
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "x.html").exists()


def test_inputs_are_not_overwritten(run, model, folder):
    done = run("explore", model, folder / "new.csv", "-o", folder / "new.csv")
    assert done.exit_code == 1
    assert "would overwrite DATA" in done.stderr


def test_fit_writes_one_too(run, folder, tmp_path):
    done = run(
        "fit", folder / "loans.csv", "--target", "y", "--drop", "id", "--estimator", "logistic",
        "--goal", "maximize recall subject to precision >= 0.6", "--accept", "too-close",
        "--model", tmp_path / "m.skops", "--explore", tmp_path / "e.html",
    )  # fmt: skip
    assert f"Bounds are moved by hand on {tmp_path / 'e.html'}." in done.stdout, done.stderr
    page = payload_of((tmp_path / "e.html").read_text(encoding="utf-8"))
    assert (page["rows"]["n"], page["check"]["n"]) == (600, 200)


@needs_node
def test_a_goal_that_no_rule_meets_has_the_page(run, folder, tmp_path):
    done = run(
        "fit", folder / "loans.csv", "--target", "y", "--drop", "id", "--estimator", "logistic",
        "--goal", "maximize recall subject to precision >= 0.99 and recall >= 0.9",
        "--model", tmp_path / "m.skops", "--explore", tmp_path / "e.html",
    )  # fmt: skip
    assert done.exit_code == 3
    assert f"bounds are moved by hand on {tmp_path / 'e.html'}" in " ".join(done.stderr.split())
    page = payload_of((tmp_path / "e.html").read_text(encoding="utf-8"))
    assert not page["programs"][0]["start"]["feasible"]
    (taken,) = called(page, ["take", [0.6, 0.3], 40])
    said, *command = taken["shell"].split("\n")
    assert said.startswith("# Fits anew")
    assert not (tmp_path / "m.skops").exists()
    done = run(*shlex.split("\n".join(command))[1:])
    assert done.exit_code in (0, 4), done.stderr
    assert str(load_model(tmp_path / "m.skops").classifier.goal) == taken["goal"]


@needs_node
def test_the_commands_of_the_page_give_its_rules(run, model, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    odd = tmp_path / "my model's {goal}.skops"
    odd.write_bytes(Path(model).read_bytes())
    done = explore(
        run, odd, folder, "--target", "y", "--set", "separator=,", to=tmp_path / "x.html"
    )
    assert done.exit_code == 0, done.stderr
    page = payload_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    program = page["programs"][0]
    levels = [c["level"] for c in program["constraints"]]
    places = [program["start"]["cut"], 40]
    for taken in called(page, *(["take", levels, where] for where in places)):
        words = shlex.split(taken["shell"])
        assert words[:5] == ["setpoint", "take", str(odd), str(folder / "new.csv"), "--target"]
        done = run(*words[1:])
        assert done.exit_code in (0, 3, 4), done.stderr
        new = tmp_path / "new.skops"
        assert load_model(new).classifier.rule_ == Rule.from_json(taken["json"])
        new.unlink()


def test_a_group_that_the_fit_did_not_see(run, model, folder, tmp_path):
    lines = (folder / "new.csv").read_text(encoding="utf-8").splitlines()
    lines[1:21] = [line.replace(",f,", ",x,").replace(",m,", ",x,") for line in lines[1:21]]
    (tmp_path / "new.csv").write_text("\n".join(lines), encoding="utf-8")
    done = explore(run, model, tmp_path, to=tmp_path / "x.html")
    assert done.exit_code == 1
    assert "--new-groups largest decides them" in " ".join(done.stderr.split())
    done = explore(run, model, tmp_path, "--new-groups", "largest", to=tmp_path / "x.html")
    assert done.exit_code == 0, done.stderr
    page = payload_of((tmp_path / "x.html").read_text(encoding="utf-8"))
    assert page["groups"][0]["values"] == ["f", "m", "x"]
