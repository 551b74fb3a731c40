"""Tables with everything that real ones have, and a model fitted on one of them."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from setpoint.cli.app import app

GOAL = "maximize recall subject to precision >= 0.7 and recall.difference(sex) <= 0.3"
HEAD = "id,sex,age,income,city,since,old,y"
SRC = Path(__file__).parents[2] / "src"


def lines_of(n_rows, seed=0):
    """Rows with numbers, groups, categories, missing values, dates and a deployed model."""
    r = np.random.default_rng(seed)
    out = []
    for i in range(n_rows):
        sex, city = r.choice(["f", "m"]), r.choice(["Bonn", "Kiel", "Köln", ""])
        age, income = int(r.integers(18, 80)), r.normal(50, 15)
        z = (income - 50) / 8 + (age - 50) / 20 + 0.5 * (sex == "m") + r.normal()
        y, old = int(z > 0.7), int(z + r.normal() > 0.9)
        shown = f"{income:.2f}" if r.random() > 0.05 else ""
        day = f"20{r.integers(10, 24)}-0{r.integers(1, 10)}-1{r.integers(0, 10)}"
        out.append(f"{i:05d},{sex},{age},{shown},{city},{day},{old},{y}")
    return out


def write(path, lines, encoding="utf-8"):
    path.write_bytes(("\n".join([HEAD, *lines]) + "\n").encode(encoding))
    return str(path)


@pytest.fixture(scope="session", autouse=True)
def models(plain_models):
    """Of the model that is chosen under the goal there are tests of their own; so of compiling."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.compiled._announce", lambda how_often: None)
        yield


@pytest.fixture
def run():
    """Run a command in this process: exit code, stdout, stderr."""

    def invoke(*args, **more):
        return CliRunner().invoke(app, [str(a) for a in args], **more)

    return invoke


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """loans.csv, new.csv, checked.csv; model.skops fitted on the first."""
    at = tmp_path_factory.mktemp("cli")
    write(at / "loans.csv", lines_of(800))
    write(at / "new.csv", lines_of(300, seed=1))
    write(at / "checked.csv", lines_of(80, seed=2))
    return at


@pytest.fixture(scope="session")
def fitted(folder):
    """What ``setpoint fit --json`` says of the model in the folder."""
    done = CliRunner().invoke(
        app,
        [
            *("fit", str(folder / "loans.csv"), "--target", "y", "--goal", GOAL),
            *("--baseline", "old", "--drop", "id", "--json"),
            *("--model", str(folder / "model.skops")),
        ],
    )
    assert done.exit_code in (0, 3, 4), done.output
    return json.loads(done.stdout)


@pytest.fixture
def model(folder, fitted):
    return str(folder / "model.skops")


@pytest.fixture
def shell():
    """The environment and the command of a process of its own."""
    env = {**os.environ, "PYTHONPATH": str(SRC), "PYTHONUNBUFFERED": "", "OMP_NUM_THREADS": "1"}
    return [sys.executable, "-m", "setpoint.cli"], env
