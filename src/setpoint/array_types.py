"""Types of arrays that the whole package uses."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
"""Numbers: counts, weights, rates, scores."""

Codes: TypeAlias = NDArray[np.int64]
"""Places in a list: strata, segments, classes, rows."""

Integers: TypeAlias = NDArray[np.integer[Any]]
"""Codes of any width, where rows are read many times."""

Bools: TypeAlias = NDArray[np.bool_]
"""Which rows, strata or classes."""
