"""The search for words that are not plain English, on a small project with known places."""

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "tools" / "plain_words.py"

FILES = {
    "src/pack/a.py": '"""Of what was Told.\n\nThere is no row, and it is no longer here.\n"""\n',
    "src/pack/b.py": "class StreamTold:\n    was_told = chair = 'coins'  # at\n    # hand\n",
    "docs/a.md": "A file that is\nno checkpoint. Where there\nare no rows, nothing speaks of it.\n",
    "docs/a.svg": "told",
    "docs/b.md": "Lest one\nstumbles\nover what there is of it. Else UTF-8.\n\n| a | Else b |\n",
    "src/pack/c.py": 'help="Else stdout."  # 12 effective ones\n"""If.\n\nElse not."""\n',
    "src/pack/d.py": "class Else:\n    Else = 1\n    if x:\n        a()\n    else:\n        b()\n",
    "examples/a.py": "# rows handed to a coin, by a hair\n",
    "README.md": "No coinage, no hairline: the rows are no worse.\n",
    "tests/test_a.py": "def test_what_is_no_class(told):\n    pass\n\n\nclass Coin:\n    x = 1\n",
}


def run(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    command = [sys.executable, SCRIPT, folder]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout.splitlines()


def test_places_are_named(tmp_path):
    code, lines = run(tmp_path, FILES)
    assert code == 1
    assert sorted(line.split("; ")[0] for line in lines) == [
        "docs/a.md:1: 'is no checkpoint'",
        "docs/a.md:3: 'speaks of'",
        "docs/b.md:1: 'Lest'",
        "docs/b.md:2: 'stumbles over'",
        "docs/b.md:3: 'Else'",
        "docs/b.md:3: 'what there is of'",
        "docs/b.md:5: 'Else'",
        "examples/a.py:1: 'coin'",
        "examples/a.py:1: 'hair'",
        "examples/a.py:1: 'handed'",
        "src/pack/a.py:1: 'Told'",
        "src/pack/b.py:1: 'Told'",
        "src/pack/b.py:2: 'at # hand'",
        "src/pack/b.py:2: 'told'",
        "src/pack/c.py:1: 'Else'",
        "src/pack/c.py:1: 'effective ones'",
        "src/pack/c.py:4: 'Else'",
        "tests/test_a.py:1: 'is_no_class'",
        "tests/test_a.py:5: 'Coin'",
    ]


def test_plain_words_pass(tmp_path):
    assert run(tmp_path, {"README.md": FILES["README.md"]}) == (0, ["all words are plain"])
