"""Blocks: rows that are counted apart, and their codes together with the strata."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from setpoint.array_types import Codes, Integers
from setpoint.errors import InputError

__all__ = ["ONE_BLOCK", "BlockCodes", "Blocks"]


class Blocks(NamedTuple):
    """Rows that are counted apart."""

    code: Integers | None
    n: int


ONE_BLOCK = Blocks(None, 1)


class BlockCodes:
    """Block and stratum of each row as one code, kept for the blocks asked for last."""

    def __init__(self, stratum: Codes, n_strata: int, order: Codes | None) -> None:
        self.n_strata = n_strata
        self._stratum = stratum if order is None else stratum[order]
        self._order = order
        self._last: tuple[Integers, int, Codes] | None = None

    def of(self, block: Integers | None, n_blocks: int) -> Codes | None:
        """``block * n_strata + stratum`` (N,) in order; None where that is 0 everywhere."""
        if block is None or n_blocks == 1:
            return None if self.n_strata == 1 else self._stratum
        last = self._last
        if last is not None and last[0] is block and last[1] == n_blocks:
            return last[2]
        if block.shape != self._stratum.shape:
            raise InputError(f"blocks {block.shape} are not those of {self._stratum.size} rows")
        if block.size and not 0 <= int(block.min()) <= int(block.max()) < n_blocks:
            raise InputError(f"`blocks` must lie within [0, {n_blocks})")
        own = block if self._order is None else block[self._order]
        code = own.astype(np.int64) * self.n_strata + self._stratum
        self._last = block, n_blocks, code
        return code
