"""Evidence that is read again for each question: rows elsewhere, of which answers add up.

Every question is put to one batch of rows at a time, as evidence in memory, and the answers are
added in the order of the batches. What was asked once is known from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Self, TypeAlias

import numpy as np

from setpoint.array_types import Floats, Integers
from setpoint.errors import InputError
from setpoint.evidence.blocks import ONE_BLOCK, Blocks
from setpoint.evidence.calibration import surplus_of
from setpoint.evidence.codebook import Codebook, Coded, Marginals
from setpoint.evidence.confusion import Confusion
from setpoint.evidence.counted import Decider
from setpoint.evidence.credit import LABELS, POSTERIORS, Credit
from setpoint.evidence.curve import Curve
from setpoint.evidence.evidence import Evidence
from setpoint.evidence.pooling import pooled, shares_of
from setpoint.evidence.score_columns import ScoreColumns
from setpoint.evidence.tally import ChangedTableError

__all__ = ["Response", "StreamedEvidence"]

_ANSWERS = 2**29
"""Bytes of answers that are kept, and counted in one pass: all others are asked again."""
_AGREE = 1e-9
"""Sums of the same rows, relative to their weight."""

Response: TypeAlias = tuple[Floats, ...]
"""Factors and charges (W, B) of a rule, or its tensor (G,)."""


class _OfRule(NamedTuple):
    """What one pass says of a rule, all of it sums.

    `expected` (strata, n) is the weight of each class by the posteriors, `drawn` and `labelled`
    that of rows.
    """

    confusion: Confusion
    expected: Floats
    drawn: float
    surplus: Floats
    labelled: float

    def plus(self, other: _OfRule) -> _OfRule:
        return _OfRule(
            self.confusion + other.confusion,
            self.expected + other.expected,
            self.drawn + other.drawn,
            self.surplus + other.surplus,
            self.labelled + other.labelled,
        )


@dataclass
class _Known:
    """Answers that are known, and how many passes they took."""

    passes: int = 0
    marginals: Marginals | None = None
    weights: dict[bytes, Floats] = field(default_factory=dict)
    responses: dict[bytes, Floats] = field(default_factory=dict)
    rule: tuple[Decider, _OfRule] | None = None


@dataclass(frozen=True, eq=False)
class StreamedEvidence(Coded):
    """Rows with posteriors that are read in batches, once for each question.

    Parameters
    ----------
    labelled : Confusion
        Of any decision: the rows by their labels, counted before.
    codebook : Codebook
        Whose strata the batches are of.
    batches : callable
        A new reading of all rows, by labels, in the same order each time; its argument says
        whether the labels are wanted.
    credit : Credit
        Labels: what marginals are counted by. Searches ask soft evidence.
    watch : callable, optional
        Called after each pass with its number.

    Examples
    --------
    >>> rows = Evidence.from_arrays((0, 1), np.array([[0.9, 0.1], [0.4, 0.6]]), np.array([0, 1]))
    >>> counted = rows.confusion_of_accepted(np.zeros((1, 3)))
    >>> parts = [rows.take(np.array([i])) for i in range(2)]
    >>> streamed = StreamedEvidence(counted, rows.codebook, lambda labels: iter(parts))
    >>> streamed.with_posteriors().marginals.weights
    array([[1.3, 0.7, 0. ]])
    """

    labelled: Confusion
    codebook: Codebook
    batches: Callable[[bool], Iterator[Evidence]]
    credit: Credit = LABELS
    watch: Callable[[int], None] | None = None
    _known: _Known = field(default_factory=_Known)

    def with_posteriors(self) -> Self:
        """The same rows as soft evidence; what is known of them is shared."""
        return type(self)(
            self.labelled, self.codebook, self.batches, POSTERIORS, self.watch, self._known
        )

    # ------------------------------------------------------------------ what is known of the rows
    @property
    def passes(self) -> int:
        """How often all rows were read."""
        return self._known.passes

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.labelled.rows.sum())

    @property
    def n_scores(self) -> int | None:
        """Columns of the posteriors."""
        return self.n_classes

    @property
    def n_columns(self) -> int | None:
        """How many columns the totals of an argmax are linear in."""
        return self.n_scores

    @property
    def score_columns(self) -> ScoreColumns:
        """Posteriors of the classes, and nothing else."""
        return ScoreColumns(self.n_classes)

    @property
    def is_exact(self) -> bool:
        """Whether the best response to a linear objective over counts is known exactly."""
        return self.credit.is_exact(self.codebook)

    @property
    def is_weighted(self) -> bool:
        """Whether rows have weights."""
        return bool((self.labelled.counts.sum(axis=2) != self.labelled.rows).any())

    @property
    def segment_weights(self) -> Floats:
        """The weight (segments,) of the rows of each segment."""
        held = self.labelled.counts.sum(axis=(1, 2))
        at = self.codebook.stratum_segment
        return np.asarray(np.bincount(at, held, len(self.segments)), np.float64)

    @property
    def labelled_squares(self) -> Floats:
        """Sums of squared weights (strata,) of the rows of each stratum that have a label."""
        return np.asarray(self.labelled.squares[:, :-1].sum(axis=(1, 2)))

    def curve(self, segment: int) -> Curve:
        """Posteriors have none.

        Raises
        ------
        ValueError
        """
        raise InputError("rows with posteriors have no curve of cut-offs")

    def confusion_of_accepted(self, accepted: Floats, deferred: Floats | None = None) -> Confusion:
        """Posteriors have no cut-offs to accept by.

        Raises
        ------
        ValueError
        """
        raise InputError("rows with posteriors are not accepted by a cut-off")

    # ------------------------------------------------------------------ sums by blocks
    @property
    def marginals(self) -> Marginals:
        """The weight by stratum and true class; soft evidence knows it by the posteriors."""
        if not self.credit.by_posteriors:
            return self.labelled.marginals
        if self._known.marginals is None:
            self.foresee([])
        assert self._known.marginals is not None
        return self._known.marginals

    def blocks(self, tops: Integers | None = None) -> Blocks:
        """Segments; or segments times groups of the class on top. Batches code their own rows."""
        n = len(self.segments) * (1 if tops is None else int(tops[-1]) + 1)
        return Blocks(None, n, tops) if n > 1 else ONE_BLOCK

    def block_weights(self, blocks: Blocks = ONE_BLOCK) -> Floats:
        """The weight (n_blocks, strata, n + 1) by block, stratum and true class."""
        key = _key((), blocks)
        if key not in self._known.weights:
            self.foresee([], blocks)
        return self._known.weights[key]

    def block_features(
        self, W: Floats, B: Floats, blocks: Blocks = ONE_BLOCK
    ) -> tuple[Floats, Floats]:
        """The best response ``argmax_j W_j score_j - B_j``, as diagonals and columns."""
        diag, col = self._response((W, B), blocks)
        return diag, col

    def tensor_counts(self, G: Floats, blocks: Blocks = ONE_BLOCK) -> Floats:
        """Counts (n_blocks, strata, n + 1, n) of the best response ``argmax_j (scores @ G)_j``."""
        return self._response((G,), blocks)

    def loss_tensor(self, gains: Floats) -> Floats:
        """What deciding a class gains by segment and class; strata that are one are pooled."""
        return pooled(self.codebook, shares_of(self.codebook, self.marginals), gains)

    def _response(self, rule: Response, blocks: Blocks) -> Floats:
        key = _key(rule, blocks)
        if key not in self._known.responses:
            self.foresee([rule], blocks)
        found = self._known.responses[key]
        if found.nbytes > _ANSWERS:
            del self._known.responses[key]
        return found

    def foresee(self, rules: Sequence[Response], blocks: Blocks = ONE_BLOCK) -> None:
        """Count several rules in one pass, and what the rows hold without a rule.

        Nothing is read where all of it is known. Rules whose answers would not fit in memory
        together are left to be asked about later.

        Parameters
        ----------
        rules : sequence of (W, B) or (G,)
        blocks : Blocks
        """
        known = self._known
        wanted = {_key(rule, blocks): rule for rule in rules}
        new = [(key, rule) for key, rule in wanted.items() if key not in known.responses]
        if new:
            each = 8 * blocks.n * len(self.strata) * self.n_classes
            each *= max(2 if len(rule) > 1 else self.n_classes + 1 for _, rule in new)
            new = new[: max(_ANSWERS // each, 1)]
        plain = _key((), blocks)
        if not new and plain in known.weights and known.marginals is not None:
            return
        marginals: Marginals | None = None
        sums: list[Floats] = []
        for rows in self.batches(False):
            part = rows.with_posteriors()
            own = blocks if blocks.n == 1 else part.blocks(blocks.tops)
            answers = [part.block_weights(own), *(_respond(part, rule, own) for _, rule in new)]
            sums = [a + b for a, b in zip(sums, answers, strict=True)] if sums else answers
            marginals = part.marginals if marginals is None else marginals + part.marginals
        if marginals is None:
            raise ChangedTableError("the table has no rows any more")
        if known.marginals is None:
            known.marginals = marginals
        self._check(marginals.weights[:, :-1])
        known.weights[plain] = sums[0]
        held = sum(a.nbytes for a in [*known.responses.values(), *sums[1:]])
        while known.responses and held > _ANSWERS:
            held -= known.responses.pop(next(iter(known.responses))).nbytes
        known.responses.update({key: s for (key, _), s in zip(new, sums[1:], strict=True)})
        self._passed()

    # ------------------------------------------------------------------ one rule
    def confusion(self, rule: Decider) -> Confusion:
        """What a rule does, in expectation over its draws, counted by labels."""
        return self._of(rule).confusion

    def undecided(self, rule: Decider) -> float:
        """The share of the weight of rows whose decision depends on a draw."""
        return self._of(rule).drawn / float(self.labelled.counts.sum())

    def miscalibration(self, rule: Decider) -> float | None:
        """The largest difference between posteriors and labels in a share of the rows."""
        found = self._of(rule)
        return float(np.abs(found.surplus).max() / found.labelled) if found.labelled else None

    def _of(self, rule: Decider) -> _OfRule:
        """Everything about one rule: the last one asked about is kept."""
        if self._known.rule is not None and self._known.rule[0] is rule:
            return self._known.rule[1]
        total: _OfRule | None = None
        for rows in self.batches(True):
            found = _about(rows, rule)
            total = found if total is None else total.plus(found)
        if total is None or (total.confusion.rows != self.labelled.rows).any():
            raise ChangedTableError(
                "the rows of a class or group are not as many as in the first pass: the table "
                "changed, or is another one each time; materialise it"
            )
        self._check(total.expected)
        self._known.rule = rule, total
        self._passed()
        return total

    def _check(self, weights: Floats) -> None:
        """Whether a pass saw the posteriors (strata, n) of the first one."""
        if self._known.marginals is None:
            return
        known = self._known.marginals.weights[:, :-1]
        if np.abs(known - weights).max() > _AGREE * (1.0 + known.sum()):
            raise ChangedTableError(
                "the posteriors do not add up to what they did in an earlier pass: the table "
                "changed, or is another one each time; materialise it"
            )

    def _passed(self) -> None:
        self._known.passes += 1
        if self.watch is not None:
            self.watch(self._known.passes)


def _about(rows: Evidence, rule: Decider) -> _OfRule:
    confusion = rows.confusion(rule)
    surplus, labelled = surplus_of(rows, rule)
    return _OfRule(
        confusion,
        rows.with_posteriors().marginals.weights[:, :-1],
        rows.undecided(rule) * float(rows.segment_weights.sum()),
        surplus,
        labelled,
    )


def _respond(part: Evidence, rule: Response, blocks: Blocks) -> Floats:
    if len(rule) == 1:
        return part.tensor_counts(rule[0], blocks)
    return np.stack(part.block_features(rule[0], rule[1], blocks))


def _key(rule: Response, blocks: Blocks) -> bytes:
    """What is asked, to the bit."""
    tops = b"" if blocks.tops is None else np.asarray(blocks.tops, np.int64).tobytes()
    parts = [np.ascontiguousarray(a, np.float64).tobytes() for a in rule]
    return b"|".join([str((blocks.n, len(rule))).encode(), tops, *parts])
