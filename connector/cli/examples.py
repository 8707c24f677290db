"""The examples at the end of each command's help, in Markdown; a test parses every one."""

from __future__ import annotations

from typing import Final

_BINLOG = "binlog-connector"


def _examples(*examples: tuple[str, str]) -> str:
    """Return a list of commands, each below its purpose."""
    # Two spaces end a line of Markdown.
    lines = [f"- {purpose}:  \n  `{_BINLOG} {command}`" for command, purpose in examples]
    return "\n".join(["**Examples**", "", *lines])


ALL: Final = _examples(
    ("config > my.toml", "a configuration to start from"),
    ("check my.toml", "what the servers need"),
    ("run my.toml", "stream into Kafka"),
    ("dump binlog.000042", "read a binlog"),
    ("--install-completion", "complete commands and options in this shell (bash, zsh, fish)"),
)
RUN: Final = _examples(
    ("run my.toml", "until SIGTERM or Ctrl-C"),
    ("run -v my.toml", "with all that helps to find a fault"),
)
CHECK: Final = _examples(("check my.toml", "before the first start, and after each change"))
STATUS: Final = _examples(
    ("status my.toml", "once; the exit code says whether somebody must act"),
    ("status my.toml --watch", "every 2 seconds, until Ctrl-C"),
    ("status my.toml --json", "for programs"),
)
CONFIG: Final = _examples(
    ("config > my.toml", "a configuration to start from"),
    ("config grants.sql", "the statements that create the account on the source"),
)
IMPORT_DEBEZIUM: Final = _examples(
    ("import-debezium connector.json > my.toml", "a configuration from that of a connector"),
    (
        "import-debezium connector.json --worker connect-distributed.properties > my.toml",
        "with what the worker of Connect says",
    ),
    (
        "import-debezium connector.json --offsets connect-offsets -o my.toml",
        "and go on where the connector stopped",
    ),
)
SNAPSHOT: Final = _examples(
    ("snapshot my.toml shop.orders", "copy one table again"),
    ("snapshot my.toml 'shop.*' crm.users", "several tables"),
    ("snapshot my.toml shop.orders --where 'id > 1000'", "some rows, over what is there"),
)
VERIFY: Final = _examples(
    ("verify my.toml --mirror stream_job.toml", "all tables"),
    ("verify my.toml --mirror stream_job.toml shop.orders 'crm.*'", "some of them"),
    ("verify my.toml --mirror stream_job.toml --repair", "copy again what differs"),
    ("verify my.toml --mirror stream_job.toml --no-values --json", "for a program, without values"),
    ("verify my.toml --replica stream_job.toml", "the tables of the replica"),
    ("verify my.toml --topics", "everything that topics and log still hold"),
    (
        "verify my.toml --topics --from binlog.000041:4 --to binlog.000042:1187",
        "between two positions of the log",
    ),
    ("verify my.toml --topics --json", "one JSON report, for scripts"),
)
RULES: Final = _examples(
    ("rules my.toml 'DELETE FROM shop.orders LIMIT 1'", "in each binlog_format"),
    ("rules mysql://repl@db -D shop 'UPDATE orders SET state = 2'", "with a default database"),
)
DEMO: Final = _examples(
    ("demo", "MySQL, for 40 seconds"),
    ("demo --source mariadb --duration 60 --rate 100", "MariaDB, longer and faster"),
    ("demo --keep", "leave everything running, and say how to connect"),
)
DUMP: Final = _examples(
    ("dump binlog.000042", "as mysqlbinlog -vvv does"),
    ("dump --format json --table 'shop.*' binlog.000042.gz", "one JSON object an event"),
    ("dump --start-datetime 2026-01-31T12:00 binlog.000042", "from a time on, in UTC"),
    ("dump --source mysql://repl@db binlog.000042 --stop-never", "follow a server"),
)
STAT: Final = _examples(
    ("stat binlog.000041 binlog.000042", "events, tables and transactions of two files"),
    ("stat --format json binlog.000042", "as one JSON document"),
    ("stat --source mysql://repl@db binlog.000042", "a log of a server"),
)
FLASHBACK: Final = _examples(
    ("flashback --table shop.orders binlog.000042 > undo.sql", "undo one table's changes"),
    (
        "flashback --start-datetime 2026-01-31T12 --stop-datetime 2026-01-31T12:05 binlog.000042",
        "undo five minutes",
    ),
    ("flashback --source mysql://repl@db binlog.000042", "of a log of a server"),
)
QUARANTINE_LIST: Final = _examples(
    ("quarantine list my.toml", "what is kept back, and why"),
    ("quarantine list my.toml --json", "one JSON object a line"),
)
QUARANTINE_SHOW: Final = _examples(
    ("quarantine show my.toml shop.orders", "the first ten records of a table"),
    ("quarantine show my.toml 17", "the record at offset 17"),
)
QUARANTINE_REPLAY: Final = _examples(
    ("quarantine replay my.toml shop.orders", "write what is kept back of a table"),
    ("""quarantine replay my.toml shop.orders --key '{"id":7}'""", "of one key"),
)
QUARANTINE: Final = _examples(
    ("quarantine list my.toml", "what is kept back, and why"),
    ("quarantine show my.toml shop.orders", "the records of a table"),
    ("quarantine replay my.toml shop.orders", "write them again"),
)
