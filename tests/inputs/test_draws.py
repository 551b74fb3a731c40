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


def test_blocks_do_not_matter():
    X = numbers(n=40_000, p=3)
    same(row_draws(X[39_990:], key=1), row_draws(X, key=1)[39_990:])
    wide = numbers(n=3, p=70_000)
    same(row_draws(wide[2:], key=1), row_draws(wide, key=1)[2:])


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


def test_the_argument_is_left_alone():
    X = numbers()
    before = X.copy()
    row_draws(X, key=1)
    assert X.tobytes() == before.tobytes()
    y = np.array([-0.0, np.nan])
    column_draws(y, key=1)
    assert np.signbit(y[0])


# -------------------------------------------------------------------------------- agreement


@over("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_dense_equals_sparse(form):
    X = numbers(n=40)
    u = row_draws(X, key=2)
    same(row_draws(sparse.coo_array(X).asformat(form), key=2), u)
    same(row_draws(sparse.coo_matrix(X).asformat(form), key=2), u)


def test_sparse_by_another_route():
    dense = np.array([[0.0, 3.0], [0.0, 0.0], [1.0, 0.0]])
    u = row_draws(dense, key=2)
    stored_zero = sparse.csr_array(([3.0, -0.0, 1.0], ([0, 1, 2], [1, 0, 0])), shape=(3, 2))
    assert stored_zero.nnz == 3
    same(row_draws(stored_zero, key=2), u)
    parts = ([1.0, 2.0, 1.0], np.array([1, 1, 0]), np.array([0, 2, 2, 3]))
    doubled = sparse.csr_array(parts, shape=(3, 2))
    same(row_draws(doubled, key=2), u)
    assert doubled.nnz == 3
    shuffled = sparse.csr_array(([2.0, 1.0], np.array([1, 0]), np.array([0, 2])), shape=(1, 2))
    same(row_draws(shuffled, key=2), row_draws([[1, 2]], key=2))
    same(row_draws(sparse.csr_array(np.eye(2, dtype=bool)), key=2), row_draws(np.eye(2), key=2))


@over("frame", FRAMES)
def test_frames_agree_with_arrays(frame):
    X = np.nan_to_num(numbers())
    named = frame({f"c{j}": X[:, j] for j in range(X.shape[1])})
    same(row_draws(named, key=4), row_draws(X, key=4))
    data = mixed()
    same(row_draws(frame(data), key=4), row_draws(as_objects(data), key=4))


def test_number_types_agree():
    u = row_draws([[0, 1], [1, 0]], key=9)
    for dtype in (bool, np.int8, np.uint64, np.float16, np.float32, np.longdouble, object):
        same(row_draws(np.array([[0, 1], [1, 0]], dtype=dtype), key=9), u)
    same(row_draws([[False, Decimal(1)], [np.float32(1), -0.0]], key=9), u)
    for dtype in ("Int64", "Float64", "boolean", "int8[pyarrow]", "category", "Sparse[int]"):
        frame = pd.DataFrame({"a": [0, 1], "b": [1, 0]}).astype(dtype)
        same(row_draws(frame, key=9), u)


def test_every_missing_value_is_one():
    u = row_draws([[np.nan]], key=9)[0]
    payload = np.array([[0xFFF8000000000123]], dtype=np.uint64).view(np.float64)
    signalling = np.array([[0x7FF0000000000001]], dtype=np.uint64).view(np.float64)
    values = [None, pd.NA, pd.NaT, np.float32("nan"), Decimal("nan"), np.datetime64("NaT")]
    strata = [payload, signalling, np.array([["NaT"]], dtype="M8[s]")]
    strata += [np.array([[v]], dtype=object) for v in values]
    strata += [
        pd.DataFrame({"a": pd.array([None], dtype=t)}) for t in ("Int64", "string", "boolean")
    ]
    strata += [pd.DataFrame({"a": pd.Categorical([None], categories=["b"])})]
    strata += [pl.DataFrame({"a": [None]}, schema={"a": t}) for t in (pl.Int8, pl.String, pl.Date)]
    strata += [pl.DataFrame({"a": [None]}), pl.DataFrame({"a": [float("nan")]})]
    strata += [pa.table({"a": [None]}), sparse.csr_array([[np.nan]])]
    for stratum in strata:
        assert row_draws(stratum, key=9)[0] == u, repr(stratum)
    arrow = pa.table({"a": pa.array(["b", None, "c"]).dictionary_encode()})
    same(row_draws(arrow, key=9), row_draws(["b", None, "c"], key=9))
    assert u != row_draws([[0.0]], key=9)[0]


def test_text_types_agree():
    words = ["a", "", "é", "a b", "\ud800"]
    u = row_draws(words, key=9)
    assert len(set(u)) == 5
    same(row_draws(np.array(words), key=9), u)
    same(row_draws(np.array(words, dtype=object)[:, None], key=9), u)
    plain = words[:4]
    for column in (
        np.array(plain, dtype=np.dtypes.StringDType()),
        pd.Series(plain),
        pd.Series(plain, dtype="category"),
        pd.Series(plain, dtype="string"),
        pd.Index(plain),
        pl.Series(plain),
        pl.Series(plain, dtype=pl.Categorical),
        pl.Series(plain, dtype=pl.Enum(plain)),
        pa.array(plain),
        pa.array(plain).dictionary_encode(),
        np.array([w.encode() for w in plain]),
    ):
        same(row_draws(column, key=9), u[:4])
    same(row_draws(pl.DataFrame({"a": [w.encode() for w in plain]}), key=9), u[:4])


def test_times_agree():
    at = dt.datetime(2021, 5, 6, 7, 8, 9, 123456)
    paris = dt.timezone(dt.timedelta(hours=2))
    same_instant = [
        at,
        at.replace(tzinfo=dt.UTC),
        at.replace(tzinfo=dt.UTC).astimezone(paris),
        np.datetime64(at),
        np.datetime64(at, "ns"),
        pd.Timestamp(at),
        pd.Timestamp(at, tz="UTC").tz_convert("Asia/Tokyo"),
    ]
    u = [row_draws(np.array([[v]], dtype=object), key=9)[0] for v in same_instant]
    assert len(set(u)) == 1
    for unit in ("s", "ms", "us", "ns"):
        frame = pd.DataFrame(
            {"t": pd.to_datetime(["2021-05-06", "9999-12-31"][: 1 + (unit != "ns")]).as_unit(unit)}
        )
        days = [[dt.date(2021, 5, 6)], [dt.date(9999, 12, 31)]][: len(frame)]
        same(row_draws(frame, key=9), row_draws(days, key=9))
    units = [np.array([[2]], dtype=f"M8[{unit}]") for unit in ("Y", "M", "W", "D", "h", "m", "s")]
    units += [v.astype("M8[s]") for v in units]
    units += [units[6].astype("M8[ps]"), np.array([[1]], dtype="M8[2s]")]
    draws = [row_draws(v, key=9)[0] for v in units]
    assert draws[:7] == draws[7:14]
    assert draws[6] == draws[14] == draws[15]
    assert len(set(draws)) == 7
    span = [dt.timedelta(days=1), np.timedelta64(24, "h"), pd.Timedelta("1D")]
    assert len({row_draws(np.array([[v]], dtype=object), key=9)[0] for v in span}) == 1


def test_kinds_differ():
    strata = [1, "1", np.datetime64(1, "ns"), np.timedelta64(1, "ns"), None, 0, "", "nan", "None"]
    strata += [np.datetime64(0, "ns"), np.timedelta64(0, "ns"), dt.time(1), "True", np.inf, -np.inf]
    draws = [row_draws(np.array([[stratum]], dtype=object), key=9)[0] for stratum in strata]
    assert len(set(draws)) == len(strata)
    who = uuid.UUID(int=5)
    assert column_draws([who], key=1) == column_draws([str(who)], key=1)


def test_place_matters_and_forms_of_lists_do_not():
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
    assert len(set(row_draws(X, key=0))) == 5
    assert len(set(row_draws([["a", "b"], ["b", "a"], ["a", "a"]], key=0))) == 3
    mixed_frame = pd.DataFrame({"n": [1], "w": ["a"]})
    same(row_draws([[1, "a"], [2, "b"]], key=0)[:1], row_draws(mixed_frame, key=0))
    same(row_draws([1, "a"], key=0)[:1], row_draws([1], key=0))
    for column in ([1, 2], pd.Series([1, 2])):
        same(row_draws(column, key=0), row_draws([[1], [2]], key=0))
    images = np.arange(24.0).reshape(2, 3, 4)
    same(row_draws(np.asfortranarray(images), key=0), row_draws(images.reshape(2, 12), key=0))


# ---------------------------------------------------------------------------- feature names


@over("frame", FRAMES)
def test_columns_by_name(frame):
    u = row_draws(frame({"a": [1, 2], "b": ["x", "y"]}), key=1)
    other = frame({"c": [5, 6], "b": ["x", "y"], "a": [1, 2]})
    same(row_draws(other, key=1, feature_names=["a", "b"]), u)
    same(row_draws(other, key=1, feature_names=np.array(["a", "b"], dtype=object)), u)
    same(row_draws([[1, "x"], [2, "y"]], key=1, feature_names=["a", "b"]), u)
    assert (row_draws(other, key=1) != u).all()


AGE, TWICE = pd.DataFrame({"age": [1]}), pd.DataFrame([[1, 2]], columns=["a", "a"])
HUGE = "column 0 of X holds an integer beyond the range of float64"


@over(
    "X, names, error, message",
    [
        (AGE, ["agee"], ValueError, "`X` has no column 'agee', seen in fit (did you mean 'age'?)"),
        (TWICE, None, ValueError, "`X` has duplicate column names"),
        (pa.table([[1], [2]], names=["a", "a"]), None, ValueError, "has duplicate column names"),
        (np.zeros((0, 3)), ["a", "b"], ValueError, "`X` has 3 columns, fit saw 2"),
        (sparse.eye_array(3), ["a", "b"], ValueError, "`X` has 3 columns, fit saw 2"),
        ([[1, 2], [3]], None, ValueError, "`X` is a ragged list: its rows differ in length"),
        (3.0, None, ValueError, "`X` must have rows; found a float"),
        ([[10**400, 1.0]], None, ValueError, HUGE),
        ([[10**400, "a"]], None, ValueError, HUGE),
        (np.array([[1j]]), None, TypeError, "column 0 of X holds complex128; text, numbers, bool"),
        (sparse.csr_array([[1j]]), None, TypeError, "`X` holds complex128; text"),
        ([{"a": 1}], None, TypeError, "column 0 of X holds values of type dict; text"),
        (pd.DataFrame({"a": [(1, 2)]}), None, TypeError, "column 'a' of X holds values of type tu"),
        (pl.DataFrame({"a": [[1], [2, 3]]}), None, TypeError, "'a' of X holds values of type ndar"),
        (pa.table({"a": [{"b": 1}]}), None, TypeError, "column 'a' of X holds values of type dict"),
        (np.array([[2]], "m8[Y]"), None, TypeError, "timedelta64[Y], which has no length in nano"),
    ],
)
def test_refusals(X, names, error, message):
    with pytest.raises(error) as caught:
        row_draws(X, key=0, feature_names=names)
    assert message in str(caught.value)


def test_key_must_be_an_integer():
    with pytest.raises(TypeError, match="float"):
        row_draws([[1]], key=1.5)
    same(row_draws([[1]], key=np.uint64(2**64 - 1)), row_draws([[1]], key=2**64 - 1))


# -------------------------------------------------------------------------------- identifiers


def test_identifiers_of_any_type():
    u = column_draws([1, 2, 3], key=1)
    columns = [
        np.array([1.0, 2.0, 3.0]),
        np.array([[1], [2], [3]]),
        np.array([1, 2, 3], dtype="u1"),
    ]
    columns += [pd.Series([1, 2, 3], dtype="Int64"), pl.Series([1, 2, 3]), pa.array([1, 2, 3])]
    columns += [np.array([1, 2.0, np.int64(3)], dtype=object)]
    for column in columns:
        same(column_draws(column, key=1), u)
    same(column_draws([1, 2, 3, None], key=1)[:3], u)
    same(column_draws(pd.Series([1, 2, None]), key=1)[:2], u[:2])
    assert not set(u) & set(column_draws(["1", "2", "3"], key=1))


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


def test_identifier_refusals():
    with pytest.raises(
        ValueError, match=r"values should be a 1d array, got an array of shape \(1, 2\)"
    ):
        column_draws([[1, 2]], key=0)
    with pytest.raises(TypeError, match="`values` holds values of type dict"):
        column_draws([{}], key=0)


# -------------------------------------------------------------------------------- randomness


def uniform(u):
    return stats.kstest(u, "uniform").pvalue


STRUCTURED = {
    "normal": np.random.default_rng(0).normal(size=(20_000, 3)),
    "counts": np.arange(20_000)[:, None],
    "grid": np.stack(np.meshgrid(np.arange(140), np.arange(140)), -1).reshape(-1, 2),
    "bits": (np.arange(2**14)[:, None] >> np.arange(14)) & 1,
    "one-hot": sparse.eye_array(20_000, format="csr"),
    "words": np.array([f"customer {i}" for i in range(20_000)]),
}


CASES = [(row_draws, kind) for kind in STRUCTURED] + [
    (column_draws, k) for k in ("counts", "words")
]


@over("draws, kind", CASES)
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
    found = {
        "numbers": row_draws([[1.5, -2.0], [0.0, 0.0], [np.nan, 0.0]], key=0).tolist(),
        "text": row_draws(["a", "é"], key=12345).tolist(),
        "day": row_draws(day, key=1).tolist(),
        "span": row_draws(day - np.datetime64(0, "D"), key=1).tolist(),
        "ids": column_draws([7, 2**60 + 1, "a"], key=7).tolist(),
    }
    assert found == PINNED


PINNED = {
    "numbers": [0.974193041543674, 0.28176129772258496, 0.7603223424547599],
    "text": [0.8495454879521469, 0.7139957377599515],
    "day": [0.8988404123921858],
    "span": [0.050570147932858966],
    "ids": [0.330369923552584, 0.9456352133413756, 0.8322920124271295],
}


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
