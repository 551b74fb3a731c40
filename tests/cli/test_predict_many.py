"""``setpoint predict`` on many files: whole or not there, and gone on with."""

import pandas as pd
import pytest

from setpoint.cli import predict as predict_many
from setpoint.tables import files as parquet
from setpoint.tables import read_table

from .conftest import lines_of, write

pytest.importorskip("pyarrow", reason="Parquet files are read and written by it")


@pytest.fixture
def data(tmp_path):
    """Four Parquet files and one of CSV, of 60 rows each."""
    at = tmp_path / "data"
    at.mkdir()
    for k in range(4):
        table = read_table(write(tmp_path / "t.csv", lines_of(60, seed=k)))
        table.frame.to_parquet(at / f"p{k}.parquet", index=False)
    write(at / "c.csv", lines_of(60, seed=4))
    return at


@pytest.fixture
def out(tmp_path):
    return tmp_path / "decided"


def test_every_file_is_decided_as_alone(run, model, data, out, tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "_ROWS", 25)
    done = run("predict", model, f"{data}/p*.parquet", data / "c.csv", "--keep", "id", "-o", out)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"Wrote 5 files with 300 rows to {out}.\n"
    assert sorted(p.name for p in out.iterdir()) == ["c.csv", *(f"p{k}.parquet" for k in range(4))]
    for path in sorted(data.iterdir()):
        one = tmp_path / path.name
        assert run("predict", model, path, "--keep", "id", "-o", one).exit_code == 0
        if path.suffix == ".csv":
            assert one.read_bytes() == (out / path.name).read_bytes()
        else:
            pd.testing.assert_frame_equal(pd.read_parquet(one), pd.read_parquet(out / path.name))


def test_what_is_there_stays(run, model, data, out):
    args = ("predict", model, f"{data}/p*.parquet", "-o", f"{out}/")
    out.mkdir()
    (out / "p2.parquet").write_bytes(b"mine")
    done = run(*args)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"Wrote 3 files with 180 rows to {out}/.\n"
    assert "1 of 4 files are in" in done.stderr
    assert "p2.parquet; --overwrite decides them anew" in done.stderr
    assert (out / "p2.parquet").read_bytes() == b"mine"
    assert "Wrote 0 files with 0 rows" in run(*args).stdout
    assert "Wrote 4 files with 240 rows" in run(*args, "--overwrite").stdout
    assert len(pd.read_parquet(out / "p2.parquet")) == 60


def test_a_corrupt_file_is_named_and_the_others_go_on(run, model, data, out):
    (data / "p1.parquet").write_bytes((data / "p1.parquet").read_bytes()[:2000])
    (data / "p2.parquet").write_bytes(b"nothing")
    frame = pd.read_parquet(data / "p3.parquet")
    frame.drop(columns="age").to_parquet(data / "p3.parquet")
    done = run("predict", model, f"{data}/*", "-o", out)
    assert done.exit_code == 1
    assert f"error: {data / 'p1.parquet'}: p1.parquet is a damaged Parquet file" in done.stderr
    assert f"error: {data / 'p2.parquet'}: p2.parquet is a damaged Parquet file" in done.stderr
    assert "p3.parquet has no column 'age'" in done.stderr
    assert "error: 3 of 5 files could not be decided: " in done.stderr
    assert done.stdout == f"Wrote 2 files with 120 rows to {out}.\n"
    assert sorted(p.name for p in out.iterdir()) == ["c.csv", "p0.parquet"]


def test_a_row_that_cannot_be_decided_is_named_by_its_place_in_the_file(
    run, model, data, out, monkeypatch
):
    monkeypatch.setattr(parquet, "_ROWS", 25)
    frame = pd.read_parquet(data / "p0.parquet")
    frame["age"] = frame["age"].astype(object).where(frame.index != 40, "old").astype(str)
    frame.to_parquet(data / "p0.parquet")
    done = run("predict", model, f"{data}/p0*", "-o", out)
    assert done.exit_code == 1
    assert "column 'age', row 41: 'old'" in done.stderr
    assert list(out.iterdir()) == []


def test_stopped_and_gone_on_with(run, model, data, out, monkeypatch):
    decide, seen = predict_many._decide, []

    def stopping(found, path, *more):
        seen.append(path)
        n = decide(found, path, *more)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return n

    monkeypatch.setattr(predict_many, "_decide", stopping)
    args = ("predict", model, f"{data}/p*.parquet", "-o", out)
    done = run(*args)
    assert done.exit_code == 130
    assert f"stopped; {out}/p0.parquet and {out}/p1.parquet were written" in done.stderr
    assert sorted(p.name for p in out.iterdir()) == ["p0.parquet", "p1.parquet"]
    monkeypatch.undo()
    done = run(*args)
    assert done.stdout == f"Wrote 2 files with 120 rows to {out}.\n"
    assert "2 of 4 files are in" in done.stderr


def test_stopped_within_a_file_leaves_nothing_of_it(run, model, data, out, monkeypatch):
    def stopping(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(predict_many, "_decide_batches", stopping)
    assert run("predict", model, f"{data}/p*.parquet", "-o", out).exit_code == 130
    assert list(out.iterdir()) == []


def test_what_is_refused_first(run, model, data, out, tmp_path):
    def refused(*args):
        done = run("predict", model, *args)
        assert (done.exit_code, done.stdout) == (1, "")
        assert not out.exists()
        return done.stderr

    pattern = f"{data}/p*.parquet"
    assert "it is a folder, such as decided/" in refused(pattern)
    assert "--json writes JSON lines of one table" in refused(pattern, "--json", "-o", out)
    assert "no file fits this pattern" in refused(f"{data}/q*.parquet", "-o", out)
    assert "would overwrite DATA" in refused(pattern, "-o", data)
    assert "is a file, and of several" in refused(pattern, "-o", data / "c.csv")
    assert "there is no folder" in refused(pattern, "-o", out / "deeper")
    assert "neither stdin nor of a database" in refused("-", data / "c.csv", "-o", out)
    write(tmp_path / "c.csv", lines_of(5))
    assert "have the same name" in refused(data / "c.csv", tmp_path / "c.csv", "-o", out)
    (tmp_path / "notes.txt").write_text("x")
    assert "ends in none of .parquet" in refused(data / "c.csv", tmp_path / "notes.txt", "-o", out)
    one = refused(data / "c.csv", "--overwrite", "-o", tmp_path / "p.csv")
    assert "--overwrite is for a folder" in one
