"""What a report was made from and by: digests of the inputs, parameters, time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["Audit"]


@dataclass(frozen=True)
class Audit:
    """What a report was made from and by, to find it again or to show that it is the same.

    Parameters
    ----------
    started : str
        When the fit, or the evaluation, began: in UTC, as in ISO 8601.
    seconds : float or None
        It took, the fitting of the model included.
    model : str
        The class of the classifier, by its full name.
    parameters : dict of str to str
        Those that differ from their defaults, as Python writes them, those of models inside
        too, such as ``estimator__C``. What is not here is as in the version that the report
        names.
    digests : dict of str to str
        Of each part of the rows, by the name of its argument, such as "X", "y" and
        "sample_weight"; of the "goal" as text; of the "rule" as JSON; and of the "model", what it
        has learnt. Each begins with the name of the hash. Rows in another order have another
        digest; whether an array or a frame held them makes no difference.

    Examples
    --------
    >>> print(Audit("2026-11-23T07:00:00+00:00", 1.5, "own.Model", {"C": "10"}, {"goal": "1f"}))
    started       2026-11-23T07:00:00+00:00
    seconds       1.5
    model         own.Model
    C             10
    goal, digest  1f
    """

    started: str = ""
    seconds: float | None = None
    model: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[tuple[str, str]]:
        """What stands here as pairs of a name and a text.

        Examples
        --------
        >>> Audit(model="own.Model").lines()
        [('model', 'own.Model')]
        """
        seconds = "" if self.seconds is None else f"{self.seconds:.3g}"
        out = [("started", self.started), ("seconds", seconds), ("model", self.model)]
        out += self.parameters.items()
        out += [(f"{name}, digest", text) for name, text in self.digests.items()]
        return [(name, text) for name, text in out if text]

    def __str__(self) -> str:
        lines = self.lines()
        width = max((len(name) for name, _ in lines), default=0)
        return "\n".join(f"{name:<{width}}  {text}" for name, text in lines)
