"""What the text of a statement says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from connector.logging_rules.statement_facts import Kind
    from connector.logging_rules.table import TableColumn, UniqueKey

# Database ("" for the default one) and name.
TableName: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What the text says; the tables and functions that it names are not known yet."""

    kind: Kind
    written: tuple[TableName, ...] = ()
    read: tuple[TableName, ...] = ()
    functions: frozenset[str] = frozenset()  # in capitals, built in or stored
    stored: frozenset[TableName] = frozenset()  # functions with a database before their name
    variables: frozenset[str] = frozenset()
    # The columns that get a value, with their table; "" stands for a table that is not said.
    assigned: tuple[tuple[TableName, str], ...] = ()
    # Of these, the ones that JSON_SET, JSON_REPLACE or JSON_REMOVE change in their document.
    changed_documents: frozenset[str] = frozenset()
    listed: tuple[str, ...] = ()  # the columns in the list of an INSERT; none if it has no list
    # The columns that get DEFAULT, by their names or, without a list, by their places.
    defaults: frozenset[str] = frozenset()
    default_places: frozenset[int] = frozenset()
    engine: str = ""  # of a table that is created; "" for the default
    columns: tuple[TableColumn, ...] = ()  # of such a table
    unique_keys: tuple[UniqueKey, ...] = ()
    like: TableName | None = None  # CREATE TABLE … LIKE
    called: TableName | None = None  # the procedure of a CALL
    arguments: int = 0  # of a CALL
    settings: frozenset[str] = frozenset()  # that SET changes, in small letters
    limit: bool = False
    ignore: bool = False
    replace: bool = False
    on_duplicate: bool = False
    delayed: bool = False
    skip_locked: bool = False
    nowait: bool = False
