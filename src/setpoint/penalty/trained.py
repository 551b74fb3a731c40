"""What training leaves: parameters, and scores by them."""

from __future__ import annotations

from typing import Any

import numpy as np

from setpoint.array_types import Floats
from setpoint.estimators.linear_rule import linear_scores
from setpoint.estimators.modules import module_of, scores, unpack

__all__ = ["plain", "scores_of"]


def scores_of(module: Any, parameters: Any, features: Any) -> Floats:
    """Logits (N,) of features as training took them."""
    if isinstance(parameters, np.ndarray):
        return linear_scores(features, parameters)
    return scores(module_of(module, parameters, features.shape[1]), features, "cpu")


def plain(module: Any, parameters: Any) -> Any:
    """Coefficients and intercept, where a linear model was trained as a network."""
    if module != "linear" or isinstance(parameters, np.ndarray):
        return parameters
    state = {name: tensor.double().numpy() for name, tensor in unpack(parameters).items()}
    return np.concatenate([np.ravel(state["weight"]), np.ravel(state["bias"])])
