"""The start of a stream, and what its batches are checked against."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.goal import as_goal
from setpoint.inputs.arrays import one_column
from setpoint.inputs.classes import ClassOrder, two_classes
from setpoint.inputs.labels import check_labels, check_weight
from setpoint.online import state as at
from setpoint.online.engine import Engine
from setpoint.online.late_labels import Waiting
from setpoint.online.parameters import Options
from setpoint.online.solvers.fofo import FIRST_STAGE, fofo_stages
from setpoint.online.state import State

__all__ = [
    "begin",
    "check_same_classes",
    "first_classes",
    "first_weights",
    "names_of",
    "weights_for",
]

_REPORTED = 10_000
"""Rows of the window that reports refer to, where rules know none."""


def begin(estimator: Any, n_features: int, classes: ClassOrder) -> Engine:
    """A stream before its first row, as the constructor's arguments ask for it."""
    options = Options.check(estimator, classes)
    model = None
    if options.own:
        model = clone(estimator.learner, safe=False)
        known = model.get_params() if hasattr(model, "get_params") else {}
        if estimator.random_state is not None and "random_state" in known:
            seed = check_random_state(estimator.random_state).randint(2**31 - 1)
            model.set_params(random_state=seed)
    negative, positive = classes.labels
    weights = first_weights(options, 0 if options.own else n_features)
    state = State(_first_record(options), weights, np.zeros((options.window or _REPORTED, 3)))
    waiting = Waiting(int(estimator.buffer_size))
    return Engine(options, (negative, positive), classes.sorted, state, waiting, model)


def first_weights(options: Options, n_features: int) -> Floats:
    """The learner's weights before the first row."""
    weights = np.zeros((7, n_features + 1))
    weights[at.INVERSE] = 1.0
    if options.learner == at.NAG:
        weights[at.INVERSE, :n_features] = at.UNSEEN
    return weights


def _first_record(options: Options) -> Any:
    record = np.zeros((), at.STATE)
    for name in ("learner", "solver", "constant_step", "asks", "margin", "step", "beta2"):
        record[name] = getattr(options, name)
    record["windowed"] = options.window is not None
    record["normalised"] = options.learner == at.NAG
    record["slope"] = 1.0
    record["smallest"] = np.inf
    most = 1.0 / (1.0 + options.beta2)
    if options.solver == at.HALF:
        record["threshold"] = 0.0 if options.margin else 0.5
        record["open"] = 1
    elif options.solver == at.FOFO and options.n is None:
        record["threshold"] = 0.5 * most  # as printed it starts at 0
    record["theta"] = record["start"] = record["threshold"]
    record["radius"] = most
    stages, rows = (-1, int(FIRST_STAGE)) if options.n is None else fofo_stages(options.n)
    record["stages_left"], record["stage_length"] = stages, rows
    record["rate"] = most / math.sqrt(10.0 * rows)
    return record


def first_classes(goal: Any, y: Any, declared: Any, pos_label: Any) -> ClassOrder:
    """The classes that were declared, or those of the first labels."""
    try:
        return two_classes(y, declared, pos_label, goal=as_goal(goal))
    except ValueError as error:
        if declared is None and "one class only" in str(error):
            raise InputError(
                f"{error}. A stream may begin so: declare `classes`, both labels"
            ) from None
        raise


def check_same_classes(classes: Any, known: NDArray[Any]) -> None:
    """Refuse other classes than before."""
    found = check_labels(classes, "classes")[0].tolist()
    if found != known.tolist():
        raise InputError(f"`classes` are {found}, and were {known.tolist()} so far")


def weights_for(
    engine: Engine, sample_weight: Any, n_rows: int, *, all_zero: bool = True
) -> NDArray[np.float64] | None:
    """Weights of rows, refused where the learner takes none."""
    if sample_weight is None:
        return None
    if not engine.takes_weights:
        raise InputError(
            f"`sample_weight`: {type(engine.model).__name__}.partial_fit takes no weights"
        )
    return check_weight(sample_weight, n_rows, all_zero=all_zero)


def names_of(ids: Any) -> list[Hashable]:
    """Ids as plain values."""
    names: list[Hashable] = one_column(ids, "ids").tolist()
    odd = [name for name in names if isinstance(name, bool) or not isinstance(name, (str, int))]
    if odd:
        raise InputTypeError(f"`ids` are text or whole numbers, got {odd[0]!r}")
    return names
