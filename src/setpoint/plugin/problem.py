"""The problem: how a goal is to be solved, and what rules over posteriors do to the rates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeAlias

import numpy as np

from setpoint import judging, search, solvers
from setpoint.array_types import Floats
from setpoint.counts import ONE_BLOCK, Blocks, Confusion, Evidence
from setpoint.errors import GoalError, InputError, ShapeError
from setpoint.goals import Goal
from setpoint.parameters import SATISFIED, check
from setpoint.program import DiagonalForm, Program, RateTable, diagonal_form
from setpoint.rules import Argmax, PerSegment, Rule, ValueAware, mixture, per_segment

# --- The choices of the user: what ``solve`` and ``PlugInClassifier`` have in common --------------


EvidenceKind: TypeAlias = Literal["auto", "label", "soft"]

BASELINES = ("argmax", "balanced")
"""Rules that do not look at the goal."""
SOLVERS = solvers.solvers_of("plugin")
_AS_IT_COMES, _TOL = solvers.SearchLimits(), 1e-4


@dataclass(frozen=True)
class Options:
    """Choices of the user, checked where :meth:`of` takes them."""

    solver: Annotated[str, SOLVERS] = "auto"
    evidence: EvidenceKind = "auto"
    randomized: Annotated[search.Randomized, (False, "auto", True)] = "auto"
    on_infeasible: Literal["raise", "nearest"] = "raise"
    limits: Annotated[solvers.SearchLimits, solvers.SearchLimits] = _AS_IT_COMES
    progress: Callable[[search.TracePoint], None] | None = None
    smooth: Literal["auto"] | int | None = "auto"
    oracle: Any = None
    started: float | None = None
    stopped: str = ""

    @classmethod
    def of(
        cls,
        solver: str | solvers.Solver,
        limits: solvers.SearchLimits | None = None,
        **options: Any,
    ) -> Options:
        """The options with a solver's own parameters."""
        value = solvers.solver_of(solver, "plugin")
        own = {"smooth": value.smooth} if isinstance(value, solvers.PostShift) else {}
        oracle = value.oracle if isinstance(value, solvers.ColumnGeneration) else None
        # A learner decides by itself, with or without posteriors of the model.
        name = "auto" if oracle is not None else value.name
        out = cls(name, limits=solvers.SearchLimits.of(limits), oracle=oracle, **own, **options)
        check(out)
        if out.solver == "exact" and out.evidence == "soft":
            raise InputError(
                "`evidence`: `solver='exact'` counts decisions against labels, got 'soft'; "
                "'column-generation' takes it"
            )
        if oracle is not None and out.evidence == "soft":
            raise InputError("`evidence`: an oracle's decisions are counted by labels, got 'soft'")
        value.limited(out.limits)
        return out

    @property
    def tol(self) -> float:
        """The loss at which a rule without draws is preferred, the gap at which a search ends."""
        return _TOL if self.limits.tol is None else self.limits.tol

    def settled(self, goal: Goal) -> Options:
        """The options for one goal: black boxes go to post-shift."""
        out = self
        if goal.is_blackbox and self.solver != "post-shift":
            if self.solver != "auto" or self.oracle is not None:
                name = "column-generation" if self.oracle is not None else self.solver
                raise InputError(
                    f"`solver={name!r}` needs a formula, and {goal.objective} has none; "
                    f"{solvers.WITHOUT_FORMULA}"
                )
            out = replace(
                self, solver="post-shift", limits=solvers.PostShift().limited(self.limits)
            )
        if self.limits.evaluations is not None and not goal.is_blackbox:
            raise InputError(
                "`limits`: evaluations are those of a metric without a formula, and "
                f"{goal.objective} has one; leave out `evaluations={self.limits.evaluations!r}`"
            )
        if out.solver != "post-shift":
            return out
        if goal.constraints:
            raise GoalError(
                f"{solvers.takes('post-shift', asked=True)}, and '{goal}' has constraints; "
                f"{solvers.takes('auto', asked=True)}"
            )
        if goal.needs.datasets:
            raise GoalError(
                "`solver='post-shift'` measures on the rows of X alone, and the goal refers to "
                f"{list(goal.needs.datasets)}; `solver='auto'` takes further data sets"
            )
        if self.evidence == "soft":
            raise InputError("`evidence`: post-shift measures against labels, got 'soft'")
        if self.randomized is True:
            raise InputError("`randomized`: post-shift finds rules without draws, got True")
        return out

    def takes_posteriors(self, n_classes: int) -> bool:
        """Whether rules are sought over posteriors, not over one score of two classes."""
        if n_classes > 2 and self.solver == "exact":
            raise ShapeError(
                f"{solvers.takes('exact', asked=True)}, and y holds {n_classes}; "
                f"{solvers.takes('column-generation')}, and certifies its rules with soft evidence"
            )
        if n_classes > 2 and self.solver == "post-shift":
            raise ShapeError(
                "Only binary classification is supported by `solver='post-shift'`: y holds "
                f"{n_classes} classes"
            )
        other = self.solver not in ("auto", "exact", "post-shift") or self.evidence == "soft"
        return n_classes > 2 or other

    def watch(self, most: int | None = None) -> search.Limits:
        """What ends one search, `most` calls by default; its clock is the solve's, or its own."""
        given = self.limits
        limits = search.Limits(
            given.calls or most, given.seconds, self.progress, stopped=self.stopped
        )
        limits.started = limits.started if self.started is None else self.started
        return limits


# --- Atoms: whole deterministic rules over posteriors ---------------------------------------------


@dataclass(frozen=True, eq=False)
class Atom:
    """``argmax_j W_j score_j - B_j`` or ``(scores @ G)_j``; `code`: one class for everybody."""

    matrix: Floats
    charge: Floats | None = None
    code: int | None = None

    @classmethod
    def constant(cls, code: int, n_segments: int, n_scores: int, n_classes: int) -> Atom:
        """Predict one class for everybody."""
        shape = (n_classes,) if n_scores == n_classes else (n_scores, n_classes)
        charge = np.full((n_segments, n_classes), -0.0)
        charge[:, code] = -1.0
        return cls(np.broadcast_to(0.0, (n_segments, *shape)), charge, code)

    @property
    def response(self) -> tuple[Floats, ...]:
        """What it is to the evidence that counts it: (W, B) or (G,)."""
        return (self.matrix,) if self.charge is None else (self.matrix, self.charge)

    def rule(self, segment: int) -> Rule:
        """The rule of one segment."""
        charge = None if self.charge is None else self.charge[segment]
        offset = -charge if charge is not None and charge.any() else None
        made = Argmax.weighted if self.matrix.ndim == 2 else Argmax  # each total of one score
        return made(self.matrix[segment], offset)


def _readable(numbers: Floats) -> float:
    """A power of two that brings numbers near 1, and changes not a bit of a decision."""
    return float(2.0 ** -np.frexp(np.abs(numbers).max(initial=0.0))[1])


# --- What rules over posteriors can do to the rates -----------------------------------------------


REMEDIES = (
    "calibrate them (`calibrate='sigmoid'` or 'isotonic' of ModelResponse), or count decisions "
    "against labels (`evidence='label'`)"
)

_MOST_BLOCKS = 250_000
"""Blocks times features times classes that are kept apart."""
_MOST_COLUMNS = 4_000_000
"""Blocks times features times classes up to which each class on top has a block of its own."""
_MOST_CONSTANTS = 10_000_000
"""Segments times classes times features of the constants up to which segments are kept apart."""
_SMOOTHING = (0.5,)
_STIFF_SMOOTHING = (0.85,)
_LARGE_SMOOTHING = (0.97, 0.94, 0.9, 0.8)
_LARGE = 5000
"""From so many constants of blocks on a linear program takes longer than several calls."""


class WholeRules(search.AchievableSet):
    """The achievable features of a goal by whole rules, the atoms, and parts of them by block."""

    evidence: Evidence
    counted: Evidence
    otherwise = "surrogates take any goal as a black-box, and evaluate measures it"
    frozen = False
    atoms: list[Any]

    def __init__(self, rates: RateTable, limits: search.Limits | None, n_blocks: int = 1) -> None:
        super().__init__(rates, limits)
        self._columns = search.FeatureTable(n_blocks, self.d)
        self.n_blocks = n_blocks

    @abstractmethod
    def ask(self, slopes: Floats) -> int:
        """One oracle call: the number of an atom that maximises ``slopes @ v``."""

    @abstractmethod
    def _counted_atom(self, number: int) -> Floats:
        """Features (blocks, d) of an atom."""

    @property
    def _features(self) -> Floats:
        """Features (atoms, blocks, d); atoms found for other rates are counted when asked for."""
        for number in range(len(self._columns), len(self.atoms)):
            self._columns.add(self._counted_atom(number)[None])
        return self._columns.features

    def initial_columns(self, block: int) -> Sequence[int]:
        """All atoms so far."""
        return range(len(self.atoms))

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) that some atoms give in a block."""
        return self._features[list(numbers), block]

    def features_of(self, atom: int) -> Floats:
        """Features (d,) of one atom for all rows."""
        return np.asarray(self._features[atom].sum(axis=0))

    def price(self, slopes: Floats) -> search.Priced:
        """One oracle call; of each block the best column of all atoms so far."""
        if not self.frozen:
            self.ask(slopes)
        values = self._features @ slopes
        best = values.argmax(axis=0)
        return search.Priced(best, values[best, np.arange(self.n_blocks)])

    def draw_among(self, weights: dict[int, float]) -> search.MixtureWeights:
        """The choice that draws among whole atoms."""
        return [dict(weights) for _ in range(self.n_blocks)]

    def constants(self) -> list[search.MixtureWeights]:
        """One class for everybody, class by class: the first atoms."""
        return [self.draw_among({code: 1.0}) for code in range(self.counted.n_classes)]


class Achievable(WholeRules):
    """The achievable features of a goal over posteriors."""

    atoms: list[Atom]

    def __init__(
        self,
        rates: RateTable,
        evidence: Evidence,
        counted: Evidence,
        *,
        limits: search.Limits | None = None,
        whole_rules: bool = False,
        atoms: list[Atom] | None = None,
    ) -> None:
        self.evidence, self.counted = evidence, counted
        book = counted.codebook
        plain = not (book.measures or book.hides_strata) and counted.credit.of_classes
        self.form: DiagonalForm | None = diagonal_form(rates) if plain else None
        # The first stratum of each segment: with a form its only one.
        self._stratum = np.unique(book.stratum_segment, return_index=True)[1]
        self.is_certain = counted.is_exact
        n, n_segments, n_scores = counted.n_classes, len(counted.segments), counted.n_columns
        assert n_scores is not None
        whole_rules = whole_rules or n_segments * n * len(rates) > _MOST_CONSTANTS
        by_values = bool(counted.score_columns.values)
        self._whole_rules = whole_rules
        n_blocks = n_segments * (counted.n_scores or 1)
        numbers = max(len(rates), len(book.strata) * n)
        self.by_top = not (whole_rules or by_values) and n_blocks * numbers <= _MOST_BLOCKS
        stiff = n >= judging.MANY_CLASSES and not self.by_top
        self.smoothing = _STIFF_SMOOTHING if stiff else _SMOOTHING
        self._blocks = ONE_BLOCK
        if self.by_top:
            # Which classes on top share a block: none, unless the columns are too many.
            n_tops = len(book.labels) if counted.credit.of_classes else counted.n_scores or 1
            most = max(_MOST_COLUMNS // (n_segments * max(len(rates), 1) * n), 1)
            self._group = np.arange(n_tops) * min(n_tops, most) // n_tops
            self._blocks = counted.blocks(self._group)
            if self._blocks.n * n >= _LARGE:
                self.smoothing = _LARGE_SMOOTHING
        elif not whole_rules:
            self._blocks = counted.blocks()
        super().__init__(rates, limits, self._blocks.n)
        constants = [Atom.constant(code, n_segments, n_scores, n) for code in range(n)]
        self.atoms = constants if atoms is None else atoms
        self._rule: tuple[search.MixtureWeights, Rule] | None = None
        self._begun: list[search.MixtureWeights] | None = None

    # ------------------------------------------------------------------ the space
    def initial_columns(self, block: int) -> Sequence[int]:
        """All atoms so far; of what was gathered the constants and a start."""
        if self._begun is None:
            return super().initial_columns(block)
        return sorted({k for choice in self._begun for k in choice[block]})

    @property
    def _features(self) -> Floats:
        if len(self._columns) == 0:
            self._columns.add(self._features_of_constants())
        return super()._features

    def _features_of_constants(self) -> Floats:
        """Features (n, blocks, d) of all constants: rows of each class, and of all."""
        one, n = np.zeros(self.counted.n_rows, np.int64), self.counted.n_classes
        held, out = self.counted.block_counts(one, self._blocks)[..., 0], []
        for code in range(n):
            here = np.arange(n) == code
            if self.form is None:
                out.append(self._of_counts(held[..., None] * here))
            else:
                every = held.sum(axis=-1, keepdims=True)
                out.append(self._of_diagonals(held[..., :n] * here, every * here))
        return np.array(out)

    def _counted_atom(self, number: int) -> Floats:
        return self.block_features(self.atoms[number], self._blocks)

    def block_features(self, atom: Atom, blocks: Blocks) -> Floats:
        """What an atom adds to the features (blocks, d), block by block."""
        first, *charge = self.response(atom)
        if self.form is None:
            return self._of_counts(self.counted.tensor_counts(first, blocks))
        return self._of_diagonals(*self.counted.block_features(first, charge[0], blocks))

    def _of_counts(self, counts: Floats) -> Floats:
        return np.array([self.rates.of(c) for c in counts])

    def _of_diagonals(self, diag: Floats, col: Floats) -> Floats:
        """The constants of the features go to the first block."""
        assert self.form is not None
        out = self.form.features(diag, col)
        out[0] += self.form.const
        return out

    def response(self, atom: Atom) -> tuple[Floats, ...]:
        """The same as one matrix where costs have no diagonal form."""
        if self.form is not None or atom.charge is None:
            return atom.response
        W, B = atom.matrix, atom.charge  # a baseline; posteriors sum to one
        G = W[:, None, :] * np.eye(W.shape[1]) - B[:, None, :]
        more = len(self.counted.score_columns.values) * G.shape[1]
        return (np.pad(G, ((0, 0), (0, more), (0, 0))),)

    def atom_for(self, slopes: Floats) -> Atom:
        """The rule that maximises ``slopes @ v``; by diagonals in one pass where that can be."""
        if self.form is None:
            gains = self.rates.tensor(slopes)[:, : self.counted.n_classes]
            return Atom(self.counted.loss_tensor(_readable(gains) * gains))
        W, B = self.form.weights(slopes)
        scale = _readable(W)
        return Atom(scale * W[self._stratum], scale * B[self._stratum])

    def add(self, atom: Atom) -> int:
        """Take an atom in and return its number."""
        self.atoms.append(atom)
        return len(self.atoms) - 1

    def drop(self, n: int) -> None:
        """Forget all atoms but the first n."""
        del self.atoms[n:]
        self._columns.keep(n)

    def ask(self, slopes: Floats) -> int:
        """One oracle call: the number of the atom that maximises ``slopes @ v``."""
        self.limits.call()
        return self.add(self.atom_for(slopes))

    def features_of_constants(self) -> Floats:
        """Features (n, d): the first atoms."""
        return np.asarray(self._features[: self.counted.n_classes].sum(axis=1))

    def with_posteriors(self, rates: RateTable) -> Achievable:
        """The same rows as soft evidence; rules that are found there are known here too."""
        return Achievable(
            rates,
            self.evidence,
            self.counted.with_posteriors(),
            limits=self.limits.rest(),
            whole_rules=self._whole_rules,
            atoms=self.atoms,
        )

    def as_whole(self) -> Achievable:
        """The same atoms as one block, and no others: mixtures of whole rules."""
        out = Achievable(
            self.rates, self.evidence, self.counted, whole_rules=True, atoms=self.atoms
        )
        out._columns.add(self._features.sum(axis=1, keepdims=True))
        out.frozen = True
        return out

    def gathered(self, start: search.MixtureWeights | None = None) -> Achievable:
        """The atoms so far and no others, from the constants and a start: asking costs no call."""
        out = self.within(search.Limits())
        out.frozen = out.is_certain = True  # all columns are looked through
        out._begun = [*self.constants(), *([] if start is None else [start])]
        return out

    # ------------------------------------------------------------------ rules
    def rule(self, choice: search.MixtureWeights) -> Rule:
        """Mixtures of atoms, by segment and by the class on top; the last one is kept."""
        if self._rule is None or self._rule[0] is not choice:
            self._rule = choice, self._rule_of(choice)
        return self._rule[1]

    def _rule_of(self, choice: search.MixtureWeights) -> Rule:
        n_segments = len(self.counted.segments)
        width = self.n_blocks // n_segments or 1
        rules = []
        for segment in range(n_segments):
            parts = (
                choice if self.n_blocks == 1 else choice[segment * width : (segment + 1) * width]
            )
            mixed = [
                mixture([(p, self._rule_of_atom(k, segment)) for k, p in x.items()]) for x in parts
            ]
            if all(rule == mixed[0] for rule in mixed):
                rules.append(mixed[0])
            else:
                rules.append(PerSegment([mixed[k] for k in self._group], by="top"))
        if not self.evidence.codebook.decide_on or all(rule == rules[0] for rule in rules):
            return rules[0]
        return per_segment(rules, self.evidence.segments)

    def _rule_of_atom(self, number: int, segment: int) -> Rule:
        """An atom as a rule over what the scores are: no score is of deferring."""
        rule, columns = self.atoms[number].rule(segment), self.counted.score_columns
        if not (columns.defers or columns.values):
            return rule
        assert isinstance(rule, Argmax)
        rule = Argmax(columns.rows_of(rule.G), rule.offset)
        return ValueAware(columns.values, rule) if columns.values else rule

    @property
    def _rows(self) -> Evidence:
        """The rows with their labels and what the rule decides from."""
        merged = self.counted.n_rows < self.evidence.n_rows
        return self.evidence if merged else self.counted

    def confusion(self, choice: search.MixtureWeights) -> Confusion:
        """Counted by labels."""
        return self._rows.confusion(self.rule(choice))

    def expected(
        self, program: Program, choice: search.MixtureWeights
    ) -> tuple[float, float, float | None] | None:
        """What the posteriors say, where they are counted."""
        if not self.counted.credit.by_posteriors:
            return None
        v = self.features(choice)
        objective, violation = float(program.value(v)), float(program.violation(v))
        return objective, violation, self._rows.miscalibration(self.rule(choice))

    def randomized_share(self, choice: search.MixtureWeights) -> float:
        """The weight of rows that are not decided for certain."""
        return self._rows.undecided(self.rule(choice))


# --- A rule without draws near a mixture over posteriors ------------------------------------------


_SWEEPS = 20


def best_atom(space: WholeRules, program: Program) -> search.Optimum:
    """Of the whole rules seen so far the best feasible one, else the nearest to it."""
    k = best_of(program, features_of_atoms(space))
    return search.measure(space, program, space.draw_among({k: 1.0}))


def features_of_atoms(space: WholeRules) -> Floats:
    """Features (atoms, d) of the whole rules seen so far."""
    return np.array([space.features_of(k) for k in range(len(space.atoms))])


def round_choice(
    space: WholeRules, program: Program, choice: search.MixtureWeights
) -> search.Optimum:
    """Each block's likeliest column, then changed block by block while that helps."""
    at = [max(part, key=lambda k: part[k]) for part in choice]
    features = np.stack([space.columns(b, space.initial_columns(b)) for b in range(space.n_blocks)])
    total = sum((features[b, k] for b, k in enumerate(at)), np.zeros(space.d))
    for _ in range(_SWEEPS):
        before = list(at)
        for b in range(space.n_blocks):
            rest = total - features[b, at[b]]
            k = best_of(program, rest + features[b], at[b])
            at[b], total = k, rest + features[b, k]
        if at == before or space.limits.is_late:
            break
    return search.measure(space, program, [{k: 1.0} for k in at])


def best_of(program: Program, v: Floats, present: int | None = None) -> int:
    """The best feasible row of v (k, d), else the least violation; `present` unless better."""
    past = np.asarray(program.violation(v))
    past = np.where(past <= SATISFIED, 0.0, past)
    score = program.sense * np.asarray(program.value(v))
    k = int(np.lexsort((-score, past))[0])
    if present is not None and past[present] <= past[k] and score[present] >= score[k] - 1e-12:
        return present
    return k
