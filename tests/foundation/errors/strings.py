"""The strings of a test, which say what texts it compares."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

# In place of a value that is known when the test runs.
VALUE = "\N{BULLET}"


def strings_of(module: ast.Module, nodes: Iterable[ast.AST]) -> Iterator[str]:
    """Yield the strings of a test, with its constants put in, and a sign for other values.

    `nodes` are all nodes of `module`.
    """
    constants: dict[str, str] = {}
    for statement in module.body:
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            value = _string(statement.value, constants)
            if value is not None:
                constants[statement.targets[0].id] = value
    for node in nodes:
        if isinstance(node, ast.expr):
            value = _string(node, constants)
            if value is not None:
                yield value


def _string(node: ast.expr, constants: dict[str, str]) -> str | None:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.JoinedStr):
        return None
    shown = ""
    for part in node.values:
        if isinstance(part, ast.Constant):
            shown += str(part.value)
        elif isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
            shown += constants.get(part.value.id, VALUE)
        else:
            shown += VALUE
    return shown
