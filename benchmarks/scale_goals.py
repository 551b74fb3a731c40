"""Goals of every shape on a table elsewhere: the rule in memory, the gap after one pass, passes.

``python benchmarks/scale_goals.py [--rows 2000000]``. Rows are written to Parquet and removed
afterwards; the same rows in memory are solved by the whole sort.
"""

from __future__ import annotations

import argparse
import sys
import warnings

from scale_data import line, parquet

GOALS = (
    ("maximize f1", None),
    ("maximize mcc", None),
    ("maximize g_mean", None),
    ("maximize recall subject to precision >= 0.4", None),
    ("maximize precision subject to recall >= 0.3", None),
    ("minimize fn + 0.3 * fp", None),
    ("maximize balanced_accuracy subject to predicted_rate <= 0.2", None),
    ("maximize macro_f1", None),
    ("maximize recall subject to recall.difference(region) <= 0.05 and precision >= 0.3", None),
    ("maximize accuracy subject to recall.min(region) >= 0.3", "region"),
    ("maximize recall.min(region) subject to precision.min(region) >= 0.2", "region"),
)
DRAWN = (
    ("maximize recall subject to precision >= 0.4", None),
    ("maximize f1 subject to recall.difference(region) <= 0.02", "region"),
    ("maximize accuracy subject to predicted_rate.difference(region) <= 0.01", "region"),
    ("maximize min_recall", "region"),
)


def main(rows: int) -> bool:
    import duckdb

    from setpoint import solve

    warnings.simplefilter("ignore")
    good = True
    with parquet(rows) as files:
        table = duckdb.read_parquet(files)
        memory = table.df()
        for randomized, goals in ((False, GOALS), (True, DRAWN)):
            print("with draws" if randomized else "without draws")
            for goal, column in goals:
                names = {
                    "y": "label",
                    "scores": "score",
                    "sensitive_features": ["region"],
                    "decide_on": column,
                    "randomized": randomized,
                }
                mine = solve(goal, memory, **names)
                first: list = []
                near = solve(goal, table, **names, watch=first.append)
                passes: list = []
                exact = solve(goal, table, **names, exact=True, watch=passes.append)
                gap = near.report.certificate.gap
                known = gap is not None and len(first) == 1
                good &= line(
                    known and gap <= 1e-4,
                    f"{goal}",
                    f"{gap:.1e}, {len(first)} pass" if gap is not None else "none",
                    "gap <= 1e-4, 1 pass",
                )
                apart = abs(exact.report.objective.value - mine.report.objective.value)
                same = exact.rule == mine.rule
                good &= line(
                    (same or randomized) and apart <= 1e-9 and len(passes) <= 3,
                    "  exact: as in memory, passes, rows again",
                    f"{'same rule' if same else f'{apart:.1e}'}, {len(passes)}, "
                    f"{sum(p.rows for p in passes[1:]):,}",
                    "same (draws: value), <= 3",
                )
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    sys.exit(not main(parser.parse_args().rows))
