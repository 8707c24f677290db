"""What the text of a statement says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from connector.logging_rules.server_version import ServerVersion
    from connector.logging_rules.statement_facts import Kind
    from connector.logging_rules.table import TableColumn, UniqueKey

# Database ("" for the default one) and name.
TableName: TypeAlias = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ParsedStatement:
    """What the text says; the tables and functions that it names are not known yet."""

    kind: Kind
    written: tuple[TableName, ...] = ()
    # Where the statement does not change them; a table that it changes can be among them, too.
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
    auto_increment_not_first: bool = False  # no index of such a table begins with its counter
    like: TableName | None = None  # CREATE TABLE … LIKE
    called: TableName | None = None  # the procedure of a CALL
    arguments: int = 0  # of a CALL
    settings: frozenset[str] = frozenset()  # that SET changes, in small letters
    # An INSERT that calls RAND: MariaDB writes the seeds in front of its text, so it is safe.
    logs_seeds: bool = False
    limit: bool = False
    ignore: bool = False
    replace: bool = False
    on_duplicate: bool = False
    delayed: bool = False
    skip_locked: bool = False
    nowait: bool = False

    def functions_on(self, server: ServerVersion) -> frozenset[str]:
        """Return the functions; without RAND if the server logs its seeds, which makes it safe."""
        return (
            self.functions - {"RAND"} if server.is_mariadb and self.logs_seeds else self.functions
        )
