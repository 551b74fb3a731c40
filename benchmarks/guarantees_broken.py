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

import numpy as np
from cma_data import require, run_with_one_thread, verdict
from guarantees_bars import (
    OTHERS,
    PEERS,
    SIZES,
    Cell,
    against_mapie,
    line,
    losses,
    most_by_chance,
    pooled,
    refusals,
    specials,
)
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

PEER_DRAWS = 50
"""Of MAPIE, whose broken shares are not looked at."""


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
