"""Tables as streams: the same rows however they arrive, and the same features in every process."""

import gzip
import io
import os
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from setpoint.tables import Column, Interrupted, Reader, TableError, read_table
from setpoint.tables.encoder import HASHED, StreamEncoder
from setpoint.tables.labels import two_classes
from setpoint.tables.records import Block, blocks_of, rows_of

SRC = Path(__file__).parents[2] / "src"
TABLE = (
    'age,city,since,ok,y\n31,"Bonn, am Rhein",2024-01-31,true,no\n,Kiel,,false,yes\n'
    '45,,2024-02-01T12:00:00Z,,no\n\n7,"a ""b""\nc",2024-03-01,true,yes\n'
)


class Drips(io.RawIOBase):
    """A pipe that gives some bytes at a time."""

    def __init__(self, data, sizes):
        self.data, self.sizes, self.at = data, list(sizes), 0

    def read1(self, _size):
        size = self.sizes.pop(0) if self.sizes else len(self.data)
        piece = self.data[self.at : self.at + size]
        self.at += len(piece)
        return piece


def stream(data, *, sizes=(), **options):
    data = data if isinstance(data, bytes) else data.encode()
    return Reader("-", stdin=Drips(data, sizes), **options)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


def read_stream(
    data, *, target="y", most_rows=2**14, skip_bad=False, sizes=(), head=None, **options
):
    """Everything of a stream: X, y, its text, rows without label, what is bad."""
    found = stream(data, sizes=sizes, **(head or {}))
    schema = found.schema(target, **options)
    batches = list(found.batches(schema, most_rows=most_rows, skip_bad=skip_bad))
    return (
        np.vstack([dense(batch.X) for batch in batches]),
        np.concatenate([batch.y[batch.labelled] for batch in batches]).tolist(),
        b"".join(batch.text for batch in batches),
        sum(int((~batch.labelled).sum()) for batch in batches),
        [line for batch in batches for line in batch.bad],
    )


def refused(data, match, **options):
    with pytest.raises(TableError, match=match):
        read_stream(data, **options)


# ------------------------------------------------------------------------------------- reading


@given(st.lists(st.integers(1, 40), max_size=20), st.integers(1, 5))
def test_rows_do_not_depend_on_how_they_arrive(sizes, most_rows):
    whole, cut = read_stream(TABLE), read_stream(TABLE, sizes=sizes, most_rows=most_rows)
    np.testing.assert_array_equal(whole[0], cut[0])
    assert whole[1:] == cut[1:]
    assert whole[2].decode() == TABLE.split("\n", 1)[1]


FIELD = st.text(alphabet="ab\",;\n '", max_size=5)


@given(
    st.lists(st.tuples(FIELD, FIELD), min_size=1, max_size=8),
    st.lists(st.integers(1, 12), max_size=30),
    st.booleans(),
)
def test_quotes_across_pieces(rows, sizes, last_end):
    lines = [",".join(f'"{v.replace(chr(34), chr(34) * 2)}"' for v in row) for row in rows]
    text = "\n".join(lines).encode() + b"\n" * last_end
    pieces, at = [], 0
    for size in [*sizes, len(text)]:
        pieces.append(text[at : at + size])
        at += size
    blocks = list(blocks_of(iter(pieces), ",", "t.csv"))
    found = [rows_of(block, 2, ",") for block in blocks]
    got = [
        (a, b)
        for part in found
        for a, b in zip(*(c.to_pylist() for c in part.columns), strict=True)
    ]
    assert got == [(a or None, b or None) for a, b in rows]
    assert not any(part.bad for part in found)
    ends = np.cumsum([line.count("\n") + 1 for line in lines])
    places = [int(line) for part in found for line in part.lines]
    assert places == [1, *(1 + ends[:-1]).tolist()]


@given(st.lists(st.integers(1, 9), max_size=30))
def test_quotes_amid_a_value(sizes):
    text = 'x,y\n5" pipe,no\n"a ""b""\nc",yes\n7",no\n"d",yes\n'
    found = stream(text, sizes=sizes)
    schema = found.schema("y")
    got = [line for batch in found.batches(schema) for line in batch.text.decode()]
    assert "".join(got) == text.split("\n", 1)[1]
    blocks = blocks_of(iter([text.encode()]), ",", "t.csv")
    rows = [rows_of(block, 2, ",") for block in blocks]
    values = [v for part in rows for v in part.columns[0].to_pylist()]
    assert values == ["x", '5" pipe', 'a "b"\nc', '7"', "d"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_line_ends_marks_and_no_final_newline(end, codec, size):
    text = f"x,y{end}é,0{end}b,1"
    X, y, read, *_ = read_stream(text.encode(codec), sizes=[size] * 60)
    assert (y, read.decode()) == ([0, 1], "é,0\nb,1\n")
    np.testing.assert_array_equal(X, read_stream("x,y\né,0\nb,1\n")[0])


def test_encodings_by_name():
    assert (
        read_stream("x,y\né,0\nb,1\n".encode("cp1252"), head={"encoding": "cp1252"})[2][:2]
        == b"\xc3\xa9"
    )
    refused(b"x,y\n1,0\n\xe9,1\n", "stdin, line 3: the byte 0xe9 .* `encoding='cp1252'`")
    refused(b"x,y\n", "there is no encoding 'klingon'", head={"encoding": "klingon"})
    refused(b"x,y\n", "there is no encoding 'base64'", head={"encoding": "base64"})
    refused(b"x,y\n1,0\n\0,1\n", "line 3 holds a zero byte")


def test_files_plain_and_gzipped(tmp_path):
    data = TABLE.encode()
    pair = gzip.compress(data[:50]) + gzip.compress(data[50:]) + b"\0" * 9
    expected = read_stream(TABLE)
    for name, packed in {"a.csv": data, "b.gz": gzip.compress(data), "c.gz": pair}.items():
        (tmp_path / name).write_bytes(packed)
        found = Reader(tmp_path / name)
        assert found.name == name
        batches = list(found.batches(found.schema("y")))
        assert b"".join(batch.text for batch in batches) == expected[2]
        assert read_stream(packed, sizes=[5] * 40)[1:] == expected[1:]


def test_gzip_cut_short_or_damaged():
    packed = gzip.compress(b"x,y\n" + b"1,0\n2,1\n" * 1000)
    refused(packed[:-9], "stdin is cut short")
    refused(packed[:15] + b"\xff" + packed[16:], "stdin is (damaged|cut short)")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "stdin is empty"),
        (b" \n\n", "stdin is empty"),
        (b"x,y", "stdin has column names and no rows"),
        (b"x,y\n\n", "stdin has column names and no rows"),
        (b"PAR1....", "Parquet file; .* setpoint fit"),
        (b"%PDF-1.7\n", "looks like a PDF"),
        (b"x,x,y\n1,2,0\n", "more than one column named 'x'"),
        (b'x,"y\n1,2\n', "line 1: a double quote is opened and never closed"),
        (b"y\n0\n1\n", "no column beside the target"),
        (b"x,z\n0,1\n", "no column 'y'"),
    ],
)
def test_no_tables(data, what):
    refused(data, what)


def test_the_target_is_not_dropped():
    refused("x,y\n1,0\n2,1\n", "`drop`: column 'y' is the target", drop=["y"])


def test_paths(tmp_path):
    with pytest.raises(TableError, match="there is no such file"):
        Reader(tmp_path / "none.csv")
    with pytest.raises(TableError, match="is a folder"):
        Reader(tmp_path)
    with pytest.raises(TableError, match="the separator is one character"):
        stream("a\n", separator=";;")


def test_a_slow_pipe_is_not_waited_for():
    reading, writing = os.pipe()
    turn, heard = threading.Semaphore(0), []

    def write():
        os.write(writing, b"x,y\n1,no\n2,yes\n")
        for i in range(3):
            turn.acquire()  # the rows before were learnt
            os.write(writing, f"{i},no\n".encode())
        turn.acquire()
        os.close(writing)

    thread = threading.Thread(target=write)
    thread.start()
    with os.fdopen(reading, "rb") as pipe:
        found = Reader("-", stdin=pipe, first_rows=2)
        for batch in found.batches(found.schema("y")):
            heard.append(batch.X[:, 0].tolist())
            turn.release()
    thread.join()
    assert heard == [[1, 2], [0], [1], [2]]


def test_each_read_is_in_its_context():
    depth, seen = [], []

    @contextmanager
    def waiting():
        depth.append(1)
        yield
        depth.pop()

    class Pipe(Drips):
        def read1(self, size):
            seen.append(len(depth))
            return super().read1(size)

    found = Reader("-", stdin=Pipe(TABLE.encode(), [9] * 30), waiting=waiting)
    for _ in found.batches(found.schema("y")):
        assert not depth
    assert set(seen) == {1}


def test_memory_does_not_grow_without_end():
    refused(
        b'x,y\n1,no\n2,yes\n"' + b"z,no\n" * 4_000_000,
        "line 4: a row of more than 16 MB begins here",
        sizes=[2**20] * 30,
    )


# ------------------------------------------------------------------------------------- its end


def interrupted_after(n_reads):
    """What interrupts the next read."""
    calls = []

    @contextmanager
    def waiting():
        calls.append(1)
        if len(calls) > n_reads:
            raise Interrupted
        yield

    return waiting


def test_an_interrupted_source_ends_with_its_last_whole_row():
    head, *lines = TABLE.splitlines(keepends=True)
    records = [*lines[:-2], lines[-2] + lines[-1]]  # the last row holds a line end
    for n_bytes in range(1, len(TABLE) + 1):
        try:
            found = stream(TABLE, sizes=[n_bytes], waiting=interrupted_after(1))
            schema = found.schema("y", classes=["no", "yes"])
        except Interrupted:
            assert n_bytes < len(head + records[0])
            continue
        assert found.interrupted
        whole = ""
        for record in records:
            if len(head + whole + record) > n_bytes:
                break
            whole += record
        read = b"".join(batch.text for batch in found.batches(schema))
        assert read.decode() == whole


def test_an_interrupted_gzip_is_not_cut_short():
    packed = gzip.compress(b"x,y\n" + b"".join(b"%d,%d\n" % (i * i, i % 2) for i in range(5000)))
    found = stream(packed, sizes=[len(packed) // 2], waiting=interrupted_after(1))
    n_rows = sum(len(batch.y) for batch in found.batches(found.schema("y")))
    assert 1000 < n_rows < 4000


@pytest.mark.parametrize(("end", "left"), [("", 4), ("\n", None)])
def test_an_open_end_is_left(end, left):
    found = stream(f"x,y\n1,0\n2,1\n3,0{end}", open_end=True)
    for batch in found.batches(found.schema("y")):
        found.place.take(batch.text)
    assert found.left == left
    assert found.place.line == (left or 5)
    with pytest.raises(TableError, match="column names and no rows"):
        stream("x,y\n1,0", open_end=True).schema("y")
    with pytest.raises(TableError, match="column names and no rows"):
        stream("x,y", open_end=True)


# ------------------------------------------------------------------------------------- bad rows

BAD = [
    ("x,y\n1,no\n2,yes\n3\n4,no\n", "line 4: 1 field, where the header has 2; fill up the row"),
    ("x,y\n1,no\n2,yes\n3,no,no\n4,no\n", "line 4: 3 fields, .* put values that hold"),
    ('x,y\n1,no\n2,yes\n"3"4,no\n4,no\n', "line 4: there is text after a closing quote"),
    ("x,y\n1,no\n2,yes\nabc,no\n4,no\n", "line 4: column 'x': 'abc' is not a number, as it was"),
    ("x,y\n1,no\n2,yes\n1e999,no\n4,no\n", "line 4: column 'x' holds an infinite number, '1e999'"),
    ("x,y\n1,no\n2,yes\n3,maybe\n4,no\n", "line 4: the label 'maybe' in column 'y' is neither of"),
]


@pytest.mark.parametrize(("text", "what"), BAD)
def test_rows_before_a_bad_one_are_learnt(text, what):
    found, rows = stream(text, first_rows=2), []
    schema = found.schema("y", classes=["no", "yes"])
    with pytest.raises(TableError, match=f"^stdin, {what}"):  # noqa: PT012
        for batch in found.batches(schema):
            rows += batch.X[:, 0].tolist()
            found.place.take(batch.text)
    assert rows == [1, 2]
    assert (found.place.line, found.place.offset) == (4, len("x,y\n1,no\n2,yes\n"))


@pytest.mark.parametrize(("text", "what"), BAD)
@pytest.mark.parametrize("most_rows", [1, 100])
def test_bad_rows_may_be_left_out(text, what, most_rows):
    X, y, read, n_unlabelled, bad = read_stream(
        text, head={"first_rows": 2}, skip_bad=True, most_rows=most_rows, classes=["no", "yes"]
    )
    assert (X[:, 0].tolist(), y, n_unlabelled) == ([1, 2, 4], ["no", "yes", "no"], 0)
    assert read.decode() == text.split("\n", 1)[1]
    assert len(bad) == 1
    assert "line 4" in bad[0]


def test_many_bad_values_are_all_found():
    rows = [f"{i if i % 3 else 'x'},{i % 2}" for i in range(1, 3000)]
    X, *_, bad = read_stream(
        "\n".join(["a,y", "1,0", "2,1", *rows]), head={"first_rows": 2}, skip_bad=True
    )
    assert (len(X), len(bad)) == (2 + 2000, 999)
    assert X[2:, 0].tolist() == [i for i in range(1, 3000) if i % 3]


def test_blank_lines_above_the_names():
    for sizes in ((), (1, 1, 2, 1, 3)):
        found = stream(b'\n\n"x\nz",y\n1,0\n2,1\n', sizes=sizes, first_rows=0)
        assert (found.names, found.place.line, found.place.offset) == (["x\nz", "y"], 5, 10)


def test_rows_without_label_are_counted():
    X, y, _, n_unlabelled, bad = read_stream("x,y\n1,0\n2,\n3,1\n4,NA\n")
    assert (X[:, 0].tolist(), y, n_unlabelled, bad) == ([1, 2, 3, 4], [0, 1], 2, [])


# ------------------------------------------------------------------------------------- schema


def test_kinds_are_those_of_the_first_rows():
    found = stream(TABLE)
    schema = found.schema("y")
    assert [(c.name, c.kind) for c in schema.columns] == [
        ("age", "number"), ("city", "category"), ("since", "category"), ("ok", "boolean"),
    ]  # fmt: skip
    assert schema.classes == ("no", "yes")
    found = stream(TABLE)
    schema = found.schema("y", drop=["city", "since"], text=["age"])
    assert [(c.name, c.kind) for c in schema.columns] == [("age", "category"), ("ok", "boolean")]
    assert schema.left_out == ("city", "since")


def test_first_rows_are_as_many_as_were_asked_for():
    text = "x,y\n1,no\n2,yes\nabc,no\n"
    assert stream(text, first_rows=2).schema("y").columns[0].kind == "number"
    assert stream(text, first_rows=2, sizes=[1] * 99).schema("y").columns[0].kind == "number"
    assert stream(text, first_rows=3).schema("y").columns[0].kind == "category"
    assert stream(text, first_rows=3, sizes=[1] * 99).schema("y").columns[0].kind == "category"


def test_notes_say_what_was_assumed():
    found = stream("zip,gone,y\n01067,,0\n80331,,1\n")
    found.schema("y")
    assert found.notes == [
        "column 'zip' has leading zeros, so it was read as text",
        "column 'gone' is empty in the first rows, so it is taken as text",
    ]


def test_decimal_marks_are_held():
    found = stream("a;b;y\n1,5;2;0\n2;3;1\n7;1,25;0\n", first_rows=2)
    schema = found.schema("y")
    assert {c.name: c.decimal for c in schema.columns} == {"a": ",", "b": ","}
    X = np.vstack([batch.X for batch in found.batches(schema)])
    assert X[:, [0, 2]].tolist() == [[1.5, 2], [2, 3], [7, 1.25]]
    refused("a;y\n1.234;0\n5.678;1\n", "may be 1234 or have decimals; say which")
    assert read_stream("a;y\n1.234;0\n5.678;1\n", decimal=",")[0][:, 0].tolist() == [1234, 5678]


@pytest.mark.parametrize(
    ("found", "options", "classes"),
    [
        (["1", "0"], {}, (0, 1)),
        (["1.0", "0.0"], {"positive": "0"}, (1, 0)),
        (["b", "a"], {"positive": "b"}, ("a", "b")),
        (["YES", "no"], {}, ("no", "YES")),
        (["ja", "nein"], {}, ("nein", "ja")),
        (["b", "a"], {"positive": "a"}, ("b", "a")),
        (["no"], {"positive": "yes"}, ("no", "yes")),
        (["no"], {"classes": ["no", "yes"]}, ("no", "yes")),
        ([], {"classes": ["no", "yes"], "positive": "no"}, ("yes", "no")),
        (["0"], {"classes": ["0", "many"]}, ("0", "many")),
        (["0"], {"classes": ["0", "1"]}, (0, 1)),
    ],
)
def test_two_classes(found, options, classes):
    kind = "number" if found and found[0][0].isdigit() else "category"
    options = {"classes": None, "positive": None, **options}
    assert two_classes("y", kind, found, where="a.csv", **options) == classes


@pytest.mark.parametrize(
    ("found", "options", "what"),
    [
        (["no"], {}, "hold one class only, 'no', in column 'y'; name both classes, the positive"),
        (["no"], {"positive": "no"}, "one class only, 'no'"),
        ([], {}, "hold no label in column 'y'; name both classes"),
        (["a", "b", "c"], {}, r"hold 3 classes in column 'y' \('a', 'b', 'c'\); a stream learns"),
        (["b", "a"], {}, "hold 'a' and 'b' in column 'y': .*`positive='a'` or `positive='b'`"),
        (["a", "b"], {"positive": "c"}, "`positive`: column 'y' holds no class 'c'"),
        (["a", "b"], {"classes": ["a"]}, "`classes`: two different classes"),
        (["a", "b"], {"classes": ["a", "a"]}, "`classes`: two different classes"),
    ],
)
def test_not_two_classes(found, options, what):
    options = {"classes": None, "positive": None, **options}
    with pytest.raises(TableError, match=what):
        two_classes("y", "category", found, where="a.csv: the first 9 rows", **options)


def test_another_source_has_the_same_columns_in_any_order():
    schema = stream(TABLE).schema("y", drop=["since"])
    schema.check(["y", "ok", "city", "age", "since"], [], "b.csv")
    schema.check(["y", "ok", "city", "age", "more"], ["more"], "b.csv")
    for names, dropped, what in [
        (["y", "ok", "city"], [], "b.csv has no column 'age'"),
        (["ok", "city", "age"], [], "b.csv has no column 'y'"),
        (["y", "ok", "city", "age", "more"], [], "has a column 'more', which .* `drop='more'`"),
        (["y", "ok", "city", "age"], ["ok"], "`drop`: column 'ok' was learnt from"),
    ]:
        with pytest.raises(TableError, match=what):
            schema.check(names, dropped, "b.csv")


# ------------------------------------------------------------------------------------- places


def test_reading_goes_on_where_it_stopped():
    first = stream(TABLE)
    schema = first.schema("y")
    batches = first.batches(schema, most_rows=2)
    first.place.take(next(batches).text)
    rest = [batch.text for batch in batches]
    for data, sizes in [(TABLE, ()), (TABLE, [7] * 30), (TABLE + "1,Kiel,,,no\n", ())]:
        again = stream(data, sizes=sizes, first_rows=0)
        assert again.go_on(first.place.offset, first.place.checksum)
        assert again.place.checksum == first.place.checksum
        assert again.place.line == first.place.line == 4
        more = b"".join(batch.text for batch in again.batches(schema))
        assert more == b"".join(rest) + data.encode()[len(TABLE) :]


def test_another_source_is_recognized():
    first = stream(TABLE)
    first.place.take(next(first.batches(first.schema("y"))).text)
    for other in (TABLE.replace("31", "32"), TABLE[:-40], TABLE.split("\n")[0] + "\n"):
        assert not stream(other, first_rows=0).go_on(first.place.offset, first.place.checksum)


# ------------------------------------------------------------------------------------- encoder


def test_features_of_every_kind():
    columns = [
        Column("a", "number"), Column("c", "category"), Column("b", "boolean"),
        Column("d", "date"),
    ]  # fmt: skip
    encoder = StreamEncoder(columns)
    X, misfits = encoder.encode(
        {
            "a": pa.chunked_array([["1.5", None]]),
            "b": pa.chunked_array([["true", None]]),
            "c": pa.chunked_array([["Kiel", None]]),
            "d": pa.chunked_array([["1970-01-02", None]]),
        }
    )
    assert (X.shape, encoder.n_features, misfits) == ((2, 8 + HASHED), 8 + HASHED, {})
    X = X.toarray()
    assert X[:, :8].tolist() == [[1.5, 0, 1, 0, 1, 1, 4, 0], [0, 1, 0, 1, 0, 0, 0, 1]]
    assert X[:, 8:].sum(axis=1).tolist() == [1, 1]
    assert X[0, 8:].argmax() != X[1, 8:].argmax()


def test_only_numbers_are_dense():
    X, _ = StreamEncoder([Column("a", "number")]).encode({"a": pa.chunked_array([["1"]])})
    assert isinstance(X, np.ndarray)


def test_the_column_counts_in_a_hash():
    columns = [Column("a", "category"), Column("b", "category")]
    X, _ = StreamEncoder(columns).encode({c.name: pa.chunked_array([["v"]]) for c in columns})
    assert X.nnz == 2


def test_values_that_meet_in_one_place_add_up():
    names = [f"c{i}" for i in range(600)]
    encoder = StreamEncoder([Column(name, "category") for name in names])
    X, _ = encoder.encode({name: pa.chunked_array([["v", "w"]]) for name in names})
    assert X.nnz < 1200
    assert X.sum(axis=1).tolist() == [600, 600]
    assert X.has_canonical_format


def test_hashes_are_the_same_in_every_process():
    code = (
        "import pyarrow as pa\n"
        "from setpoint.tables.encoder import StreamEncoder\n"
        "from setpoint.tables import Column\n"
        "text = {'city': pa.chunked_array([['Bonn', 'Köln', None, 'neu']])}\n"
        "X, _ = StreamEncoder([Column('city', 'category')]).encode(text)\n"
        "print(X.indices.tolist())\n"
    )
    checksums = {
        subprocess.run(
            [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(SRC), **seed},
            capture_output=True, check=True,
        ).stdout.strip()
        for seed in ({"PYTHONHASHSEED": "1"}, {"PYTHONHASHSEED": "2"})
    }  # fmt: skip
    assert checksums == {b"[24415, 4490, 53607, 41449]"}


def test_numbers_are_those_that_tables_have():
    words = ["1", " 2", "-3.5", "1e3", ".5", "NA", "", "9007199254740993", "+4", "007"]
    text = "x,y\n" + "\n".join(f"{word},{i % 2}" for i, word in enumerate(words)) + "\n"
    found = stream("x,y\n1,0\n2,1\n" + text[4:], first_rows=2)
    schema = found.schema("y")
    X = np.vstack([batch.X for batch in found.batches(schema)])[2:]
    table = read_table("-", stdin=io.BytesIO(text.encode()), columns=[Column("x", "number")])
    values = table.frame["x"].to_numpy(dtype=float)
    np.testing.assert_array_equal(X[:, 0], np.nan_to_num(values))
    np.testing.assert_array_equal(X[:, 1], np.isnan(values))


@pytest.mark.parametrize(
    ("word", "is_code"),
    [
        ("01067", True), ("007.0", True), ("00", False),
        ("9007199254740993", True), ("-9007199254740993", True),
        ("0", False), ("0.5", False), ("10", False), ("9007199254740991", False), ("1e300", False),
        (None, False), ("12345678901234567.5", False),
    ],
)  # fmt: skip
def test_numbers_that_look_like_codes(word, is_code):
    encoder = StreamEncoder([Column("my zip", "number"), Column("x", "number")])
    text = pa.chunked_array([["1", "0"], ["0.1", word]])
    encoder.encode({"my zip": text, "x": text})
    found = {
        3: f"column 'my zip': {word!r} looks like a code and is learnt as a number, as in the "
        "first rows; `text='my zip'` keeps it as text, from the beginning of a stream on"
    }
    assert encoder.codes == (found if is_code else {})
    encoder.encode({"my zip": text, "x": text})
    assert encoder.codes == {}


@pytest.mark.parametrize("word", ["0x1F", "NAN", "1_000", "1,5", "one", "1e", "--1"])
def test_words_that_are_not_numbers(word):
    encoder = StreamEncoder([Column("x", "number")])
    X, misfits = encoder.encode({"x": pa.chunked_array([["1", word, "3"]])})
    assert X.tolist() == [[1, 0], [0, 1], [3, 0]]
    assert misfits == {1: f"column 'x': {word!r} is not a number, as it was in the first rows"}


def test_dates_with_and_without_zone():
    texts = ["2024-01-01T02:00:00+02:00", "2024-01-01", "2024-01-01 12:00", None, "2024-13-01"]
    encoder = StreamEncoder([Column("d", "date")])
    X, misfits = encoder.encode({"d": pa.chunked_array([texts])})
    one = [encoder.encode({"d": pa.chunked_array([pa.array([v], pa.string())])})[0] for v in texts]
    np.testing.assert_array_equal(X, np.vstack(one))
    assert (X[:, 0] - 19723).tolist() == [0, 0, 0.5, -19723, -19723]
    assert list(misfits) == [4]
    assert "'2024-13-01' is not a date" in misfits[4]


def test_a_block_without_rows():
    rows = rows_of(Block(b"\n\n", 5), 1, ",")
    assert (len(rows.lines), len(rows.columns[0])) == (0, 0)
