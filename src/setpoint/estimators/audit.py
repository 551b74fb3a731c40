"""The audit trail of a classifier: its parameters, the packages inside, digests of all parts."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from sklearn.base import BaseEstimator

from setpoint.estimators.fingerprint import fingerprint
from setpoint.goals.goal import Goal
from setpoint.inputs.content import text_digest
from setpoint.report.audit import Audit
from setpoint.search.limits import now

__all__ = ["audit_of", "changed_parameters", "learner_versions"]

_LONGEST = 500
"""Characters of a parameter, the most that every version of MLflow takes."""

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")

_OURS = ("setpoint", "sklearn", "numpy", "scipy", "builtins", "__main__")


def audit_of(
    classifier: Any, goal: str, learnt: Mapping[str, Any], given: Mapping[str, str], started: float
) -> Audit:
    """What a classifier was made from and by.

    Parameters
    ----------
    classifier : fitted classifier
    goal : str
        That of the report.
    learnt : mapping
        What the model has learnt, by the names of its attributes.
    given : mapping of str to str
        The digests of the rows.
    started : float
        On the clock of :func:`~setpoint.search.limits.now`.
    """
    seconds = now() - started
    began = datetime.now(UTC) - timedelta(seconds=seconds)
    digests = {
        **given,
        "goal": text_digest(goal),
        "rule": text_digest(classifier.rule_.to_json()),
        "model": f"blake2b:{fingerprint(learnt)}",
    }
    kind = type(classifier)
    return Audit(
        began.isoformat(timespec="seconds"),
        seconds,
        f"{kind.__module__}.{kind.__qualname__}",
        changed_parameters(classifier),
        digests,
    )


def changed_parameters(estimator: Any) -> dict[str, str]:
    """The parameters that differ from their defaults, as text.

    Those of estimators inside have their names behind two underscores; an estimator itself is
    written as its class. A default is that of the version, which stands beside: sixty of them
    would hide the three that somebody chose.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from setpoint import PlugInClassifier
    >>> changed_parameters(PlugInClassifier(LogisticRegression(C=10), "f1"))
    {'estimator': 'LogisticRegression', 'estimator__C': '10', 'goal': 'f1'}
    """
    out: dict[str, str] = {}
    for name, value in _parameters(estimator, estimator):
        out[name] = _in_words(value)
    return dict(sorted(out.items()))


def _parameters(estimator: Any, top: Any, before: str = "") -> Iterable[tuple[str, Any]]:
    defaults = _defaults(type(estimator))
    for name, value in estimator.get_params(deep=False).items():
        if name not in defaults or not _same(value, defaults[name]):
            yield f"{before}{name}", value
        for key, inside in _inside(name, value):
            yield from _parameters(inside, top, f"{before}{key}__")


def _inside(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    """Estimators that a parameter holds, by their names: itself, or steps of a pipeline."""
    if _is_estimator(value):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for one in value:
            if isinstance(one, tuple) and len(one) > 1 and isinstance(one[0], str):
                yield from ((one[0], part) for part in one[1:] if _is_estimator(part))


def _is_estimator(value: Any) -> bool:
    return hasattr(value, "get_params") and not isinstance(value, type)


def _defaults(kind: type) -> dict[str, Any]:
    found = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {p.name: p.default for p in found if p.default is not inspect.Parameter.empty}


def _same(value: Any, default: Any) -> bool:
    """Whether a parameter is its default; an array never is."""
    if type(value) is not type(default):
        return False
    try:
        return bool(value == default) or (value != value and default != default)
    except (TypeError, ValueError):
        return False


def _in_words(value: Any) -> str:
    """A parameter as one line of text without addresses of memory."""
    if _is_estimator(value) and isinstance(value, BaseEstimator):
        text = type(value).__name__
    elif isinstance(value, (list, tuple)) and any(map(list, (_inside("", value),))):
        names = [f"{one[0]}: {type(one[1]).__name__}" for one in value if isinstance(one, tuple)]
        text = ", ".join(names)
    else:
        text = str(value) if isinstance(value, (str, Goal)) else repr(value)
    text = _ADDRESS.sub("", " ".join(text.split()))
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def learner_versions(estimator: Any) -> dict[str, str]:
    """The versions of the packages that the models inside come from, as far as they say so.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> learner_versions(LogisticRegression())
    {}
    """
    out: dict[str, str] = {}
    for value in [estimator, *estimator.get_params(deep=True).values()]:
        for kind in type(value).__mro__ if hasattr(value, "__dict__") else ():
            name = kind.__module__.partition(".")[0]
            if name in _OURS or name in out or name in sys.stdlib_module_names:
                continue
            found = _version(name)
            if found is not None:
                out[name] = found
    return dict(sorted(out.items()))


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        found = getattr(sys.modules.get(name), "__version__", None)
        return found if isinstance(found, str) else None
