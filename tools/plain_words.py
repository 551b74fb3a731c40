"""Find words that are not plain English: in the package, its pages and the names of its tests.

Readers stumble over such words, and a name such as ``told`` does not say what it holds. Parts
of names count. Of tests only names are read: their data may hold any word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

_GAP = r"[\s#_]+"  # between words of a sentence, a comment over several lines, or a name
INSTEAD = {
    "told": "shown, called with, distinguished, or what it is",
    "handed": "passed",
    f"at{_GAP}hand": "available",
    "coin": "one half, at random",
    "hair": "slightly",
    f"speaks?{_GAP}of": "refers to",
}
# "There is no row" is plain, and so are "is no longer" and "is no better".
_COMPARED = "longer|more|less|fewer|better|worse|smaller|larger|harder|easier"
_IS_NO = rf"there{_GAP}(?:is|are|was|were)|((?:is|are|was|were){_GAP}no{_GAP}(?!{_COMPARED})[a-z]+)"
_WORD = r"(?:(?<![A-Za-z])|(?=[A-Z]))(?i:{})(?![a-z])"
PATTERNS = {re.compile(_WORD.format(f"({words})")): use for words, use in INSTEAD.items()}
PATTERNS[re.compile(_WORD.format(_IS_NO))] = "is not a"
# What readers of the help and the pages stumbled on.
_PHRASES = {
    f"what{_GAP}(?:there{_GAP}is|is{_GAP}there){_GAP}of": "all of, or what is left of",
    f"hears?{_GAP}of": "is called with, or learns that",
    f"stumbles?{_GAP}over": "does not expect",
    f"called{_GAP}what": "the names of",
    f"effective{_GAP}ones": "effective rows",
}
PHRASES = {re.compile(_WORD.format(f"({words})")): use for words, use in _PHRASES.items()}
PHRASES[re.compile(r"\b([Ll]est)\b")] = "so that ... not"
# A sentence that begins so has no subject: "Else UTF-8."
_BEFORE = rf"(?:[.;]{_GAP}|: |[\"'`(|] ?)"
PHRASES[re.compile(rf"{_BEFORE}(Else)(?![A-Za-z])")] = "Default: or otherwise"
# Without the phrases, until then.
_NAME = re.compile(r"^\s*(?:def|class) (\w+)", re.MULTILINE)


def texts_of(project: Path) -> Iterator[tuple[Path, int, str]]:
    """Each text to read, with its file and the number of its first line."""
    paths = [p for folder in ("src", "docs", "examples") for p in (project / folder).rglob("*.*")]
    for path in sorted([*paths, project / "README.md", project / "CHANGELOG.md"]):
        if path.suffix in (".py", ".md", ".j2") and path.exists():
            yield path, 1, path.read_text(encoding="utf-8")
    for path in sorted((project / "tests").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        for name in _NAME.finditer(text):
            yield path, text.count("\n", 0, name.start(1)) + 1, name[1]


def found_in(project: Path) -> Iterator[str]:
    """The places of such words, with words to use instead."""
    for path, first, text in texts_of(project):
        place = path.relative_to(project).as_posix()
        for pattern, use in (PATTERNS | PHRASES).items():
            for match in filter(lambda m: m[1], pattern.finditer(text)):
                number = first + text.count("\n", 0, match.start(1))
                words = " ".join(match[1].split())
                yield f"{place}:{number}: {words!r}; rather: {use}"


def main(project: Path) -> int:
    """Print what is wrong; the exit code."""
    found = list(found_in(project))
    print("\n".join(found) or "all words are plain")
    return 1 if found else 0
