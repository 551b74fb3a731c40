"""Model files that would expand to more than they say: refused before they do."""

import io
import json
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
import skops.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array, random_array
from sklearn.naive_bayes import GaussianNB

from setpoint import ModelFileError, load_model, save_model
from setpoint.classifiers import skops_io
from setpoint.errors import InputError
from thinning import over

FACTS, SCHEMA = "setpoint.json", "schema.json"
MIB = 1 << 20
ZEROS = bytes(MIB)


def node(file, loader="NdArrayNode", kind="ndarray", **more):
    module = "builtins" if loader.startswith("Byte") else "numpy"
    found = {"__class__": kind, "__module__": module, "__loader__": loader}
    return found | {"type": "numpy", "file": file} | more


def schema_of(*nodes):
    return {
        "__class__": "list", "__module__": "builtins", "__loader__": "ListNode",
        "content": list(nodes), "protocol": 2, "_skops_version": "0",
    }  # fmt: skip


def npy(array):
    data = io.BytesIO()
    np.save(data, array)
    return data.getvalue()


def archive_of(members, compression=zipfile.ZIP_DEFLATED):
    """Pairs of name and content; content may be a number: so many MiB of zeros."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", compression) as archive:
        for name, content in members:
            with archive.open(name, "w", force_zip64=True) as stream:
                if isinstance(content, int):
                    for _ in range(content):
                        stream.write(ZEROS)
                else:
                    stream.write(
                        content if isinstance(content, bytes) else json.dumps(content).encode()
                    )
    return data.getvalue()


def refused(path, data, match, **options):
    """The message, and the most memory that it took beyond the file."""
    path.write_bytes(data)
    skops_io()  # its import is none of the file's
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError, match=match) as caught:
            load_model(path, **options)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert peak < len(data) + 6 * MIB, f"{peak / MIB:.0f} MiB"
    return str(caught.value)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "m.skops"


@pytest.fixture(scope="module")
def members():
    """The members of a model that skops wrote."""
    model = GaussianNB().fit(np.arange(20.0)[:, None], np.arange(20) % 2)
    with zipfile.ZipFile(io.BytesIO(skops.io.dumps(model))) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def one(file, content, **own):
    """The archive of a list of one array, or of what is said of it."""
    return archive_of([(SCHEMA, schema_of(node(file, **own))), (file, content)])


def test_members_and_facts_that_do_not_fit_the_schema(path, members):
    first = members[0][0]
    assert first != SCHEMA
    message = refused(path, archive_of([*members, ("extra.bin", 16)]), "nothing names its member")
    assert "'extra.bin' of 16 MiB" in message
    refused(path, archive_of(members[1:]), f"names '{first}', it has none")
    refused(path, archive_of([*members, (FACTS, 64)]), "setpoint.json takes 64 MiB, 1.0 MiB")
    refused(path, archive_of([(SCHEMA, 32)]), "to read its schema.json; 64 MiB are allowed")
    with pytest.warns(UserWarning, match="Duplicate name"):
        data = archive_of([*members, members[0]])
    refused(path, data, f"holds 2 members '{first}'")
    for method in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        refused(path, archive_of(members, method), f"compressed by method {method}")


def test_arrays_that_would_take_more_than_is_allowed(path):
    data = one("a.npy", 65)
    assert len(data) < 100_000
    refused(path, data, "would take 65 MiB; 64 MiB are allowed, and nothing was expanded")
    for own in ({}, {"__id__": 0}, {"__id__": "7"}):  # which is read nine times
        nodes = [node("a.npy", **own) for _ in range(9)]
        data = archive_of([(SCHEMA, schema_of(*nodes)), ("a.npy", 8)])
        refused(path, data, "would take 72 MiB")
    # Kinds that take more than their bytes.
    refused(path, one("a", 8, loader="BytearrayNode", kind="bytearray"), "would take 72 MiB")
    refused(path, one("a", 4, kind="complex128"), "would take 68 MiB")


def test_the_bound_is_set_by_the_caller(path):
    data = one("a.npy", npy(np.zeros(MIB)))
    path.write_bytes(data)
    assert load_model(path, max_bytes=9 * MIB)[0].shape == (MIB,)
    for wrong in (0, 2.5, True, "64 MiB"):
        with pytest.raises(InputError, match="`max_bytes` is a whole number of bytes"):
            load_model(path, max_bytes=wrong)
    refused(path, data, r"would take 8.0 MiB; 1.0 MiB are allowed.*`max_bytes`", max_bytes=MIB)


@over("name, said, more", [(SCHEMA, 100, 1), ("a.npy", 2 * MIB, 0), ("a.npy", 100, 1)])
def test_a_directory_that_lies(name, said, more, path):
    """What follows the size that the directory gives is not expanded, whatever the checksum."""
    other = "a.npy" if name == SCHEMA else SCHEMA
    data = bytearray(archive_of([(other, schema_of(node("a.npy"))), (name, 40)]))
    last = data.rindex(b"PK\x01\x02")
    data[last + 16 : last + 20] = struct.pack("<I", zlib.crc32(bytes(said + more)))
    data[last + 24 : last + 28] = struct.pack("<I", said)
    start = f"its directory gives '{name}' {said:,} bytes, it has more" if more else "Bad CRC-32"
    refused(path, bytes(data), start)


@over("shape", [(1 << 40,), (3,), (1 << 20, 1 << 30)])
@over("write", [np.lib.format.write_array_header_1_0, np.lib.format.write_array_header_2_0])
def test_a_header_that_promises_more(shape, write, path):
    data = io.BytesIO()
    write(data, {"descr": "<f8", "fortran_order": False, "shape": shape})
    data.write(bytes(16))
    refused(path, one("a.npy", data.getvalue()), "its header promises an array of .*, 16 bytes fol")
    long = b"\x93NUMPY\x02\x00" + struct.pack("<I", 1 << 31) + bytes(20)
    refused(path, one("a.npy", long), "is not an array: its header takes")


def sparse(members):
    own = node("a.npz", "SparseMatrixNode", "csr_matrix")
    own |= {"__module__": "scipy.sparse._csr", "type": "scipy"}
    return archive_of([(SCHEMA, schema_of(own)), ("a.npz", archive_of(members))])


def test_a_sparse_matrix_is_an_archive_too(path):
    big = [("data.npy", 65)]
    refused(path, sparse(big), "would take 65 MiB")
    refused(path, sparse([("other.npy", npy(np.arange(3)))]), "it holds 'other.npy'")
    refused(path, sparse([("data.npy", npy(np.arange(3))[:-1])]), "promises an array")
    with pytest.warns(UserWarning, match="Duplicate name"):
        twice = sparse([("data.npy", npy(np.arange(3)))] * 2)
    refused(path, twice, "holds 2 members 'data.npy'")
    matrix = random_array((300, 40), density=0.1, rng=0, format="csr")
    save_model([matrix, coo_array(matrix), bytearray(b"abc")], path)
    found = load_model(path, trusted=skops.io.get_untrusted_types(file=path))
    assert (found[0] != matrix).nnz == 0


@given(data=st.data())
@settings(max_examples=150)
def test_mutated_files_are_refused_by_name_or_read(data, members, tmp_path_factory):
    """With checksums that fit: the schema's text is changed, not the archive's bytes."""
    path = tmp_path_factory.getbasetemp() / "mutated.skops"
    name, content = data.draw(st.sampled_from(members))
    content = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(archive_of([(n, bytes(content) if n == name else c) for n, c in members]))
    try:
        load_model(path)
        message = str(path)
    except ModelFileError as error:
        message = str(error)
    assert str(path) in message
