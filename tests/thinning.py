"""Many cases of one kind: in one test, or some for every run and the others in the long one."""

from functools import wraps
from inspect import Parameter, signature

import pytest

__all__ = ["over"]


def over(names, cases, every=1):
    """Like `parametrize`, but all cases are one test, and what fails names its case.

    Where `every` is more than one, every n-th case is one test and the others a long one.
    """
    names = names.replace(",", " ").split() if isinstance(names, str) else list(names)
    cases = [values_of(case, len(names)) for case in cases]
    part = "_".join(["part", *names])

    def decorate(test):
        @wraps(test)
        def run(*args, **given):
            skipped = []
            chosen = given.pop(part, cases)
            for values in chosen:
                case = dict(zip(names, values, strict=True))
                try:
                    test(*args, **given, **case)
                except pytest.skip.Exception as skip:
                    skipped.append(skip)
                except (Exception, pytest.fail.Exception) as error:
                    shown = ", ".join(f"{name}={value!r:.200}" for name, value in case.items())
                    error.add_note(f"case {shown}")
                    raise
            if len(skipped) == len(chosen):
                raise skipped[-1]

        # What is looped over is no fixture, and a part is given by pytest.
        seen = signature(test)
        rest = [p for name, p in seen.parameters.items() if name not in names]
        if every == 1:
            run.__signature__ = seen.replace(parameters=rest)
            return run
        run.__signature__ = seen.replace(
            parameters=[*rest, Parameter(part, Parameter.KEYWORD_ONLY)]
        )
        some, others = cases[::every], [c for i, c in enumerate(cases) if i % every]
        return pytest.mark.parametrize(
            part,
            [
                pytest.param(some, id="some"),
                pytest.param(others, id="others", marks=pytest.mark.long),
            ],
        )(run)

    return decorate


def values_of(case, n):
    """What a case gives to each of n names."""
    assert not getattr(case, "marks", ()), "a marked case is a test of its own"
    if hasattr(case, "marks"):  # pytest.param
        return case.values
    return (case,) if n == 1 else tuple(case)
