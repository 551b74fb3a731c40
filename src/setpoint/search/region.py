"""What the constraints allow: linear rows, and tangent cuts where a bound is curved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from setpoint.array_types import Floats
from setpoint.goals.errors import ShapeError
from setpoint.program import algebra
from setpoint.program.functions import Affine
from setpoint.program.program import Program, ProgramConstraint
from setpoint.program.rows import NotLinearError
from setpoint.search.achievable_set import AchievableSet
from setpoint.search.column_program import MasterResult
from setpoint.search.epigraph import EpigraphTerm, pieces_of_level
from setpoint.search.master import InfeasibleMasterError, Master

__all__ = ["Region"]

_CLOSED = 1e-10
_NEAR, _STALLED = 1e-8, 5
_ROUNDS = 400
_TANGENTS = 100
"""More than so many tangents slow each program more than finding them again does."""


class Region:
    """The mixtures of a space that meet the constraints of a program."""

    def __init__(
        self,
        space: AchievableSet,
        program: Program,
        master: Master | None = None,
    ) -> None:
        self.space = space
        self.program = program
        self.forms = space.rates
        self.master = master or Master(space)
        self.rows: list[Affine] = []
        self.sources: list[int] = []
        self.curved: list[tuple[EpigraphTerm, int]] = []
        self.inner: Floats = space.features_of_constants().mean(axis=0)
        self.builder = self.master.builder
        for i, c in enumerate(program.constraints):
            self._add(i, c)
        self.n_plain = len(self.rows)
        self.active: Floats = np.zeros(0)

    def _add(self, source: int, c: ProgramConstraint) -> None:
        key = (c.function, c.sign, c.level)
        if key not in self.master.built:
            self.master.built[key] = self._build(c)
        rows, curved = self.master.built[key]
        self.rows += rows
        self.sources += [source] * len(rows)
        self.curved += [(piece, source) for piece in curved]

    def _build(self, c: ProgramConstraint) -> tuple[list[Affine], list[EpigraphTerm]]:
        """A bound as rows, and what is curved in it."""
        try:
            return self.builder.bound(c.function, c.level, c.sign), []
        except NotLinearError:
            f = algebra.scaled(c.sign, c.function)
            if not (f.shape.concave and np.isfinite(c.level)):
                raise ShapeError(
                    f"{c}: no exact search knows a bound of this shape "
                    f"({c.function.shape_name}). Bound its parts, as f1.min() does those of "
                    f"macro_f1, or make it the objective; {self.space.otherwise}"
                ) from None
        links, pieces = pieces_of_level(f, c.sign * c.level, self.builder)
        # A tangent where it begins bounds a piece's auxiliary.
        return [*links, *(p.touching(self.inner) for p in pieces if p.under.terms)], pieces

    def solve(self, objective: Affine, extra: Sequence[Affine] = ()) -> MasterResult:
        """The best mixture of the columns so far for an affine objective."""
        self._forget()
        least, since = float("inf"), 0
        for _ in range(_ROUNDS):
            found = self.master.solve(objective, [*self.rows, *extra])
            self.active = found.duals[: len(self.rows)]
            missing = self._cut(found)
            least, since = (missing, 0) if missing < 0.9 * least else (least, since + 1)
            # Near the tolerance of the program tangents tell nothing more.
            if missing == 0.0 or (missing <= _NEAR and since >= _STALLED):
                break
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

    def _cut(self, found: MasterResult) -> float:
        """Add tangents for each curved bound that is broken; by how much the worst one is."""
        worst = 0.0
        for piece, source in self.curved:
            missing = piece.missing(found.v, found.aux)
            if missing > _CLOSED * (1.0 + abs(piece.level(found.aux))):
                cuts = piece.cuts(found.v, found.aux, self.inner)
                self.rows += cuts
                self.sources += [source] * len(cuts)
                worst = max(worst, missing if cuts else 0.0)
        return worst

    def blame(self, error: InfeasibleMasterError) -> dict[int, float]:
        """The constraints that make the region empty, with their shares of the proof."""
        shares: dict[int, float] = {}
        for source, dual in zip(self.sources, error.duals, strict=False):
            if dual > 1e-9:
                shares[source] = shares.get(source, 0.0) + float(dual)
        total = sum(shares.values())
        return {i: s / total for i, s in shares.items()} if total else {}
