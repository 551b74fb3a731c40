"""Many cases of one kind: some for every run, all of them in the long one."""

import pytest

__all__ = ["thinned"]


def thinned(cases, every):
    """Every n-th case as it is, the others marked `long`."""
    out = []
    for i, case in enumerate(cases):
        own = list(getattr(case, "marks", []))
        values = getattr(case, "values", case if isinstance(case, tuple) else (case,))
        out.append(pytest.param(*values, marks=[*own, pytest.mark.long] if i % every else own))
    return out
