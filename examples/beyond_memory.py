"""Beyond memory: ten million scored rows in Parquet files, and the rule from counts of them.

The rows are written by DuckDB and stay where they are. A goal over two groups is solved in a pass
or two; the rule goes back to the engine as SQL, and its decisions are counted there.
"""

import tempfile
from pathlib import Path

import duckdb

from setpoint import evaluate, solve
from setpoint.report import plot_operating

ROWS = 10_000_000
GOAL = "maximize recall subject to precision >= 0.5 and recall.difference(channel) <= 0.1"

SCORED = """
    SELECT 1 / (1 + exp(3 - 2.2 * fraud - 0.3 * phone
                         - sqrt(-2 * ln(u)) * cos(6.2831853 * v))) AS score,
           fraud AS label, CASE phone WHEN 1 THEN 'phone' ELSE 'web' END AS channel
    FROM (SELECT (hash(i) % 100 < 4)::INT AS fraud, (hash(i + 0.125) % 4 = 0)::INT AS phone,
                 (1 + hash(i + 0.25) % 999983) / 999984 AS u, (hash(i + 0.5) % 999983) / 999983 AS v
          FROM range({first}, {last}) AS t(i))
"""


def written(folder, files=10):
    """Parquet files of scored rows; their glob."""
    each = ROWS // files
    for k in range(files):
        query = SCORED.format(first=k * each, last=(k + 1) * each)
        duckdb.sql(query).write_parquet(str(Path(folder, f"scores-{k}.parquet")))
    return str(Path(folder, "*.parquet"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        table = duckdb.read_parquet(written(folder))
        solution = solve(
            GOAL,
            table,
            y="label",
            scores="score",
            sensitive_features=["channel"],
            decide_on=None,
            exact=True,
            watch=print,
        )
        print(solution.report)

        decided = table.project(f"*, {solution.rule.to_sql('score')} AS decision")
        again = evaluate(
            GOAL, decided, y_true="label", y_pred="decision", sensitive_features=["channel"]
        )
        print("Counted as SQL:", again.objective.value == solution.report.objective.value)
    return [plot_operating(solution.report).figure_]


if __name__ == "__main__":
    main()
