"""The law of the house, on a small package with known breaches."""

import importlib.util
import sys
from pathlib import Path
from textwrap import indent

import pytest

TOOLS = Path(__file__).parents[2] / "tools"

PUBLIC = '''"""Something.

Examples
--------
>>> 1 + 1
2
"""'''
FILES = {
    "__init__": '"""Package."""\nfrom pack.low import run\n__all__ = ["run"]\n',
    "low/__init__": "from pack.low.a import run\n",
    "low/a": f'__all__ = ["run"]\n\n\ndef run():\n    {indent(PUBLIC, "    ").strip()}\n',
    "low/b": 'from pack.low.a import run\n\n\ndef inner():\n    """One.\n\n    Two.\n    """\n',
    "high/__init__": "",
    "high/c": "from pack.low import run\nfrom pack.low.a import run as b\n\n\ndef plain(): ...\n",
}


@pytest.fixture
def package(tmp_path):
    for name, text in FILES.items():
        path = tmp_path / "src" / "pack" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "src" / "pack"


def tool(name, monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def test_doors(package, monkeypatch, capsys):
    assert tool("doors", monkeypatch).main(package) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{package}/high/c.py:2: pack.low.a is behind the door of low",
        f"{package}/low/a.py:1: __all__ is for doors",
    ]


def test_docstrings(package, monkeypatch, capsys):
    found = tool("docstrings", monkeypatch)
    assert found.main(package) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"{package}/low/b.py:4: inner is not for users: one paragraph, and examples"]
    path = package / "low" / "a.py"
    path.write_text(path.read_text().replace(">>> ", ""))
    (package / "low" / "b.py").write_text("")
    assert found.main(package) == 1
    assert "run has no example" in capsys.readouterr().out


def test_sizes(package, monkeypatch, capsys):
    found = tool("house_size", monkeypatch)
    budgets = package.parent / "budgets.toml"
    budgets.write_text("[all]\ncode = 4\n[top]\ncode = 9\n[low]\nfiles = 3\n[high]\nheads = 2\n")
    assert found.main(package, budgets) == 1
    printed = capsys.readouterr().out.splitlines()
    # Of `all`: 2 + 1 + 2 + 2 + 0 + 3 lines of code, of which 7 are heads.
    assert printed[-5].split() == ["all", "6", "28", "10", "2", "7", "3"]
    assert printed[-4:] == [
        f"{package}/high/c.py: 5 lines; a chapter has 80 to 700",
        f"{package}/low/a.py: 11 lines; a chapter has 80 to 700",
        f"{package}/low/b.py: 8 lines; a chapter has 80 to 700",
        "all: 10 of 4 code",
    ]


def test_too_many_files_and_a_room_without_a_budget(package, monkeypatch, capsys):
    found = tool("house_size", monkeypatch)
    for i in range(11):
        (package / "high" / f"d{i}.py").write_text("x = 1\n" * 90)
    budgets = package.parent / "budgets.toml"
    budgets.write_text("[all]\n[top]\n[low]\n")
    assert found.main(package, budgets) == 1
    printed = capsys.readouterr().out
    assert "high has no budget in budgets.toml" in printed
    assert "high: 12 files of at most 10" in printed
