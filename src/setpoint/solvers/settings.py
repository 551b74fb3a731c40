"""Settings as values: frozen, checked when they are made, and open to a search over parameters."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from setpoint.errors import InputError
from setpoint.parameters import Allowed, check

__all__ = ["Settings"]


@dataclass(frozen=True)
class Settings:
    """Parameters that belong together.

    Raises
    ------
    ValueError
        If a parameter is not allowed; it names the parameter, what was found and what is.

    Examples
    --------
    >>> from setpoint.solvers import Minibatches
    >>> settings = Minibatches(max_epochs=20)
    >>> settings.with_params(batch_size=256)
    Minibatches(max_epochs=20, batch_size=256)
    >>> settings.get_params()["patience"]
    10
    """

    allowed: ClassVar[Mapping[str, Allowed]] = {}
    """What each parameter may be."""
    always: ClassVar[tuple[str, ...]] = ()
    """Parameters that are written whatever they are."""

    def __post_init__(self) -> None:
        check(self, self.allowed)

    @classmethod
    def of(cls, given: Self | None) -> Self:
        """The value itself; None: that of the defaults."""
        return cls() if given is None else given

    def __repr__(self) -> str:
        given = ((f, getattr(self, f.name)) for f in fields(self))
        changed = (
            f"{f.name}={v!r}"
            for f, v in given
            if f.name in self.always or (v is not f.default and v != f.default)
        )
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_clone__(self) -> Self:
        return self  # it cannot be changed

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name, as scikit-learn asks for them."""
        out = {f.name: getattr(self, f.name) for f in fields(self)}
        inside = [k for k, v in out.items() if hasattr(v, "get_params") and not isinstance(v, type)]
        for name in inside if deep else ():
            out |= {f"{name}__{key}": value for key, value in out[name].get_params().items()}
        return out

    def with_params(self, **params: Any) -> Self:
        """The same with other parameters, also those of an estimator among them.

        Raises
        ------
        ValueError
            If there is no such parameter; it names those that there are.
        """
        known, changed = [f.name for f in fields(self)], dict[str, Any]()
        for key, value in sorted(params.items()):  # an estimator before what is inside it
            name, _, rest = key.partition("__")
            inside: Any = changed.get(name, getattr(self, name, None))
            if name not in known or (rest and not hasattr(inside, "set_params")):
                takes = f"takes {', '.join(known)}" if known else "takes no parameters"
                raise InputError(f"{type(self).__name__} {takes}, got {key!r}")
            changed[name] = deepcopy(inside).set_params(**{rest: value}) if rest else value
        return replace(self, **changed)
