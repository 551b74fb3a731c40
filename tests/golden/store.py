"""Write the golden file, or compare what the code does now with it.

    PYTHONPATH=src:tests python -m golden.store write
    PYTHONPATH=src:tests python -m golden.store compare --exact
    PYTHONPATH=src:tests python -m golden.store compare --cases 0:100
    PYTHONPATH=src:tests python -m golden.store compare --ignore why --ignore warnings

A file is written anew only when behaviour changes on purpose; `compare` shows what changes.
Where a last bit that is rounded otherwise leads a search another way, a case is unsteady: without
``--exact`` only its outcome is compared. `mark` is `compare`, and marks what differs; run it on
another processor, or as if on one:

    OPENBLAS_CORETYPE=Nehalem NPY_DISABLE_CPU_FEATURES="AVX512F AVX2 FMA3" \\
    NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= NUMBA_CACHE_DIR=/tmp/generic \\
    PYTHONPATH=src:tests python -m golden.store mark
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from pathlib import Path

from golden.compare import differences, lines, outcome
from golden.problems import N_CASES
from golden.record import record

FILE = Path(__file__).with_name("golden.jsonl.xz")


def stored(path=FILE):
    """The records of the file by their case."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return {r["case"]: r for r in map(json.loads, file)}


def write(path, numbers):
    """Write the records of some cases anew; the marks stay."""
    records = stored()
    for n in numbers:
        mark = {"unsteady": True} if records[n].get("unsteady") else {}
        records[n] = {**record(n), **mark}
    _save(path, records.values())


def mark(path, numbers):
    """Mark cases as unsteady."""
    records = stored(path)
    for n in numbers:
        records[n]["unsteady"] = True
    _save(path, records.values())


def _save(path, records):
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))


def compared(number, old, *, exact=False, ignored=()):
    """How today's record of a case differs from the stored one."""
    new = record(number)
    old = dict(old)
    unsteady = old.pop("unsteady", False)
    if not exact and unsteady:
        old, new = outcome(old), outcome(new)
    return differences(old, new, exact=exact, ignored=ignored)


def compare(numbers, records, options):
    """Print every case that differs; which they are."""
    changed = []
    for number in numbers:
        old = records[number]
        found = compared(number, old, exact=options.exact, ignored=options.ignore)
        if found:
            changed.append(number)
            print(f"case {number} ({old['kind']}), {len(found)} differences: {old['goal']}")
            print("\n".join([*lines(found[: options.most])]), flush=True)
    print(f"{len(changed)} of {len(numbers)} cases differ", flush=True)
    return changed


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("write", "compare", "mark"))
    parser.add_argument("--file", type=Path, default=FILE, help="the golden file")
    parser.add_argument("--cases", default=f"0:{N_CASES}", help="a range, as in 0:100")
    parser.add_argument("--exact", action="store_true", help="floats bit for bit")
    parser.add_argument("--ignore", action="append", default=[], metavar="KEY")
    parser.add_argument("--most", type=int, default=8, help="differences shown of a case")
    options = parser.parse_args(argv)
    numbers = range(*map(int, options.cases.split(":")))
    changed = []
    if options.mode == "write":
        write(options.file, numbers)
    else:
        changed = compare(numbers, stored(options.file), options)
    if options.mode == "mark":
        mark(options.file, changed)
    return int(bool(changed))


if __name__ == "__main__":
    sys.exit(main())
