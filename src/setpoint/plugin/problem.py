"""The rules over posteriors that a search may mix, and what each does to the rates."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.counts import ONE_BLOCK, Blocks, Confusion, Evidence
from setpoint.parameters import SATISFIED, tied
from setpoint.program import DiagonalForm, Program, RateTable, diagonal_form, link
from setpoint.rules import Argmax, PerSegment, Rule, ValueAware, mixture, per_segment
from setpoint.search import (
    AchievableSet,
    DenseColumns,
    Limits,
    MixtureWeights,
    Optimum,
    Priced,
    measure,
)

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
    def is_diagonal(self) -> bool:
        """Whether each total is of one score."""
        return self.matrix.ndim == 2

    @property
    def response(self) -> tuple[Floats, ...]:
        """What it is to the evidence that counts it: (W, B) or (G,)."""
        return (self.matrix,) if self.charge is None else (self.matrix, self.charge)

    def rule(self, segment: int) -> Rule:
        """The rule of one segment."""
        charge = None if self.charge is None else self.charge[segment]
        offset = -charge if charge is not None and charge.any() else None
        made = Argmax.weighted if self.is_diagonal else Argmax
        return made(self.matrix[segment], offset)


class Pricer:
    """From multipliers to the best atom, and back; by diagonals in one pass where that can be."""

    def __init__(self, rates: RateTable, counted: Evidence) -> None:
        self.rates, self.counted = rates, counted
        book = counted.codebook
        plain = not (book.measures or book.hides_strata) and counted.credit.of_classes
        self.form: DiagonalForm | None = diagonal_form(rates) if plain else None
        # The first stratum of each segment: with a form its only one.
        self._stratum = np.unique(book.stratum_segment, return_index=True)[1]

    def atom(self, slopes: Floats) -> Atom:
        """The rule that maximises ``slopes @ v``."""
        if self.form is None:
            gains = self.rates.tensor(slopes)[:, : self.counted.n_classes]
            return Atom(self.counted.loss_tensor(_readable(gains) * gains))
        W, B = self.form.weights(slopes)
        scale = _readable(W)
        return Atom(scale * W[self._stratum], scale * B[self._stratum])

    def response(self, atom: Atom) -> tuple[Floats, ...]:
        """What an atom is to the evidence that counts it."""
        if self.form is None and atom.charge is not None:  # a baseline; posteriors sum to one
            W, B = atom.matrix, atom.charge
            G = W[:, None, :] * np.eye(W.shape[1]) - B[:, None, :]
            more = len(self.counted.score_columns.values) * G.shape[1]
            return (np.pad(G, ((0, 0), (0, more), (0, 0))),)
        return atom.response

    def features(self, atom: Atom, blocks: Blocks) -> Floats:
        """What an atom adds to the features (blocks, d), block by block."""
        response = self.response(atom)
        if self.form is None:
            return self._of_counts(self.counted.tensor_counts(response[0], blocks))
        return self._of_diagonals(*self.counted.block_features(response[0], response[1], blocks))

    def constants(self, blocks: Blocks) -> Floats:
        """The same (n, blocks, d) for all constants: rows of each class, and of all."""
        alike, n = np.zeros(self.counted.n_rows, np.int64), self.counted.n_classes
        held = self.counted.block_counts(alike, blocks)[..., 0]
        out = np.empty((n, blocks.n, len(self.rates)))
        if self.form is None:
            counts = np.zeros((*held.shape, n))
            for code in range(n):
                counts[..., code] = held
                out[code] = self._of_counts(counts)
                counts[..., code] = 0.0
            return out
        diag, col = np.zeros(held[..., :n].shape), np.zeros(held[..., :n].shape)
        for code in range(n):
            diag[..., code], col[..., code] = held[..., code], held.sum(axis=-1)
            out[code] = self._of_diagonals(diag, col)
            diag[..., code] = col[..., code] = 0.0
        return out

    def _of_counts(self, counts: Floats) -> Floats:
        return np.array([self.rates.of(c) for c in counts])

    def _of_diagonals(self, diag: Floats, col: Floats) -> Floats:
        """The constants of the features go to the first block."""
        assert self.form is not None
        out = self.form.features(diag, col)
        out[0] += self.form.const
        return out


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
MANY_CLASSES = 30
"""From so many classes on a sum of ratios is climbed by whole rules, since blocks for each class on
top would hold the square of what is gathered, evidence may be chosen on one part left out, and a
pattern search, which could try too few steps of each class, serves constraints alone."""
_LARGE_SMOOTHING = (0.97, 0.94, 0.9, 0.8)
_LARGE = 5000
"""From so many constants of blocks on a linear program takes longer than several calls."""


class WholeRules(AchievableSet):
    """The achievable features of a goal by whole rules, the atoms, and parts of them by block."""

    evidence: Evidence
    counted: Evidence
    otherwise = "surrogates take any goal as a black-box, and evaluate measures it"
    frozen = False
    atoms: list[Any]

    def __init__(self, rates: RateTable, limits: Limits | None, n_blocks: int = 1) -> None:
        super().__init__(rates, limits)
        self._columns = DenseColumns(n_blocks, self.d)

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
        return self._columns.by_key

    @property
    def n_blocks(self) -> int:
        """Parts of the rows for which atoms are chosen one by one."""
        return self._columns.n_blocks

    def initial_columns(self, block: int) -> Sequence[int]:
        """All atoms so far."""
        return range(len(self.atoms))

    def columns(self, block: int, numbers: Sequence[int]) -> Floats:
        """Features (k, d) that some atoms give in a block."""
        return self._features[list(numbers), block]

    def numbers(self, block: int, keys: Sequence[int]) -> list[int]:
        """Where some atoms of a block stand in :attr:`table`."""
        return self._columns.numbers(block, keys)

    @property
    def table(self) -> Floats:
        """Features (atoms * blocks, d)."""
        return self._features.reshape(-1, self.d)

    def features_of(self, atom: int) -> Floats:
        """Features (d,) of one atom for all rows."""
        return np.asarray(self._features[atom].sum(axis=0))

    def price(self, slopes: Floats) -> Priced:
        """One oracle call; of each block the best column of all atoms so far."""
        if not self.frozen:
            self.ask(slopes)
        values = self._features @ slopes
        best = values.argmax(axis=0)
        return Priced(best, values[best, np.arange(self.n_blocks)])

    def draw_among(self, weights: dict[int, float]) -> MixtureWeights:
        """The choice that draws among whole atoms."""
        return [dict(weights) for _ in range(self.n_blocks)]

    def constants(self) -> list[MixtureWeights]:
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
        limits: Limits | None = None,
        whole_rules: bool = False,
        atoms: list[Atom] | None = None,
    ) -> None:
        self.evidence, self.counted = evidence, counted
        self.pricer = Pricer(rates, counted)
        self.is_certain = counted.is_exact
        n, n_segments, n_scores = counted.n_classes, len(counted.segments), counted.n_columns
        assert n_scores is not None
        whole_rules = whole_rules or n_segments * n * len(rates) > _MOST_CONSTANTS
        by_values = bool(counted.score_columns.values)
        self._whole_rules = whole_rules
        self.by_top = not whole_rules and not by_values and self._can_split(len(rates))
        stiff = n >= MANY_CLASSES and not self.by_top
        self.smoothing = _STIFF_SMOOTHING if stiff else _SMOOTHING
        self._blocks = ONE_BLOCK
        if self.by_top:
            self._group = self._groups_of_tops(len(rates))
            self._blocks = counted.blocks(self._group)
            if self._blocks.n * n >= _LARGE:
                self.smoothing = _LARGE_SMOOTHING
        elif not whole_rules:
            self._blocks = counted.blocks()
        super().__init__(rates, limits, self._blocks.n)
        constants = [Atom.constant(code, n_segments, n_scores, n) for code in range(n)]
        self.atoms = constants if atoms is None else atoms
        self._rule: tuple[MixtureWeights, Rule] | None = None
        self._begun: list[MixtureWeights] | None = None

    def _can_split(self, d: int) -> bool:
        counted = self.counted
        blocks = len(counted.segments) * (counted.n_scores or 1)
        return bool(
            blocks * max(d, len(counted.codebook.strata) * counted.n_classes) <= _MOST_BLOCKS
        )

    def _groups_of_tops(self, d: int) -> NDArray[np.int64]:
        """Which classes on top share a block: none, unless the columns are too many."""
        counted = self.counted
        n = len(counted.codebook.labels) if counted.credit.of_classes else counted.n_scores or 1
        most = _MOST_COLUMNS // (len(counted.segments) * max(d, 1) * counted.n_classes)
        return np.asarray(np.arange(n) * min(n, max(most, 1)) // n, np.int64)

    # ------------------------------------------------------------------ the space
    def initial_columns(self, block: int) -> Sequence[int]:
        """All atoms so far; of what was gathered the constants and a start."""
        if self._begun is None:
            return super().initial_columns(block)
        return sorted({k for choice in self._begun for k in choice[block]})

    @property
    def _features(self) -> Floats:
        if len(self._columns) == 0:
            self._columns.add(self.pricer.constants(self._blocks))
        return super()._features

    def _counted_atom(self, number: int) -> Floats:
        return self.pricer.features(self.atoms[number], self._blocks)

    def add(self, atom: Atom) -> int:
        """Take an atom in and return its number."""
        self.atoms.append(atom)
        return len(self.atoms) - 1

    def drop(self, n: int) -> None:
        """Forget all atoms but the first n."""
        del self.atoms[n:]
        while len(self._columns) > n:
            self._columns.drop_last()

    def ask(self, slopes: Floats) -> int:
        """One oracle call: the number of the atom that maximises ``slopes @ v``."""
        self.limits.call()
        return self.add(self.pricer.atom(slopes))

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

    def gathered(self, start: MixtureWeights | None = None) -> Achievable:
        """The atoms so far and no others, from the constants and a start: asking costs no call."""
        out = self.within(Limits())
        out.frozen = out.is_certain = True  # all columns are looked through
        out._begun = [*self.constants(), *([] if start is None else [start])]
        return out

    # ------------------------------------------------------------------ rules
    def rule(self, choice: MixtureWeights) -> Rule:
        """Mixtures of atoms, by segment and by the class on top; the last one is kept."""
        if self._rule is None or self._rule[0] is not choice:
            self._rule = choice, self._rule_of(choice)
        return self._rule[1]

    def _rule_of(self, choice: MixtureWeights) -> Rule:
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

    def confusion(self, choice: MixtureWeights) -> Confusion:
        """Counted by labels."""
        return self._rows.confusion(self.rule(choice))

    def expected(
        self, program: Program, choice: MixtureWeights
    ) -> tuple[float, float, float | None] | None:
        """What the posteriors say, where they are counted."""
        if not self.counted.credit.by_posteriors:
            return None
        v = self.features(choice)
        objective, violation = float(program.value(v)), float(program.violation(v))
        return objective, violation, self._rows.miscalibration(self.rule(choice))

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The weight of rows that are not decided for certain."""
        return self._rows.undecided(self.rule(choice))


# --- A rule without draws near a mixture over posteriors ------------------------------------------


_SWEEPS = 20


def best_atom(space: WholeRules, program: Program) -> Optimum:
    """Of the whole rules seen so far the best feasible one, else the nearest to it."""
    k = best_of(program, features_of_atoms(space))
    return measure(space, program, space.draw_among({k: 1.0}))


def features_of_atoms(space: WholeRules) -> Floats:
    """Features (atoms, d) of the whole rules seen so far."""
    return np.array([space.features_of(k) for k in range(len(space.atoms))])


def round_choice(space: WholeRules, program: Program, choice: MixtureWeights) -> Optimum:
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
    return measure(space, program, [{k: 1.0} for k in at])


def best_of(program: Program, v: Floats, present: int | None = None) -> int:
    """The best feasible row of v (k, d), else the least violation; `present` unless better."""
    past = np.asarray(program.violation(v))
    past = np.where(past <= SATISFIED, 0.0, past)
    score = program.sense * np.asarray(program.value(v))
    k = int(np.lexsort((-score, past))[0])
    if present is not None and past[present] <= past[k] and score[present] >= score[k] - 1e-12:
        return present
    return k


# --- Of rules that are equally good ---------------------------------------------------------------


_FIRST, _FAR, _STEPS = -8.0, 14.0, 9
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


def plainest(space: Achievable, program: Program, found: Optimum, floor: float) -> Optimum:
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
    new = measure(space, program, best)
    return replace(found, choice=best, v=new.v, value=new.value)


class _Line:
    """Rules between one and the argmax, and whether they are as good as what was found."""

    def __init__(self, space: Achievable, program: Program, found: Optimum, floor: float) -> None:
        self.space, self.program, self.floor, self.found = space, program, floor, found
        self.plain = plug_in(space, np.ones(space.counted.n_classes))
        self.argmax = self.whole(space.add(self.plain))
        self.by_labels: Callable[[MixtureWeights], tuple[float, float]] | None = None
        if space.counted.credit.by_posteriors and space.evidence.has_labels:
            counted = space.confusion(found.choice)
            own = link(program.goal, counted.codebook).at(counted.marginals)

            def by_labels(choice: MixtureWeights) -> tuple[float, float]:
                v = own.rates_of(space.confusion(choice).counts)
                return own.score_at(v), float(own.violation(v))

            self.by_labels, self.least = by_labels, by_labels(found.choice)

    def whole(self, atom: int) -> MixtureWeights:
        """A whole rule."""
        return self.space.draw_among({atom: 1.0})

    def good(self, atom: int) -> bool:
        """Whether a whole rule is as good, by labels too."""
        v = self.space.features_of(atom)
        met = float(self.program.violation(v)) <= SATISFIED
        if not met or not self.program.score_at(v) >= self.floor:
            return False
        if self.by_labels is None:
            return True
        score, past = self.by_labels(self.whole(atom))
        return score >= tied(self.least[0]) and past <= max(SATISFIED, self.least[1])

    def starts(self) -> list[Atom]:
        """Where lines begin: the rule found, if it is one, and what the objective asks for."""
        space, used = self.space, {k for part in self.found.choice for k in part}
        out = [space.atoms[k] for k in used] if len(used) == 1 else []
        slopes = self.program.score.gradient(self.found.v)
        if np.isfinite(slopes).all():
            out.append(space.pricer.atom(slopes))
        return out

    def last(self, start: Atom) -> Atom | None:
        """The last rule on a line that is as good; None where none is."""
        begin, end = (self._matrices(x) for x in (start, self.plain))

        def at(x: float) -> Atom:
            return Atom(*(a + np.exp(x) * b for a, b in zip(begin, end, strict=True)))

        space, low, high, best = self.space, _FIRST, _FAR, None
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

    def nearest(self, choices: list[MixtureWeights]) -> MixtureWeights | None:
        """The first whose departures, and what they cost, are least; None: as found."""
        rows, best = self.space.counted, None
        plain = rows.distribution(self.space.rule(self.argmax))
        least = np.inf
        for choice in choices:
            apart = np.abs(rows.distribution(self.space.rule(choice)) - plain).sum(axis=1)
            own = 0.5 * float(np.average(apart, weights=rows.rows.weight))
            own -= _WORTH * min(self._score(choice) - self.found.value, 0.0)
            if own < least:
                best, least = choice, own
        return None if best is self.found.choice else best

    def _score(self, choice: MixtureWeights) -> float:
        return self.program.score_at(self.space.features(choice))

    def _matrices(self, atom: Atom) -> tuple[Floats, ...]:
        """What an atom multiplies scores with, its largest number one."""
        own = self._constant(atom.code) if atom.code is not None else atom
        found = self.space.pricer.response(own)
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
