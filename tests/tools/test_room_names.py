"""The search for lower rooms that name upper ones, on a small package with known places."""

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "room_names.py"

PROJECT = """
[[tool.importlinter.contracts]]
name = "order"
type = "layers"
layers = ["(high) | (beside)", "(middle)", "low"]
"""
FILES = {
    "__init__": "from pack.high import Tower, run\nfrom pack.beside import Wing\n"
    "from pack.middle.hall import Hall\n",
    "low/a": '"""A Tower stands above."""\nx = "no Towers, run"\n',
    "low/b": '"""Example.\n\n>>> Tower()\n"""\nraise ValueError("Hall takes it")\n',
    "middle/c": 'x = f"{1}: Wing or Hall"\n',
    "high/d": 'x = "Wing and Hall"\n',
}


@pytest.fixture
def tool():
    spec = importlib.util.spec_from_file_location("room_names", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_places_are_named(tool, tmp_path, capsys):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name, text in FILES.items():
        path = tmp_path / "pack" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert tool.main(tmp_path / "pack", tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "pack/low/a.py:1: low names Tower of high",
        "pack/low/b.py:5: low names Hall of middle.hall",
        "pack/middle/c.py:1: middle names Wing of beside",
    ]


def test_two_classes_of_one_name(tool, tmp_path, capsys):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    for name, text in {
        "__init__": "",
        "low/a": "class A: ...\n",
        "high/b": "class A: ...\n",
    }.items():
        path = tmp_path / "pack" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert tool.main(tmp_path / "pack", tmp_path) == 1
    assert capsys.readouterr().out == "A is a class in pack/high/b.py and pack/low/a.py\n"


def test_nothing_to_say(tool, tmp_path, capsys):
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    (tmp_path / "pack").mkdir()
    (tmp_path / "pack" / "__init__.py").write_text(FILES["__init__"])
    assert tool.main(tmp_path / "pack", tmp_path) == 0
    assert "no room names one above it" in capsys.readouterr().out
