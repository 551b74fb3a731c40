"""Digests of rows: the same wherever they are computed, whatever holds the rows."""

import datetime as dt
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from setpoint.inputs import Dataset, digests_of, text_digest
from setpoint.inputs.row_hash import rows_digest
from thinning import over

NUMBERS = np.array([[1.0, -0.0, np.nan], [2.5, 7.0, 1e300], [-3.0, 0.0, 4.0]])
MIXED = {
    "age": [31, 45, 20],
    "city": ["Oslo", "", None],
    "day": [dt.datetime(2026, 1, 1), dt.datetime(1969, 7, 20), dt.datetime(2000, 2, 29)],
    "fine": [True, False, True],
}


def test_the_bytes_are_those_that_the_page_says():
    many = np.random.default_rng(0).normal(size=(70_000, 3))  # in several blocks
    for rows, n in ((NUMBERS + 0.0, 3), (many, 70_000)):
        columns = [sha256(c.astype("<f8").tobytes()).digest() for c in rows.T]
        whole = sha256(b"setpoint rows 1 %d 3\n" % n + b"".join(columns)).hexdigest()
        assert rows_digest(rows) == rows_digest(pd.DataFrame(rows)) == f"sha256:{whole}"
    assert text_digest("f1") == f"sha256:{sha256(b'f1').hexdigest()}"


@over(
    "same",
    [
        NUMBERS.tolist(),
        np.asfortranarray(NUMBERS),
        NUMBERS.astype(object),
        pd.DataFrame(NUMBERS, columns=list("abc")),
        pl.DataFrame(NUMBERS, schema=list("xyz")),
        np.where(NUMBERS == 0.0, 0.0, NUMBERS),
        {"a": NUMBERS[:, 0], "b": NUMBERS[:, 1].tolist(), "c": NUMBERS[:, 2]},
    ],
)
def test_the_container_makes_no_difference(same):
    assert rows_digest(same) == rows_digest(NUMBERS)


def test_nor_does_it_for_text_days_and_what_is_missing():
    frames = [pd.DataFrame(MIXED), pl.DataFrame(MIXED), pd.DataFrame(MIXED).convert_dtypes()]
    frames.append(frames[0].astype({"city": "category", "age": "float64"}))
    assert len({rows_digest(frame) for frame in frames}) == 1
    y = ["no", "yes", "no"]
    columns = [y, np.array(y), pd.Series(y), pd.Categorical(y), pl.Series(y), np.array(y, object)]
    assert len({rows_digest(column) for column in columns}) == 1
    assert rows_digest([0, 1, 0]) == rows_digest(np.array([0.0, 1.0, 0.0]))
    assert rows_digest(["0", "1", "0"]) != rows_digest([0, 1, 0])


def test_every_entry_every_column_and_the_order_count():
    found = {rows_digest(NUMBERS)}
    for i in range(3):
        for j in range(3):
            other = NUMBERS.copy()
            other[i, j] = 5.0
            found.add(rows_digest(other))
    found |= {rows_digest(x) for x in (NUMBERS[::-1], NUMBERS[:, ::-1], NUMBERS[:2], NUMBERS.T)}
    assert len(found) == 14
    large = np.array([2**53, 2**53 + 1])
    assert rows_digest(large) != rows_digest(large[::-1])


def test_sparse_rows_have_one_digest_in_every_form():
    dense = np.where(np.arange(12).reshape(3, 4) % 3 == 0, 2.0, 0.0)
    forms = [getattr(sparse, f"{name}_matrix")(dense) for name in ("csr", "csc", "coo", "lil")]
    messy = sparse.csr_matrix((np.append(forms[0].data, 0.0), np.append(forms[0].indices, 1),
                               np.append(forms[0].indptr[:-1], 5)), shape=(3, 4))  # fmt: skip
    assert len({rows_digest(form) for form in [*forms, messy]}) == 1
    assert rows_digest(forms[0]) != rows_digest(2 * forms[0])
    assert messy.nnz == 5  # the matrix given is not changed


def test_what_has_no_canonical_bytes_has_no_digest():
    assert rows_digest([[1, [2]], [3, {}]]) is None
    assert rows_digest(np.array([object()] * 3, dtype=object)) is None


def test_parts_by_their_names_and_what_names_columns_is_left_out():
    given = Dataset(NUMBERS, ["a", "b", "a"], sensitive_features=["sex"], baseline="old")
    assert set(digests_of({"": given})) == {"X", "y"}
    given = Dataset(NUMBERS, sample_weight=[1, 2, 3], sensitive_features={"sex": list("FMF")})
    found = digests_of({"": given, "later: ": Dataset(NUMBERS)})
    assert set(found) == {"X", "sample_weight", "sensitive_features", "later: X"}
    assert found["X"] == found["later: X"]


def test_another_process_finds_the_same():
    code = (
        "import numpy as np; from setpoint.inputs.row_hash import rows_digest;"
        "print(rows_digest(np.array([['a', 1.5], [None, 'b']], dtype=object)))"
    )
    env = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env)  # noqa: PLW1510
    assert done.stdout.strip() == rows_digest(np.array([["a", 1.5], [None, "b"]], dtype=object))
