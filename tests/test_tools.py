"""The law of the house, on small packages with known breaches."""

import importlib.util
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"


@pytest.fixture
def tool(monkeypatch):
    """One of the scripts of ``tools``, loaded anew."""
    monkeypatch.syspath_prepend(str(TOOLS))

    def loaded(name):
        spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
        return module

    return loaded


@pytest.fixture
def written(tmp_path):
    """A folder with these files."""

    def made(files, ending=".py", at="src/pack"):
        for name, text in files.items():
            path = tmp_path / at / f"{name}{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / at

    return made


# ---------------------------------------------------------------------- doors, docstrings, sizes
EXAMPLE = '    """Something.\n\n    Examples\n    --------\n    >>> 1 + 1\n    2\n    """\n'
HOUSE = {
    "__init__": '"""Package."""\nfrom pack.low import run\n__all__ = ["run"]\n',
    "low/__init__": "from pack.low.a import run\n",
    "low/a": f'__all__ = ["run"]\n\n\ndef run():\n{EXAMPLE}',
    "low/b": 'from pack.low.a import run\n\n\ndef inner():\n    """One.\n\n    Two.\n    """\n',
    "high/__init__": "",
    "high/c": "from pack.low import run\nfrom pack.low.a import run as b\n\n\ndef plain(): ...\n",
}


def test_doors(tool, written, capsys):
    package = written(HOUSE)
    text = "from pack.low import run\nfrom pack.low.b import inner\nimport pack.high.c as c\n"
    tests = written({"test_a": text + "from pack.low import a\n"}, at="tests")
    assert tool("doors").main(package, tests) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{package}/high/c.py:2: pack.low.a is behind the door of low",
        f"{package}/low/a.py:1: __all__ is for doors",
        f"{tests}/test_a.py:2: pack.low.b is behind the door of low",
        f"{tests}/test_a.py:3: pack.high.c is behind the door of high",
        f"{tests}/test_a.py:4: pack.low.a is behind the door of low",
    ]


def test_docstrings(tool, written, capsys):
    package, found = written(HOUSE), tool("docstrings")
    assert found.main(package) == 1
    printed = capsys.readouterr().out.splitlines()
    assert printed == [f"{package}/low/b.py:4: inner is not for users: one paragraph, and examples"]
    written({"low/a": HOUSE["low/a"].replace(">>> ", ""), "low/b": ""})
    assert found.main(package) == 1
    assert "run has no example" in capsys.readouterr().out


RAISED = {
    "low/a": 'def f(rows):\n    raise AnError("`rows` of `row`, `Row=2`")\n\n\nclass Row: ...\n',
    "low/b": 'if x:\n    raise ValueError("`rows[0]`")\nraise e.TypeError\nwarnings.warn("x")\n',
    "cli/session": 'SAID = {"key": 1}\nraise a.AnError(f"`key` {x} `col[{y}]`", z="`said`")\n',
    "errors": "import warnings\nwarnings.warn('x')\nraise RuntimeError()\n",
}


def test_what_is_raised(tool, written, capsys):
    package = written(RAISED)
    assert tool("raised").main(package) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"{package}/cli/session.py:2: nothing is called 'col'",
        f"{package}/cli/session.py:2: nothing is called 'said'",
        f"{package}/errors.py:3: RuntimeError is not of setpoint",
        f"{package}/low/a.py:2: nothing is called 'row'",
        f"{package}/low/b.py:2: ValueError is not of setpoint",
        f"{package}/low/b.py:4: warnings are issued by warn_caller",
    ]


def test_sizes(tool, written, capsys):
    package, found = written(HOUSE), tool("house_size")
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
    written({f"high/d{i}": "x = 1\n" * 90 for i in range(11)})
    budgets.write_text("[all]\n[top]\n[low]\n")
    assert found.main(package, budgets) == 1
    printed = capsys.readouterr().out
    assert "high has no budget in budgets.toml" in printed
    assert "high: 12 files of at most 10" in printed


# ---------------------------------------------------------------------- circles of imports
THREE = {
    "a": "from pack.b import x",
    "b": "from pack.c import x",
    "c": "from pack.a import x",
    "d": "from pack import e, a",
    "e": "import pack.d",
}
INSIDE = "class A:\n    def f(self):\n        if self:\n            from pack.b import x\n"
TYPED = "if {}:\n    from pack.b import x\nelse:\n    import pack.c\n"
LAZY = "def __getattr__(name):\n    return load('pack.a', name)\n"
LONG = sys.getrecursionlimit() // 4
LINE = {f"m{i}": f"import pack.m{i + 1}" for i in range(LONG)}
CIRCLES = {
    "two, the larger first": (THREE, ["abc", "de"]),
    "two that touch are one": (
        {"a": "import pack.b", "b": "import pack.a, pack.c", "c": "import pack.b"}, ["abc"],
    ),
    "inside functions": ({"a": INSIDE, "b": "import pack.a"}, ["ab"]),
    "for types": ({"a": TYPED.format("TYPE_CHECKING"), "b": "import pack.a", "c": ""}, []),
    "a door": (
        {"__init__": "from pack.a import x", "a": "from pack import x"}, [["pack", "pack.a"]],
    ),
    "a lazy door": ({"__init__": LAZY, "a": "from pack import x"}, []),
    "a long line": (
        {**LINE, f"m{LONG}": "import pack.m0"}, [[f"pack.m{i}" for i in range(LONG + 1)]],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CIRCLES)
def test_circles(tool, written, name):
    files, expected = CIRCLES[name]
    circles, package = tool("import_circles"), written({"__init__": "", **files})
    found = circles.circles_of(circles.graph_of(package))
    assert found == [
        frozenset(f"pack.{x}" for x in group) if isinstance(group, str) else frozenset(group)
        for group in expected
    ]


def test_what_is_wrong_with_imports_is_said(tool, written, capsys):
    circles, package = tool("import_circles"), written({"__init__": "", **THREE})
    graph = circles.graph_of(package)
    way = circles.way_round(graph, circles.circles_of(graph)[0])
    assert way == ["pack.a", "pack.b", "pack.c", "pack.a"]
    assert circles.main(package) == 1
    assert "pack.a -> pack.b -> pack.c -> pack.a" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="relative"):
        circles.graph_of(written({"a": "from . import b"}))
    assert circles.main(written(dict.fromkeys(THREE, ""))) == 0
    assert "no circle of imports" in capsys.readouterr().out


# ---------------------------------------------------------------------- rooms that name others
LAYERS = """
[[tool.importlinter.contracts]]
name = "order"
type = "layers"
layers = ["(high) | (beside)", "(middle)", "low"]
"""
NAMES = {
    "__init__": "from pack.high import Tower, run\nfrom pack.beside import Wing\n"
    "from pack.middle.hall import Hall\n",
    "low/a": '"""A Tower stands above."""\nx = "no Towers, run"\n',
    "low/b": '"""Example.\n\n>>> Tower()\n"""\nraise ValueError("Hall takes it")\n',
    "middle/c": 'x = f"{1}: Wing or Hall"\n',
    "high/d": 'x = "Wing and Hall"\n',
}
NAMED = {
    "places": (
        NAMES, 1,
        "pack/low/a.py:1: low names Tower of high\npack/low/b.py:5: low names Hall of middle.hall\n"
        "pack/middle/c.py:1: middle names Wing of beside\n",
    ),
    "two classes of one name": (
        {"__init__": "", "low/a": "class A: ...\n", "high/b": "class A: ...\n"}, 1,
        "A is a class in pack/high/b.py and pack/low/a.py\n",
    ),
    "nothing": (
        {"__init__": NAMES["__init__"]}, 0,
        "no room names one above it, no two classes have one name\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", NAMED)
def test_rooms_that_name_upper_ones(tool, written, capsys, name):
    files, code, printed = NAMED[name]
    package = written(files, at="pack")
    (package.parent / "pyproject.toml").write_text(LAYERS)
    assert tool("room_names").main(package, package.parent) == code
    assert capsys.readouterr().out == printed


# ---------------------------------------------------------------------- words
WORDS = {
    "src/pack/a.py": '"""Of what was Told.\n\nThere is no row, and it is no longer here.\n"""\n',
    "src/pack/b.py": "class StreamTold:\n    was_told = chair = 'coins'  # at\n    # hand\n",
    "docs/a.md": "A file that is\nno checkpoint.\n",
    "docs/a.svg": "told",
    "docs/b.md": "Over what there is of it. Else UTF-8.\n\n| a | Else b |\n",
    "src/pack/c.py": 'help="Else stdout."\n"""If.\n\nElse not."""\n',
    "src/pack/d.py": "class Else:\n    Else = 1\n    if x:\n        a()\n    else:\n        b()\n",
    "README.md": "No coinage, no hairline: the rows are no worse.\n",
    "tests/test_a.py": "def test_what_is_no_class(told):\n    pass\n",
}
DIALECT = """
docs/a.md:1: 'is no checkpoint'
docs/b.md:1: 'Else'
docs/b.md:1: 'what there is of'
docs/b.md:3: 'Else'
src/pack/a.py:1: 'Told'
src/pack/b.py:1: 'Told'
src/pack/b.py:2: 'at # hand'
src/pack/b.py:2: 'told'
src/pack/c.py:1: 'Else'
src/pack/c.py:4: 'Else'
tests/test_a.py:1: 'is_no_class'
"""


@pytest.mark.parametrize("names", [WORDS, ["README.md"]], ids=["a dialect", "plain"])
def test_words(tool, written, capsys, names):
    folder = written({name: WORDS[name] for name in names}, "", ".")
    code = tool("plain_words").main(folder)
    lines = sorted(line.split("; ")[0] for line in capsys.readouterr().out.splitlines())
    if names is WORDS:
        assert (code, lines) == (1, DIALECT.strip().splitlines())
    else:
        assert (code, lines) == (0, ["all words are plain"])


# ---------------------------------------------------------------------- lowest versions
PROJECT = {
    "name": "house",
    "dependencies": ["numpy>=2,<3", "narwhals >= 2.10"],
    "optional-dependencies": {
        "cli": ["house[page]", "click>=8.2,<9", "dask[array]>=2025.1; python_version > '3'"],
        "page": ["Jinja2>=3.1,!=3.1.4", "click>=8.10"],
        "open": ["pandas<4"],
    },
}


def test_lowest_versions(tool):
    found = tool("lowest_versions")
    core = {"numpy": "2", "narwhals": "2.10"}
    assert found.lowest(PROJECT, []) == core
    more = {"click": "8.10", "dask": "2025.1", "jinja2": "3.1"}
    assert found.lowest(PROJECT, ["cli"]) == core | more
    with pytest.raises(ValueError, match="'pandas<4' has no lowest version"):
        found.lowest(PROJECT, ["open"])
