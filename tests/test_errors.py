"""What errors have in common: one base class, arguments in back quotes, fields for programs."""

import pickle
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError

import setpoint
from setpoint.blackbox import BudgetSpentError
from setpoint.errors import InputError, InputTypeError, SetpointError, quoted
from setpoint.inputs import CheckpointError, UnfittedError, check_settings
from setpoint.plugin.fit.crossfit import NoScoresError
from thinning import over


@over("name", sorted(n for n in setpoint.__all__ if n.endswith("Error")))
def test_every_public_error_has_the_base(name):
    assert issubclass(getattr(setpoint, name), SetpointError)


def test_python_catches_them_as_before():
    assert issubclass(InputError, ValueError)
    assert issubclass(InputTypeError, TypeError)
    assert issubclass(setpoint.StoppedError, RuntimeError)
    for error in (setpoint.InfeasibleError, setpoint.GoalError, setpoint.MetricError):
        assert issubclass(error, ValueError)
    assert issubclass(UnfittedError, NotFittedError)
    assert issubclass(NoScoresError, AttributeError)


def test_arguments_of_a_message():
    error = InputError("`X` has 3 rows, `datasets['old']` 4; leave `cv=5` out, or use `HoldOut`")
    assert error.arguments == ("X", "datasets", "cv")
    assert InputError("3 rows").arguments == ()
    assert quoted("datasets['old']: y_pred") == "`datasets['old']`: `y_pred`"


def test_a_remedy_of_python_is_a_part_of_its_own():
    error = setpoint.InfeasibleError("none", remedy="`on_infeasible='nearest'` returns one")
    assert str(error) == "none (`on_infeasible='nearest'` returns one)"
    again = pickle.loads(pickle.dumps(error))
    assert (again.finding, again.remedy) == ("none", "`on_infeasible='nearest'` returns one")


def test_the_checkpoint_of_another_run_says_what_differs():
    with pytest.raises(CheckpointError, match="`solver` was a and is b now") as caught:
        check_settings(Path("a.ckpt"), {"solver": "a"}, {"solver": "b"})
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.path, error.setting, error.was, error.now) == (
        Path("a.ckpt"), "solver", "a", "b",
    )  # fmt: skip
    with pytest.raises(CheckpointError, match="the number of rows was 1 and is 2 now"):
        check_settings(Path("a.ckpt"), {"rows": 1}, {"rows": 2})


def test_fields_stay_when_an_error_leaves_its_process():
    for error, field, value in (
        (setpoint.StoppedError("stopped", limit="seconds"), "limit", "seconds"),
        (BudgetSpentError("spent"), "limit", "evaluations"),
        (setpoint.MetricError("failed", metric="lift"), "metric", "lift"),
        (setpoint.ModelFileError("damaged", path="a.skops"), "path", "a.skops"),
    ):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), getattr(again, field)) == (str(error), value)
