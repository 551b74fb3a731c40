"""How often the limit of the share of rows in groups outside a certificate's list covers it.

Groups are drawn from a population, labels beside them. *certify_on*: the rows that certify are
drawn on their own. *set apart*: a share of .3 of all rows is, as ``fit`` does it. The list is that
of the other rows, the limit Clopper and Pearson's at 95 % from the rows that certify. Beside it
what looks like it and is none: three over the number of rows that certify, for groups that these
lack.

And a population with a group of half a percent that every rule fails: how often a certificate is
given, says of which groups, and breaks its promise for one of them.

``python benchmarks/guarantees_groups.py [--draws 2000] [--rows 1000]``.
"""

from __future__ import annotations

import argparse
import math
import warnings

import numpy as np
import pandas as pd
from cma_data import run_with_one_thread
from guarantees_bars import line, most_by_chance
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from setpoint import Goal, NotCertifiable, PlugInClassifier, solve
from setpoint.classifiers import split_kinds
from setpoint.counts import Codebook, Marginals, Stratum
from setpoint.errors import EmptyPopulationError
from setpoint.guarantees import Promise
from setpoint.program import link

GOAL = "maximize precision subject to recall.min(g) >= 0.6"
APART = 0.3


def populations(n: int) -> dict[str, np.ndarray]:
    """Shares of groups."""
    zipf = 1.0 / np.arange(1, 1_001)
    return {
        "Zipf, 1,000 groups": zipf / zipf.sum(),
        "one rare group": np.array([1 - 3.0 / n, 3.0 / n]),
        "one rarer group": np.array([1 - 0.7 / n, 0.7 / n]),
        "200 tiny groups": np.array([0.9, *([0.1 / 200] * 200)]),
        "200 tiny groups, half of the rows": np.array([0.5, *([0.5 / 200] * 200)]),
    }


def limit(promise: Promise, book: Codebook, shares: np.ndarray, own: np.ndarray,
          other: np.ndarray) -> tuple[float, float, int]:  # fmt: skip
    """The limit, the true share outside the list, and the rows seen of it."""
    kept, most = promise.listed(book, counted(own, len(shares)), counted(other, len(shares)))
    return most, float(shares[~kept].sum()), int(np.count_nonzero(~kept[other // 3]))


def counted(kinds: np.ndarray, groups: int) -> Marginals:
    weights = np.bincount(kinds, minlength=3 * groups).reshape(groups, 3).astype(float)
    return Marginals(weights, np.where(weights > 0, 1.0, np.inf))


def covers(draws: int, n: int) -> bool:
    good, worst = True, 1.0
    slack = 2.33 * math.sqrt(0.05 * 0.95 / draws)
    for name, shares in populations(n).items():
        book = Codebook.of((0, 1), tuple(Stratum(None, (("g", i),)) for i in range(len(shares))))
        promise = Promise.of(link(Goal.parse(GOAL), book), 0.95)
        rng = np.random.default_rng(0)
        found: dict[str, list[bool]] = {"certify_on": [], "set apart": [], "naive": []}
        for _ in range(draws):
            kinds = 3 * rng.choice(len(shares), n, p=shares) + (rng.random(n) < 0.5)
            side = rng.random(n) < APART
            most, true, _ = limit(promise, book, shares, kinds[~side], kinds[side])
            found["certify_on"].append(true <= most)
            lacking = float(shares[~np.isin(np.arange(len(shares)), kinds[side] // 3)].sum())
            found["naive"].append(lacking <= 3.0 / side.sum())
            side = split_kinds(kinds, None, APART, rng, True)
            most, true, _ = limit(promise, book, shares, kinds[~side], kinds[side])
            found["set apart"].append(true <= most)
        for way, hits in found.items():
            share, asked = float(np.mean(hits)), way != "naive"
            worst = min(worst, share) if asked else worst
            what = f"covered, {name}, {way if asked else '3/n of what these rows lack'}"
            good &= line(share >= 0.95 - slack if asked else None, what, share, ">= .95" * asked)
    return line(worst >= 0.95 - slack, "covered, the worst", worst, ">= .95") & good


def drawn(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    g = rng.choice(["a", "b", "c"], n, p=[0.6, 0.395, 0.005])
    y = np.where(g == "c", 1, rng.random(n) < 0.5).astype(int)
    return np.clip(0.7 * y + 0.3 * rng.random(n) - 0.5 * (g == "c"), 0.0, 1.0), y, g


def hidden(draws: int, n: int = 300) -> bool:
    """Certified, and of those the ones that list the group that the rule fails."""
    model = make_pipeline(make_column_transformer(("passthrough", ["s"])), LogisticRegression())
    rng, good = np.random.default_rng(0), True
    for way in ("solve", "fit"):
        certified, broken, said, missed = 0, 0, 0, 0
        for _ in range(draws):
            s, y, g = drawn(n, rng)
            try:
                if way == "solve":
                    given = {"sensitive_features": {"g": g}, "decide_on": None}
                    found = solve(GOAL, s, y, confidence=0.95, **given).report.guarantee
                else:
                    clf = PlugInClassifier(model, GOAL, sensitive_features="g", decide_on=None,
                                           confidence=0.95, cv=2)  # fmt: skip
                    found = clf.fit(pd.DataFrame({"s": s, "g": g}), y).goal_report_.guarantee
            except (NotCertifiable, EmptyPopulationError):
                continue
            certified += 1
            broken += ("c",) in found.groups[0][1]
            said += found.others is not None
            missed += found.others is not None and found.others[1] < 0.005
        share, bar = broken / draws, most_by_chance(draws)
        good &= line(share <= bar, f"{way}, {n} rows: broken, listed groups", share, "<= .05")
        line(None, f"{way}: certified", certified / draws)
        line(None, f"{way}: says how many rows belong to others", said / draws)
        share = missed / draws
        good &= line(share <= bar, f"{way}: says less than there are", share, "<= .05")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000)
    parser.add_argument("--rows", type=int, default=1_000)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    return int(not (covers(given.draws, given.rows) & hidden(min(given.draws // 10, 200))))


if __name__ == "__main__":
    run_with_one_thread(main)
