"""``setpoint stream``: the same result however a stream is cut, stopped or killed."""

import io
import json
import os
import re
import signal
import subprocess
import sys

import numpy as np
import pytest

from setpoint.estimators.progress import LiveLine
from setpoint.tables import StreamState
from setpoint.tasks.stream_run import SaveEvery
from thinning import thinned

HEAD = "age,city,since,zip,y"


def rows_of(n_rows, seed=0):
    r = np.random.default_rng(seed)
    out = []
    for _ in range(n_rows):
        age, city = int(r.integers(18, 80)), r.choice(["Bonn", "Kiel", '"Köln, am Rhein"', ""])
        y = age / 20 + (city == "Kiel") + r.normal() > 3.5
        shown = "" if r.random() < 0.05 else age
        day = f"2024-0{r.integers(1, 10)}-1{r.integers(0, 10)}"
        out.append(f"{shown},{city},{day},0{r.integers(100)},{'yes' if y else 'no'}")
    return out


ROWS = rows_of(900)


def text_of(rows):
    return "\n".join([HEAD, *rows]) + "\n"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(text_of(ROWS), "utf-8")
    return path


@pytest.fixture
def stream(run, tmp_path):
    """Run the command with a state file, batches of 100 rows, and kinds by as many."""

    def invoke(data, *more, state="s.state", target="y", **kw):
        options = ["--first-rows", 100, "--save-every", 100, "--json"]
        options += [] if state is None else ["--state", tmp_path / state]
        options += [] if target is None else ["--target", target]
        return run("stream", data, *options, *more, **kw)

    return invoke


def json_of(done):
    """The object without what differs between runs."""
    assert done.exit_code == 0, done.stderr
    out = json.loads(done.stdout)
    del out["run"]
    return out


def last(done):
    """The error: one line for people, and in an object for who asked for JSON."""
    assert done.exit_code == 1
    line = done.stderr.splitlines()[-1]
    assert done.stdout == "" or line == f"error: {json.loads(done.stdout)['error']}"
    return line


@pytest.fixture
def whole(stream, table):
    """What an uninterrupted run says."""
    return json_of(stream(table, state=None))


# ------------------------------------------------------------------------------------- one run


def test_the_output(run, stream, table, tmp_path):
    done = run("stream", table, "--target", "y", "--state", tmp_path / "s.state")
    assert done.exit_code == 0
    assert done.stdout.startswith("The rule was measured on 900 rows, each decided before it was")
    assert f"Saved the state to {tmp_path / 's.state'}; the same command" in done.stdout
    assert done.stderr.splitlines() == [
        "note: t.csv: column 'zip' has leading zeros, so it was read as text",
        "note: the positive class is 'yes'; --positive names another",
    ]
    again = run("stream", table, "--state", tmp_path / "s.state")
    assert again.stderr.splitlines()[-1] == "note: t.csv: no new rows have come"


def test_json(stream, table, whole):
    done = stream(table, "--classes", "no,yes")
    assert done.stdout.count("\n") == 1
    out = json.loads(done.stdout)
    assert json.dumps(out, sort_keys=True) == done.stdout.strip()
    made = out.pop("run")
    assert (made["learnt_before"], made["stopped"], made["data"]) == (0, False, str(table))
    assert out == whole
    assert out["rows"] == {"learnt": 900, "unlabelled": 0, "bad": 0}
    assert out["columns"]["features"] == {
        "age": "number", "city": "category", "since": "date", "zip": "category",
    }  # fmt: skip
    assert (out["positive"], out["classes"], out["status"]) == ("yes", ["no", "yes"], "measured")
    assert out["report"]["counts"]["n_rows"] == 900
    assert 0 < out["report"]["objective"]["value"] < 1


def test_stdin_is_a_file(stream, whole):
    assert json_of(stream("-", state=None, input=text_of(ROWS).encode())) == whole


def test_batches_change_nothing(run, table, whole):
    for size in (1, 37, 5000):
        done = run(
            "stream", table, "--target", "y", "--first-rows", 100, "--save-every", size, "--json"
        )
        assert json_of(done) == whole


def test_options_reach_the_classifier(stream, table):
    out = json_of(
        stream(
            table,
            "--solver",
            "ofo",
            "--learner",
            "sgd",
            "--constant-step",
            "--positive",
            "no",
            "--drop",
            "zip,since",
            "--text",
            "age",
        )
    )
    assert (out["solver"], out["learner"], out["constant_step"], out["positive"]) == (
        "ofo", "sgd", True, "no",
    )  # fmt: skip
    assert out["columns"] == {
        "features": {"age": "category", "city": "category"}, "left_out": ["since", "zip"],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("bound", "code", "verdict"),
    [(0.1, 0, "shown"), (0.8, 4, "too close to call"), (0.999, 3, "shown to fail")],
)
def test_the_exit_code_tells_of_constraints(stream, table, bound, code, verdict):
    asked = ("--goal", f"maximize f1 subject to recall >= {bound}")
    done = stream(table, *asked, state=None)
    assert done.exit_code == code
    assert json.loads(done.stdout)["status"] == verdict
    done = stream(table, *asked, "--accept", "too-close", state=None)
    assert done.exit_code == (0 if code == 4 else code)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--goal", "minimize false_negative_rate", "--solver", "ofo"], "--solver sketch takes it"),
        (["--window", "9", "--solver", "ofo"], "--window is for --solver sketch, got --solver ofo"),
        (
            ["--goal", "maximize recall.min(city)"],
            "city.*; setpoint fit takes such goals, on rows that are kept$",
        ),
        (["--goal", "maximize accuracy", "--solver", "fofo"], "--solver fofo maximises fbeta"),
    ],
)
def test_what_streams_cannot_do(stream, table, tmp_path, options, message):
    assert re.search(message, last(stream(table, *options)))
    assert not (tmp_path / "s.state").exists()


def test_rows_without_label_and_bad_rows_are_counted(run, tmp_path):
    rows = [*ROWS[:300], "x,Kiel,,01,no", "31,Kiel,,01,", "31,Kiel", *ROWS[300:]]
    (tmp_path / "b.csv").write_text(text_of(rows), "utf-8")
    args = ["stream", tmp_path / "b.csv", "--target", "y", "--first-rows", 100, "--skip-bad"]
    done = run(*args, "--json")
    assert json_of(done)["rows"] == {"learnt": 900, "unlabelled": 1, "bad": 2}
    assert (
        "note: b.csv, line 302: column 'age': 'x' is not a number, as it was in the first rows; "
        "such "
        "rows are left out"
    ) in done.stderr.splitlines()
    text = run(*args).stdout
    assert (
        "Not learnt: 1 row without a label.\nNot learnt: 2 rows that cannot be read, the first in "
        "b.csv, line 302: column 'age': 'x' is not a number, as it was in the first rows.\n"
    ) in text


def notes_of(done):
    found = json.loads(done.stdout)["run"]["notes"]
    assert [f"note: {note}" for note in found] == done.stderr.splitlines()
    return found


def test_notes_on_how_it_is_read(stream, tmp_path):
    rows = "".join(f"{i},5;{i % 2}\n" for i in range(300))
    (tmp_path / "s.csv").write_bytes(f"größe;y\n{rows}".encode("utf-16"))
    notes = notes_of(stream(tmp_path / "s.csv", "--classes", "0,1"))
    assert notes == ["s.csv: UTF-16", "s.csv: separator ';'", "s.csv: decimal comma"]
    (tmp_path / "t.csv").write_bytes(f"größe\ty\n{rows}".replace(";", "\t").encode("cp1252"))
    options = ["--classes", "0,1", "--set", "encoding=cp1252"]
    notes = notes_of(stream(tmp_path / "t.csv", *options, state="t.state"))
    assert notes == ["t.csv: cp1252", "t.csv: tabs between fields", "t.csv: decimal comma"]


def test_codes_that_are_learnt_as_numbers_are_noted_once(stream, tmp_path):
    rows = [f"{10000 + i},{i % 2}" for i in range(300)]
    rows[150:250:50] = ["01067,0", "02099,1"]
    (tmp_path / "z.csv").write_text("\n".join(["zip,y", *rows, ""]), "utf-8")
    notes = notes_of(stream(tmp_path / "z.csv", "--classes", "0,1"))
    assert notes == [
        "z.csv, line 152: column 'zip': '01067' looks like a code and is learnt as a number, as in "
        "the first rows; --text zip keeps it as text, from the beginning of a stream on"
    ]
    assert notes_of(stream(tmp_path / "z.csv", "--text", "zip", "--positive", "1", state=None)) == [
        "z.csv: column 'zip' has 100 different values in the first 100 rows; --drop zip leaves "
        "it out if it names them"
    ]


def test_a_class_that_never_came(stream, table):
    rows = [row.replace(",yes", ",no") for row in ROWS]
    table.write_text(text_of(rows), "utf-8")
    assert notes_of(stream(table, "--classes", "no,Yes"))[-1] == (
        "no row of class 'Yes' has come; is the label written so?"
    )


@pytest.mark.parametrize("learner", ["sgd", "adagrad", "nag"])
def test_learners_that_need_scaled_columns(stream, tmp_path, learner):
    r = np.random.default_rng(0)
    x = r.normal(5000, 900, 2000)
    y = x + 500 * r.normal(size=2000) > 5500
    rows = [f"{v:.1f},{int(label)}" for v, label in zip(x, y, strict=True)]
    (tmp_path / "x.csv").write_text("\n".join(["x,y", *rows, ""]), "utf-8")
    notes = notes_of(stream(tmp_path / "x.csv", "--classes", "0,1", "--learner", learner))
    assert len(notes) == (learner != "nag")
    for note in notes:
        assert f": --learner {learner} is for columns scaled alike; --learner nag scales" in note


def test_options_without_an_effect_are_noted(run, table, tmp_path):
    args = ["stream", table, "--target", "y", "--state", tmp_path / "s.state"]
    assert "no effect" not in run(*args).stderr
    assert "no effect" not in run(*args).stderr
    done = run(*args, "--first-rows", 1000)
    assert f"--first-rows has no effect: {tmp_path / 's.state'} holds" in done.stderr


def test_a_wrong_separator(stream, table):
    message = last(stream(table, "--set", "separator=|"))
    assert message.endswith(
        "t.csv has no column 'y' (known: 'age,city,since,zip,y'); name another separator with "
        "--set separator"
    )
    json_of(stream(table))
    assert last(stream(table, "--set", "separator=|")).endswith(
        "another separator with --set separator"
    )


# ------------------------------------------------------------------------------------- decisions


def test_decisions_are_those_before_learning(stream, table, whole, tmp_path):
    table.write_text(text_of([*ROWS[:500], "31,Kiel,,01,", *ROWS[500:]]), "utf-8")
    done = stream(table, "-o", tmp_path / "d.csv")
    assert json.loads(done.stdout)["report"] == whole["report"]
    head, *lines = (tmp_path / "d.csv").read_text("utf-8").splitlines()
    assert head == "line,prediction"
    assert [int(line.split(",")[0]) for line in lines] == list(range(2, 903))
    decided = [line.split(",")[1] for line in lines]
    assert decided.pop(500) in ("yes", "no")
    true = [row.rsplit(",", 1)[1] for row in ROWS]
    (counts,) = (s["values"] for s in whole["report"]["sections"] if s["name"] == "stream")
    for key, pair in {"tp": ("yes", "yes"), "fp": ("no", "yes"), "fn": ("yes", "no")}.items():
        assert sum(both == pair for both in zip(true, decided, strict=True)) == counts[key]


def test_rows_before_the_first_label_have_no_decision(stream, tmp_path):
    (tmp_path / "u.csv").write_text("x,y\n1,\n2,no\n3,yes\n4,\n", "utf-8")
    done = stream(tmp_path / "u.csv", "-o", tmp_path / "d.csv")
    assert json.loads(done.stdout)["rows"]["unlabelled"] == 2
    lines = (tmp_path / "d.csv").read_text("utf-8").splitlines()
    assert lines[1] == "2,"
    assert all(line[2:] in ("yes", "no") for line in lines[2:])
    (tmp_path / "v.csv").write_text("x,y\n5,\n", "utf-8")
    stream(tmp_path / "v.csv", "-o", tmp_path / "e.csv")  # decided by what was learnt before
    assert (tmp_path / "e.csv").read_text("utf-8").splitlines()[1][2:] in ("yes", "no")


def test_decisions_go_on_where_the_state_was_saved(stream, table, tmp_path):
    output = tmp_path / "d.csv"
    stream(table, "-o", output, state=None)
    whole = output.read_bytes()
    for cut in (300, 301, 700):
        table.write_text(text_of(ROWS[:cut]), "utf-8")
        stream(table, "-o", output)
        with output.open("ab") as file:
            file.write(b"999,what came after the state was saved\n")
    table.write_text(text_of(ROWS), "utf-8")
    stream(table, "-o", output)
    assert output.read_bytes() == whole
    for data in (b"something else that is long enough\n" * 999, whole[:100], whole[:-1] + b"?"):
        output.write_bytes(data)
        assert "is not the file that was written before" in last(stream(table, "-o", output))
        assert output.read_bytes() == data
    output.unlink()
    json_of(stream(table, "-o", output))
    assert output.read_bytes() == b"line,prediction\n"


def test_decisions_go_to_a_file(stream, table, tmp_path):
    assert last(stream(table, "-o", "-")).startswith("error: --output is a file")
    for name in ("d.parquet", "d.csv.gz", "d.JSONL"):
        message = last(stream(table, "-o", tmp_path / name))
        assert message.startswith("error: --output is CSV; name it .csv, not ")
        assert not (tmp_path / name).exists()
    assert "would overwrite DATA" in last(stream(table, "-o", table))


# ------------------------------------------------------------------------------------- errors


def test_one_class_at_the_start(stream, tmp_path):
    rows = [row.replace(",yes", ",no") for row in ROWS[:200]]
    (tmp_path / "n.csv").write_text(text_of(rows + ROWS), "utf-8")
    done = stream(tmp_path / "n.csv")
    assert last(done) == (
        "error: n.csv: the first 100 rows hold one class only, 'no', in column 'y'; name both "
        "classes, the positive one last: --classes NO,YES"
    )
    for options in (["--classes", "no,yes"], ["--positive", "yes"]):
        out = json_of(stream(tmp_path / "n.csv", *options, state=None))
        assert (out["classes"], out["rows"]["learnt"]) == (["no", "yes"], 1100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "z"], "t.csv has no column 'z'"),
        (["--drop", "z"], "--drop: t.csv has no column 'z'"),
        (["--text", "z"], "--text: t.csv has no column 'z'"),
        (["--positive", "z"], "--positive: column 'y' holds no class 'z'"),
        (["--classes", "no,maybe"], "t.csv, line 3: the label 'yes' in column 'y' is neither of"),
        (["--classes", "yes"], "--classes: two different classes"),
        (["--save-every", "soon"], "--save-every is a number of rows such as 5000"),
        (["--solver", "magic"], "'magic' is not one of 'sketch'"),
        (["--learner", "magic"], "'magic' is not one of 'nag'"),
        (["--goal", "magic"], "magic"),
    ],
)
def test_what_does_not_fit(stream, table, tmp_path, options, message):
    table.write_text(text_of(["1,Kiel,2024-01-01,01,no", "2,Kiel,2024-01-01,01,yes", *ROWS]))
    assert message in last(stream(table, *options))


def test_target_has_to_be_named(stream, table):
    assert last(stream(table, target=None)) == "error: name the column to predict with --target"


def test_no_labels_at_all(stream, tmp_path):
    (tmp_path / "u.csv").write_text("x,y\n1,\n2,\n", "utf-8")
    done = stream(tmp_path / "u.csv", "--classes", "no,yes")
    assert last(done) == "error: u.csv: no row has a label in column 'y'"
    assert not (tmp_path / "s.state").exists()


def test_rows_before_a_bad_one_are_saved(stream, table, whole, tmp_path):
    table.write_text(text_of([*ROWS[:450], "31,Kiel,never,01,no", *ROWS[450:]]), "utf-8")
    state = tmp_path / "s.state"
    assert last(stream(table)) == (
        "error: t.csv, line 452: column 'since': 'never' is not a date such as 2024-12-31, as it "
        "was "
        "in the first rows; --skip-bad leaves such rows out; 450 rows before it were learnt; "
        f"{state} was written"
    )
    message = last(stream(table, state=None))
    assert message.endswith("; --state keeps what was learnt before")
    message = last(stream("-", state="in.state", input=table.read_bytes()))
    assert "; 450 rows before it were learnt, and count as new if they are sent again; " in message
    table.write_text(text_of(ROWS), "utf-8")  # with the line mended
    done = stream(table)
    assert json_of(done) == whole
    assert "450 rows were learnt before" in done.stderr
    assert "it goes on in line 452" in done.stderr


# ------------------------------------------------------------------------------------- going on


@pytest.mark.parametrize("cuts", [(350,), (100, 101, 899), (450, 900)])
def test_a_file_that_grows(stream, table, whole, cuts):
    for cut in cuts:
        table.write_text(text_of(ROWS[:cut]), "utf-8")
        stream(table)
    table.write_text(text_of(ROWS), "utf-8")
    done = stream(table, target=None)
    assert json_of(done) == whole
    assert json.loads(done.stdout)["run"]["learnt_before"] == cuts[-1]
    again = stream(table)
    assert json_of(again) == whole


def test_stdin_goes_on_with_what_comes(stream, whole):
    stream("-", input=text_of(ROWS[:321]).encode())
    done = stream("-", input=text_of(ROWS[321:]).encode())
    assert json_of(done) == whole
    assert "321 rows were learnt before" in done.stderr
    assert "; what comes now counts as new rows\n" in done.stderr


def test_the_output_on_stdin(run, tmp_path):
    state = tmp_path / "s.state"
    done = run("stream", "-", "--target", "y", "--state", state, input=text_of(ROWS).encode())
    assert done.stdout.endswith(
        f"Saved the state to {state}; what comes next on stdin is learnt as new rows: send only "
        "new ones, with the header.\n"
    )


def test_a_last_line_without_an_end_may_be_half_written(stream, table, whole):
    text = text_of(ROWS)
    for cut in (text.index(ROWS[500]) + 3, len(text) - 1):
        table.write_text(text[:cut], "utf-8")
        done = stream(table)
        assert "has no line end and may be half-written: it is left for a run" in done.stderr
        json_of(done)
    assert "t.csv: line 901 has" in done.stderr
    again = stream(table)
    assert json.loads(again.stdout)["rows"]["learnt"] == 899
    assert json_of(stream(table, state=None)) == whole  # there is no other run
    assert json_of(stream("-", state="in.state", input=text[:-1].encode())) == whole
    table.write_text(text, "utf-8")
    assert json_of(stream(table)) == whole


def test_another_table_of_the_same_columns(stream, table, whole, tmp_path):
    columns = [row.rsplit(",", 1) for row in ROWS[500:]]
    swapped = ["y;zip;age;city;since"]
    table.write_text(text_of(ROWS[:500]), "utf-8")
    stream(table)
    for row, label in columns:
        age, rest = row.split(",", 1)
        city, since, code = rest.rsplit(",", 2)
        swapped.append(";".join([label, code, age, city, since]))
    (tmp_path / "more.csv").write_text("\n".join([*swapped, ""]), "utf-8")
    done = stream(tmp_path / "more.csv", "--set", "separator=;")
    assert json_of(done) == whole
    assert "more.csv is not the table in which reading stopped, or it was changed" in done.stderr


def test_options_of_the_first_run_hold(stream, table, whole):
    first = json_of(stream(table, "--solver", "ofo", "--drop", "zip", "--positive", "no"))
    assert json_of(stream(table)) == first
    assert json_of(stream(table, "--solver", "ofo", "--positive", "no", "--drop", "zip")) == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--target", "city"], "--target: S was learnt with y, not city; leave the option out, or"),
        (["--goal", "maximize fbeta(beta=2)"], "--goal: S was learnt with maximize f1, not"),
        (["--solver", "fofo"], "--solver: S was learnt with sketch, not fofo"),
        (["--learner", "sgd"], "--learner: S was learnt with nag, not sgd"),
        (["--window", "500"], "--window: S was learnt without --window, not with --window 500"),
        (
            ["--constant-step"],
            "--constant-step: S was learnt without --constant-step, not with "
            "--constant-step; leave",
        ),
        (["--positive", "no"], "--positive: S was learnt with yes, not no"),
        (["--classes", "yes,no"], "--classes: S was learnt with no and yes, not yes and no"),
        (["--text", "age"], "--text: S took column 'age' for a number; leave the option out"),
        (["--set", "decimal=,"], "--set decimal: S was learnt with ., not ,"),
        (["--drop", "age"], "--drop: column 'age' was learnt from; begin a new state without it"),
    ],
)
def test_a_state_of_something_else(stream, table, tmp_path, options, message):
    json_of(stream(table))
    before = (tmp_path / "s.state").read_bytes()
    found = last(stream(table, *options, target=None))
    assert found.replace(str(tmp_path / "s.state"), "S").startswith(f"error: {message}")
    assert (tmp_path / "s.state").read_bytes() == before


def test_a_table_of_other_columns(stream, table, tmp_path):
    json_of(stream(table))
    table.write_text(text_of(ROWS).replace("zip", "zap"), "utf-8")
    assert "t.csv has no column 'zip' (did you mean 'zap'?)" in last(stream(table))
    rows = [f"{row},1" for row in text_of(ROWS).splitlines()]
    rows[0] = f"{HEAD},new"
    table.write_text("\n".join([*rows, ""]), "utf-8")
    assert "t.csv has a column 'new'" in last(stream(table))
    done = stream(table, "--drop", "new")
    assert json_of(done)["rows"]["learnt"] == 1800


def test_damaged_states(stream, table, model, tmp_path):
    state = tmp_path / "s.state"
    json_of(stream(table))
    whole = state.read_bytes()
    middle = len(whole) // 2
    flipped = whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1 :]
    for data in (b"", whole[:-100], flipped):
        state.write_bytes(data)
        message = last(stream(table))
        assert message.startswith("error: --state: ")
        assert message.endswith("; name another file, or move this one away to begin anew")
        assert state.read_bytes() == data
    message = last(stream(table, state=model))
    assert "is a model file, no state of setpoint stream" in message


def test_the_state_may_not_be_the_table(stream, table):
    assert "would overwrite DATA" in last(stream(table, state=table))


def test_one_state_is_for_one_process_at_a_time(begun, stream, table, whole, tmp_path):
    process, state = begun(), tmp_path / "s.state"
    process.stdin.write(text_of(ROWS[:350]).encode())
    process.stdin.flush()
    while not state.exists():
        assert process.poll() is None, process.stderr.read()
    message = f"error: --state: another process learns into {state}; wait for it, or name another"
    assert last(stream(table)).startswith(message)
    out, _ = process.communicate("".join(f"{row}\n" for row in ROWS[350:]).encode())
    assert process.returncode == 0
    found = json.loads(out)
    del found["run"]
    assert found == whole
    assert json_of(stream("-", input=text_of([]).encode() + b"31,Kiel,,01,no\n"))["rows"] == {
        "learnt": 901, "unlabelled": 0, "bad": 0,
    }  # fmt: skip
    assert not (tmp_path / "s.state.lock").exists()


# ------------------------------------------------------------------------------------- stopping


@pytest.fixture(params=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda s: s.name)
def number(request):
    """A signal as a terminal leaves it: whoever runs the tests may have it ignored, as nohup."""
    usual = signal.default_int_handler if request.param == signal.SIGINT else signal.SIG_DFL
    before = signal.signal(request.param, usual)
    yield request.param
    signal.signal(request.param, before)


def test_ctrl_c_ends_after_the_rows_already_read(
    stream, table, whole, tmp_path, monkeypatch, number
):
    learn, calls = StreamState.learn, []

    def stopped(self, batch, **how):
        calls.append(len(batch.y))
        if len(calls) == 3:
            os.kill(os.getpid(), number)
        return learn(self, batch, **how)

    monkeypatch.setattr(StreamState, "learn", stopped)
    done = stream(table)
    assert done.exit_code == 130
    assert done.stderr.splitlines()[-1] == f"stopped; {tmp_path / 's.state'} was written"
    out = json.loads(done.stdout)
    assert (out["rows"]["learnt"], out["run"]["stopped"]) == (300, True)
    assert json_of(stream(table)) == whole


@pytest.fixture
def begun(shell, tmp_path):
    """The command as a process that reads a pipe, run by some code."""
    running = []

    def start(code="from setpoint.cli import main\nimport sys\nmain(sys.argv[1:])"):
        command, env = shell
        args = [
            "stream", "-", "--target", "y", "--first-rows", "100", "--save-every", "100",
            "--json", "--state", str(tmp_path / "s.state"),
        ]  # fmt: skip
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        running.append(subprocess.Popen([command[0], "-c", code, *args], env=env, **pipes))
        return running[0]

    yield start
    for process in running:
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout, process.stderr):
            pipe.close()


def test_ctrl_c_while_waiting_for_rows(begun, stream, whole, tmp_path):
    process, state = begun(), tmp_path / "s.state"
    process.stdin.write(text_of(ROWS[:350]).encode())
    process.stdin.flush()
    while not state.exists():
        assert process.poll() is None, process.stderr.read()
    process.send_signal(signal.SIGINT)
    assert process.wait() == 130
    last_words = process.stderr.read().decode().splitlines()[-1]
    assert last_words == f"stopped; {state} was written"
    learnt = json.loads(process.stdout.read())["rows"]["learnt"]
    assert learnt in (100, 200, 300, 350)
    assert json_of(stream("-", input=text_of(ROWS[learnt:]).encode())) == whole


def test_ctrl_c_before_there_are_rows(begun, tmp_path):
    process = begun(
        "import os, signal, sys\n"
        "import setpoint.cli.stream as module\n"
        "from setpoint.cli import main\n"
        "class SignalHandler(module.SignalHandler):\n"
        "    def waiting(self):\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        return super().waiting()\n"
        "module.SignalHandler = SignalHandler\n"
        "main(sys.argv[1:])\n"
    )
    assert process.wait() == 130
    assert process.stdout.read() == b""
    assert process.stderr.read() == b"stopped; nothing was written\n"
    assert not list(tmp_path.iterdir())


# A process that is sent a signal when what was written to it so far was read.
AT_ITS_END = (
    "import os, select, signal, sys\n"
    "import setpoint.cli.stream as module\n"
    "from setpoint.cli import main\n"
    "class SignalHandler(module.SignalHandler):\n"
    "    calls = 0\n"
    "    def waiting(self):\n"
    "        self.calls += 1\n"
    "        if self.calls > 1 and not select.select([0], [], [], 0)[0]:\n"
    "            os.kill(os.getpid(), signal.SIGINT)\n"
    "        return super().waiting()\n"
    "module.SignalHandler = SignalHandler\n"
    "main(sys.argv[1:])\n"
)


@pytest.mark.parametrize(("n_rows", "learnt"), [(60, 60), (350, 350)])
def test_ctrl_c_loses_nothing_of_a_pipe(begun, stream, whole, tmp_path, n_rows, learnt):
    process = begun(AT_ITS_END)
    process.stdin.write(text_of(ROWS[:n_rows]).encode() + b"31,Ki")  # and half a row
    process.stdin.flush()
    assert process.wait() == 130
    last_words = process.stderr.read().decode().splitlines()[-1]
    assert last_words == f"stopped; {tmp_path / 's.state'} was written"
    out = json.loads(process.stdout.read())
    assert (out["rows"]["learnt"], out["run"]["stopped"]) == (learnt, True)
    done = stream("-", input=text_of(ROWS[learnt:]).encode())
    assert json.loads(done.stdout)["rows"]["learnt"] == 900
    if learnt > 100:  # what the columns hold was seen alike
        assert json_of(done) == whole


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (HEAD, None),
        pytest.param(HEAD + "\n31,Ki", None, marks=pytest.mark.long),
        ("x,y\n1,no\n2,no\n", "stdin: the first 2 rows hold one class only, 'no', in column 'y'"),
    ],
)
def test_ctrl_c_where_nothing_can_be_learnt(begun, tmp_path, text, note):
    process = begun(AT_ITS_END)
    process.stdin.write(text.encode())
    process.stdin.flush()
    assert process.wait() == 130
    lines = process.stderr.read().decode().splitlines()
    assert lines[-1] == "stopped; nothing was written"
    assert len(lines) == 1 + (note is not None)
    assert note is None or lines[0].startswith(f"note: {note}")
    assert not list(tmp_path.iterdir())


def test_nohup_holds(begun, whole):
    ignored = "import signal\nsignal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    process = begun(
        ignored + AT_ITS_END.replace("SIGINT)", "SIGHUP)\n            os.write(2, b'hung up\\n')")
    )
    process.stdin.write(text_of(ROWS[:350]).encode())
    process.stdin.flush()
    assert b"hung up\n" in iter(process.stderr.readline, b"")
    out, _ = process.communicate("".join(f"{row}\n" for row in ROWS[350:]).encode())
    assert process.returncode == 0
    found = json.loads(out)
    assert found.pop("run")["stopped"] is False
    assert found == whole


@pytest.mark.parametrize(
    ("closed", "data", "message"),
    [
        ("<&-", "-", "error: stdin is closed; name a file, or send rows to it\n"),
        (">&-", "t.csv", "error: stdout is closed, and the report goes there; > /dev/null drops"),
    ],
)
def test_closed_streams(shell, table, closed, data, message):
    command, env = shell
    line = f'exec "$@" {closed}'
    args = ["stream", data, "--target", "y", "--state", "s.state"]
    done = subprocess.run(
        ["sh", "-c", line, "sh", *command, *args],
        env=env, capture_output=True, check=False, cwd=table.parent, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message)
    assert not (table.parent / "s.state").exists()


@pytest.mark.parametrize("call", thinned(["replace", "fsync"], 2))
def test_killed_while_saving(shell, stream, table, whole, tmp_path, call):
    command, env = shell
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from setpoint.cli import main\n"
        "calls = []\n"
        "def killed(real):\n"
        "    def called(*args):\n"
        "        calls.append(1)\n"
        "        if len(calls) == 4:\n"
        "            os.kill(os.getpid(), signal.SIGKILL)\n"
        "        return real(*args)\n"
        "    return called\n"
        "if sys.argv.pop(1) == 'fsync':\n"
        "    os.fsync = killed(os.fsync)\n"
        "else:\n"
        "    Path.replace = killed(Path.replace)\n"
        "main(sys.argv[1:])\n"
    )
    args = ["stream", str(table), "--target", "y", "--first-rows", "100", "--save-every", "100"]
    output = tmp_path / "d.csv"
    kept = ["--state", str(tmp_path / "s.state"), "-o", str(output)]
    done = subprocess.run(
        [command[0], "-c", code, call, *args, *kept],
        env=env, capture_output=True, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    finished = stream(table, "-o", output)
    assert json_of(finished) == whole
    assert json.loads(finished.stdout)["run"]["learnt_before"] in (100, 300)
    decided = output.read_bytes()
    stream(table, "-o", output, state="fresh.state")
    assert output.read_bytes() == decided


# ------------------------------------------------------------------------------------- terminal


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_shows_a_line(monkeypatch):
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setenv("TERM", "xterm")
    texts = iter(["12 rows, f1 0.5000", "99 rows, f1 0.6000"])
    with LiveLine() as line:
        line.show(lambda: next(texts))
        line.show(lambda: next(texts))  # too soon
    assert next(texts) == "99 rows, f1 0.6000"
    assert "12 rows, f1 0.5000" in sys.stderr.getvalue()


def test_elsewhere_there_is_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with LiveLine() as line:
        line.show(lambda: 1 / 0)
    assert sys.stderr.getvalue() == ""


def test_when_to_save():
    every = SaveEvery.parse("100")
    assert [every.is_due(n) for n in (99, 100)] == [False, True]
    every.saved(100)
    assert not every.is_due(150)
    assert not SaveEvery.parse("9999s").is_due(10**9)
    assert SaveEvery(seconds=0.0).is_due(0)
