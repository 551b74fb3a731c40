"""The search over posteriors: columns from an oracle, then rules near the best ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from setpoint import counts, judging, search
from setpoint.array_types import Floats
from setpoint.errors import GoalError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED, tied
from setpoint.plugin.problem import (
    BASELINES,
    REMEDIES,
    Achievable,
    Atom,
    Options,
    WholeRules,
    best_atom,
    best_of,
    features_of_atoms,
    round_choice,
)
from setpoint.plugin.solvers.named import ALGORITHMS
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
    many = space.counted.n_classes >= judging.MANY_CLASSES and not program.constraints
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
                    now = _worth(program, space.block_features(trial, counts.ONE_BLOCK)[0])
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
    space: Achievable, program: Program, starts: Iterable[int], floor: float = np.inf
) -> None:
    """Find the best rules near some atoms, one cut after the other, and take them in."""
    counted = space.counted
    if not counted.credit.of_classes:
        return
    if counted.n_rows * counted.n_classes * space.d > _MOST_CUTS:
        return
    effects = counts.effects_of(counted, program.table.tensors)
    # Of two answers one leads by as much as the other trails: they share their cuts.
    codes = [1] if counted.n_classes == 2 else list(range(counted.n_classes))
    for start in starts:
        atom = space.atoms[start]
        if atom.code is not None:
            continue
        totals = counted.totals_of(*atom.response)
        answers = counts.RankedAnswers(counted, effects, totals)
        for _ in range(_SWEEPS):
            moved = [_cut_moved(answers, program, s, c) for s in range(len(totals)) for c in codes]
            if not any(moved) or space.limits.is_late:
                break
        v = answers.sums.sum(axis=0)
        if answers.shifts.any():
            space.add(_shifted(atom, answers.shifts))
        if program.violation(v) <= SATISFIED and program.score_at(v) >= floor:
            return


def _cut_moved(answers: counts.RankedAnswers, program: Program, segment: int, code: int) -> bool:
    """Cut one class where that is best, all else as it is."""
    cuts, without = answers.cuts(segment, code)
    rest = answers.sums.sum(axis=0) - answers.sums[segment] + without
    best = _best(cuts, program, rest)
    if best == cuts.present:
        return False
    answers.shift(segment, code, cuts.lead(best))
    return True


def _best(cuts: counts.RankedCuts, program: Program, rest: Floats) -> int:
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


# --- Of rules that are equally good ---------------------------------------------------------------


_CLOSE, _FAR, _STEPS = -8.0, 14.0, 9
"""Ends of a line in logarithms of the share of the argmax, and halvings."""

_WORTH = 500.0
"""By so much more the share of rows that depart has to fall than the objective."""


def plug_in(space: Achievable, weights: Floats) -> Atom:
    """The class with the largest weighted posterior, in every segment."""
    counted = space.counted
    n, n_segments = counted.n_classes, len(counted.segments)
    if counted.credit.of_classes and not counted.score_columns.values:
        return Atom(np.tile(weights, (n_segments, 1)), np.zeros((n_segments, n)))
    # A stratum's posteriors of a class gain what the class does.
    gains = np.tile(np.diag(weights), (len(counted.codebook.strata), 1, 1))
    gains[counted.codebook.n_plain :] = 0.0
    return Atom(counted.loss_tensor(gains))


def plainest(
    space: Achievable, program: Program, found: search.Optimum, floor: float
) -> search.Optimum:
    """A rule without draws that is as good as the one found, and nearer to the argmax."""
    by_values = space.counted.score_columns.values  # the largest gain, and no argmax, is plain
    if by_values or found.is_drawn or not found.is_feasible or space.limits.is_late:
        return found
    n_known = len(space.atoms)
    line = _Line(space, program, found, min(floor, tied(found.value)))
    choices = [line.argmax, found.choice]
    if not line.good(n_known):
        ends = [line.last(start) for start in line.starts()]
        choices = [found.choice, *(line.whole(space.add(x)) for x in ends if x is not None)]
    best = line.nearest(choices)
    if best is None:
        space.drop(n_known)
        return found
    new = search.measure(space, program, best)
    return replace(found, choice=best, v=new.v, value=new.value)


class _Line:
    """Rules between one and the argmax, and whether they are as good as what was found."""

    def __init__(
        self, space: Achievable, program: Program, found: search.Optimum, floor: float
    ) -> None:
        self.space, self.program, self.floor, self.found = space, program, floor, found
        self.plain = plug_in(space, np.ones(space.counted.n_classes))
        self.argmax = self.whole(space.add(self.plain))
        self.labelled: Program | None = None
        if space.counted.credit.by_posteriors and space.evidence.has_labels:
            counted = space.confusion(found.choice)
            self.labelled = link(program.goal, counted.codebook).at(counted.marginals)
            self.least = self.by_labels(self.labelled, found.choice)

    def by_labels(self, program: Program, choice: search.MixtureWeights) -> tuple[float, float]:
        """The score and the violation of a rule, counted by labels."""
        v = program.rates_of(self.space.confusion(choice).counts)
        return program.score_at(v), float(program.violation(v))

    def whole(self, atom: int) -> search.MixtureWeights:
        """A whole rule."""
        return self.space.draw_among({atom: 1.0})

    def good(self, atom: int) -> bool:
        """Whether a whole rule is as good, by labels too."""
        v = self.space.features_of(atom)
        met = float(self.program.violation(v)) <= SATISFIED
        if not met or not self.program.score_at(v) >= self.floor:
            return False
        if self.labelled is None:
            return True
        score, past = self.by_labels(self.labelled, self.whole(atom))
        return score >= tied(self.least[0]) and past <= max(SATISFIED, self.least[1])

    def starts(self) -> list[Atom]:
        """Where lines begin: the rule found, if it is one, and what the objective asks for."""
        space, used = self.space, {k for part in self.found.choice for k in part}
        out = [space.atoms[k] for k in used] if len(used) == 1 else []
        slopes = self.program.score.gradient(self.found.v)
        if np.isfinite(slopes).all():
            out.append(space.atom_for(slopes))
        return out

    def last(self, start: Atom) -> Atom | None:
        """The last rule on a line that is as good; None where none is."""
        begin, end = (self._matrices(x) for x in (start, self.plain))

        def at(x: float) -> Atom:
            return Atom(*(a + np.exp(x) * b for a, b in zip(begin, end, strict=True)))

        space, low, high, best = self.space, _CLOSE, _FAR, None
        x = low  # where next to nothing ties, the first step is the last
        for _ in range(1 + _STEPS):
            number = space.add(at(x))
            good, atom = self.good(number), space.atoms[number]
            space.drop(number)
            best, low, high = (atom, x, high) if good else (best, low, x)
            if best is None or space.limits.is_late:
                break
            x = 0.5 * (low + high)
        return best

    def nearest(self, choices: list[search.MixtureWeights]) -> search.MixtureWeights | None:
        """The first whose departures, and what they cost, are least; None: as found."""
        rows, best = self.space.counted, None
        plain = rows.distribution(self.space.rule(self.argmax))
        least = np.inf
        for choice in choices:
            apart = np.abs(rows.distribution(self.space.rule(choice)) - plain).sum(axis=1)
            own = 0.5 * float(np.average(apart, weights=rows.rows.weight))
            score = self.program.score_at(self.space.features(choice))
            own -= _WORTH * min(score - self.found.value, 0.0)
            if own < least:
                best, least = choice, own
        return None if best is self.found.choice else best

    def _matrices(self, atom: Atom) -> tuple[Floats, ...]:
        """What an atom multiplies scores with, its largest number one."""
        own = self._constant(atom.code) if atom.code is not None else atom
        found = self.space.response(own)
        size = max(float(np.abs(x).max(initial=0.0)) for x in found) or 1.0
        return tuple(x / size for x in found)

    def _constant(self, code: int) -> Atom:
        """One class for everybody, in the form of the argmax."""
        matrix = np.zeros_like(self.plain.matrix)
        if self.plain.charge is not None:
            charge = np.zeros_like(self.plain.charge)
            charge[:, code] = -1.0
            return Atom(matrix, charge)
        n_columns = matrix.shape[1] // (1 + len(self.space.counted.score_columns.values))
        matrix[:, :n_columns, code] = 1.0  # posteriors sum to one
        return Atom(matrix)


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
    evidence: counts.Evidence,
    options: Options,
    counted: counts.Evidence | None = None,
    inwards: Floats | None = None,
    *,
    tried: bool = False,
) -> search.Found:
    """The rule over posteriors that reaches a goal."""
    # The algorithms of the paper have budgets of their own.
    limits = options.watch(None if options.solver in ALGORITHMS else _CALLS)
    soft = options.evidence == "soft"
    space, program = _space_of(goal, evidence, counted, limits, soft, options.solver)
    if inwards is not None:
        program = search.worked_with(program, inwards)
    if options.solver in BASELINES:
        found = _baseline(space, program, options)
    else:
        found = search_space(space, program, options, tried=tried)
    return replace(found, evidence=evidence)  # in the order given


def _space_of(
    goal: Goal,
    evidence: counts.Evidence,
    counted: counts.Evidence | None,
    limits: search.Limits,
    soft: bool,
    solver: str = "auto",
) -> tuple[Achievable, Program]:
    """What rules over posteriors can do, and the program of a goal."""
    if counted is None:
        # Exactly the same for the same rows in any order, twice or with twice the weight.
        evidence = counts.in_order(evidence)
        counted = counts.merged(evidence)
        if soft:
            counted = counted.with_posteriors()
    program = link(goal, counted.codebook).at(counted.marginals)
    shape = program.score.shape
    climbed = counted.n_classes >= judging.MANY_CLASSES and not (
        shape.concave or shape.quasiconcave
    )
    whole = climbed or solver in ALGORITHMS
    return Achievable(program.table, evidence, counted, limits=limits, whole_rules=whole), program


def explored(
    goal: Goal, evidence: counts.Evidence, *, soft: bool, gap: float
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
        known: dict[str, Any] = {"stopped": space.limits.stopped, "draws": _NO_DRAWS}
        found = replace(found, method="the best single rule known", **known)
    if not found.choice:
        nearest = _nearest(space, program, options)
        if options.on_infeasible == "raise":
            plain = replace(options, solver="auto")
            said = search.explain(
                space, program, nearest, found, lambda s, asked: _find(s, asked, plain)
            )
            off = nearest.certificate.calibration
            if off is None or not isinstance(space, Achievable):
                raise said
            raise search.InfeasibleError(  # by posteriors that labels may contradict
                f"{said.finding}. So it is by the posteriors, which differ from the labels by up "
                f"to {100 * off:.2g} % of the rows in a pair of true and predicted class: "
                f"{REMEDIES}",
                remedy=said.remedy,
                violation=said.violation,
                blame=said.blame,
                reachable=said.reachable,
            )
        return nearest
    near, spent = (max(_tolerance(program, x), search.SAME) for x in (options.tol, _SPENT))
    if found.status == "stationary":  # the best one only where a bound is reached exactly
        near = search.SAME
    if isinstance(space, Achievable) and not (tried or options.solver in ALGORITHMS):
        spent = min(near, spent) if space.is_certain else -INF
        found = plainest(space, program, found, found.bound - spent)
    result = search.found_of(space, program, found, proved=near, solver=_name(options))
    search.warn_constant(space, program, result)
    return result


def _known(space: WholeRules, program: Program) -> search.Optimum:
    """The best single rule that is known, the 0-1 and the balanced plug-in at least."""
    if isinstance(space, Achievable):
        _add_plug_ins(space)
    return best_atom(space, program)


def _name(options: Options) -> str:
    return "column-generation" if options.solver == "auto" else options.solver


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
        if not (fixed.is_feasible and fixed.value >= floor) and _is_cut(space):
            used = dict.fromkeys([*_likeliest(mixed.choice), _best_rule(space, program)])
            cut_ranked(space, program, used, floor)
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


def _is_cut(space: WholeRules) -> TypeGuard[Achievable]:
    """Whether cuts of rules are moved: where rows have values, or may be deferred."""
    book = space.counted.codebook
    return isinstance(space, Achievable) and (bool(book.measures) or book.defers)


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
        mixed = replace(mixed, choice=choice, v=space.features(choice))
    if not mixed.is_drawn and draws != _NO_DRAWS:
        draws = "no draws needed"
    return replace(mixed, status=known, draws=draws)


_WHY = {
    "argmax": "the class with the largest posterior, whatever the goal says",
    "balanced": "the class with the largest ratio of posterior to prior, whatever the goal says",
}


def _baseline(space: Achievable, program: Program, options: Options) -> search.Found:
    """A rule that does not look at the goal: 0-1 plug-in, or weighted by one over the priors."""
    balanced = options.solver == "balanced"
    weights = _balanced(space, 1e-300) if balanced else np.ones(space.counted.n_classes)
    space.limits.call()
    atom = space.add(plug_in(space, weights))
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
