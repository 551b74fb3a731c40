"""Write the golden file, or compare what the code does now with it.

    PYTHONPATH=src:tests python -m golden.store write
    PYTHONPATH=src:tests python -m golden.store compare --exact
    PYTHONPATH=src:tests python -m golden.store compare --cases 0:100 --rename slot=segment
    PYTHONPATH=src:tests python -m golden.store compare --ignore why --ignore warnings

A file is written anew only when behaviour changes on purpose; `compare` shows what changes.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
import time
from collections import Counter
from pathlib import Path

from golden.cases import N_CASES
from golden.compare import differences, lines, renamed
from golden.record import record

FILE = Path(__file__).with_name("golden.jsonl.xz")

SLOWEST = 3.0
"""Processor seconds that a case may take when it is first stored; else another is drawn."""


def stored(path=FILE):
    """The records of the file by their case."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        return {r["case"]: r for r in map(json.loads, file)}


def write(path, numbers, subs):
    """Write the records of some cases, with the sub-seeds known or newly found."""
    out = [record(n, subs[n]) if n in subs else _quick(n) for n in numbers]
    text = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in out)
    path.write_bytes(lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME))
    return out


def _quick(number):
    """The record of the first sub-seed that is fast enough."""
    for sub in range(20):
        for _ in range(2):  # the first call of a kernel compiles it
            start = time.process_time()
            found = record(number, sub)
            if time.process_time() - start <= SLOWEST:
                return found
        print(f"case {number}: sub-seed {sub} is slow: {found['goal']}", flush=True)
    raise RuntimeError(f"case {number}: no sub-seed is fast enough")


def compared(number, old, *, exact=False, names=None, ignored=()):
    """How today's record of a case differs from the stored one."""
    new = record(number, old["sub"])
    return differences(renamed(old, names or {}), new, exact=exact, ignored=ignored)


def compare(numbers, records, options):
    """Print every case that differs; how many there are."""
    names = dict(pair.split("=", 1) for pair in options.rename)
    changed = 0
    for number in numbers:
        old = records[number]
        found = compared(number, old, exact=options.exact, names=names, ignored=options.ignore)
        if found:
            changed += 1
            print(f"case {number} ({old['kind']}), {len(found)} differences: {old['goal']}")
            print("\n".join([*lines(found[: options.most])]), flush=True)
    print(f"{changed} of {len(numbers)} cases differ", flush=True)
    return changed


def summary(records):
    """Kinds, and what came of them."""
    ends = Counter()
    for r in records:
        s = r["solve"]
        ends[r["kind"], s["error"][0] if "error" in s else s["report"]["status"]] += 1
    return "\n".join(f"{k:<11} {end:<22} {n}" for (k, end), n in sorted(ends.items()))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("mode", choices=("write", "compare", "summary"))
    parser.add_argument("--file", type=Path, default=FILE, help="the golden file")
    parser.add_argument("--cases", default=f"0:{N_CASES}", help="a range, as in 0:100")
    parser.add_argument("--exact", action="store_true", help="floats bit for bit")
    parser.add_argument("--rename", action="append", default=[], metavar="OLD=NEW")
    parser.add_argument("--ignore", action="append", default=[], metavar="KEY")
    parser.add_argument("--most", type=int, default=8, help="differences shown of a case")
    parser.add_argument("--anew", action="store_true", help="write: choose sub-seeds again")
    options = parser.parse_args(argv)
    numbers = range(*map(int, options.cases.split(":")))
    start = time.perf_counter()
    if options.mode == "write":
        known = stored(options.file) if options.file.exists() and not options.anew else {}
        write(options.file, numbers, {n: r["sub"] for n, r in known.items()})
    elif options.mode == "summary":
        print(summary(stored(options.file).values()))
        return 0
    changed = 0 if options.mode == "write" else compare(numbers, stored(options.file), options)
    print(f"{len(numbers)} cases in {time.perf_counter() - start:.0f} s")
    return int(changed > 0)


if __name__ == "__main__":
    sys.exit(main())
