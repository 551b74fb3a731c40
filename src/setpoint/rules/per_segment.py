"""One rule for each segment, or for each class on top."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.goals.populations import Key, Label, Other
from setpoint.rules.base import Ints, Rule
from setpoint.rules.codec import fields_of, list_of, wrong
from setpoint.rules.export.questions import Answer, Largest, Number, Score, as_chance, by_segment
from setpoint.rules.segments import checked_segments, segment_in_words
from setpoint.rules.words import ClassNames, indented

__all__ = ["PerSegment", "per_segment"]


@dataclass(frozen=True, init=False)
class PerSegment(Rule, written_as="per_segment"):
    """Look first, then let the rule for what was seen decide.

    Parameters
    ----------
    rules : sequence of Rule
        One for each segment; with ``by="top"`` one for each score column. They agree in
        their classes and in their score columns, and none needs segments itself.
    segments : sequence of Key
        The segments in the order of the codes; they name the same columns and do not
        overlap. None with ``by="top"``.
    by : {"segment", "top"}
        "segment": the row's segment selects. "top": the class with the largest score does,
        ties to the lowest. For both at once, nest: a rule by segment whose rules are by top.

    Raises
    ------
    TypeError
        If a rule is none, or a segment is written wrongly.
    ValueError
        If the counts do not agree, segments overlap, or the rules do not fit together.

    Examples
    --------
    >>> from setpoint.rules import ClassNames, PerSegment, Threshold
    >>> rule = PerSegment([Threshold(0.3), Threshold(0.6)], [(("sex", "F"),), (("sex", "M"),)])
    >>> codes = rule.segment_codes({"sex": ["M", "F", "M"]})
    >>> rule.decide([0.5, 0.5, 0.7], segments=codes)
    array([0, 1, 1])
    >>> print(rule.explain(ClassNames(("no", "yes"))))
    sex = F: predict 'yes' when the score is at least 0.3
    sex = M: predict 'yes' when the score is at least 0.6
    """

    rules: tuple[Rule, ...]
    segments: tuple[Key, ...] = ()
    by: Literal["segment", "top"] = "segment"

    def __init__(
        self,
        rules: Sequence[Rule],
        segments: Sequence[Key] = (),
        by: Literal["segment", "top"] = "segment",
    ) -> None:
        if by not in ("segment", "top"):
            raise InputError(f"`by` must be 'segment' or 'top', got {by!r}")
        parts = tuple(rules)
        keys: tuple[Key, ...] = ()
        if by == "segment":
            keys = checked_segments(segments)
            if len(parts) != len(keys):
                raise InputError(
                    f"`rules`: {len(keys)} segments need as many rules, got {len(parts)}"
                )
        elif len(segments):
            raise InputError("`segments`: a rule by top has none; put it into a rule by segment")
        check_alike(parts)
        if any(rule.needs_segments for rule in parts):
            raise InputError("`rules`: a rule inside PerSegment must not look at segments itself")
        if by == "top" and parts[0].value_columns:
            raise InputError(
                "`rules`: by top the largest score selects, so no rule may look at columns of "
                f"values, got {list(parts[0].value_columns)}"
            )
        if by == "top" and parts[0].score_columns != len(parts):
            raise InputError(
                f"`rules`: by top there is one rule for each score column "
                f"({parts[0].score_columns}), got {len(parts)}"
            )
        object.__setattr__(self, "rules", parts)
        object.__setattr__(self, "segments", keys)
        object.__setattr__(self, "by", by)

    @property
    def n_classes(self) -> int:
        """As in each of the rules."""
        return self.rules[0].n_classes

    @property
    def score_columns(self) -> int | None:
        """As in each of the rules."""
        return self.rules[0].score_columns

    @property
    def children(self) -> tuple[Rule, ...]:
        """The rules."""
        return self.rules

    @property
    def segment_keys(self) -> tuple[Key, ...]:
        """The segments."""
        return self.segments

    def _fields(self) -> dict[str, Any]:
        return {
            "by": self.by,
            "segments": [
                [[column, _plain(v)] for column, v in segment] for segment in self.segments
            ],
            "rules": [part._written() for part in self.rules],
        }

    @classmethod
    def _from_fields(cls, fields: dict[str, Any], where: str) -> PerSegment:
        by = fields["by"]
        if not isinstance(by, str) or by not in ("segment", "top"):
            wrong(f"{where}.by", by, "'segment' or 'top'")
        segments = list_of(fields["segments"], f"{where}.segments")
        keys = [_key(segment, f"{where}.segments[{i}]") for i, segment in enumerate(segments)]
        parts = list_of(fields["rules"], f"{where}.rules")
        rules = [cls._read(part, f"{where}.rules[{i}]") for i, part in enumerate(parts)]
        return cls(rules, keys, "segment" if by == "segment" else "top")

    def _rows(self, scores: Floats, segments: Ints | None) -> list[Ints]:
        """Return the rows of each rule."""
        if self.by == "top":
            code = scores.argmax(axis=1)
        else:
            assert segments is not None
            code = segments
        order = np.argsort(code, kind="stable")
        ends = np.searchsorted(code[order], np.arange(len(self.rules) + 1))
        return [order[a:b] for a, b in pairwise(ends)]

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        out = np.empty(len(scores), dtype=np.int64)
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            draws = u[rows] if u is not None and rule.randomized else None
            out[rows] = rule._decide(scores[rows], None, draws)
        return out

    def _margins(self, scores: Floats, segments: Ints | None, code: int) -> Floats:
        out = np.empty(len(scores))
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            out[rows] = rule._margins(scores[rows], None, code)
        return out

    def _decide_without(self, scores: Floats, segments: Ints | None, code: int) -> Ints:
        out = np.empty(len(scores), dtype=np.int64)
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            out[rows] = rule._decide_without(scores[rows], None, code)
        return out

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.empty((len(scores), self.n_classes))
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            out[rows] = rule._distribution(scores[rows], None)
        return out

    def _answer(self, u: Number) -> Answer:
        answers = tuple(rule._answer(u) for rule in self.rules)
        return by_segment(self.segments, answers) if self.segments else self._at_top(answers)

    def _chance(self) -> Number:
        assert self.by == "top"
        return as_chance(self._at_top(tuple(rule._chance() for rule in self.rules)))

    def _at_top(self, answers: tuple[Answer, ...]) -> Answer:
        if len(answers) == 1:
            return answers[0]
        return Largest(tuple(Score(i) for i in range(len(self.rules))), answers)

    def _within(self, code: int) -> Rule:
        return self if self.by == "top" else self.rules[code]

    def _words(self, names: ClassNames, digits: int) -> str:
        lines = []
        for code, rule in enumerate(self.rules):
            if self.by == "segment":
                where = segment_in_words(self.segments[code])
            elif self.score_columns == self.n_classes:
                where = f"where {names.score_of(code)} is largest"
            else:
                where = f"where {names.score} in column {code + 1} is largest"
            words = rule._words(names, digits)
            lines.append(f"{where}:\n{indented(words)}" if "\n" in words else f"{where}: {words}")
        return "\n".join(lines)


def per_segment(rules: Sequence[Rule], segments: Sequence[Key]) -> Rule:
    """Return the rule by segment; for the only segment ``()``, everyone, its rule itself.

    Raises
    ------
    TypeError, ValueError
        As in :class:`PerSegment`.

    Examples
    --------
    >>> from setpoint.rules import Threshold, per_segment
    >>> per_segment([Threshold(0.3)], [()])
    Threshold(threshold=0.3, width=0.0)
    """
    if len(rules) == 1 and len(segments) == 1 and not segments[0]:
        check_alike(tuple(rules))
        return rules[0]
    return PerSegment(rules, segments)


def check_alike(rules: tuple[Rule, ...]) -> None:
    """Refuse what is not a rule, and rules that do not take the same scores to the same classes."""
    if not rules:
        raise InputError("`rules`: at least one is needed")
    for rule in rules:
        if not isinstance(rule, Rule):
            raise InputTypeError(
                f"`rules`: found {rule!r} ({type(rule).__name__}), expected a Rule"
            )
        first = rules[0]
        if rule.n_classes != first.n_classes:
            raise InputError(
                f"`rules` must decide between the same classes, got {first.n_classes} "
                f"and {rule.n_classes} of them"
            )
        if rule.score_columns != first.score_columns:
            raise InputError(
                f"`rules` must take the same score columns, got {first.score_columns} "
                f"and {rule.score_columns} (None: one score a row)"
            )
        if rule.value_columns != first.value_columns:
            raise InputError(
                f"`rules` must look at the same columns of values, got {list(first.value_columns)} "
                f"and {list(rule.value_columns)}"
            )


def _plain(value: Label | Other) -> Any:
    return {"other": list(value.than)} if isinstance(value, Other) else value


def _key(data: Any, where: str) -> Key:
    pairs: list[tuple[str, Label | Other]] = []
    for i, pair in enumerate(list_of(data, where)):
        place = f"{where}[{i}]"
        if not isinstance(pair, list) or len(pair) != 2 or not isinstance(pair[0], str):
            wrong(place, pair, "a list [column, value]")
        column, value = pair
        if isinstance(value, dict):
            than = list_of(fields_of(value, place, ("other",))["other"], f"{place}.other")
            pairs.append((column, Other(tuple(_label(v, f"{place}.other") for v in than))))
        else:
            pairs.append((column, _label(value, place)))
    return tuple(pairs)


def _label(value: Any, where: str) -> Label:
    finite = not isinstance(value, float) or math.isfinite(value)
    if not isinstance(value, (str, bool, int, float)) or not finite:
        wrong(where, value, "text, a finite number, a bool or {'other': [...]}")
    return value
