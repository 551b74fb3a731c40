"""Rules on tables elsewhere that are to hold on new rows: which rows certify, and their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from setpoint.array_types import Floats
from setpoint.deciding.certifying import (
    Certification,
    Tested,
    certified,
    promise_of,
    refuse_next_rows,
)
from setpoint.deciding.enough import check_enough
from setpoint.deciding.found import Found
from setpoint.deciding.scored import SHARE
from setpoint.evidence.tally import Bins, ChangedTableError, Tally
from setpoint.exact.nested import nests
from setpoint.exact.solver import solve_exact
from setpoint.inputs.counted_rows import CountedRows
from setpoint.inputs.frames import FrameRows
from setpoint.plugin.parameters import Options
from setpoint.plugin.passes import Passes
from setpoint.plugin.row_split import check_sizes, split_by_hash
from setpoint.program.link import link
from setpoint.program.program import LinkedGoal
from setpoint.rules import Rule
from setpoint.search.moved_bounds import worked_with
from setpoint.search.outcome import Outcome
from setpoint.solvers import Confidence

__all__ = ["Certifying"]

_NOTE = "Which rows certify was chosen by a hash of the row."


@dataclass(frozen=True, eq=False)
class Certifying:
    """What certifies a rule on tables elsewhere.

    Parameters
    ----------
    whole : CountedRows
        All rows, without their scores.
    settings : Confidence
    options : Options
    learning : mapping of data set to FrameRows
        The rows that rules are found on.
    testing : mapping of data set to FrameRows, optional
        Those that certify; None: all rows are both.
    """

    whole: CountedRows
    settings: Confidence
    options: Options
    learning: Mapping[str | None, FrameRows]
    testing: Mapping[str | None, FrameRows] | None = None

    @classmethod
    def of(
        cls,
        whole: CountedRows,
        rows: Mapping[str | None, FrameRows],
        options: Options,
        settings: Confidence,
    ) -> Certifying:
        """All rows, where every cut-off can be tried; else rows split by a hash of each.

        Raises
        ------
        GoalError, ValueError
            If the goal cannot be promised, or rows repeat.
        NotCertifiable
            If so few rows could not certify it.
        TypeError
            If rows have to be split, and the engine does not hash them.
        """
        linked, tally = link(whole.goal, whole.codebook), whole.tally()
        promise = promise_of(linked, settings)
        check_enough(promise, tally, settings)
        if options.randomized is False and nests(tally, promise.tests(tally.marginals)):
            return cls(whole, settings, options, rows)
        refuse_next_rows(linked, settings)
        given = settings.certification_size
        share = SHARE if given == "auto" else float(given)
        testing, learning = {}, {}
        for name, counts in whole.counts.items():
            own = rows[name]
            first, second = split_by_hash(own.source, share, counts.n_rows, own.where)
            testing[name], learning[name] = replace(own, source=first), replace(own, source=second)
        return cls(whole, settings, options, learning, testing)

    @property
    def is_split(self) -> bool:
        """Whether some rows find the rule, and others certify it."""
        return self.testing is not None

    def certified(self, linked: LinkedGoal, outcome: Outcome, tally: Tally) -> Tested:
        """The best rule that is certified, counted on the rows that certify.

        Parameters
        ----------
        linked : LinkedGoal
        outcome : Outcome
            The rule for the bounds that are meant.
        tally : Tally
            The rows that it was found on.

        Raises
        ------
        NotCertifiable
            Unless ``on_uncertified="nearest"``.
        ChangedTableError
            If the rows that were found on and those that certify are not all rows.
        """
        plain, options = Found(outcome, tally), self.options
        if self.testing is None:
            # Cut-offs inside bins are not tried: those between them nest as all do.
            return certified(linked, plain, Certification(self.settings, lambda _: tally))
        others = _without(self.whole.tally(), tally)
        self._check_sizes(others)

        def inwards(by: Floats) -> Found:
            found = solve_exact(
                worked_with(linked.at(tally.marginals), by),
                tally,
                randomized=options.randomized,
                on_infeasible=options.on_infeasible,
                tol=options.tol,
                limits=options.watch(),
            )
            return Found(found, tally)

        def recounted(rules: Sequence[Rule]) -> Tally:
            assert self.testing is not None
            passes = Passes(self.whole.goal, self.testing)
            found = passes.cut(self.whole.over(self.testing), rules).tally()
            if not np.array_equal(found.totals, others.totals):
                raise ChangedTableError(_CHANGED)
            return found

        how = Certification(
            self.settings, lambda _: others, inwards=inwards, note=_NOTE, recounted=recounted
        )
        return certified(linked, plain, how)

    def lines(self, engines: str, n_rows: int, n_passes: int) -> list[str]:
        """How rows were counted, in sentences; `n_rows` found the rule in `n_passes`."""
        passes = "pass" if n_passes == 1 else "passes"
        if self.testing is None:
            return [
                f"{engines} counted {n_rows:,} rows without their scores, by them in {n_passes} "
                f"{passes}, and once more by the rule."
            ]
        return [
            f"{engines} counted {self.whole.n_rows:,} rows without their scores. A hash of the row "
            f"chose {self.whole.n_rows - n_rows:,} of them to certify; rules were found on the "
            f"other {n_rows:,} in {n_passes} {passes}, and those that certify were counted once, "
            "by the rules of the path.",
        ]

    def _check_sizes(self, others: Tally) -> None:
        given = self.settings.certification_size
        share = SHARE if given == "auto" else float(given)
        sets = np.array([str(s.dataset) for s in others.strata])
        of_stratum = others.totals[0].sum(axis=1)
        for name, counts in self.whole.counts.items():
            n = int(of_stratum[sets == str(name)].sum())
            check_sizes(n, share, counts.n_rows, self.learning[name].where)


_CHANGED = (
    "the rows that rules were found on and those that certify are not together all rows: the table "
    "changed between two passes, or is another one each time (a view with a random number in it): "
    "count a table that stays, such as a copy"
)


def _without(whole: Tally, part: Tally) -> Tally:
    """The numbers of all rows that are not of a part, as one bin for each segment."""
    bins = []
    for own in whole.bins:
        counts = own.counts.copy()
        for k, (stratum, true) in enumerate(own.kinds):
            counts[:, k, 0] -= part.totals[:, stratum, true]
        if (counts < 0).any():
            raise ChangedTableError(_CHANGED)
        bins.append(Bins(own.low, own.high, counts, own.kinds))
    left = whole.totals[0] > part.totals[0]
    return replace(whole, bins=tuple(bins), smallest=np.where(left, whole.smallest, np.inf))
