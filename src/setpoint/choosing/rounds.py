"""The rounds of a search: fit, judge, keep; one round on all rows, or several that grow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sklearn.exceptions import FitFailedWarning

from setpoint.caller import warn_caller
from setpoint.choosing.candidates import Candidate
from setpoint.choosing.fitting_folds import out_of_fold
from setpoint.choosing.halving import growing_samples, kept_of, splits_within
from setpoint.choosing.rows_to_choose_on import RowsToChooseOn
from setpoint.choosing.search_result import JudgedCandidate, SearchResult
from setpoint.estimators.splitting import Fold
from setpoint.goals.errors import EmptyPopulationError
from setpoint.goals.goal import Goal
from setpoint.plugin.crossfit import Response
from setpoint.plugin.judging import Judge, Judged, JudgedRows, Standing
from setpoint.plugin.judging.standing import WORSE
from setpoint.plugin.parameters import Options
from setpoint.report import Entry

__all__ = ["Rounds"]


@dataclass
class Rounds:
    """Candidates judged, and the worse of them dropped.

    Parameters
    ----------
    candidates : sequence of Candidate
    rows : RowsToChooseOn
    goal : Goal
    response : Response
        What models are asked for.
    raises : bool
        Whether a fit that fails ends the search; else the candidate is the last.
    n_jobs, verbose
        As in joblib.
    seconds : list of float
        All fits of each candidate took so far.
    """

    candidates: Sequence[Candidate]
    rows: RowsToChooseOn
    goal: Goal
    response: Response
    raises: bool
    n_jobs: int | None
    verbose: int
    seconds: list[float] = field(init=False)

    def __post_init__(self) -> None:
        self.seconds = [0.0] * len(self.candidates)
        self._known: dict[int, JudgedCandidate] = {}
        self._failed: dict[int, Exception] = {}

    def run(self, halving: bool, seed: int) -> SearchResult:
        """Judge all candidates on all rows, or the better ones, round by round.

        Parameters
        ----------
        halving : bool
        seed : int
            Draws the rows of the rounds.
        """
        kinds = self.rows.judged.kinds(None)
        left, dropped = list(range(len(self.candidates))), list[list[int]]()
        for sample in growing_samples(kinds, len(left), seed) if halving else []:
            splits = splits_within(self.rows.splits, sample)
            if any(len(part) == 0 for fold in splits for part in fold):
                continue
            try:
                places, _, standing = self._round(left, splits)
            except EmptyPopulationError:
                continue  # a group that has none of these rows: more rows, then
            kept = {places[k] for k in kept_of(standing)}
            gone = [places[k] for k in standing.order if places[k] not in kept]
            dropped.append(gone + [k for k in left if k not in places])
            left = sorted(kept)
        places, judged, standing = self._round(left, self.rows.splits)
        last = [k for k in left if k not in places]
        ranks = dict(zip(places, standing.ranks, strict=True))
        for k in (*(k for gone in reversed(dropped) for k in gone), *last):
            ranks[k] = len(ranks) + 1
        found = zip(
            places, judged, standing.differences, standing.verdicts, standing.doubts, strict=True
        )
        for k, one, gain, verdict, doubt in found:
            known = self._candidate(one, gain)
            self._known[k] = replace(known, verdict=verdict, doubt=doubt)
        out = [replace(self._of(k), rank=ranks[k]) for k in range(len(self.candidates))]
        folds = len(self.rows.splits)
        return SearchResult(
            str(self.goal), tuple(out), places[standing.best], standing.level, folds
        )

    def _round(
        self, left: Sequence[int], splits: Sequence[Fold]
    ) -> tuple[list[int], list[Judged], Standing]:
        """Fit and judge; the places of those whose fits did not fail."""
        own = [self.candidates[k] for k in left]
        rows = JudgedRows.of(splits, self.rows.judged.kinds(None))
        options = Options(randomized=False, on_infeasible="nearest")
        judge = Judge(self.rows.judged, rows, options)
        done = out_of_fold(
            own, self.rows, splits, self.response, self.goal,
            n_jobs=self.n_jobs, verbose=self.verbose,
        )  # fmt: skip
        places, judged = [], []
        for k, one, found in zip(left, own, done, strict=True):
            self.seconds[k] += found.seconds
            if found.error is not None:
                self._failed[k] = found.error
                found.error.add_note(f"The candidate was {one.words}.")
            if found.values is None:
                continue
            of = judge.of_decisions if found.decided else judge.of_scores
            places.append(k)
            judged.append(of(one.words, found.values))
            self._known[k] = self._candidate(judged[-1], None)
        failed = [k for k in left if k in self._failed]
        if failed and (self.raises or not places):
            raise self._failed[failed[0]]
        for k in failed:
            self._warn_of_failure(k)
        return places, judged, judge.standing(judged)

    def _warn_of_failure(self, k: int) -> None:
        error = self._failed[k]
        warn_caller(
            f"{self.candidates[k].words} could not be fitted and comes last: "
            f"{type(error).__name__}: {error}",
            FitFailedWarning,
        )

    def _candidate(self, one: Judged, gain: Entry | None) -> JudgedCandidate:
        n_rows = one.report.counts.n_rows
        return JudgedCandidate(one.name, 0, one.report, gain, WORSE, n_rows, one.score)

    def _of(self, k: int) -> JudgedCandidate:
        """What is known of a candidate."""
        if k in self._failed:
            error = self._failed[k]
            why = f"{type(error).__name__}: {str(error).splitlines()[0]}"
            words = self.candidates[k].words
            return JudgedCandidate(words, 0, None, None, "", 0, math.nan, why)
        return self._known[k]
