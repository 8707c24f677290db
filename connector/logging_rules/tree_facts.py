"""What the tree of a parsed statement names: tables, columns and functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sqlglot import expressions as exp

from connector.errors import ConfigError, logging_rules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlglot.expressions import Expr

    from connector.logging_rules.parsed_statement import TableName

# They change a document, so that the log can have only the change.
_CHANGE_DOCUMENTS: Final = frozenset({"JSON_SET", "JSON_REPLACE", "JSON_REMOVE"})
_COLUMNS_MAX: Final = 4096
_WITHOUT_PARENTHESES: Final[dict[type[exp.Expr], str]] = {
    exp.CurrentUser: "CURRENT_USER",
    exp.CurrentRole: "CURRENT_ROLE",
}


def _target(tree: Expr) -> exp.Table:
    target = tree.this.this if isinstance(tree.this, exp.Schema) else tree.this
    if not isinstance(target, exp.Table):
        raise ConfigError(logging_rules.NOT_UNDERSTOOD)
    return target


def written_tables(tree: Expr) -> Iterator[TableName]:
    """Yield the tables that the statement itself changes."""
    if isinstance(tree, exp.Select):
        return
    if isinstance(tree, (exp.Drop, exp.TruncateTable)):
        yield from named_tables(tree)
        return
    target = _target(tree)
    if not isinstance(tree, (exp.Update, exp.Delete)) or not target.args.get("joins"):
        yield table_name(target)
        return
    if isinstance(tree, exp.Update):
        named = [assigned.this.table for assigned in tree.expressions]
    else:
        named = [each.name for each in tree.args.get("tables") or []]
    if not named:
        raise ConfigError(logging_rules.TARGET_UNCERTAIN)
    yield from dict.fromkeys(_by_alias(tree, name) for name in named)


def _by_alias(tree: Expr, alias: str) -> TableName:
    for each in _sources(tree):
        if each.alias_or_name.lower() == alias.lower():
            return table_name(each)
    raise ConfigError(logging_rules.TARGET_UNCERTAIN)


def assigned_columns(tree: Expr) -> Iterator[tuple[TableName, str]]:
    """Yield the columns that get a value, with their table."""
    if isinstance(tree, exp.Insert):
        name = table_name(_target(tree))
        for column in tree.this.expressions if isinstance(tree.this, exp.Schema) else ():
            yield name, column.name
        conflict = tree.args.get("conflict")
        for each in conflict.expressions if conflict is not None else ():
            yield name, each.this.name
    elif isinstance(tree, exp.Update):
        target = _target(tree)
        for each in tree.expressions:
            joined = target.args.get("joins")
            yield _by_alias(tree, each.this.table) if joined else table_name(target), each.this.name


def named_tables(tree: Expr) -> Iterator[TableName]:
    """Yield each table that the statement names, once."""
    inner = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    names = (
        table_name(each) for each in _sources(tree) if each.db or each.name.lower() not in inner
    )
    yield from dict.fromkeys(names)


def _sources(tree: Expr) -> Iterator[exp.Table]:
    """Yield the tables with their aliases; in DELETE x FROM …, the first x can be an alias."""
    targets = tree.args.get("tables") if isinstance(tree, exp.Delete) else None
    left_out = {id(each) for each in targets or []}
    return (each for each in tree.find_all(exp.Table) if id(each) not in left_out)


def table_name(table: exp.Table) -> TableName:
    """Return the database, or "", and the name."""
    return table.db, table.name


def functions_of(tree: Expr) -> Iterator[str]:
    """Yield the functions without a database before their name, in capitals."""
    for function in tree.find_all(exp.Anonymous):
        if not isinstance(function.parent, exp.Dot):
            yield function.name.upper()
    # Also without parentheses.
    for node, name in _WITHOUT_PARENTHESES.items():
        if tree.find(node) is not None:
            yield name


def stored_functions(tree: Expr) -> Iterator[TableName]:
    """Yield the functions that have a database before their name."""
    for function in tree.find_all(exp.Anonymous):
        if isinstance(function.parent, exp.Dot):
            yield function.parent.this.name, function.name


def listed_columns(tree: Expr) -> tuple[str, ...]:
    """Return the columns in the list of an INSERT."""
    if isinstance(tree, exp.Insert) and isinstance(tree.this, exp.Schema):
        return tuple(column.name for column in tree.this.expressions)
    return ()


def default_places(tree: Expr) -> frozenset[int]:
    """Return the indexes at which a row of VALUES has DEFAULT; all, if the row is empty."""
    values = tree.expression if isinstance(tree, exp.Insert) else None
    if not isinstance(values, exp.Values):
        return frozenset()
    if any(not row.expressions for row in values.expressions):
        return frozenset(range(_COLUMNS_MAX))
    return frozenset(
        place
        for row in values.expressions
        for place, value in enumerate(row.expressions)
        if _is_default(value)
    )


def default_columns(tree: Expr) -> frozenset[str]:
    """Return the columns that an UPDATE sets to DEFAULT."""
    if not isinstance(tree, exp.Update):
        return frozenset()
    return frozenset(each.this.name for each in tree.expressions if _is_default(each.expression))


def _is_default(value: Expr) -> bool:
    quoted = isinstance(value, exp.Column) and bool(value.this.args.get("quoted"))
    is_name = isinstance(value, (exp.Var, exp.Column))
    return is_name and not quoted and value.name.upper() == "DEFAULT"


def changed_documents(tree: Expr) -> Iterator[str]:
    """Yield the columns that an UPDATE sets to a changed form of their own document."""
    if not isinstance(tree, exp.Update):
        return
    for each in tree.expressions:
        value = each.expression
        changed = False
        while isinstance(value, exp.Anonymous) and value.name.upper() in _CHANGE_DOCUMENTS:
            changed = True
            value = value.expressions[0]
        same = isinstance(value, exp.Column) and value.name.lower() == each.this.name.lower()
        if changed and same:
            yield each.this.name


def engine_of_created(tree: Expr) -> str:
    """Return the engine that CREATE TABLE names, or ""."""
    found = tree.find(exp.EngineProperty)
    return "" if found is None else found.this.name
