"""Of cut-offs that are equally good, some that depart least from a plain threshold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from setpoint.exact.cutoff_pairs import CutoffPairs, PairSegment
from setpoint.exact.cutoff_set import CutoffSet, Segment
from setpoint.program.program import Program
from setpoint.search.optimum import Optimum, measure
from setpoint.tolerances import SATISFIED, tied

__all__ = ["plainest"]

_MOVES = 2
"""Of one segment: a threshold moves once, each of two cut-offs once."""


def plainest(cuts: CutoffSet | CutoffPairs, program: Program, found: Optimum) -> Optimum:
    """The cut-offs that were found, moved one after the other where all else is as good."""
    alone = cuts.n_blocks == 1 and isinstance(cuts, CutoffSet)
    if alone or found.is_drawn or not found.is_feasible:
        return found
    choice, least = list(found.choice), tied(found.value)
    segments: tuple[Segment | PairSegment, ...] = cuts.segments
    for s, segment in enumerate(segments):
        for t in range(_MOVES):
            (number,) = choice[s]
            moves = segment.moves(number)
            if t == len(moves):
                break
            numbers, cutoffs = moves[t]
            rest = cuts.features(choice) - cuts.columns(s, [number])[0]
            v = (segment.features(numbers).T + rest[:, None]).T
            tie = np.flatnonzero(program.scores(v) >= least)
            tie = tie[program.violation(v.T[:, tie].T) <= SATISFIED]
            if len(tie):
                at = tie[segment.curve.nearest(cutoffs[tie], segment.plain)]
                choice[s] = {int(numbers[at]): 1.0}
    new = measure(cuts, program, choice)
    if choice == list(found.choice) or not (new.is_feasible and new.value >= least):
        return found
    return replace(found, choice=choice, v=new.v, value=new.value)
