"""Where two records differ: the path, the old value and the new one."""

from __future__ import annotations

CLOSE = 1e-9
"""Other processors may round the last bits otherwise."""

ABSENT = "(absent)"


def differences(old, new, *, exact=False, ignored=()):
    """List ``(path, old, new)``.

    Exact: floats have the same digits. Else they may be apart by 1e-9, relative to whichever
    is larger of one and the two, and of a long list only length and ends are compared.
    """
    found = []
    _walk(old, new, "", exact, frozenset(ignored), found)
    return found


def outcome(record):
    """The case, and of each part its status or its error; no numbers."""
    out = {k: v for k, v in record.items() if not isinstance(v, dict)}
    for part in ("solve", "evaluate"):
        if part in record:
            ended = record[part].get("report", {}).get("status")
            out[part] = ended or record[part]["error"][0]
    return out


def shown(value, width=110):
    """A value in one line, cut in the middle if long."""
    text = value if value == ABSENT else repr(value)
    half = width // 2 - 2
    return text if len(text) <= width else f"{text[:half]} .. {text[-half:]}"


def lines(found):
    """A readable difference: for texts from shortly before the place where they part."""
    for path, was, now in found:
        old, new = was, now
        yield f"  {path}"
        if isinstance(old, str) and isinstance(new, str) and ABSENT not in (old, new):
            both = zip(old, new, strict=False)
            part = next((i for i, (a, b) in enumerate(both) if a != b), min(len(old), len(new)))
            start = max(0, part - 20)
            yield f"    (from character {start} on)"
            old, new = old[start:], new[start:]
        yield f"    - {shown(old)}"
        yield f"    + {shown(new)}"


def _walk(old, new, path, exact, ignored, found):
    if isinstance(old, dict) and isinstance(new, dict):
        skipped = ignored if exact or "digest" not in old else ignored | {"digest"}
        for key in [*old, *(k for k in new if k not in old)]:
            if key not in skipped:
                a, b = old.get(key, ABSENT), new.get(key, ABSENT)
                _walk(a, b, f"{path}.{key}" if path else str(key), exact, ignored, found)
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for i, (a, b) in enumerate(zip(old, new, strict=True)):
            _walk(a, b, f"{path}[{i}]", exact, ignored, found)
    elif not _are_same(old, new, exact):
        found.append((path, old, new))


def _are_same(old, new, exact):
    if type(old) is not type(new):
        return False
    if not isinstance(old, float):
        return old == new
    if exact:
        return repr(old) == repr(new)
    return abs(old - new) <= CLOSE * max(1.0, abs(old), abs(new))
