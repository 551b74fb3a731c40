"""The exact rule for rows that memory does not hold: processor time, memory and passes.

``python benchmarks/scale_rule.py [--rows 100000000]``. Rows are written to Parquet (about 1 GB
for 1e8), and removed afterwards. Each line is a process of its own, so that its peak memory is
its own; processor seconds of both cores are added, and compared with the engine's own ``GROUP BY
label, region`` over the same columns in the same run.
"""

from __future__ import annotations

import argparse
import sys

from scale_data import line, measured, parquet

GOALS = (
    ("f1, one threshold", "maximize f1", None, 5.0),
    (
        "recall, precision floor, one threshold",
        "maximize recall subject to precision >= 0.4",
        None,
        5.0,
    ),
    (
        "a threshold for each region, floors on recall",
        "maximize accuracy subject to recall.min(region) >= 0.3",
        ["region"],
        10.0,
    ),
)

IMPORTS = """
import duckdb
from setpoint import solve
from setpoint.sources import GroupBy, Key, source_of
from setpoint.counts.sweep import Binning
"""

SOLVE = """
passes = []
solution = solve(goal, duckdb.read_parquet(files), y="label", scores="score",
                 sensitive_features=columns, decide_on=columns, exact=exact, watch=passes.append)
out = dict(passes=len(passes), again=sum(p.rows for p in passes[1:]),
           gap=solution.report.certificate.gap, status=solution.report.status,
           rule=solution.report.rule.text)
"""

PLAIN = """
query = f"SELECT label, region, count(*), max(score) FROM '{files}' GROUP BY label, region"
out = dict(n=len(duckdb.sql(query).fetchall()))
"""

PASS = """
source = source_of(duckdb.read_parquet(files))
binning = Binning.from_sample(source.sample("score", "label", 100_000), 2**16)
by = GroupBy(tuple(Key(name) for name in ["label", *(columns or [])]), "score")
start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
out = dict(lines=source.count(by, binning).n_lines)
"""


def main(rows: int) -> bool:
    good = True
    with parquet(rows) as files:
        plain = measured(PLAIN, files=files, imports=IMPORTS)
        line(None, f"GROUP BY label, region: {rows:.0e} rows", f"{plain['cpu']:.1f} s CPU", "")
        for what, goal, columns, times in GOALS:
            given = {"files": files, "goal": goal, "columns": columns, "imports": IMPORTS}
            first = measured(SOLVE, exact=False, **given)
            one = measured(PASS, **given)
            ratio = one["cpu"] / plain["cpu"]
            print(what)
            known = first["gap"] is not None
            good &= line(
                known and first["gap"] <= 1e-4 and first["passes"] == 1,
                "  gap after one pass",
                f"{first['gap']:.1e}, {first['passes']} pass" if known else "none",
                "<= 1e-4, 1 pass",
            )
            good &= line(
                ratio <= times,
                "  first pass, CPU over GROUP BY",
                f"{one['cpu']:.1f} s, {ratio:.1f}",
                f"<= {times:.0f}",
            )
            found = measured(SOLVE, exact=True, **given)
            good &= line(
                found["status"] == "optimal" and found["passes"] <= 3,
                "  exact: passes, rows looked at again",
                f"{found['passes']}, {found['again']:,}",
                "<= 2 (3 is allowed)",
            )
            good &= line(
                found["cpu"] <= 15.0 * rows / 1e8 if columns is None else None,
                "  exact: CPU, wall",
                f"{found['cpu']:.1f} s, {found['wall']:.1f} s",
                f"<= {15.0 * rows / 1e8:.1f} s" if columns is None else "",
            )
            good &= line(
                found["peak"] <= 1024,
                "  exact: peak memory of the process",
                f"{found['peak']:.0f} MB",
                "<= 1,024 MB",
            )
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000_000)
    sys.exit(not main(parser.parse_args().rows))
