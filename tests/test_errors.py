"""What errors have in common: one base class, arguments in back quotes, fields for programs."""

import ast
import pickle
import re
from functools import cache
from pathlib import Path

import pytest
from sklearn.exceptions import NotFittedError

import setpoint
from setpoint.blackbox import BudgetSpentError
from setpoint.errors import InputError, InputTypeError, SetpointError, quoted
from setpoint.inputs import CheckpointError, UnfittedError, check_settings
from setpoint.plugin.fit.crossfit import NoScoresError
from thinning import over

SOURCE = Path(setpoint.__file__).parent
ARGUMENT = re.compile(r"`([A-Za-z_]\w*)[=\[`]")


@cache
def nodes():
    """All nodes of the sources that are looked at here, and the files that they are in."""
    kinds = (ast.arg, ast.ClassDef, ast.AnnAssign, ast.Call, ast.Raise, ast.Attribute, ast.Dict)
    return [
        (path.relative_to(SOURCE), node)
        for path in sorted(SOURCE.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, kinds)
    ]


def name_of(function):
    return getattr(function, "id", getattr(function, "attr", ""))


def parameters():
    """Names of parameters, fields and classes in the library, and what a shell says for some."""
    for path, node in nodes():
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Dict) and path == Path("cli/session.py"):
            yield from (key.value for key in node.keys if isinstance(key, ast.Constant))


def named():
    """Arguments in back quotes in what is raised, and where."""
    for path, node in nodes():
        if isinstance(node, ast.Call) and name_of(node.func).endswith("Error"):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    for found in ARGUMENT.finditer(part.value):
                        yield found[1], f"{path}:{part.lineno}"


def test_every_argument_in_a_message_is_there():
    known, found = set(parameters()), list(named())
    assert len(found) > 300
    assert [(name, place) for name, place in found if name not in known] == []


def test_checks_raise_errors_of_setpoint():
    bare = [
        f"{path}:{node.lineno}"
        for path, node in nodes()
        if isinstance(node, ast.Raise)
        and isinstance(node.exc, ast.Call)
        and name_of(node.exc.func) in ("ValueError", "TypeError", "RuntimeError")
    ]
    assert bare == []


def test_warnings_are_issued_in_one_place():
    """By `warn_caller`, which finds the line of whoever called the library."""
    warned = {
        str(path)
        for path, node in nodes()
        if isinstance(node, ast.Attribute)
        and (node.attr, name_of(node.value)) == ("warn", "warnings")
    }
    assert warned == {"errors.py"}


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
