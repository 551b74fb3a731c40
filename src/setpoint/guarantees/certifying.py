"""Certification: paths of rules, tested on rows set apart, and what they promise."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import Confusion, Counted, Evidence
from setpoint.errors import GoalError
from setpoint.guarantees.paths import (
    MARGINS,
    MOST_SEGMENTS,
    Candidate,
    MonotoneConstraint,
    candidate_path,
    certified_windows,
    decided_on,
    monotone_constraints,
    path_rules_of,
    starts_of,
)
from setpoint.guarantees.promise import (
    Guarantee,
    Promise,
    RuleTests,
    Rung,
    State,
    Tried,
    capped,
    fallback,
    with_units,
)
from setpoint.guarantees.refusal import Unshown, best_shown, by_label, tests_on
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


def path_of(learnt: RuleTests, plain: Found, how: Certification, times: Floats) -> list[Candidate]:
    """Rules from safe to bold, each with its model."""
    out: list[Candidate] = []
    for found in (plain,) if how.models is None else how.models(plain):
        if _tries_all(found, plain, how):
            near = found.rule
            out += candidate_path(learnt, found.evidence, times, how.allowed, near, found)
        elif how.inwards is not None:
            out += _searched(learnt, found, how.inwards, times)
        else:
            out.append(_alone(learnt, found, times, how.allowed))
    margins, scores = np.array([c.margin for c in out]), np.array([c.score for c in out])
    path = [out[i] for i in path_rules_of(margins, scores).tolist()]
    # Where the objective is not a number anywhere, there is still the rule that was found.
    return path or [_alone(learnt, plain, times)]


def _tries_all(found: Found, plain: Found, how: Certification) -> bool:
    """Whether all combinations of cut-offs can be tried, or those near a band."""
    if isinstance(found.rule, Band) and how.allowed is None:
        return True
    rows = found.evidence
    few = rows.n_scores is None and len(rows.segments) <= MOST_SEGMENTS
    return few and not rows.codebook.defers and not plain.rule.randomized


def _searched(
    learnt: RuleTests, plain: Found, inwards: FindInwards, times: Floats
) -> list[Candidate]:
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
) -> Candidate:
    """The rule that was found."""
    counts = found.confusion.counts.reshape(-1, 1)
    (margin,) = learnt.margins(counts, found.confusion, times, allowed)
    (score,) = learnt.scores(counts)
    return Candidate(lambda: found.rule, counts[:, 0], float(margin), float(score), found)


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


# --- How often rules were tried on the same rows: repeated until one passes -----------------------


_TRIED: WeakKeyDictionary[Any, dict[bytes, list[bytes]]] = WeakKeyDictionary()
"""Of each object, as long as it lives in this process: rows, and the paths tried on them."""


def number_of_try(owner: Any, rows: bytes, path: bytes) -> int:
    """Which try of an object on these rows this is, beginning with 1; a copy begins anew."""
    own = blake2b(path, digest_size=16).digest()
    known = _TRIED.setdefault(owner, {}).setdefault(rows, [])
    if own not in known:
        known.append(own)
    return known.index(own) + 1


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
    """Rows that certify, and how rules are tried on them; `owner` has tried others before."""

    settings: Confidence
    scored: Callable[[Found], Counted]
    draws: Floats | None = None
    models: Callable[[Found], Sequence[Found]] | None = None
    inwards: FindInwards | None = None
    owner: Any = None
    key: bytes = b""
    note: str = ""
    others: tuple[int, float] | None = None
    table: Any = None
    allowed: Callable[[Floats], NDArray[np.bool_]] | None = None


def certified(
    linked: LinkedGoal, plain: Found, how: Certification
) -> tuple[Found, Counted, Guarantee]:
    """The best rule that is certified, the rows that certify, and what is promised of it."""
    settings, promise = how.settings, Promise.of(linked, how.settings)
    given = how.scored(plain)
    rows = _scored(given, plain, promise)
    # Units of the rows that rules were found on say how large one may be, too.
    tests = tests_on(promise.on(plain.evidence, rows), rows)
    way: EveryCutoff | AlongPath | None = None
    if how.models is None and (settings.for_next is None or tests.promise.largest is None):
        way = EveryCutoff.of(plain, rows, tests, settings.for_next)
    if way is None:
        if settings.for_next is not None:
            raise GoalError(
                "`for_next` promises the next rows for thresholds of one model, for constraints "
                "that only loosen as a threshold moves one way, and where rows have neither units "
                f"nor weights; of '{linked.goal}' on these rows that is not so: leave it out, and "
                "the promise is for the population"
            )
        way = AlongPath.of(plain, rows, tests, how)
    known = 1 if how.owner is None else number_of_try(how.owner, how.key, way.fingerprint)
    tests = tests.at_attempt(max(known, settings.attempt))
    end = way.end(tests)
    approximate = settings.guarantee == "approximate"
    state: State = "approximate" if approximate else "certified"
    value = tests.value(end.kept.confusion)
    guarantee = Guarantee(
        state if end.passes else "not certified",
        tests.promise.confidence,
        way.method,
        tests.shown(end.kept, end.share),
        rows.n_rows,
        end.tried,
        end.passed,
        tests.promise.attempt,
        settings.for_next,
        without=_known(tests.value(way.unchanged)),
        reached=_known(value),
        assumptions=" ".join(filter(None, (_REFITTED if approximate else _SAFE, how.note))),
        rows_needed=way.rows_needed(tests, end),
        path=end.path,
        groups=tests.promise.groups,
        others=how.others,
    )
    guarantee = with_units(guarantee, tests, end.kept, by_label(given))
    if not end.passes and settings.on_uncertified == "raise":

        def again(other: Promise) -> Tried | None:
            own = tests_on(other, rows).at_attempt(tests.promise.attempt + 1)
            moved = way.again(own)
            last = None if moved is None else moved.end(own)
            return last.kept if last is not None and last.passes else None

        best = best_shown(tests, way.quoted(tests), again if way.is_quick else None)
        best = replace(best, out_of_reach=way.margin <= 0.0)
        raise Unshown(guarantee, linked.goal, best, end.rows)
    rule, confusion = end.kept.rule, end.kept.confusion
    assert rule is not None
    found = replace(
        plain,
        evidence=end.found.evidence,
        model=end.found.model,
        objective=end.found.objective,
        rule=rule,
        values=tests.program.rates_of(confusion.counts),
        confusion=confusion,
        status="feasible",
        certificate=Certificate(rivals=plain.certificate.rivals),
        by_posteriors=None,
        why=f"{plain.why}; {end.why}" if plain.why else end.why,
    )
    return found, end.rows, guarantee


class Ended(NamedTuple):
    """The best rule that passes, or the safest, on the rows that certify, and how it was found."""

    kept: Tried
    found: Found  # with its model
    rows: Counted
    passes: bool
    tried: int
    passed: int
    why: str
    share: float = 1.0  # of the level
    path: tuple[Rung, ...] = ()


# ---------------------------------------------------------------------- every cut-off
_PLACES = 33
"""Cut-offs whose limits hold at once, where no window is certified."""


@dataclass(frozen=True, eq=False)
class EveryCutoff:
    """All cut-offs on the rows that certify, where each statement loosens as one moves one way."""

    plain: Found
    cuts: CutoffSet
    sides: list[MonotoneConstraint]
    tests: RuleTests
    next_rows: int | None
    method = "every cut-off"
    is_quick = True
    margin = INF

    @classmethod
    def of(
        cls, plain: Found, rows: Counted, tests: RuleTests, next_rows: int | None
    ) -> EveryCutoff | None:
        """None where a constraint does not loosen so."""
        sides = [] if plain.rule.randomized else monotone_constraints(rows, tests)
        if not sides:
            return None
        return cls(plain, CutoffSet(tests.program.table, rows), sides, tests, next_rows)

    def again(self, tests: RuleTests) -> EveryCutoff | None:
        """The same for other bounds."""
        return EveryCutoff.of(self.plain, self.cuts.evidence, tests, self.next_rows)

    @property
    def fingerprint(self) -> bytes:
        """What distinguishes these cut-offs from others on the same rows."""
        return b"".join(s.curve.counts.tobytes() for s in self.cuts.segments)

    def end(self, tests: RuleTests) -> Ended:
        """The best cut-offs that are certified; or everybody or nobody, as is safer for each."""
        windows = certified_windows(self.cuts, tests, self.sides, self.next_rows)
        best = None if windows is None else self._best(tests, windows)
        rises = {side.segment: side.rises for side in self.sides}
        ends = [s.curve.n_cutoffs - 1 for s in self.cuts.segments]
        safest = [{last if rises.get(i, True) else 0: 1.0} for i, last in enumerate(ends)]
        passed = 0 if windows is None else sum(b - a + 1 for a, b in windows)
        why = f"the best of {passed:,} cut-offs that are certified"
        if best is None:
            why = "no cut-off is certified; the safest"
        rows, tried = self.cuts.evidence, sum(ends) + len(ends)
        kept = self._tried(safest if best is None else best)
        return Ended(kept, self.plain, rows, best is not None, tried, passed, why)

    @property
    def unchanged(self) -> Confusion:
        """What the rule does that was found."""
        return decided_on(self.cuts.evidence, self.plain.rule, self.tests)

    def _best(self, tests: RuleTests, windows: list[tuple[int, int]]) -> MixtureWeights | None:
        """The best certified cut-offs that meet the constraints that are not promised."""
        program = tests.promise.linked.at(self.cuts.evidence.marginals)
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

    def _tried(self, choice: MixtureWeights) -> Tried:
        rule = self.cuts.rule(choice)
        return Tried(decided_on(self.cuts.evidence, rule, self.tests), rule=rule)

    def quoted(self, _tests: RuleTests) -> list[tuple[Tried, float]]:
        """Cut-offs at some shares of the scores, the same in every segment."""
        shares = np.linspace(0.0, 1.0, _PLACES)
        ends = [s.curve.n_cutoffs - 1 for s in self.cuts.segments]
        found = (self._tried([{round(share * end): 1.0} for end in ends]) for share in shares)
        return [(one, 1.0 / _PLACES) for one in found]

    def rows_needed(self, tests: RuleTests, end: Ended) -> int | None:
        """So many rows at least, if new ones are like these; None: no number would do."""
        shares = len({(side.segment, side.rises) for side in self.sides})
        if end.passes or shares > len({side.segment for side in self.sides}):
            return None  # of two sides it is the room between them that lacks
        times = 1.0
        for side in self.sides:
            level = tests.promise.levels[side.constraint]
            found = side.asked.trials(tests.counted(end.kept.confusion))
            assert level is not None
            if found is None or not 0.0 < found.share < 1.0 or not found.trials:
                return None
            fewest = math.ceil(math.log(level / shares) / math.log(found.share))
            times = max(times, fewest / found.trials)
        return math.ceil(self.cuts.evidence.n_rows * times)


# ---------------------------------------------------------------------- a path
@dataclass(frozen=True, eq=False)
class AlongPath:
    """The rules of a path on the rows that certify, each model scored once."""

    plain: Found
    how: Certification
    learnt: RuleTests
    both: RuleTests
    times: Floats
    path: Sequence[Candidate]
    rows: dict[int, Counted]  # by model, as all below
    cuts: dict[int, CutoffSet] = field(default_factory=dict)
    known: dict[int, Tried] = field(default_factory=dict)
    method = "path of rules"

    @classmethod
    def of(cls, plain: Found, rows: Counted, tests: RuleTests, how: Certification) -> AlongPath:
        """The path learnt on the rows that the rule was found on."""
        marginals, times = by_label(plain.evidence).marginals, times_of(plain.evidence, rows)
        learnt = RuleTests(tests.promise, marginals)
        both = RuleTests(tests.promise, marginals + by_label(rows).marginals)
        path = path_of(learnt, plain, how, times)
        return cls(plain, how, learnt, both, times, path, {id(plain.model): rows})

    def again(self, tests: RuleTests) -> AlongPath:
        """The path for other bounds."""
        learnt = RuleTests(tests.promise, self.learnt.program.marginals)
        path = path_of(learnt, self.plain, self.how, self.times)
        return replace(self, learnt=learnt, path=path, known={})

    @property
    def is_quick(self) -> bool:
        """Whether a path costs no searches."""
        return self.how.models is None and _tries_all(self.plain, self.plain, self.how)

    @property
    def fingerprint(self) -> bytes:
        """What distinguishes this path from others on the same rows."""
        models = {id(c.found.model): self._scored(c.found) for c in self.path}
        held = [
            x.scores if isinstance(x, Evidence) else x.marginals.weights for x in models.values()
        ]
        scores = [blake2b(s.tobytes(), digest_size=16).digest() for s in held]
        return b"".join([*(c.counts.tobytes() for c in self.path), *scores])

    def starts(self, tests: RuleTests) -> tuple[int, dict[int, float]]:
        """The rule that promises most, and where tests begin: by the rows learnt on alone."""
        margins, scores = np.array([(c.margin, c.score) for c in self.path]).T
        return starts_of(margins, scores, tests.strictest, 1.0 / float(self.times.mean()))

    def end(self, tests: RuleTests) -> Ended:
        """The best rule of the path that passes its test."""
        n, starts = len(self.path), self.starts(tests)[1]
        found = fallback(lambda i, share: tests.passes(self._tried(i), share), n, starts)
        values = self.learnt.program.value(
            self.learnt.rates(np.stack([c.counts for c in self.path], axis=1))
        )
        path = tuple(
            Rung(_short(c.margin), _short(value), *own)
            for c, value, own in zip(self.path, values, found, strict=True)
        )
        scores = {i: self.both.scores(self._both(i))[0] for i in range(n) if path[i].passed}
        kept = max(scores, key=scores.__getitem__, default=0)
        why = f"the best that passes of a path of {n} rules"
        if not scores:
            why = f"the safest of a path of {n} rules, of which none that is tested passes"
        one, model, tried = self._tried(kept), self.path[kept].found, sum(s > 0.0 for s, _ in found)
        rows, passed, share = self._scored(model), len(scores), path[kept].share
        return Ended(one, model, rows, passed > 0, tried, passed, why, share, path)

    @cached_property
    def unchanged(self) -> Confusion:
        """What the rule does that was found."""
        return self._confusion(self.plain.rule, self.plain)

    @cached_property
    def margin(self) -> float:
        """The largest of a rule on all rows that are known."""
        return max(map(self._margin, range(len(self.path))))

    def _margin(self, i: int) -> float:
        if self.learnt.is_measured:
            return self.path[i].margin
        squares = self.plain.confusion + self.unchanged
        return float(self.both.margins(self._both(i), squares, 1.0 + self.times)[0])

    def quoted(self, tests: RuleTests) -> list[tuple[Tried, float]]:
        """All rules of the path: half of the level is for those where tests begin."""
        n, starts = len(self.path), self.starts(tests)[1]
        return [(self._tried(i), 0.5 * starts.get(i, 0.0) + 0.5 / n) for i in range(n)]

    def rows_needed(self, tests: RuleTests, end: Ended) -> int | None:
        """About so many rows, for the rule that promises most and what its margin is here."""
        target, _ = self.starts(tests)
        if end.path[target].passed:
            return None
        margin, n_rows = self._margin(target), end.rows.n_rows
        if margin <= 0.0 and not end.passes:
            margin = self.margin
        ask = quantile(tests.strictest) + quantile(1.0 - _POWER)
        if margin > ask:  # the test says otherwise
            margin = quantile(min(tests.strictest * tests.ratio(self._tried(target)), 0.999))
        if not 0.0 < margin < INF:
            return None
        needed = max(n_rows * (ask / margin) ** 2, n_rows + 1.0)
        step = int(10 ** max(math.floor(math.log10(needed)) - 1, 0))
        return math.ceil(needed / step) * step  # two digits: it is a guess

    def _both(self, i: int) -> Floats:
        """Counts (entries, 1) of a rule here and on the rows that the path was learnt on."""
        counts = self.path[i].counts + self._tried(i).confusion.counts.ravel()
        return np.asarray(counts[:, None])

    def _tried(self, i: int) -> Tried:
        if i not in self.known:
            rule, found = self.path[i].rule, self.path[i].found
            fractional = rule.randomized and self.how.draws is None
            self.known[i] = Tried(self._confusion(rule, found), fractional, rule)
        return self.known[i]

    def _scored(self, found: Found) -> Counted:
        key = id(found.model)
        if key not in self.rows:
            self.rows[key] = _scored(self.how.scored(found), found, self.learnt.promise)
        return self.rows[key]

    def _confusion(self, rule: Rule, found: Found) -> Confusion:
        evidence, key = self._scored(found), id(found.model)
        draws = self.how.draws if rule.randomized else None
        apart = evidence.n_scores is not None or evidence.codebook.defers
        if apart or draws is not None or self.learnt.is_measured:
            return decided_on(evidence, rule, self.learnt, draws)
        if key not in self.cuts:
            self.cuts[key] = CutoffSet(self.learnt.program.table, evidence)
        return self.cuts[key].confusion_of(rule)


def _known(x: float) -> float | None:
    """A number; None where the rows that certify leave it open."""
    return x if math.isfinite(x) else None


def _short(x: float) -> float:
    """A number for a picture."""
    return float(f"{x:.5g}")


def _scored(rows: Counted, found: Found, promise: Promise) -> Counted:
    """The rows that certify as the rule sees them, with columns by which rows count if it does."""
    if isinstance(rows, Evidence):
        rows = replace(rows, rows=capped(rows.rows, promise))
    if not (isinstance(found.evidence, Evidence) and found.evidence.sees):
        return rows
    assert isinstance(rows, Evidence)
    return rows.with_values(found.evidence.sees)
