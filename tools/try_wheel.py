"""Build the sdist and the wheel, and try the wheel as a user would.

    python tools/try_wheel.py [folder for the files, dist by default]

The sdist is built from the sources and the wheel from the sdist, the wheel's files are compared
with the sources, and the wheel is installed with the shell in a fresh environment, where the
demo runs in an empty folder outside the checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ("model.skops", "report.html", "tumours.csv")
"""What the demo writes."""


def differences(packed: Iterable[str], sources: Iterable[str]) -> list[str]:
    """What a wheel lacks of the sources, and what it has beyond them."""
    inside = {name for name in packed if not name.split("/")[0].endswith(".dist-info")}
    wanted = set(sources)
    missing = [f"the wheel lacks {name}" for name in sorted(wanted - inside)]
    return missing + [
        f"the wheel has {name}, the sources do not" for name in sorted(inside - wanted)
    ]


def sources_of(package: Path) -> list[str]:
    """The files of the package, as the wheel names them; caches are none."""
    return [
        path.relative_to(package.parent).as_posix()
        for path in package.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]


def _run(*command: str | Path, cwd: Path = ROOT) -> str:
    # Neither the checkout nor the settings of whoever calls decide which setpoint is imported.
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    words = " ".join(str(part) for part in command)
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"{words} ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


def _environment(folder: Path, *needs: str) -> Path:
    """The programs of a fresh environment with these packages."""
    venv.create(folder, with_pip=True)
    programs = folder / ("Scripts" if os.name == "nt" else "bin")
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    _run(programs / "python", *pip, "-c", ROOT / "constraints.txt", *needs)
    return programs


def _try(wheel: Path, scratch: Path) -> None:
    programs = _environment(scratch / "user", f"setpoint[cli] @ {wheel.as_uri()}")
    empty = scratch / "empty"
    empty.mkdir()
    _run(programs / "setpoint", "demo", "demo", cwd=empty)
    found = {path.name: path.stat().st_size for path in (empty / "demo").iterdir()}
    gone = [name for name in WRITTEN if not found.get(name)]
    if gone:
        raise SystemExit(f"the demo left out {', '.join(gone)}; it wrote {sorted(found)}")
    code = (
        "import setpoint; print(setpoint.__file__); print(setpoint.__version__); "
        "[getattr(setpoint, name) for name in setpoint.__all__]"
    )
    where, version = _run(programs / "python", "-c", code, cwd=empty).split()
    if not Path(where).is_relative_to(scratch) or f"-{version}-" not in wheel.name:
        raise SystemExit(f"setpoint {version} was imported from {where}, not from {wheel.name}")


def main() -> int:
    """Build, compare and try; exits with 1 and says why where a step fails."""
    out = Path(sys.argv[1] if sys.argv[1:] else ROOT / "dist").resolve()
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        begun = time.monotonic()
        built = scratch / "built"
        builder = _environment(scratch / "builder", "build")
        _run(builder / "python", "-m", "build", "--outdir", built, ROOT)
        (wheel,), (sdist,) = built.glob("*.whl"), built.glob("*.tar.gz")
        with zipfile.ZipFile(wheel) as archive:
            wrong = differences(archive.namelist(), sources_of(ROOT / "src" / "setpoint"))
        if wrong:
            raise SystemExit("\n".join(wrong))
        middle = time.monotonic()
        _try(wheel, scratch)
        out.mkdir(exist_ok=True)
        for path in (sdist, wheel):
            path.replace(out / path.name)
            print(f"{out / path.name}: {(out / path.name).stat().st_size:,} bytes")
        ended = time.monotonic()
        print(f"built in {middle - begun:.0f} s, installed and tried in {ended - middle:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
