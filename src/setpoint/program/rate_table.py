"""What counts give for the rates of a program, whatever is asked of them."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.program.linear_forms import LinearForms
from setpoint.program.rates import Rate
from setpoint.typing import Floats

__all__ = ["RateTable"]

_SMALL = 1_000_000
"""Up to so many weights, rates are one product with a dense matrix."""


class RateTable:
    """The d rates of a program as linear functions of the counts; no objective, no bounds.

    Programs that differ in what they ask of the same rates share one table.

    Parameters
    ----------
    codebook : Codebook
    marginals : Marginals
    rates : tuple of Rate
    forms : LinearForms
        The rates as functions of the counts, without dense tensors.
    """

    def __init__(
        self,
        codebook: Codebook,
        marginals: Marginals,
        rates: tuple[Rate, ...],
        forms: LinearForms,
    ) -> None:
        self.codebook = codebook
        self.marginals = marginals
        self.rates = rates
        self.forms = forms

    def __len__(self) -> int:
        return len(self.rates)

    def of(self, counts: Floats) -> Floats:
        """The rates (d,) at counts (strata, n + 1, n)."""
        if len(self.rates) * counts.size > _SMALL:
            return self.forms.sums(counts)
        return np.asarray(self._masks @ np.ravel(counts) / self.forms.norms)

    @cached_property
    def tensors(self) -> Floats:
        """Weights (d, strata, n + 1, n) of the counts: ``v_j = (tensors[j] * C).sum()``.

        Dense: with hundreds of classes ask :attr:`forms` instead.
        """
        n = self.codebook.n_classes
        shape = (len(self.rates), len(self.codebook.strata), n + 1, n)
        return self._masks.reshape(shape) / self.forms.norms[:, None, None, None]

    @cached_property
    def _masks(self) -> Floats:
        """The rates (d, strata * (n + 1) * n) before division by their norms."""
        n, strata = self.codebook.n_classes, self.codebook.strata
        out = np.zeros((len(self.rates), len(strata), n + 1, n))
        for j, f in enumerate(self.rates):
            for c in f.strata:
                out[j, c] = f.matrix(strata[c].baseline, n)
        return out.reshape(len(self.rates), len(strata) * (n + 1) * n)
