"""Scripts of this folder in node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(NODE is None, reason="node is not installed")


def in_node(script, given):
    """What a script of this folder makes of JSON."""
    path = Path(__file__).with_name(script)
    done = subprocess.run(
        [NODE, str(path)],
        check=False,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def called(payload, *calls, program=0):
    """What calls on the board of a page give."""
    return in_node("calls.mjs", {"payload": payload, "program": program, "calls": calls})
