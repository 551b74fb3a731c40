"""What the user asks for, checked before any work is done."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from setpoint.estimators.modules import batch_size_for
from setpoint.inputs.options import Number, check_numbers, check_one_of
from setpoint.penalty.methods import SOLVERS, Choices
from setpoint.penalty.plan import Schedule

__all__ = ["check_options", "choices_of", "schedule_of"]

_ONE_OF: dict[str, tuple[Any, ...]] = {
    "solver": SOLVERS,
    "rates": ("hinge", "sigmoid"),
    "reformulation": ("inequality", "equality"),
    "penalty_scale": ("paper", "code"),
    "on_infeasible": ("raise", "nearest"),
    "balanced": (False, True),
    "logit_regularization": (False, True),
    "polish": (False, True),
}
_NUMBERS = {
    "temperature": Number("a number above 0 or None", 0.0, False, other=None),
    "learning_rate": Number("'auto' or a number above 0", 0.0, False, other="auto"),
    "weight_decay": Number("'auto' or a number >= 0", 0.0, other="auto"),
    "checkpoint_every": Number("seconds >= 0", 0.0),
    "max_seconds": Number("a number above 0 or None", 0.0, False, other=None),
    "max_epochs": Number("'auto' or a whole number >= 1", 1.0, integer=True, other="auto"),
    "batch_size": Number("'auto' or a whole number >= 1", 1.0, integer=True, other="auto"),
    "patience": Number("a whole number >= 1", 1.0, integer=True),
    "refresh_every": Number("a whole number >= 1 or None", 1.0, integer=True, other=None),
    "min_positives": Number("'auto' or a number >= 0", 0.0, other="auto"),
    "validation_fraction": Number("'auto' or a number in [0, 1)", 0.0, below=1.0, other="auto"),
}
_NARROW_OF_NETWORKS = 0.3
_RATE, _DECAY = (1e-3, 3e-3), (1e-2, 1e-4)
"""Of AdamW, for networks and for linear models."""
_ROWS_PASSED, _FEWEST_EPOCHS, _MOST_EPOCHS = 10_000_000, 3, 50
"""Rows that a method passes over in all its epochs, whose number lies within these."""


def check_options(estimator: Any) -> None:
    """Check the parameters before any training.

    Raises
    ------
    ValueError
        It names the parameter, what was found and what is allowed.
    """
    check_one_of(estimator, _ONE_OF)
    check_numbers(estimator, _NUMBERS)
    path = estimator.checkpoint
    if path is not None and (not isinstance(path, str | os.PathLike) or not str(path)):
        raise ValueError(f"checkpoint is a path or None, got {path!r}")
    module = estimator.module
    if not callable(module) and module not in ("linear", "mlp"):
        raise ValueError(
            f"module is 'linear', 'mlp' or a function that makes a torch module, got {module!r}"
        )


def choices_of(estimator: Any) -> Choices:
    """What was said about single solvers."""
    e = estimator
    t = None if e.temperature is None else float(e.temperature)
    found = Choices(
        t, e.rates, e.balanced, e.reformulation, e.penalty_scale, e.logit_regularization
    )
    return found if e.module == "linear" else replace(found, narrow=_NARROW_OF_NETWORKS)


def schedule_of(estimator: Any, n_rows: int) -> Schedule:
    """How networks are trained on so many rows."""
    e = estimator
    every = None if e.refresh_every is None else int(e.refresh_every)
    batch, epochs, rate, decay = e.batch_size, e.max_epochs, e.learning_rate, e.weight_decay
    linear = e.module == "linear"
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
        int(e.patience),
    )
