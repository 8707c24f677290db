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
# SELECT 1 FROM DUAL reads nothing.
_NO_TABLE: Final = "dual"
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
    yield from dict.fromkeys(table_name(each) for each in _written_places(tree))


def read_tables(tree: Expr) -> Iterator[TableName]:
    """Yield the tables that the statement reads, where it does not change them, once each.

    So in `UPDATE t a JOIN t b SET a.v = 1`, the second one is read.
    """
    written = {id(each) for each in _written_places(tree)}
    yield from dict.fromkeys(table_name(each) for each in _named(tree) if id(each) not in written)


def _written_places(tree: Expr) -> Iterator[exp.Table]:
    if isinstance(tree, exp.Select):
        return
    if isinstance(tree, (exp.Drop, exp.TruncateTable)):
        yield from _named(tree)
        return
    target = _target(tree)
    joins = target.args.get("joins") or tree.args.get("using")
    if not isinstance(tree, (exp.Update, exp.Delete)) or not joins:
        yield target
        return
    for name in _targets_of_join(tree):
        yield _place(tree, name)


def _targets_of_join(tree: Expr) -> list[str]:
    """Return the aliases of the tables that an UPDATE or DELETE of a join changes."""
    if isinstance(tree, exp.Update):
        named = [assigned.this.table for assigned in tree.expressions]
    else:
        named = [each.name for each in _deleted(tree)]
    if not named:
        raise ConfigError(logging_rules.TARGET_UNCERTAIN)
    return named


def _deleted(tree: Expr) -> list[exp.Table]:
    """Return the tables of DELETE a, b FROM ... and of DELETE FROM a, b USING ...; else none."""
    if not isinstance(tree, exp.Delete):
        return []
    if tree.args.get("using"):
        target = _target(tree)
        return [target, *(join.this for join in target.args.get("joins") or [])]
    return list(tree.args.get("tables") or [])


def _place(tree: Expr, alias: str) -> exp.Table:
    for each in _sources(tree):
        if each.alias_or_name.lower() == alias.lower():
            return each
    raise ConfigError(logging_rules.TARGET_UNCERTAIN)


def _by_alias(tree: Expr, alias: str) -> TableName:
    return table_name(_place(tree, alias))


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


def _named(tree: Expr) -> Iterator[exp.Table]:
    """Yield each place that names a table: no common table expression, and not DUAL."""
    inner = {each.alias_or_name.lower() for each in tree.find_all(exp.CTE)}
    for each in _sources(tree):
        if each.db or each.name.lower() not in inner | {_NO_TABLE}:
            yield each


def _sources(tree: Expr) -> Iterator[exp.Table]:
    """Yield the tables with their aliases; in DELETE x FROM …, the first x can be an alias."""
    left_out = {id(each) for each in _deleted(tree)}
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
