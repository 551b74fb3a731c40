"""Rows that the tests of this folder share."""

import numpy as np

__all__ = ["DEPLOYED", "GROUP", "SCORES", "WEIGHT", "X", "Y"]

RNG = np.random.default_rng(0)
Y = (RNG.random(400) < 0.4).astype(int)
GROUP = np.where(RNG.random(400) < 0.4, "b", "a").astype(object)
SCORES = np.round(RNG.normal(size=400) + np.where(GROUP == "a", 1.5, 0.9) * Y, 2)
"""With ties."""

DEPLOYED = np.where(RNG.random(400) < 0.8, Y, 1 - Y)
WEIGHT = RNG.integers(1, 4, 400).astype(float)
X = np.column_stack([SCORES, DEPLOYED])
