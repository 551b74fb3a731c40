"""Which evidence and which columns: searches tried out on rows left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from setpoint.array_types import Codes, Floats
from setpoint.blackbox import RowMetric
from setpoint.counts import N_FOLDS, Confusion, Evidence, folds_of, in_order, merged
from setpoint.errors import EmptyPopulationError, GoalError, warn_caller
from setpoint.estimators import (
    Certify,
    decide,
    heard,
    split_scored,
)
from setpoint.goals import Goal
from setpoint.inputs import CheckedTable
from setpoint.parameters import SATISFIED
from setpoint.plugin.parameters import BASELINES, EvidenceKind, Options
from setpoint.plugin.problem import MANY_CLASSES, REMEDIES
from setpoint.plugin.solvers.named import shift_rule
from setpoint.plugin.solvers.searching import search_rule
from setpoint.program import LinkedGoal, link
from setpoint.report import GoalReport
from setpoint.rules import Rule
from setpoint.search import (
    INTERRUPTED,
    Found,
    InfeasibleError,
    StoppedError,
    StoppedWarning,
    now,
    solve_exact,
    worked_with,
)
from setpoint.solvers import Confidence

# --- Searches tried out: quick ones on most of some rows ------------------------------------------


FAILURES = (GoalError, InfeasibleError, RuntimeError, ArithmeticError)
"""What a search on some of the rows may end with, though one on all would not."""

T = TypeVar("T")

_SHARE = 0.05
"""Of the time that there is, for each quick search."""

OF_A_BOUND = 0.1
"""A bound that is missed by less than this share of it may be missed by chance."""


class Reached(NamedTuple):
    """What rules reach on rows that they were not found on."""

    past: float
    score: float


def some_rows(evidence: Evidence, most: int) -> Evidence:
    """The rows in canonical order, equal ones joined; of many some, the same every time."""
    evidence = merged(in_order(evidence))
    if evidence.n_rows <= most:
        return evidence
    some = np.random.default_rng(1).permutation(evidence.n_rows)[:most]
    return evidence.take(np.sort(some))


def quick(options: Options, calls: int) -> Options:
    """The options of a search that is to take a few calls, and to end with some rule."""
    limits = options.limits
    seconds = None if limits.seconds is None else _SHARE * limits.seconds
    return replace(
        options,
        on_infeasible="nearest",
        limits=replace(limits, seconds=seconds, calls=min(limits.calls or calls, calls)),
        progress=None,
        started=None,
    )


def held_out(
    goal: Goal,
    evidence: Evidence,
    find: Callable[[Evidence], Rule],
    seen: Callable[[Evidence], Evidence] = lambda rows: rows,
) -> Reached:
    """Violation and score on the rows left out, pooled."""
    pooled: Confusion | None = None
    for most, rest in islice(folds_of(evidence), _n_parts(evidence)):
        rule = in_quiet(partial(find, seen(most)))
        counted = seen(rest).confusion(rule)
        pooled = counted if pooled is None else pooled + counted
    assert pooled is not None
    program = link(goal, pooled.codebook).at(pooled.marginals)
    v = program.rates_of(pooled.counts)
    return Reached(float(program.violation(v)), program.score_at(v))


_WHOLE_NUMBERS = 250_000
"""Of many classes up to so many posteriors, each part is left out in turn."""


def _n_parts(evidence: Evidence) -> int:
    """How many parts are left out, one after the other: where searches are long, one."""
    many = evidence.n_classes >= MANY_CLASSES
    return 1 if many and evidence.n_rows * evidence.n_classes > _WHOLE_NUMBERS else N_FOLDS


def _left_out(evidence: Evidence) -> str:
    """How rules were tried out, in words."""
    if _n_parts(evidence) == 1:
        return f"on one part of {N_FOLDS} left out"
    return f"by {N_FOLDS}-fold cross-validation"


def in_quiet(find: Callable[[], T]) -> T:
    """What a search on some of the rows finds, without its warnings: they are of those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find()
    if any(w.category is StoppedWarning and str(w.message).startswith(INTERRUPTED) for w in caught):
        raise KeyboardInterrupt
    return found


def bounds_of(goal: Goal, evidence: Evidence) -> list[float]:
    """The sizes of the bounds of a goal, but for 0 and infinite ones."""
    if not goal.constraints:
        return []
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return [abs(c.level) for c in program.constraints if c.level and np.isfinite(c.level)]


# --- Soft or label evidence: chosen by cross-validation on the given rows -------------------------


_ENOUGH, _ENOUGH_NUMBERS = 50_000, 1_500_000
"""Up to so many rows, and posteriors of them, are used to choose."""
_CALLS = 100
_HALF_A_POINT = 0.005
"""Held-out differences of the objective up to this are noise."""
_OF_A_ROW = 0.5
"""Of many classes, whose rates rest on few rows, so much over the root of the rows left out."""

Kind = Literal["label", "soft"]


class MissedBoundsWarning(UserWarning):
    """A rule that meets the constraints by posteriors misses them by labels."""


def choose_evidence(goal: Goal, evidence: Evidence, options: Options) -> tuple[Kind, str]:
    """The kind of evidence whose rule does better on rows it was not found on, and why."""
    if not evidence.has_labels:
        return "soft", "there are no labels"
    evidence = some_rows(evidence, min(_ENOUGH, _ENOUGH_NUMBERS // evidence.n_classes))
    reached: dict[Kind, Reached] = {}
    own = quick(options, _CALLS)
    kinds: tuple[Kind, Kind] = ("soft", "label")
    for kind in kinds:
        try:
            reached[kind] = held_out(goal, evidence, partial(_rule, goal, own, kind))
        except EmptyPopulationError:
            return "soft", "the rows are too few to choose by cross-validation"
        except FAILURES as error:
            first = str(error).splitlines()[0]
            return "soft", f"soft evidence, as cross-validation failed ({first})"
    (soft_past, soft), (label_past, label) = reached["soft"], reached["label"]
    # A rate of the rarest class is not known any better than this.
    book = evidence.codebook
    held = evidence.marginals.weights[: book.n_plain, : len(book.labels)].sum(axis=0)
    noise = max(_HALF_A_POINT, 0.5 / float(np.sqrt(max(held.min(), 1.0))))
    # A bound of .01 that is missed by .005 is missed by half.
    noise = min([noise, *(OF_A_BOUND * b for b in bounds_of(goal, evidence))])
    better = label_past < soft_past - noise
    if abs(label_past - soft_past) <= noise:
        least = _HALF_A_POINT
        if evidence.n_classes >= MANY_CLASSES:
            held_rows = evidence.n_rows * _n_parts(evidence) / N_FOLDS
            least = max(least, _OF_A_ROW / float(np.sqrt(held_rows)))
        better = label > soft + least
    chosen: Kind = "label" if better else "soft"
    sense = 1.0 if goal.sense == "maximize" else -1.0
    values = f"objective {sense * soft:.4g} with soft and {sense * label:.4g} with label evidence"
    if goal.constraints:
        values += f", violation {soft_past:.4g} and {label_past:.4g}"
    return chosen, f"{chosen} evidence {_left_out(evidence)} ({values})"


def search_by_either(goal: Goal, evidence: Evidence, options: Options) -> tuple[Found, str]:
    """The rule by the kind of evidence that is chosen, and why that was."""
    try:
        kind, why = choose_evidence(goal, evidence, options)
    except KeyboardInterrupt:
        kind, why = "label", "label evidence, as neither kind was chosen by then"
        options = replace(options, stopped=INTERRUPTED)
    asked = replace(options, evidence=kind)
    if kind == "label" or not evidence.has_labels:
        return search_rule(goal, evidence, asked), why
    soft, error = None, None
    try:
        soft = search_rule(goal, evidence, asked)
    except (InfeasibleError, StoppedError) as failed:
        error = failed
    past = np.inf if soft is None else _missed(goal, soft)
    if past <= SATISFIED:
        assert soft is not None
        return soft, why
    label, ended = None, str(error) if soft is None else soft.why
    asked = replace(options, evidence="label", stopped=INTERRUPTED * (INTERRUPTED in ended))
    with suppress(InfeasibleError, StoppedError), warnings.catch_warnings():
        if soft is not None and soft.stopped:  # has warned
            warnings.simplefilter("ignore", StoppedWarning)
        label = search_rule(goal, evidence, asked)
    nearer = np.inf if label is None else _missed(goal, label)
    if label is not None and nearer <= SATISFIED:
        missed = "no rule by posteriors" if soft is None else "the rule by posteriors does not"
        return label, f"label evidence, by which the constraints are met ({missed})"
    if soft is None:
        assert error is not None
        raise error
    if label is not None and nearer < past:
        soft, past, why = label, nearer, "label evidence, which comes nearer"
    if soft.status != "nearest":
        warn_caller(
            f"'{goal}': by labels the rule misses a constraint by {past:.3g}; {REMEDIES}",
            MissedBoundsWarning,
        )
    return soft, why


def _missed(goal: Goal, found: Found) -> float:
    """The largest violation of a constraint by labels."""
    if not goal.constraints:
        return 0.0
    counted = found.confusion
    program = link(goal, counted.codebook).at(counted.marginals)
    return float(program.violation(program.rates_of(counted.counts)))


def _rule(goal: Goal, options: Options, kind: EvidenceKind, evidence: Evidence) -> Rule:
    """The rule that a quick search finds by one kind of evidence."""
    return search_rule(goal, evidence, replace(options, evidence=kind), tried=True).rule


# --- Whether a rule looks at the columns by which rows count --------------------------------------


RuleInputs = Literal["score", "soft", "label"]
"""A rule over the score alone; or one that looks at the columns, too, by kind of evidence."""

_COLUMNS_ENOUGH = 20_000
"""Up to so many rows are used to choose."""
_COLUMNS_CALLS = 60


"""Differences up to this share of the objective are noise."""
_OF_A_RATE = 0.02
"""A bound that is missed by no more may be missed by chance."""

_WORDS: dict[RuleInputs, tuple[str, str]] = {
    "score": ("a rule over the score alone", "the score"),
    "soft": ("a rule that looks at {columns}, too, by posteriors", "values and posteriors"),
    "label": ("a rule that looks at {columns}, too, by labels", "values and labels"),
}
"""What is chosen, and what it is called beside others."""


def choose_rule_inputs(goal: Goal, aware: Evidence, options: Options) -> tuple[RuleInputs, str]:
    """What a rule looks at that does best on rows it was not found on, and why."""
    columns = " and ".join(aware.sees)
    values = aware.scores[:, -len(aware.sees) :]
    if (values == values[:1]).all():  # then totals are those of posteriors, in the same order
        return "score", f"a rule by the score alone, as {columns} is the same in all rows"
    aware, own = some_rows(aware, _COLUMNS_ENOUGH), quick(options, _COLUMNS_CALLS)
    ways: dict[RuleInputs, tuple[Any, ...]] = {
        "score": (partial(_by_score, goal, own), Evidence.without_values),
        "soft": (partial(_rule, goal, own, "soft"),),
        "label": (partial(_rule, goal, own, "label"),),
    }
    reached: dict[RuleInputs, Reached] = {}
    failed = ""
    for rule_inputs, way in ways.items():
        # Where rules by posteriors keep the bounds, counting labels has nothing to mend.
        keep = "soft" in reached and reached["soft"].past <= _noise(goal, aware)
        if rule_inputs == "label" and (options.evidence == "soft" or keep):
            continue
        try:
            reached[rule_inputs] = held_out(goal, aware, *way)
        except EmptyPopulationError:
            return "score", "the rows are too few for cross-validation: the score alone"
        except FAILURES as error:
            if rule_inputs != "score":
                failed = f"; by values: {str(error).splitlines()[0]}"
    if not reached:
        return "score", f"cross-validation failed: the score alone{failed}"
    best = _best(goal, aware, reached)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    said = ", ".join(f"{sense * r.score:.4g} by {_WORDS[s][1]}" for s, r in reached.items())
    words = _WORDS[best][0].format(columns=columns)
    failed = "" if {"soft", "label"} & reached.keys() else failed
    return best, f"{words}, {_left_out(aware)} (objective {said}{failed})"


def _noise(goal: Goal, aware: Evidence) -> float:
    """How far past a bound is noise."""
    return min([_OF_A_RATE, *(OF_A_BOUND * b for b in bounds_of(goal, aware))])


def _best(goal: Goal, aware: Evidence, reached: dict[RuleInputs, Reached]) -> RuleInputs:
    """The first that misses no bound by more than noise and is as good as any such."""
    noise = _noise(goal, aware)
    least = min(r.past for r in reached.values())
    kept = {s: r for s, r in reached.items() if r.past <= max(least, SATISFIED) + noise}
    top = max(r.score for r in kept.values())
    floor = top - _HALF_A_POINT * abs(top)
    return next(s for s, r in kept.items() if r.score >= floor)


def _by_score(goal: Goal, options: Options, evidence: Evidence) -> Rule:
    """The best rule over the score, or over the posteriors, alone."""
    if evidence.n_scores is not None:
        return _rule(goal, options, "soft", evidence)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return solve_exact(
        program, evidence, randomized=options.randomized, on_infeasible="nearest", tol=options.tol
    ).rule


# --- From rows with scores to a rule: which search, what the rule looks at ------------------------


_BLIND = (
    "The rule does not see what the deployed model says, so nothing is certified. Given that "
    "prediction as a column too, and named in decide_on, it can come nearer the goal."
)


_OVER_SETS = (
    "The rule looks at the score alone, whatever a row is worth: where a goal refers to further "
    "data sets, rules do not look at columns of values."
)
_OF_SCORES = ("exact", *BASELINES)
"""Solvers whose rules look at scores alone."""


def solve_evidence(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    *,
    table: CheckedTable | None = None,
    counted: Evidence | None = None,
    folds: int | None = None,
    notes: tuple[str, ...] = (),
    metric: RowMetric | None = None,
    neutral: float = 0.0,
    confidence: Confidence | None = None,
    certify: Certify | None = None,
    blocks: Codes | None = None,
    sees: tuple[str, ...] = (),
) -> tuple[Found, GoalReport]:
    """Link, solve, count and report; what ``solve`` and ``PlugInClassifier`` share."""
    started = now()
    options = replace(options, started=started)
    linked = link(goal, evidence.codebook)
    if confidence is not None and certify is None:
        whole = options.randomized is False and not sees
        evidence, certify, table = split_scored(
            linked, evidence, table, confidence, whole=whole, blocks=blocks
        )
    hidden = evidence.codebook.hides_strata and evidence.n_scores is not None
    find: Callable[..., Found]
    if options.solver == "post-shift":
        find = partial(shift_rule, goal, evidence, options, metric, neutral)
    else:
        if hidden and any(c.baseline is not None for c in evidence.codebook.strata):
            notes += (_BLIND,)
        if goal.needs.measures and goal.needs.datasets:
            notes += (_OVER_SETS,)
        finder = find = RuleFinder(linked, evidence, options, sees, counted)
        notes += (finder.note,) if finder.note else ()
    with heard() as caught:
        found = find()
    return decide(
        linked,
        found,
        caught,
        started=started,
        family="plugin",
        folds=folds,
        notes=notes,
        table=table,
        certification=None if certify is None else certify(find),
    )


class RuleFinder:
    """Finds the rule for some scores as often as it is asked; what is chosen is chosen once."""

    def __init__(
        self,
        linked: LinkedGoal,
        evidence: Evidence,
        options: Options,
        sees: tuple[str, ...] = (),
        counted: Evidence | None = None,
    ) -> None:
        self.linked, self.evidence, self.options = linked, evidence, options
        self._counted, self.note = counted, ""
        self._aware: Evidence | None = None
        self._inputs: RuleInputs | None = None
        if not sees or options.solver in _OF_SCORES:
            return
        alone = f"The rule looks at the score alone and not at {' and '.join(sees)}: "
        if counted is not None:
            self.note = (
                f"{alone}rules that go by posteriors of group and class do not look at columns of "
                "values."
            )
        elif evidence.n_scores is None and not evidence.may_be_posteriors:
            self.note = (
                f"{alone}expected values need probabilities, and the scores go beyond 0 and 1."
            )
        else:
            self._aware = evidence.with_values(sees)

    def __call__(self, inwards: Floats | None = None) -> Found:
        """The rule; `inwards` moves the bounds that the search works with."""
        try:
            aware = self._aware
            found = self._by_score(inwards) if aware is None else self._by_inputs(aware, inwards)
        except InfeasibleError as error:
            error.evidence = self.evidence
            raise
        if self.options.evidence == "auto":
            kind: EvidenceKind = "label" if found.by_posteriors is None else "soft"
            self.options = replace(self.options, evidence=kind)
        return found

    def _by_inputs(self, aware: Evidence, inwards: Floats | None) -> Found:
        """The best rule over the score, or over the columns by which rows count, too."""
        options, settled, why = self.options, self._inputs is not None, ""
        if self._inputs is None:
            self._inputs, why = "soft", "there are no labels"
            if self.evidence.has_labels:
                try:
                    self._inputs, why = choose_rule_inputs(self.linked.goal, aware, options)
                except KeyboardInterrupt as error:
                    self._inputs = "score"
                    why = "a rule over the score alone, as none was chosen by then"
                    options.watch().stop(error)  # which warns
                    options = replace(options, stopped=INTERRUPTED)
        if self._inputs != "score":
            own = replace(options, evidence=self._inputs)
            try:
                return _because(search_rule(self.linked.goal, aware, own, None, inwards), why)
            except InfeasibleError:
                if settled:
                    raise
                columns = " and ".join(aware.sees)
                why = f"no rule was found that looks at {columns} and meets the goal"
                self._inputs = "score"
        return _because(self._by_score(inwards, options), why)

    def _by_score(self, inwards: Floats | None, options: Options | None = None) -> Found:
        """What the solver for these scores finds, and why it was taken."""
        options, goal, evidence = options or self.options, self.linked.goal, self.evidence
        if evidence.n_scores is None:
            program = self.linked.at(evidence.marginals)
            return solve_exact(
                program if inwards is None else worked_with(program, inwards),
                evidence,
                randomized=options.randomized,
                on_infeasible=options.on_infeasible,
                tol=options.tol,
                limits=options.watch(),
            )
        if evidence.has_labels:
            self.linked.at(evidence.marginals)  # posteriors would fill in for a class without rows
        if options.solver in BASELINES:
            options = replace(options, evidence="label")
        elif self._counted is not None:
            options = replace(options, evidence="soft")
        elif options.evidence == "auto":
            return _because(*search_by_either(goal, evidence, options))
        return search_rule(goal, evidence, options, self._counted, inwards)


def _because(found: Found, why: str) -> Found:
    return replace(found, why="; ".join(x for x in (found.why, why) if x))
