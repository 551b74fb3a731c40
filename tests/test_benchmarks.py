"""Every benchmark runs: names and options that it takes are there."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
SHARED = FOLDER.parents[1] / "shared" / "data"

# A target that is missed ends a benchmark with 1, as an exception would.
RUNNING = """
import argparse, os, runpy, sys, traceback
add, sys.argv = argparse.ArgumentParser.add_argument, sys.argv[1:]
def fewer(self, *names, default=None, **options):
    if isinstance(default, int) and not isinstance(default, bool) and names != ("--rows",):
        default = min(default, 2)
    return add(self, *names, **options | ({} if default is None else {"default": default}))
argparse.ArgumentParser.add_argument = fewer
sys.path.insert(0, os.path.dirname(sys.argv[0]))
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except Exception:
    traceback.print_exc()
    os._exit(70)
"""
LOADING = """
import importlib.util, sys
spec = importlib.util.spec_from_file_location("whole_sets", {path!r})
whole = importlib.util.module_from_spec(spec)
spec.loader.exec_module(whole)
names = whole.names
def few(y):
    import numpy as np
    order = np.random.default_rng(0).permutation(len(y))
    kinds = np.unique(y, return_inverse=True)[1][order]
    place = np.empty(len(y), int)
    for kind in np.unique(kinds):  # of each class 12 rows at least
        place[kinds == kind] = np.arange((kinds == kind).sum())
    first = place < 12
    return np.sort(np.concatenate([order[first], order[~first][:{rows}]]))
def load(name, numeric=False):
    X, y, groups, split = whole.load(name, numeric=numeric)
    rows = few(y)
    at = X.iloc if hasattr(X, "iloc") else X
    groups = groups and {{key: column[rows] for key, column in groups.items()}}
    return at[rows], y[rows], groups, None if split is None else split[rows]
def extra(name):
    found, rows = whole.extra(name), few(whole.load(name)[1])
    if isinstance(found, dict):
        return {{key: column[rows] for key, column in found.items()}}
    return None if found is None else found.iloc[rows]
"""
ROWS = 1_500
"""Numbers of 3,000 and more in a benchmark become as many; tables have twice as many rows."""


OPTIONS = {"choose_auto": ("--tables", "adult"), "stakes_defer": ("--error", "0.15")}
"""Where few rows are too few for what is asked, or all tables too many."""


class Fewer(ast.NodeTransformer):
    def visit_Constant(self, node):
        large = isinstance(node.value, int) and node.value >= 3_000
        return ast.copy_location(ast.Constant(ROWS), node) if large else node


@pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no benchmarks beside the tests")
def test_what_benchmarks_import_is_there():
    """Without running them, which the long run does."""
    paths, missing = sorted(FOLDER.glob("*.py")), []
    assert len(paths) > 30
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "setpoint":
                module = importlib.import_module(node.module)
                names = [alias.name for alias in node.names if not hasattr(module, alias.name)]
                missing += [f"{path.name}:{node.lineno}: {name}" for name in names]
    assert missing == []


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """The benchmarks with small numbers, beside tables of few rows; with an output of their own."""
    if not SHARED.is_dir():
        pytest.skip("there is no folder shared/data beside this checkout")
    at = tmp_path_factory.mktemp("small")
    (at / "shared/data").mkdir(parents=True)
    loading = LOADING.format(path=str(SHARED / "load.py"), rows=2 * ROWS)
    (at / "shared/data/load.py").write_text(loading, "utf-8")
    (at / "checkout/benchmarks").mkdir(parents=True)
    for folder in ("src", "tests"):
        (at / "checkout" / folder).symlink_to(FOLDER.parent / folder)
    for path in FOLDER.glob("*.*"):
        text = path.read_text("utf-8")
        if path.suffix == ".py":
            text = ast.unparse(Fewer().visit(ast.parse(text)))
        (at / "checkout/benchmarks" / path.name).write_text(text, "utf-8")
    return at / "checkout/benchmarks"


@pytest.mark.long
@pytest.mark.parametrize(
    "name", sorted(p.stem for p in FOLDER.glob("*.py") if "__main__" in p.read_text("utf-8"))
)
def test_a_benchmark_runs_on_few_rows(small, name, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", RUNNING, str(small / f"{name}.py"), *OPTIONS.get(name, ())],
        env=os.environ | {"PYTHONPATH": str(FOLDER.parent / "src"), "PYTHONWARNINGS": "ignore"},
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
