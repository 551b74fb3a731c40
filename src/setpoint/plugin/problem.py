"""What rules over posteriors can do to the rates, explored by an oracle (CMA, section 3).

The oracle answers a linear objective over the features with the rule that is best for it,
in one pass over the rows. That pass also gives a column for each block: the rows of one
segment whose posterior is largest for one class, which a rule can tell apart. Mixing block by
block takes far fewer passes than mixing whole rules.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from setpoint.array_types import Floats
from setpoint.evidence import Confusion, Evidence
from setpoint.evidence.blocks import ONE_BLOCK
from setpoint.plugin.atoms import Atom, Constant, pricer_of
from setpoint.program.program import Program
from setpoint.program.rate_table import RateTable
from setpoint.rules import Argmax, PerSegment, Rule, ValueAware, mixture, per_segment
from setpoint.search.achievable_set import AchievableSet, Expected, MixtureWeights, Priced
from setpoint.search.columns import DenseColumns
from setpoint.search.limits import Limits

__all__ = ["REMEDIES", "Achievable"]

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
_MANY_CLASSES = 30
_LARGE_SMOOTHING = (0.97, 0.94, 0.9, 0.8)
_LARGE = 5000
"""From so many constants of blocks on a linear program takes longer than several calls."""


class Achievable(AchievableSet):
    """The achievable features of a goal over posteriors."""

    evidence: Evidence
    otherwise = "surrogates take any goal as a black-box, and evaluate measures it"

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
        super().__init__(rates, limits)
        self.evidence = evidence
        self.counted = counted
        self.pricer = pricer_of(rates, counted)
        self.is_certain = counted.is_exact
        n, n_scores = counted.n_classes, counted.n_columns
        assert n_scores is not None
        whole_rules = whole_rules or len(counted.segments) * n * self.d > _MOST_CONSTANTS
        by_values = bool(counted.score_columns.values)
        self._whole_rules = whole_rules
        self.by_top = not whole_rules and not by_values and self._can_split()
        stiff = n >= _MANY_CLASSES and not self.by_top
        self.smoothing = _STIFF_SMOOTHING if stiff else _SMOOTHING
        self._blocks = ONE_BLOCK
        if self.by_top:
            self._group = self._groups_of_tops()
            self._blocks = counted.blocks(self._group)
            if self._blocks.n * n >= _LARGE:
                self.smoothing = _LARGE_SMOOTHING
        elif not whole_rules:
            self._blocks = counted.blocks()
        constants: list[Atom] = [Constant(code, n_scores, n) for code in range(n)]
        self.atoms = constants if atoms is None else atoms
        self._columns = DenseColumns(self.n_blocks, self.d)
        self._rule: tuple[MixtureWeights, Rule] | None = None
        self.frozen = False

    def _can_split(self) -> bool:
        counted = self.counted
        blocks = len(counted.segments) * (counted.n_scores or 1)
        return bool(blocks * max(self.d, len(counted.strata) * counted.n_classes) <= _MOST_BLOCKS)

    def _groups_of_tops(self) -> NDArray[np.int64]:
        """Which classes on top share a block: none, unless the columns are too many."""
        counted = self.counted
        n = len(counted.codebook.labels) if counted.credit.of_classes else counted.n_scores or 1
        most = _MOST_COLUMNS // (len(counted.segments) * max(self.d, 1) * counted.n_classes)
        return np.asarray(np.arange(n) * min(n, max(most, 1)) // n, np.int64)

    # ------------------------------------------------------------------ the space
    @property
    def n_blocks(self) -> int:
        """Segments, or segments times classes on top."""
        return self._blocks.n

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

    @property
    def _features(self) -> Floats:
        """Features (atoms, blocks, d); atoms found for other rates are counted when asked for."""
        known = self._columns
        if len(known) == 0:
            known.add(self.pricer.constants(self._blocks))
        while len(known) < len(self.atoms):
            atom = self.atoms[len(known)]
            known.add(self.pricer.features(atom, self._blocks)[None])
        return known.by_key

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
        """One class for everybody, class by class."""
        return [self.draw_among({code: 1.0}) for code in range(self.counted.n_classes)]

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
        if not self.evidence.decide_on or all(rule == rules[0] for rule in rules):
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

    def expected(self, program: Program, choice: MixtureWeights) -> Expected | None:
        """What the posteriors say, where they are counted."""
        if not self.counted.credit.by_posteriors:
            return None
        v = self.features(choice)
        objective, violation = float(program.value(v)), float(program.violation(v))
        return Expected(objective, violation, self._rows.miscalibration(self.rule(choice)))

    def randomized_share(self, choice: MixtureWeights) -> float:
        """The weight of rows that are not decided for certain."""
        return self._rows.undecided(self.rule(choice))
