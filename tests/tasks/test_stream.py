"""A stream as a library call: what it returns, and one process at a time on a state."""

import os

import pytest

from setpoint.errors import InputError
from setpoint.tasks import stream, stream_lock
from setpoint.tasks.journal import Journal
from setpoint.tasks.stream_lock import locked

ROWS = [f"{x % 7},{'yes' if x % 7 > 3 else 'no'}" for x in range(200)]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["x,y", *ROWS, ""]))
    return path


def test_what_is_returned(table, tmp_path):
    journal = Journal()
    run = stream(table, "y", state=tmp_path / "s.state", output=tmp_path / "d.csv", journal=journal)
    assert run.notes == journal.notes == ["the positive class is 'yes'; `positive` names another"]
    assert (run.state.n_rows, run.stopped, run.report().goal) == (200, False, "maximize f1")
    assert len((tmp_path / "d.csv").read_text().splitlines()) == 201
    assert sorted(journal.seconds) == [
        "learning",
        "loading packages",
        f"reading the first rows of {table}",
    ]
    again = stream(table, state=tmp_path / "s.state")
    assert again.notes[-1] == "t.csv: no new rows have come"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d.csv", "s.state", "t.csv"]


def test_arguments_stand_in_back_quotes(table, tmp_path):
    for arguments, names in [
        ({}, ("target",)),
        ({"target": "y", "drop": ["z"]}, ("drop",)),
        ({"target": "y", "save_every": "soon"}, ("save_every",)),
        ({"target": "y", "output": "d.parquet"}, ("output",)),
    ]:
        with pytest.raises(InputError) as error:
            stream(table, **arguments)
        assert error.value.arguments == names


def test_a_state_that_cannot_be_written_is_found_before_any_work(tmp_path):
    # There is no such table either: that would be found next.
    with pytest.raises(
        InputError, match=r"`state`: .* cannot be written: No such file or directory"
    ):
        stream(tmp_path / "none.csv", "y", state=tmp_path / "none" / "s.state")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write all")
def test_a_folder_that_may_not_be_written_to(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match=r"`state`: .* cannot be written: Permission denied"):
        stream(tmp_path / "none.csv", "y", state=tmp_path / "s.state")


@pytest.mark.parametrize("has_fcntl", [True, False])
def test_a_lock_is_held_by_one(tmp_path, monkeypatch, has_fcntl):
    if not has_fcntl:
        monkeypatch.setattr(stream_lock, "fcntl", None)
    state = str(tmp_path / "s.state")
    for _ in range(2):
        with locked(state):
            with (
                pytest.raises(InputError, match="`state`: another process learns into"),
                locked(state),
            ):
                pass
            assert os.listdir(tmp_path) == ["s.state.lock"]
        assert os.listdir(tmp_path) == []


def test_a_lock_that_was_left_behind_is_taken(tmp_path):
    (tmp_path / "s.state.lock").write_bytes(b"")  # as a process that was killed leaves it
    with locked(str(tmp_path / "s.state")):
        pass
    assert os.listdir(tmp_path) == []
