"""Selects a checked server, and the position at which its stream starts.

The servers of `source.host` and `source.failover_hosts` are asked in turn; the one that was read
last comes first. The connector reads the first server that has everything after the committed
progress. It skips a server, without waiting, that cannot be reached, lags, or has refused to go on
with its log. If no server fits, but one of them may fit later, the error is a TransientError, and
the supervisor tries again.

The rows of XA transactions that a server has prepared are before the start of a new stream, so
the program's log warns of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import structlog

from connector.foundation.errors import SourceRefused, SourceUnavailable, fields
from connector.foundation.errors.message import Message
from connector.foundation.settings.configuration import source_in_lower_case
from connector.foundation.settings.sections import SourceSettings
from connector.replication.dump import ReplicationStream, open_stream
from connector.replication.server.addresses import address_of, candidates
from connector.replication.server.mysql_server import MysqlServer
from connector.replication.start_point import ServerIdentity, StartPoint
from connector.replication.start_setting import resolve_start
from connector.replication.start_validation import deleted_domains, validate_start
from connector.stream.changes.cascades import ForeignKeySource
from connector.stream.envelope.schemas.server_schemas import DefinitionSource, UnloggedColumns
from connector.stream.progress.progress_record import (
    Progress,
    held_records,
    reads_from,
    start_point,
)
from connector.stream.source import setup_errors
from connector.stream.source.findings import Finding, Severity
from connector.stream.source.followed_tables import check_columns, ignores_case, tables_of
from connector.stream.source.foreign_keys import ServerForeignKeys
from connector.stream.source.preflight import check_source, require
from connector.stream.source.table_definitions import ServerTableDefinitions, ServerUnloggedColumns

ShowFindings = Callable[[MysqlServer, SourceSettings, list[Finding]], None]


def prepared_transactions(server: MysqlServer) -> list[str] | None:
    """Return their names as XA statements have them; None if the account may not ask.

    MySQL 8.0 needs the grant XA_RECOVER_ADMIN. Raises SourceUnavailable.
    """
    mariadb = server.identity.flavour == "mariadb"
    try:
        rows = server.query("XA RECOVER FORMAT='SQL'" if mariadb else "XA RECOVER CONVERT XID")
    except SourceRefused:
        return None
    return [str(row["data"]) if mariadb else _name(row) for row in rows]


def _name(row: dict[str, object]) -> str:
    """Return the name in a row; its parts are hexadecimal: 0x6f6e65."""
    digits = str(row["data"]).removeprefix("0x")
    length = 2 * int(str(row["gtrid_length"]))
    return f"X'{digits[:length].lower()}',X'{digits[length:].lower()}',{row['formatID']}"


@dataclass(frozen=True, slots=True)
class CheckedSource:
    """A server with the settings that the stream needs, and with everything after `point`."""

    settings: SourceSettings  # with the `host` and `port` of the chosen server
    name: str  # "source HOST:PORT", the beginning of error messages
    identity: ServerIdentity
    point: StartPoint  # the position of the stream
    lower_case_names: bool
    # Whether names that differ in case are the same.
    ignores_case: bool = field(default=False, kw_only=True)
    # What the server is asked for instead: an earlier position, if something must be read again, or
    # the same one without domains that MariaDB has deleted.
    reads_from: StartPoint | None = field(default=None, kw_only=True)

    @property
    def address(self) -> str:
        """HOST:PORT, as the progress record keeps it."""
        return address_of(self.settings)

    def definitions(self) -> DefinitionSource:
        """Return the source of columns for tables that the log does not describe."""
        return ServerTableDefinitions(
            self.settings, self.identity, lower_case_names=self.lower_case_names
        )

    def unlogged_columns(self) -> UnloggedColumns:
        """Return what knows the columns of the log that records leave out."""
        return ServerUnloggedColumns(self.settings, self.identity)

    def foreign_keys(self) -> ForeignKeySource:
        """Return the source of foreign keys that cascade."""
        return ServerForeignKeys(self.settings, self.identity)

    def tables_of(self, database: str) -> list[str]:
        """Return the tables that a database has now. Raises SourceUnavailable or SourceRefused."""
        return tables_of(self.settings, self.identity, database)

    def open_stream(self, replica_name: str, *, stop_at_end: bool = False) -> ReplicationStream:
        """Ask the server for everything after `point`, or after `reads_from`.

        `stop_at_end` as in `dump.open_stream`. Raises SourceUnavailable or SourceRefused.
        """
        start = self.reads_from or self.point
        return open_stream(
            self.identity,
            self.settings,
            start,
            replica_name=replica_name,
            stop_at_end=stop_at_end,
        )


def choose_source(
    settings: SourceSettings,
    last: Progress | None,
    refusals: Mapping[str, SourceRefused] | None = None,
    show: ShowFindings | None = None,
) -> CheckedSource:
    """Return the server to read from; `last` is the committed progress.

    Servers with `refusals`, by HOST:PORT, are not asked. `show` is called with the findings for
    each server. Raises SourceUnavailable if one of the servers may fit later, and SourceRefused if
    none will; each has a line for each server. Raises ConfigError for files that cannot be read.
    """
    log = structlog.get_logger()
    problems: list[SourceUnavailable | SourceRefused] = []
    for candidate in candidates(settings, last.source if last is not None else ""):
        refusal = (refusals or {}).get(address_of(candidate))
        if refusal is not None:
            problems.append(refusal)
            continue
        try:
            source = check_server(candidate, last, show)
        except (SourceUnavailable, SourceRefused) as error:
            problems.append(error)
            continue
        for problem in problems:
            log.warning("passed over a source", **fields(problem))
        if last is not None and last.server_uuid != source.identity.server_uuid:
            log.warning(
                "another server goes on with the stream",
                source=source.address,
                server_uuid=source.identity.server_uuid,
                server_uuid_before=last.server_uuid,
                source_before=last.source or None,
                epoch=last.epoch + 1,
            )
        return source
    raise _none_fits(problems)


def check_setup(
    server: MysqlServer,
    settings: SourceSettings,
    of_columns: Severity,
    show: ShowFindings | None = None,
) -> None:
    """Check settings, grants and columns; a missing column counts as `of_columns`.

    Raises SourceRefused with all that is missing, after `show` was called with it, and
    SourceUnavailable.
    """
    findings = check_source(server, settings)
    findings += check_columns(server, settings, of_columns)
    if show is not None:
        show(server, settings, findings)
    require(findings, server.name)


def check_server(
    settings: SourceSettings, last: Progress | None, show: ShowFindings | None = None
) -> CheckedSource:
    """Return the server of `settings` if the stream can go on there; `show` as in `choose_source`.

    Raises SourceUnavailable or SourceRefused.
    """
    with MysqlServer.connect(settings) as server:
        server_name, identity = server.name, server.identity
        case_ignored = ignores_case(server)
        if case_ignored:
            settings = source_in_lower_case(settings)
        # A column may be dropped while a pipeline runs; it goes on then.
        severity = Severity.ERROR if last is None else Severity.WARNING
        check_setup(server, settings, severity, show)
        if last is None:
            point = resolve_start(server, settings.start)
            _tell_of_prepared(server)
        else:
            point = start_point(last, identity, server_name)
        known = validate_start(server, point)
        asked_for = known if known != point else None
        earlier = reads_from(point, last) if last is not None else None
        if earlier is not None and last is not None:
            asked_for = _validated_prepared(server, earlier, last, deleted_domains(point, known))
        # With 2, the log has names as they were created.
        lower_case_names = server.variable("lower_case_table_names") == "1"
    return CheckedSource(
        settings,
        server_name,
        identity,
        point,
        lower_case_names,
        ignores_case=case_ignored,
        reads_from=asked_for,
    )


def _tell_of_prepared(server: MysqlServer) -> None:
    prepared = prepared_transactions(server)
    if prepared:
        facts = {"server": server.name, "xids": prepared}
        message = Message(setup_errors.PREPARED_BEFORE, facts)
        structlog.get_logger().warning("XA transactions wait", **fields(message))


def _validated_prepared(
    server: MysqlServer, earlier: StartPoint, last: Progress, deleted: frozenset[int]
) -> StartPoint:
    """Return from where the rows of prepared XA transactions can be read again.

    The server has `deleted` these domains. Raises SourceRefused if the rows are gone.
    """
    try:
        return validate_start(server, earlier, deleted)
    except SourceRefused as error:
        names = [record["xid"] for record in held_records(last.prepared)]
        raise SourceRefused(
            setup_errors.PREPARED_GONE, server=server.name, xids=names, why=error
        ) from error


def _without_hope(
    problem: SourceUnavailable | SourceRefused, reset: set[str]
) -> SourceUnavailable | SourceRefused:
    """Return what to report of a server, if the servers with a UUID in `reset` never send more."""
    if isinstance(problem, SourceUnavailable) and problem.awaits and problem.awaits <= reset:
        assert problem.otherwise is not None
        return problem.otherwise
    return problem


def _may_be_reset(problem: SourceUnavailable | SourceRefused) -> bool:
    return isinstance(problem, SourceRefused) or problem.otherwise is not None


def _none_fits(
    problems: list[SourceUnavailable | SourceRefused],
) -> SourceUnavailable | SourceRefused:
    if len(problems) == 1:
        return problems[0]
    reset = {
        problem.reset_server
        for problem in problems
        if isinstance(problem, SourceRefused) and problem.reset_server
    }
    problems = [_without_hope(problem, reset) for problem in problems]
    hopeful = any(isinstance(problem, SourceUnavailable) for problem in problems)
    if not hopeful:
        return SourceRefused(setup_errors.NONE, problems=problems)
    answered = any(isinstance(one, SourceRefused) or one.answered for one in problems)
    if reset and all(map(_may_be_reset, problems)):
        return SourceUnavailable(
            setup_errors.NONE_NOW_AND_RESET, answered=answered, problems=problems
        )
    return SourceUnavailable(setup_errors.NONE_NOW, answered=answered, problems=problems)
