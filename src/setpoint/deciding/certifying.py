"""From a rule that was found to one that is certified: a path of rules, and its tests."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.deciding.best_shown import Best, Tried, best_shown
from setpoint.deciding.enough import tests_on
from setpoint.deciding.found import Found
from setpoint.deciding.paths import (
    FindInwards,
    by_label,
    margin_of,
    path_of,
    searches,
    times_of,
)
from setpoint.deciding.refusal import NotCertifiable, refused
from setpoint.deciding.tries import Tries
from setpoint.deciding.windows import NestedCuts, nested
from setpoint.evidence import Confusion, Counted, Evidence, Rows
from setpoint.evidence.decided import DecidedRows
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.goals.errors import GoalError
from setpoint.guarantees.guarantee import Guarantee, State
from setpoint.guarantees.ladder import Rung
from setpoint.guarantees.promise import Promise, RuleTests
from setpoint.guarantees.sequences import fixed_sequence
from setpoint.inference.proportions import quantile
from setpoint.inputs.inputs import Table
from setpoint.program.program import LinkedGoal
from setpoint.rules import Rule
from setpoint.search.outcome import Outcome
from setpoint.solvers import Confidence

__all__ = ["Certification", "Tested", "certified", "promise_of"]

INF = float("inf")

_POWER = 0.8
"""Of the test with as many rows as an error says are needed."""

_SAFE = (
    "The rows that certify are drawn independently like those to come, and no decision before "
    "the test looked at them."
)

_REFITTED = (
    "The rule was tried on cross-validated scores, and the model was fitted on all rows "
    "afterwards: it is another model, of which nothing is proved."
)


@dataclass(frozen=True, eq=False)
class Certification:
    """Rows that certify, and how rules are tried on them."""

    settings: Confidence
    scored: Callable[[Found], Counted]
    draws: Floats | None = None
    models: Callable[[Found], Sequence[Found]] | None = None
    inwards: FindInwards | None = None
    tries: Tries | None = None
    key: bytes = b""
    note: str = ""
    table: Table | None = None
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None

    def number(self, path: bytes) -> int:
        """How often rules were tried on these rows, this time included."""
        known = 1 if self.tries is None else self.tries.number(self.key, path)
        return max(known, self.settings.attempt)


@dataclass(frozen=True, eq=False)
class Tested:
    """The rule that is kept, on the rows that certify."""

    found: Found
    evidence: Counted
    guarantee: Guarantee


def promise_of(linked: LinkedGoal, settings: Confidence) -> Promise:
    """What is promised of a goal."""
    return Promise.of(linked, settings.level, strict=settings.strict, ranges=settings.ranges)


def certified(linked: LinkedGoal, plain: Found, how: Certification) -> Tested:
    """The best rule that is certified, with what is promised of it."""
    promise = promise_of(linked, how.settings)
    rows = _scored(how, plain)
    tests = tests_on(promise, by_label(rows))
    cuts = None if how.models is not None else nested(plain.outcome.rule, rows, tests)
    if cuts is not None:
        return _by_windows(plain, how, rows, tests, cuts)
    _refuse_next_rows(linked, how.settings)
    return _by_path(plain, how, rows, tests)


def _refuse_next_rows(linked: LinkedGoal, settings: Confidence) -> None:
    """Refuse to promise the next rows, where not every cut-off can be tried."""
    if settings.for_next is not None:
        raise GoalError(
            "`for_next` promises the next rows for thresholds of one model and constraints that "
            f"only loosen as a threshold moves one way, which '{linked.goal}' does not have: leave "
            "it out, and the promise is for the population"
        )


# ---------------------------------------------------------------------- every cut-off
def _by_windows(
    plain: Found, how: Certification, rows: Counted, tests: RuleTests, cuts: NestedCuts
) -> Tested:
    """The best of all cut-offs that are certified."""
    tests = tests.at_attempt(how.number(cuts.fingerprint))
    windows = cuts.windows(tests, how.settings.for_next)
    choice = None if windows is None else cuts.best(tests, windows)
    kept = cuts.rule(cuts.safest if choice is None else choice)
    confusion = rows.confusion(kept)
    tried = sum(s.curve.n_cutoffs for s in cuts.cuts.segments)
    n_passed = 0 if windows is None else sum(b - a + 1 for a, b in windows)
    guarantee = _guarantee(
        tests,
        how,
        rows,
        confusion,
        passed_any=choice is not None,
        method="every cut-off",
        tried=tried,
        passed=n_passed,
        without=_known(tests.value(rows.confusion(plain.outcome.rule))),
        rows_needed=None if choice is not None else cuts.rows_needed(tests, rows.n_rows),
    )
    if choice is None and how.settings.on_uncertified == "raise":

        def again(other: Promise) -> Tried | None:
            own = tests_on(other, by_label(rows)).at_attempt(tests.promise.attempt + 1)
            moved = nested(plain.outcome.rule, rows, own)
            found = None if moved is None else moved.windows(own, how.settings.for_next)
            best = None if moved is None or found is None else moved.best(own, found)
            return None if moved is None or best is None else on_rows(moved.rule(best))

        def on_rows(rule: Rule) -> Tried:
            return Tried(rows.confusion(rule), rule=rule)

        places = [on_rows(cuts.rule(at)) for at in cuts.places]
        raise _refusal(guarantee, rows, tests, best_shown(tests, places, again))
    why = f"the best of {n_passed:,} cut-offs that are certified"
    if choice is None:
        why = "no cut-off is certified; the safest"
    found = replace(plain, outcome=_outcome(tests, plain.outcome, kept, confusion, why))
    return Tested(found, rows, guarantee)


# ---------------------------------------------------------------------- a path
def _by_path(plain: Found, how: Certification, rows: Counted, tests: RuleTests) -> Tested:
    """The best rule of a path before the first that fails its test."""
    marginals = by_label(plain.evidence).marginals
    learnt = tests.promise.tests(marginals)
    times = times_of(plain.evidence, rows)
    path = path_of(learnt, plain, how, times)
    judge = _Judge(how, tests, {id(plain.model): rows})
    tests = tests.at_attempt(how.number(judge.fingerprint(path)))
    passed = judge.passing(tests, path)
    kept, margin = path[0], path[0].margin
    both = tests.promise.tests(marginals + by_label(rows).marginals)
    if passed:
        kept = max(passed, key=lambda r: both.score(judge.both(r)))
    elif not tests.is_measured:
        margins = [margin_of(both, judge.both(r), 1.0 + times) for r in path]
        margin = margins[0] if margins[0] > 0.0 else max(margins)
    confusion = judge.confusion(kept)
    guarantee = _guarantee(
        tests,
        how,
        rows,
        confusion,
        passed_any=bool(passed),
        method="path of rules",
        fractional=judge.is_fractional(kept),
        tried=min(len(passed) + 1, len(path)),
        passed=len(passed),
        without=_known(tests.value(judge.confusion_of(plain.outcome.rule, plain))),
        rows_needed=None if passed else _rows_needed(margin, tests, judge, kept),
        path=tuple((_short(r.margin), _short(learnt.value(r.confusion))) for r in path),
    )
    if not passed and how.settings.on_uncertified == "raise":

        def again(other: Promise) -> Tried | None:
            own = tests_on(other, by_label(rows)).at_attempt(tests.promise.attempt + 1)
            ladder = path_of(other.tests(marginals), plain, how, times)
            found = judge.passing(own, ladder)
            return on_rows(max(found, key=lambda r: both.score(judge.both(r)))) if found else None

        def on_rows(r: Rung) -> Tried:
            return Tried(judge.confusion(r), judge.is_fractional(r), r.rule)

        known = None if searches(plain, how) else again
        best = best_shown(tests, list(map(on_rows, path)), known)
        best = replace(best, out_of_reach=margin <= 0.0)
        raise _refusal(guarantee, judge.scored(kept.model), tests, best)
    why = f"the best that passes of a path of {len(path)} rules"
    if not passed:
        why = f"the safest of a path of {len(path)} rules, of which not even this one passes"
    outcome = _outcome(tests, plain.outcome, kept.rule, confusion, why)
    return Tested(replace(kept.model, outcome=outcome), judge.scored(kept.model), guarantee)


def _refusal(guarantee: Guarantee, rows: Counted, tests: RuleTests, best: Best) -> NotCertifiable:
    """The error, with the rows that certify for who draws it."""
    error = refused(guarantee, tests.promise.linked.goal, best)
    error.evidence = rows if isinstance(rows, Evidence) else None
    return error


def _guarantee(
    tests: RuleTests,
    how: Certification,
    rows: Counted,
    confusion: Confusion,
    *,
    passed_any: bool,
    fractional: bool = False,
    **facts: Any,
) -> Guarantee:
    approximate = how.settings.guarantee == "approximate"
    state: State = "approximate" if approximate else "certified"
    return Guarantee(
        state if passed_any else "not certified",
        confidence=tests.promise.confidence,
        constraints=tests.shown(confusion, fractional=fractional),
        rows=rows.n_rows,
        attempt=tests.promise.attempt,
        next_rows=how.settings.for_next,
        groups=tests.promise.groups,
        reached=_known(tests.value(confusion)),
        assumptions=" ".join(filter(None, (_REFITTED if approximate else _SAFE, how.note))),
        **facts,
    )


def _known(x: float) -> float | None:
    """A number; None where the rows that certify leave it open."""
    return x if math.isfinite(x) else None


def _short(x: float) -> float:
    """A number for a picture."""
    return float(f"{x:.5g}")


def _rows_needed(margin: float, tests: RuleTests, judge: _Judge, kept: Rung) -> int | None:
    """About so many rows, for a rule with this margin on as many as there are."""
    n_rows = judge.scored(kept.model).n_rows
    strictest = min(level for level in tests.promise.levels if level is not None)
    ask = quantile(strictest) + quantile(1.0 - _POWER)
    if margin > ask:  # the test says otherwise
        ratio = tests.ratio(judge.confusion(kept), among=1, fractional=judge.is_fractional(kept))
        margin = quantile(min(strictest * ratio, 0.999))
    if not 0.0 < margin < INF:
        return None
    needed = max(n_rows * (ask / margin) ** 2, n_rows + 1.0)
    step = int(10 ** max(math.floor(math.log10(needed)) - 1, 0))
    return math.ceil(needed / step) * step  # two digits: it is a guess


# ---------------------------------------------------------------------- the tests
@dataclass(eq=False)
class _Judge:
    """Counts the rules of a path on the rows that certify, each model scored once."""

    how: Certification
    tests: RuleTests
    rows: dict[int, Counted]

    def __post_init__(self) -> None:
        self._counted: dict[Rung, Confusion] = {}
        self._cuts: dict[int, CutoffSet] = {}

    def passing(self, tests: RuleTests, path: Sequence[Rung]) -> list[Rung]:
        """The rungs before the first that fails."""
        results = (
            tests.passes(self.confusion(rung), fractional=self.is_fractional(rung)) for rung in path
        )
        return list(path[: fixed_sequence(results)])

    def fingerprint(self, path: Sequence[Rung]) -> bytes:
        """What distinguishes this path from others on the same rows."""
        models = {id(r.model.model): _content(self.scored(r.model)) for r in path}
        scores = [blake2b(s.tobytes(), digest_size=16).digest() for s in models.values()]
        return b"".join([*(r.confusion.counts.tobytes() for r in path), *scores])

    def is_fractional(self, rung: Rung) -> bool:
        """Whether counts are probabilities of a draw."""
        return rung.rule.randomized and self.how.draws is None

    def scored(self, found: Found) -> Counted:
        """The rows that certify with the scores of a model."""
        key = id(found.model)
        if key not in self.rows:
            self.rows[key] = _scored(self.how, found)
        return self.rows[key]

    def confusion(self, rung: Rung) -> Confusion:
        """What a rung does there."""
        if rung not in self._counted:
            self._counted[rung] = self.confusion_of(rung.rule, rung.model)
        return self._counted[rung]

    def both(self, rung: Rung) -> Confusion:
        """What it does there and on the rows that the path was learnt on."""
        return rung.confusion + self.confusion(rung)

    def confusion_of(self, rule: Rule, found: Found) -> Confusion:
        """What a rule does on the rows that certify."""
        evidence = self.scored(found)
        if rule.randomized and self.how.draws is not None:
            assert isinstance(evidence, Evidence)  # a draw for each of them
            segments = evidence.rows.segment if rule.needs_segments else None
            decided = rule.decide(evidence.scores, segments, self.how.draws)
            return _with_rows(evidence.rows, decided)
        if self.tests.is_measured:
            assert isinstance(evidence, Evidence)  # a table elsewhere has no columns of numbers
            return _with_rows(evidence.rows, evidence.distribution(rule))
        if evidence.n_scores is not None or evidence.codebook.defers:
            return evidence.confusion(rule)
        key = id(found.model)
        if key not in self._cuts:
            self._cuts[key] = CutoffSet(self.tests.program.table, evidence)
        return self._cuts[key].confusion_of(rule)


def _scored(how: Certification, found: Found) -> Counted:
    """The rows that certify as the rule sees them, with columns by which rows count if it does."""
    rows = how.scored(found)
    if not (isinstance(found.evidence, Evidence) and found.evidence.sees):
        return rows
    assert isinstance(rows, Evidence)
    return rows.with_values(found.evidence.sees)


def _with_rows(rows: Rows, decided: NDArray[Any]) -> Confusion:
    """The counts, and the rows behind them."""
    return replace(rows.confusion(decided), decided=DecidedRows(rows, decided))


def _content(rows: Counted) -> Floats:
    """What distinguishes rows: their scores, or how many they are where only counts are known."""
    return rows.scores if isinstance(rows, Evidence) else rows.marginals.weights


def _outcome(
    tests: RuleTests, plain: Outcome, rule: Rule, confusion: Confusion, why: str
) -> Outcome:
    """What is known of the rule that is kept, on the rows that certify."""
    return replace(
        plain,
        rule=rule,
        v=tests.program.rates_of(confusion.counts),
        confusion=confusion,
        status="feasible",
        gap=None,
        bound=None,
        with_draws=None,
        expected=None,
        why=f"{plain.why}; {why}" if plain.why else why,
    )
