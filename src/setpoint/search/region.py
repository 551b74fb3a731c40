"""What the constraints allow: linear rows, and tangent cuts where a bound is curved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.goals import algebra
from setpoint.goals.atoms import Affine, Bound
from setpoint.goals.errors import ShapeError
from setpoint.goals.program import BoundConstraint
from setpoint.goals.rows import NotLinearError
from setpoint.search.master import InfeasibleMasterError, Master, MasterResult
from setpoint.search.space import Floats, Space

__all__ = ["Region", "nearest_trusted", "tangent"]

_CLOSED = 1e-10
_TRUSTED = 1e-9
_ROUNDS = 200
_TANGENTS = 100
"""More than so many tangents slow each program more than finding them again does."""


def tangent(f: Bound, at: Floats) -> Affine:
    """The affine function that touches `f` at a point."""
    slope = f.gradient(at)
    const = float(f.value(at)) - float(slope @ at)
    return Affine({int(j): float(slope[j]) for j in np.flatnonzero(slope)}, const)


def nearest_trusted(f: Bound, v: Floats, inner: Floats) -> Floats:
    """The point next to v, towards `inner`, from where no floor bends the gradient of `f`.

    A tangent where a floor does could cut off points that lie below `f`.
    """
    share = 0.0
    while share < 1.0:
        at = (1.0 - share) * v + share * inner
        if f.floored(at) >= _TRUSTED and np.isfinite(float(f.value(at))):
            return at
        share = max(1e-8, 4.0 * share)
    return inner


@dataclass
class _Curved:
    """A concave function that must reach a level."""

    function: Bound
    level: float
    source: int


class Region:
    """The mixtures of a space that meet the constraints of its program.

    Parameters
    ----------
    space : Space
    moved : sequence of float, optional
        For each constraint, by how much its bound is moved inwards.

    Raises
    ------
    ShapeError
        If a constraint is neither linear rows nor convex.
    """

    def __init__(self, space: Space, moved: Sequence[float] | None = None) -> None:
        self.space = space
        self.master = Master(space)
        self.rows: list[Affine] = []
        self.sources: list[int] = []
        self.curved: list[_Curved] = []
        constraints = space.program.constraints
        moved = [0.0] * len(constraints) if moved is None else moved
        self.builder = space.program.row_builder()
        for i, (c, by) in enumerate(zip(constraints, moved, strict=True)):
            self._add(i, c, c.level + c.sign * by)
        self.n_plain = len(self.rows)
        self.active: Floats = np.zeros(0)
        self.inner: Floats = space.features_of_constants().mean(axis=0)

    def _add(self, source: int, c: BoundConstraint, level: float) -> None:
        start = len(self.builder.rows)
        try:
            (self.builder.at_least if c.sign > 0 else self.builder.at_most)(c.function, level)
        except NotLinearError:
            del self.builder.rows[start:]
            f = algebra.scaled(c.sign, c.function)
            if not f.shape.concave:
                raise ShapeError(
                    f"{c}: mixtures cannot be searched exactly under this bound "
                    f"({c.function.shape_name}); {self.space.otherwise}"
                ) from None
            self.curved.append(_Curved(f, c.sign * level, source))
        new = self.builder.rows[start:]
        self.rows += new
        self.sources += [source] * len(new)

    def solve(self, objective: Affine, extra: Sequence[Affine] = ()) -> MasterResult:
        """The best mixture of the columns at hand for an affine objective.

        Raises
        ------
        InfeasibleMasterError
            If the region is empty; its duals belong to :attr:`rows`, then `extra`.
        """
        self._forget()
        for _ in range(_ROUNDS):
            found = self.master.solve(objective, [*self.rows, *extra])
            self.active = found.duals[: len(self.rows)]
            if not self._cut(found.v):
                return found
        return found

    def _forget(self) -> None:
        """Drop tangents that the last program did not need, once there are many."""
        if len(self.rows) - self.n_plain <= _TANGENTS:
            return
        held = np.arange(len(self.rows)) < self.n_plain
        held[: len(self.active)] |= self.active > 0.0
        self.rows = [r for r, keep in zip(self.rows, held, strict=True) if keep]
        self.sources = [s for s, keep in zip(self.sources, held, strict=True) if keep]
        self.active = np.zeros(0)

    def _cut(self, v: Floats) -> bool:
        """Add tangents for each curved bound that v breaks; whether there was one."""
        cut = False
        for c in self.curved:
            if c.level - float(c.function.value(v)) <= _CLOSED:
                continue
            for at in (nearest_trusted(c.function, v, self.inner), self._border(c, v)):
                row = Affine({}, c.level).plus(tangent(c.function, at).scaled(-1.0))
                if float(row.value(v)) > 0.0:
                    self.rows.append(row)
                    self.sources.append(c.source)
                    cut = True
        return cut

    def _border(self, c: _Curved, v: Floats) -> Floats:
        """Where the bound begins to hold between v and the middle: a tangent there parts v off."""
        out, inside = v, self.inner
        if float(c.function.value(inside)) <= c.level:
            return nearest_trusted(c.function, v, self.inner)
        for _ in range(40):
            middle = 0.5 * (out + inside)
            if float(c.function.value(middle)) < c.level:
                out = middle
            else:
                inside = middle
        return inside

    def blame(self, error: InfeasibleMasterError) -> dict[int, float]:
        """The constraints that make the region empty, with their shares of the proof."""
        shares: dict[int, float] = {}
        for source, dual in zip(self.sources, error.duals, strict=False):
            if dual > 1e-9:
                shares[source] = shares.get(source, 0.0) + float(dual)
        total = sum(shares.values())
        return {i: s / total for i, s in shares.items()} if total else {}
