"""Sections: what a room of the house adds to a report, with its own words and pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

from setpoint.errors import InputTypeError
from setpoint.report.picture import Picture

if TYPE_CHECKING:
    from setpoint.report.facts import Facts

__all__ = ["Section", "TextSection", "read_section", "section", "section_named", "write_section"]


class Section(Protocol):
    """What a room adds: values that JSON takes, sentences, and pictures."""

    name: ClassVar[str]

    @property
    def title(self) -> str:
        """Its heading."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Its values, as plain dicts, lists and scalars."""
        ...

    def lines(self) -> Sequence[str]:
        """Its sentences; none where pictures say it all."""
        ...

    def pictures(self, facts: Facts) -> Iterable[Picture]:
        """Its pictures, in the report that it is a part of."""
        ...


S = TypeVar("S")

_KINDS: dict[str, Any] = {}


def section(kind: type[S]) -> type[S]:
    """Register a section: a class with a `name` and ``from_dict``, which reads its JSON."""
    _KINDS[kind.name] = kind  # type: ignore[attr-defined]
    return kind


@dataclass(frozen=True)
class TextSection:
    """A title and sentences, such as where the data came from.

    Examples
    --------
    >>> TextSection("The data", ("569 rows from wdbc.csv",)).lines()
    ('569 rows from wdbc.csv',)
    """

    name: ClassVar[str] = "text"
    title: str
    sentences: Sequence[str]
    stored: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.sentences, str):
            raise InputTypeError("`sentences` is a sequence of sentences, got one text")
        object.__setattr__(self, "sentences", tuple(self.sentences))

    # stored is a dict
    __hash__ = None  # type: ignore[assignment]

    def to_dict(self) -> dict[str, Any]:
        """Nothing beside its sentences."""
        return {}

    def lines(self) -> Sequence[str]:
        """Its sentences."""
        return self.sentences

    def pictures(self, facts: Facts) -> Iterable[Picture]:
        """It has none."""
        return ()


def write_section(one: Section) -> dict[str, Any]:
    """A section for JSON: its sentences, for who does not know its room, and its values."""
    if isinstance(one, TextSection) and one.stored is not None:
        return dict(one.stored)
    return {
        "name": one.name,
        "title": one.title,
        "lines": list(one.lines()),
        "values": one.to_dict(),
    }


def read_section(data: Mapping[str, Any]) -> Section:
    """The section that :func:`write_section` wrote; of an unknown room, its sentences."""
    kind = _KINDS.get(data["name"])
    if kind is not None:
        out: Section = kind.from_dict(data["values"])
        return out
    stored = None if data["name"] == TextSection.name else dict(data)
    return TextSection(data["title"], tuple(data["lines"]), stored)


def section_named(sections: Iterable[Section], name: str) -> Section | None:
    """The section of that name, or None."""
    for one in sections:
        stored = one.stored if isinstance(one, TextSection) else None
        if (one.name if stored is None else stored["name"]) == name:
            return one if stored is None else read_section(stored)
    return None
