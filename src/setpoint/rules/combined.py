"""Rules made of rules: one for each segment, and mixtures."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from setpoint.array_types import Floats
from setpoint.errors import InputError, InputTypeError
from setpoint.goals import Key, Label, Other
from setpoint.rules import questions as q
from setpoint.rules.base import RULE, Array, Ints, Rule, plain_number
from setpoint.rules.codec import (
    CHECKED,
    ClassNames,
    StoredAs,
    fields_of,
    indented,
    list_of,
    number_of,
    probabilities_in_words,
    wrong,
)
from setpoint.rules.segments import checked_segments, segment_in_words
from setpoint.rules.thresholds import Threshold

# --- How they are stored --------------------------------------------------------------------------


def _written_key(segment: Key) -> list[Any]:
    return [
        [column, {"other": list(value.than)} if isinstance(value, Other) else value]
        for column, value in segment
    ]


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


def _atom(data: Any, where: str) -> tuple[float, Rule]:
    parts = fields_of(data, where, ("probability", "rule"))
    p = number_of(parts["probability"], f"{where}.probability")
    return p, Rule._read(parts["rule"], f"{where}.rule")


# --- One rule for each segment, or for each class on top ------------------------------------------


@dataclass(frozen=True, init=False)
class PerSegment(
    Rule,
    written_as="per_segment",
    stored={
        "by": CHECKED,
        "segments": StoredAs(_written_key, _key).listed,
        "rules": RULE.listed,
    },
):
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
        check_matching(parts)
        looked_at, n = parts[0].value_columns, parts[0].score_columns
        for refused, why in (
            (any(rule.needs_segments for rule in parts),
             "a rule inside PerSegment must not look at segments itself"),
            (by == "top" and looked_at,
             "by top the largest score selects, so no rule may look at columns of values, got "
             f"{list(looked_at)}"),
            (by == "top" and n != len(parts),
             f"by top there is one rule for each score column ({n}), got {len(parts)}"),
        ):  # fmt: skip
            if refused:
                raise InputError(f"`rules`: {why}")
        object.__setattr__(self, "rules", parts)
        object.__setattr__(self, "segments", keys)
        object.__setattr__(self, "by", by)

    @property
    def children(self) -> tuple[Rule, ...]:
        """The rules."""
        return self.rules

    @property
    def segment_keys(self) -> tuple[Key, ...]:
        """The segments."""
        return self.segments

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

    def _ranked(
        self, scores: Floats, segments: Ints | None, code: int, instead: bool
    ) -> Array | None:
        out: Array = np.empty(len(scores), np.int64 if instead else np.float64)
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            found = rule._ranked(scores[rows], None, code, instead)
            if found is None:
                return None
            out[rows] = found
        return out

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.empty((len(scores), self.n_classes))
        for rule, rows in zip(self.rules, self._rows(scores, segments), strict=True):
            out[rows] = rule._distribution(scores[rows], None)
        return out

    def _answer(self, u: q.Number | None) -> q.Answer:
        answers = tuple(rule._answer(u) for rule in self.rules)
        if self.segments:
            return q.by_segment(self.segments, answers)
        if len(answers) == 1:
            return answers[0]
        return q.Largest(tuple(q.term("score", i) for i in range(len(answers))), answers)

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
        check_matching(tuple(rules))
        return rules[0]
    return PerSegment(rules, segments)


def check_matching(rules: tuple[Rule, ...]) -> None:
    """Refuse what is not a rule, and rules that do not take the same scores to the same classes."""
    if not rules:
        raise InputError("`rules`: at least one is needed")
    first = rules[0]
    for rule in rules:
        if not isinstance(rule, Rule):
            raise InputTypeError(
                f"`rules`: found {rule!r} ({type(rule).__name__}), expected a Rule"
            )
        for words, one, other in (
            ("decide between the same classes, got {} and {} of them",
             first.n_classes, rule.n_classes),
            ("take the same score columns, got {} and {} (None: one score a row)",
             first.score_columns, rule.score_columns),
            ("look at the same columns of values, got {} and {}",
             list(first.value_columns), list(rule.value_columns)),
        ):  # fmt: skip
            if one != other:
                raise InputError(f"`rules` must {words.format(one, other)}")


# --- A draw among rules: a randomised classifier --------------------------------------------------


_SUM_TOLERANCE = 1e-9
_BELOW_ONE = math.nextafter(1.0, 0.0)


@dataclass(frozen=True, init=False)
class Mixture(
    Rule,
    written_as="mixture",
    stored={
        "atoms": StoredAs(
            lambda atom: {"probability": atom[0], "rule": atom[1]._written()}, _atom
        ).listed
    },
):
    """One of several rules, each with its probability.

    Mixtures inside are flattened and equal rules merged. Thresholds come first, in
    ascending order; other rules keep their order, since over three and more classes `u`
    walks through the atoms in it. A binary mixture decides 1 if and only if
    ``u < P(1)``: for thresholds this is the same walk.

    Parameters
    ----------
    atoms : sequence of (probability, Rule)
        Probabilities are positive and sum to 1 within 1e-9; they are normalised.

    Raises
    ------
    TypeError
        If a probability is not a number, or a rule none.
    ValueError
        If there is no atom, the probabilities are wrong, or the rules do not take the
        same scores and segments to the same classes.

    Examples
    --------
    >>> from setpoint.rules import Mixture, ClassNames, Threshold
    >>> rule = Mixture([(0.75, Threshold(0.6)), (0.25, Threshold(0.4))])
    >>> rule.distribution([0.3, 0.5, 0.7])[:, 1]
    array([0.  , 0.25, 1.  ])
    >>> rule.decide([0.5, 0.5], u=[0.2, 0.3])
    array([1, 0])
    >>> print(rule.explain(ClassNames(("no", "yes"))))
    with probability 0.25 predict 'yes' when the score is at least 0.4, \
otherwise when the score is at least 0.6
    """

    atoms: tuple[tuple[float, Rule], ...]

    def __init__(self, atoms: Sequence[tuple[float, Rule]]) -> None:
        pairs = tuple((plain_number(p, "a probability"), rule) for p, rule in atoms)
        rules = tuple(rule for _, rule in pairs)
        check_matching(rules)
        segments = {rule.segment_keys for rule in rules if rule.needs_segments}
        if len(segments) > 1:
            raise InputError("`atoms` must look at the same segments in the same order")
        for p, _ in pairs:
            if not 0.0 < p < math.inf:
                raise InputError(f"a probability must be positive and finite, got {p!r}")
        total = math.fsum(p for p, _ in pairs)
        if abs(total - 1.0) > _SUM_TOLERANCE:
            raise InputError(f"`probabilities` must sum to 1, got {total!r}")
        object.__setattr__(self, "atoms", _canonical(pairs))

    @property
    def children(self) -> tuple[Rule, ...]:
        """The atoms' rules."""
        return tuple(rule for _, rule in self.atoms)

    @property
    def randomized(self) -> bool:
        """Whether there is more than one atom, or the one is randomised itself."""
        return len(self.atoms) > 1 or self.atoms[0][1].randomized

    def _distribution(self, scores: Floats, segments: Ints | None) -> Floats:
        out = np.zeros((len(scores), self.n_classes))
        for p, rule in self.atoms:
            out += p * rule._distribution(scores, segments)
        np.minimum(out, 1.0, out=out)
        sure = np.count_nonzero(out, axis=1) == 1  # all atoms agree: 1, not 1 - 1e-16
        out[sure] = out[sure] > 0.0
        return out

    def _ranked(
        self, scores: Floats, segments: Ints | None, code: int, instead: bool
    ) -> Array | None:
        return self.atoms[0][1]._ranked(scores, segments, code, instead)  # no draws: the only one

    def _decide(self, scores: Floats, segments: Ints | None, u: Floats | None) -> Ints:
        if u is None:
            return self.atoms[0][1]._decide(scores, segments, None)
        if self.n_classes == 2:
            return (u < self._distribution(scores, segments)[:, 1]).astype(np.int64)
        ends = np.cumsum([p for p, _ in self.atoms])
        drawn = np.searchsorted(ends[:-1], u, side="right")
        out = np.empty(len(scores), dtype=np.int64)
        for k, (p, rule) in enumerate(self.atoms):
            rows = np.flatnonzero(drawn == k)
            draws = None
            if rule.randomized:  # what is left of the draw, stretched to [0, 1) again
                start = ends[k - 1] if k else 0.0
                draws = np.clip((u[rows] - start) / p, 0.0, _BELOW_ONE)
            codes = segments[rows] if segments is not None else None
            out[rows] = rule._decide(scores[rows], codes, draws)
        return out

    def _answer(self, u: q.Number | None) -> q.Answer:
        if u is None:
            mixed = _mixed(self.atoms)
            return q.Cases(((q.term("<", 1.0, mixed), 1.0),), mixed)
        if not self.randomized:
            return self.atoms[0][1]._answer(u)
        # segments first, also where an atom looks at none: `decide` refuses rows that have none
        keys = self.segment_keys
        if not keys:
            return self._drawn(u, None)
        return q.by_segment(keys, [self._drawn(u, code) for code in range(len(keys))])

    def _drawn(self, u: q.Number, code: int | None) -> q.Answer:
        """What is decided in a segment."""
        own = [
            r if code is None or not r.needs_segments else r.children[code] for r in self.children
        ]
        atoms = [(p, rule) for (p, _), rule in zip(self.atoms, own, strict=True)]
        if self.n_classes > 2:
            return _picked(atoms, u)
        parts = [rule._cuts() for _, rule in atoms]
        steps = [part for part in parts if part is not None]
        if len(steps) < len(parts):
            return q.drawn(u, _mixed(atoms))
        # what is added up to a step is computed here
        cuts = sorted({cut for part in steps for cut in part})
        codes = None if code is None else np.full(len(cuts) + 1, code)
        chances = self._distribution(np.array([-math.inf, *cuts]), codes)[:, 1].tolist()
        whens = [
            (q.term(">=", q.SCORE, cut), q.drawn(u, p))
            for cut, p, before in zip(cuts, chances[1:], chances, strict=False)
            if p != before
        ]
        otherwise = q.drawn(u, chances[0])
        return q.Cases(tuple(reversed(whens)), otherwise) if whens else otherwise

    def _words(self, names: ClassNames, digits: int) -> str:
        if len(self.atoms) == 1:
            return self.atoms[0][1]._words(names, digits)
        shares = probabilities_in_words(p for p, _ in self.atoms)
        heads = [f"with probability {share}" for share in shares[:-1]] + ["otherwise"]
        if all(isinstance(rule, Threshold) for rule in self.children):
            clauses = [r.clause(names, digits) for r in self.children if isinstance(r, Threshold)]
            clauses[0] = f"predict {names.label(1)} {clauses[0]}"
            return ", ".join(f"{h} {c}" for h, c in zip(heads, clauses, strict=True))
        words = [rule._words(names, digits) for rule in self.children]
        if any("\n" in text for text in words):
            return "\n".join(f"{h}:\n{indented(t)}" for h, t in zip(heads, words, strict=True))
        return "; ".join(f"{h} {t}" for h, t in zip(heads, words, strict=True))


def mixture(atoms: Iterable[tuple[float, Rule]]) -> Rule:
    """Return the mixture, or the single rule where only one is left.

    Atoms of probability 0 are left out.

    Raises
    ------
    TypeError, ValueError
        As in :class:`Mixture`.

    Examples
    --------
    >>> from setpoint.rules import Threshold, mixture
    >>> mixture([(0.5, Threshold(0.4)), (0.5, Threshold(0.4)), (0.0, Threshold(1.0))])
    Threshold(threshold=0.4, width=0.0)
    """
    kept = [(p, rule) for p, rule in atoms if p != 0.0]
    if len(kept) == 1 and kept[0][0] == 1.0:
        check_matching((kept[0][1],))
        return kept[0][1]
    mixed = Mixture(kept)
    return mixed.atoms[0][1] if len(mixed.atoms) == 1 else mixed


def _picked(atoms: Sequence[tuple[float, Rule]], u: q.Number) -> q.Answer:
    """An atom by `u`, as in `_decide`."""
    ends = np.cumsum([p for p, _ in atoms]).tolist()
    answers = []
    for start, (p, rule) in zip([0.0, *ends], atoms, strict=False):
        rest = q.term("/", q.term("-", u, start), p)
        below = q.Cases(((q.term("<", rest, _BELOW_ONE), rest),), _BELOW_ONE)
        answers.append(rule._answer(below))
    whens = [(q.term("<", u, end), answer) for end, answer in zip(ends[:-1], answers, strict=False)]
    return q.Cases(tuple(whens), answers[-1]) if whens else answers[-1]


def _mixed(atoms: Sequence[tuple[float, Rule]]) -> q.Answer:
    """The probability of class 1, as `_distribution` adds it: 1 where all atoms agree."""
    parts = [rule._answer(None) for _, rule in atoms]
    if len(parts) == 1:
        return parts[0]
    sure = q.term("and", *(q.term(">=", part, 1.0) for part in parts))
    total = (q.term("*", p, part) for (p, _), part in zip(atoms, parts, strict=True))
    return q.Cases(((sure, 1.0),), q.term("+", *total))


def _canonical(pairs: Iterable[tuple[float, Rule]]) -> tuple[tuple[float, Rule], ...]:
    """Flattened, merged, sorted, normalised; twice is the same as once, to the last bit."""
    shares: dict[Rule, list[float]] = {}
    for p, rule in pairs:
        for chance, atom in rule.atoms if isinstance(rule, Mixture) else ((1.0, rule),):
            shares.setdefault(atom, []).append(p * chance)
    weights = {rule: math.fsum(parts) for rule, parts in shares.items()}
    total = math.fsum(weights.values())
    if abs(total - 1.0) > 4.0 * sys.float_info.epsilon:
        weights = {rule: weight / total for rule, weight in weights.items()}
    kept = [(weight, rule) for rule, weight in weights.items() if weight > 0.0]
    return tuple(sorted(kept, key=_place))


def _place(atom: tuple[float, Rule]) -> tuple[int, float, float]:
    rule = atom[1]
    return (0, rule.threshold, rule.width) if isinstance(rule, Threshold) else (1, 0.0, 0.0)
