"""What is imported when, by the names of packages: only what a step needs."""

import json
import subprocess
import sys

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from setpoint import (
    AdaptiveSurrogateClassifier,
    ExactPenaltyClassifier,
    PlugInClassifier,
    RampClassifier,
    SearchLimits,
    save_model,
)

# What compiles, solves, draws and trains networks.
HEAVY = {"cupy", "dask", "llvmlite", "matplotlib", "numba", "torch"}

LONG = pytest.mark.long

rng = np.random.default_rng(0)
X = rng.normal(size=(200, 3))
y = (X[:, 0] + rng.normal(size=200) > 0.3).astype(int)
three = np.digitize(X[:, 0] + rng.normal(size=200), [-0.5, 0.5])

COSTS = "minimize cost({(0, 1): 2, (1, 0): 1, (1, 2): 1, (2, 0): 3, (0, 2): 3, (2, 1): 2})"


def plugin(goal, labels):
    return PlugInClassifier(LogisticRegression(), goal).fit(X, labels)


MODELS = {
    "threshold": lambda: plugin("f1", y),
    "argmax": lambda: plugin("macro_f1", three),
    "costs": lambda: plugin(COSTS, three),
    "penalty": lambda: ExactPenaltyClassifier("f1", solver="profiled").fit(X, y),
    "ramp": lambda: RampClassifier("f1").fit(X, y),
    "surrogates": lambda: AdaptiveSurrogateClassifier(
        "f1", limits=SearchLimits(evaluations=300), cv=2
    ).fit(X, y),
}


def loaded(*steps):
    """The modules in a fresh process after each step."""
    shown = "; import sys, json; print(json.dumps(sorted(sys.modules)))"
    code = "\n".join(step + shown for step in steps)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return [set(json.loads(line)) for line in done.stdout.splitlines()]


def packages(modules):
    """Names of packages that do not come with Python; of SciPy's parts as well."""
    tops = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names
    parts = {".".join(name.split(".")[:2]) for name in modules if name.startswith("scipy.")}
    return {name for name in tops | parts if "._" not in f".{name}"}


def test_setpoint_alone_imports_no_package():
    (found,) = loaded("import setpoint")
    assert packages(found) == {"setpoint"}


def test_a_name_imports_little_more_than_scikit_learn():
    before, model, classifier, online = loaded(
        "from sklearn.calibration import CalibratedClassifierCV",
        "from setpoint import load_model",
        "from setpoint import PlugInClassifier",
        "from setpoint.online import OnlineFClassifier",
    )
    # scikit-learn imports SciPy's statistics by itself.
    for after in (model, classifier, online):
        assert packages(after) - packages(before) <= {"setpoint", "highspy", "narwhals"}
        assert not packages(after) & HEAVY


@pytest.mark.parametrize("kinds", [list(MODELS), *(pytest.param([k], marks=LONG) for k in MODELS)])
def test_models_are_read_predict_and_are_judged_without_what_trained_them(kinds, tmp_path):
    """All of them in one process in every run, each in its own in the long one."""
    paths = [str(tmp_path / f"{kind}.skops") for kind in kinds]
    for kind, path in zip(kinds, paths, strict=True):
        save_model(MODELS[kind](), path)
    read, predicted, judged = loaded(
        f"from setpoint import load_model; models = [load_model(p) for p in {paths!r}]",
        f"[model.predict({X[:5].tolist()}) for model in models]",
        f"str(models[0].evaluate({X.tolist()}, {y.tolist()})) if {kinds[0] == 'threshold'} else ''",
    )
    assert not packages(read) & HEAVY
    assert packages(predicted) == packages(read)
    assert not packages(judged) & {*HEAVY, "pytest"}  # few rows are judged without compiled code


def test_a_goal_is_explained_without_scikit_learn_and_compiled_code():
    goal = "maximize f1 subject to precision >= 0.3 and f1.difference(sex) <= 1"
    step = f"from setpoint.cli.app import app\ntry: app.main(['goal', {goal!r}])\n"
    code = f"{step}except SystemExit: pass\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    found = packages(done.stdout.splitlines()[-1].split())
    assert not found & {*HEAVY, "pandas", "sklearn", "scipy"}
