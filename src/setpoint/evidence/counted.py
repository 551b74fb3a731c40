"""Counted data: what searches, tests and reports ask of rows of two classes, never a row itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from setpoint.array_types import Floats
from setpoint.evidence.codebook import Codebook, Marginals
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.curve import Curve
from setpoint.evidence.strata import Stratum
from setpoint.goals.populations import Key, Label

__all__ = ["Counted", "Decider"]


class Decider(Protocol):
    """A rule, as far as counting it needs to know."""

    @property
    def needs_segments(self) -> bool:
        """Whether a decision looks at the row's segment."""
        ...

    def distribution(
        self, scores: ArrayLike, segments: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """The probability (N, n) with which each row is decided each class."""
        ...


class Counted(Protocol):
    """Data that can be counted: rows in memory, or counts of rows that lie elsewhere."""

    if TYPE_CHECKING:  # a field of a subclass takes no default from here

        @property
        def codebook(self) -> Codebook:
            """Classes, strata and columns: what a goal is linked to."""
            ...

        @property
        def n_scores(self) -> int | None:
            """Columns of the scores; None: one score a row."""
            ...

        @property
        def marginals(self) -> Marginals:
            """The weight by stratum and true class."""
            ...

        @property
        def is_weighted(self) -> bool:
            """Whether rows have weights, or count by measures too."""
            ...

        @property
        def n_rows(self) -> int:
            """Number of rows."""
            ...

        @property
        def segment_weights(self) -> Floats:
            """The weight (segments,) of the rows of each segment."""
            ...

        @property
        def labelled_squares(self) -> Floats:
            """Sums of squared weights (strata,) of the rows of each stratum that have a label."""
            ...

        def curve(self, segment: int) -> Curve:
            """The cut-offs of one segment with prefix sums of the counts, ties one block."""
            ...

        def confusion(self, rule: Decider) -> Confusion:
            """What a rule does, in expectation over its draws, counted by labels."""
            ...

        def confusion_of_accepted(
            self, accepted: Floats, deferred: Floats | None = None
        ) -> Confusion:
            """Two classes, no weights: from how many are accepted by stratum and true class."""
            ...

    @property
    def classes(self) -> tuple[Label, ...]:
        """With two classes, (negative, positive)."""
        return self.codebook.classes

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self.codebook.n_classes

    @property
    def strata(self) -> tuple[Stratum, ...]:
        """The strata, in the order of their codes."""
        return self.codebook.strata

    @property
    def segments(self) -> tuple[Key, ...]:
        """The segments, in the order of a rule's codes."""
        return self.codebook.segments

    @property
    def decide_on(self) -> tuple[str, ...]:
        """The columns that a rule may look at."""
        return self.codebook.decide_on
