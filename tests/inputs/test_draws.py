"""Draws from row content: the same in any batch, uniform, and independent between keys."""

import datetime as dt
import hashlib
import struct
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from setpoint.inputs import column_draws, row_draws
from thinning import over

N = 1000
FRAMES = [pd.DataFrame, pl.DataFrame, pa.table]
same = np.testing.assert_array_equal


def numbers(seed=0, n=N, p=6):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(2)
    X[rng.random(X.shape) < 0.3] = 0
    X[rng.random(X.shape) < 0.05] = -0.0
    X[rng.random(X.shape) < 0.05] = np.nan
    return X


def mixed(n=N):
    rng = np.random.default_rng(1)
    day = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    return {
        "x": [None if i % 7 == 0 else float(v) for i, v in enumerate(rng.normal(size=n))],
        "n": [None if i % 11 == 0 else int(v) for i, v in enumerate(rng.integers(-5, 5, n))],
        "flag": [None if i % 13 == 0 else bool(v) for i, v in enumerate(rng.integers(0, 2, n))],
        "word": [None if i % 5 == 0 else f"wörd {v}" for i, v in enumerate(rng.integers(0, 9, n))],
        "at": [
            None if i % 3 == 0 else day + dt.timedelta(seconds=i, microseconds=7) for i in range(n)
        ],
        "lasts": [None if i % 4 == 0 else dt.timedelta(milliseconds=i) for i in range(n)],
        "day": [None if i % 9 == 0 else dt.date(1999, 12, 1 + i % 30) for i in range(n)],
    }


def as_objects(data):
    return np.array([list(row) for row in zip(*data.values(), strict=True)], dtype=object)


# ------------------------------------------------------------------------------- invariance


INPUTS = {
    "numbers": (numbers(), lambda X, i: X[i]),
    "fortran": (np.asfortranarray(numbers()), lambda X, i: X[i]),
    "objects": (as_objects(mixed()), lambda X, i: X[i]),
    "sparse": (sparse.csr_array(np.nan_to_num(numbers())), lambda X, i: X[i]),
    "text": (np.array([f"w{i % 50}" for i in range(N)]), lambda X, i: X[i]),
    "pandas": (pd.DataFrame(mixed()), lambda X, i: X.iloc[i]),
    "polars": (pl.DataFrame(mixed()), lambda X, i: X[i]),
    "pyarrow": (pa.table(mixed()), lambda X, i: X.take(i)),
}


@over("kind", INPUTS)
def test_batches_and_order_do_not_matter(kind):
    X, take = INPUTS[kind]
    u = row_draws(X, key=3)
    assert u.dtype == np.float64
    assert u.shape == (N,)
    assert ((u >= 0) & (u < 1)).all()
    order = np.random.default_rng(0).permutation(N)
    same(row_draws(take(X, order), key=3), u[order])
    singly = [np.array([i]) for i in range(60)]
    for cut in (np.arange(0), *singly, np.arange(7, 500), np.arange(500, N)):
        same(row_draws(take(X, cut), key=3), u[cut])


@given(st.lists(st.lists(st.floats(width=32), min_size=3, max_size=3), min_size=1), st.data())
def test_any_layout(rows, data):
    X = np.array(rows, dtype=np.float32)
    u = row_draws(X, key=5)
    same(row_draws(rows, key=5), u)
    same(row_draws(np.asfortranarray(X), key=5), u)
    same(row_draws(np.repeat(X, 2, axis=1)[:, ::2], key=5), u)
    same(row_draws(X.astype(np.float64), key=5), u)
    same(row_draws(X.astype(">f8"), key=5), u)
    same(row_draws(X.astype(object), key=5), u)
    same(row_draws(sparse.csc_array(X), key=5), u)
    i = data.draw(st.integers(0, len(rows) - 1))
    assert row_draws(X[i : i + 1], key=5)[0] == u[i]


# -------------------------------------------------------------------------------- agreement


def test_sparse_by_another_route_and_the_argument_is_left_alone():
    u = row_draws([[0.0, 3.0], [0.0, 0.0], [1.0, 0.0]], key=2)
    stored_zero = sparse.csr_array(([3.0, -0.0, 1.0], ([0, 1, 2], [1, 0, 0])), shape=(3, 2))
    parts = ([1.0, 2.0, 1.0], np.array([1, 1, 0]), np.array([0, 2, 2, 3]))
    doubled = sparse.csr_array(parts, shape=(3, 2))
    for found in (stored_zero, doubled):
        same(row_draws(found, key=2), u)
        assert found.nnz == 3
    shuffled = sparse.csr_array(([2.0, 1.0], np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    same(row_draws(shuffled, key=2), row_draws([[1, 2]], key=2))
    X, y = numbers(), np.array([-0.0, np.nan])
    before = X.copy()
    row_draws(X, key=1), column_draws(y, key=1)
    assert X.tobytes() == before.tobytes()
    assert np.signbit(y[0])


@over("frame", FRAMES)
def test_frames_agree_with_arrays(frame):
    X = np.nan_to_num(numbers())
    named = frame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    same(row_draws(named, key=4), row_draws(X, key=4))
    data = mixed()
    same(row_draws(frame(data), key=4), row_draws(as_objects(data), key=4))


def entry(value):
    return np.array([[value]], dtype=object)


def bits(nan):
    return np.array([[nan]], dtype=np.uint64).view(np.float64)


AT = dt.datetime(2021, 5, 6, 7, 8, 9, 123456)
WORDS = ["b", None, "é"]
NUMBERS = (bool, np.int8, np.uint64, np.float16, np.float32, np.longdouble, ">f8", object)
EXTENDED = ("Int64", "Float64", "boolean", "int8[pyarrow]", "category", "Sparse[int]")
SAME = {
    "one": [
        *(np.array([[1]], dtype=dtype) for dtype in NUMBERS),
        *(pd.DataFrame({"a": [1]}).astype(dtype) for dtype in EXTENDED),
        sparse.csr_array(np.eye(1, dtype=bool)), entry(Decimal(1)), entry(np.float32(1)),
        pd.Series([1]), pl.Series([1]), pa.array([1]), [1, "a"][:1], [[1]],
    ],
    "zero": [[[0]], [[-0.0]], entry(False), sparse.csr_array((1, 1)), [0]],
    "missing": [
        [[np.nan]], bits(0xFFF8000000000123), bits(0x7FF0000000000001),
        np.array([["NaT"]], "M8[s]"), sparse.csr_array([[np.nan]]), pa.table({"a": [None]}),
        *(entry(v) for v in (None, pd.NA, pd.NaT, np.float32("nan"), Decimal("nan"))),
        entry(np.datetime64("NaT")), pa.array(WORDS).dictionary_encode()[1:2],
        *(pd.Series(pd.array([None], dtype=t)) for t in ("Int64", "string", "boolean")),
        pd.Series(pd.Categorical([None], categories=["b"])), pl.Series([float("nan")]),
        *(pl.Series([None], dtype=t) for t in (pl.Null, pl.Int8, pl.String, pl.Date)),
    ],
    "text": [
        ["é"], np.array(["é"]), entry("é"), np.array(["é"], dtype=np.dtypes.StringDType()),
        *(pd.Series(WORDS, dtype=t)[2:] for t in ("object", "category", "string")),
        pd.Index(["é"]), np.array(["é".encode()]), pl.DataFrame({"a": ["é".encode()]}),
        *(pl.Series(WORDS, dtype=t)[2:] for t in (pl.String, pl.Categorical, pl.Enum(["b", "é"]))),
        pa.array(WORDS)[2:], pa.array(WORDS).dictionary_encode()[2:],
    ],
    "instant": [
        *(entry(v) for v in (AT, AT.replace(tzinfo=dt.UTC), np.datetime64(AT))),
        entry(AT.replace(tzinfo=dt.UTC).astimezone(dt.timezone(dt.timedelta(hours=2)))),
        entry(np.datetime64(AT, "ns")), entry(pd.Timestamp(AT)),
        entry(pd.Timestamp(AT, tz="UTC").tz_convert("Asia/Tokyo")),
    ],
    "day": [
        *(pd.Series(pd.to_datetime(["2021-05-06"]).as_unit(u)) for u in ("s", "ms", "us", "ns")),
        *(np.array([["2021-05-06"]], f"M8[{u}]") for u in ("D", "h", "m", "s", "ns")),
        [[dt.date(2021, 5, 6)]],
    ],
    "far day": [pd.Series(pd.to_datetime(["9999-12-31"]).as_unit("s")), [[dt.date(9999, 12, 31)]]],
    "year": [np.array([[2]], dtype="M8[Y]"), np.array([[24]], "M8[M]"), [[dt.date(1972, 1, 1)]]],
    "weeks": [
        *(np.array([[2]], "M8[W]"), np.array([[7]], "M8[2D]"), [[dt.date(1970, 1, 15)]]),
        np.array([["1970-01-15"]], "M8[ps]"),
    ],
    "span": [entry(dt.timedelta(1)), entry(np.timedelta64(24, "h")), entry(pd.Timedelta("1D"))],
    **{
        repr(value): [entry(value)]
        for value in (
            "1", "", "nan", "None", "True", np.inf, -np.inf, dt.time(1), np.datetime64(1, "ns"),
            np.timedelta64(1, "ns"), np.datetime64(0, "ns"), np.timedelta64(0, "ns"), "\ud800",
        )
    },
}  # fmt: skip


def test_kinds_agree_whatever_holds_them_and_differ_from_each_other():
    found = {name: {row_draws(x, key=9)[0] for x in forms} for name, forms in SAME.items()}
    assert {name: len(draws) for name, draws in found.items() if len(draws) > 1} == {}
    assert len(set.union(*found.values())) == len(SAME)
    who = uuid.UUID(int=5)
    assert column_draws([who], key=1) == column_draws([str(who)], key=1)


# ---------------------------------------------------------------------------- feature names


@over("frame", FRAMES)
def test_columns_by_name(frame):
    u = row_draws(frame({"a": [1, 2], "b": ["x", "y"]}), key=1)
    other = frame({"c": [5, 6], "b": ["x", "y"], "a": [1, 2]})
    same(row_draws(other, key=1, feature_names=["a", "b"]), u)
    same(row_draws(other, key=1, feature_names=np.array(["a", "b"], dtype=object)), u)
    same(row_draws([[1, "x"], [2, "y"]], key=1, feature_names=["a", "b"]), u)
    assert (row_draws(other, key=1) != u).all()


@over(
    "X, names, error, message",
    [
        (pd.DataFrame({"age": [1]}), ["agee"], ValueError,
         "`X` has no column 'agee', seen in fit (did you mean 'age'?)"),
        (pa.table([[1], [2]], names=["a", "a"]), None, ValueError, "has duplicate column names"),
        (np.zeros((0, 3)), ["a", "b"], ValueError, "`X` has 3 columns, fit saw 2"),
        (sparse.eye_array(3), ["a", "b"], ValueError, "`X` has 3 columns, fit saw 2"),
        ([[1, 2], [3]], None, ValueError, "`X` is a ragged list: its rows differ in length"),
        (3.0, None, ValueError, "`X` must have rows; found a float"),
        ([[10**400, "a"]], None, ValueError,
         "column 0 of X holds an integer beyond the range of float64"),
        (np.array([[1j]]), None, TypeError, "column 0 of X holds complex128; text, numbers, bool"),
        (sparse.csr_array([[1j]]), None, TypeError, "`X` holds complex128; text"),
        ([{"a": 1}], None, TypeError, "column 0 of X holds values of type dict; text"),
        (pl.DataFrame({"a": [[1], [2, 3]]}), None, TypeError, "'a' of X holds values of type ndar"),
        (pa.table({"a": [{"b": 1}]}), None, TypeError, "column 'a' of X holds values of type dict"),
        (np.array([[2]], "m8[Y]"), None, TypeError, "timedelta64[Y], which has no length in nano"),
    ],
)  # fmt: skip
def test_refusals(X, names, error, message):
    with pytest.raises(error) as caught:
        row_draws(X, key=0, feature_names=names)
    assert message in str(caught.value)


def test_keys_and_identifiers_that_are_refused():
    with pytest.raises(TypeError, match="float"):
        row_draws([[1]], key=1.5)
    same(row_draws([[1]], key=np.uint64(2**64 - 1)), row_draws([[1]], key=2**64 - 1))
    with pytest.raises(ValueError, match=r"values should be a 1d array, got an array of shape \(1"):
        column_draws([[1, 2]], key=0)
    with pytest.raises(TypeError, match="`values` holds values of type dict"):
        column_draws([{}], key=0)


# -------------------------------------------------------------------------------- identifiers


def test_identifiers_beyond_2_53_stay_apart():
    ids = [2**60 + i for i in range(300)] + [-(2**60) - i for i in range(300)]
    u = column_draws(np.array(ids), key=1)
    assert len(set(u)) == 600
    same(column_draws(pl.Series([*ids, None]), key=1)[:-1], u)
    same(column_draws(pa.array([*ids, None]), key=1)[:-1], u)
    same(column_draws(np.array(ids, dtype=object), key=1), u)
    same(column_draws([2.0**60], key=1), u[:1])
    ends = np.array([2**64 - 1, 2**64 - 2, 2**63, 2**63 - 1], dtype=np.uint64)
    same(column_draws(ends, key=1), column_draws(ends.astype(object), key=1))
    low = np.array([-(2**63), 2**63 - 1])
    same(column_draws(low, key=1), column_draws(low.astype(object), key=1))
    same(column_draws(low[1:], key=1), column_draws(ends[3:], key=1))
    assert len(set(column_draws([2**64, 2**64 + 1, 2**70], key=1))) == 3


# -------------------------------------------------------------------------------- randomness


def uniform(u):
    return stats.kstest(u, "uniform").pvalue


STRUCTURED = {
    "counts": np.arange(20_000)[:, None],
    "bits": (np.arange(2**14)[:, None] >> np.arange(14)) & 1,
    "one-hot": sparse.eye_array(20_000, format="csr"),
    "words": np.array([f"customer {i}" for i in range(20_000)]),
}


@over(
    "draws, kind",
    [(row_draws, kind) for kind in STRUCTURED] + [(column_draws, k) for k in ("counts", "words")],
)
def test_uniform_without_trend_and_keys_are_independent(draws, kind):
    X = STRUCTURED[kind] if draws is row_draws else STRUCTURED[kind].ravel()
    found = {key: draws(X, key=key) for key in (0, 1, 2, 5, 5 + 2**40, 2**63)}
    for key in (0, 1, 2**63):
        u = found[key]
        assert len(np.unique(u)) == len(u)
        assert uniform(u) > 1e-3
        assert uniform(u * 1024 % 1) > 1e-3
        assert abs(stats.pearsonr(u[1:], u[:-1]).statistic) < 4 / np.sqrt(len(u))
    for first, second in ((0, 1), (1, 2), (5, 5 + 2**40)):
        edges = [[0, 1], [0, 1]]
        strata = np.histogram2d(found[first], found[second], bins=8, range=edges)[0]
        assert stats.chisquare(strata.ravel()).pvalue > 1e-3
    if draws is column_draws:  # and of rows
        rows = row_draws(STRUCTURED[kind], key=0)
        assert abs(stats.pearsonr(found[0], rows).statistic) < 0.03


def test_the_draws_of_this_version_are_those_of_every_version():
    # A stored rule must decide tomorrow as it does today.
    day = np.array([["2020-02-29"]], dtype="M8[D]")
    found = [
        row_draws([[1.5, -2.0], [0.0, 0.0], [np.nan, 0.0]], key=0),
        row_draws(["a", "é"], key=12345),
        row_draws(day, key=1),
        row_draws(day - np.datetime64(0, "D"), key=1),
        column_draws([7, 2**60 + 1, "a"], key=7),
    ]
    assert [draws.tolist() for draws in found] == [
        [0.974193041543674, 0.28176129772258496, 0.7603223424547599],
        [0.8495454879521469, 0.7139957377599515],
        [0.8988404123921858],
        [0.050570147932858966],
        [0.330369923552584, 0.9456352133413756, 0.8322920124271295],
    ]


def plainly(row, key):
    """The draw of a row of numbers and text, in Python's integers."""
    full = 2**64 - 1

    def mix(z):
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & full
        z = (z ^ z >> 27) * 0x94D049BB133111EB & full
        return z ^ z >> 31

    def bits(entry):
        if isinstance(entry, str):
            digest = hashlib.blake2b(entry.encode(), digest_size=8).digest()
            return int.from_bytes(digest, "little")
        if entry is None or entry != entry:
            return 0x7FF8 << 48
        return struct.unpack("<Q", struct.pack("<d", entry))[0] if entry else 0

    golden = 0x9E3779B97F4A7C15
    start, total = mix(key), 0
    for j, entry in enumerate(row, start=1):
        if entry != 0:
            total += mix(bits(entry) + mix(j * golden + start & full) & full)
    return (mix(total & full ^ mix(key ^ golden)) >> 11) / 2**53


@given(
    st.lists(st.floats() | st.text(st.characters(codec="utf-8")) | st.none(), min_size=1),
    st.integers(0, 2**64 - 1),
)
def test_the_definition_written_plainly(row, key):
    strata = np.fromiter(row, dtype=object, count=len(row))[None, :]
    assert row_draws(strata, key=key)[0] == plainly(row, key)
