"""Rows that are incomplete in the log: no key, or columns that the row image leaves out."""

from collections.abc import Iterator, Sequence
from typing import Final

from connector.binlog.sql_text import quoted_identifier, quoted_name
from connector.foundation.errors.message import Message
from connector.foundation.server_version import ServerVersion
from connector.replication.server.mysql_server import MysqlServer
from connector.rules.row_images import RowEventKind, RowImage, recorded_columns
from connector.rules.server import ENGINES
from connector.rules.statement_facts import Table, TableColumn, UniqueKey
from connector.stream.source import table_errors
from connector.stream.source.findings import RowLoggingGap, set_global
from connector.stream.source.followed_tables import COLUMNS_QUERY, SYSTEM_LIST, BaseTable
from connector.stream.source.table_definitions import unlogged_columns

# The server marks the columns of the first unique key without nullable columns like those of a
# primary key, if there is none.
_WITHOUT_KEY: Final = f"""
    SELECT table_schema AS db, table_name AS name,
      MAX(CASE WHEN extra LIKE '%auto_increment%' THEN column_name END) AS counter
    FROM information_schema.columns WHERE table_schema NOT IN ({SYSTEM_LIST})
    GROUP BY table_schema, table_name HAVING SUM(column_key = 'PRI') = 0
"""  # noqa: S608 - constants
_GENERATED: Final = f"""
    SELECT table_schema AS db, table_name AS name, column_name AS part,
      generation_expression AS computed_as
    FROM information_schema.columns
    WHERE table_schema NOT IN ({SYSTEM_LIST}) AND is_generated = 'ALWAYS'
"""  # noqa: S608 - constants
# Versions by numbers of transactions; others have times.
_NUMBERED: Final = """
    SELECT table_schema AS db, table_name AS name FROM information_schema.columns
    WHERE generation_expression = 'ROW START' AND data_type = 'bigint'
"""
_IMAGES: Final = frozenset(image.value for image in RowImage)
# JSON of MySQL and spatial types are no blobs to the servers; JSON of MariaDB is a LONGTEXT.
_BLOBS: Final = ("blob", "text")
_COLUMNS_SHOWN_MAX: Final = 5
# Their tables cannot have a key, or have that of another table.
_KEYLESS_ENGINES: Final = frozenset({"CSV", "MRG_MyISAM", "MRG_MYISAM", "FEDERATED"})
_INVISIBLE_SINCE: Final = (10, 3, 0)


def key_gaps(
    server: MysqlServer, version: ServerVersion, followed: Sequence[BaseTable]
) -> Iterator[RowLoggingGap]:
    """Yield the followed tables without a key, each with the statement that adds one."""
    counters = {
        (str(row["db"]), str(row["name"])): row["counter"] for row in server.query(_WITHOUT_KEY)
    }
    without = [table for table in followed if table[:2] in counters]
    if without:
        places = tuple(
            (f"{table.database}.{table.name}", _new_key(table, counters[table[:2]], version))
            for table in without
        )
        yield RowLoggingGap("row images: PKE", Message(table_errors.NO_KEY, {}), places)


def _new_key(table: BaseTable, counter: object, version: ServerVersion) -> str:
    if table.engine in _KEYLESS_ENGINES:
        return ""
    added = f"ADD PRIMARY KEY ({quoted_identifier(str(counter))})"
    if counter is None:
        # Statements that do not name their columns go on as before.
        hidden = version.mysql_since(8, 0, 23) or (
            version.is_mariadb and version.number >= _INVISIBLE_SINCE
        )
        word = " INVISIBLE" if hidden else ""
        added = f"ADD COLUMN row_id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT{word} PRIMARY KEY"
    return f"ALTER TABLE {quoted_name(table.database, table.name)} {added}"


def generated_gaps(
    server: MysqlServer, version: ServerVersion, followed: Sequence[BaseTable]
) -> Iterator[RowLoggingGap]:
    """Yield the followed tables with columns that records leave out, each with these columns."""
    if not version.leaves_out_generated:
        return
    parts: dict[tuple[str, str], list[dict[str, object]]] = {}
    for row in server.query(_GENERATED):
        key = str(row["db"]), str(row["name"])
        parts.setdefault(key, []).append({"name": row["part"], "computed_as": row["computed_as"]})
    places = tuple(
        (f"{table.database}.{table.name}", f"without {_listed(sorted(columns))}")
        for table in followed
        if (columns := unlogged_columns(server.identity, parts.get(table[:2], ())))
    )
    if places:
        yield RowLoggingGap("row images", Message(table_errors.GENERATED, {}), places)


def version_gaps(
    server: MysqlServer, version: ServerVersion, followed: Sequence[BaseTable]
) -> Iterator[RowLoggingGap]:
    """Yield the followed tables whose changes are logged as statements in each format."""
    if not version.is_mariadb:
        return
    numbered = {(row["db"], row["name"]) for row in server.query(_NUMBERED)}
    places = tuple(
        (f"{table.database}.{table.name}", "") for table in followed if table[:2] in numbered
    )
    if places:
        yield RowLoggingGap("versions", Message(table_errors.VERSIONS, {}), places)


def image_gaps(
    server: MysqlServer, version: ServerVersion, followed: Sequence[BaseTable]
) -> Iterator[RowLoggingGap]:
    """Yield the followed tables whose rows lack columns, each with these columns."""
    name = "binlog_row_image"
    value = server.variable(name) or RowImage.FULL.value
    if value == RowImage.FULL.value or value not in _IMAGES:
        return
    how = set_global(server, name, RowImage.FULL.value)
    problem = Message(table_errors.ROW_IMAGE, {"name": name, "value": value, "how": how})
    rule = f"row images: {value.lower()}"
    tables = {table[:2] for table in followed}
    columns: dict[tuple[str, str], list[tuple[str, str, bool]]] = {}
    for row in server.query(COLUMNS_QUERY):
        key = str(row["db"]), str(row["name"])
        if key in tables:
            column = str(row["part"]), str(row["type"]).lower(), bool(row["keyed"])
            columns.setdefault(key, []).append(column)
    lacking = {
        key: _lacking(described, RowImage(value), version) for key, described in columns.items()
    }
    places = tuple((".".join(key), text) for key, text in lacking.items() if text)
    yield RowLoggingGap(rule, problem, places)
    if server.variable("binlog_row_value_options") == "PARTIAL_JSON":
        documents = tuple(
            (".".join(key), "")
            for key, described in columns.items()
            if any(kind == "json" for _, kind, _ in described)
        )
        partial = Message(table_errors.PARTIAL_JSON, {"value": value, "how": how})
        yield RowLoggingGap("row images: partial JSON", partial, documents)


def _lacking(columns: list[tuple[str, str, bool]], image: RowImage, version: ServerVersion) -> str:
    """Return what the rows of an update lack; "" if nothing."""
    names = [name for name, _, _ in columns]
    key = tuple(name for name, _, keyed in columns if keyed)
    table = Table(
        "",
        ENGINES["INNODB"],
        tuple(TableColumn(name, blob=kind.endswith(_BLOBS)) for name, kind, _ in columns),
        (UniqueKey("PRIMARY", key),) if key else (),
    )
    # An update of one column: what the after image lacks depends on the update.
    images = recorded_columns(table, RowEventKind.UPDATE, image, frozenset(names[:1]), version)
    left_out = [name for name in names if name not in (images.before or ())]
    if left_out:
        return f"without {_listed(left_out)}"
    whole = images.after is not None and images.after.issuperset(names)
    return "" if whole else "without what an update does not change"


def _listed(columns: Sequence[str]) -> str:
    """Return the first names, and the number of the others."""
    shown = columns[:_COLUMNS_SHOWN_MAX]
    more = len(columns) - len(shown)
    return ", ".join(shown) + (f", {more} more" if more else "")
