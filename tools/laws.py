"""All laws of the house in one process, which reads each source once.

Usage: ``python tools/laws.py``. Exits with 1, and names each place, where one is broken.
"""

import gc
import sys
from pathlib import Path

import docstrings
import doors
import house_size
import import_circles
import plain_words
import raised
import room_names

if __name__ == "__main__":
    gc.disable()  # all trees are kept to the end
    root = Path(__file__).parents[1]
    package = root / "src" / "setpoint"
    codes = [
        import_circles.main(package),
        room_names.main(package, root),
        plain_words.main(root),
        doors.main(package, root / "tests"),
        docstrings.main(package),
        raised.main(package),
        house_size.main(package, root / "tools" / "budgets.toml"),
    ]
    sys.exit(max(codes))
