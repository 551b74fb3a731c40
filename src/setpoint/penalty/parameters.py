"""What the constructor may be given, and what it means for rows of some number."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from setpoint.errors import InputError
from setpoint.estimators.modules import batch_size_for
from setpoint.parameters import Allowed, Number
from setpoint.penalty.plan import Schedule
from setpoint.solvers import Minibatches, SearchLimits

__all__ = ["PARAMETERS", "check_sources", "schedule_of"]

PARAMETERS: Mapping[str, Allowed] = {
    "on_infeasible": ("raise", "nearest"),
    "checkpoint_every": Number("seconds >= 0", 0.0),
    "limits": SearchLimits,
    "training": Minibatches,
    "min_positives": Number("'auto' or a number >= 0", 0.0, other=("auto",)),
    "validation_fraction": Number("'auto' or a number in [0, 1)", 0.0, below=1.0, other=("auto",)),
}
_RATE, _DECAY = (1e-3, 3e-3), (1e-2, 1e-4)
"""Of AdamW, for networks and for linear models."""
_ROWS_PASSED, _FEWEST_EPOCHS, _MOST_EPOCHS = 10_000_000, 3, 50
"""Rows that a method passes over in all its epochs, whose number lies within these."""


def check_sources(estimator: Any) -> None:
    """Refuse a checkpoint that is not a path, and a module that cannot be made."""
    path = estimator.checkpoint
    if path is not None and (not isinstance(path, str | os.PathLike) or not str(path)):
        raise InputError(f"`checkpoint` is a path or None, got {path!r}")
    module = estimator.module
    if not callable(module) and module not in ("linear", "mlp"):
        raise InputError(
            f"`module` is 'linear', 'mlp' or a function that makes a torch module, got {module!r}"
        )


def schedule_of(training: Minibatches, linear: bool, n_rows: int) -> Schedule:
    """How networks, or linear models on many numbers, are trained on so many rows."""
    every = None if training.refresh_every is None else int(training.refresh_every)
    batch, epochs = training.batch_size, training.max_epochs
    rate, decay = training.learning_rate, training.weight_decay
    if batch == "auto":
        batch = batch_size_for(n_rows)
    if epochs == "auto":
        epochs = min(max(_ROWS_PASSED // n_rows, _FEWEST_EPOCHS), _MOST_EPOCHS)
    return Schedule(
        int(epochs),
        int(batch),
        float(_RATE[linear] if rate == "auto" else rate),
        float(_DECAY[linear] if decay == "auto" else decay),
        every,
        int(training.patience),
    )
