"""A smallest, a largest or a gap inside a function: the arms that it is made of.

Near a kink, where two groups are alike, the largest of two drawn rates is larger than the
largest of the two rates themselves, whatever the number of rows: a floor under ``recall.max() -
false_positive_rate`` that is tested as a whole passes too often. A largest value is one of its
arms, though. Where the function rises with it, a floor holds if it holds for *one* arm; where it
falls with it, if it holds for *every* arm; and where nobody knows which of the two, every arm is
asked for, for the value is one of them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import permutations
from typing import NamedTuple

from setpoint.guarantees.rates import with_children
from setpoint.program import algebra
from setpoint.program.functions import (
    Absolute,
    Log,
    Max,
    MaxMinusMin,
    Min,
    MinOverMax,
    Node,
    PowerMean,
    Product,
    Quotient,
    RateFunction,
    Ratio,
    Sqrt,
    WeightedSum,
)

__all__ = ["Arms", "arms_of", "arms_of_first_kink", "directions"]

MOST = 1_000
"""Statements that all have to hold. Beyond, what they come from is tested as a whole: the
smallest of several drawn values is smaller than each, so that errs on the safe side."""


class Arms(NamedTuple):
    """Functions of which one is the value; for which of them a bound has to hold."""

    functions: tuple[RateFunction, ...]
    every: bool


class _Kink(NamedTuple):
    path: tuple[int, ...]
    arms: Arms
    known: bool


def arms_of_first_kink(x: RateFunction, sign: float) -> Arms | None:
    """A function with the arms of a kink in the place of it; None if there is none to open.

    Examples
    --------
    >>> from setpoint.program.functions import Affine
    >>> a, b, c = (Affine({j: 1.0}, 0.0, {j: (0.0, 1.0)}) for j in range(3))
    >>> found = arms_of_first_kink(WeightedSum((1.0, -1.0), (Max((a, b)), c)), 1.0)
    >>> found.every, [f.terms for f in found.functions]
    (False, [{0: 1.0, 2: -1.0}, {1: 1.0, 2: -1.0}])
    """
    kinks = list(_kinks(x, sign))
    several = [k for k in kinks if k.arms.every]
    if math.prod(len(k.arms.functions) for k in several) > MOST:
        several = [k for k in several if not k.known]
    # Of all and one, all come first: then each is allowed its own one.
    first = next(iter(several), None) or next((k for k in kinks if not k.arms.every), None)
    if first is None:
        return None
    return Arms(
        tuple(_replaced(x, first.path, arm) for arm in first.arms.functions), first.arms.every
    )


def arms_of(x: RateFunction, side: float) -> Arms | None:
    """What a kink is made of, and whether a bound has to hold for each; None if it is none."""
    if not isinstance(x, (Max, Min, Absolute, MaxMinusMin, MinOverMax)):
        return None
    arms: list[RateFunction] = list(x.children)
    if isinstance(x, Absolute):
        arms.append(algebra.scaled(-1.0, arms[0]))
    elif isinstance(x, MaxMinusMin):
        pairs = permutations(x.children, 2)
        arms = [algebra.add([(1.0, a), (-1.0, b)]) for a, b in pairs] or [algebra.constant(0.0)]
    elif isinstance(x, MinOverMax):
        pairs = permutations(x.children, 2)
        arms = [algebra.divide(a, b) for a, b in pairs] or [algebra.divide(arms[0], arms[0])]
    largest = not isinstance(x, (Min, MinOverMax))
    return Arms(tuple(arms), not (side > 0 if largest else side < 0))


def directions(x: Node) -> list[float]:
    """For each child 1 where the function never falls with it, -1 where it never rises; else 0."""
    if isinstance(x, WeightedSum):
        return [math.copysign(1.0, k) for k in x.coefs]
    if isinstance(x, (Min, Max, Log, Sqrt)):
        return [1.0] * len(x.children)
    signs = [1.0 if c.low >= 0 else -1.0 if c.high <= 0 else 0.0 for c in x.children]
    if isinstance(x, PowerMean):
        return signs if x.order == 2 else [1.0] * len(signs)
    if isinstance(x, Product):
        return signs[::-1]
    if isinstance(x, Ratio):
        return [1.0, -signs[0]]
    if isinstance(x, Quotient):
        # Across zero a quotient turns round.
        return [signs[1], -signs[0] if signs[1] else 0.0]
    if isinstance(x, Absolute):
        return signs
    return [0.0] * len(signs)


def _kinks(x: RateFunction, side: float, path: tuple[int, ...] = ()) -> Iterator[_Kink]:
    """The outermost kinks of a function."""
    if not x.has_kinks or not isinstance(x, Node):
        return
    arms = arms_of(x, side)
    if arms is not None:
        yield _Kink(path, arms, side != 0.0)
        return
    for i, (child, direction) in enumerate(zip(x.children, directions(x), strict=True)):
        yield from _kinks(child, side * direction, (*path, i))


def _replaced(x: RateFunction, path: Sequence[int], new: RateFunction) -> RateFunction:
    if not path:
        return new
    children = list(x.children)
    children[path[0]] = _replaced(children[path[0]], path[1:], new)
    if isinstance(x, WeightedSum):
        return algebra.add(list(zip(x.coefs, children, strict=True)))
    if isinstance(x, Product):
        return algebra.multiply(*children)
    if isinstance(x, Quotient):
        return algebra.divide(*children)
    assert isinstance(x, Node)
    out = with_children(x, children)
    assert isinstance(out, Node)
    out.low, out.high = out.interval(*((c.low, c.high) for c in children))
    return out
