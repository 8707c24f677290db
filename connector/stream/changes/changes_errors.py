"""Changes that a log holds as statements, XA, and transactions that are read again."""

from connector.foundation.errors.code import (
    ErrorCode,
    Scope,
    clause,
    notice,
    table_error,
    transient_error,
)
from connector.foundation.errors.kinds import TransientError

_CONTINUE = "continue after it: give the pipeline a new name and set {source.start}"
_NOTHING = ". Nothing from this transaction was published"
_AT = {
    "log_position": "binlog.000042:1187",
    "transaction": "3e11fa47-71ca-11e1-9e33-c80aa9429562:42",
}


def _refused(
    code: str,
    what: str,
    fix: str,
    fence_fix: str | None = None,
    *,
    scope: Scope = Scope.PROCESS,
    cause: str,
    **example: object,
) -> ErrorCode:
    return ErrorCode(
        code,
        f"{{log_position}}: {what} cannot be published without loss (transaction {{transaction}})",
        fix,
        fence_fix=fence_fix,
        passable=True,
        scope=scope,
        cause=cause,
        example={**_AT, **example},
    )


INCIDENTS = ErrorCode(
    "T101",
    "{log_position}: the server's report of an incident, {reason}, cannot be published without "
    "loss (transaction {transaction})",
    "changes may be missing from its log, so copy the followed tables again, and continue after "
    "it: give the pipeline a new name and set {source.start}. Nothing from this transaction was "
    "published",
    passable=True,
    cause="The server noticed that changes may not be in its log, and wrote this event about it.",
)
INCIDENT = INCIDENTS.because("{incident}")
INCIDENT_TOLD = INCIDENTS.because("{incident} ({told})", was="T102")

_ROW_FORMAT = (
    "{rule}: SET GLOBAL binlog_format=ROW, take the right to change it from the application, "
    f"repair the rows it touched, and {_CONTINUE}{_NOTHING}"
)
_RULE = "by R-log-statement-format (1) or (2), a session ran with binlog_format=STATEMENT or MIXED"
_STATEMENT = (
    "The log holds the text of the statement, but not the rows that it changed. Triggers and "
    "functions may have changed others. Without the rows, the tables in Kafka would differ from "
    "the source and nobody would know."
)

LOGGED_STATEMENT = table_error(
    "T111",
    "{log_position}: {reason}, logged as a statement, cannot be published without loss "
    "(transaction {transaction})",
    "{rule}: SET GLOBAL binlog_format=ROW, take the right to change it from the application, "
    "repair the rows it touched, and continue after it: give the pipeline a new name and set "
    "{source.start}. Nothing from this transaction was published",
    fence_fix="{rule}: SET GLOBAL binlog_format=ROW, and take the right to change it from the "
    "application",
    passable=True,
    cause="The log holds the text of the statement, but not the rows that it changed. Triggers "
    "and functions may have changed others. Without the rows, the tables in Kafka would differ "
    "from the source and nobody would know.",
)
STATEMENT = LOGGED_STATEMENT.because("{verb} in database {schema}")
LOAD_DATA = LOGGED_STATEMENT.because("LOAD DATA into {database}.{table}", was="T113")

STATEMENT_OF_MANY = _refused(
    "T112",
    "{verb} in more databases than the log names, logged as a statement,",
    _ROW_FORMAT,
    cause=_STATEMENT,
    rule=_RULE,
    verb="UPDATE",
)
# Parts of the texts above: how the server came to log the statement.
BY_STATEMENT_FORMAT = clause(
    "by R-log-statement-format (1), a session ran with binlog_format=STATEMENT, because MIXED "
    "logs rows for it ({reasons})",
    was="T114",
)
BY_EITHER_FORMAT = clause(
    "by R-log-statement-format (1) or (2), a session ran with binlog_format=STATEMENT or MIXED",
    was="T115",
)
BY_FORMAT_OR_VERSIONS = clause(
    "by R-log-statement-format (1) or (2), a session ran with binlog_format=STATEMENT or MIXED; "
    "or, by the rule for versions, a table of the statement has versions by numbers of "
    "transactions, and the session has done nothing wrong",
    was="T117",
)
BY_STATEMENT_OR_VERSIONS = clause(
    "by R-log-statement-format (1), a session ran with binlog_format=STATEMENT, because MIXED "
    "logs rows for it ({reasons}); or, by the rule for versions, a table of the statement has "
    "versions by numbers of transactions, and the session has done nothing wrong",
    was="T118",
)
BY_RESTART = clause(
    "by the rule for MEMORY tables, the server was restarted, and the table is empty since; or, "
    "by R-log-statement-format (1) or (2), a session ran with binlog_format=STATEMENT or MIXED",
    was="T116",
)
SAVEPOINT = _refused(
    "T121",
    "ROLLBACK TO SAVEPOINT after row changes",
    "it is not certain which savepoint is meant: give savepoints names in ASCII, repair "
    f"the rows it touched, and {_CONTINUE}{_NOTHING}",
    cause="The rows after the savepoint were rolled back. Servers compare names of savepoints by "
    "rules of the character set, so two names outside of ASCII may be the same or not.",
)
XA_UNSEEN = _refused(
    "T131",
    "XA COMMIT of rows that came before the stream began",
    f"if they are of followed tables, repair these; then {_CONTINUE}{_NOTHING}",
    cause="The rows of an XA transaction stand in the log before XA PREPARE. The stream began "
    "between XA PREPARE and XA COMMIT, so it has not read them.",
)
XA_VERB = _refused(
    "T132",
    "XA {verb}",
    f"use plain transactions on followed tables{_NOTHING}",
    cause="No server that is supported writes this statement to its log.",
    verb="RECOVER",
)
REWRITTEN = table_error(
    "T161",
    "{log_position}: the rows of {database}.{table} may have other values, and the log does not "
    "hold them: {reason} (transaction {transaction})",
    'set {schema.on_rewrite} = "copy" and start again: the stream continues here and copies the '
    f"table{_NOTHING}",
    fence_fix="",
    cause="The server converts or replaces values in ALTER TABLE without writing row events. The "
    "clause is not one of those that are proven to keep all values.",
    example={"reason": "ALTER TABLE … MODIFY COLUMN price"},
)
OTHER_OUTCOME = transient_error(
    "T151",
    "{log_position}: transaction {transaction} was rolled back when it was read before, but "
    "not now: it comes from another server",
    cause="The stream reads a transaction again without its rows, because it was rolled back. Now "
    "the log says that it was committed. After a change of the server the two differ, so the "
    "stream begins again from committed progress.",
)
NO_ROOM = transient_error(
    "T152",
    "{directory}: rows of an open transaction cannot be kept: {why}",
    "make room there, or let TMPDIR name another folder",
    cause="Rows of a transaction that may still be rolled back wait in a temporary file. The "
    "folder of temporary files is full or cannot be written.",
    example={"directory": "/tmp", "why": "No space left on device"},  # noqa: S108 - only shown
)
NESTED_TRANSACTION = ErrorCode(
    "L701",
    "{log_position}: a transaction starts inside the one that started at {file}:{position} and "
    "has not ended",
    "compare with `mysqlbinlog --start-position={position} {file}`",
    cause="Servers write transactions one after the other. Events were lost or changed.",
)
OUTSIDE_TRANSACTION = ErrorCode(
    "L702",
    "{log_position}: {event_name} outside of a transaction",
    "the stream must start at the first event of a transaction",
    cause="Reading began between the events of a transaction, so the first ones are not known.",
    example={"event_name": "WRITE_ROWS_EVENT"},
)
IGNORED_EVENT = notice(
    "L711",
    "skipped an event of an unknown type, which its server flagged as ignorable",
    cause="A newer server wrote the event. The flag says that no reader needs it.",
)
ROLLED_BACK = transient_error(
    "L104",
    "transaction {transaction} was rolled back after its rows were sent",
    cause="A transaction that was prepared by XA, or that changed tables without transactions, "
    "was rolled back at its end. The stream reads it again and leaves its rows out.",
)


class RolledBack(TransientError):
    """A source transaction rolled back rows that were delivered: read it again without them."""

    def __init__(self, transaction_id: str) -> None:
        """Name the transaction as `Transaction.id` does."""
        super().__init__(ROLLED_BACK, transaction=transaction_id)
        self.transaction_id = transaction_id
