"""Rules in files of JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from setpoint.cli.errors import CommandError
from setpoint.cli.session import current

if TYPE_CHECKING:
    from setpoint.rules import Rule

__all__ = ["rule_in_file"]


def rule_in_file(path: str) -> Rule:
    """The rule in a file that `to_json` wrote."""
    from setpoint.rules import Rule, RuleFormatError

    with current().step(f"reading {path}"):
        try:
            return Rule.from_json(Path(path).read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            raise CommandError(f"{path} is not a rule: it is not text in UTF-8") from None
        except RuleFormatError as error:
            raise CommandError(f"{path} is not a rule: {error}") from None
