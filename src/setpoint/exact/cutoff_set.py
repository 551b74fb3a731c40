"""Cut-offs: one column of features for each cut-off of each slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from setpoint.evidence import Confusion, Curve, Evidence
from setpoint.program.accepted_rates import AcceptedRates
from setpoint.program.functions import RateFunction
from setpoint.program.rate_table import RateTable
from setpoint.rules import PerSlot, Rule, Threshold, mixture
from setpoint.search.achievable_set import AchievableSet, Floats, MixtureWeights, Priced

__all__ = ["CutoffSet", "Slot"]

_BLOCK = 8192
_PRICED = 1024

_ALL_AT_ONCE = 600


@dataclass(frozen=True, eq=False)
class Slot:
    """The cut-offs of one slot and what each adds to the features.

    Parameters
    ----------
    curve : Curve
    rows : AcceptedRates
        The rates over the accepted weights of the slot's kinds.
    """

    curve: Curve
    rows: AcceptedRates

    @property
    def base(self) -> Floats:
        """The features (d,) of the slot's rows when nobody is accepted."""
        return self.rows.base

    def features(self, cutoffs: NDArray[np.int64] | slice) -> Floats:
        """Features (m, d) of some cut-offs; each feature lies contiguous in memory."""
        return np.asarray(
            (self.rows.gains.T @ self.curve.counts[:, cutoffs] + self.base[:, None]).T
        )

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """All cut-offs with their features, some at a time: what is made of them stays in cache."""
        for start in range(0, self.curve.n_cutoffs, _BLOCK):
            cutoffs = slice(start, min(start + _BLOCK, self.curve.n_cutoffs))
            yield cutoffs, self.features(cutoffs)

    @cached_property
    def columns(self) -> Floats:
        """Features (m, d) of the cut-offs on the hull."""
        every = len(self.curve.hull) == self.curve.n_cutoffs
        return self.features(slice(None) if every else self.curve.hull)

    @cached_property
    def _ends(self) -> Floats:
        """Counts (K, blocks + 1) where blocks of the columns begin and end."""
        counts = self.curve.counts[:, self.curve.hull]
        at = np.append(np.arange(0, counts.shape[1], _PRICED), counts.shape[1] - 1)
        return np.asarray(counts[:, at])

    def best(self, slopes: Floats) -> tuple[int, float]:
        """The first column with the largest ``slopes @ column``, and that.

        Counts only grow along the curve, so the ends of a block bound what is in it, and
        most blocks need not be looked into.
        """
        columns = self.columns
        if len(columns) <= 4 * _PRICED:
            gains = columns @ slopes
            k = int(np.argmax(gains))
            return k, float(gains[k])
        ends, rates = self._ends, (self.rows.gains @ slopes)[:, None]
        most = np.maximum(rates * ends[:, :-1], rates * ends[:, 1:]).sum(axis=0)
        most += self.base @ slopes
        # What rounding may add to a sum of so few terms.
        most += 1e-12 * np.abs(rates * ends[:, -1:]).sum() + 1e-12 * abs(self.base @ slopes)
        top, at = -np.inf, 0
        for block in np.argsort(-most, kind="stable").tolist():
            if most[block] < top:
                break
            start = block * _PRICED
            gains = columns[start : start + _PRICED] @ slopes
            k = int(np.argmax(gains))
            if gains[k] > top or (gains[k] == top and start + k < at):
                top, at = float(gains[k]), start + k
        return at, top


class CutoffSet(AchievableSet):
    """What cut-offs do to binary rates: a block is a slot, a column a cut-off.

    Parameters
    ----------
    rates : RateTable
        Of a goal that is linked to the codebook of `evidence`.
    evidence : Evidence
        Binary, one score a row.
    curves : sequence of Curve, optional
        The evidence's, one a slot, where they are known already.
    most : int
        Up to this many columns linear programs begin with all; else they grow.
    """

    def __init__(
        self,
        rates: RateTable,
        evidence: Evidence,
        curves: Sequence[Curve] | None = None,
        most: int = _ALL_AT_ONCE,
    ) -> None:
        super().__init__(rates)
        self.evidence = evidence
        curves = curves or [evidence.curve(s) for s in range(len(evidence.slots))]
        # Totals from the prefix sums: "all but the accepted" must end at nothing.
        self.slots = tuple(
            Slot(curve, AcceptedRates(rates, curve.kinds, curve.counts[:, -1])) for curve in curves
        )
        n_columns = sum(len(s.curve.hull) for s in self.slots)
        self._whole = n_columns <= max(most, 2 * len(self.slots))

    otherwise = "with one slot and randomized=False every cut-off is tried"

    @property
    def n_blocks(self) -> int:
        """Number of slots."""
        return len(self.slots)

    def initial_columns(self, block: int) -> Sequence[int]:
        """All cut-offs on the hull where they are few, else the constants."""
        hull = self.slots[block].curve.hull
        return list(dict.fromkeys((hull if self._whole else hull[[0, -1]]).tolist()))

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) of some cut-offs."""
        return self.slots[block].features(np.asarray(numbers, np.int64))

    def price(self, slopes: Floats) -> Priced:
        """Each slot's best cut-off: a product over those on its hull."""
        self.limits.call()
        best, values = [], []
        for slot in self.slots:
            k, gain = slot.best(slopes)
            best.append(int(slot.curve.hull[k]))
            values.append(gain)
        return Priced(np.array(best, np.int64), np.array(values))

    def slots_of(self, x: RateFunction) -> frozenset[int]:
        """The slots whose decisions change a function."""
        cells = {c for j in x.features if j >= 0 for c in self.rates.rates[j].cells}
        return frozenset(int(self.evidence.cell_slot[c]) for c in cells)

    def features(self, choice: MixtureWeights) -> Floats:
        """Features (d,) of a choice of cut-offs, expected over its draws."""
        total = np.zeros(self.d)
        for slot, part in zip(self.slots, choice, strict=True):
            index = np.fromiter(part, np.int64, len(part))
            total += np.array(list(part.values())) @ slot.features(index)
        return total

    def constants(self) -> list[MixtureWeights]:
        """Accept nobody, and accept everybody."""
        nobody = [{0: 1.0} for _ in self.slots]
        everybody = [{s.curve.n_cutoffs - 1: 1.0} for s in self.slots]
        return [nobody, everybody]

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """The expected confusion of a choice; without weights the prefix sums know it."""
        evidence = self.evidence
        if evidence.weight is not None:
            slots = evidence.slot if evidence.decide_on else None
            return evidence.confusion(self.rule(choice).distribution(evidence.scores, slots))
        accepted = np.zeros((len(evidence.cells), 3))
        for slot, part in zip(self.slots, choice, strict=True):
            index = np.fromiter(part, np.int64, len(part))
            expected = slot.curve.counts[:, index] @ np.array(list(part.values()))
            for (cell, true), count in zip(slot.curve.kinds, expected, strict=True):
                accepted[cell, true] = count
        return evidence.confusion_of_accepted(accepted)

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The share of the rows' weight whose decision depends on a draw."""
        drawn = 0.0
        for slot, part in zip(self.slots, choice, strict=True):
            always, ever = min(part), max(part)
            counts = slot.curve.counts
            drawn += float((counts[:, ever] - counts[:, always]).sum())
        return drawn / float(self.evidence.marginals.weights.sum())

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule that a choice of cut-offs stands for."""
        rules = tuple(
            mixture([(p, Threshold(slot.curve.threshold(j))) for j, p in sorted(part.items())])
            for slot, part in zip(self.slots, choice, strict=True)
        )
        if not self.evidence.decide_on:
            return rules[0]
        return PerSlot(rules, self.evidence.slots)
