"""Reading the arguments of a metric or a method: labels, columns, tables, what a row is worth."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

from setpoint.goals.entries import TABLE
from setpoint.goals.linear import LinearForm, read_form
from setpoint.goals.populations import plain_label

__all__ = ["ReadsArguments", "kind_of_node"]

T = TypeVar("T")


class ReadsArguments:
    """The part of a reader that turns the arguments of a call into plain values."""

    def fail(self, node: ast.expr | ast.keyword, message: str) -> NoReturn:
        """Refuse the text, with the place of a node."""
        raise NotImplementedError

    def build(self, node: ast.expr, make: Callable[[], T]) -> T:
        """Run a constructor; its complaint becomes ours, with the place."""
        raise NotImplementedError

    def arguments(self, node: ast.Call, of: str = "") -> tuple[list[Any], dict[str, Any]]:
        """What stands in the parentheses of a call: by position, and by name."""
        entry = TABLE.get(of)
        by_name = entry.params if entry is not None and entry.any_of else ()
        by_pair = entry is not None and bool({"costs", "values"} & set(entry.params))
        values = [self.argument(a, by_pair) for a in node.args]
        named: dict[str, Any] = {}
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in named:
                self.fail(keyword, "an argument is repeated or starred")
            if keyword.arg in by_name:
                named[keyword.arg] = self.worth(keyword.value)
            else:
                named[keyword.arg] = self.argument(keyword.value, by_pair)
        return values, named

    def argument(self, node: ast.expr, worths: bool = False) -> Any:
        """A label, or a dict of labels (or pairs of them) to labels, or to linear forms."""
        if not isinstance(node, ast.Dict):
            return self.label(node)
        out: dict[Any, Any] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                self.fail(node, "a dict cannot hold **")
            pair = key.elts if isinstance(key, ast.Tuple) and len(key.elts) == 2 else None
            name = tuple(map(self.label, pair)) if pair else self.label(key)
            if name in out:
                self.fail(key, f"the key {name!r} is repeated")
            out[name] = self.worth(value) if worths else self.label(value)
        return out

    def worth(self, node: ast.expr) -> LinearForm:
        """What a row is worth: linear in columns; a text that stands alone is read again."""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
            return self.build(node, lambda: LinearForm.of(text))
        return read_form(node, self.fail)

    def label(self, node: ast.expr) -> Any:
        """A label or a number; a bare name stands for its text."""
        if isinstance(node, ast.Name):
            return node.id
        sign = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
        inner = node.operand if isinstance(node, ast.UnaryOp) and sign else node
        value = inner.value if isinstance(inner, ast.Constant) else None
        if isinstance(value, (str, bool)) and not sign:
            return value
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return self.build(node, lambda: plain_label(-value if sign else value, "a number"))
        if isinstance(inner, ast.Constant) and inner.value is None:
            self.fail(
                node,
                "None marks a missing value: fill such rows in, for example with 'unknown', and "
                "name that",
            )
        return self.fail(
            node, f"{kind_of_node(node)} cannot stand here: a label, a number or a dict of them can"
        )


def kind_of_node(node: ast.expr) -> str:
    """A node of Python's tree as messages call it."""
    return f"this ({type(node).__name__.lower()})"
