"""``setpoint predict``: formats, columns kept, new groups and categories."""

import gzip
import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest

from setpoint import load_model, tables
from setpoint.tables import read_table

from .conftest import HEAD, lines_of, write


@pytest.fixture
def frame(folder, model):
    return load_model(model).predict(read_table(folder / "new.csv"))


def test_csv_keeps_every_bit_and_the_columns_as_they_stood(run, folder, model, frame, tmp_path):
    out = tmp_path / "p.csv"
    done = run("predict", model, folder / "new.csv", "--keep", "id,income", "-o", out)
    assert (done.exit_code, done.stdout) == (0, "")
    lines = out.read_text("utf-8").split("\n")
    assert lines[0] == "id,income,prediction,score"
    assert lines[1].startswith("00000,")
    rows = [line.split(",") for line in lines[1:-1]]
    np.testing.assert_array_equal([float(row[3]) for row in rows], frame["score"])
    np.testing.assert_array_equal([int(row[2]) for row in rows], frame["prediction"])
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize("ending", [".csv.gz", ".parquet", ".jsonl"])
def test_formats(run, folder, model, frame, tmp_path, ending):
    out = tmp_path / f"p{ending}"
    args = ("predict", model, folder / "new.csv", "--keep", "since", "-o", out)
    assert run(*args).exit_code == 0
    first = out.read_bytes()
    assert run(*args).exit_code == 0
    assert out.read_bytes() == first
    if ending == ".parquet":
        scores = pd.read_parquet(out)["score"]
    elif ending == ".jsonl":
        rows = [json.loads(line) for line in out.read_text("utf-8").split("\n")[:-1]]
        assert list(rows[0]) == ["since", "prediction", "score"]
        scores = [row["score"] for row in rows]
    else:
        text = gzip.decompress(first).decode()
        scores = [float(line.split(",")[2]) for line in text.split("\n")[1:-1]]
    np.testing.assert_array_equal(scores, frame["score"])


def test_json_lines_on_stdout(run, folder, model, frame):
    done = run("predict", model, folder / "new.csv", "--json")
    rows = [json.loads(line) for line in done.stdout.split("\n")[:-1]]
    assert rows[0] == {"prediction": frame["prediction"][0], "score": frame["score"][0]}
    assert len(rows) == 300


def test_neither_order_nor_other_columns_matter(run, folder, model, tmp_path):
    table = pd.read_csv(folder / "new.csv", dtype=str, keep_default_na=False)
    shown = table[["since", "sex", "city", "income", "age"]].assign(more="x")
    shown.to_csv(tmp_path / "t.csv", index=False)
    first = run("predict", model, folder / "new.csv").stdout
    assert run("predict", model, tmp_path / "t.csv").stdout == first


def test_a_missing_column_is_named(run, folder, model, tmp_path):
    table = pd.read_csv(folder / "new.csv", dtype=str)
    table.rename(columns={"income": "incomes"}).to_csv(tmp_path / "t.csv", index=False)
    done = run("predict", model, tmp_path / "t.csv")
    assert done.exit_code == 1
    assert done.stderr.split("\n")[-2] == (
        "error: t.csv has no column 'income' (did you mean 'incomes' or 'since'?)"
    )


def test_new_categories_are_decided_and_new_groups_are_asked_about(run, model, tmp_path):
    lines = [line.replace("Kiel", "Rom") for line in lines_of(20, seed=3)]
    assert run("predict", model, write(tmp_path / "t.csv", lines)).exit_code == 0
    lines[4] = lines[4].replace(",f,", ",x,").replace(",m,", ",x,")
    data = write(tmp_path / "t.csv", lines)
    done = run("predict", model, data)
    assert done.exit_code == 1
    assert "sex = x in row 4" in done.stderr
    assert "--new-groups largest decides them" in done.stderr
    done = run("predict", model, data, "--new-groups", "largest")
    assert done.exit_code == 0
    assert "note: 1 rows are of a group that fit did not see" in done.stderr


def test_what_cannot_be_kept(run, folder, model, tmp_path):
    done = run("predict", model, folder / "new.csv", "--keep", "idd")
    assert "error: --keep: new.csv has no column 'idd' (did you mean 'id'?)" in done.stderr
    lines = [line + ",1" for line in lines_of(5)]
    (tmp_path / "t.csv").write_text("\n".join([HEAD + ",score", *lines]), "utf-8")
    done = run("predict", model, tmp_path / "t.csv", "--keep", "score")
    assert "rename it in the table" in done.stderr


def test_output_is_checked_first(run, folder, model, tmp_path):
    new = folder / "new.csv"
    (tmp_path / "d.csv").mkdir()
    for out, words in (
        (tmp_path / "p.xlsx", "ends in none of .csv, .csv.gz, .parquet, .jsonl"),
        (tmp_path / "no" / "p.csv", "there is no folder"),
        (new, "would overwrite DATA"),
        (tmp_path / "d.csv", "is a folder; name a file in it"),
    ):
        done = run("predict", model, new, "-o", out)
        assert done.exit_code == 1
        assert words in done.stderr
    done = run("predict", model, new, "--json", "-o", tmp_path / "p.csv")
    assert "name the file *.jsonl" in done.stderr


def test_a_full_disk_leaves_the_old_file(run, folder, model, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tables, "write_rows", full)
    out = tmp_path / "p.csv"
    out.write_text("old")
    done = run("predict", model, folder / "new.csv", "-o", out)
    assert done.exit_code == 1
    assert done.stderr.endswith(
        f"error: {out} cannot be written: No space left on device; the old {out} stays\n"
    )
    assert [p.name for p in tmp_path.iterdir()] == ["p.csv"]
    assert out.read_text() == "old"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_device(run, folder, model):
    done = run("predict", model, folder / "new.csv", "-o", "/dev/full")
    assert done.exit_code == 1
    assert "error: /dev/full cannot be written: No space left on device\n" in done.stderr


def test_a_closed_stdout_is_found_before_any_work(shell, folder, model):
    command, env = shell
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command, "predict", str(model), "none.csv"],
        env=env, capture_output=True, check=False, cwd=folder, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr == "error: stdout is closed, and the rows go there; -o names a file\n"


# ---------------------------------------------------------------------- the file as a whole
def test_a_file_for_a_spreadsheet(run, folder, model, tmp_path):
    text = (folder / "new.csv").read_text("utf-8").splitlines()
    rows = [line.replace(",", ";").replace(".", ",") for line in text]
    rows[1] = rows[1].replace("Bonn", "=1+1").replace("Kiel", "=1+1").replace("Köln", "=1+1")
    (tmp_path / "german.csv").write_text("\n".join(rows), "utf-8")
    out = tmp_path / "out.csv"
    done = run("predict", model, tmp_path / "german.csv", "--keep", "id,city", "--excel", "-o", out)
    assert done.exit_code == 0, done.stderr
    data = out.read_bytes()
    assert data.startswith(b"\xef\xbb\xbfid;city;prediction;score\r\n")
    first, second = data.decode("utf-8-sig").splitlines()[1:3]
    assert not first.split(";")[1].startswith("=")
    assert all(
        len(line.split(";")[3].replace("0,", "").lstrip("0")) <= 6 for line in (first, second)
    )
    assert "," in second.split(";")[3]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--excel", "-o", "x.parquet"), "--excel is for CSV, and the output is .parquet"),
        (("--excel", "--json"), "--excel is for CSV, and the output is .jsonl"),
        (("--at-most", "5", "-o", "out/"), "--at-most is for one table"),
        (("--adapt", "-o", "out/"), "--adapt is for one table"),
    ],
)
def test_options_of_one_table(run, folder, model, tmp_path, monkeypatch, more, words):
    monkeypatch.chdir(tmp_path)
    done = run("predict", model, folder / "new.csv", *more)
    assert done.exit_code == 1
    assert words in done.stderr
    assert not list(tmp_path.iterdir())
