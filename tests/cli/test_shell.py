"""The program as a process: entry point, pipes, Ctrl-C, what it imports."""

import subprocess
import sys

import numpy as np
import pytest

import setpoint.cli


def call(shell, *args, **more):
    command, env = shell
    env = {**env, **more.pop("env", {})}
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 600, **more}
    return subprocess.run([*command, *map(str, args)], env=env, check=False, **more)


def test_help_imports_nothing_heavy(shell):
    code = (
        "import sys\n"
        "import setpoint.cli, setpoint.cli.app\n"
        "heavy = {'sklearn', 'pandas', 'numba', 'scipy', 'pyarrow', 'matplotlib', 'rich'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=shell[1], capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()


def test_pipe_that_closes_is_quiet(shell, model, folder):
    command, env = shell
    big = folder / "big.csv"
    if not big.exists():
        head, *rows = (folder / "new.csv").read_text("utf-8").strip().split("\n")
        big.write_text("\n".join([head, *(rows * 60)]) + "\n", "utf-8")
    process = subprocess.Popen(
        [*command, "predict", model, str(big)], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout.readline() == b"prediction,score\n"
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert process.wait(60) == 141
    assert b"rror" not in errors
    assert b"Traceback" not in errors


def test_a_full_stdout_and_no_colours_in_a_pipe(shell):
    if not sys.platform.startswith("linux"):
        pytest.skip("/dev/full is a device of Linux")
    with open("/dev/full", "wb") as full:
        done = call(shell, "goal", stdout=full)
    assert done.returncode == 1
    assert done.stderr == b"error: the output: No space left on device\n"


def test_letters_that_a_terminal_lacks(shell):
    done = call(shell, "goal", "fp", env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert rb"true \u2260 k and predicted = k" in done.stdout


def test_ctrl_c_while_fitting(shell, tmp_path):
    r = np.random.default_rng(0)
    X = r.normal(size=(40_000, 8)).round(3)
    y = (X[:, 0] + r.normal(size=len(X)) > 1).astype(int)
    head = ",".join(f"c{i}" for i in range(8)) + ",y"
    rows = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", rows, fmt=["%.3f"] * 8 + ["%d"], delimiter=",", header=head,
               comments="")  # fmt: skip
    # Half a second into the first forest, however long the imports take.
    code = (
        "import os, signal, sys, threading\n"
        "from sklearn.ensemble import RandomForestClassifier as Forest\n"
        "from setpoint.cli import main\n"
        "fit, stop = Forest.fit, threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))\n"
        "def begun(*args, **kwargs):\n"
        "    if not stop.ident:\n"
        "        stop.start()\n"
        "    return fit(*args, **kwargs)\n"
        "Forest.fit = begun\n"
        "main(sys.argv[1:])\n"
    )
    command, env = shell
    args = [
        "fit", str(tmp_path / "t.csv"), "--target", "y", "--positive", "1", "--goal", "f1",
        "--estimator", "random-forest", "--model", str(tmp_path / "m.skops"),
    ]  # fmt: skip
    process = subprocess.Popen(
        [command[0], "-c", code, *args], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    out, errors = process.communicate(timeout=600)
    assert process.returncode == 130
    assert (out, errors) == (b"", b"stopped; nothing was written\n")
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr(setpoint.cli, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        setpoint.cli.main(["--help"])
    assert end.value.code == 1
    assert "pip install 'setpoint[cli]'" in capsys.readouterr().err
