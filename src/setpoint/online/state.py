"""The state of a stream: one record, the learner's weights, and the last rows.

That is all that is kept of the rows. Kernels take the record's fields by name, and write to
them: ``state.threshold``, ``state.tally[WEIGHT_OF_ROWS, y, decided]``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final

import numpy as np

from setpoint.array_types import Floats

__all__ = ["STATE", "State"]

# ------------------------------------------------------------------ what to do with a row
SCORE: Final = 1
DECIDE: Final = 2
LEARN: Final = 4

# ------------------------------------------------------------------ learners
SGD: Final = 0
ADAGRAD: Final = 1
NAG: Final = 2
"""From ADAGRAD on steps are divided by the root of the sum of squared gradients."""

# ------------------------------------------------------------------ solvers
SKETCH: Final = 0
FOFO: Final = 1
OFO: Final = 2
OFO_RB: Final = 3
HALF: Final = 4

# ------------------------------------------------------------------ weights, (7, d + 1)
# The last column is the intercept's.
WEIGHT: Final = 0
LAG: Final = 1
"""Weights minus this over the record's `averaged` are the averaged weights."""
SQUARES: Final = 2
"""Sums of squared gradients, in units of the largest distance."""
INVERSE: Final = 3
"""One over the largest distance of the feature from its centre; 1 without normalisation."""
CENTRE: Final = 4
"""What is taken off the feature; 0 where nothing is."""
TOTAL: Final = 5
PRESENT: Final = 6
"""Sums over the first rows, and in how many of them the feature was not zero."""

LARGEST: Final = 1e100
"""Without normalisation: larger values would end in infinite weights."""

UNSEEN: Final = 1e100
"""INVERSE of a feature that was always zero, or so small that it may as well be."""

# ------------------------------------------------------------------ tables of the tally
WEIGHT_OF_ROWS: Final = 0
SQUARED_WEIGHT: Final = 1
NUMBER_OF_ROWS: Final = 2
WEIGHT_IN_WINDOW: Final = 3

# ------------------------------------------------------------------ rows of the bins
BINS: Final = 512
RULE_NEGATIVE: Final = 0
RULE_POSITIVE: Final = 1
"""What the rule goes by: weighted by the square of the row's number, or the window's rows."""
NEGATIVE: Final = 2
POSITIVE: Final = 3
EXPECTED: Final = 4
"""Weight of all rows by class, and the sum of their posteriors."""

# ------------------------------------------------------------------ the last rows, (rows, 3)
RING_BIN: Final = 0
RING_CODE: Final = 1
"""2 y + decided."""
RING_WEIGHT: Final = 2

STATE: Final = np.dtype(
    [
        # What was chosen, in codes.
        ("learner", np.int64),
        ("solver", np.int64),
        ("constant_step", np.int64),  # 1: steps that do not shrink, and no average
        ("windowed", np.int64),  # 1: the sketch counts the rows of the window only
        ("asks", np.int64),  # 1: stop where a threshold is due, and let the caller find it
        ("margin", np.int64),  # 1: scores are not posteriors; the threshold is one of log-odds
        ("normalised", np.int64),  # 1: weights shrink when a feature is larger than ever
        ("step", np.float64),
        ("beta2", np.float64),  # the squared beta of F-beta
        # The learner.
        ("updates", np.float64),  # rows that it has learnt
        ("averaged", np.float64),  # sum of the weights of the average
        ("norms", np.float64),  # of squared features, in units of the largest distances
        ("centred", np.int64),  # number of features that have a centre
        # The threshold.
        ("threshold", np.float64),  # decide positive when the score is at least this
        ("open", np.int64),  # 1 once a positive came: before, nobody is decided positive
        ("due", np.int64),  # 1 when the threshold is to be found anew
        # The sketch: Platt's calibration, and the weight of rows and of positives when the
        # threshold was found last.
        ("slope", np.float64),
        ("intercept", np.float64),
        ("solved_rows", np.float64),
        ("solved_positives", np.float64),
        # FOFO: iterate, start and radius of the stage, its step, rows so far and in all, and
        # how many stages go on alike; negative: for ever, doubling.
        ("theta", np.float64),
        ("start", np.float64),
        ("radius", np.float64),
        ("rate", np.float64),
        ("stage", np.float64),
        ("stage_length", np.float64),
        ("stages_left", np.float64),
        # OFO: numerator and denominator of its threshold.
        ("gain", np.float64),
        ("cost", np.float64),
        # Counts.
        ("age", np.float64),  # rows of positive weight
        ("smallest", np.float64, (2,)),  # positive weight of a row, by class
        ("next", np.int64),  # where the next row goes in the ring
        ("filled", np.int64),  # rows in the ring
        ("tally", np.float64, (4, 2, 2)),  # by what is counted, true class and decision
        ("bins", np.float64, (5, BINS)),  # weight by score
    ]
)


@dataclass(eq=False)
class State:
    """What kernels read and write."""

    record: Any
    weights: Floats
    ring: Floats

    def copy(self) -> State:
        """Another state like this one."""
        return State(*(getattr(self, f.name).copy() for f in fields(self)))

    @property
    def tally(self) -> Floats:
        """Weights, squared weights, numbers of rows and the window's weights (4, 2, 2)."""
        tally: Floats = self.record["tally"]
        return tally

    @property
    def bins(self) -> Floats:
        """The sketch (5, BINS)."""
        bins: Floats = self.record["bins"]
        return bins
