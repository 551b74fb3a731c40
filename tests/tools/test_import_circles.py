"""The search for circles of imports, on small packages with known ones."""

import importlib.util
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools" / "import_circles.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("import_circles", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def package(tmp_path):
    def made(**files):
        for name, text in {"__init__": "", **files}.items():
            path = tmp_path / "pack" / (name.replace("__init__", "INIT").replace("__", "/") + ".py")
            path = Path(str(path).replace("INIT", "__init__"))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / "pack"

    return made


def names(*circle):
    return frozenset(f"pack.{name}" for name in circle)


def circles(tool, folder):
    return tool.circles_of(tool.graph_of(folder))


def test_a_line_is_not_a_circle(tool, package):
    folder = package(a="import pack.b", b="from pack import c", c="import os\nimport pack.d", d="")
    assert circles(tool, folder) == []
    assert tool.graph_of(folder)["pack.b"] == {"pack.c"}


def test_two_circles_the_larger_first(tool, package):
    folder = package(
        a="from pack.b import x", b="from pack.c import x", c="from pack.a import x",
        d="from pack import e, a", e="import pack.d",
    )  # fmt: skip
    found = circles(tool, folder)
    assert found == [names("a", "b", "c"), names("d", "e")]
    way = tool.way_round(tool.graph_of(folder), found[0])
    assert way == ["pack.a", "pack.b", "pack.c", "pack.a"]


def test_two_circles_that_touch_are_one(tool, package):
    folder = package(a="import pack.b", b="import pack.a, pack.c", c="import pack.b")
    assert circles(tool, folder) == [names("a", "b", "c")]


def test_imports_inside_functions_count(tool, package):
    inside = "class A:\n    def f(self):\n        if self:\n            from pack.b import x\n"
    assert circles(tool, package(a=inside, b="import pack.a")) == [names("a", "b")]


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_types_do_not_count(tool, package, test):
    a = f"if {test}:\n    from pack.b import x\nelse:\n    import pack.c\n"
    folder = package(a=a, b="import pack.a", c="")
    assert circles(tool, folder) == []
    assert tool.graph_of(folder)["pack.a"] == {"pack.c"}


def test_the_init_of_a_package_is_a_module(tool, package):
    folder = package(__init__="from pack.a import x", a="from pack import x")
    assert circles(tool, folder) == [frozenset({"pack", "pack.a"})]
    lazy = "def __getattr__(name):\n    return load('pack.a', name)\n"
    assert circles(tool, package(__init__=lazy, a="from pack import x")) == []


def test_other_packages_are_left_out(tool, package):
    folder = package(a="import packing.b, numpy\nfrom other import b", b="import pack.a")
    assert circles(tool, folder) == []


def test_what_is_wrong_is_said(tool, package, capsys):
    folder = package(a="import pack.b", b="import pack.a")
    assert tool.main(folder) == 1
    assert "pack.a -> pack.b -> pack.a" in capsys.readouterr().out
    assert tool.main(package(b="")) == 0
    assert "no circle of imports" in capsys.readouterr().out


def test_relative_imports_are_refused(tool, package):
    with pytest.raises(SystemExit, match="relative"):
        tool.graph_of(package(a="from . import b"))


def test_a_long_line_of_modules(tool, package):
    n = sys.getrecursionlimit() // 4
    files = {f"m{i}": f"import pack.m{i + 1}" for i in range(n)}
    assert circles(tool, package(**files, **{f"m{n}": "import pack.m0"})) == [
        names(*(f"m{i}" for i in range(n + 1)))
    ]
