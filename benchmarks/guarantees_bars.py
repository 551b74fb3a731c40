"""What the benchmark of guarantees finds, beside what it is to reach. No command of its own."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from cma_data import verdict
from guarantees_ways import LEVEL, METHODS

SIZES = (300, 1_000, 5_000, 20_000)
OTHERS = ("plain", "1 s.e.", "1.645 s.e.", "bonf")
DEFAULT = "bonferroni_holm"
"""Of MAPIE. It stops where one of the cut-offs accepts nobody and has no p-value."""
PEERS = tuple(f"mapie {m}" for m in METHODS)
COMMON = ("recall", "fpr", "predicted_rate", "precision", "f1")


class Cell(NamedTuple):
    """What each way did in each draw: its objective, or NaN, and whether it broke."""

    population: str
    goal: str
    nested: bool
    n: int
    oracle: float
    objective: dict[str, np.ndarray]
    broke: dict[str, np.ndarray]

    def answered(self, way: str) -> float:
        return float(np.mean(~np.isnan(self.objective[way])))

    def broken(self, way: str) -> float:
        return float(np.mean(self.broke[way]))

    def mean(self, way: str) -> float:
        known = self.objective[way]
        return math.nan if np.isnan(known).all() else float(np.nanmean(known))

    @property
    def kinds(self) -> list[tuple[str, str]]:
        """Ours, by what they are: with nested constraints both test every cut-off."""
        if self.nested:
            return [("nested", "scores")]
        return [("split", "scores"), ("path", "path")]


def line(good: bool | None, what: str, figure: float, bar: str = "") -> bool:
    print(f"{verdict(good)} {what:<66} {figure:8.3f}   {bar and 'target ' + bar}", flush=True)
    return good is not False


def most_by_chance(draws: int) -> float:
    return LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def pooled(cells: list[Cell]) -> bool:
    """Broken shares of all draws, by kind."""
    good, shares = True, []
    for kind in ("nested", "split", "path"):
        own = [c.broken(w) for c in cells for k, w in c.kinds if k == kind]
        if own:
            shares += own
            good &= line(
                np.mean(own) <= LEVEL, f"broken, all draws, {kind}", np.mean(own), "<= .05"
            )
    if len(shares) > 10:
        good &= line(bool(np.mean(shares) >= 0.01), "the same of all", np.mean(shares), ">= .01")
    for way in ("plain", "1 s.e.", "1.645 s.e."):
        own = [c.broken(way) for c in cells if way in c.broke]
        if own:
            line(None, f"broken, all draws, {way} (the worst cell {max(own):.3f})", np.mean(own))
    return good


def losses(cells: list[Cell]) -> bool:
    good = True
    for goal in COMMON:
        for n in SIZES[1:]:
            own = [c for c in cells if c.goal == goal and c.n == n]
            for kind in ("nested", "path", "split"):
                pairs = []
                for c in own:
                    for k, way in c.kinds:
                        if k == kind and min(c.answered(way), c.answered("bonf")) >= 0.5:
                            pairs.append((c.oracle - c.mean(way), c.oracle - c.mean("bonf")))
                if pairs:
                    ours, other = np.sum(pairs, axis=0)
                    bar = 0.75 if kind == "split" else 0.60
                    what = f"loss share, {goal}, {n:,} rows, {kind} ({len(pairs)} populations)"
                    good &= line(ours / other <= bar, what, ours / other, f"<= {bar}")
    return good


def refusals(cells: list[Cell]) -> bool:
    good = True
    bars = {"path": (0.60, 0.03, 0.01), "split": (0.80, 0.15, 0.02)}
    for kind, targets in bars.items():
        for n, bar in zip(SIZES[1:], targets, strict=True):
            own = [c for c in cells if c.goal == "precision" and c.n == n]
            if own:
                way = dict(own[0].kinds)[kind]
                share = 1 - float(np.mean([c.answered(way) for c in own]))
                good &= line(
                    share <= bar, f"precision floor refused, {n:,}, {kind}", share, f"<= {bar}"
                )
    return good


def against_mapie(cells: list[Cell]) -> bool:
    good = True
    for n in SIZES:
        own = [c for c in cells if c.goal == "recall" and c.n == n and PEERS[0] in c.broke]
        if own:
            ours, theirs = paired([("scores", c) for c in own])
            what = f"recall floor, {n:,}: precision, ours and MAPIE's best ({theirs:.3f})"
            good &= line(ours >= theirs, what, ours, ">= MAPIE")
    for n in SIZES[1:3]:
        own = [c for c in cells if c.goal == "precision" and c.n == n and PEERS[0] in c.broke]
        for kind in ("path", "split"):
            if own:
                way = dict(own[0].kinds)[kind]
                ours = float(np.mean([c.answered(way) for c in own]))
                known = {w: float(np.mean([c.answered(w) for c in own])) for w in PEERS}
                default = known[f"mapie {DEFAULT}"]
                what = (
                    f"precision floor, {n:,}, {kind}: answers, over MAPIE's default ({default:.2f})"
                )
                ratio = ours / default if default else math.inf
                good &= line(ratio >= 5, what, ratio, ">= 5")
                best = max(known.values())
                line(None, f"the same, over the best of its methods ({best:.2f})", ours / best)
    return good


def paired(cells: list[tuple[str, Cell]]) -> tuple[float, float]:
    """Mean objectives of the draws that ours and MAPIE's best method both answer."""
    ours, theirs = [], []
    for way, c in cells:
        best = max(PEERS, key=lambda w: np.nan_to_num(c.mean(w), nan=-1.0))
        peer = c.objective[best]
        own = c.objective[way][: len(peer)]
        both = ~np.isnan(peer) & ~np.isnan(own)
        if both.any():
            ours.append(own[both].mean())
            theirs.append(peer[both].mean())
    return float(np.mean(ours)), float(np.mean(theirs))


SPECIAL = {
    # goal: way, for each size the most refused and how far from the oracle
    "churn": ("scores", ((1_000, 0.20, None), (5_000, 0.01, 0.027), (20_000, 0.0, 0.012))),
    "difference": ("path", ((5_000, 0.02, 0.02), (20_000, 0.02, 0.01))),
    "accuracy": ("scores", ((1_000, 0.30, None), (5_000, 0.01, None), (20_000, 0.0, None))),
}


def specials(cells: list[Cell]) -> bool:
    good = True
    for goal, (way, bars) in SPECIAL.items():
        for n, most, loss in bars:
            for c in (c for c in cells if c.goal == goal and c.n == n):
                share = 1 - c.answered(way)
                good &= line(share <= most, f"{goal}, {n:,} rows: refused", share, f"<= {most}")
                value = c.mean(way)
                bar = "" if loss is None else f">= oracle {c.oracle:.3f} - {loss}"
                fine = None if loss is None else value >= c.oracle - loss
                good &= line(fine, f"{goal}, {n:,} rows: objective", value, bar)
    for c in (c for c in cells if c.goal == "two floors"):
        what = f"a floor for each of two groups, {c.n:,} rows: broken if each had .05"
        line(None, what, c.broken("each .05"), "(.0975 by chance: why they share .05)")
    return good
