"""What the rules need to know of a statement: its kind, its words, and the tables that it uses."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum, auto

from connector.rules.server import Engine


class Kind(Enum):
    """The kinds of statements that the rules tell apart."""

    INSERT = auto()
    INSERT_SELECT = auto()
    REPLACE = auto()
    REPLACE_SELECT = auto()
    UPDATE = auto()
    DELETE = auto()
    LOAD_DATA = auto()
    SELECT = auto()  # also DO and SET, which log only what their functions change
    CALL = auto()
    CREATE_TABLE = auto()
    CREATE_TABLE_SELECT = auto()
    CREATE_TEMPORARY = auto()
    CREATE_TEMPORARY_SELECT = auto()
    DROP_TABLE = auto()
    DROP_TEMPORARY = auto()
    TRUNCATE = auto()
    DDL = auto()  # any other statement with an implicit commit
    BEGIN = auto()
    COMMIT = auto()
    ROLLBACK = auto()
    SAVEPOINT = auto()
    ROLLBACK_TO_SAVEPOINT = auto()
    RELEASE_SAVEPOINT = auto()
    XA_START = auto()
    XA_END = auto()
    XA_PREPARE = auto()
    XA_COMMIT = auto()
    XA_COMMIT_ONE_PHASE = auto()
    XA_ROLLBACK = auto()


# Statements that can change rows, so that they can be logged in row format.
DML = frozenset(
    {
        Kind.INSERT,
        Kind.INSERT_SELECT,
        Kind.REPLACE,
        Kind.REPLACE_SELECT,
        Kind.UPDATE,
        Kind.DELETE,
        Kind.LOAD_DATA,
        Kind.SELECT,
    }
)
INSERTS = frozenset({Kind.INSERT, Kind.INSERT_SELECT})
CREATES_TABLE = frozenset(
    {
        Kind.CREATE_TABLE,
        Kind.CREATE_TABLE_SELECT,
        Kind.CREATE_TEMPORARY,
        Kind.CREATE_TEMPORARY_SELECT,
    }
)
COMMITS_FIRST = frozenset(
    {Kind.CREATE_TABLE, Kind.CREATE_TABLE_SELECT, Kind.DROP_TABLE, Kind.TRUNCATE, Kind.DDL}
)


@dataclass(frozen=True, slots=True)
class TableUse:
    """How a statement, or what it invokes, uses a table."""

    table: "Table"
    writes: bool = False
    reads: bool = False
    # A stored function or a trigger writes, not the statement itself.
    in_sub_statement: bool = False


@dataclass(frozen=True, slots=True)
class StatementFacts:
    """A statement with everything that it invokes.

    Functions, triggers, views and prepared statements give their facts to the statement that
    invokes them, as `sp_head::propagate_attributes` does in the servers.
    """

    kind: Kind
    uses: tuple[TableUse, ...] = ()
    functions: frozenset[str] = frozenset()  # built-in functions in capitals
    variables: frozenset[str] = frozenset()  # system variables in small letters
    udf: bool = False
    limit: bool = False
    ignore: bool = False
    replace: bool = False  # CREATE TABLE … REPLACE SELECT
    on_duplicate: bool = False
    # The columns in the list of an INSERT, in small letters; none if it has no list.
    listed: frozenset[str] = frozenset()
    delayed: bool = False
    skip_locked: bool = False
    nowait: bool = False
    fulltext_plugin: bool = False
    unsafe_default: bool = False  # a row gets the value of an unsafe DEFAULT expression
    row_injection: bool = False  # BINLOG '…', or a row event that a replica applies

    @property
    def written(self) -> "list[Table]":
        """The tables that the statement writes, its sub-statements included."""
        return [use.table for use in self.uses if use.writes]

    @property
    def read(self) -> "list[Table]":
        """The tables that the statement reads, also to find the rows that it changes."""
        return [use.table for use in self.uses if use.reads]

    @property
    def only_read(self) -> "list[Table]":
        """The tables that it names where it reads them and does not write them."""
        return [use.table for use in self.uses if use.reads and not use.writes]

    def with_sub_statements(self, others: "Iterable[StatementFacts]") -> "StatementFacts":
        """Return the facts together with those of functions and triggers."""
        merged = self
        for other in others:
            inner = tuple(
                TableUse(
                    use.table,
                    writes=use.writes,
                    reads=use.reads,
                    in_sub_statement=True,
                )
                for use in other.uses
            )
            merged = replace(
                merged,
                uses=merged.uses + inner,
                functions=merged.functions | other.functions,
                variables=merged.variables | other.variables,
                udf=merged.udf or other.udf,
                limit=merged.limit or other.limit,
                skip_locked=merged.skip_locked or other.skip_locked,
                nowait=merged.nowait or other.nowait,
                fulltext_plugin=merged.fulltext_plugin or other.fulltext_plugin,
            )
        return merged


class Generated(Enum):
    """Whether a column is computed, and where its values are."""

    NO = "no"
    VIRTUAL = "virtual"
    STORED = "stored"


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A column, in the order of the table."""

    name: str
    nullable: bool = True
    blob: bool = False  # BLOB and TEXT; JSON on MariaDB, where it is a TEXT
    json: bool = False  # the type of MySQL
    auto_increment: bool = False
    generated: Generated = Generated.NO
    based_on: frozenset[str] = frozenset()  # the columns that a generated one is computed from
    unsafe_default: bool = False  # a DEFAULT expression that differs from call to call
    null_by_default: bool = False


@dataclass(frozen=True, slots=True)
class UniqueKey:
    """A primary or unique key, by the names of its columns."""

    name: str
    columns: tuple[str, ...]

    @property
    def primary(self) -> bool:
        """Whether it is the primary key."""
        return self.name == "PRIMARY"


@dataclass(frozen=True, slots=True)
class Table:
    """A table; keys are in the order of the server."""

    name: str
    engine: Engine
    columns: tuple[TableColumn, ...] = ()
    unique_keys: tuple[UniqueKey, ...] = ()
    temporary: bool = False
    # mysql.general_log, mysql.slow_log, performance_schema: their rows are never logged.
    log_table: bool = False
    # mysql.user and the other tables of accounts.
    acl_table: bool = False
    # No index begins with the AUTO_INCREMENT column, so that each value of the columns before it
    # counts for itself.
    auto_increment_not_first: bool = False

    @property
    def auto_increment(self) -> TableColumn | None:
        """The AUTO_INCREMENT column, if there is one."""
        return next((column for column in self.columns if column.auto_increment), None)
