"""How many changes of the mathematics the tests notice: cosmic-ray makes them, one at a time.

Usage: ``python tools/mutants.py [number] [seed]``, after a run of the tests that wrote
``build/coverage`` with a context for each test; ``make mutants`` does both. A change is tried
with the tests that run its lines: those of its room first, the quickest first, for a minute.
"""

from __future__ import annotations

import ast
import json
import os
import random
import resource
import sys
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from coverage import CoverageData

ROOMS = ("search", "inference", "guarantees", "rules", "program")
SECONDS = (20.0, 10.0)
"""Of tests in the folder of the room, and then of others."""
LOADED = ("cvxpy", "highspy", "numba", "pandas", "polars", "scipy.stats", "sklearn.ensemble")
"""What nearly every test needs, imported once; each change is tried in a fork."""


class Mutant(NamedTuple):
    """A changed source, and the lines that differ."""

    path: Path
    lines: range
    operator: str
    code: str


def drawn(number: int, seed: int) -> Iterator[Mutant]:
    """So many places, drawn, and one change at each; those in annotations change nothing."""
    from cosmic_ray.ast import ast_nodes, get_ast_from_path
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    places = defaultdict(list)
    for path in sorted(p for room in ROOMS for p in Path("src/setpoint", room).rglob("*.py")):
        nodes = list(ast_nodes(get_ast_from_path(path)))
        typed = set(only_types(ast.parse(path.read_text("utf-8"))))
        for name in operator_names():
            operator = get_operator(name)
            if operator.arguments() or "Exception" in name:  # fails on tuples of exceptions
                continue
            found = (span for node in nodes for span in operator().mutation_positions(node))
            for occurrence, (start, end) in enumerate(found):
                if start not in typed:
                    kind = name.partition("_")[0]
                    places[path, start, kind].append((name, occurrence, end[0]))
    draw, left = random.Random(seed), number
    for key in draw.sample(sorted(places), len(places)):
        name, occurrence, last = draw.choice(places[key])
        path, start, _ = key
        code = path.read_text("utf-8")
        changed = mutate_code(code, get_operator(name)(), occurrence)
        with suppress(SyntaxError):
            if changed and ast.dump(ast.parse(code)) != ast.dump(ast.parse(changed)):
                yield Mutant(path, range(start[0], last + 1), name.rpartition("/")[2], changed)
                left -= 1
        if not left:
            return


def only_types(tree: ast.AST) -> Iterator[tuple[int, int]]:
    """Line and column of all that stands in annotations, or is imported for them."""
    for node in ast.walk(tree):
        parts = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            parts += node.body
        for inner in (inner for part in parts if part for inner in ast.walk(part)):
            if isinstance(inner, (ast.expr, ast.stmt)):
                ends = inner.end_col_offset if inner.end_lineno == inner.lineno else 0
                last = max(ends or 0, inner.col_offset + 1)
                yield from ((inner.lineno, column) for column in range(inner.col_offset, last))


class Only:
    """A plugin of pytest: of what was collected, these tests, the quickest first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.failed = seconds, ""

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        known = [item for item in items if item.nodeid in self.seconds]
        items[:] = sorted(known, key=lambda item: self.seconds[item.nodeid])

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = report.nodeid


def noticed_by(seconds: dict[str, float]) -> str:
    """The first of these tests that fails in a fork; "time" where it has to be stopped."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        quiet = os.open(os.devnull, os.O_WRONLY)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        limit = int(60 + 8 * sum(SECONDS))
        resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
        sys.dont_write_bytecode = True
        import pytest

        only = Only(seconds)
        files = sorted({name.partition("::")[0] for name in seconds})
        quietly = ["-x", "-q", "-p", "no:cacheprovider", "-m", "not long"]
        ignored = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        code = pytest.main([*quietly, *ignored, *files], plugins=[only])
        os.write(writing, (only.failed or ("" if code in (0, 5) else f"exit {code}")).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        failed = pipe.read()
    return "time" if os.WIFSIGNALED(os.waitpid(child, 0)[1]) else failed


def tests_of(
    mutant: Mutant, covered: CoverageData, seconds: dict[str, float]
) -> Iterator[dict[str, float]]:
    """Tests that run these lines, or of lines run at import any of the file; in two parts."""
    by_line = covered.contexts_by_lineno(str(mutant.path.absolute()))
    found = {c for line in mutant.lines for c in by_line.get(line, ()) if c}
    found = found or {c for contexts in by_line.values() for c in contexts if c}
    room = mutant.path.parts[2]
    own = (f"tests/{room}/", f"src/setpoint/{room}/")
    names = {c.rpartition("|")[0] for c in found}
    times = sorted((seconds.get(name.partition("[")[0], 0.1), name) for name in names)
    for inside, allowed in zip((True, False), SECONDS, strict=True):
        part = [(each, name) for each, name in times if name.startswith(own) == inside]
        so_far = accumulate(each for each, _ in part)
        yield {name: each for (each, name), t in zip(part, so_far, strict=True) if t <= allowed}


def main(number: int, seed: int) -> int:
    """Try changes one after another, and print what nobody noticed."""
    covered = CoverageData("build/coverage")
    covered.read()
    seconds = json.loads(Path(".pytest_cache/v/setpoint/seconds").read_text("utf-8"))
    mutants = list(drawn(number, seed))
    for name in LOADED:
        import_module(name)
    noticed = 0
    for mutant in mutants:
        whole, dates = mutant.path.read_bytes(), mutant.path.stat()
        try:
            mutant.path.write_text(mutant.code, "utf-8")
            parts = tests_of(mutant, covered, seconds)
            failed = next(filter(None, (noticed_by(part) for part in parts if part)), "")
        finally:
            mutant.path.write_bytes(whole)
            os.utime(mutant.path, ns=(dates.st_atime_ns, dates.st_mtime_ns))
        noticed += bool(failed)
        if not failed:
            print(f"{mutant.path}:{mutant.lines[0]}: {mutant.operator}", flush=True)
    print(f"{noticed} of {len(mutants)} changes are noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:] or ("300", "40"))))
