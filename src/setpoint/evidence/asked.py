"""What searches over posteriors ask of counted data: every answer is a sum over rows."""

from __future__ import annotations

from typing import Protocol, Self

from setpoint.array_types import Floats, Integers
from setpoint.evidence.blocks import ONE_BLOCK, Blocks
from setpoint.evidence.counted import Counted, Decider
from setpoint.evidence.credit import Credit
from setpoint.evidence.score_columns import ScoreColumns

__all__ = ["Asked"]


class Asked(Counted, Protocol):
    """Counted data with posteriors.

    :class:`~setpoint.evidence.evidence.Evidence` holds the rows;
    :class:`~setpoint.evidence.streamed.StreamedEvidence` reads them again for each question.
    """

    @property
    def credit(self) -> Credit:
        """Labels, or posteriors."""
        ...

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def n_columns(self) -> int | None:
        """How many columns the totals of an argmax are linear in; None: one score a row."""
        ...

    @property
    def score_columns(self) -> ScoreColumns:
        """What the columns of the scores are."""
        ...

    @property
    def is_exact(self) -> bool:
        """Whether the best response to a linear objective over counts is known exactly."""
        ...

    def with_posteriors(self) -> Self:
        """The same rows as soft evidence."""
        ...

    def blocks(self, tops: Integers | None = None) -> Blocks:
        """Segments; or segments times groups of the class on top."""
        ...

    def block_weights(self, blocks: Blocks = ONE_BLOCK) -> Floats:
        """The weight (n_blocks, strata, n + 1) by block, stratum and true class."""
        ...

    def block_features(
        self, W: Floats, B: Floats, blocks: Blocks = ONE_BLOCK
    ) -> tuple[Floats, Floats]:
        """The best response ``argmax_j W_j score_j - B_j``, as diagonals and columns."""
        ...

    def loss_tensor(self, gains: Floats) -> Floats:
        """What deciding a class gains by segment and score column."""
        ...

    def tensor_counts(self, G: Floats, blocks: Blocks = ONE_BLOCK) -> Floats:
        """Counts (n_blocks, strata, n + 1, n) of the best response ``argmax_j (scores @ G)_j``."""
        ...

    def undecided(self, rule: Decider) -> float:
        """The share of the weight of rows whose decision depends on a draw."""
        ...

    def miscalibration(self, rule: Decider) -> float | None:
        """The largest difference between posteriors and labels in a share of the rows."""
        ...
