"""What stands between a certified rule and the best there is, for floors that need a path.

Floors on precision, F1 and F2, recall maximized; populations as in ``guarantees_broken.py``. Of
each way: the share of draws refused and the mean recall, in which a refusal counts 0. One after
the other, each pays for one thing more than the one before it:

- ``oracle``: the best cut-off that keeps the floor on the population.
- ``power``: the population's own path (cut-offs in the order of their true margins, the best recall
  with each), tested on all rows drawn, by a p-value without its worst row: what so few rows show,
  whoever asks. Beside it ``alone``: the one cut-off of that path that promises most by recall times
  power, tested alone.
- ``worst row``: the same with the worst row in the p-value. Of floors on precision and F1 the
  p-value is the exact binomial one, and this is 0.
- ``split``: the same path on the rows that certify: what it costs that the others do not.
- ``path``: the library: its path, learnt on those others. *solve* is ``solve(confidence=.95)`` of
  the scores, *fit* the way of ``PlugInClassifier(confidence=.95)``, of which 30 % certify.

``python benchmarks/guarantees_level.py [--draws 300] [--tables adult default_credit]
[--models logistic boosting] [--rows 1000 5000]``.
"""

from __future__ import annotations

import argparse
import functools
import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from cma_data import require, run_with_one_thread
from guarantees_bars import line
from guarantees_data import MODELS, TABLES, Population, Rows, population
from guarantees_goals import Asked, fp, over, positives, recall, simple_goals, tp
from guarantees_ways import LEVEL, certified_by_path, certified_by_solve
from joblib import Parallel, delayed
from scipy.special import betainc, ndtr, ndtri

from setpoint.classifiers.linear_rule import SHARE
from setpoint.rules import Threshold

KINDS = {"solve": SHARE, "fit": 0.3}
"""The share of the rows that certifies."""
DRAWN = 4_000
MARGINS = np.arange(8.0, -3.0, -0.25)
STEPS = {"solve": ("split, solve", "solve"), "fit": ("split, fit", "fit")}


@dataclass(frozen=True)
class Floor:
    """A floor as what each sort of row adds to a sum that is 0 or more where it is kept."""

    asked: Asked
    added: tuple[float, float, float]  # by a true positive, a false one, a false negative

    @property
    def is_exact(self) -> bool:
        return len({x for x in self.added[1:] if x < 0}) == 1

    def p_values(self, counts: np.ndarray, *, worst: bool) -> np.ndarray:
        """P-values (m,) of counts (3, m): binomial, or drawn."""
        k, bad, missed = counts
        if self.is_exact:
            failed = bad + missed * (self.added[2] < 0)
            share = -self.added[1] / (self.added[0] - self.added[1])
            return np.where(k > 0, betainc(np.maximum(k, 1e-300), failed + 1.0, share), 1.0)
        return np.array([_drawn(self.added, tuple(c), worst) for c in counts.T.tolist()])

    def margins(self, shares: np.ndarray, n: int) -> np.ndarray:
        """How many standard errors of n rows each cut-off lies within the floor."""
        if self.is_exact:
            return -ndtri(np.maximum(self.p_values(n * shares, worst=True), 1e-300))
        x = np.array(self.added)
        mean, square = x @ shares, x**2 @ shares
        return math.sqrt(n) * mean / np.sqrt(np.maximum(square - mean**2, 1e-12))


@functools.lru_cache(maxsize=4096)
def _drawn(added: tuple[float, ...], counts: tuple[float, ...], worst: bool) -> float:
    rng = np.random.default_rng(0)
    total = min(added) * rng.standard_exponential(DRAWN) * worst
    for x, n in zip(added, counts, strict=True):
        total = total + x * rng.standard_gamma(n, DRAWN)
    return (1 + int((total < 0.0).sum())) / (1 + DRAWN)


def floors(p: Population) -> list[Floor]:
    """Of precision and F1 as in `guarantees_goals`; of F2 70 % of the way to its best, as of F1."""
    known = {asked.name: asked for asked in simple_goals(p)}
    a, b = known["precision"].bound, known["f1"].bound / (2 - known["f1"].bound)

    def f2(N: np.ndarray) -> np.ndarray:
        return over(5 * tp(N), 4 * positives(N) + tp(N) + fp(N))

    curve = f2(p.at_cutoffs)
    c = round(float(curve[-1] + 0.7 * (curve.max() - curve[-1])), 4)
    own = {"text": f"maximize recall s.t. fbeta(2) >= {c}", "slack": lambda N: f2(N) - c}
    return [
        Floor(known["precision"], (1 - a, -a, 0.0)),
        Floor(known["f1"], (1 - b, -b, -b)),
        Floor(Asked("f2", objective=recall, bound=c, **own), (5 * (1 - c), -c, -4 * c)),
    ]


# ---------------------------------------------------------------------- the population's own path
@dataclass(frozen=True)
class Path:
    """Cut-offs from safe to bold, with what each reaches, and the one that promises most."""

    cuts: np.ndarray
    reached: np.ndarray
    alone: int

    def certified(self, p_values: Callable[[np.ndarray], np.ndarray]) -> float | None:
        """The boldest before the first that fails."""
        passed = None
        for i in range(len(self.cuts)):
            if p_values(np.array([i]))[0] > LEVEL:
                break
            passed = i
        return None if passed is None else float(self.cuts[passed])


@functools.cache
def own_path(table: str, model: str, goal: str, n: int) -> Path:
    """The best recall with each margin on the population, in errors of n rows."""
    p = population(table, model)
    (floor,) = (f for f in floors(p) if f.asked.name == goal)
    N = p.at_cutoffs[1:]
    shares = np.stack([tp(N), fp(N), positives(N) - tp(N)])
    z, value = floor.margins(shares, n), recall(N)
    at = []
    for margin in (z.max(), *MARGINS):
        allowed = np.flatnonzero(z >= margin)
        if len(allowed):
            at.append(int(allowed[np.argmax(value[allowed])]))
    chosen = np.array(sorted(set(at), key=at.index))
    cuts = np.unique(p.cells.scores)[::-1]
    power = ndtr(z[chosen] - ndtri(1.0 - LEVEL))
    return Path(cuts[chosen], value[chosen], int(np.argmax(value[chosen] * power)))


def counted(rows: Rows, cuts: np.ndarray) -> np.ndarray:
    """True and false positives and false negatives (3, m) of some cut-offs."""
    accepted = rows.scores >= cuts[:, None]
    t, f = (accepted & (rows.y == 1)).sum(axis=1), (accepted & (rows.y == 0)).sum(axis=1)
    return np.stack([t, f, (rows.y == 1).sum() - t]).astype(float)


def parts(n: int) -> dict[str, int]:
    """How many rows certify."""
    return {kind: round(share * n) for kind, share in KINDS.items()}


def first(rows: Rows, m: int) -> Rows:
    return Rows(rows.scores[:m], rows.y[:m], rows.group[:m], rows.deployed[:m])


def last(rows: Rows, m: int) -> Rows:
    return Rows(rows.scores[m:], rows.y[m:], rows.group[m:], rows.deployed[m:])


# ---------------------------------------------------------------------- what is measured
WAYS = ("alone", "power", "worst row", "split, solve", "solve", "split, fit", "fit")


def measured(table: str, model: str, goal: str, n: int, draws: int) -> tuple[str, int, dict]:
    """Oracle, and of each way recall in each draw, NaN where refused, and whether it broke."""
    p = population(table, model)
    (floor,) = (f for f in floors(p) if f.asked.name == goal)
    rng = np.random.default_rng(zlib.crc32(f"level {p.name} {goal} {n}".encode()))
    own = {m: own_path(table, model, goal, m) for m in {n, *parts(n).values()}}
    found: dict[str, list[tuple[float, bool]]] = {way: [] for way in WAYS}

    def tested(rows: Rows, *, worst: bool = True) -> float | None:
        path = own[len(rows.y)]
        return path.certified(lambda at: floor.p_values(counted(rows, path.cuts[at]), worst=worst))

    for _ in range(draws):
        drawn = p.draw(n, rng)
        one = own[n].cuts[[own[n].alone]]
        passed = floor.p_values(counted(drawn, one), worst=True)[0] <= LEVEL
        cuts = {
            "alone": float(one[0]) if passed else None,
            "power": tested(drawn, worst=False),
            "worst row": tested(drawn),
        }
        rules = {way: None if c is None else Threshold(c) for way, c in cuts.items()}
        for kind, m in parts(n).items():
            at = tested(first(drawn, m))
            rules[f"split, {kind}"] = None if at is None else Threshold(at)
        rules["solve"] = certified_by_solve(floor.asked, drawn)
        m = parts(n)["fit"]
        rules["fit"] = certified_by_path(floor.asked, last(drawn, m), first(drawn, m))
        for way, rule in rules.items():
            counts = None if rule is None else p.decided(rule)
            broke = counts is not None and bool(floor.asked.slack(counts) < -1e-12)
            value = math.nan if counts is None else float(floor.asked.objective(counts))
            found[way].append((value, broke))
    oracle = floor.asked.oracle(p)
    return goal, n, {"oracle": oracle, **{w: np.array(v) for w, v in found.items()}}


# ---------------------------------------------------------------------- printing
def shown(goal: str, n: int, cells: list[dict]) -> bool:
    """Means over populations: what is left after each cost, and what each cost."""
    good = True
    oracle = float(np.mean([c["oracle"] for c in cells]))
    reached = {w: float(np.mean([np.nan_to_num(c[w][:, 0]).mean() for c in cells])) for w in WAYS}
    refused = {w: float(np.mean([np.isnan(c[w][:, 0]).mean() for c in cells])) for w in WAYS}
    broke = {w: [float(c[w][:, 1].mean()) for c in cells] for w in WAYS}
    print(f"\n{goal} floor, {n:,} rows, {len(cells)} populations: recall (a refusal counts 0)")
    print(f"   one cut-off alone, all rows: {reached['alone']:.3f}, refused {refused['alone']:.3f}")
    for kind, (split, library) in STEPS.items():
        print(f"   {kind:<5} oracle {oracle:.3f}", end="")
        left = oracle
        for name, way in zip(COSTS, ("power", "worst row", split, library), strict=True):
            print(f" | {name} {reached[way] - left:+.3f} ({refused[way]:.2f})", end="")
            left = reached[way]
        print(f" | reached {left:.3f}")
        lost = reached["power"] - reached[library]
        share = (reached["power"] - reached["worst row"]) / lost if lost > 0 else math.nan
        print(f"         not power: {lost:.3f}, of which worst row {share:.2f}")
        worst, bar = (
            max(broke[library]),
            LEVEL + 2.33 * math.sqrt(LEVEL * (1 - LEVEL) / len(cells[0][library])),
        )
        what = f"{goal}, {n:,} rows, {kind}: broken, the worst population"
        good &= line(worst <= bar, what, worst, f"<= {bar:.3f}")
    return good


COSTS = ("power", "worst row", "split", "path")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--tables", nargs="+", default=["adult", "default_credit"], choices=TABLES)
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=MODELS)
    parser.add_argument("--goals", nargs="+", default=["precision", "f1", "f2"])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000, 5_000])
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    require(*options.tables)
    pairs = [(t, m) for t in options.tables for m in options.models]
    for pair in pairs:
        population(*pair)
    todo = [
        (*pair, goal, n, options.draws)
        for goal in options.goals
        for n in options.rows
        for pair in pairs
    ]
    print(f"{options.draws} draws a population; in brackets: refused")
    run = Parallel(n_jobs=options.jobs, return_as="generator")(
        delayed(measured)(*one) for one in todo
    )
    good, cells = True, []
    for goal, n, cell in run:
        cells.append(cell)
        if len(cells) == len(pairs):
            good &= shown(goal, n, cells)
            cells = []
    return int(not good)


if __name__ == "__main__":
    run_with_one_thread(main)
