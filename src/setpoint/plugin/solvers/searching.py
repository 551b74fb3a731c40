"""The search over posteriors: columns from an oracle, then rules near the best ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from setpoint import search
from setpoint.array_types import Floats
from setpoint.counts import (
    ONE_BLOCK,
    Evidence,
    RankedAnswers,
    RankedCuts,
    effects_of,
    in_order,
    merged,
)
from setpoint.errors import GoalError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED
from setpoint.plugin.parameters import BASELINES, Options
from setpoint.plugin.problem import (
    MANY_CLASSES,
    REMEDIES,
    Achievable,
    Atom,
    WholeRules,
    best_atom,
    best_of,
    features_of_atoms,
    plainest,
    plug_in,
    round_choice,
)
from setpoint.plugin.solvers import ALGORITHMS
from setpoint.program import Program, link

# --- Rules near the ones that an oracle found -----------------------------------------------------


Worth: TypeAlias = tuple[float, float]
"""Violation and loss: less is better."""

_WORK, _LEAST, _MOST = 4e8, 60, 1500
"""Rows times classes to decide in all, and the numbers of rules tried at least and most."""
_FIRST, _LAST = 0.5, 0.01
"""Steps of the pattern search, in logarithms of factors and in shares of a total."""


def _worth(program: Program, v: Floats) -> Worth:
    """What is compared: the violation, if it is one, then the objective."""
    past = float(program.violation(v))
    return (past if past > SATISFIED else 0.0, -program.score_at(v))


def polish(space: Achievable, program: Program, start: int) -> int:
    """Improve an atom and take the result in."""
    atom = space.atoms[start]
    many = space.counted.n_classes >= MANY_CLASSES and not program.constraints
    if atom.code is not None or many:
        return start
    counted = space.counted
    size = max(counted.n_rows * counted.n_classes, 1)
    left = 0 if space.limits.is_late else int(np.clip(_WORK / size, _LEAST, _MOST))
    least = first = _worth(program, space.features_of(start))
    with space.limits.keeping(True):  # the start, at least
        atom, least = _search(space, program, atom, least, left)
    return space.add(atom) if least < first else start


def _search(
    space: Achievable, program: Program, atom: Atom, least: Worth, left: int
) -> tuple[Atom, Worth]:
    """Steps in each coordinate while they help, then smaller ones."""
    counted = space.counted
    step = _FIRST
    while step >= _LAST and left > 0:
        before = least
        for segment in range(len(counted.segments)):
            for code in range(counted.n_classes):
                for factor, offset in ((step, 0), (-step, 0), (0, step), (0, -step)):
                    trial = _moved(atom, segment, code, factor, offset)
                    now = _worth(program, space.pricer.features(trial, ONE_BLOCK)[0])
                    left -= 1
                    if now < least:
                        atom, least = trial, now
                    if space.limits.is_late:
                        return atom, least
                    if left <= 0:
                        break
        step = step if least < before else 0.5 * step
    return atom, least


def _moved(atom: Atom, segment: int, code: int, factor: float, offset: float) -> Atom:
    """The atom with the totals of one class multiplied and shifted, in one segment."""
    matrix = atom.matrix.copy()
    size = float(np.abs(matrix[segment]).max())
    if atom.charge is not None:
        B = atom.charge.copy()
        B[segment, code] -= offset * size
        matrix[segment, code] *= np.exp(factor)
        return Atom(matrix, B)
    matrix[segment, :, code] = matrix[segment, :, code] * np.exp(factor) + offset * size
    return Atom(matrix)


# --- Cuts moved one after the other, each to the best of all places -------------------------------


_MOST_CUTS = 60_000_000
"""Rows times answers times features that are kept in memory."""
_BLOCK = 65_536
"""Cuts whose objective is computed at a time."""
_SWEEPS = 8


def cut_ranked(
    space: Achievable, program: Program, starts: Sequence[int], floor: float = np.inf
) -> None:
    """Find the best rules near some atoms, one cut after the other, and take them in."""
    counted = space.counted
    if not counted.credit.of_classes:
        return
    if counted.n_rows * counted.n_classes * space.d > _MOST_CUTS:
        return
    effects = effects_of(counted, program.table.tensors)
    # Of two answers one leads by as much as the other trails: they share their cuts.
    codes = [1] if counted.n_classes == 2 else list(range(counted.n_classes))
    for start in starts:
        atom = space.atoms[start]
        if atom.code is not None:
            continue
        totals = counted.totals_of(*atom.response)
        answers = RankedAnswers(counted, effects, totals)
        for _ in range(_SWEEPS):
            moved = [_cut_moved(answers, program, s, c) for s in range(len(totals)) for c in codes]
            if not any(moved) or space.limits.is_late:
                break
        v = answers.sums.sum(axis=0)
        if answers.shifts.any():
            space.add(_shifted(atom, answers.shifts))
        if program.violation(v) <= SATISFIED and program.score_at(v) >= floor:
            return


def _cut_moved(answers: RankedAnswers, program: Program, segment: int, code: int) -> bool:
    """Cut one class where that is best, all else as it is."""
    cuts, without = answers.cuts(segment, code)
    rest = answers.sums.sum(axis=0) - answers.sums[segment] + without
    best = _best(cuts, program, rest)
    if best == cuts.present:
        return False
    answers.shift(segment, code, cuts.lead(best))
    return True


def _best(cuts: RankedCuts, program: Program, rest: Floats) -> int:
    """The cut that is best together with what all else adds; the present one if none is."""
    best = cuts.present
    for first in range(0, len(cuts.sums), _BLOCK):
        k = first + best_of(program, rest + cuts.sums[first : first + _BLOCK])
        if k != best:
            best = (k, best)[best_of(program, rest + cuts.sums[[k, best]], 1)]
    return best


def _shifted(atom: Atom, shifts: Floats) -> Atom:
    """The atom with totals that are smaller by some shifts (segments, n)."""
    if atom.charge is not None:
        return Atom(atom.matrix, atom.charge + shifts)
    G, n = atom.matrix.copy(), shifts.shape[1]
    G[:, :n] -= shifts[:, None, :]  # posteriors sum to one, so that they carry a constant
    return Atom(np.ascontiguousarray(G))


# --- Rules over posteriors: from a goal and evidence to a rule ------------------------------------


RETRAININGS = 50
_CALLS = 1000
"""Oracle calls of one solve, where the user sets no limit."""

_SPENT = 1e-4
"""Of a certified gap that is allowed, at most so much is spent on a plainer rule."""
_NO_DRAWS = "no draws"
INF = float("inf")


def search_rule(
    goal: Goal,
    evidence: Evidence,
    options: Options,
    counted: Evidence | None = None,
    inwards: Floats | None = None,
    *,
    tried: bool = False,
) -> search.Found:
    """The rule over posteriors that reaches a goal."""
    space, program = _space_of(
        goal, evidence, counted, limited(options), options.evidence == "soft", options.solver
    )
    if inwards is not None:
        program = search.worked_with(program, inwards)
    if options.solver in BASELINES:
        found = _baseline(space, program, options)
    else:
        found = search_space(space, program, options, tried=tried)
    return replace(found, evidence=evidence)  # in the order given


def _space_of(
    goal: Goal,
    evidence: Evidence,
    counted: Evidence | None,
    limits: search.Limits,
    soft: bool,
    solver: str = "auto",
) -> tuple[Achievable, Program]:
    """What rules over posteriors can do, and the program of a goal."""
    if counted is None:
        # Exactly the same for the same rows in any order, twice or with twice the weight.
        evidence = in_order(evidence)
        counted = merged(evidence)
        if soft:
            counted = counted.with_posteriors()
    program = link(goal, counted.codebook).at(counted.marginals)
    shape = program.score.shape
    climbed = counted.n_classes >= MANY_CLASSES and not (shape.concave or shape.quasiconcave)
    whole = climbed or solver in ALGORITHMS
    return Achievable(program.table, evidence, counted, limits=limits, whole_rules=whole), program


def explored(
    goal: Goal, evidence: Evidence, *, soft: bool, gap: float
) -> tuple[Achievable, Program]:
    """What rules over posteriors can do, rules for the goal among them, and its program."""
    space, program = _space_of(goal, evidence, None, search.Limits(_CALLS), soft)
    if not space.is_certain:
        with suppress(search.InfeasibleMasterError):
            _by_labels(space, program, gap)
        space.limits.max_calls = None
    return space, program


def search_space(
    space: WholeRules, program: Program, options: Options, *, tried: bool = False
) -> search.Found:
    """The rule of a space that reaches a program; errors as in :func:`search_rule`."""
    try:
        found = _find(space, program, options)
    except search.StoppedError as error:
        if options.on_infeasible == "nearest":
            return _nearest(space, program, options)
        found = _known(space, program)
        if not found.is_feasible:
            raise search.StoppedError(
                f"{error}, and no rule that meets the goal was known by then: allow more "
                "(`limits`), loosen a bound, or take the rule that "
                "comes nearest (`on_infeasible='nearest'`)",
                limit=error.limit,
            ) from None
        space.limits.stop(error)
        found = replace(
            found,
            method="the best single rule known",
            stopped=space.limits.stopped,
            draws=_NO_DRAWS,
        )
    if not found.choice:
        nearest = _nearest(space, program, options)
        if options.on_infeasible == "raise":
            plain = replace(options, solver="auto")
            said = search.explain(
                space, program, nearest, found, lambda s, asked: _find(s, asked, plain)
            )
            calibration = nearest.certificate.calibration
            if calibration is not None and isinstance(space, Achievable):
                said = _of_posteriors(said, calibration)
            raise said
        return nearest
    # A stationary point is the best one only where a bound is reached exactly.
    near = (
        search.SAME
        if found.status == "stationary"
        else max(_tolerance(program, options.tol), search.SAME)
    )
    if isinstance(space, Achievable) and not (tried or options.solver in ALGORITHMS):
        spent = (
            min(near, max(_tolerance(program, _SPENT), search.SAME)) if space.is_certain else -INF
        )
        found = plainest(space, program, found, found.bound - spent)
    result = search.found_of(space, program, found, proved=near, solver=_name(options))
    search.warn_constant(space, program, result)
    return result


def _of_posteriors(error: search.InfeasibleError, calibration: float) -> search.InfeasibleError:
    """The error for posteriors that labels may contradict."""
    return search.InfeasibleError(
        f"{error.finding}. So it is by the posteriors, which differ from the labels by up to "
        f"{100 * calibration:.2g} % of the rows in a pair of true and predicted class: {REMEDIES}",
        remedy=error.remedy,
        violation=error.violation,
        blame=error.blame,
        reachable=error.reachable,
    )


def _known(space: WholeRules, program: Program) -> search.Optimum:
    """The best single rule that is known, the 0-1 and the balanced plug-in at least."""
    if isinstance(space, Achievable):
        _add_plug_ins(space)
    return best_atom(space, program)


def _name(options: Options) -> str:
    return "column-generation" if options.solver == "auto" else options.solver


def limited(options: Options, most: int = _CALLS) -> search.Limits:
    """The limits of one solve, `most` calls where the user sets none."""
    limits = options.watch()
    if options.solver not in ALGORITHMS:  # those have budgets of their own
        limits.max_calls = limits.max_calls or most
    return limits


def _tolerance(program: Program, tol: float) -> float:
    """The tolerance in the units of the objective: of values of rows a share of their range."""
    if not program.codebook.measures:
        return tol
    low, high = program.objective.low, program.objective.high
    return tol * (high - low if np.isfinite(high - low) and high > low else 1.0)


def _find(space: WholeRules, program: Program, options: Options) -> search.Optimum:
    tol = _tolerance(program, options.tol)
    gap = 0.5 * tol
    try:
        if options.solver in ALGORITHMS:
            assert isinstance(space, Achievable)
            mixed = ALGORITHMS[options.solver](space, program, gap=gap)
        elif isinstance(space, Achievable) and not space.is_certain:
            mixed = _by_labels(space, program, gap)
        else:
            mixed = search.best_mixture(space, program, gap)
    except search.UnfinishedError:
        # Linear programs give up; the rules found on the way are counted exactly.
        mixed = best_atom(space, program)
        if not mixed.is_feasible:
            return search.nothing(space, certain=False)
        mixed = replace(mixed, method="the best single rule found")
    except search.InfeasibleMasterError:
        # What an algorithm of the paper gathered is not all there is.
        every = space.is_certain and options.solver not in ALGORITHMS
        return search.nothing(space, certain=every)
    mixed = _against_starts(space, program, mixed)
    floor = mixed.value - max(gap, search.SAME)
    if space.is_certain:
        floor = min(floor, mixed.bound - tol)
    if options.randomized is not True:
        # The whole rule first: it is the one that can be explained in a line.
        fixed = best_atom(space, program) if len(space.atoms) else _known(space, program)
        if not (fixed.is_feasible and fixed.value >= floor):
            fixed = _better(fixed, round_choice(space, program, mixed.choice))
        if not (fixed.is_feasible and fixed.value >= floor) and _cut(
            space, program, mixed.choice, floor
        ):
            fixed = _better(fixed, best_atom(space, program))
        if options.randomized is False:
            if isinstance(space, Achievable) and not (fixed.is_feasible and fixed.value >= floor):
                polish(space, program, _likeliest(mixed.choice)[0])
                polish(space, program, _best_rule(space, program))
                fixed = _better(fixed, best_atom(space, program))
            if not fixed.is_feasible:
                return replace(search.nothing(space, certain=False), drawing_helps=True)
            found = _chosen(mixed, space, fixed.choice, _NO_DRAWS)
            return replace(found, mixed=mixed.value if mixed.is_drawn else -np.inf)
        if fixed.is_feasible and fixed.value >= floor:
            return _chosen(mixed, space, fixed.choice, "no draws needed")
    choice = _of_whole_rules(space, program, floor) or mixed.choice
    why = "a mixture: a draw does better than any single rule found"
    return _chosen(mixed, space, choice, why)


def _against_starts(space: WholeRules, program: Program, mixed: search.Optimum) -> search.Optimum:
    """What ended at a stationary point, or the best whole rule known where that is better."""
    if mixed.status != "stationary":
        return mixed
    if isinstance(space, Achievable) and space.is_certain:
        _add_plug_ins(space)  # by labels they are there from the beginning
    start = best_atom(space, program)
    if not start.is_feasible or start.value <= mixed.value + search.SAME:
        return mixed
    return replace(mixed, choice=start.choice, v=start.v, value=start.value)


def _add_plug_ins(space: Achievable) -> None:
    """The 0-1 and the balanced plug-in rules."""
    for weights in (np.ones(space.counted.n_classes), _balanced(space, 1.0)):
        space.add(plug_in(space, weights))


def _balanced(space: Achievable, least: float) -> Floats:
    """One over the priors (n,), of classes with so many rows at least."""
    counted = space.counted
    weights = counted.marginals.weights[: counted.codebook.n_plain, : counted.n_classes]
    held = weights.sum(axis=0)
    return np.asarray(held.sum() / np.maximum(held, least))


def _cut(space: WholeRules, program: Program, choice: search.MixtureWeights, floor: float) -> bool:
    """Move the cuts of the rules of a mixture where rows have values or may be deferred."""
    if not (isinstance(space, Achievable) and _is_cut(space)):
        return False
    used = [*_likeliest(choice), _best_rule(space, program)]
    cut_ranked(space, program, list(dict.fromkeys(used)), floor)
    return True


def _is_cut(space: Achievable) -> bool:
    book = space.counted.codebook
    return bool(book.measures) or book.defers


def _better(one: search.Optimum, other: search.Optimum) -> search.Optimum:
    """The feasible one, then that with the larger score; the first of two alike."""
    return max(one, other, key=lambda f: (f.is_feasible, f.value))


def _by_labels(space: Achievable, program: Program, gap: float) -> search.Optimum:
    """Where the oracle's answers are not optima: more rules to mix from other searches."""
    _add_plug_ins(space)
    if not space.counted.credit.by_posteriors:
        counted = space.counted.with_posteriors()
        asked = link(program.goal, counted.codebook).at(counted.marginals)
        soft = space.with_posteriors(asked.table)
        soft.limits.stopped = space.limits.stopped
        # Whatever it finds is there already. Where it is stopped, so is the search by labels
        # when it begins, which warns.
        with (
            suppress(
                search.InfeasibleMasterError, GoalError, search.StoppedError, search.UnfinishedError
            ),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", search.StoppedWarning)
            space.limits.stopped = search.best_mixture(soft, asked, gap).stopped
        space.limits.calls += soft.limits.calls
    if _is_cut(space):
        cut_ranked(space, program, [_best_rule(space, program)])
    polish(space, program, _best_rule(space, program))
    mixed = search.best_mixture(space, program, gap)
    return replace(mixed, method=f"{mixed.method} over rules of soft evidence and near them")


def _best_rule(space: Achievable, program: Program) -> int:
    """The whole rule with the least violation, then the best objective, constants last."""
    v = features_of_atoms(space)
    n = space.counted.n_classes if len(v) > space.counted.n_classes else 0
    return n + best_of(program, v[n:])


def _likeliest(choice: search.MixtureWeights) -> list[int]:
    """The rules that a mixture uses, the one that it uses most first."""
    shares: dict[int, float] = {}
    for part in choice:
        for k, p in part.items():
            shares[k] = shares.get(k, 0.0) + p
    return sorted(shares, key=lambda k: -shares[k])


def _of_whole_rules(
    space: WholeRules, program: Program, floor: float
) -> search.MixtureWeights | None:
    """A mixture of whole rules as good as the floor: a few lines where blocks take many."""
    if not isinstance(space, Achievable) or space.n_blocks == 1 or space.limits.is_late:
        return None
    try:
        few = search.best_mixture(space.as_whole(), program, search.SAME)
    except search.InfeasibleMasterError:
        return None
    choice = space.draw_among(few.choice[0])
    if float(program.violation(space.features(choice))) > SATISFIED:
        return None
    return choice if few.value >= floor else None


def _chosen(
    mixed: search.Optimum, space: WholeRules, choice: search.MixtureWeights, draws: str
) -> search.Optimum:
    """What was found, with another choice perhaps."""
    known: search.Status = "stationary" if mixed.status == "stationary" else "feasible"
    if choice is not mixed.choice:
        v = space.features(choice)
        mixed = replace(mixed, choice=choice, v=v)
    if not mixed.is_drawn and draws != _NO_DRAWS:
        draws = "no draws needed"
    return replace(mixed, status=known, draws=draws)


_WHY = {
    "argmax": "the class with the largest posterior, whatever the goal says",
    "balanced": "the class with the largest ratio of posterior to prior, whatever the goal says",
}


def _baseline(space: Achievable, program: Program, options: Options) -> search.Found:
    """A rule that does not look at the goal: 0-1 plug-in, or weighted by one over the priors."""
    n, n_segments = space.counted.n_classes, len(space.counted.segments)
    weights = _balanced(space, 1e-300) if options.solver == "balanced" else np.ones(n)
    space.limits.call()
    atom = space.add(Atom(np.tile(weights, (n_segments, 1)), np.zeros((n_segments, n))))
    found = search.measure(
        space, program, space.draw_among({atom: 1.0}), "evaluated", _WHY[options.solver]
    )
    # Nothing bounds what other rules reach.
    return search.found_of(space, program, found, proved=-1.0, solver=options.solver)


def _nearest(space: WholeRules, program: Program, options: Options) -> search.Found:
    near = search.nearest_mixture(space, program)
    if options.randomized is False:
        without = (best_atom(space, program), round_choice(space, program, near.choice))
        rounded = min(without, key=lambda f: f.violation)
        near = replace(rounded, blame=near.blame, status="feasible")
    return search.nearest_of(space, program, near, solver=_name(options))
