"""Files are written whole or not at all, devices and pipes as they are."""

import os
import threading

import pytest

from setpoint.inputs import atomic_write, whole_file


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def broken():
        with whole_file(path) as file:
            file.write(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        broken()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    atomic_write(path, b"new")
    assert path.read_bytes() == b"new"


def test_the_file_behind_a_link_is_written(tmp_path):
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)
    atomic_write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_stays_a_pipe(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_bytes()))
    reader.start()
    atomic_write(pipe, b"through")
    reader.join(timeout=300)
    assert got == [b"through"]
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="there is no such device")
def test_a_device_stays_a_device():
    atomic_write("/dev/null", b"gone")
    assert not os.path.isfile("/dev/null")
