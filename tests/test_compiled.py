"""Kernels: compiled when called, with a folder to store them in or without."""

import copy
import importlib
import os
import pickle
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest

from setpoint.compiled import _announce, kernel
from setpoint.counts import argmax, confusion, curves, evidence, sweep
from setpoint.ramp.solvers.cutting_plane import primal_and_dual


@kernel(error_model="numpy", inline="always")
def share(a, b):
    return a / b


@kernel(error_model="numpy")
def shares(x):
    out = np.empty_like(x)
    for i in range(len(x)):
        out[i] = share(x[i], x.sum())
    return out


@kernel()
def nobody_calls(x):
    return x


def test_a_kernel_is_compiled_when_it_is_called_and_calls_another():
    assert nobody_calls._compiled is None
    assert shares(np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
    assert np.isnan(shares(np.zeros(1))).all()
    assert shares.compiled() is shares.compiled()


def test_a_kernel_goes_by_its_name():
    assert primal_and_dual.__name__ == "primal_and_dual"
    assert copy.deepcopy(primal_and_dual) is primal_and_dual
    assert pickle.loads(pickle.dumps(primal_and_dual)) is primal_and_dual


def test_threads_share_what_is_compiled():
    @kernel()
    def twice(x):
        return 2 * x

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(twice, range(64))) == list(range(0, 128, 2))
    assert len(twice.compiled().signatures) == 1


@pytest.mark.parametrize("broken", ["TemporaryFile", "replace"])
def test_no_folder_to_write_to(monkeypatch, broken):
    def refused(*args, **kwargs):
        raise OSError("read-only, or full")

    @kernel()
    def inner(x):
        return x + 1

    # Numba looks for a folder by writing to it; then it writes, and renames what it wrote.
    monkeypatch.setattr(tempfile if broken == "TemporaryFile" else os, broken, refused)
    assert inner(1) == 2
    assert inner(1.5) == 2.5


# ---------------------------------------------------------------------- sources that change
SOURCES = {
    "numbers_of": "FACTOR = 2\nTABLE = np.array([1.0, 5.0])\n",
    "called": (
        "import numbers_of\nfrom numbers_of import TABLE\n"
        "@kernel(forceinline=True)\n"
        "def times(x):\n    return numbers_of.FACTOR * x + TABLE[1]\n"
    ),
    "caller": (
        "from called import times\n@kernel()\ndef twice(x):\n    return times(x) + times(x)\n"
    ),
}
TWO = """
def added(x):
    return x + 1.0
one, other = kernel()(added), kernel(place="other", fastmath={"nsz", "reassoc"})(added)
@kernel()
def twice(x):
    return one(x) + other(x)
"""
HEAD = "import numpy as np\nfrom setpoint.compiled import kernel\n"
CHANGES = {
    "a constant of another file": ("numbers_of", "FACTOR = 2", "FACTOR = 3", 28.0),
    "a table of another file": ("numbers_of", "5.0", "6.0", 24.0),
    "a kernel that is called": ("called", "* x", "- x", 8.0),
    "the kernel itself": ("caller", "times(x) + ", "times(x) * ", 121.0),
    "how it is compiled": ("called", "forceinline=True", "forceinline=0", 22.0),
}


@pytest.fixture
def run(tmp_path, monkeypatch):
    """The answer of modules with these sources, loaded anew, and what was compiled already."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def answer(sources):
        for name, text in sources.items():
            path = tmp_path / f"{name}.py"
            path.write_text(HEAD + text)
            os.utime(path, (1e9, 1e9))  # the cache may not go by dates
            sys.modules.pop(name, None)
        importlib.invalidate_caches()
        twice = importlib.import_module("caller").twice
        return twice(3.0), len(twice.compiled().stats.cache_hits)

    yield answer
    for name in SOURCES:
        sys.modules.pop(name, None)


def test_what_changed_is_compiled_anew(run, tmp_path):
    assert run(SOURCES) == (22.0, 0)
    assert run(SOURCES) == (22.0, 1)
    stored = sorted(path.name for path in tmp_path.rglob("*.nb?"))
    assert len(stored) > 2
    for name, old, new, value in CHANGES.values():
        changed = SOURCES | {name: SOURCES[name].replace(old, new)}
        assert changed != SOURCES
        assert run(changed) == (value, 0)
        assert run(changed) == (value, 1)
    assert sorted(path.name for path in tmp_path.rglob("*.nb?")) == stored  # written over


def test_a_kernel_that_moves_to_another_file_is_compiled_anew(run, tmp_path):
    """What was stored imports the file in which a called kernel was."""
    assert run(SOURCES) == (22.0, 0)
    moved = {"moved": SOURCES["called"], "numbers_of": SOURCES["numbers_of"]}
    moved["caller"] = SOURCES["caller"].replace("from called", "from moved")
    sys.modules.pop("called")
    (tmp_path / "called.py").unlink()
    assert run(moved) == (22.0, 0)
    assert run(moved) == (22.0, 1)
    sys.modules.pop("moved")


def test_two_kernels_of_one_function_are_stored_both(run):
    for hits in (0, 1):
        assert run({"caller": TWO}) == (8.0, hits)
        caller = sys.modules["caller"]
        for each in (caller.one, caller.other):
            assert each(3.0) == 4.0
            assert len(each.compiled().stats.cache_hits) == hits


def test_the_order_of_a_set_does_not_count():
    """It differs between processes, which then would each compile for themselves."""
    one, other = {8, 0}, {0, 8}
    assert repr(one) != repr(other)

    def enclosing(found):
        @kernel(fastmath=found, more={"found": (found,)})
        def add(x):
            return x + len(found)

        return add

    assert enclosing(one).key == enclosing(other).key
    assert enclosing(one).key != enclosing({0, 9}).key


def test_where_a_kernel_stands_does_not_count(run):
    assert run(SOURCES) == (22.0, 0)
    assert run({name: "# a comment\n\n" + text for name, text in SOURCES.items()}) == (22.0, 1)


def test_kernels_that_differ_in_what_they_enclose():
    def made(n):
        @kernel()
        def add(x):
            return x + n

        return add

    assert made(1).key != made(2).key
    assert [made(n)(1) for n in (1, 2)] == [2, 3]


# ------------------------------------------------------------------------------ few numbers
def kernels():
    """Calls of kernels that may run as plain Python, and arrays that they write to."""
    rng = np.random.default_rng(0)
    scores = np.round(rng.normal(size=200), 1)
    kind = rng.integers(0, 2, 200).astype(np.uint8)
    _, counts = curves.cutoffs(scores, kind, None, 2)
    bits = scores.view(np.int64)
    low, _ = curves._magnitudes(bits)
    keys = np.empty_like(bits)
    curves._fill_keys(bits, kind, 1, low - 1, keys)
    ranked = np.sort(keys)
    yield curves._magnitudes, (bits,)
    yield curves._magnitudes, (np.zeros(3, np.int64),)
    yield curves._fill_keys, (bits, kind, 1, low - 1, np.empty_like(bits))
    yield curves._accumulate, (ranked >> 1, ranked & 1, None, np.empty_like(counts))
    for side in (-1.0, 1.0):
        yield curves._chain_of_curve, (counts[0], counts[1], 0.0078125, 0.0078125, side)
    p = rng.dirichlet([1, 1], 200)
    for weight in (None, rng.random(200)):
        yield confusion._count_distribution, (None, kind, p, weight, np.zeros((1, 2, 2)))
        yield confusion._count_pairs, (None, kind, kind, weight, np.zeros((1, 2, 2)))
    forms = np.array([[0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    size = counts.shape[1]
    scratch = np.empty(size), np.empty(size), np.empty(size)
    yield sweep.ratio, (counts, 0, size, forms, np.zeros(2), 0.0, *scratch)
    yield (
        sweep.sweep,
        (
            counts, forms[None, :, :].repeat(2, 0), np.zeros((2, 2)), np.zeros(2),
            np.array([0.4]), np.array([np.inf]), np.empty((0, 3)),
            1e-9, -1, True,
        ),
    )  # fmt: skip
    out = np.empty(200, np.uint64)
    yield evidence._hash, (p.view(np.uint64), kind, out)
    for code, weight in ((None, None), (kind, rng.random(200))):
        yield confusion._count_distribution, (code, kind, p, weight, np.zeros((2, 2, 3)))
    three = np.ascontiguousarray(rng.dirichlet([1, 1, 1, 1, 1, 1], 200).T)
    starts, lines = np.array([0, 120, 200]), np.zeros((4, 6))
    W, B = rng.random((2, 6)), rng.random((2, 6))
    for true, weight in ((None, None), (kind, rng.random(200))):
        yield (
            argmax._features,
            (
                three, W, B, starts, None, true, weight, np.empty(256), np.empty(256, np.uint8),
                lines, lines.copy(),
            ),
        )  # fmt: skip


def test_few_numbers_are_counted_alike_without_compiled_code(monkeypatch):
    calls = list(kernels())
    for function, args in calls:
        assert function._plain
        found = []
        for how in ("plain", "compiled"):
            given = copy.deepcopy(args)
            with monkeypatch.context() as patch:
                # Kernels within it run in the same way.
                patch.setattr(
                    type(function), "_are_few", lambda self, args, how=how: how == "plain"
                )
                called = type(function)(function._function, function._options, how == "plain")
                result = called(*given)
            found.append((result, [a for a in given if isinstance(a, np.ndarray)]))
        (plain, written), (made, also) = found
        pairs = zip(plain, made, strict=True) if isinstance(plain, tuple) else [(plain, made)]
        for a, b in pairs:
            np.testing.assert_array_equal(a, b, strict=True)
        assert type(plain) is type(made)
        for a, b in zip(written, also, strict=True):
            held = np.isfinite(a) | np.isfinite(b) if a.dtype.kind == "f" else slice(None)
            np.testing.assert_array_equal(a[held], b[held])


def test_many_calls_with_few_numbers_are_compiled_in_the_end(monkeypatch):
    @kernel(plain=True)
    def total(x):
        out = 0.0
        for i in range(x.size):
            out += x[i]
        return out

    monkeypatch.setattr(type(total), "left", 25)
    for _ in range(2):
        assert total(np.ones(10)) == 10.0
        assert total._compiled is None
    assert total(np.ones(10)) == 10.0
    assert total._compiled is not None


def test_compilation_is_said_once_before_it_starts(caplog, monkeypatch):
    monkeypatch.setattr("setpoint.compiled._announce", cache(_announce.__wrapped__))

    def made(n):
        @kernel()
        def add(x):
            return x + n

        return add

    number = int.from_bytes(os.urandom(6), "big")  # stored by nobody
    with caplog.at_level("INFO", logger="setpoint.compiled"):
        assert [made(number + i)(1) for i in (0, 1)] == [number + 1, number + 2]
    assert caplog.messages == [
        "compiling the counting of rows takes some seconds; it is stored for the next run"
    ]
