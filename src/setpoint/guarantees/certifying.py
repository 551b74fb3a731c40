"""Certification: paths of rules, tested on rows set apart, and what they promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Confusion, Counted, Evidence, Rows
from setpoint.errors import GoalError
from setpoint.guarantees.paths import (
    MARGINS,
    MOST_SEGMENTS,
    MonotoneConstraint,
    RulePath,
    candidate_path,
    certified_windows,
    monotone_constraints,
)
from setpoint.guarantees.promise import Guarantee, Promise, RuleTests, State, fixed_sequence
from setpoint.guarantees.refusal import Tried, Unshown, best_shown, tests_on
from setpoint.inference import quantile
from setpoint.program import LinkedGoal
from setpoint.rules import Band, Rule
from setpoint.search import (
    Certificate,
    CutoffSet,
    Found,
    InfeasibleError,
    Limits,
    MixtureWeights,
    find_rule,
)
from setpoint.solvers import Confidence

# --- Paths of rules, from safe to bold ------------------------------------------------------------


INF = float("inf")

FindInwards: TypeAlias = Callable[[Floats], Found]
"""From how far inwards each bound lies (constraints,) to what is found there."""

_SEARCHED: Floats = MARGINS[(np.abs(MARGINS) <= 20.0) & ((2.0 * MARGINS) % 1.0 == 0.0)]
"""Margins that are tried where each costs a search of its own."""


def path_of(learnt: RuleTests, plain: Found, how: Certification, times: Floats) -> RulePath:
    """Rules from safe to bold, each with its model."""
    paths: list[RulePath] = []
    for found in (plain,) if how.models is None else how.models(plain):
        if isinstance(found.rule, Band) and how.allowed is None:
            own = candidate_path(learnt, found.evidence, times, near=found.rule)
            paths.append(own.of_model(found))
        elif _has_few_cutoffs(found.evidence) and not plain.rule.randomized:
            own = candidate_path(learnt, found.evidence, times, how.allowed)
            paths.append(own.of_model(found))
        elif how.inwards is not None:
            paths += _searched(learnt, found, how.inwards, times)
        else:
            paths.append(_alone(learnt, found, times, how.allowed))
    path = RulePath.joined(paths).ordered
    # Where the objective is not a number anywhere, there is still the rule that was found.
    return path if len(path) else _alone(learnt, plain, times)


def _has_few_cutoffs(rows: Counted) -> bool:
    """Whether all combinations of cut-offs can be tried."""
    few = rows.n_scores is None and len(rows.segments) <= MOST_SEGMENTS
    return few and not rows.codebook.defers


def searches(plain: Found, how: Certification) -> bool:
    """Whether a path costs searches."""
    if how.models is not None:
        return True
    if isinstance(plain.rule, Band) and how.allowed is None:
        return False
    return not _has_few_cutoffs(plain.evidence) or plain.rule.randomized


def _searched(
    learnt: RuleTests, plain: Found, inwards: FindInwards, times: Floats
) -> list[RulePath]:
    """Rules found under bounds further and further inwards, and outwards."""
    out = [_alone(learnt, plain, times)]
    for way in (_SEARCHED[_SEARCHED > 0][::-1], _SEARCHED[_SEARCHED <= 0]):
        last = plain
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
            if not np.isfinite(found.values).all() or found.status == "nearest":
                break
            last = found
            out.append(_alone(learnt, found, times))
    return out


def _alone(
    learnt: RuleTests,
    found: Found,
    times: Floats,
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None,
) -> RulePath:
    """The rule that was found as a path of its own."""
    counts = found.confusion.counts.reshape(-1, 1)
    margins = learnt.margins(counts, found.confusion, times)
    if allowed is not None:
        margins = np.where(allowed(counts), margins, -INF)
    return RulePath(margins, learnt.scores(counts), counts, [lambda: found.rule], [found])


def times_of(looked_at: Counted, tested: Counted) -> Floats:
    """Rows looked at for each row that will be tested (entries,), by data set."""
    book = looked_at.codebook
    sets = np.array([str(s.dataset) for s in book.strata])
    totals = [by_label(e).marginals.weights.sum(axis=1) for e in (looked_at, tested)]
    times = np.ones(len(sets))
    for name in np.unique(sets):
        own = sets == name
        first, second = (float(t[own].sum()) for t in totals)
        times[own] = first / second if second > 0 else 1.0
    return np.repeat(times, (book.n_classes + 1) * book.n_classes)


def by_label(rows: Counted) -> Rows | Counted:
    """The rows by their labels: evidence may know them by posteriors instead."""
    return rows.rows if isinstance(rows, Evidence) else rows


# --- How often rules were tried on the same rows: repeated until one passes -----------------------


_KNOWN: WeakKeyDictionary[Any, Tries] = WeakKeyDictionary()


class Tries:
    """The paths that one object has tried, by the rows that they were tried on."""

    def __init__(self) -> None:
        self._paths: dict[bytes, list[bytes]] = {}

    @staticmethod
    def of(owner: Any) -> Tries:
        """The tries of an object, as long as it lives in this process; a copy begins anew."""
        return _KNOWN.setdefault(owner, Tries())

    def number(self, rows: bytes, path: bytes) -> int:
        """Which try on these rows this is, beginning with 1."""
        own = blake2b(path, digest_size=16).digest()
        known = self._paths.setdefault(rows, [])
        if own not in known:
            known.append(own)
        return known.index(own) + 1


# --- The best of all cut-offs that are certified --------------------------------------------------


Windows = list[tuple[int, int]]

_PLACES = 33
"""Cut-offs whose limits hold at once, where no window is certified."""


@dataclass(frozen=True, eq=False)
class NestedCuts:
    """Cut-offs on the rows that certify, and the statements that have to hold."""

    cuts: CutoffSet
    sides: list[MonotoneConstraint]

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
        asked = replace(program, constraints=tuple(program.constraints[i] for i in tests.others))
        first, last = zip(*windows, strict=True)
        cuts = CutoffSet(program.table, self.cuts.evidence).window(first, last, Limits())
        found = find_rule(cuts, asked, False, 0.0, Limits())
        if not found.choice:
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
    sides = [] if rule.randomized else monotone_constraints(rows, tests)
    return NestedCuts(CutoffSet(tests.program.table, rows), sides) if sides else None


# --- From a rule that was found to one that is certified: a path of rules -------------------------


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
    table: Any = None
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None

    def number(self, path: bytes) -> int:
        """How often rules were tried on these rows, this time included."""
        known = 1 if self.tries is None else self.tries.number(self.key, path)
        return max(known, self.settings.attempt)


def promise_of(linked: LinkedGoal, settings: Confidence) -> Promise:
    """What is promised of a goal."""
    return Promise.of(linked, settings.level, strict=settings.strict, ranges=settings.ranges)


Kept: TypeAlias = tuple[Found, Counted, Guarantee]
"""The rule that is kept, the rows that certify, and what is promised."""


def certified(linked: LinkedGoal, plain: Found, how: Certification) -> Kept:
    """The best rule that is certified, with what is promised of it."""
    promise = promise_of(linked, how.settings)
    rows = _scored(how, plain)
    tests = tests_on(promise, by_label(rows))
    cuts = None if how.models is not None else nested(plain.rule, rows, tests)
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
) -> Kept:
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
        without=_known(tests.value(rows.confusion(plain.rule))),
        rows_needed=None if choice is not None else cuts.rows_needed(tests, rows.n_rows),
    )
    if choice is None and how.settings.on_uncertified == "raise":

        def again(other: Promise) -> Tried | None:
            own = tests_on(other, by_label(rows)).at_attempt(tests.promise.attempt + 1)
            moved = nested(plain.rule, rows, own)
            found = None if moved is None else moved.windows(own, how.settings.for_next)
            best = None if moved is None or found is None else moved.best(own, found)
            return None if moved is None or best is None else on_rows(moved.rule(best))

        def on_rows(rule: Rule) -> Tried:
            return Tried(rows.confusion(rule), rule=rule)

        places = [on_rows(cuts.rule(at)) for at in cuts.places]
        best = best_shown(tests, places, again)
        raise Unshown(guarantee, tests.promise.linked.goal, best, rows)
    why = f"the best of {n_passed:,} cut-offs that are certified"
    if choice is None:
        why = "no cut-off is certified; the safest"
    return _kept(tests, plain, plain, kept, confusion, why), rows, guarantee


# ---------------------------------------------------------------------- a path
def _by_path(plain: Found, how: Certification, rows: Counted, tests: RuleTests) -> Kept:
    """The best rule of a path before the first that fails its test."""
    marginals = by_label(plain.evidence).marginals
    learnt = tests.promise.tests(marginals)
    times = times_of(plain.evidence, rows)
    judge = _Judge(how, tests, path_of(learnt, plain, how, times), {id(plain.model): rows})
    path = judge.path
    tests = tests.at_attempt(how.number(judge.fingerprint))
    passed = judge.passing(tests)
    both = tests.promise.tests(marginals + by_label(rows).marginals)
    kept = max(range(passed), key=partial(judge.score, both), default=0)
    unchanged = judge.confusion_of(plain.rule, plain)
    margin = float(path.margins[0])
    if not passed and not tests.is_measured:
        counts = np.stack([judge.both(i) for i in range(len(path))], axis=1)
        margins = both.margins(counts, plain.confusion + unchanged, 1.0 + times)
        margin = float(margins[0] if margins[0] > 0.0 else margins.max())
    confusion = judge.confusion(kept)
    values = learnt.program.value(learnt.rates(path.counts))
    guarantee = _guarantee(
        tests,
        how,
        rows,
        confusion,
        passed_any=passed > 0,
        method="path of rules",
        fractional=judge.is_fractional(kept),
        tried=min(passed + 1, len(path)),
        passed=passed,
        without=_known(tests.value(unchanged)),
        rows_needed=None if passed else _rows_needed(margin, tests, judge, kept),
        path=tuple(zip(map(_short, path.margins.tolist()), map(_short, values), strict=True)),
    )
    model = path.models[kept]
    if not passed and how.settings.on_uncertified == "raise":

        def again(other: Promise) -> Tried | None:
            own = tests_on(other, by_label(rows)).at_attempt(tests.promise.attempt + 1)
            moved = replace(judge, path=path_of(other.tests(marginals), plain, how, times))
            n = moved.passing(own)
            return moved.tried(max(range(n), key=partial(moved.score, both))) if n else None

        known = None if searches(plain, how) else again
        best = best_shown(tests, list(map(judge.tried, range(len(path)))), known)
        best = replace(best, out_of_reach=margin <= 0.0)
        raise Unshown(guarantee, tests.promise.linked.goal, best, judge.scored(model))
    why = f"the best that passes of a path of {len(path)} rules"
    if not passed:
        why = f"the safest of a path of {len(path)} rules, of which not even this one passes"
    found = _kept(tests, plain, model, judge.rule(kept), confusion, why)
    return found, judge.scored(model), guarantee


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


def _rows_needed(margin: float, tests: RuleTests, judge: _Judge, kept: int) -> int | None:
    """About so many rows, for a rule with this margin on as many as there are."""
    n_rows = judge.scored(judge.path.models[kept]).n_rows
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
    path: RulePath
    rows: dict[int, Counted]
    cuts: dict[int, CutoffSet] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._counted: dict[int, tuple[Rule, Confusion]] = {}

    def passing(self, tests: RuleTests) -> int:
        """How many rules come before the first that fails."""
        return fixed_sequence(
            tests.passes(self.confusion(i), fractional=self.is_fractional(i))
            for i in range(len(self.path))
        )

    @property
    def fingerprint(self) -> bytes:
        """What distinguishes this path from others on the same rows."""
        models = {id(m.model): _content(self.scored(m)) for m in self.path.models}
        scores = [blake2b(s.tobytes(), digest_size=16).digest() for s in models.values()]
        return b"".join([self.path.counts.T.tobytes(), *scores])

    def _known(self, i: int) -> tuple[Rule, Confusion]:
        """A rule, and what it does on the rows that certify."""
        if i not in self._counted:
            rule = self.path.rules[i]()
            self._counted[i] = rule, self.confusion_of(rule, self.path.models[i])
        return self._counted[i]

    def rule(self, i: int) -> Rule:
        """A rule of the path."""
        return self._known(i)[0]

    def confusion(self, i: int) -> Confusion:
        """What it does on the rows that certify."""
        return self._known(i)[1]

    def tried(self, i: int) -> Tried:
        """The rule with what it does there."""
        return Tried(self.confusion(i), self.is_fractional(i), self.rule(i))

    def both(self, i: int) -> Floats:
        """Counts (entries,) there and on the rows that the path was learnt on."""
        return np.asarray(self.path.counts[:, i] + self.confusion(i).counts.ravel())

    def score(self, tests: RuleTests, i: int) -> float:
        """The objective on both."""
        return float(tests.scores(self.both(i)[:, None])[0])

    def is_fractional(self, i: int) -> bool:
        """Whether counts are probabilities of a draw."""
        return self.rule(i).randomized and self.how.draws is None

    def scored(self, found: Found) -> Counted:
        """The rows that certify with the scores of a model."""
        key = id(found.model)
        if key not in self.rows:
            self.rows[key] = _scored(self.how, found)
        return self.rows[key]

    def confusion_of(self, rule: Rule, found: Found) -> Confusion:
        """What a rule does on the rows that certify."""
        evidence = self.scored(found)
        if rule.randomized and self.how.draws is not None:
            assert isinstance(evidence, Evidence)  # a draw for each of them
            segments = evidence.rows.segment if rule.needs_segments else None
            decided = rule.decide(evidence.scores, segments, self.how.draws)
            return evidence.rows.decided(decided)
        if self.tests.is_measured:
            assert isinstance(evidence, Evidence)  # a table elsewhere has no columns of numbers
            return evidence.rows.decided(evidence.distribution(rule))
        if evidence.n_scores is not None or evidence.codebook.defers:
            return evidence.confusion(rule)
        key = id(found.model)
        if key not in self.cuts:
            self.cuts[key] = CutoffSet(self.tests.program.table, evidence)
        return self.cuts[key].confusion_of(rule)


def _scored(how: Certification, found: Found) -> Counted:
    """The rows that certify as the rule sees them, with columns by which rows count if it does."""
    rows = how.scored(found)
    if not (isinstance(found.evidence, Evidence) and found.evidence.sees):
        return rows
    assert isinstance(rows, Evidence)
    return rows.with_values(found.evidence.sees)


def _content(rows: Counted) -> Floats:
    """What distinguishes rows: their scores, or how many they are where only counts are known."""
    return rows.scores if isinstance(rows, Evidence) else rows.marginals.weights


def _kept(
    tests: RuleTests, plain: Found, of_model: Found, rule: Rule, confusion: Confusion, why: str
) -> Found:
    """What is known of the rule that is kept, on the rows that certify."""
    return replace(
        plain,
        evidence=of_model.evidence,
        model=of_model.model,
        objective=of_model.objective,
        rule=rule,
        values=tests.program.rates_of(confusion.counts),
        confusion=confusion,
        status="feasible",
        certificate=Certificate(rivals=plain.certificate.rivals),
        by_posteriors=None,
        why=f"{plain.why}; {why}" if plain.why else why,
    )
