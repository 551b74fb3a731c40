"""A candidate with calibration: the mean over the folds, and scores that none of it has seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from setpoint.plugin.auto.calibrated import (
    CalibratedModel,
    calibrated_in_parts,
    curves_of,
    mean_of,
)
from setpoint.plugin.auto.candidates import Candidate
from setpoint.plugin.auto.fold_pairs import FoldPair, calibrated_by_pairs, pairs_of, why_no_pairs
from setpoint.plugin.auto.folds import FoldFits, Pieces
from setpoint.plugin.judging import JudgedRows
from setpoint.search.limits import now
from setpoint.typing import Codes, Floats

__all__ = ["Averaging"]


@dataclass(frozen=True, eq=False)
class Averaging:
    """Means of calibrated models, for any candidate whose folds are fitted.

    The final model is the mean over the folds: the model without the fold, through isotonic
    curves of the fold's rows. The score of a row of fold k is the mean over all other folds j: a
    model without j and k, through curves of the rows of j. The model without j and k serves both
    folds, which takes a fit for each pair of folds.

    Parameters
    ----------
    fits : FoldFits
    rows : JudgedRows
    true : int array of shape (N,)
        Class codes of all rows of X.
    weight : array of shape (N,) or None
    """

    fits: FoldFits
    rows: JudgedRows
    true: Codes
    weight: Floats | None

    @cached_property
    def why_not(self) -> str:
        """Why the folds do not allow it; "" where they do."""
        return why_no_pairs(self._pairs, self.fits.splits, self.fits.y, self.weight)

    def scores(
        self, one: Candidate, pieces: Pieces, params: Mapping[str, Any], until: float
    ) -> Floats | None:
        """Out-of-fold scores of the judged rows; None: the time ended before."""
        index, splits, pairs = self.rows.index, self.fits.splits, self._pairs
        if not pairs:  # the parts of a single split take the place of folds
            own, weight = self.fits.in_order(pieces)[index], self._weight(index)
            return calibrated_in_parts(own, self.rows.fold, self.true[index], weight)
        found: list[Floats] = []
        for stop in self.fits.rounds(len(pairs), until):
            if now() >= until:
                return None
            folds = [pair.fold for pair in pairs[len(found) : stop]]
            found += [scores for _, scores in self.fits.some(one, params, folds, False)]
        return calibrated_by_pairs(pairs, found, splits, self.true, self.weight)[index]

    def model(self, pieces: Pieces) -> CalibratedModel:
        """For new rows, of the models of all folds."""
        curves = [
            curves_of(scores, self.true[test], self._weight(test))
            for (_, scores), (_, test) in zip(pieces, self.fits.splits, strict=True)
        ]
        return mean_of([model for model, _ in pieces], curves, self.fits.response.classes)

    @cached_property
    def _pairs(self) -> Sequence[FoldPair]:
        return pairs_of(self.fits.splits)

    def _weight(self, index: Any) -> Floats | None:
        return None if self.weight is None else self.weight[index]
