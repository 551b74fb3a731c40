"""Where the numbers of a stream's state stand in its arrays, and what kernels call things.

Plain integers: compiled code takes them as constants.
"""

from __future__ import annotations

from typing import Final

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

# ------------------------------------------------------------------ choices, an int64 array
LEARNER: Final = 0
SOLVER: Final = 1
TRACK: Final = 2
"""1: steps that do not shrink, and no average."""
WINDOWED: Final = 3
"""1: the sketch counts the rows of the window only."""
ASK: Final = 4
"""1: stop where the sketch's threshold is due, and let the caller find it."""
MARGIN: Final = 5
"""1: scores are not posteriors; the threshold is one of log-odds."""
NORMALISED: Final = 6
"""1: weights shrink when a feature is larger than it ever was."""
N_CHOICES: Final = 7

# ------------------------------------------------------------------ weights, (7, d + 1)
# The last column is the intercept's.
WEIGHT: Final = 0
LAG: Final = 1
"""Weights minus this over AVERAGED are the averaged weights."""
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

# ------------------------------------------------------------------ memory: scalars
# Scalars, the tally and the bins share one array: kernels take few arguments so.
STEP: Final = 0
BETA2: Final = 1
"""The squared beta of F-beta."""
THRESHOLD: Final = 2
"""Decide positive when the score is at least this."""
UPDATES: Final = 3
"""Rows that the learner has learnt."""
AVERAGED: Final = 4
"""Sum of the weights of the average."""
AGE: Final = 5
"""Rows of positive weight."""
SLOPE: Final = 6
INTERCEPT: Final = 7
"""Of Platt's calibration on the sketch."""
SOLVED_ROWS: Final = 8
SOLVED_POSITIVES: Final = 9
"""Weight of the rows, and of positives, when the sketch's threshold was found last."""
DUE: Final = 10
"""1 when it is to be found anew by the caller."""
GAIN: Final = 11
COST: Final = 12
"""Numerator and denominator of OFO's threshold."""
THETA: Final = 13
START: Final = 14
RADIUS: Final = 15
RATE: Final = 16
STAGE: Final = 17
STAGE_LENGTH: Final = 18
STAGES_LEFT: Final = 19
"""Of FOFO: iterate, start and radius of the stage, its step, rows so far and in all, and
how many stages go on alike; negative: for ever, doubling."""
NEXT: Final = 20
FILLED: Final = 21
"""Of the window: where the next row goes, and how many rows there are."""
SMALLEST: Final = 22
"""The smallest positive weight of a negative row; of a positive row in the next place."""
CENTRED: Final = 24
"""Number of features that have a centre."""
OPEN: Final = 25
"""1 once a positive came: before, nobody is decided positive."""
NORMS: Final = 26
"""Sum over the rows of squared features, in units of the largest distances."""
N_SCALARS: Final = 27

# ------------------------------------------------------------------ memory: tally
TALLY: Final = 32
"""Four tables by true class and decision: entry (what, y, decided) is 4 what + 2 y + decided."""
ROWS_WEIGHT: Final = 0
ROWS_SQUARES: Final = 1
ROWS_NUMBER: Final = 2
WINDOW_WEIGHT: Final = 3

# ------------------------------------------------------------------ memory: bins of scores
SKETCHED: Final = 64
"""Five rows of BINS numbers."""
BINS: Final = 512
RULE_NEGATIVE: Final = 0
RULE_POSITIVE: Final = 1
"""What the rule goes by: weighted by the square of the row's number, or the window's rows."""
NEGATIVE: Final = 2
POSITIVE: Final = 3
EXPECTED: Final = 4
"""Weight of all rows by class, and the sum of their posteriors."""
N_MEMORY: Final = SKETCHED + 5 * BINS

# ------------------------------------------------------------------ the window, (rows, 3)
RING_BIN: Final = 0
RING_CODE: Final = 1
"""2 y + decided."""
RING_WEIGHT: Final = 2
