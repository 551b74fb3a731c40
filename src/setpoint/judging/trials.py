"""Which evidence and which columns a rule goes by: tried out on rows left out."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from setpoint.counts import N_FOLDS, Confusion, Evidence, folds_of, in_order, merged
from setpoint.errors import EmptyPopulationError, GoalError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.program import link
from setpoint.rules import Rule
from setpoint.search import INTERRUPTED, InfeasibleError, StoppedWarning

# --- What rules reach on rows that they were not found on -----------------------------------------


FAILURES = (GoalError, InfeasibleError, RuntimeError, ArithmeticError)
"""What a search on some of the rows may end with, though one on all would not."""

MANY_CLASSES = 30
"""From so many classes on a sum of ratios is climbed by whole rules, since blocks for each class on
top would hold the square of what is gathered, evidence may be chosen on one part left out, and a
pattern search, which could try too few steps of each class, serves constraints alone."""

_WHOLE_NUMBERS = 250_000
"""Of many classes up to so many posteriors, each part is left out in turn."""

_OF_A_BOUND = 0.1
"""A bound that is missed by less than this share of it may be missed by chance."""

_HALF_A_POINT = 0.005
"""Held-out differences of the objective up to this are noise."""

Kind = Literal["label", "soft"]
RuleInputs = Literal["score", "soft", "label"]
"""A rule over the score alone; or by a kind of evidence, and over the columns if there are any."""

Find = Callable[[RuleInputs, Evidence], Rule]
"""A quick search."""

T = TypeVar("T")


class Reached(NamedTuple):
    """What rules reach on rows that they were not found on."""

    past: float
    score: float


def reached(goal: Goal, counted: Confusion) -> Reached:
    """What some counts by labels are to a goal."""
    program = link(goal, counted.codebook).at(counted.marginals)
    v = program.rates_of(counted.counts)
    return Reached(float(program.violation(v)), program.score_at(v))


def held_out(
    goal: Goal,
    evidence: Evidence,
    find: Callable[[Evidence], Rule],
    seen: Callable[[Evidence], Evidence] = lambda rows: rows,
) -> Reached:
    """Violation and score on the rows left out, pooled."""
    pooled: Confusion | None = None
    for most, rest in islice(folds_of(evidence), _n_parts(evidence)[0]):
        rule = in_quiet(partial(find, seen(most)))
        counted = seen(rest).confusion(rule)
        pooled = counted if pooled is None else pooled + counted
    assert pooled is not None
    return reached(goal, pooled)


def in_quiet(find: Callable[[], T]) -> T:
    """What a search on some of the rows finds, without its warnings: they are of those rows."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = find()
    if any(w.category is StoppedWarning and str(w.message).startswith(INTERRUPTED) for w in caught):
        raise KeyboardInterrupt
    return found


def _some_rows(evidence: Evidence, most: int) -> Evidence:
    """The rows in canonical order, equal ones joined; of many some, the same every time."""
    evidence = merged(in_order(evidence))
    if evidence.n_rows <= most:
        return evidence
    some = np.random.default_rng(1).permutation(evidence.n_rows)[:most]
    return evidence.take(np.sort(some))


def _n_parts(evidence: Evidence) -> tuple[int, str]:
    """How many parts are left out, one after the other: where searches are long, one."""
    many = evidence.n_classes >= MANY_CLASSES
    if many and evidence.n_rows * evidence.n_classes > _WHOLE_NUMBERS:
        return 1, f"on one part of {N_FOLDS} left out"
    return N_FOLDS, f"by {N_FOLDS}-fold cross-validation"


def _noise_of(goal: Goal, evidence: Evidence, most: float) -> float:
    """How far past a bound is noise: a bound of .01 that is missed by .005 is missed by half."""
    if not goal.constraints:
        return most
    program = link(goal, evidence.codebook).at(evidence.marginals)
    levels = [abs(c.level) for c in program.constraints if c.level and np.isfinite(c.level)]
    return min([most, *(_OF_A_BOUND * level for level in levels)])


# --- Soft or label evidence: chosen by cross-validation on the given rows -------------------------


_ENOUGH, _ENOUGH_NUMBERS = 50_000, 1_500_000
"""Up to so many rows, and posteriors of them, are used to choose."""
_OF_A_ROW = 0.5
"""Of many classes, whose rates rest on few rows, so much over the root of the rows left out."""


def choose_evidence(goal: Goal, evidence: Evidence, find: Find) -> tuple[Kind, str]:
    """The kind of evidence whose rule does better on rows it was not found on, and why."""
    if not evidence.has_labels:
        return "soft", "there are no labels"
    evidence = _some_rows(evidence, min(_ENOUGH, _ENOUGH_NUMBERS // evidence.n_classes))
    try:
        soft_past, soft = held_out(goal, evidence, partial(find, "soft"))
        label_past, label = held_out(goal, evidence, partial(find, "label"))
    except EmptyPopulationError:
        return "soft", "the rows are too few to choose by cross-validation"
    except FAILURES as error:
        first = str(error).splitlines()[0]
        return "soft", f"soft evidence, as cross-validation failed ({first})"
    n_parts, how = _n_parts(evidence)
    # A rate of the rarest class is not known any better than this.
    book = evidence.codebook
    held = evidence.marginals.weights[: book.n_plain, : len(book.labels)].sum(axis=0)
    most = max(_HALF_A_POINT, 0.5 / float(np.sqrt(max(held.min(), 1.0))))
    noise = _noise_of(goal, evidence, most)
    better = label_past < soft_past - noise
    if abs(label_past - soft_past) <= noise:
        least = _HALF_A_POINT
        if evidence.n_classes >= MANY_CLASSES:
            held_rows = evidence.n_rows * n_parts / N_FOLDS
            least = max(least, _OF_A_ROW / float(np.sqrt(held_rows)))
        better = label > soft + least
    chosen: Kind = "label" if better else "soft"
    sense = 1.0 if goal.sense == "maximize" else -1.0
    values = f"objective {sense * soft:.4g} with soft and {sense * label:.4g} with label evidence"
    if goal.constraints:
        values += f", violation {soft_past:.4g} and {label_past:.4g}"
    return chosen, f"{chosen} evidence {how} ({values})"


# --- Whether a rule looks at the columns by which rows count --------------------------------------


_COLUMNS_ENOUGH = 20_000
"""Up to so many rows are used to choose."""

_OF_A_RATE = 0.02
"""A bound that is missed by no more may be missed by chance."""

_WORDS: dict[RuleInputs, tuple[str, str]] = {
    "score": ("a rule over the score alone", "the score"),
    "soft": ("a rule that looks at {columns}, too, by posteriors", "values and posteriors"),
    "label": ("a rule that looks at {columns}, too, by labels", "values and labels"),
}
"""What is chosen, and what it is called beside others."""


def choose_rule_inputs(
    goal: Goal, aware: Evidence, find: Find, *, by_labels: bool
) -> tuple[RuleInputs, str]:
    """What a rule looks at that does best on rows it was not found on, and why."""
    columns = " and ".join(aware.sees)
    values = aware.scores[:, -len(aware.sees) :]
    if (values == values[:1]).all():  # then totals are those of posteriors, in the same order
        return "score", f"a rule by the score alone, as {columns} is the same in all rows"
    aware = _some_rows(aware, _COLUMNS_ENOUGH)
    found: dict[RuleInputs, Reached] = {}
    failed, noise = "", _noise_of(goal, aware, _OF_A_RATE)
    for rule_inputs in _WORDS:
        # Where rules by posteriors keep the bounds, counting labels has nothing to mend.
        keep = "soft" in found and found["soft"].past <= noise
        if rule_inputs == "label" and (keep or not by_labels):
            continue
        try:
            seen = [Evidence.without_values] if rule_inputs == "score" else []
            found[rule_inputs] = held_out(goal, aware, partial(find, rule_inputs), *seen)
        except EmptyPopulationError:
            return "score", "the rows are too few for cross-validation: the score alone"
        except FAILURES as error:
            if rule_inputs != "score":
                failed = f"; by values: {str(error).splitlines()[0]}"
    if not found:
        return "score", f"cross-validation failed: the score alone{failed}"
    # The first that misses no bound by more than noise and is as good as any such.
    least = max(min(r.past for r in found.values()), SATISFIED)
    kept = {s: r for s, r in found.items() if r.past <= least + noise}
    top = max(r.score for r in kept.values())
    floor = top - _HALF_A_POINT * abs(top)
    best = next(s for s, r in kept.items() if r.score >= floor)
    sense = 1.0 if goal.sense == "maximize" else -1.0
    said = ", ".join(f"{sense * r.score:.4g} by {_WORDS[s][1]}" for s, r in found.items())
    words = _WORDS[best][0].format(columns=columns)
    failed = "" if {"soft", "label"} & found.keys() else failed
    return best, f"{words}, {_n_parts(aware)[1]} (objective {said}{failed})"
