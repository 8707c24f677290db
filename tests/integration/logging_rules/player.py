"""Plays sessions on a real server and compares its log with the model's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql

from connector.binlog.files.binlog_reader import open_binlog
from connector.foundation.server_version import Product, ServerVersion
from connector.rules.unsafe_statements import UnsafeReason
from local_stack import MariadbServer, MysqlServer, connect
from tests.integration.logging_rules.logged import groups_of
from tests.integration.logging_rules.schema import DATABASE, creation
from tests.rules.session_model import SessionModel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.integration.logging_rules.random_sessions import Session
    from tests.rules.binlog_caches import Group

_UNSAFE = 1592
_DUPLICATE = 1062


@dataclass(frozen=True)
class Answer:
    """What a statement gave: an error's number, and the reasons of the warnings."""

    error: int | None
    reasons: frozenset[UnsafeReason]


@dataclass(frozen=True)
class Difference:
    """A session whose log or answers are not the predicted ones."""

    session: Session
    predicted: list[object]
    actual: list[object]

    def __str__(self) -> str:
        state = self.session.state
        enforced = ", enforce_gtid_consistency" if state.enforce_gtid_consistency else ""
        lines = [f"{state.binlog_format.value}, {state.isolation.name}{enforced}"]
        lines += [
            f"    {each.text}{' -- fails' if each.fails else ''}"
            for each in self.session.statements
        ]
        for number, (predicted, actual) in enumerate(
            zip(
                _padded(self.predicted, self.actual),
                _padded(self.actual, self.predicted),
                strict=True,
            )
        ):
            if predicted != actual:
                lines += [f"  {number}", f"  predicted {predicted}", f"  actual    {actual}"]
        return "\n".join(lines)


def _padded(one: list[object], other: list[object]) -> list[object]:
    return one + [None] * max(0, len(other) - len(one))


def version_of(server: MysqlServer | MariadbServer) -> ServerVersion:
    """Return the version for the rules."""
    product = Product.MARIADB if isinstance(server, MariadbServer) else Product.MYSQL
    return ServerVersion(product, server.version)


class Player:
    """Plays on one server, in a database of its own."""

    def __init__(self, server: MysqlServer | MariadbServer) -> None:
        self._server = server
        self.version = version_of(server)
        self._enforced = False
        with connect(server.endpoint) as connection, connection.cursor() as cursor:
            cursor.execute("SET GLOBAL log_bin_trust_function_creators = 1")
            cursor.execute(f"DROP DATABASE IF EXISTS {DATABASE}")
            cursor.execute(f"CREATE DATABASE {DATABASE}")
            cursor.execute(f"USE {DATABASE}")
            for statement in creation(self.version):
                cursor.execute(statement)

    def differences(self, sessions: Iterable[Session]) -> list[Difference]:
        """Play all; return the sessions that were not as predicted."""
        played: list[tuple[Session, list[Answer]]] = []
        starts: list[int] = []
        with connect(self._server.endpoint) as own, own.cursor() as cursor:
            cursor.execute("FLUSH BINARY LOGS")
            file, _ = self._end(cursor)
            for session in sessions:
                starts.append(self._end(cursor)[1])
                played.append((session, self._play(session, cursor)))
        with open_binlog(self._server.directory / "data" / file) as log:
            logged = list(groups_of(log))
        found = []
        for number, (session, answers) in enumerate(played):
            end = starts[number + 1] if number + 1 < len(starts) else None
            groups = [
                group
                for position, group in logged
                if position >= starts[number] and (end is None or position < end)
            ]
            difference = _compare(self.version, session, answers, groups)
            if difference is not None:
                found.append(difference)
        return found

    def _end(self, cursor: Any) -> tuple[str, int]:
        newest = self.version.mysql_since(8, 2)
        cursor.execute("SHOW BINARY LOG STATUS" if newest else "SHOW MASTER STATUS")
        file, position = cursor.fetchone()[:2]
        return file, position

    def _play(self, session: Session, administrator: Any) -> list[Answer]:
        state = session.state
        if state.enforce_gtid_consistency != self._enforced:
            value = "ON" if state.enforce_gtid_consistency else "OFF"
            administrator.execute(f"SET GLOBAL enforce_gtid_consistency = {value}")
            self._enforced = state.enforce_gtid_consistency
        with connect(self._server.endpoint, DATABASE) as connection, connection.cursor() as cursor:
            cursor.execute(f"SET SESSION binlog_format = {state.binlog_format.value}")
            level = state.isolation.name.replace("_", " ")
            cursor.execute(f"SET SESSION TRANSACTION ISOLATION LEVEL {level}")
            return [_answer(cursor, statement.text) for statement in session.statements]


def _answer(cursor: Any, text: str) -> Answer:
    error = None
    try:
        cursor.execute(text)
        cursor.fetchall()
    except pymysql.err.MySQLError as raised:
        error = raised.args[0]
    if error is None and not cursor.warning_count:
        return Answer(None, frozenset())
    cursor.execute("SHOW WARNINGS")
    texts = [text for _, number, text in cursor.fetchall() if number == _UNSAFE]
    return Answer(error, frozenset(_reason(text) for text in texts))


def _reason(text: str) -> UnsafeReason:
    _, _, sentence = text.partition("since BINLOG_FORMAT = STATEMENT. ")
    (reason,) = [each for each in UnsafeReason if sentence.startswith(each.value)]
    return reason


def _compare(
    version: ServerVersion, session: Session, answers: list[Answer], groups: list[Group]
) -> Difference | None:
    model = SessionModel(version, session.state)
    predicted: list[object] = []
    for statement in session.statements:
        outcome = model.execute(statement)
        refusal = outcome.decision.refusal
        error = _DUPLICATE if statement.fails else None
        if refusal is not None:
            error = refusal.number
        predicted.append((statement.text, error, outcome.warnings))
    actual: list[object] = [
        (statement.text, answer.error, answer.reasons)
        for statement, answer in zip(session.statements, answers, strict=True)
    ]
    if predicted == actual and model.groups == groups:
        return None
    return Difference(session, [*predicted, *model.groups], [*actual, *groups])
