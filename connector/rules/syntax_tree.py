"""What the syntax tree of a statement names: tables, columns, functions, keys.

That includes the columns and unique keys of a table that a statement creates, and the tables below
a view. Servers keep the text of a view in a form of their own, in which each column has its table
before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sqlglot import expressions as exp
from sqlglot.expressions import Expr
from sqlglot.parsers.mysql import MySQLParser

from connector.foundation.errors import ConfigError
from connector.rules import rules_errors
from connector.rules.statement_facts import TableColumn, UniqueKey
from connector.rules.statement_text import Dialect, TableName, tokens_of

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
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    return target


def written_tables(tree: Expr) -> Iterator[TableName]:
    """Yield the tables that the statement itself changes."""
    yield from dict.fromkeys(table_name(table) for table in _written_places(tree))


def read_tables(tree: Expr) -> Iterator[TableName]:
    """Yield the tables that the statement reads, where it does not change them, once each.

    So in `UPDATE t a JOIN t b SET a.v = 1`, the second one is read.
    """
    written = {id(table) for table in _written_places(tree)}
    yield from dict.fromkeys(
        table_name(table) for table in _named(tree) if id(table) not in written
    )


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
        named = [table.name for table in _deleted(tree)]
    if not named:
        raise ConfigError(rules_errors.TARGET_UNCERTAIN)
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
    for table in _sources(tree):
        if table.alias_or_name.lower() == alias.lower():
            return table
    raise ConfigError(rules_errors.TARGET_UNCERTAIN)


def _by_alias(tree: Expr, alias: str) -> TableName:
    return table_name(_place(tree, alias))


def assigned_columns(tree: Expr) -> Iterator[tuple[TableName, str]]:
    """Yield the columns that get a value, with their table."""
    if isinstance(tree, exp.Insert):
        name = table_name(_target(tree))
        for column in tree.this.expressions if isinstance(tree.this, exp.Schema) else ():
            yield name, column.name
        conflict = tree.args.get("conflict")
        for expression in conflict.expressions if conflict is not None else ():
            yield name, expression.this.name
    elif isinstance(tree, exp.Update):
        target = _target(tree)
        for expression in tree.expressions:
            joined = target.args.get("joins")
            yield (
                _by_alias(tree, expression.this.table) if joined else table_name(target),
                expression.this.name,
            )


def _named(tree: Expr) -> Iterator[exp.Table]:
    """Yield each place that names a table: no common table expression, and not DUAL."""
    inner = {node.alias_or_name.lower() for node in tree.find_all(exp.CTE)}
    for table in _sources(tree):
        if table.db or table.name.lower() not in inner | {_NO_TABLE}:
            yield table


def _sources(tree: Expr) -> Iterator[exp.Table]:
    """Yield the tables with their aliases; in DELETE x FROM …, the first x can be an alias."""
    left_out = {id(table) for table in _deleted(tree)}
    return (node for node in tree.find_all(exp.Table) if id(node) not in left_out)


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
    return frozenset(
        expression.this.name
        for expression in tree.expressions
        if _is_default(expression.expression)
    )


def _is_default(value: Expr) -> bool:
    quoted = isinstance(value, exp.Column) and bool(value.this.args.get("quoted"))
    is_name = isinstance(value, (exp.Var, exp.Column))
    return is_name and not quoted and value.name.upper() == "DEFAULT"


def engine_of_created(tree: Expr) -> str:
    """Return the engine that CREATE TABLE names, or ""."""
    engine = tree.find(exp.EngineProperty)
    return "" if engine is None else engine.this.name


def created_columns(tree: Expr) -> tuple[TableColumn, ...]:
    """Return the columns that CREATE TABLE defines; those of its SELECT are not known."""
    return tuple(
        TableColumn(
            column.name, auto_increment=column.find(exp.AutoIncrementColumnConstraint) is not None
        )
        for column in _table_definitions(tree)
        if isinstance(column, exp.ColumnDef)
    )


def created_keys(tree: Expr) -> tuple[UniqueKey, ...]:
    """Return the unique keys that CREATE TABLE defines, the primary key first."""
    keys = list(_unique_keys(tree))
    return tuple(sorted(keys, key=lambda key: not key.primary))


def created_counter_not_first(tree: Expr) -> bool:
    """Return whether CREATE TABLE defines an AUTO_INCREMENT column with which no index begins."""
    counter = next((column.name for column in created_columns(tree) if column.auto_increment), None)
    if counter is None:
        return False
    first = {key.columns[0] for key in _unique_keys(tree)}
    for index in _table_definitions(tree):
        if isinstance(index, exp.IndexColumnConstraint):
            first |= set(list(_key_columns(index.expressions))[:1])
    return counter not in first


def _table_definitions(tree: Expr) -> list[Expr]:
    if not isinstance(tree, exp.Create) or not isinstance(tree.this, exp.Schema):
        return []
    return list(tree.this.expressions)


def _unique_keys(tree: Expr) -> Iterator[UniqueKey]:
    for definition in _table_definitions(tree):
        if isinstance(definition, exp.ColumnDef):
            if definition.find(exp.PrimaryKeyColumnConstraint) is not None:
                yield UniqueKey("PRIMARY", (definition.name,))
            if definition.find(exp.UniqueColumnConstraint) is not None:
                yield UniqueKey(definition.name, (definition.name,))
            continue
        for part in (definition, *definition.find_all(exp.PrimaryKey, exp.UniqueColumnConstraint)):
            if isinstance(part, exp.PrimaryKey):
                yield UniqueKey("PRIMARY", tuple(_key_columns(part.expressions)))
                break
            if isinstance(part, exp.UniqueColumnConstraint):
                schema = part.this
                yield UniqueKey(
                    schema.this.name if schema.this else "", tuple(_key_columns(schema.expressions))
                )
                break


def _key_columns(parts: list[Expr]) -> Iterator[str]:
    for part in parts:
        column = part.find(exp.Column)
        yield (part if column is None else column).name


@dataclass(frozen=True, slots=True)
class ViewText:
    """The tables that a view joins, and its columns (in small letters) that are one of theirs."""

    tables: tuple[TableName, ...]
    columns: dict[str, tuple[TableName, str]]


def view_text(text: str) -> ViewText:
    """Return what the SELECT of a view that can be changed says.

    Raises ConfigError for a text that is not understood.
    """
    try:
        (tree,) = MySQLParser(dialect=Dialect()).parse(tokens_of(text), text)
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD) from error
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        raise ConfigError(rules_errors.NOT_UNDERSTOOD)
    joined = [tree.args["from_"], *(tree.args.get("joins") or [])]
    by_alias: dict[str, TableName] = {}
    for source in joined:
        # Joins are in parentheses. A SELECT in FROM is no table that can be changed.
        for table in source.find_all(exp.Table):
            if table.find_ancestor(exp.Select) is tree:
                by_alias[table.alias_or_name.lower()] = table.db, table.name
    columns = {}
    for item in tree.expressions:
        column = item.unalias()
        if isinstance(column, exp.Column) and column.table.lower() in by_alias:
            columns[item.alias_or_name.lower()] = by_alias[column.table.lower()], column.name
    return ViewText(tuple(by_alias.values()), columns)
