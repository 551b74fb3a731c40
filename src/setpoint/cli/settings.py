"""Finer settings of commands, as ``--set NAME=VALUE``: one table of what there is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from setpoint.errors import nearest
from setpoint.solvers import SOLVERS
from setpoint.tables import SURROGATES
from setpoint.tasks import Reading

FLAG = click.BOOL


class Setting(NamedTuple):
    """What may be set."""

    argument: str
    type: click.ParamType[Any]
    value: str
    help: str
    several: bool = False


_share = click.FloatRange(0, 1, min_open=True, max_open=True)
_text = click.STRING
_some = click.IntRange(1)

SETTINGS = {
    "encoding": Setting("encoding", _text, "E", "of the tables, such as latin-1. Default: UTF-8"),
    "separator": Setting("separator", _text, "S", r"between fields: ',', ';', '|' or '\t'"),
    "decimal": Setting("decimal", _text, "D", "the decimal mark, '.' or ','"),
    "seed": Setting(
        "random_state", click.IntRange(0, 2**32 - 1), "N",
        "of the split, the model and the draws. Default: 0",
    ),
    "max-seconds": Setting(
        "max_seconds", click.FloatRange(0, min_open=True), "S",
        "for the search or the training; then the best so far is kept",
    ),
    "certify-on": Setting(
        "certify_on", _text, "FILE", "a table whose rows certify; else a part of DATA does"
    ),
    "certification-size": Setting(
        "certification_size", _share, "SHARE",
        "that part of DATA. Default: 0.3, or more where fewer rows could not pass",
    ),
    "strict": Setting("strict", FLAG, "", "certify by tests alone that are proved"),
    "uncertified": Setting(
        "uncertified", click.Choice(["error", "nearest"]), "error|nearest",
        "nearest: write the safest rule also where it is not certified",
    ),
    "solver": Setting(
        "solver",
        click.Choice([name for name, s in SOLVERS.items() if s.family == "plugin"]),
        "NAME",
        "how the rule is found. Default: auto",
    ),
    "defer-label": Setting(
        "defer_label", _text, "NAME", "what predict writes for a deferred row. Default: defer"
    ),
    "estimator": Setting("estimator", _text, "NAME", "the model whose cut-off post-shift moves"),
    "validation": Setting(
        "validation", _text, "FILE",
        "a table on whose labels the metric is measured; those of DATA only train",
    ),
    "checkpoint": Setting(
        "checkpoint", _text, "FILE",
        "keeps the state of a training, to go on from",
    ),
    "min-positives": Setting(
        "min_positives", click.IntRange(0), "N",
        "rows that the model has to predict positive. Default: 20, or 2 % of the positives",
    ),
    "validation-fraction": Setting(
        "validation_fraction", click.FloatRange(0, 1, max_open=True), "F",
        "share of the rows that choose and do not train. Default: 0.2 for a network, else 0",
    ),
    "inverse-regularization": Setting(
        "C", click.FloatRange(0, min_open=True), "C",
        "how closely augmented-lagrangian and cutting-plane follow the rows. Default: 0.1",
    ),
    "baseline-threshold": Setting(
        "baseline_threshold", click.FLOAT, "T",
        "then --baseline holds scores, positive from T on, and the model looks at them",
    ),
    "draws": Setting("randomized", FLAG, "", "the rule may decide by chance"),
    "budget": Setting(
        "evaluations", _some, "N",
        "most evaluations of the metric. Default: 2,000, or 1,000 for post-shift",
    ),
    "surrogates": Setting(
        "surrogates", click.Choice(SURROGATES), "NAMES",
        f"the losses that are weighed: {', '.join(SURROGATES)}. Default: sigmoid", True,
    ),
    "surrogate-group": Setting(
        "surrogate_groups", _text, "COL[=VALUE]", "groups of rows that are weighed apart", True
    ),
    "lower-is-better": Setting("lower_is_better", FLAG, "", "of the metric"),
    "takes": Setting(
        "takes", click.Choice(["predictions", "scores"]), "predictions|scores",
        "the metric's second parameter, where its name does not say",
    ),
}  # fmt: skip
"""Every setting by its name at the shell."""

GIVEN = "setpoint.settings"
"""Where a context keeps the settings as they were written."""

READING = ("encoding", "separator", "decimal")
"""How tables are written, where that is not found out right."""


def settings_option(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--set`` for some settings: the argument `settings`, a dict by the library's names."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def given(settings: dict[str, Any], sheet: str | None, **more: Any) -> Any:
            return command(settings=settings | ({"sheet": sheet} if sheet else {}), **more)

        return _sheet(_set(names)(given))

    return decorate if set(READING) <= set(names) else _set(names)


_sheet = click.option(
    "--sheet", metavar="NAME", help="The sheet of an Excel workbook.  [default: the first]"
)


def _set(names: Iterable[str]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """``--set`` alone."""
    allowed = {name: SETTINGS[name] for name in names}

    def parsed(ctx: click.Context, param: click.Parameter, given: Iterable[str]) -> dict[str, Any]:
        ctx.meta[GIVEN] = tuple(given)
        out: dict[str, Any] = {}
        for text in given:
            name, equals, value = text.partition("=")
            name = name.strip().replace("_", "-")
            if text == "help":
                click.echo(_listed(allowed))
                ctx.exit()
            setting = allowed.get(name)
            if setting is None:
                raise click.BadParameter(
                    f"there is no {name!r} here ({nearest(name, allowed)}); --set help lists all",
                    ctx, param,
                )  # fmt: skip
            if setting.type is FLAG and not equals:
                value = "true"
            elif not value:
                raise click.BadParameter(f"write {name}={setting.value}, got {text!r}", ctx, param)
            _add(out, name, setting, value, ctx, param)
        return out

    def complete(_ctx: Any, _param: Any, begun: str) -> list[CompletionItem]:
        words = [name if s.type is FLAG else f"{name}=" for name, s in allowed.items()]
        return [CompletionItem(word) for word in words if word.startswith(begun)]

    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="NAME=VALUE",
        callback=parsed,
        shell_complete=complete,
        help="Finer settings; --set help lists them.",
    )


def _add(
    out: dict[str, Any],
    name: str,
    setting: Setting,
    value: str,
    ctx: click.Context,
    param: click.Parameter,
) -> None:
    key = setting.argument
    if setting.several:
        values = [value] if "=" in value else [v.strip() for v in value.split(",")]
        out.setdefault(key, []).extend(_value(name, setting, v, ctx, param) for v in values)
        return
    if key in out:
        raise click.BadParameter(f"{name} is set twice", ctx, param)
    out[key] = _value(name, setting, value, ctx, param)


def _value(
    name: str, setting: Setting, text: str, ctx: click.Context, param: click.Parameter
) -> Any:
    try:
        return setting.type.convert(text, None, ctx)
    except click.BadParameter as error:
        raise click.BadParameter(f"{name}: {error.message}", ctx, param) from None


def _listed(settings: Mapping[str, Setting]) -> str:
    """All settings, a line each."""
    heads = {name: name if s.type is FLAG else f"{name}={s.value}" for name, s in settings.items()}
    width = max(map(len, heads.values()))
    return "\n".join(f"{heads[name]:<{width}}  {s.help}" for name, s in settings.items())


def reading_of(settings: dict[str, Any]) -> Reading:
    """How tables are to be read, taken out of the settings."""
    return Reading(**{name: settings.pop(name, None) for name in (*READING, "sheet")})
