"""The pages: their code runs and prints what it says, their links lead somewhere."""

import contextlib
import doctest
import importlib.util
import io
import re
import warnings
from pathlib import Path

import pytest

import setpoint
from setpoint.goals import TABLE
from setpoint.solvers import FAMILIES, SOLVERS
from thinning import over

ROOT = Path(__file__).parents[2]
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *DOCS]
WITHOUT_CODE = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]

# A block of Python; right after it, as text, what it prints; before it, what it warns of.
BLOCK = re.compile(
    r"^(?:<!-- warns: (?P<warns>[\w, ]+) -->\n)?```python\n(?P<code>.*?)^```$"
    r"(?:\n\n```text\n(?P<prints>.*?)^```$)?",
    re.MULTILINE | re.DOTALL,
)
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
MADE = {ROOT / "docs/demo/report.html"}  # by a hook when the site is built
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def text_of(page):
    return page.read_text(encoding="utf-8")


def name_of(page):
    return page.relative_to(ROOT).as_posix().removeprefix("docs/")


def run(code, prints, names, where):
    """Run a block in the page's namespace and compare what it prints."""
    if ">>>" not in code:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(code, where, "exec"), names)  # noqa: S102  (our own pages)
        if prints is not None:
            same = doctest.OutputChecker().check_output(prints, out.getvalue(), FLAGS)
            assert same, f"{where} says\n{prints}\nand prints\n{out.getvalue()}"
        return
    test = doctest.DocTestParser().get_doctest(code, {}, where, where, 0)
    test.globs = names  # shared, not copied: the next block goes on from here
    output = []
    doctest.DocTestRunner(optionflags=FLAGS).run(test, out=output.append, clear_globs=False)
    assert not output, "".join(output)


# Pages whose models train for longer than seconds.
LONG = {
    "explanation/guarantees.md",
    "explanation/simulations.md",
    "families/multiclass.md",
    "families/penalty.md",
    "families/ramp.md",
    "families/surrogates.md",
    "reference/migration.md",
    "tasks/capacity.md",
    "tasks/choose-a-model.md",
    "tasks/defer.md",
    "tasks/explore.md",
    "tasks/fraud.md",
    "tasks/rows-needed.md",
    "tasks/values.md",
}
CODE = [
    pytest.param(page, marks=[pytest.mark.long] if name_of(page) in LONG else [])
    for page in PAGES
    if BLOCK.search(text_of(page))
]


@pytest.mark.parametrize("page", CODE, ids=name_of)
def test_code_runs(page):
    names = {"__name__": "__main__"}
    text = text_of(page)
    for block in BLOCK.finditer(text):
        line = text[: block.start()].count("\n") + 1
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            run(block["code"], block["prints"], names, f"{name_of(page)}:{line}")
        expected = set((block["warns"] or "").replace(",", " ").split())
        found = {w.category.__name__ for w in caught}
        messages = [str(w.message) for w in caught]
        assert found == expected, f"{name_of(page)}:{line} warns of {messages}"


def test_every_block_is_closed_and_named_and_every_page_in_the_menu():
    menu = text_of(ROOT / "mkdocs.yml")
    assert [name for p in DOCS if f": {(name := name_of(p))}\n" not in menu] == []
    for page in PAGES:
        fences = re.findall(r"^\s*```(.*)$", text_of(page), re.MULTILINE)
        assert len(fences) % 2 == 0, name_of(page)
        # "text", "sh" and "py" (shown, not run) are said; a bare fence would be an oversight.
        assert set(fences[::2]) <= {"python", "text", "sh", "py"}, name_of(page)


def slug(heading):
    plain = re.sub(r"[^\w\s-]", "", heading).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def anchors(page):
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    return {slug(h) for h in headings}


@over("page", [*PAGES, *WITHOUT_CODE])
def test_links_lead_somewhere(page):
    for link in LINK.findall(FENCED.sub("", text_of(page))):
        if link.startswith(("http:", "https:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists() or target in MADE, f"{name_of(page)}: {link}"
        assert not anchor or target.suffix != ".md" or anchor in anchors(target), (
            f"{name_of(page)}: {link}"
        )


def module_at(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def hooks():
    return module_at("hooks")


def test_tables_of_solvers_and_parameters_are_those_of_the_code(hooks):
    tables = hooks.solvers_tables()
    for name, solver in SOLVERS.items():
        assert f'| `"{name}"` | {solver.does} |' in tables
    for classifier in (*FAMILIES.values(), "OnlineFClassifier"):
        table = hooks.parameters_table(getattr(setpoint, classifier))
        names = getattr(setpoint, classifier)._get_param_names()
        assert [name for name in names if f"`{name}`" not in table] == []


def test_pages_of_the_reference_have_every_public_name():
    names = module_at("api_hooks")
    pages = [text_of(p) for p in (ROOT / "docs/reference/api").glob("*.md")]
    known = {name for page in pages for name in names.names_of(page)}
    assert [n for n in setpoint.__all__ if f"setpoint.{n}" not in known and n[0] != "_"] == []
    table = names.summary_table("::: setpoint.solve\n")
    assert "| [`solve`][setpoint.solve] | The rule over scores" in table


def test_pages_of_metrics_and_of_the_language_are_complete(hooks):
    page = hooks.on_page_markdown(text_of(ROOT / "docs/reference/metrics.md"))
    missing = [name for name in TABLE if f"\n| `{name}` " not in page]
    assert missing == []
    assert "<!--" not in page
    assert hooks.metric_line("precision").startswith('precision = _formula("precision", tp /')
    assert all(hooks.metric_line(name) for name in TABLE)
    page = text_of(ROOT / "docs/reference/language.md")
    with pytest.raises(setpoint.GoalError, match="known: ") as refused:
        setpoint.Goal.parse("maximize recall.nonsense(g)")
    reducers = re.findall(r"'(\w+)'", str(refused.value))
    assert len(reducers) == 12
    assert [
        kind for kind in reducers if f"`.{kind}`" not in page and f"`.{kind}(" not in page
    ] == []


def test_files_classes_and_constants_that_pages_name_exist():
    source = "\n".join(text_of(p) for p in sorted((ROOT / "src/setpoint").rglob("*.py")))
    known = set(re.findall(r"^(?:class )?([A-Z]\w+)(?:[(:]| = )", source, re.MULTILINE))
    members = set(re.findall(r"^    (?:def )?(\w+)[(:]", source, re.MULTILINE))
    for name in ("explanation/internals.md", "contributors/glossary.md"):
        named = re.findall(r"`([A-Z][A-Za-z]\w+)(?:\.(\w+))?`", text_of(ROOT / "docs" / name))
        assert len(named) > 20
        assert [x for x, _ in named if x not in known] == []
        assert [member for _, member in named if member and member not in members] == []
    for name in ("internals.md", "how-a-goal-becomes-a-rule.md"):
        page = text_of(ROOT / "docs/explanation" / name)
        files = re.findall(r"`((?:\w+/)+\w+\.py)`", page)
        assert files
        places = (ROOT, ROOT / "src/setpoint")
        assert [f for f in files if not any((at / f).exists() for at in places)] == []
