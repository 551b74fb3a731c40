"""Rows, strata, segments, confusions, curves and hulls, and the kernels that count them."""

from setpoint.counts.argmax import ONE_BLOCK, Blocks, side_by_side, surest_first
from setpoint.counts.codebook import (
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
from setpoint.counts.confusion import (
    BAD_WEIGHT,
    INFINITE,
    MISSING,
    NO_NUMBER,
    BinCounts,
    Confusion,
    UnitCounts,
    Units,
    count_threshold,
    singles,
)
from setpoint.counts.counted import Bins, ChangedTableError, Counted, Tally
from setpoint.counts.curves import Curve, cutoffs, hull, midway, plain_threshold
from setpoint.counts.evidence import N_FOLDS, Evidence, folds_of, in_order, merged, parts_of
from setpoint.counts.rows import Rows, counted_rows
from setpoint.counts.sweep import (
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
