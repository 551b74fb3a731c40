"""Small convex programs over the slack variables: xi of the ellipsoid method, F of SplitFW.

Of the data they use the box of the features alone. Piecewise linear functions are
rows; other convex ones are tangents, which hold for every objective and so are kept from
one program to the next: after a few of them a program is one short linear program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from setpoint.array_types import Floats
from setpoint.plugin.solvers.losses import Losses
from setpoint.program.functions import Affine, RateFunction
from setpoint.program.rows import NotLinearError
from setpoint.search.epigraph import nearest_trusted, tangent
from setpoint.search.linear_program import IncrementalLP
from setpoint.search.master import InfeasibleMasterError

__all__ = ["Slack"]

INF = float("inf")
_NEAR = 1e-7
_ROUNDS = 60


@dataclass
class _Curved:
    """A convex function that stays under a variable of the program, or under 0."""

    function: RateFunction
    under: int | None


class Slack:
    """Programs ``min cost @ xi + weights @ f(xi)`` over the box of the features."""

    def __init__(
        self,
        losses: Losses,
        weighed: Sequence[RateFunction] = (),
        under_zero: Sequence[RateFunction] = (),
    ) -> None:
        self.losses = losses
        self.weighed = tuple(weighed)
        self._builder = losses.program.row_builder()
        self._lp = IncrementalLP()
        self._columns: dict[int, int] = {}
        for j, (low, high) in enumerate(zip(losses.low, losses.high, strict=True)):
            self._columns[j] = self._lp.add_column(np.zeros(0), low, high)
        self._curved: list[_Curved] = []
        # Affine functions join the costs; the others are minimised through a variable.
        self._over: dict[int, int] = {}
        for k, f in enumerate(self.weighed):
            if not isinstance(f, Affine):
                z = self._builder.auxiliary()
                self._over[k] = self._column(next(iter(z.terms)))
                self._put(f, z)
        for f in under_zero:
            self._put(f, None)

    def minimise(self, cost: Floats, weights: Sequence[float] = ()) -> tuple[float, Floats]:
        """A lower bound of the least value, and xi (d,) where it is nearly reached."""
        costs = np.zeros(self._lp.n_columns)
        costs[: len(cost)] = cost
        const = 0.0
        for k, (f, w) in enumerate(zip(self.weighed, weights, strict=True)):
            if isinstance(f, Affine):
                const += w * f.const
                for j, a in f.terms.items():
                    costs[j] += w * a
            else:
                costs[self._over[k]] = w
        # Multipliers are of any size; the solver's tolerances are not.
        scale = max(1.0, float(np.abs(costs).max(initial=0.0)))
        self._lp.set_costs(costs / scale)
        for _ in range(_ROUNDS):
            solved = self._lp.solve()
            if solved is None:
                raise InfeasibleMasterError(np.zeros(0))
            value, x, _ = solved
            xi = self.losses.into_box(x[: len(cost)])
            if not self._cut(xi, x, costs / scale):
                break
        return scale * value + const, xi

    def _cut(self, xi: Floats, x: Floats, costs: Floats) -> bool:
        """Add tangents where the program lies below its functions; whether there was one."""
        cut = False
        for c in self._curved:
            below = 0.0 if c.under is None else x[c.under]
            price = 1.0 if c.under is None else costs[c.under]
            if price * (float(c.function.value(xi)) - below) > _NEAR:
                line = self._touch(c, xi)
                cut |= price * (float(line.value(xi)) - below) > 0.5 * _NEAR
        return cut

    def _column(self, j: int) -> int:
        """The variable that stands for a feature (j >= 0) or an auxiliary."""
        if j not in self._columns:
            self._columns[j] = self._lp.add_column(np.zeros(self._lp.n_rows), -INF, INF)
        return self._columns[j]

    def _put(self, f: RateFunction, z: Affine | None) -> None:
        """Keep a convex function under z, or under 0."""
        try:
            rows = self._builder.bound(f, 0.0 if z is None else z, -1.0)
        except NotLinearError:
            curved = _Curved(f, None if z is None else self._column(next(iter(z.terms))))
            self._curved.append(curved)
            self._touch(curved, self.losses.middle)
            return
        for row in rows:
            self._row({self._column(j): a for j, a in row.terms.items()}, row.const)

    def _touch(self, c: _Curved, at: Floats) -> Affine:
        """Keep a tangent of the function, which lies below it, under the same variable."""
        line = tangent(c.function, nearest_trusted(c.function, at, self.losses.middle))
        self._row(line.terms | ({} if c.under is None else {c.under: -1.0}), line.const)
        return line

    def _row(self, terms: dict[int, float], const: float) -> None:
        """``terms @ x + const <= 0``."""
        coefs = np.zeros(self._lp.n_columns)
        coefs[list(terms)] = list(terms.values())
        self._lp.add_row(coefs, -INF, -const)
