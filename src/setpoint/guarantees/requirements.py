"""What has to be shown of a rule: a constraint as statements on single functions of rates.

A floor under the smallest of several holds where it holds for each of them, a cap on a
difference where it holds for every ordered pair. All of these have to be shown, each at the
full level: a rule that breaks the constraint breaks one of them, and is certified only if the
test of that one goes wrong (intersection-union test). A floor under the *largest* of several
holds where one of them meets it; then each is tested at an equal share of the level. The same
goes for a smallest, a largest or a gap that is only a part of what is bounded.

References
----------
R. L. Berger (1982), Multiparameter hypothesis testing and acceptance sampling.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import TypeAlias

import numpy as np

from setpoint.guarantees.kinks import arms_of_first_kink
from setpoint.program.functions import (
    Absolute,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    RateFunction,
    WeightedSum,
)
from setpoint.program.program import ProgramConstraint

__all__ = ["Every", "Part", "Requirement", "Some", "requirements_of"]

_NONE = np.zeros(0)


@dataclass(frozen=True, eq=False)
class Requirement:
    """One statement about the population: ``sign * (function - level) >= 0``."""

    function: RateFunction
    level: float
    sign: float

    @property
    def relation(self) -> str:
        """``">="`` or ``"<="``."""
        return ">=" if self.sign > 0 else "<="

    def slack(self, v: np.ndarray) -> np.ndarray:
        """How far it is met (...,) at rates (..., d), negative where it is not."""
        return np.asarray(self.sign * (self.function.value(v) - self.level))


@dataclass(frozen=True, eq=False)
class Every:
    """Holds where each of its parts holds; always, if it has none."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, eq=False)
class Some:
    """Holds where at least one of its parts holds; never, if it has none."""

    parts: tuple[Part, ...]


Part: TypeAlias = Requirement | Every | Some


def requirements_of(constraint: ProgramConstraint) -> Part:
    """The statements that a constraint is made of.

    Examples
    --------
    >>> from setpoint import Goal
    >>> from setpoint.evidence import Confusion
    >>> from setpoint.program.fold import Folder
    >>> from setpoint.program.link import link
    >>> from setpoint.program.program import Program
    >>> found = Confusion.of_counts(("no", "yes"), [[90, 5], [2, 8], [0, 0]])
    >>> linked = link(Goal.parse("maximize accuracy s.t. recall.difference() <= 0.1"),
    ...               found.codebook)
    >>> folder = Folder(found.codebook, found.marginals, fixed=False)
    >>> [constraint] = Program(linked, found.marginals, folder).constraints
    >>> parts = requirements_of(constraint).parts
    >>> [(x.relation, x.level) for x in parts]
    [('<=', 0.1), ('<=', 0.1)]
    """
    return _split(constraint.function, constraint.level, constraint.sign)


def leaves(part: Part) -> Iterator[Requirement]:
    """The single statements below a part."""
    if isinstance(part, Requirement):
        yield part
    else:
        for inner in part.parts:
            yield from leaves(inner)


def needs_one_of_several(part: Part) -> bool:
    """Whether a statement need not hold because another one does."""
    if isinstance(part, Requirement):
        return False
    return isinstance(part, Some) or any(needs_one_of_several(inner) for inner in part.parts)


def _split(x: RateFunction, level: float, sign: float) -> Part:
    if not x.features:
        met = sign * (float(x.value(_NONE)) - level) >= 0.0
        return Every(()) if met else Some(())
    if isinstance(x, (Min, Max)):
        all_of_them = isinstance(x, Min) == (sign > 0)
        return _of([_split(c, level, sign) for c in x.children], every=all_of_them)
    if isinstance(x, Absolute):
        (child,) = x.children
        both = [_split(child, level, sign), _split(child, -level, -sign)]
        return _of(both, every=sign < 0)
    if isinstance(x, MaxMinusMin):
        pairs = [WeightedSum((1.0, -1.0), pair) for pair in permutations(x.children, 2)]
        return _of([_split(d, level, sign) for d in pairs], every=sign < 0)
    if isinstance(x, MinOverMax):
        # a / b >= k for every pair, which says nothing where b is 0.
        pairs = [WeightedSum((1.0, -level), pair) for pair in permutations(x.children, 2)]
        return _of([_split(d, 0.0, sign) for d in pairs], every=sign > 0)
    if isinstance(x, WeightedSum):
        varying = [(k, c) for k, c in zip(x.coefs, x.children, strict=True) if c.features]
        if len(varying) == 1 and varying[0][0] != 0.0:
            ((k, child),) = varying
            rest = sum(
                a * float(c.value(_NONE))
                for a, c in zip(x.coefs, x.children, strict=True)
                if not c.features
            )
            return _split(child, (level - rest) / k, sign if k > 0 else -sign)
    arms = arms_of_first_kink(x, sign)
    if arms is not None:
        return _of([_split(arm, level, sign) for arm in arms.functions], every=arms.every)
    return Requirement(x, level, sign)


def _of(parts: Sequence[Part], *, every: bool) -> Part:
    """Parts that all have to hold, or one of which has to."""
    return parts[0] if len(parts) == 1 else (Every if every else Some)(tuple(parts))
