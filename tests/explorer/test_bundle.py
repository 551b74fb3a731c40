"""One script of several modules."""

import subprocess

import pytest

from explorer.in_node import NODE, needs_node
from setpoint.explorer import page as bundle


def modules(monkeypatch, **texts):
    monkeypatch.setattr(bundle, "_read", lambda name: texts[name.replace(".js", "")])
    bundle.bundled.cache_clear()


@pytest.fixture(autouse=True)
def _fresh():
    yield
    bundle.bundled.cache_clear()


def test_each_module_comes_once_and_below_those_that_use_it(monkeypatch):
    modules(
        monkeypatch,
        a='import { b } from "./b.js";\nimport {\n  c,\n} from "./c.js";\n'
        "export const a = b + c;\n",
        b='import { c } from "./c.js";\nexport function b() {}\n',
        c="export const c = 1;\nconst own = 2;\nexport { own };\n",
    )
    text = bundle.bundled("a.js")
    assert [line for line in text.split("\n") if line and not line.startswith("//")] == [
        "const c = 1;",
        "const own = 2;",
        "function b() {}",
        "const a = b + c;",
    ]


@needs_node
def test_the_script_of_the_page_is_valid(tmp_path):
    path = tmp_path / "page.mjs"
    path.write_text(bundle.bundled(), "utf-8")
    done = subprocess.run([NODE, "--check", str(path)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "</script" not in bundle.bundled()
