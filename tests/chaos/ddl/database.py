"""One database of a run: sessions play random statements in it, and remember them."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

import pymysql

from tests.chaos.ddl.catalogue import catalogue_of
from tests.chaos.ddl.equality import differences_of
from tests.chaos.ddl.row_grammar import RowGrammar
from tests.chaos.ddl.sessions import Settings, random_settings
from tests.chaos.ddl.table_grammar import TableGrammar
from tests.chaos.mirror.tables import is_lost

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from pymysql.cursors import Cursor

    from local_stack import Endpoint
    from tests.chaos.mirror.modes import Mode
    from tests.chaos.mirror.source_log import SourceLog

_ROWS: Final = 150
_ATTEMPTS: Final = 20
_TOLD: Final = 80
_LOCK_SECONDS: Final = 5
_CHANGES: Final = ("INSERT", "UPDATE", "DELETE")


class Played(NamedTuple):
    """A statement that a server has taken, and how its session wrote."""

    settings: str
    text: str


class RandomDatabase:
    """A database, all tables of which have one mode of the mirror."""

    def __init__(
        self, database: str, mode: Mode, random: Random, *, is_mariadb: bool, leaves_out: bool
    ) -> None:
        """With `leaves_out`, the server leaves generated columns out of the rows of its log."""
        self.database = database
        self.mode = mode
        self.done: Counter[str] = Counter()
        # Since all mirrors were equal.
        self.played: list[Played] = []
        self._random = random
        self._settings = Settings()
        self._leaves_out = leaves_out
        self._rows = RowGrammar(random, self._quoted)
        self._tables = TableGrammar(
            random,
            self._quoted,
            database=database,
            is_mariadb=is_mariadb,
            is_keyed=mode.has_key,
        )

    def _quoted(self, name: str) -> str:
        return self._settings.quoted(name)

    def step(self, cursor: Cursor) -> None:
        """Play some statements in one session. Raises pymysql's errors if the server goes away."""
        self._enter(cursor, random_settings(self._random))
        catalogue = catalogue_of(cursor, self.database)
        if self._random.random() < 0.2 or not catalogue.tables:
            self._play(cursor, self._tables.statements(catalogue))
        elif self._settings.binlog_format == "ROW":
            self._change_rows(cursor)

    def _play(self, cursor: Cursor, statements: list[str]) -> None:
        """Play statements that belong together, with other changes of rows between them.

        Only in sessions that log rows: in another format, the log has the text of a change, also of
        one of a temporary table, and the stream stops at it.
        """
        logs_rows = self._settings.binlog_format == "ROW"
        for text in statements:
            if logs_rows or not text.startswith(_CHANGES):
                self._try(cursor, text)
            if logs_rows and self._random.random() < 0.2:
                self._change_rows(cursor)

    def _enter(self, cursor: Cursor, settings: Settings) -> None:
        """Begin a session; nothing of the last one is left."""
        # Temporary tables of the last one end with it.
        cursor.connection.close()
        cursor.connection.connect()
        cursor.execute(
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = %s",
            (f"{self.database}_away",),
        )
        if cursor.fetchone() == (0,):
            for database in (self.database, f"{self.database}_away"):
                cursor.execute(f"CREATE DATABASE IF NOT EXISTS {database} CHARACTER SET utf8mb4")
        cursor.execute(f"USE {self.database}")
        cursor.execute(f"SET SESSION lock_wait_timeout = {_LOCK_SECONDS}")
        cursor.connection.set_character_set(settings.charset)
        for statement in settings.statements:
            cursor.execute(statement)
        self._settings = settings

    def _change_rows(self, cursor: Cursor) -> None:
        cursor.execute("BEGIN")
        for _ in range(self._random.randint(1, 5)):
            text = self._rows.statement(catalogue_of(cursor, self.database))
            if text:
                self._try(cursor, text)
        cursor.execute(self._random.choice(["COMMIT", "COMMIT", "COMMIT", "ROLLBACK"]))

    def touch(self, cursor: Cursor) -> None:
        """Change each row, and have one in each table: mirrors get the columns of now with it."""
        self._enter(cursor, Settings())
        for name in self._triggers(cursor):
            self._try(cursor, f"DROP TRIGGER `{name}`")
        for shape in catalogue_of(cursor, self.database).tables.values():
            table, count = self._quoted(shape.name), 0
            for _ in range(_ATTEMPTS):
                cursor.execute(f"SELECT COUNT(*) FROM {table}")
                (count,) = cursor.fetchone() or (0,)
                if count:
                    break
                self._try(cursor, self._rows.insert(shape))
            if count > _ROWS:
                self._try(cursor, f"DELETE FROM {table} LIMIT {count - _ROWS // 2}")
            self._try(cursor, f"UPDATE {table} SET tick = tick + 1")

    def _triggers(self, cursor: Cursor) -> list[str]:
        cursor.execute(
            "SELECT trigger_name FROM information_schema.triggers WHERE trigger_schema = %s",
            (self.database,),
        )
        return [str(row[0]) for row in cursor.fetchall()]

    def differences(self, source: Endpoint, log: SourceLog, mirrors: Path) -> list[str]:
        """Return how the mirrors differ from the tables, while nothing changes."""
        del log
        found = differences_of(
            source,
            self.database,
            self.mode.name,
            mirrors / self.database,
            leaves_out=self._leaves_out,
        )
        if not found:
            self.played.clear()
        return found

    def told(self, found: list[str]) -> str:
        """Return differences with the statements of the tables that they are about."""
        story = story_of(self.played, {each.partition(": ")[0] for each in found})
        lines = [f"{self.database}, {self.mode.name}: {'; '.join(found)}"]
        left_out = len(story) - _TOLD
        if left_out > 0:
            lines.append(f"  ({left_out} statements before these)")
        return "\n".join([*lines, *(f"  [{each.settings}] {each.text}" for each in story[-_TOLD:])])

    def _try(self, cursor: Cursor, text: str) -> None:
        """Play a statement that the server may refuse."""
        try:
            cursor.execute(text)
        except (pymysql.err.MySQLError, UnicodeEncodeError) as error:
            if is_lost(error) and not isinstance(error, UnicodeEncodeError):
                raise
            self.done["refused"] += 1
            return
        self.done[text.partition(" ")[0]] += 1
        self.played.append(Played(str(self._settings), text))


def story_of(played: list[Played], tables: set[str]) -> list[Played]:
    """Return the statements that name one of the tables, or a name that one of them has had."""
    tables = {unquote(name) for name in tables}
    while True:
        about = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in tables))
        story = [each for each in played if about.search(each.text)]
        renamed = [
            set(re.findall(r"[`\"](\w+)[`\"] TO [`\"](\w+)[`\"]", each.text))
            for each in story
            if each.text.startswith("RENAME")
        ]
        had = {old for pairs in renamed for old, new in pairs if new in tables}
        if had <= tables:
            return story
        tables |= had
