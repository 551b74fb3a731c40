"""Kernels: compiled when called, with a folder to store them in or without."""

import copy
import os
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from setpoint.compiled import kernel
from setpoint.ramp.sdca import undecided


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


def test_a_kernel_calls_another():
    assert shares(np.array([1.0, 3.0])).tolist() == [0.25, 0.75]
    assert np.isnan(shares(np.zeros(1))).all()


def test_nothing_is_compiled_before_it_is_called():
    assert nobody_calls._compiled is None
    assert shares.compiled() is shares.compiled()


def test_a_kernel_goes_by_its_name():
    assert undecided.__name__ == "undecided"
    assert copy.deepcopy(undecided) is undecided
    assert pickle.loads(pickle.dumps(undecided)) is undecided


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
