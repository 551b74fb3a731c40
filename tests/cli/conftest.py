"""Commands in this process, in a folder with tables and a model that is fitted once."""

import json
import os
import shlex
import shutil
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.samples import BEST, GOAL, lines_of, write
from setpoint.cli.app import app


class Done:
    """What a command ended with."""

    def __init__(self, result):
        self.code, self.out, self.err = result.exit_code, result.stdout, result.stderr
        self.bytes = result.stdout_bytes

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def text(self):
        """The output as one line."""
        return " ".join(self.out.split())

    @property
    def error(self):
        assert (self.code, self.out) == (1, ""), self.out + self.err
        line = self.err.splitlines()[-1]
        assert line.startswith("error: ")
        return line.removeprefix("error: ")


def command(line, *more, **given):
    words = [*shlex.split(line), *map(str, more)]
    return Done(CliRunner().invoke(app, words, **given))


@pytest.fixture
def run():
    """Run a command in this process: a line as at a shell, and further words."""
    return command


@pytest.fixture(scope="session", autouse=True)
def models(plain_models):
    """Of the model that is chosen under the goal there are tests of their own; so of compiling."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("setpoint.compiled._announce", lambda how_often: None)
        yield


@pytest.fixture(scope="module", autouse=True)
def plain(two_folds, plain_pages):
    """In each module: what is fitted for one test, and what it shows."""


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """loans.csv, new.csv, checked.csv; model.skops fitted on the first, and fit.json of it."""
    at = tmp_path_factory.mktemp("cli")
    write(at / "loans.csv", lines_of(800))
    write(at / "new.csv", lines_of(300, seed=1))
    write(at / "checked.csv", lines_of(80, seed=2))
    fit = f"fit '{at}/loans.csv' --target y --baseline old --drop id --json --model"
    done = command(fit, at / "model.skops", "--goal", GOAL)
    assert done.code == 4, done.err
    (at / "fit.json").write_text(done.out)
    poor = f"fit '{at}/loans.csv' --target y --drop id,income,age --model"
    command(poor, at / "poor.skops", "--goal", BEST)
    assert (at / "poor.skops").exists()
    return at


@pytest.fixture
def here(folder, tmp_path, monkeypatch):
    """A folder with copies of the tables and the models, and the current one."""
    for path in folder.iterdir():
        shutil.copyfile(path, tmp_path / path.name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def shell():
    """The environment and the command of a process of its own."""
    src = str(Path(__file__).parents[2] / "src")
    env = {**os.environ, "PYTHONPATH": src, "PYTHONUNBUFFERED": "", "OMP_NUM_THREADS": "1"}
    return [sys.executable, "-m", "setpoint.cli"], env
