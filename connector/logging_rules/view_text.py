"""The SELECT of a view: from which tables its columns are.

Servers keep the text in a form of their own, in which each column has its table before it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sqlglot import expressions as exp
from sqlglot.parsers.mysql import MySQLParser

from connector.errors import ConfigError, logging_rules
from connector.logging_rules.sql_tokens import Dialect, tokens_of

if TYPE_CHECKING:
    from connector.logging_rules.parsed_statement import TableName


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
        raise ConfigError(logging_rules.NOT_UNDERSTOOD) from error
    if not isinstance(tree, exp.Select) or tree.args.get("from_") is None:
        raise ConfigError(logging_rules.NOT_UNDERSTOOD)
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
