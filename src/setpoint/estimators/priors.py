"""Weights for samples whose class shares are not those of the population.

In a case-control sample the rare class is over-represented. Weighted by the known shares,
every rate, and so every goal, is that of the population.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.errors import InputError, InputTypeError
from setpoint.goals.errors import nearest
from setpoint.inputs.labels import check_labels

__all__ = ["weights_for_prior"]

_NUMBER = (int, float, np.integer, np.floating)


def weights_for_prior(y: Any, prior: Mapping[Any, Any]) -> NDArray[np.float64]:
    r"""Row weights under which the classes have the shares `prior`.

    With :math:`N_k` of `N` rows in class `k` and the share :math:`\pi_k`, a row of class
    `k` weighs :math:`\pi_k N / N_k`: the weights of class `k` sum to :math:`\pi_k N`, and
    their mean over all rows is 1.

    Parameters
    ----------
    y : array-like of shape (N,)
        Class labels.
    prior : mapping of label to float
        The share of each class in the population, in (0, 1), for exactly the labels in `y`;
        they sum to 1 within 1e-6 (and are then scaled to sum to 1).

    Returns
    -------
    ndarray of float64, shape (N,)
        To be passed as ``sample_weight``.

    Raises
    ------
    ValueError
        If `prior` names a label that is not in `y`, lacks one that is, holds a share
        outside (0, 1), or does not sum to 1.
    TypeError
        If `prior` is not a mapping or a share is not a number.

    Examples
    --------
    >>> weights_for_prior(["fraud", "fraud", "fine", "fine"], {"fraud": 0.1, "fine": 0.9})
    array([0.2, 0.2, 1.8, 1.8])
    """
    if not isinstance(prior, Mapping):
        raise InputTypeError(f"`prior` must be a dict from labels to shares, found {prior!r}")
    classes, codes = check_labels(y)
    labels = classes.tolist()
    for label, share in prior.items():
        if label not in labels:
            raise InputError(
                f"`prior` names the label {label!r}, which y does not hold "
                f"({nearest(label, labels)})"
            )
        if isinstance(share, (bool, np.bool_)) or not isinstance(share, _NUMBER):
            raise InputTypeError(f"`prior[{label!r}]` must be a number, found {share!r}")
        if not 0 < share < 1:
            raise InputError(f"`prior[{label!r}]` must be in (0, 1), found {float(share)!r}")
    lacking = [label for label in labels if label not in prior]
    if lacking:
        raise InputError(
            f"`prior` lacks {', '.join(map(repr, lacking))}, which y holds; it needs a share for "
            "every label"
        )
    total = math.fsum(float(prior[label]) for label in labels)
    if abs(total - 1) > 1e-6:
        raise InputError(f"`prior` sums to {total:.6g}; the shares of all labels must sum to 1")
    shares = np.array([float(prior[label]) for label in labels]) / total
    weights: NDArray[np.float64] = (shares * len(codes) / np.bincount(codes))[codes]
    return weights
