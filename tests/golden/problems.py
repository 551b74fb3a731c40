"""Five hundred calls of `solve`, drawn once at random and stored: rows, goals and options.

A case has a kind by its last digit, so that any ten in a row hold every kind.
"""

from __future__ import annotations

import hashlib
import json
import lzma
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from setpoint import Dataset, SearchLimits
from setpoint.solvers import SOLVERS, PostShift

N_CASES = 500
FILE = Path(__file__).with_name("problems.jsonl.xz")


@dataclass
class Part:
    """Rows with all that may belong to them; `y` and `baseline` hold labels."""

    scores: Any
    y: Any = None
    sample_weight: Any = None
    sensitive_features: dict[str, list] | None = None
    baseline: list | None = None

    @classmethod
    def of_json(cls, given):
        arrays = {k: np.array(given[k]) for k in ("scores", "sample_weight") if k in given}
        return cls(**{**given, **arrays})

    def beside(self):
        """What belongs to the rows beside scores and labels."""
        return {k: getattr(self, k) for k in ("sample_weight", "sensitive_features", "baseline")}

    def of(self, first):
        """A data set of scores, or of decisions."""
        return Dataset(first, self.y, **self.beside())


@dataclass
class Case:
    """One call of `solve`; `sub` numbers the draws until one was quick."""

    number: int
    sub: int
    kind: str
    goal: str
    rows: Part
    labels: list
    datasets: dict[str, Part] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)

    def arguments(self):
        """What `solve` takes beside the goal, the scores and y."""
        out = {**self.rows.beside(), **self._asked()}
        if self.datasets:
            out["datasets"] = {name: p.of(p.scores) for name, p in self.datasets.items()}
        return {k: v for k, v in out.items() if v is not None or k == "decide_on"}

    def _asked(self):
        """The options as `solve` takes them: drawn limits that the solver has are one value."""
        out = dict(self.options)
        drawn = {"calls": out.pop("max_oracle_calls", None), "tol": out.pop("tol", None)}
        solver = out.get("solver", "auto")
        takes = getattr(SOLVERS.get(solver, solver), "limits", ())
        limits = SearchLimits(**{name: value for name, value in drawn.items() if name in takes})
        return out | ({"limits": limits} if limits.given else {})

    def digest(self):
        """A short mark of everything in the case."""
        parts = [
            {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in vars(p).items()}
            for p in (self.rows, *self.datasets.values())
        ]
        text = repr((self.goal, parts, list(self.datasets), self.options))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@cache
def _lines():
    with lzma.open(FILE, "rt", encoding="utf-8") as file:
        return file.readlines()


def case(number):
    """The case of a number."""
    given = json.loads(_lines()[number])
    options = given["options"]
    if isinstance(options.get("solver"), dict):
        options["solver"] = PostShift(**options["solver"])
    given["rows"] = Part.of_json(given["rows"])
    given["datasets"] = {k: Part.of_json(p) for k, p in given["datasets"].items()}
    return Case(number, **given)
