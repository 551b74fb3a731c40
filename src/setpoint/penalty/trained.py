"""What training leaves: parameters, and scores by them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.estimators.trained import linear_scores

__all__ = ["module_of", "plain", "scores_of"]

Floats = NDArray[np.float64]


def scores_of(module: Any, parameters: Any, features: Any) -> Floats:
    """Logits (N,) of features as training took them.

    Parameters
    ----------
    module
        As given to the classifier.
    parameters : array of shape (d + 1,), or bytes
        Coefficients and intercept, or the state of a torch module as safetensors.
    features : array or CSR matrix of shape (N, d)
    """
    if isinstance(parameters, np.ndarray):
        return linear_scores(features, parameters)
    from setpoint.penalty.modules import scores

    return scores(module_of(module, parameters, features.shape[1]), features, "cpu")


def module_of(module: Any, parameters: Any, n_features: int) -> Any:
    """A torch module in eval mode with these parameters."""
    from setpoint.penalty.modules import build, load_bytes

    out = build(module, n_features, 0)
    load_bytes(out, parameters)
    return out.eval()


def plain(module: Any, parameters: Any) -> Any:
    """Coefficients and intercept, where a linear model was trained as a network."""
    if module != "linear" or isinstance(parameters, np.ndarray):
        return parameters
    from setpoint.penalty.modules import unpack

    state = {name: tensor.double().numpy() for name, tensor in unpack(parameters).items()}
    return np.concatenate([np.ravel(state["weight"]), np.ravel(state["bias"])])
