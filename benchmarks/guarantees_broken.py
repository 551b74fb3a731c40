"""How often a certified rule breaks its promise, what certifying costs, and what others pay.

Tables scored by models that were fitted on other rows are the populations; rows are drawn from
them with replacement, rules are found and certified on these, and what the rules do is counted on
the whole population. *Broken* is the share of all draws in which a rule was called certified and
breaks its constraint: at 95 % confidence at most .05.

Ours are ``scores`` (``solve(confidence=.95)`` on the rows drawn: every cut-off where constraints
only loosen one way, else a part that finds and a part that certifies) and ``path`` (as a fit does
it: rules are found on rows of the same number that take no part in the test). Beside them: the
cut-off that is best on the rows drawn (``plain``), with slack of one standard error and of 1.645;
``bonf``: the best of 100 fixed cut-offs with the same exact p-value at a hundredth of the level;
and MAPIE's methods with its own list of 100 cut-offs.

A loss share is (oracle - ours) / (oracle - bonf): means of what is answered, of cells in which both
answer at least every second draw.

``python benchmarks/guarantees_broken.py [--draws 200] [--rows 300 1000 5000 20000]
[--models boosting logistic] [--only TEXT ...]``.
"""

from __future__ import annotations

import argparse
import math
import zlib
from collections.abc import Iterable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from cma_data import require, run_with_one_thread, verdict
from guarantees_data import MODELS, TABLES, Population, Rows, population
from guarantees_goals import Asked, simple_goals, special_goals
from guarantees_ways import (
    LEVEL,
    METHODS,
    bonferroni,
    certified_by_path,
    certified_by_solve,
    mapie,
    tuned,
)
from joblib import Parallel, delayed

from setpoint.rules import Rule

SIZES = (300, 1_000, 5_000, 20_000)
PEER_DRAWS = 50
"""Of MAPIE, whose broken shares are not looked at."""
OURS = ("scores", "path")
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


def measured(table: str, model: str, goal: str, n: int, draws: int) -> Cell:
    p = population(table, model)
    (asked,) = (g for g in goals_of(p) if g.name == goal)
    rng = np.random.default_rng(zlib.crc32(f"{p.name} {goal} {n}".encode()))
    objective: dict[str, list[float]] = {}
    broke: dict[str, list[bool]] = {}
    for i in range(draws):
        drawn, learnt = p.draw(n, rng), p.draw(n, rng)
        for way, rule in rules(asked, p, drawn, learnt, peers=i < PEER_DRAWS).items():
            counts = None if rule is None else p.decided(rule)
            objective.setdefault(way, []).append(
                math.nan if counts is None else float(asked.objective(counts))
            )
            broke.setdefault(way, []).append(
                counts is not None and bool(asked.slack(counts) < -1e-12)
            )
    return Cell(
        p.name,
        goal,
        asked.nested,
        n,
        asked.oracle(p),
        {w: np.array(v) for w, v in objective.items()},
        {w: np.array(v) for w, v in broke.items()},
    )


def rules(
    asked: Asked, p: Population, drawn: Rows, learnt: Rows, *, peers: bool
) -> dict[str, Rule | None]:
    """What each way finds."""
    out = {"scores": certified_by_solve(asked, drawn)}
    if not asked.nested:
        out["path"] = certified_by_path(asked, learnt, drawn)
    if asked.name == "two floors":
        # At twice the level each of two groups has what it would have by itself.
        out["each .05"] = certified_by_solve(asked, drawn, 1 - 2 * LEVEL)
    if asked.trials is None:
        return out | {"plain": certified_by_solve(asked, drawn, None)}
    for way, errors in (("plain", 0.0), ("1 s.e.", 1.0), ("1.645 s.e.", 1.645)):
        out[way] = tuned(asked, drawn, errors)
    out["bonf"] = bonferroni(asked, drawn, p)
    if peers and find_spec("mapie") is not None:
        out |= {f"mapie {m}": mapie(asked, drawn, m) for m in METHODS}
    return out


def goals_of(p: Population) -> list[Asked]:
    special = special_goals() if p.name == "adult, boosting" else []
    return simple_goals(p) + special


# ---------------------------------------------------------------------- printing
def line(good: bool | None, what: str, figure: float, bar: str = "") -> bool:
    print(f"{verdict(good)} {what:<66} {figure:8.3f}   {bar and 'target ' + bar}", flush=True)
    return good is not False


def most_by_chance(draws: int) -> float:
    return LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / draws)


def print_cell(cell: Cell) -> bool:
    bar = most_by_chance(len(cell.broke["scores"]))
    parts = []
    good = True
    for kind, way in cell.kinds:
        good &= cell.broken(way) <= bar
        parts.append(
            f"{kind} {cell.broken(way):.3f} ({1 - cell.answered(way):.2f}) {cell.mean(way):.3f}"
        )
    for way in (*OTHERS, "each .05"):
        if way in cell.broke:
            parts.append(f"{way} {cell.broken(way):.3f} ({1 - cell.answered(way):.2f})")
            if way == "bonf":
                parts[-1] += f" {cell.mean(way):.3f}"
    answered = [(cell.answered(w), cell.mean(w)) for w in PEERS if w in cell.broke]
    if answered:
        share, _ = max(answered)
        value = max((v for _, v in answered if not math.isnan(v)), default=math.nan)
        parts.append(f"mapie ({1 - share:.2f}) {value:.3f}")
    name = f"{cell.population}, {cell.goal}"
    print(f"{verdict(good)} {name:<40} {cell.n:6,} | {cell.oracle:.3f} | {' | '.join(parts)}")
    return good


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
                ratio = ours / max(default, 1e-9)
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


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=200)
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--models", nargs="+", default=["boosting"], choices=MODELS)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of 'table, model, goal'")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    require(*TABLES)
    if find_spec("mapie") is None:
        print("without MAPIE: it is not installed")
    todo = [
        (table, model, goal.name, n, options.draws)
        for table in TABLES
        for model in options.models
        for goal in goals_of(population(table, model))
        for n in options.rows
        if any(part in f"{table}, {model}, {goal.name}" for part in options.only)
    ]
    bar = most_by_chance(options.draws)
    print(f"{options.draws} draws; broken in a cell: target <= .05 (by chance {bar:.3f})")
    print("cell | oracle | way: broken (refused) objective")
    run: Iterable[Cell] = Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(measured)(*one) for one in todo
    )
    cells, good = [], True
    for cell in run:
        cells.append(cell)
        good &= print_cell(cell)
    worst = max(c.broken(w) for c in cells for _, w in c.kinds)
    good &= line(worst <= bar, "broken, the worst cell", worst, f"<= {bar:.3f}")
    for part in (pooled, losses, refusals, against_mapie, specials):
        good &= part(cells)
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
