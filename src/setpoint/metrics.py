"""The vocabulary of goals, for ``from setpoint.metrics import *``.

Every name but the five functions is an entry of the table in ``setpoint.goals.table``.
"""

from __future__ import annotations

from typing import Any

from setpoint.goals import VOCABULARY, at_most, log, maximum, minimum, sqrt

__all__ = ["at_most", "log", "maximum", "minimum", "sqrt", *VOCABULARY]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    try:
        return VOCABULARY[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no metric {name!r}") from None


def __dir__() -> list[str]:
    return list(__all__)
