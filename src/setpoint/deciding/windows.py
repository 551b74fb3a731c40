"""The best of all cut-offs that are certified, where constraints loosen one way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from setpoint.evidence import Counted
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.nested import Side, certified_windows, nests, sides_of
from setpoint.exact.solver import find_rule
from setpoint.guarantees.promise import RuleTests
from setpoint.rules import Rule
from setpoint.search.achievable_set import MixtureWeights
from setpoint.search.limits import Limits
from setpoint.search.outcome import NoRuleError

__all__ = ["NestedCuts", "nested"]

Windows = list[tuple[int, int]]

_PLACES = 33
"""Cut-offs whose limits hold at once, where no window is certified."""


@dataclass(frozen=True, eq=False)
class NestedCuts:
    """Cut-offs on the rows that certify, and the statements that have to hold."""

    cuts: CutoffSet
    sides: list[Side]

    @cached_property
    def fingerprint(self) -> bytes:
        """What distinguishes these cut-offs from others on the same rows."""
        return b"".join(s.curve.counts.tobytes() for s in self.cuts.segments)

    def windows(self, tests: RuleTests, next_rows: int | None) -> Windows | None:
        """For each segment the first and the last certified cut-off; None: there is none."""
        return certified_windows(self.cuts, tests, self.sides, next_rows)

    def best(self, tests: RuleTests, windows: Windows) -> MixtureWeights | None:
        """The best certified cut-offs that meet the constraints that are not promised."""
        marginals = self.cuts.evidence.marginals
        program = tests.promise.linked.at(marginals)
        others = [program.constraints[i] for i in tests.others]
        first, last = zip(*windows, strict=True)
        cuts = CutoffSet(program.table, self.cuts.evidence).window(first, last, Limits())
        try:
            found = find_rule(cuts, program.changed(constraints=others), False, 0.0, Limits())
        except NoRuleError:
            return None
        return [
            {j + start: p for j, p in part.items()}
            for part, start in zip(found.choice, first, strict=True)
        ]

    def rows_needed(self, tests: RuleTests, n_rows: int) -> int | None:
        """So many rows at least, if new ones are like these; None: no number would do."""
        shares = len({(side.segment, side.rises) for side in self.sides})
        if shares > len({side.segment for side in self.sides}):
            return None  # of two sides it is the room between them that lacks
        times = 1.0
        for side in self.sides:
            level = tests.promise.levels[side.constraint]
            assert level is not None
            if not 0.0 < side.share < 1.0 or not side.trials:
                return None
            fewest = math.ceil(math.log(level / shares) / math.log(side.share))
            times = max(times, fewest / side.trials)
        return math.ceil(n_rows * times)

    @property
    def places(self) -> list[MixtureWeights]:
        """Cut-offs at some shares of the scores, the same in every segment."""
        shares = np.linspace(0.0, 1.0, _PLACES)
        ends = [s.curve.n_cutoffs - 1 for s in self.cuts.segments]
        return [[{round(share * end): 1.0} for end in ends] for share in shares.tolist()]

    @property
    def safest(self) -> MixtureWeights:
        """Everybody or nobody, as is safer for each segment."""
        rises = {side.segment: side.rises for side in self.sides}
        return [
            {(s.curve.n_cutoffs - 1) if rises.get(i, True) else 0: 1.0}
            for i, s in enumerate(self.cuts.segments)
        ]

    def rule(self, choice: MixtureWeights) -> Rule:
        """The rule over thresholds that a choice stands for."""
        return self.cuts.rule(choice)


def nested(rule: Rule, rows: Counted, tests: RuleTests) -> NestedCuts | None:
    """The cut-offs of some rows, where every constraint loosens as one threshold moves one way."""
    if rule.randomized or not nests(rows, tests):
        return None
    cuts = CutoffSet(tests.program.table, rows)
    sides = sides_of(cuts, tests)
    return NestedCuts(cuts, sides) if sides else None
