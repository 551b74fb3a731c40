"""Every benchmark can be imported: names that it takes from the library are there."""

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"

CODE = """
import importlib, sys, warnings
warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[1])
failed = []
for name in sys.argv[2:]:
    try:
        importlib.import_module(name)
    except Exception as error:
        failed.append(f"{name}: {error!r}")
sys.exit("\\n".join(failed) or 0)
"""


@pytest.mark.skipif(not FOLDER.is_dir(), reason="there are no benchmarks beside the tests")
def test_benchmarks_are_imported():
    names = sorted(p.stem for p in FOLDER.glob("*.py"))
    assert len(names) > 30
    run = subprocess.run(
        [sys.executable, "-c", CODE, str(FOLDER), *names],
        check=False,
        capture_output=True,
        text=True,
    )
    assert not run.returncode, run.stderr
