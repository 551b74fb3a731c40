"""Atoms: whole deterministic rules over posteriors, and what each does to the features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from setpoint.array_types import Floats
from setpoint.evidence import Evidence
from setpoint.evidence.blocks import Blocks
from setpoint.program.diagonal import DiagonalForm, diagonal_form
from setpoint.program.rate_table import RateTable
from setpoint.rules import Argmax, Rule

__all__ = ["Atom", "Constant", "DiagonalPricer", "Pricer", "Tensor", "Weighted", "pricer_of"]


class Atom(Protocol):
    """A deterministic rule: what it does in each segment."""

    def rule(self, segment: int) -> Rule:
        """The rule of one segment."""
        ...


@dataclass(frozen=True)
class Constant:
    """Predict one class for everybody."""

    code: int
    n_scores: int
    n_classes: int

    def rule(self, segment: int) -> Rule:
        """The same in every segment."""
        offset = np.zeros(self.n_classes)
        offset[self.code] = 1.0
        if self.n_scores == self.n_classes:
            return Argmax.weighted(np.zeros(self.n_classes), offset)
        return Argmax(np.zeros((self.n_scores, self.n_classes)), offset)


@dataclass(frozen=True, eq=False)
class Weighted:
    """``argmax_j W_j score_j - B_j``, W and B (segments, n)."""

    W: Floats
    B: Floats

    def rule(self, segment: int) -> Rule:
        """Weights and offsets of one segment."""
        offset = -self.B[segment] if self.B[segment].any() else None
        return Argmax.weighted(self.W[segment], offset)


@dataclass(frozen=True, eq=False)
class Tensor:
    """``argmax_j (scores @ G)_j``, G (segments, s, n)."""

    G: Floats

    def rule(self, segment: int) -> Rule:
        """The matrix of one segment."""
        return Argmax(self.G[segment])


class Pricer(Protocol):
    """From multipliers of the features to the atom that is best for them."""

    def atom(self, slopes: Floats) -> Atom:
        """The rule that maximises ``slopes @ v``."""
        ...

    def response(self, atom: Atom) -> tuple[Floats, ...]:
        """What an atom is to the evidence that counts it: (W, B) or (G,)."""
        ...

    def features(self, atom: Atom, blocks: Blocks) -> Floats:
        """What an atom adds to the features (blocks, d), block by block."""
        ...

    def constants(self, blocks: Blocks) -> Floats:
        """The same (n, blocks, d) for all constants."""
        ...


class DiagonalPricer:
    """Features are diagonals and columns, and each segment has one stratum: one fused pass."""

    def __init__(self, counted: Evidence, form: DiagonalForm) -> None:
        self.form = form
        self.counted = counted
        # The stratum of each segment.
        self.stratum = np.array(
            [
                int(np.flatnonzero(counted.codebook.stratum_segment == s)[0])
                for s in range(len(counted.segments))
            ]
        )

    def atom(self, slopes: Floats) -> Weighted:
        """Weights and charges of each segment's stratum."""
        W, B = self.form.weights(slopes)
        scale = _readable(W)
        return Weighted(scale * W[self.stratum], scale * B[self.stratum])

    def response(self, atom: Atom) -> tuple[Floats, Floats]:
        """Factors and charges."""
        assert isinstance(atom, Weighted)
        return atom.W, atom.B

    def features(self, atom: Atom, blocks: Blocks) -> Floats:
        """One pass; the constants of the features go to the first block."""
        out = self.form.features(*self.counted.block_features(*self.response(atom), blocks))
        out[0] += self.form.const
        return out

    def constants(self, blocks: Blocks) -> Floats:
        """All constants from one pass: rows of each class, and of all."""
        n = self.counted.n_classes
        held = self.counted.block_weights(blocks)
        out = np.empty((n, blocks.n, len(self.form.const)))
        diag, col = np.zeros(held[..., :n].shape), np.zeros(held[..., :n].shape)
        for code in range(n):
            diag[..., code], col[..., code] = held[..., code], held.sum(axis=-1)
            out[code] = self.form.features(diag, col)
            diag[..., code] = col[..., code] = 0.0
        out[:, 0] += self.form.const
        return out


class TensorPricer:
    """Any features, any strata: a loss tensor for each segment."""

    def __init__(self, rates: RateTable, counted: Evidence) -> None:
        self.rates = rates
        self.counted = counted

    def atom(self, slopes: Floats) -> Tensor:
        """The tensor of gains, segment by segment."""
        gains = self.rates.tensor(slopes)[:, : self.counted.n_classes]
        return Tensor(self.counted.loss_tensor(_readable(gains) * gains))

    def response(self, atom: Atom) -> tuple[Floats]:
        """A tensor."""
        if isinstance(atom, Weighted):  # a baseline; posteriors sum to one
            eye = np.eye(atom.W.shape[1])
            G = atom.W[:, None, :] * eye - atom.B[:, None, :]
            more = len(self.counted.score_columns.values) * G.shape[1]
            atom = Tensor(np.pad(G, ((0, 0), (0, more), (0, 0))))
        assert isinstance(atom, Tensor)
        return (atom.G,)

    def features(self, atom: Atom, blocks: Blocks) -> Floats:
        """Decide, then count."""
        return self._of(self.counted.tensor_counts(*self.response(atom), blocks))

    def constants(self, blocks: Blocks) -> Floats:
        """Class by class."""
        held, n = self.counted.block_weights(blocks), self.counted.n_classes
        counts, out = np.zeros((*held.shape, n)), []
        for code in range(n):
            counts[..., code] = held
            out.append(self._of(counts))
            counts[..., code] = 0.0
        return np.array(out)

    def _of(self, counts: Floats) -> Floats:
        return np.array([self.rates.of(c) for c in counts])


def _readable(numbers: Floats) -> float:
    """A power of two that brings numbers near 1, and changes not a bit of a decision."""
    return float(2.0 ** -np.frexp(np.abs(numbers).max(initial=0.0))[1])


def pricer_of(rates: RateTable, counted: Evidence) -> Pricer:
    """The fused pass where the features and strata allow it, else the general one."""
    book = counted.codebook
    plain = not (book.measures or book.hides_strata) and counted.credit.of_classes
    form = diagonal_form(rates) if plain else None
    if form is None:
        return TensorPricer(rates, counted)
    return DiagonalPricer(counted, form)
