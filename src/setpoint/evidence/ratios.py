"""Ratios of affine forms over accepted counts, at every cut-off.

A form over K kinds is ``K + 1`` numbers, the constant last; a ratio is two forms and an
offset, worth ``offset + A/B`` with 0/0 = 0 and x/0 = inf with the sign of x. An affine
expression has the constant one as B.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.array_types import Floats
from setpoint.compiled import kernel

__all__ = ["ROUNDING", "Ratios", "affine", "ratio", "ratio_at", "zeros_of"]


ROUNDING = 4.0 * np.finfo(np.float64).eps
"""Of what the terms of a form reach: what prefix sums leave of their own totals."""


class Ratios(NamedTuple):
    """An objective and the bounds on R other ratios over the counts of K kinds, for kernels."""

    forms: Floats
    zeros: Floats
    offsets: Floats
    lower: Floats
    upper: Floats


def zeros_of(forms: Floats, totals: Floats, rounding: float = ROUNDING) -> Floats:
    """Magnitude (...,) up to which forms (..., K + 1) are zero but for rounding."""
    zeros: Floats = rounding * (np.abs(forms) @ np.append(totals, 1.0))
    return zeros


@kernel(plain=True)
def affine(counts: Floats, start: int, size: int, form: Floats, out: Floats) -> None:
    """Values of a form at cut-offs start to start + size."""
    n_kinds = counts.shape[0]
    for i in range(size):
        out[i] = form[n_kinds]
    for k in range(n_kinds):
        slope = form[k]
        if slope != 0.0:
            row = counts[k, start : start + size]
            for i in range(size):
                out[i] += slope * row[i]


@kernel(plain=True, error_model="numpy")
def ratio(
    counts: Floats,
    start: int,
    size: int,
    forms: Floats,
    zero: Floats,
    offset: float,
    num: Floats,
    den: Floats,
    out: Floats,
) -> None:
    """Values of a ratio at cut-offs start to start + size; `num` and `den` are scratch."""
    affine(counts, start, size, forms[0], num)
    affine(counts, start, size, forms[1], den)
    for i in range(size):
        a, b = num[i], den[i]
        undefined = abs(b) <= zero[1]
        beyond = 0.0 if abs(a) <= zero[0] else np.copysign(np.inf, a)
        out[i] = offset + (beyond if undefined else a / b)


@kernel(error_model="numpy", inline="always")
def ratio_at(forms: Floats, zero: Floats, offset: float, x: float, y: float) -> float:
    """One ratio over two kinds, at accepted weights x and y."""
    a = forms[0, 2] + forms[0, 0] * x + forms[0, 1] * y
    b = forms[1, 2] + forms[1, 0] * x + forms[1, 1] * y
    if abs(b) > zero[1]:
        return float(offset + a / b)
    return float(offset if abs(a) <= zero[0] else offset + np.copysign(np.inf, a))
