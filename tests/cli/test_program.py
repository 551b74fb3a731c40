"""The program as a process and as a table of commands: entry, help, pipes, Ctrl-C, errors."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.shell_completion import ShellComplete

import setpoint.cli
from cli.samples import lines_of, write
from setpoint.cli.app import LINES, app
from setpoint.errors import InputError
from setpoint.goals import TABLE, formula_of
from setpoint.solvers import SOLVERS, solvers_of
from setpoint.tables import SURROGATES
from thinning import over


def process(shell, *args, env=(), code=None, **more):
    command, given = shell
    command = command if code is None else [command[0], "-c", code]
    more = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "timeout": 600, **more}
    return subprocess.run([*command, *args], env={**given, **dict(env)}, check=False, **more)


# ---------------------------------------------------------------------- commands and help
def test_help(run):
    listed = run("--help")
    for name, line in LINES.items():
        command = app.commands[name]
        assert (command.name, command.get_short_help_str(limit=200)) == (name, line)
        assert f"{name} {line}" in listed.text
        help_page = run(f"{name} -h")
        assert (help_page.code, "For example:" in help_page.out) == (0, True)
    assert run("").out == listed.out
    assert run("--version").out.startswith("setpoint 0.")
    trainers = {name for name, solver in SOLVERS.items() if solver.family != "plugin"}
    assert all(name in run("train --help").text for name in trainers)
    assert "solver=NAME" in run("fit --set help").out
    assert all(name in run("train --set help").out for name in SURROGATES)


@over(
    "given, begun, found",
    [
        ([], "mo", ["monitor"]),
        ([], "--ver", ["--version"]),
        (["predict"], "--over", ["--overwrite"]),
        (["train", "--solver"], "pr", ["profiled"]),
    ],
)
def test_completion(given, begun, found):
    items = ShellComplete(app, {}, "setpoint", "_X").get_completions(given, begun)
    assert [item.value for item in items] == found


def test_help_and_completion_import_no_command_and_nothing_heavy(shell):
    code = (
        "import sys\nfrom setpoint.cli.app import app\n"
        "from click.shell_completion import ShellComplete\n"
        "try:\n    app.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "found = ShellComplete(app, {}, 'setpoint', '_X').get_completions([], 'f')\n"
        "print([item.value for item in found])\n"
        "commands = {'setpoint.cli.fit', 'setpoint.cli.stored'}\n"
        "heavy = {'sklearn', 'pandas', 'numba', 'scipy', 'pyarrow', 'matplotlib', 'rich'}\n"
        "print(*(commands | heavy) & set(sys.modules))"
    )
    done = process(shell, code=code, text=True)
    assert done.stdout.splitlines()[-2:] == ["['fit', 'frontier']", ""]


@over("given, found", [({}, "passive"), ({"OMP_WAIT_POLICY": "active"}, "active")])
def test_threads_of_openmp_sleep_unless_the_user_says_otherwise(monkeypatch, given, found):
    monkeypatch.setattr(os, "environ", given)
    monkeypatch.setattr(app, "main", lambda *args, **more: None)
    setpoint.cli.main(["--version"])
    assert given["OMP_WAIT_POLICY"] == found


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr(setpoint.cli, "find_spec", lambda name: None)
    with pytest.raises(SystemExit) as end:
        setpoint.cli.main(["--help"])
    assert end.value.code == 1
    assert "pip install 'setpoint[cli]'" in capsys.readouterr().err


# ---------------------------------------------------------------------- pipes and signals
def test_a_program_ends_as_programs_do(shell):
    code = "import atexit\natexit.register(print, 'the end')\n"
    code += "from setpoint.cli import main\nmain(['goal', 'maximize nothing'])"
    done = process(shell, code=code, text=True)
    assert (done.returncode, done.stdout) == (1, "the end\n")
    done = process(shell, "goal", "fp", env={"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert rb"true \u2260 k and predicted = k" in done.stdout


def test_a_pipe_that_closes_is_quiet(shell, here):
    write(here / "big.csv", lines_of(300) * 20)
    command, env = shell
    running = subprocess.Popen(
        [*command, "predict", "model.skops", "big.csv"], env=env, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )  # fmt: skip
    assert running.stdout.readline() == b"prediction,score\n"
    running.stdout.close()
    errors = running.stderr.read()
    running.stderr.close()
    assert running.wait(600) == 141
    assert b"rror" not in errors
    assert b"Traceback" not in errors


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no such device here")
def test_a_full_or_closed_stdout(shell, run, here):
    with open("/dev/full", "wb") as full:
        done = process(shell, "goal", stdout=full)
    assert (done.returncode, done.stderr) == (1, b"error: the output: No space left on device\n")
    done = run("predict model.skops new.csv -o /dev/full")
    assert done.error == "/dev/full cannot be written: No space left on device"
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", *shell[0]]
    done = process((closed, shell[1]), "predict", "model.skops", "none.csv")  # before any work
    assert done.returncode == 1
    assert done.stderr == b"error: stdout is closed, and the rows go there; -o names a file\n"


FOREST = """
import logging, os, signal, sys, threading
from sklearn.ensemble import RandomForestClassifier as Forest
from setpoint.cli import main
fit, stop = Forest.fit, threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
def begun(*args, **kwargs):
    if not stop.ident:
        stop.start()
    return fit(*args, **kwargs)
Forest.fit = begun
main(sys.argv[1:])
"""


@pytest.mark.long
def test_ctrl_c_half_a_second_into_the_first_forest(shell, tmp_path):
    r = np.random.default_rng(0)
    X = r.normal(size=(40_000, 8)).round(3)
    y = (X[:, 0] + r.normal(size=len(X)) > 1).astype(int)
    head, formats = ",".join(f"c{i}" for i in range(8)) + ",y", ["%.3f"] * 8 + ["%d"]
    rows = np.column_stack([X, y])
    np.savetxt(tmp_path / "t.csv", rows, formats, delimiter=",", header=head, comments="")
    line = "fit t.csv --target y --positive 1 --goal f1 --estimator random-forest --model m.skops"
    done = process(shell, *line.split(), code=FOREST, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (130, b""), done.stderr
    assert done.stderr == b"stopped; nothing was written\n"
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


# ---------------------------------------------------------------------- errors
@pytest.fixture
def fail(run, monkeypatch):
    """What `predict` says, and with --debug, where reading the model raises an error."""

    def said(error, debug=""):
        def raising(*_, **__):
            raise error

        monkeypatch.setattr("setpoint.tables.TableModel.load", raising)
        return run(f"{debug} predict model.skops new.csv")

    return said


def test_only_errors_of_setpoint_say_what_is_wrong_and_debug_shows_where(fail):
    error = ValueError("cannot reshape")
    assert fail(error).error.startswith("unexpected ValueError: cannot reshape")
    assert "Traceback" in fail(error, "--debug").err


def test_errors_are_one_line_and_an_object_for_who_asked_for_json(run, here):
    for line, words in (
        ("evaluate none.skops none.csv", "none.skops"),
        ("fit none.csv --target y --goal f1 --model m", "none.csv"),
        ("fit none.csv --colour red", "--colour"),
        ("goal 'maximize recal'", "unknown word 'recal'"),
        ("goal lyft", "there is no metric 'lyft'"),
        ("solve no.parquet --score s --target y --goal f1", "no.parquet"),
    ):
        done = run(f"{line} --json")
        assert (done.code, done.out.count("\n")) == (1, 1)
        assert json.dumps(done.json, sort_keys=True) == done.out.strip()
        assert set(done.json) == {"command", "status", "error", "kind", "arguments"}
        assert (done.json["command"], done.json["status"]) == (line.split()[0], "error")
        assert words in done.json["error"]
        assert done.err.splitlines()[-1] == f"error: {done.json['error']}"
    # Lines of JSON hold rows and not errors.
    assert run("predict none.skops none.csv --json").error.endswith("No such file or directory")
    found = run("frontier model.skops checked.csv --vary 9 --json").json
    assert (found["kind"], found["arguments"]) == ("GoalError", ["vary"])
    assert found["error"].startswith("--vary 9 is the left side of no constraint")
    for line in ("nothing", "fit --bogus", "plan"):
        assert run(line).err.count("\n") == 1


def test_every_option_that_stands_for_an_argument_exists():
    known = {name for command in app.commands.values() for p in command.params for name in p.opts}
    known |= {f"setpoint {name}" for name in app.commands}
    source = Path(setpoint.cli.__file__).with_name("session.py").read_text("utf-8")
    found = set(re.findall(r'^    ".*": "(--[\w-]+|setpoint \w+)[" ]', source, re.MULTILINE))
    assert len(found) > 8
    assert found <= known


@over(
    "text, words",
    [
        ("`pos_label` 'x' is not a class", "--positive 'x' is not a class"),
        ("(`decide_on=None`)", "(--decide-on none)"),
        ("`unknown_group='largest'` decides", "--new-groups largest decides"),
        ("`on_uncertified='nearest'` gives", "--set uncertified=nearest gives"),
        ("`strict=True` takes", "--set strict takes"),
        ("`vary='recall >= 0.5'` is", "--vary 'recall >= 0.5' is"),
        ("`datasets['old']`: `y` is", "--dataset old: --target is"),
        ("`sensitive_features['sex']` has", "column 'sex' has"),
        ("`on_infeasible='nearest'` returns", "on_infeasible='nearest' returns"),
        ("'pos_label' of others stays", "'pos_label' of others stays"),
    ],
)
def test_words_of_the_shell(fail, text, words):
    assert fail(InputError(text)).error == words


# ---------------------------------------------------------------------- goals and metrics
def test_a_goal_in_words_and_in_json(run):
    done = run("goal", "maximize recall subject to precision >= 0.9, churn.on('old') <= 0.1")
    assert done.code == 0
    for words in (
        "Objective  recall: affine",
        "fractional",
        "--dataset old=FILE",
        "--baseline COL",
        "two classes: exact",
        "precision: share of the accepted that are right",
    ):
        assert words in done.out
    found = run(
        "goal --json", "maximize macro_f1 s.t. recall(label='fraud').min(country, sex) >= 0.2"
    )
    assert found.json["needs"] == {
        "columns": {"": ["country", "sex"]}, "numbers": {}, "datasets": [], "deployed": False,
    }  # fmt: skip
    assert found.json["objective"]["shape"] == "sum of ratios"
    assert found.json["solver"]["more classes"].startswith("column-generation")
    assert json.dumps(found.json, sort_keys=True) == found.out.strip()
    assert "numbers in the column amount" in run("goal 'maximize profit(tp=amount)'").out
    own = run("goal", 'maximize blackbox("shop:revenue")')
    assert "two classes: post-shift, measures the metric at each cut-off" in own.out


def test_a_goal_names_the_solvers_that_train_for_it(run):
    measuring, ramps = solvers_of("surrogates"), solvers_of("ramp")
    goals = {
        "minimize error_rate s.t. churn <= 0.1": ramps + measuring,
        "maximize recall s.t. predicted_rate.on(new) <= 0.1": ramps,
        "maximize recall s.t. precision >= 0.5": solvers_of("penalty") + ramps + measuring,
        "maximize f1 s.t. predicted_rate.max(sex) <= 0.5": ramps[:1] + measuring,
        "maximize recall s.t. g_mean.on(new) >= 0.5": (),
        'maximize blackbox("a:b")': measuring,
    }
    for goal, names in goals.items():
        assert run("goal --json", goal).json["trained"] == {n: SOLVERS[n].does for n in names}
    lines = [f"  --solver {name}: {SOLVERS[name].does}" for name in names]
    assert [x for x in run("goal", goal).out.splitlines() if "--solver" in x] == lines


def test_metrics(run):
    metrics = run("goal --json").json["metrics"]
    assert set(metrics) == set(TABLE)
    assert metrics["precision"]["formula"] == formula_of(TABLE["precision"])
    assert (metrics["win_loss_ratio"]["high"], metrics["mcc"]["low"]) == ("inf", -1.0)
    listed = run("goal").out
    assert [name for name in TABLE if f"  {name} " not in listed] == []
    assert "range    from -1 to 1, higher is better" in run("goal mcc").out
    assert run("goal TPR").out == run("goal recall").out


def test_demo_is_the_command_that_it_prints(run, tmp_path, monkeypatch):
    """And what it says to try next is a command that is there: the shell does not find this one."""
    monkeypatch.setattr(sys, "argv", [str(tmp_path / "bin" / "setpoint"), "demo"])
    monkeypatch.chdir(tmp_path)
    at = tmp_path / "demo"
    done = run("demo", at)
    assert done.code == 0, done.err
    assert sorted(p.name for p in at.iterdir()) == ["model.skops", "report.html", "tumours.csv"]
    line = next(x for x in done.out.split("\n") if x.startswith("$ setpoint fit"))
    again = run(shlex.join(shlex.split(line)[2:]))
    assert again.code in (0, 3, 4)
    assert again.out in done.out
    assert "  bin/setpoint predict " in done.out
