"""Rows, strata, segments, confusions, curves and hulls, and the kernels that count them."""

from setpoint.evidence.argmax import ONE_BLOCK, Blocks, side_by_side, surest_first
from setpoint.evidence.codebook import (
    DEFERRED,
    Codebook,
    Column,
    Deferred,
    Marginals,
    Measure,
    Stratum,
    compress,
    factorize,
)
from setpoint.evidence.confusion import (
    BAD_WEIGHT,
    INFINITE,
    MISSING,
    NO_NUMBER,
    BinCounts,
    Confusion,
    count_threshold,
)
from setpoint.evidence.counted import Bins, ChangedTableError, Counted, Lines, Tally
from setpoint.evidence.curves import Curve, cutoffs, hull, midway, plain_threshold
from setpoint.evidence.evidence import N_FOLDS, Evidence, folds_of, in_order, merged, parts_of
from setpoint.evidence.rows import Rows, counted_rows
from setpoint.evidence.sweep import (
    BestCutoff,
    Binning,
    RankedAnswers,
    RankedCuts,
    Ratios,
    best_of,
    effects_of,
    ratio_at,
    zeros_of,
)
