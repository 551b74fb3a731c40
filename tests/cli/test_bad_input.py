"""Bad input: one line that names the file, the place and the remedy; nothing is written."""

import io
import json
import zipfile

import numpy as np
import pytest

from setpoint import PlugInClassifier, save_model
from thinning import thinned

from .conftest import HEAD, lines_of, write

GOAL = "maximize recall subject to precision >= 0.5"


@pytest.fixture
def refused(run, tmp_path):
    """Fit on some bytes: the error."""

    def invoke(data, *more, target="y", goal=GOAL):
        table = tmp_path / "t.csv"
        if data is not None:
            table.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
        args = ("fit", table, "--target", target, "--goal", goal, "--model", tmp_path / "m.skops")
        done = run(*args, *more)
        assert done.exit_code == 1, done.stdout
        assert done.stdout == ""
        assert not (tmp_path / "m.skops").exists()
        line = done.stderr.split("\n")[-2]
        assert line.startswith("error: ")
        assert "Traceback" not in done.stderr
        return line.removeprefix("error: ")

    return invoke


def table(n_rows=60, head=HEAD, **changes):
    lines = lines_of(n_rows)
    for i, change in changes.items():
        lines[int(i[1:])] = change
    return "\n".join([head, *lines]) + "\n"


def test_no_table(refused):
    assert refused(None).endswith("t.csv: there is no such file")
    assert "is empty" in refused(b"")
    assert "t.csv has column names and no rows" in refused(HEAD + "\n")
    assert "looks like a PDF" in refused(b"%PDF-1.7\n\0\0\0")
    assert "a damaged Excel file" in refused(b"PK\x03\x04...xl/workbook.xml")


def test_columns(refused):
    assert refused(table(), target="income_").startswith(
        "--target: t.csv has no column 'income_' (did you mean 'income'"
    )
    assert "more than one column named 'age'" in refused(table(head=HEAD.replace("city", "age")))
    assert "--drop: t.csv has no column 'ID'" in refused(table(), "--drop", "ID")
    assert refused(table(), "--sensitive", "y") == "--sensitive: 'y' is the target"
    assert "--baseline: t.csv has no column" in refused(table(), "--baseline", "older")
    assert "has no column for the model" in refused(table(), "--drop", HEAD.removesuffix(",y"))
    assert refused(
        table(), goal="maximize recall s.t. recall.difference(gender) <= 0.1"
    ).startswith("the goal refers to the column 'gender', and t.csv has none")
    assert "name the column with its predictions with --baseline" in refused(
        table(), goal="maximize recall s.t. churn <= 0.1"
    )


def test_targets(refused):
    one = "a,y\n" + "\n".join(f"{i},1" for i in range(40))
    assert "holds one class only, 1" in refused(one)
    many = "a,y\n" + "\n".join(f"{i % 7},{i / 8}" for i in range(40))
    assert "a target has classes" in refused(many)
    few = "a,y\n" + "\n".join(f"{i * i % 7},{int(i == 3)}" for i in range(40))
    assert "class 1 has 1 of 40" in refused(few)
    lines = table().split("\n")
    lines[3] = lines[3][:-1]
    assert "1 row has no label in column 'y', in line 4" in refused("\n".join(lines))


def test_encodings_and_separators(run, refused, tmp_path):
    latin = table().encode("latin-1")
    assert "--set encoding=cp1252" in refused(latin)
    ok = ("--target", "y", "--goal", GOAL, "--model", tmp_path / "m.skops", "--drop", "id")
    german = table(200).replace(",", ";").replace(".", ",")
    for data, more in (
        (latin, ("--set", "encoding=latin-1")),
        (table().encode("utf-8-sig"), ()),
        (table().encode("utf-16"), ()),
        (german.encode(), ()),
        (german.encode(), ("--set", "separator=;", "--set", "decimal=,")),
    ):
        (tmp_path / "t.csv").write_bytes(data)
        done = run("fit", tmp_path / "t.csv", *ok, *more, "--json")
        assert done.exit_code in (0, 3, 4), done.stderr
        assert json.loads(done.stdout)["columns"]["features"]["income"] == "number"


def test_a_line_cut_short(refused):
    assert "line 42" in refused(table(r40="00040,f,3"))


def test_goals_and_options(run, refused, tmp_path):
    assert "unknown word 'precison'" in refused(None, goal="maximize recall s.t. precison >= 0.9")
    assert "outside the range of precision" in refused(
        table(), goal="maximize recall s.t. precision >= 1.2"
    )
    assert "there is no estimator 'logistics' (did you mean 'logistic'?)" in refused(
        None, "--estimator", "logistics"
    )
    assert "cannot be imported" in refused(None, "--estimator", "no.such.Thing")
    assert "there is no option --group. The columns that the goal names are the groups" in refused(
        None, "--group", "g"
    )
    assert "--dataset is NAME=FILE, got 'x'" in refused(table(), "--dataset", "x")
    assert "give its table, --dataset old=FILE" in refused(
        table(), goal="maximize recall s.t. accuracy.on('old') >= 0.5"
    )
    assert "there is no folder" in refused(table(), "--report", tmp_path / "no" / "r.html")
    assert "would overwrite DATA" in refused(table(), "--report", tmp_path / "t.csv")
    assert "would overwrite --model" in refused(table(), "--report", tmp_path / "m.skops")
    assert "is not a plain file" in refused(table(), "--report", "/dev/null")
    assert "stdin ('-') can be read once only" in run(
        "fit", "-", "--dataset", "a=-", "--target", "y", "--goal", GOAL, "--model", "m.skops"
    ).stderr  # fmt: skip


def test_usage_errors_are_errors_like_others(run):
    for args in (("nothing",), ("fit",), ("fit", "--bogus"), ("predict", "a"), ("plan",)):
        done = run(*args)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr.startswith("error: ")
        assert done.stderr.count("\n") == 1
        assert "--help" in done.stderr


def test_model_files(run, folder, model, tmp_path):
    new = folder / "new.csv"

    def error(path):
        done = run("predict", path, new)
        assert (done.exit_code, done.stdout) == (1, "")
        return done.stderr.split("\n")[-2]

    assert "No such file" in error(tmp_path / "none.skops")
    assert "is not a model file" in error(new)
    whole = (folder / "model.skops").read_bytes()
    cut = tmp_path / "m.skops"
    cut.write_bytes(whole[: len(whole) // 2])
    assert "is not a model file, or was cut short" in error(cut)
    newer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(newer, "w") as out:
        for name in old.namelist():
            data = old.read(name)
            out.writestr(
                name,
                json.dumps({"format": 99, "setpoint": "9.0"}) if name == "setpoint.json" else data,
            )
    cut.write_bytes(newer.getvalue())
    assert "written by setpoint 9.0 in format 99" in error(cut)
    from sklearn.linear_model import LogisticRegression

    X, y = np.arange(40.0)[:, None], np.arange(40) > 20
    save_model(PlugInClassifier(LogisticRegression(), "f1").fit(X, y), cut)
    assert "holds a PlugInClassifier, no model of a table" in error(cut)


def test_an_accident_below_is_unexpected_and_debug_shows_where(run, folder, model, monkeypatch):
    from setpoint.tables import TableModel

    monkeypatch.setattr(TableModel, "decided", lambda *_, **__: np.zeros(2).reshape(3))
    args = ("predict", model, folder / "new.csv")
    done = run(*args)
    assert done.exit_code == 1
    assert done.stderr.split("\n")[-2].startswith("error: unexpected ValueError: cannot reshape")
    assert "Traceback" in run("--debug", *args).stderr


@pytest.mark.parametrize("d", thinned([1_000, 10_000], 2))
def test_thousands_of_columns(run, tmp_path, d):
    r = np.random.default_rng(0)
    X = r.integers(0, 9, size=(60, d))
    y = (X[:, 0] > 4).astype(int)
    lines = [",".join(f"c{i}" for i in range(d)) + ",y"]
    lines += [",".join(map(str, row)) + f",{label}" for row, label in zip(X, y, strict=True)]
    (tmp_path / "t.csv").write_text("\n".join(lines))
    model = tmp_path / "m.skops"
    args = ("--target", "y", "--goal", "f1", "--model", model)
    assert run("fit", tmp_path / "t.csv", *args).exit_code in (0, 3, 4)
    done = run("predict", model, tmp_path / "t.csv")
    assert (done.exit_code, done.stdout.count("\n")) == (0, 61)


def test_data_with_a_column_of_another_kind(run, model, tmp_path):
    lines = lines_of(30)
    lines[9] = lines[9].replace(lines[9].split(",")[2], "old", 1)
    lines[9] = ",".join(["9", "f", "old", *lines[9].split(",")[3:]])
    done = run("predict", model, write(tmp_path / "t.csv", lines))
    assert done.exit_code == 1
    assert "column 'age', line 11: 'old' is not a number" in done.stderr
