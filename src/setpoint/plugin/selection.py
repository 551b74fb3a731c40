"""Which evidence and which columns: searches tried out on rows left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import islice
from operator import add
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from setpoint import estimators
from setpoint.array_types import Codes, Floats
from setpoint.blackbox import BudgetedMetric, FormulaMetric, RowMetric, smoothed_threshold
from setpoint.counts import N_FOLDS, Confusion, Evidence, folds_of, in_order, merged
from setpoint.errors import EmptyPopulationError, GoalError, warn_caller
from setpoint.goals import Goal
from setpoint.guarantees import Certification
from setpoint.inputs import CheckedData, CheckedTable
from setpoint.parameters import SATISFIED
from setpoint.plugin.problem import BASELINES, MANY_CLASSES, REMEDIES, EvidenceKind, Options
from setpoint.plugin.solvers.searching import search_rule
from setpoint.program import LinkedGoal, link
from setpoint.report import GoalReport, measured_entry
from setpoint.rules import PerSegment, Rule, Threshold
from setpoint.search import (
    INTERRUPTED,
    Certificate,
    ConstantGoalWarning,
    Found,
    InfeasibleError,
    Limits,
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
    parts = (map(seen, pair) for pair in islice(folds_of(evidence), _n_parts(evidence)))
    counted = [rest.confusion(in_quiet(partial(find, most))) for most, rest in parts]
    return _reached(goal, reduce(add, counted))


def _reached(goal: Goal, counted: Confusion) -> Reached:
    """What some counts by labels are to a goal."""
    program = link(goal, counted.codebook).at(counted.marginals)
    v = program.rates_of(counted.counts)
    return Reached(float(program.violation(v)), program.score_at(v))


_WHOLE_NUMBERS = 250_000
"""Of many classes up to so many posteriors, each part is left out in turn."""


def _n_parts(evidence: Evidence) -> int:
    """How many parts are left out, one after the other: where searches are long, one."""
    many = evidence.n_classes >= MANY_CLASSES
    return 1 if many and evidence.n_rows * evidence.n_classes > _WHOLE_NUMBERS else N_FOLDS


def _left_out(evidence: Evidence) -> str:
    """How rules were tried out, in words."""
    one = _n_parts(evidence) == 1
    return f"on one part of {N_FOLDS} left out" if one else f"by {N_FOLDS}-fold cross-validation"


def in_quiet(find: Callable[[], T]) -> T:
    """What a search on some of the rows finds, without its warnings: they are of those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find()
    if any(w.category is StoppedWarning and str(w.message).startswith(INTERRUPTED) for w in caught):
        raise KeyboardInterrupt
    return found


def noise_of(goal: Goal, evidence: Evidence, most: float) -> float:
    """How far past a bound is noise: a bound of .01 that is missed by .005 is missed by half."""
    if not goal.constraints:
        return most
    program = link(goal, evidence.codebook).at(evidence.marginals)
    levels = [abs(c.level) for c in program.constraints if c.level and np.isfinite(c.level)]
    return min([most, *(OF_A_BOUND * level for level in levels)])


# --- Soft or label evidence: chosen by cross-validation on the given rows -------------------------


_ENOUGH, _ENOUGH_NUMBERS = 50_000, 1_500_000
"""Up to so many rows, and posteriors of them, are used to choose."""
_CALLS = 100
_HALF_A_POINT = 0.005
"""Held-out differences of the objective up to this are noise."""
_OF_A_ROW = 0.5
"""Of many classes, whose rates rest on few rows, so much over the root of the rows left out."""


class MissedBoundsWarning(UserWarning):
    """A rule that meets the constraints by posteriors misses them by labels."""


def choose_evidence(goal: Goal, evidence: Evidence, options: Options) -> tuple[EvidenceKind, str]:
    """The kind of evidence whose rule does better on rows it was not found on, and why."""
    if not evidence.has_labels:
        return "soft", "there are no labels"
    evidence = some_rows(evidence, min(_ENOUGH, _ENOUGH_NUMBERS // evidence.n_classes))
    own = quick(options, _CALLS)
    kinds: tuple[EvidenceKind, ...] = ("soft", "label")
    try:
        reached = [held_out(goal, evidence, partial(_rule, goal, own, kind)) for kind in kinds]
    except EmptyPopulationError:
        return "soft", "the rows are too few to choose by cross-validation"
    except FAILURES as error:
        first = str(error).splitlines()[0]
        return "soft", f"soft evidence, as cross-validation failed ({first})"
    (soft_past, soft), (label_past, label) = reached
    # A rate of the rarest class is not known any better than this.
    book = evidence.codebook
    held = evidence.marginals.weights[: book.n_plain, : len(book.labels)].sum(axis=0)
    most = max(_HALF_A_POINT, 0.5 / float(np.sqrt(max(held.min(), 1.0))))
    noise = noise_of(goal, evidence, most)
    better = label_past < soft_past - noise
    if abs(label_past - soft_past) <= noise:
        least = _HALF_A_POINT
        if evidence.n_classes >= MANY_CLASSES:
            held_rows = evidence.n_rows * _n_parts(evidence) / N_FOLDS
            least = max(least, _OF_A_ROW / float(np.sqrt(held_rows)))
        better = label > soft + least
    chosen: EvidenceKind = "label" if better else "soft"
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
    soft: Found | None = None
    label: Found | None = None
    failed: InfeasibleError | StoppedError | None = None
    past = nearer = np.inf
    try:
        soft = search_rule(goal, evidence, asked)
        past = _reached(goal, soft.confusion).past
        if past <= SATISFIED:
            return soft, why
    except (InfeasibleError, StoppedError) as error:
        failed = error
    ended = INTERRUPTED in (str(failed) if soft is None else soft.why)
    asked = replace(options, evidence="label", stopped=INTERRUPTED * ended)
    with suppress(InfeasibleError, StoppedError), warnings.catch_warnings():
        if soft is not None and soft.stopped:  # has warned
            warnings.simplefilter("ignore", StoppedWarning)
        label = search_rule(goal, evidence, asked)
        nearer = _reached(goal, label.confusion).past
    if label is not None and nearer <= SATISFIED:
        missed = "no rule by posteriors" if soft is None else "the rule by posteriors does not"
        return label, f"label evidence, by which the constraints are met ({missed})"
    if soft is None:
        assert failed is not None
        raise failed
    if label is not None and nearer < past:
        soft, past, why = label, nearer, "label evidence, which comes nearer"
    if soft.status != "nearest":
        warn_caller(
            f"'{goal}': by labels the rule misses a constraint by {past:.3g}; {REMEDIES}",
            MissedBoundsWarning,
        )
    return soft, why


def _rule(goal: Goal, options: Options, kind: EvidenceKind, evidence: Evidence) -> Rule:
    """The rule that a quick search finds by one kind of evidence."""
    return search_rule(goal, evidence, replace(options, evidence=kind), tried=True).rule


# --- Whether a rule looks at the columns by which rows count --------------------------------------


RuleInputs = Literal["score", "soft", "label"]
"""A rule over the score alone; or one that looks at the columns, too, by kind of evidence."""

_COLUMNS_ENOUGH = 20_000
"""Up to so many rows are used to choose."""
_COLUMNS_CALLS = 60

_OF_A_RATE = 0.02
"""A bound that is missed by no more may be missed by chance."""

_WORDS = {"score": "the score", "soft": "values and posteriors", "label": "values and labels"}
"""What rules go by."""


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
        keep = "soft" in reached and reached["soft"].past <= noise_of(goal, aware, _OF_A_RATE)
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
    # The first that misses no bound by more than noise and is as good as any such.
    least = max(min(r.past for r in reached.values()), SATISFIED)
    most = least + noise_of(goal, aware, _OF_A_RATE)
    kept = {s: r.score for s, r in reached.items() if r.past <= most}
    top = max(kept.values())
    best = next(s for s, score in kept.items() if score >= top - _HALF_A_POINT * abs(top))
    sense = 1.0 if goal.sense == "maximize" else -1.0
    said = ", ".join(f"{sense * r.score:.4g} by {_WORDS[s]}" for s, r in reached.items())
    by = "labels" if best == "label" else "posteriors"
    words = f"a rule that looks at {columns}, too, by {by}"
    words = "a rule over the score alone" if best == "score" else words
    failed = "" if {"soft", "label"} & reached.keys() else failed
    return best, f"{words}, {_left_out(aware)} (objective {said}{failed})"


def _by_score(goal: Goal, options: Options, evidence: Evidence) -> Rule:
    """The best rule over the score, or over the posteriors, alone."""
    if evidence.n_scores is not None:
        return _rule(goal, options, "soft", evidence)
    program = link(goal, evidence.codebook).at(evidence.marginals)
    return solve_exact(
        program, evidence, randomized=options.randomized, on_infeasible="nearest", tol=options.tol
    ).rule


# --- Smoothed post-shift as a solver --------------------------------------------------------------


_FEW_CALLS = 10
_MOST_CALLS = 1000
"""Cut-offs on a curve that a function is called for, where nobody says otherwise."""


def shift_rule(
    goal: Goal, evidence: Evidence, options: Options, given: RowMetric | None = None
) -> Found:
    """The rule that smoothed post-shift finds."""
    n_segments = len(evidence.segments)
    segments = evidence.rows.segment if n_segments > 1 else None
    rows = {"scores": evidence.scores, "weight": evidence.rows.weight, "segments": segments}
    own: dict[str, Any] = {**rows, "smooth": options.smooth}
    metric = given or FormulaMetric.of(goal, evidence.rows, np.arange(evidence.n_rows))
    if isinstance(metric, FormulaMetric):
        sense, sweep = metric.sense, metric.sweep
        found = smoothed_threshold(
            metric, **own, sweep=lambda scores, moving: sense * sweep(scores, moving)
        )
    else:
        budget, most = options.limits.evaluations, _MOST_CALLS
        if budget is not None:
            curves = 1 if segments is None else 1 + n_segments
            most = max(2, min(most, budget // curves))
        limits = Limits(max_seconds=options.limits.seconds)
        metered = BudgetedMetric(metric, budget, limits)
        # A metric of the ranking shows itself at once.
        few = min(most, _FEW_CALLS) if metric.takes == "scores" else most
        found = smoothed_threshold(metered, **own, most=few, limits=limits)
        if few < most and not found.constant:
            with limits.keeping(found):
                found = smoothed_threshold(metered, **own, most=most, limits=limits)
    n_cuts = len(found.gains)
    why = f"the best of {n_cuts} cut-offs"
    if found.window:
        why += f" by the curve averaged over {found.window:.4g}"
    if n_segments > 1:
        why += f", then of each of {n_segments} groups in turn"
    cuts = found.thresholds
    if found.constant:
        cuts = np.full_like(cuts, 0.5 if evidence.may_be_posteriors else 0.0)
        why = f"the metric is the same at all {n_cuts} cut-offs"
        warn_caller(
            f"the metric {metric.name} does not depend on the cut-off: it is the same at all "
            f"{n_cuts} that were measured; the cut-off is left at {cuts[0]:g}",
            ConstantGoalWarning,
        )
    elif np.isinf(cuts).all() and len(set(cuts.tolist())) == 1:
        warn_caller(
            f"predicting {evidence.classes[int(cuts[0] < 0)]!r} for everyone does best by "
            f"'{metric.name}': check the metric, and whether the scores say anything about the "
            "classes",
            ConstantGoalWarning,
        )
    rule: Rule = Threshold(float(cuts[0]))
    if evidence.codebook.decide_on:
        rule = PerSegment([Threshold(float(t)) for t in cuts], evidence.segments)
    confusion, v, reached = evidence.confusion(rule), np.zeros(0), None
    if isinstance(metric, FormulaMetric):
        v = metric.program.rates_of(confusion.counts)
    else:
        reached = measured_entry(goal, metric, metric.sense * found.value)
    return Found(
        [],
        rule,
        confusion,
        v,
        evidence,
        why,
        certificate=Certificate(rivals="rule without draws"),
        n_calls=found.evaluations,
        solver="post-shift",
        objective=reached,
    )


# --- From rows with scores to a rule: which search, what the rule looks at ------------------------


_BLIND = (
    "The rule does not see what the deployed model says, so nothing is certified. Given that "
    "prediction as a column too, and named in decide_on, it can come nearer the goal."
)


_OVER_SETS = (
    "The rule looks at the score alone, whatever a row is worth: where a goal refers to further "
    "data sets, rules do not look at columns of values."
)
_OF_SCORES = ("exact", "post-shift", *BASELINES)
"""Solvers whose rules look at scores alone."""


def solve_evidence(
    inputs: CheckedData,
    evidence: Evidence,
    options: Options,
    *,
    counted: Evidence | None = None,
    folds: int | None = None,
    notes: tuple[str, ...] = (),
    metric: RowMetric | None = None,
    confidence: Confidence | None = None,
    certification: Certification | None = None,
    blocks: Codes | None = None,
) -> tuple[Found, GoalReport]:
    """Link, solve, count and report; what ``solve`` and ``PlugInClassifier`` share."""
    started = now()
    options = replace(options, started=started)
    linked = link(inputs.goal, evidence.codebook)
    table: CheckedTable | None = inputs.tables[None]
    if confidence is not None and certification is None:
        whole = options.randomized is False and not inputs.sees
        evidence, certification, table = estimators.split_scored(
            linked, evidence, table, confidence, whole=whole, blocks=blocks
        )
    find = RuleFinder(linked, evidence, options, inputs.sees, counted, metric)
    with estimators.heard() as caught:
        found = find()
    return estimators.decide(
        linked,
        found,
        caught,
        started=started,
        family="plugin",
        folds=folds,
        notes=(*notes, *find.notes),
        table=table,
        certification=None if certification is None else replace(certification, inwards=find),
    )


@dataclass(eq=False)
class RuleFinder:
    """Finds the rule for some scores as often as it is asked; what is chosen is chosen once."""

    linked: LinkedGoal
    evidence: Evidence
    options: Options
    sees: tuple[str, ...] = ()
    counted: Evidence | None = None
    metric: RowMetric | None = None
    notes: list[str] = field(default_factory=list)
    _aware: Evidence | None = None
    _inputs: RuleInputs | None = None

    def __post_init__(self) -> None:
        needs, evidence = self.linked.goal.needs, self.evidence
        hidden = evidence.codebook.hides_strata and evidence.n_scores is not None
        if hidden and any(c.baseline is not None for c in evidence.codebook.strata):
            self.notes.append(_BLIND)
        if needs.measures and needs.datasets:
            self.notes.append(_OVER_SETS)
        if not self.sees or self.options.solver in _OF_SCORES:
            return
        if evidence.n_scores is not None or evidence.may_be_posteriors:
            self._aware = evidence.with_values(self.sees)
        else:
            self.notes.append(
                f"The rule looks at the score alone and not at {' and '.join(self.sees)}: expected "
                "values need probabilities, and the scores go beyond 0 and 1."
            )

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
        if options.solver == "post-shift":
            return shift_rule(goal, evidence, options, self.metric)
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
        elif self.counted is not None:
            options = replace(options, evidence="soft")
        elif options.evidence == "auto":
            return _because(*search_by_either(goal, evidence, options))
        return search_rule(goal, evidence, options, self.counted, inwards)


def _because(found: Found, why: str) -> Found:
    return replace(found, why="; ".join(x for x in (found.why, why) if x))
