"""``setpoint predict``: formats, columns kept, new groups, room, many files."""

import gzip
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cli.samples import lines_of, write
from setpoint import load_model
from setpoint.tables import TableModel, read_table
from table_models.samples import DEFER, PAYING, PAYING_LATER
from thinning import over

PREDICT = "predict model.skops new.csv"


@pytest.fixture(scope="module")
def frame(folder):
    return load_model(folder / "model.skops").predict(read_table(folder / "new.csv"))


@over("ending", [".csv", ".csv.gz", ".parquet", ".jsonl"])
def test_formats_keep_every_bit_and_the_columns_as_they_stood(run, here, frame, ending):
    out = here / f"p{ending}"
    done = run(f"{PREDICT} --keep id,income -o", out)
    assert (done.code, done.out) == (0, "")
    assert f"Wrote 300 rows to {out}: " in done.err
    first = out.read_bytes()
    assert run(f"{PREDICT} --keep id,income -o", out).code == 0
    assert out.read_bytes() == first
    if ending == ".parquet":
        found = pd.read_parquet(out)
    elif ending == ".jsonl":
        found = pd.DataFrame(map(json.loads, first.decode().splitlines()))
    else:
        text = gzip.decompress(first) if ending == ".csv.gz" else first
        found = pd.DataFrame(line.split(",") for line in text.decode().splitlines())
        found = found.set_axis(found.iloc[0], axis=1)[1:]
    assert list(found) == ["id", "income", "prediction", "score"]
    assert found["id"].tolist()[:2] == ["00000", "00001"]
    np.testing.assert_array_equal(found["score"].astype(float), frame["score"])
    np.testing.assert_array_equal(found["prediction"].astype(int), frame["prediction"])
    assert not list(here.glob("*.part"))


def test_stdin_and_stdout(run, here, frame):
    lines = run(f"{PREDICT} --json").out.splitlines()
    assert json.loads(lines[0]) == {
        "prediction": frame["prediction"][0],
        "score": frame["score"][0],
    }
    assert len(lines) == 300
    first = run(PREDICT)
    assert run("predict model.skops -", input=(here / "new.csv").read_bytes()).bytes == first.bytes


def test_new_categories_are_decided_and_new_groups_are_asked_about(run, here):
    lines = [line.replace("Kiel", "Rom") for line in lines_of(20, seed=3)]
    write(here / "t.csv", lines)
    assert run("predict model.skops t.csv").code == 0
    lines[4] = lines[4].replace(",f,", ",x,").replace(",m,", ",x,")
    write(here / "t.csv", lines)
    error = run("predict model.skops t.csv").error
    assert "sex = x in row 4" in error
    assert "--new-groups largest decides them" in error
    done = run("predict model.skops t.csv --new-groups largest")
    assert done.code == 0
    assert "note: 1 rows are of a group that fit did not see" in done.err


def test_a_full_disk_leaves_the_old_file(run, here, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("setpoint.tables.write_rows", full)
    (here / "p.csv").write_text("old")
    error = run(f"{PREDICT} -o p.csv").error
    assert error == "p.csv cannot be written: No space left on device; the old p.csv stays"
    assert ((here / "p.csv").read_text(), list(here.glob("*.part"))) == ("old", [])


def test_a_file_for_a_spreadsheet(run, here):
    rows = [row.replace(",", ";").replace(".", ",") for row in lines_of(20)]
    write(here / "german.csv", rows, "id;sex;age;income;city;since;old;y")
    done = run("predict model.skops german.csv --keep id,city --excel -o out.csv")
    assert done.code == 0, done.err
    data = (here / "out.csv").read_bytes()
    assert data.startswith(b"\xef\xbb\xbfid;city;prediction;score\r\n")
    scores = [line.split(";")[3] for line in data.decode().splitlines()[1:]]
    assert all(len(s.replace("0,", "").lstrip("0")) <= 6 and "," in s for s in scores)


def test_room_for_so_many_rows_in_all_and_in_each_group(run, here):
    done = run(f"{PREDICT} --at-most 7")
    assert done.out.count("\n1,") == 7
    assert "of 300 rows, and the 7 best keep that" in done.err
    for at_most, counts in (("3", {"f": 3, "m": 3}), ("f=3 --at-most m=1", {"f": 3, "m": 1})):
        done = run(f"{PREDICT} --keep sex --by sex --at-most {at_most}")
        rows = [line.split(",")[:2] for line in done.out.splitlines()[1:]]
        assert {g: sum(row == [g, "1"] for row in rows) for g in counts} == counts


def test_deferred_rows_go_round(run, tmp_path, monkeypatch):
    PAYING.to_csv(tmp_path / "data.csv", index=False)
    PAYING_LATER.to_csv(tmp_path / "new.csv", index=False)
    monkeypatch.chdir(tmp_path)
    fit = "fit data.csv --target y --accept too-close --model model.skops --set defer-label=ask"
    assert "and defer in between" in run(f"{fit} --goal", DEFER).text
    decided = run(f"{PREDICT} --json")
    answers = [json.loads(line)["prediction"] for line in decided.out.splitlines()]
    assert set(answers) == {"no", "yes", "ask"}
    assert f"{answers.count('ask')} of 300 rows are deferred to a person" in decided.err
    assert run("export model.skops --format sql").out.rstrip().endswith("ELSE 'ask'\nEND")
    words = "these tables are only counted; setpoint fit takes such goals"
    assert words in run("solve data.csv --score x --target y --goal", DEFER).error


# ---------------------------------------------------------------------- many files
@pytest.fixture
def data(here, monkeypatch):
    """Four Parquet files and one of CSV, of 60 rows each, read 25 rows at a time."""
    pytest.importorskip("pyarrow", reason="Parquet files are read and written by it")
    monkeypatch.setattr("setpoint.tables.files._ROWS", 25)
    at = here / "data"
    at.mkdir()
    for k in range(4):
        table = read_table(write(here / "t.csv", lines_of(60, seed=k)))
        table.frame.to_parquet(at / f"p{k}.parquet", index=False)
    write(at / "c.csv", lines_of(60, seed=4))
    return at


def names(at):
    return sorted(path.name for path in Path(at).iterdir())


def test_every_file_is_decided_as_alone(run, here, data):
    done = run("predict model.skops 'data/p*.parquet' data/c.csv --keep id -o out")
    assert done.code == 0, done.err
    assert done.out == "Wrote 5 files with 300 rows to out.\n"
    assert names("out") == ["c.csv", *(f"p{k}.parquet" for k in range(4))]
    for path in sorted(data.iterdir()):
        assert run(f"predict model.skops data/{path.name} --keep id -o {path.name}").code == 0
        if path.suffix == ".csv":
            assert Path(path.name).read_bytes() == Path("out", path.name).read_bytes()
        else:
            one, other = (pd.read_parquet(Path(at, path.name)) for at in (".", "out"))
            pd.testing.assert_frame_equal(one, other)


def test_a_corrupt_file_is_named_and_the_others_go_on(run, data):
    (data / "p1.parquet").write_bytes((data / "p1.parquet").read_bytes()[:2000])
    frame = pd.read_parquet(data / "p2.parquet")
    frame["age"] = frame["age"].astype(object).where(frame.index != 40, "old").astype(str)
    frame.to_parquet(data / "p2.parquet")
    pd.read_parquet(data / "p3.parquet").drop(columns="age").to_parquet(data / "p3.parquet")
    done = run("predict model.skops 'data/*' -o out")
    assert done.code == 1
    assert "error: data/p1.parquet: p1.parquet is a damaged Parquet file" in done.err
    assert "column 'age', row 41: 'old'" in done.err
    assert "p3.parquet has no column 'age'" in done.err
    assert "error: 3 of 5 files could not be decided: " in done.err
    assert done.out == "Wrote 2 files with 120 rows to out.\n"
    assert names("out") == ["c.csv", "p0.parquet"]


def test_what_is_there_stays_and_what_is_stopped_goes_on(run, here, data, monkeypatch):
    decided, seen = TableModel.decided, []

    def until_the_third_file(*args, **more):
        seen.append(1)
        if len(seen) > 6:  # of three batches each
            raise KeyboardInterrupt
        return decided(*args, **more)

    line = "predict model.skops 'data/p*.parquet' -o out/"
    with monkeypatch.context() as patch:
        patch.setattr(TableModel, "decided", until_the_third_file)
        done = run(line)
    assert done.code == 130
    assert "stopped; out/p0.parquet and out/p1.parquet were written" in done.err
    assert names("out") == ["p0.parquet", "p1.parquet"]
    (here / "out" / "p1.parquet").write_bytes(b"mine")
    done = run(line)
    assert done.out == "Wrote 2 files with 120 rows to out/.\n"
    assert "2 of 4 files are in" in done.err
    assert "p1.parquet; --overwrite decides them anew" in done.err
    assert (here / "out" / "p1.parquet").read_bytes() == b"mine"
    assert "Wrote 0 files with 0 rows" in run(line).out
    assert "Wrote 4 files with 240 rows" in run(f"{line} --overwrite").out
    assert len(pd.read_parquet(here / "out" / "p1.parquet")) == 60
