"""The core runs without the packages that only some users need."""

import re
import subprocess
import sys
from pathlib import Path

BLOCK = """
import sys

ABSENT = (
    "pandas", "polars", "pyarrow", "torch", "safetensors",
    "matplotlib", "jinja2", "cvxpy", "clarabel", "river",
)

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
MORE = """
import numpy as np
from setpoint import evaluate, goal_scorer, solve

group = np.where(np.arange(len(y)) % 2, "a", "b")
fair = "maximize accuracy subject to recall.difference(g) <= 0.1"
print(solve(fair, model.predict_proba(X), y, sensitive_features=group).report)
print(evaluate(fair, y, model.predict(X), sensitive_features={"g": group}))
print(goal_scorer("f1")(model, X, y))
"""


def test_without_optional_packages():
    readme = (Path(__file__).parents[2] / "README.md").read_text("utf-8")
    example = re.search(r"```python\n(.*?)```", readme, re.DOTALL).group(1)
    command = [sys.executable, "-W", "error", "-c", BLOCK + example + MORE]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "precision" in done.stdout
