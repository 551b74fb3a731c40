"""The table of commands, which stands for their modules until one is named."""

import subprocess
import sys

import click
import pytest
from click.shell_completion import ShellComplete

from setpoint.cli.app import LINES, app

SETTINGS = {"OMP_WAIT_POLICY": "passive"}


@pytest.mark.parametrize("name", LINES)
def test_the_table_says_what_the_command_says(name):
    command = app.commands[name]
    assert command.name == name
    assert LINES[name] == command.get_short_help_str(limit=200)


def test_every_command_is_in_help_with_its_line(run):
    lines = " ".join(run("--help").stdout.split())
    for name, line in LINES.items():
        assert f"{name} {line}" in lines


def test_help_and_completion_import_no_command():
    code = (
        "import sys\n"
        "from setpoint.cli.app import app\n"
        "from click.shell_completion import ShellComplete\n"
        "try:\n    app.main(['--help'])\nexcept SystemExit:\n    pass\n"
        "found = ShellComplete(app, {}, 'setpoint', '_X').get_completions([], 'f')\n"
        "print([item.value for item in found])\n"
        "print([m for m in ('setpoint.cli.fit', 'setpoint.cli.stored') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-2:] == ["['fit', 'frontier']", "[]"]


@pytest.mark.parametrize(
    ("given", "begun", "found"),
    [
        ([], "mo", ["monitor"]),
        ([], "--ver", ["--version"]),
        (["predict"], "--over", ["--overwrite"]),
    ],
)
def test_completion(given, begun, found):
    items = ShellComplete(app, {}, "setpoint", "_X").get_completions(given, begun)
    assert [item.value for item in items] == found


def test_a_command_that_is_not_there(run):
    done = run("fitt")
    assert done.exit_code == 1
    assert "fit" in done.stderr
    assert isinstance(app, click.Group)


@pytest.mark.parametrize(("given", "found"), [(None, "passive"), ("active", "active")])
def test_threads_of_openmp_sleep_unless_the_user_says_otherwise(monkeypatch, given, found):
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    if given:
        monkeypatch.setenv("OMP_WAIT_POLICY", given)
    code = (
        "import os, sys\nfrom setpoint.cli import main\n"
        "try:\n    main(['--version'])\nexcept SystemExit:\n    pass\n"
        "print(os.environ['OMP_WAIT_POLICY'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == found


def test_a_program_ends_as_programs_do():
    code = "import atexit\natexit.register(print, 'the end')\n"
    code += "from setpoint.cli import main\nmain(['goal', 'maximize nothing'])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "the end\n")
