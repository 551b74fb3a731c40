"""Arguments of the library in messages of the shell: each has an option that exists."""

import json
import re

import pytest

from setpoint.cli.app import app
from setpoint.cli.session import WORDS, CommandError, in_shell_words, message_of
from setpoint.errors import InputError


def existing():
    """Options and commands of the program."""
    options = {
        option
        for command in app.commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    return options | {f"setpoint {name}" for name in app.commands}


def test_every_option_exists():
    found = {option for text in WORDS.values() for option in re.findall(r"--[\w-]+", text)}
    found |= {text for text in WORDS.values() if text.startswith("setpoint ")}
    assert found <= existing()
    assert len(found & existing()) > 25


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("`pos_label` 'x' is not a class", "--positive 'x' is not a class"),
        ("allow it with `randomized='auto'`", "allow it with --draws"),
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
def test_words(text, words):
    assert in_shell_words(text) == words
    assert message_of(InputError(text)) == message_of(CommandError(words)) == words


def test_only_errors_of_setpoint_say_what_is_wrong():
    assert message_of(ValueError("shape")).startswith("unexpected ValueError: shape")


def test_json_names_the_kind_and_the_arguments(run, folder, model):
    out = json.loads(run("goal", "maximize recal", "--json").stdout)
    assert (out["kind"], out["arguments"]) == ("GoalSyntaxError", [])
    done = run("frontier", model, folder / "checked.csv", "--vary", "9", "--json")
    out = json.loads(done.stdout)
    assert (out["kind"], out["arguments"]) == ("GoalError", ["vary"])
    assert out["error"].startswith("--vary 9 is the left side of no constraint")
