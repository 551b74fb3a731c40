"""The journal of a task: notes, steps, and what warnings become."""

import contextlib
import warnings

import pytest

from setpoint.search import StoppedWarning
from setpoint.tasks import Journal


def test_a_note_is_kept_once_and_shown_once():
    shown = []

    class Loud(Journal):
        def show(self, text):
            shown.append(text)

        def worded(self, text):
            return text.upper()

    journal = Loud()
    for text in ("a  b", "a\nb", "c"):
        journal.note(text)
    assert journal.notes == shown == ["A B", "C"]


def test_a_step_is_timed_and_may_be_ended_before_and_after():
    class Ended(Journal):
        left = 1

        def check(self):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt

    journal = Ended()
    with pytest.raises(KeyboardInterrupt), journal.step("one"):
        pass
    assert not journal.seconds
    journal = Journal()
    with journal.step("one"):
        pass
    assert journal.seconds["one"] >= 0


@pytest.mark.parametrize(
    ("fails", "notes"),
    [
        (False, ["few rows", "stopped after 9 seconds: the best found so far is kept"]),
        (True, ["few rows", "stopped after 9 seconds"]),
    ],
)
def test_a_note_of_what_is_kept_waits_for_the_end(fails, notes):
    journal = Journal()
    with contextlib.suppress(ValueError), journal.warnings_as_notes() as heard:
        kept = "stopped after 9 seconds: the best found so far is kept"
        warnings.warn(StoppedWarning(kept, "stopped after 9 seconds"), stacklevel=1)
        warnings.warn("few rows", stacklevel=1)
        warnings.warn("no longer so", DeprecationWarning, stacklevel=1)
        assert journal.notes == ["few rows"]
        assert len(heard) == 2
        if fails:
            raise ValueError
    assert journal.notes == notes


def test_warnings_of_a_search_that_somebody_ended_are_not_notes():
    class Ending(Journal):
        stopping = True

    journal = Ending()
    with journal.warnings_as_notes() as heard:
        warnings.warn("interrupted", stacklevel=1)
    assert not heard
    assert not journal.notes
