"""From a rule that was found to one that is certified: a path of rules, and its tests."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from setpoint.deciding.enough import tests_on
from setpoint.deciding.found import Found
from setpoint.deciding.refusal import refused
from setpoint.deciding.tries import Tries
from setpoint.deciding.windows import NestedCuts, nested
from setpoint.evidence import Confusion, Counted, Evidence, Rows
from setpoint.evidence.decided import DecidedRows
from setpoint.exact.band_ladder import band_ladder
from setpoint.exact.cutoff_set import CutoffSet
from setpoint.exact.ladder import MOST_SEGMENTS, cutoff_ladder
from setpoint.goals.errors import GoalError
from setpoint.guarantees.guarantee import Guarantee, State
from setpoint.guarantees.ladder import MARGINS, Rung, rungs_of
from setpoint.guarantees.promise import Promise, RuleTests
from setpoint.guarantees.sequences import fixed_sequence
from setpoint.inference.proportions import quantile
from setpoint.inputs.inputs import Table
from setpoint.program.program import LinkedGoal
from setpoint.rules import Band, Rule
from setpoint.search.infeasibility import InfeasibleError
from setpoint.search.outcome import Outcome
from setpoint.solvers import Confidence
from setpoint.typing import Floats

__all__ = ["Certification", "Tested", "certified", "promise_of", "refuse_next_rows", "times_of"]

INF = float("inf")

FindInwards: TypeAlias = Callable[[Floats], Found]
"""From how far inwards each bound lies (constraints,) to what is found there."""

_SEARCHED = MARGINS[(np.abs(MARGINS) <= 20.0) & ((2.0 * MARGINS) % 1.0 == 0.0)]
"""Margins that are tried where each costs a search of its own."""

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
    """Rows that certify, and how rules are tried on them.

    Parameters
    ----------
    settings : Confidence
    scored : callable
        From what was found to the rows that certify, with the scores of its model. Where they are
        counted anew by the rules (see `recounted`), their totals alone.
    draws : array of shape (N,), optional
        Of these rows, where the rule draws: it is then tested as the function of the row that
        it is.
    models : callable, optional
        From what was found to the models that a path may go through, each with the rows that it
        was found on; None: the one model.
    inwards : callable, optional
        The search for a rule under bounds that lie further inwards.
    tries : Tries, optional
        What was tried before; None: this is the first try, but for what the settings say.
    key : bytes
        What identifies the rows that those that certify were chosen from.
    note : str
        What else is assumed, in a sentence.
    table : Table, optional
        Those of them that are rows of X, for the comparison with a deployed model.
    allowed : callable, optional
        From what rules do where they were found, counts (entries, m), to which may be tried.
    recounted : callable, optional
        From all rules of a path to the rows that certify, counted where these rules cut them: of
        rows elsewhere. None: the rows that certify are here.
    """

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
    recounted: Callable[[Sequence[Rule]], Counted] | None = None

    def number(self, path: bytes) -> int:
        """How often rules were tried on these rows, this time included."""
        known = 1 if self.tries is None else self.tries.number(self.key, path)
        return max(known, self.settings.attempt)


@dataclass(frozen=True, eq=False)
class Tested:
    """The rule that is kept, on the rows that certify.

    Parameters
    ----------
    found : Found
        With the model of the rule, and the rows that it was found on.
    evidence : Counted
        The rows that certify, with the scores of that model.
    guarantee : Guarantee
    """

    found: Found
    evidence: Counted
    guarantee: Guarantee


def promise_of(linked: LinkedGoal, settings: Confidence) -> Promise:
    """What is promised of a goal.

    Raises
    ------
    ValueError
        If the goal has no constraint that could be promised.
    """
    return Promise.of(linked, settings.level, strict=settings.strict, ranges=settings.ranges)


def certified(linked: LinkedGoal, plain: Found, how: Certification) -> Tested:
    """The best rule that is certified, with what is promised of it.

    Parameters
    ----------
    linked : LinkedGoal
    plain : Found
        The rule for the bounds that are meant.
    how : Certification

    Raises
    ------
    NotCertifiable
        If not even the safest rule passes its test, unless ``on_uncertified="nearest"``.
    GoalError
        If the rows that certify lack what a constraint refers to, or a promise for the next rows
        is asked for that cannot be given.
    """
    promise = promise_of(linked, how.settings)
    rows = _scored(how, plain)
    tests = tests_on(promise, _by_label(rows))
    cuts = None if how.models is not None else nested(plain.outcome.rule, rows, tests)
    if cuts is not None:
        return _by_windows(plain, how, rows, tests, cuts)
    refuse_next_rows(linked, how.settings)
    return _by_path(plain, how, rows, tests)


def refuse_next_rows(linked: LinkedGoal, settings: Confidence) -> None:
    """Refuse to promise the next rows, where not every cut-off can be tried.

    Raises
    ------
    GoalError
        If that is asked for.
    """
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
        raise refused(guarantee)
    why = f"the best of {n_passed:,} cut-offs that are certified"
    if choice is None:
        why = "no cut-off is certified; the safest"
    found = replace(plain, outcome=_outcome(tests, plain.outcome, kept, confusion, why))
    return Tested(found, rows, guarantee)


# ---------------------------------------------------------------------- a path
def _by_path(plain: Found, how: Certification, rows: Counted, tests: RuleTests) -> Tested:
    """The best rule of a path before the first that fails its test."""
    marginals = _by_label(plain.evidence).marginals
    learnt = tests.promise.tests(marginals)
    path = _path(learnt, plain, how, times_of(plain.evidence, rows))
    if how.recounted is not None:
        rows = how.recounted([*(rung.rule for rung in path), plain.outcome.rule])
    judge = _Judge(how, tests, {id(plain.model): rows})
    tests = tests.at_attempt(how.number(judge.fingerprint(path)))
    passed = judge.passing(tests, path)
    kept = path[0]
    if passed:
        both = tests.promise.tests(marginals + _by_label(rows).marginals)
        kept = max(passed, key=lambda r: both.score(r.confusion + judge.confusion(r)))
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
        rows_needed=None if passed else _rows_needed(kept.margin, tests, rows.n_rows),
        path=tuple((_short(r.margin), _short(learnt.value(r.confusion))) for r in path),
    )
    if not passed and how.settings.on_uncertified == "raise":
        raise refused(guarantee)
    why = f"the best that passes of a path of {len(path)} rules"
    if not passed:
        why = f"the safest of a path of {len(path)} rules, of which not even this one passes"
    outcome = _outcome(tests, plain.outcome, kept.rule, confusion, why)
    return Tested(replace(kept.model, outcome=outcome), judge.scored(kept.model), guarantee)


def _by_label(rows: Counted) -> Rows | Counted:
    """The rows by their labels: evidence may know them by posteriors instead."""
    return rows.rows if isinstance(rows, Evidence) else rows


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


def _rows_needed(margin: float, tests: RuleTests, n_rows: int) -> int | None:
    """About so many rows, for a rule with this margin on as many as there are."""
    if not 0.0 < margin < INF:
        return None
    strictest = min(level for level in tests.promise.levels if level is not None)
    ask = quantile(strictest) + quantile(1.0 - _POWER)
    needed = max(n_rows * (ask / margin) ** 2, n_rows + 1.0)
    step = int(10 ** max(math.floor(math.log10(needed)) - 1, 0))
    return math.ceil(needed / step) * step  # two digits: it is a guess


def times_of(looked_at: Counted, tested: Counted) -> Floats:
    """Rows looked at for each row that will be tested (entries,), by data set."""
    book = looked_at.codebook
    sets = np.array([str(s.dataset) for s in book.strata])
    totals = [_by_label(e).marginals.weights.sum(axis=1) for e in (looked_at, tested)]
    times = np.ones(len(sets))
    for name in np.unique(sets):
        own = sets == name
        first, second = (float(t[own].sum()) for t in totals)
        times[own] = first / second if second > 0 else 1.0
    return np.repeat(times, (book.n_classes + 1) * book.n_classes)


# ---------------------------------------------------------------------- the path
def _path(learnt: RuleTests, plain: Found, how: Certification, times: Floats) -> list[Rung]:
    """Rules from safe to bold, each with its model."""
    rungs: list[Rung] = []
    for found in (plain,) if how.models is None else how.models(plain):
        defers = found.evidence.codebook.defers
        few = found.evidence.n_scores is None and len(found.evidence.segments) <= MOST_SEGMENTS
        if isinstance(found.outcome.rule, Band) and how.allowed is None:
            own = band_ladder(learnt, found.evidence, times, found.outcome.rule)
            rungs += [replace(rung, model=found) for rung in own]
        elif few and not defers and not plain.outcome.rule.randomized:
            own = cutoff_ladder(learnt, found.evidence, times, how.allowed)
            rungs += [replace(rung, model=found) for rung in own]
        elif how.inwards is not None:
            rungs += _searched(learnt, found, how.inwards, times)
        else:
            rungs.append(_rung(learnt, found, times, how.allowed))
    order = rungs_of(
        np.array([r.margin for r in rungs]), np.array([r.score for r in rungs])
    ).tolist()
    # Where the objective is not a number anywhere, there is still the rule that was found.
    return [rungs[i] for i in order] or [_rung(learnt, plain, times)]


def _searched(learnt: RuleTests, plain: Found, inwards: FindInwards, times: Floats) -> list[Rung]:
    """Rules found under bounds further and further inwards, and outwards.

    How much a standard error is follows from the rule before: it varies slowly along the path.
    """
    first = _rung(learnt, plain, times)
    out = [first]
    for way in (_SEARCHED[_SEARCHED > 0][::-1], _SEARCHED[_SEARCHED <= 0]):
        last = first
        for margin in way:
            errors = learnt.errors(last.confusion, times)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = inwards(margin * errors)
            except (InfeasibleError, GoalError):
                if margin > 0:
                    break  # stricter ones have none either
                continue
            if not np.isfinite(found.outcome.v).all() or found.outcome.status == "nearest":
                break
            last = _rung(learnt, found, times)
            out.append(last)
    return out


def _rung(
    learnt: RuleTests,
    found: Found,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> Rung:
    confusion = found.outcome.confusion
    counts = confusion.counts.reshape(-1, 1)
    margin = float(learnt.margins(counts, confusion, times)[0])
    if allowed is not None and not allowed(counts)[0]:
        margin = -INF
    return Rung(found.outcome.rule, margin, learnt.score(confusion), confusion, found)


# ---------------------------------------------------------------------- the tests
@dataclass(eq=False)
class _Judge:
    """Counts the rules of a path on the rows that certify, each model scored once."""

    how: Certification
    tests: RuleTests
    rows: dict[int, Counted]

    def __post_init__(self) -> None:
        self._counted: dict[int, Confusion] = {}
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
        if id(rung) not in self._counted:
            self._counted[id(rung)] = self.confusion_of(rung.rule, rung.model)
        return self._counted[id(rung)]

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
