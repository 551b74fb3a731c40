"""Notes and steps are log records; warnings of libraries are notes."""

import contextlib
import warnings

import pytest

from setpoint.search import StoppedWarning
from setpoint.tables import note, step, warnings_as_notes


@pytest.fixture
def notes(caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    return lambda: [r.getMessage() for r in caplog.records if r.levelname == "INFO"]


def test_a_note_is_a_sentence_on_one_line(notes):
    for text in ("a  b", "a\nb", "100 %s"):
        note(text)
    assert notes() == ["a b", "a b", "100 %s"]


def test_a_step_is_timed_unless_it_fails(caplog):
    caplog.set_level("DEBUG", logger="setpoint.tables")
    with contextlib.suppress(ValueError), step("one"):
        raise ValueError
    with step("two"):
        pass
    begins_and_ends = [(r.step, getattr(r, "seconds", "begins")) for r in caplog.records]
    assert begins_and_ends[:3] == [("one", "begins"), ("one", None), ("two", "begins")]
    assert begins_and_ends[3][1] >= 0


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (False, ["few rows", "stopped after 9 seconds: the best found so far is kept"]),
        (True, ["few rows", "stopped after 9 seconds"]),
    ],
)
def test_a_note_of_what_is_kept_waits_for_the_end(fails, said, notes):
    with contextlib.suppress(ValueError), warnings_as_notes() as heard:
        kept = "stopped after 9 seconds: the best found so far is kept"
        warnings.warn(StoppedWarning(kept, "stopped after 9 seconds"), stacklevel=1)
        warnings.warn("few rows", stacklevel=1)
        warnings.warn("no longer so", DeprecationWarning, stacklevel=1)
        assert notes() == ["few rows"]
        assert len(heard) == 2
        if fails:
            raise ValueError
    assert notes() == said
