"""The codes of the catalogue, and where product code gives them facts."""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import stream_jobs.errors
from connector.binlog import log_errors
from connector.foundation import errors
from connector.foundation.errors import catalogue
from connector.foundation.errors.code import ErrorCode
from connector.stream.changes import changes_errors
from local_stack import stack_errors

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
_PRODUCT = ("connector", "stream_jobs", "local_stack", "verification")


# By name of the catalogue and of the constant: codes, reasons, frames and clauses.
MODULES = {
    module.__name__: {
        name: value for name, value in vars(module).items() if isinstance(value, ErrorCode)
    }
    for module in catalogue.modules()
}
CODES = {
    f"{module}.{name}": code for module, codes in MODULES.items() for name, code in codes.items()
}
# Groups of reasons; they are never raised themselves.
_DIVIDED = {code.code for code in CODES.values() if code.group}
GROUPS = {name for name, code in CODES.items() if not code.group and code.code in _DIVIDED}
KINDS = {
    name: kind
    for room in (errors, log_errors, changes_errors, stack_errors, stream_jobs.errors)
    for name, kind in vars(room).items()
    if isinstance(kind, type) and issubclass(kind, errors.ConnectorError)
}


@dataclass(frozen=True)
class Use:
    """One call that gives facts to a code, or only names it."""

    location: str  # FILE:LINE
    name: str  # as MODULE.NAME
    code: ErrorCode
    facts: frozenset[str] | None  # None if they are not told there


@cache
def uses() -> tuple[Use, ...]:
    """Return where product code names a code of the catalogue."""
    return tuple(
        use
        for folder in _PRODUCT
        for path in sorted((ROOT / folder).rglob("*.py"))
        for use in _uses_of(path)
    )


def _uses_of(path: Path) -> list[Use]:
    source = path.read_text()
    location = str(path.relative_to(ROOT))
    own = location.removesuffix(".py").replace("/", ".")
    if "_errors" not in source and own not in MODULES:
        return []
    tree = ast.parse(source)
    if own in MODULES:
        # Its kinds use its codes.
        tree.body = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    nodes = list(ast.walk(tree))
    known = names_of(nodes) | {name: f"{own}.{name}" for name in MODULES.get(own, ())}
    helpers = _helpers(nodes)
    kinds = _kinds(nodes)
    found: dict[int, Use] = {}
    for node in nodes:
        name = _name(node, known)
        if name is not None and isinstance(node, ast.expr):
            line = f"{location}:{node.lineno}"
            found[id(node)] = Use(line, name, CODES[name], None)
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        first = node.args[0]
        for given in [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]:
            name = _name(given, known)
            if name is not None:
                facts = _facts(node, CODES[name], kinds, helpers)
                found[id(given)] = Use(f"{location}:{node.lineno}", name, CODES[name], facts)
    return list(found.values())


def names_of(nodes: Iterable[ast.AST]) -> dict[str, str]:
    """Return what a module of `nodes` calls the modules and the constants of the catalogue."""
    known: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                if name in MODULES or name in CODES:
                    known[alias.asname or alias.name] = name
    return known


def _name(node: ast.AST, known: dict[str, str]) -> str | None:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        name = f"{known.get(node.value.id)}.{node.attr}"
    elif isinstance(node, ast.Name):
        name = known.get(node.id, "")
    else:
        return None
    return name if name in CODES else None


def _kinds(nodes: Iterable[ast.AST]) -> dict[str, type]:
    """Return the kinds of errors, and those that the module derives from them."""
    kinds: dict[str, type] = dict(KINDS)
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            for base in node.bases:
                if isinstance(base, ast.Name) and base.id in kinds:
                    kinds[node.name] = kinds[base.id]
    return kinds


def _helpers(nodes: Iterable[ast.AST]) -> dict[str, frozenset[str]]:
    """Return the facts that functions add which take a code and `**facts`."""
    helpers: dict[str, frozenset[str]] = {}
    for function in nodes:
        if isinstance(function, ast.FunctionDef) and function.args.kwarg is not None:
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and any(word.arg is None for word in call.keywords):
                    added = frozenset(word.arg for word in call.keywords if word.arg is not None)
                    own = frozenset(argument.arg for argument in function.args.kwonlyargs)
                    helpers[function.name] = helpers.get(function.name, frozenset()) | added | own
    return helpers


def _facts(
    call: ast.Call,
    code: ErrorCode,
    kinds: dict[str, type],
    helpers: dict[str, frozenset[str]],
) -> frozenset[str] | None:
    """Return the facts that a call gives `code`; None if it does not tell all of them."""
    given = frozenset(word.arg for word in call.keywords if word.arg is not None)
    if any(word.arg is None for word in call.keywords):
        return None
    function = call.func
    called = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    if called in kinds:
        # A kind makes facts of its own arguments, if the templates name them.
        own = frozenset(inspect.signature(kinds[called]).parameters) - {"code", "facts"}
        return (given - own) | (own & code.facts)
    if called == "Message":
        second = call.args[1] if len(call.args) > 1 else None
        if not isinstance(second, ast.Dict):
            return None
        return frozenset(
            key.value
            for key in second.keys
            if isinstance(key, ast.Constant) and isinstance(key.value, str)
        )
    if called in helpers:
        return given | (helpers[called] & code.facts)
    # A kind of another module has no arguments of its own.
    return given if called[:1].isupper() else None
