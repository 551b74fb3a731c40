"""The gallery: every example says what it shows, runs, and returns its pictures."""

import doctest
import importlib.util
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib as mpl
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
NOT_EXAMPLES = {"gallery", "demo"}
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
NAMES = sorted({p.stem for p in EXAMPLES.glob("*.py")} - NOT_EXAMPLES)

# A block of commands with what it prints right after it.
COMMANDS = re.compile(
    # Commands that print nothing here are shown only.
    r"^```sh\n(?P<code>(?:(?!```).*\n)+)```\n\n```text\n(?P<prints>(?:(?!```).*\n)*)```$",
    re.MULTILINE,
)
PAGE = (ROOT / "docs/reference/shell.md").read_text(encoding="utf-8")
# The pages whose commands are run, with the least number of blocks that print.
SCRIPTS = {"reference/shell.md": 6, "start/demo.md": 4}


def module_at(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(autouse=True)
def no_screen():
    before = mpl.get_backend()
    mpl.use("agg")
    yield
    plt.close("all")
    mpl.use(before)


@pytest.fixture
def gallery():
    return module_at(EXAMPLES / "gallery.py")


@pytest.fixture
def hooks():
    return module_at(ROOT / "docs" / "gallery_hooks.py")


def test_every_example_is_listed_has_a_title_and_says_what_one_learns(gallery):
    assert sorted(gallery.ORDER) == NAMES
    for example in map(gallery.read, NAMES):
        assert re.fullmatch(r"[A-Z][^\n]{10,90}", example.title)
        assert 100 < len(example.text) < 700
        assert "def main():" in example.code
        assert example.code.endswith('if __name__ == "__main__":\n    main()\n')
        assert len(example.code.splitlines()) <= 70


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_example_runs_and_returns_its_pictures(gallery, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        printed, figures = gallery.run(name)
        pictures = gallery.pictures(name, figures)
    assert [str(w.message) for w in caught] == []
    assert printed.strip()
    assert figures
    assert all(isinstance(f, Figure) for f in figures)
    assert all("<svg" in text for text in pictures.values())
    assert list(tmp_path.iterdir()) == []


def test_gallery_shows_text_output_code_and_picture(hooks):
    page, drawn = hooks.gallery_page("# Gallery\n\n<!-- gallery -->\n", ("only_scores",))
    assert "[![Only scores: a rule for another system, as JSON](pictures/only_scores_1.svg)" in page
    assert "](#only_scores){ .card }" in page
    assert "## Only scores: a rule for another system, as JSON { #only_scores }" in page
    assert "![Only scores: a rule for another system, as JSON](pictures/only_scores_1.svg)" in page
    assert "predict 'default' when the score is at least" in page
    assert "\n    def main():\n" in page
    assert "<!--" not in page
    assert list(drawn) == ["only_scores_1.svg"]


def test_pictures_stand_after_the_code_that_makes_them(hooks):
    block = "```python\nimport matplotlib.pyplot as plt\n\nplt.figure()\n```\n"
    text, drawn = hooks.pictures_of_page("a/p", f"{block}\n<!-- pictures: a line -->\n\nEnd\n")
    assert text == f"{block}\n![a line](../pictures/p_1.svg)\n\nEnd\n"
    assert list(drawn) == ["p_1.svg"]

    with pytest.raises(ValueError, match="makes no picture"):
        hooks.pictures_of_page("p", "```python\nx = 1\n```\n\n<!-- pictures: none -->\n")


@pytest.mark.long
@pytest.mark.parametrize("page", SCRIPTS)
def test_commands_print_what_their_page_says(page, tmp_path):
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    program = tmp_path / "bin" / "setpoint"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m setpoint.cli "$@"\n')
    program.chmod(0o755)
    python = program.with_name("python")  # a block writes Parquet files
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    env = {**os.environ, "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}"}
    env |= {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "80"}
    blocks = list(COMMANDS.finditer(text))
    assert len(blocks) >= SCRIPTS[page]
    assert "unexpected" not in text  # what the program says of accidents
    for block in blocks:
        done = subprocess.run(
            ["bash", "-c", block["code"]],
            check=False,  # some end with 3
            cwd=work,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=600,
        )
        line = text[: block.start()].count("\n") + 1
        same = doctest.OutputChecker().check_output(block["prints"], done.stdout, FLAGS)
        assert same, f"{page}:{line} says\n{block['prints']}\nand prints\n{done.stdout}"


def test_shell_page_names_every_command_and_option():
    from setpoint.cli.app import app

    for name, command in app.commands.items():
        assert f"`setpoint {name}" in PAGE, name
        options = [o for p in command.params for o in p.opts if o.startswith("--")]
        assert [o for o in options if o != "--help" and f"`{o}" not in PAGE] == [], name
