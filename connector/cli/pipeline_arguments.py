"""The arguments of the commands for a pipeline, which has a file of configuration."""

import argparse
from pathlib import Path

from connector.foundation.argument_parser import ArgumentParser, whole_number
from connector.foundation.table_view import add_table_view


def up(parser: ArgumentParser) -> None:
    """Declare the arguments of `up`."""
    parser.describe(
        """
        The first start checks the source, says what it lacks, and writes the configuration of two
        programs into FOLDER/_cdc: the connector, which writes every change to a log in a folder,
        and the Spark job, which applies it to the tables. `up` runs both until Ctrl-C or SIGTERM;
        the same command, or --to alone, resumes. docs/tasks/up.md says when to use Kafka instead.

        Exit codes: 0 stopped on request, or everything is in the tables; 1 a server cannot be
        reached; 2 wrong arguments; 3 a restart cannot help. With --verify those of `verify`.
        """,
        ("up mysql://cdc@db/shop --to lake", "all tables of a database, until Ctrl-C"),
        ("up --to lake", "resume"),
        (
            "up mysql://cdc@db --tables 'shop.*' --format both --to lake",
            "as Delta and as Iceberg tables",
        ),
        ("up --to lake --once --verify", "for cron: catch up, compare all rows, exit"),
    )
    parser.add_argument(
        "source",
        nargs="?",
        metavar="URL",
        help="mysql://USER[:PASSWORD]@HOST[:PORT][/DATABASE]. Without a password, the command asks "
        "for it.",
    )
    parser.add_argument(
        "--to", type=Path, required=True, metavar="FOLDER", help="The folder of the tables."
    )
    parser.add_argument(
        "--tables",
        action="append",
        metavar="PATTERN",
        help="shop.orders, or a pattern such as shop.*; may be repeated. Default: all tables of "
        "DATABASE.",
    )
    parser.add_argument(
        "--format",
        choices=["delta", "iceberg", "both"],
        help="The format of the tables, by default delta; Iceberg tables are Delta tables, too.",
    )
    parser.add_argument(
        "--password-env",
        metavar="VARIABLE",
        help="Read the password of the source from this variable of the environment.",
    )
    parser.add_argument(
        "--once", action="store_true", help="Exit when the tables have all that is committed now."
    )
    parser.add_argument(
        "--verify", action="store_true", help="With --once: compare all rows at the end."
    )
    parser.add_argument(
        "--listen",
        type=_address,
        metavar="HOST:PORT",
        help="The address of the status page; by default a free port of this machine.",
    )
    parser.add_argument(
        "--show-config",
        action="store_true",
        help="Print the configuration files of the two programs, and exit.",
    )


def run(parser: ArgumentParser) -> None:
    """Declare the arguments of `run`."""
    parser.describe(
        """
        Exit codes: 0 stopped on request, 1 gave up on a transient error, 2 wrong configuration, 3
        an error that a restart cannot fix.
        """,
        ("run my.toml", "until SIGTERM or Ctrl-C"),
        ("run -v my.toml", "with details for troubleshooting"),
    )
    _config(parser)
    parser.add_argument(
        "--verbose",
        "-v",
        action="store_true",
        help="Also log details for troubleshooting.",
    )


def check(parser: ArgumentParser) -> None:
    """Declare the arguments of `check`."""
    parser.describe(
        """
        You can use it while the pipeline runs. Exit codes: 0 ready, 1 transient: a server cannot be
        reached or lags, 2 wrong configuration, 3 an error that a restart cannot fix. A name or
        pattern that matches no table is not an error, because the table may be created later: the
        last line names it.
        """,
        ("check my.toml", "before the first start, and after each change"),
    )
    _config(parser)


def status(parser: ArgumentParser) -> None:
    """Declare the arguments of `status`."""
    parser.describe(
        """
        The command asks the running process at `metrics.listen`. If no process answers, it reads
        from Kafka where the stream stopped, and asks each server whether it still has the changes
        after that.

        Several configurations, or folders of them, are shown as a list, those that need attention
        first. For a list, only the processes are asked. With --listen, a page shows the list until
        SIGTERM or Ctrl-C.

        Exit codes: 0 well, 1 something is wrong that may pass by itself, or Kafka cannot be
        reached, 2 wrong configuration, 3 somebody must act: changes are held back, a copy has
        failed, the source will soon drop its log, or the stream cannot continue, 4 no process
        answers, and the next start resumes. With several pipelines, 3 takes precedence over 2, 4
        and 1; a list does not check whether a stopped pipeline can resume.
        """,
        ("status my.toml", "once; the exit code says whether somebody must act"),
        ("status my.toml --watch", "every 2 seconds, until Ctrl-C"),
        ("status my.toml --table 'shop.*' --all", "all tables of a database"),
        ("status my.toml --json", "for programs"),
        ("status configs/*.toml", "many pipelines in one list"),
        (
            "status --listen 127.0.0.1:8080 /etc/binlog-connector",
            "a page of all pipelines whose configurations are in a folder",
        ),
    )
    parser.add_argument(
        "configs",
        nargs="+",
        type=Path,
        metavar="CONFIG",
        help="TOML file, or a folder of them; `binlog-connector config` explains the keys.",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="Print everything as one JSON object, for programs.",
    )
    parser.add_argument(
        "--watch", "-w", action="store_true", help="Look every 2 seconds, until Ctrl-C."
    )
    parser.add_argument(
        "--listen",
        type=_address,
        metavar="HOST:PORT",
        help="Serve the list as a page, read only; /status.json has it for programs.",
    )
    add_table_view(parser, " Of one pipeline.")


def snapshot(parser: ArgumentParser) -> None:
    """Declare the arguments of `snapshot`."""
    parser.describe(
        """
        The running pipeline makes the copy; Ctrl-C ends only the display. Without --where,
        it first tells consumers that all earlier rows are gone, and lifts fences of the tables.

        A copy that has failed is reported until one of the same table succeeds, or until --dismiss,
        because consumers lack its rows.

        Exit codes: 0 copied, 1 the pipeline has not answered, or a server cannot be reached, 2 a
        pattern matches no table or --where is not a condition, 3 a table cannot be copied.
        """,
        ("snapshot my.toml shop.orders", "copy one table again"),
        ("snapshot my.toml 'shop.*' crm.users", "several tables"),
        ("snapshot my.toml shop.orders --where 'id > 1000'", "some rows, over the existing ones"),
    )
    _config(parser)
    parser.add_argument(
        "tables", nargs="+", metavar="TABLE", help="shop.orders, or a pattern such as shop.*"
    )
    parser.add_argument(
        "--where",
        default="",
        metavar="CONDITION",
        help="SQL condition on the columns: only these rows are copied, over the existing ones.",
    )
    parser.add_argument(
        "--dismiss",
        action="store_true",
        help="Copy nothing, and no longer report that copies of these tables have failed.",
    )


def quarantine_list(parser: ArgumentParser) -> None:
    """Declare the arguments of `quarantine list`."""
    parser.describe(
        "",
        ("quarantine list my.toml", "what is kept back, and why"),
        ("quarantine list my.toml --json", "one JSON object a line"),
    )
    _config(parser)
    _json_lines(parser)


def quarantine_show(parser: ArgumentParser) -> None:
    """Declare the arguments of `quarantine show`."""
    parser.describe(
        "If a column cannot be read, its bytes and those around it are shown.",
        ("quarantine show my.toml shop.orders", "the first ten records of a table"),
        ("quarantine show my.toml 17", "the record at offset 17"),
    )
    _config(parser)
    parser.add_argument(
        "what",
        metavar="TABLE|OFFSET",
        help="database.table, or the offset of one record in the topic.",
    )
    _key(parser)
    parser.add_argument(
        "--limit",
        type=whole_number(1),
        default=10,
        metavar="N",
        help="Records that are shown.",
    )
    _json_lines(parser)


def quarantine_replay(parser: ArgumentParser) -> None:
    """Declare the arguments of `quarantine replay`."""
    parser.describe(
        """
        The running pipeline does it; if none runs, the next start does it.

        Exit codes: 0 written, 1 the pipeline has not answered, or Kafka cannot be reached, 2 no
        change is held back, 3 a change still cannot be written and stays; or the table must be
        copied again, because a fence has ended its copy.
        """,
        ("quarantine replay my.toml shop.orders", "write what is kept back of a table"),
        ("""quarantine replay my.toml shop.orders --key '{"id":7}'""", "of one key"),
    )
    _config(parser)
    parser.add_argument("table", metavar="TABLE", help="database.table")
    _key(parser)


def import_debezium(parser: ArgumentParser) -> None:
    """Declare the arguments of `import-debezium`."""
    parser.describe(
        """
        A comment says what each property became. Warnings name those without a counterpart. With
        --offsets, the position is looked up on the source, which must be reachable; stop the
        connector first. Exit codes: 0 written, 1 a server cannot be reached, 2 the connector cannot
        be imported, 3 the source cannot be followed from there.
        """,
        (
            "import-debezium connector.json > my.toml",
            "a configuration from that of a connector",
        ),
        (
            "import-debezium connector.json --worker connect-distributed.properties > my.toml",
            "with the settings of the Connect worker",
        ),
        (
            "import-debezium connector.json --offsets connect-offsets -o my.toml",
            "and resume where the connector stopped",
        ),
    )
    parser.add_argument(
        "connector",
        type=Path,
        metavar="CONNECTOR.json",
        help="What GET /connectors/NAME of Kafka Connect answers, or the properties alone.",
    )
    parser.add_argument(
        "--offsets",
        metavar="TOPIC|FILE",
        help="Resume where the connector stopped: the topic of offset.storage.topic, or a file "
        "with the answer of GET /connectors/NAME/offsets. Without it, the tables are copied as "
        "snapshot.mode says.",
    )
    parser.add_argument(
        "--worker",
        type=Path,
        metavar="FILE",
        help="The properties of Connect's worker, such as connect-distributed.properties: the "
        "converters, brokers and login of connectors that do not name their own.",
    )
    parser.add_argument(
        "--bootstrap-servers",
        default="",
        metavar="HOST:PORT,…",
        help="Kafka; by default the brokers of the worker, or of the schema history.",
    )
    parser.add_argument(
        "--output",
        "-o",
        type=Path,
        metavar="FILE",
        help="Write there; by default, print.",
    )
    parser.add_argument("--secrets", action="store_true", help="Copy passwords, too.")


def log_copy(parser: ArgumentParser) -> None:
    """Declare the arguments of `log copy`."""
    parser.describe(
        """
        Stop connector, Spark job and all other programs that write to the topics first. TARGET is a
        copy of CONFIG with other kafka.bootstrap_servers: brokers, or file:///FOLDER. All records
        of the prefix get the same offsets there, so connector and Spark job resume where they
        stopped. If the command is interrupted, run it again: it starts over. Until it has finished,
        no connector starts with the new log. docs/tasks/without-kafka.md has the steps.

        Exit codes: 0 copied, 1 a log cannot be reached, 2 wrong configuration, 3 the new log has
        records, or the old one is still written.
        """,
        ("log copy shop.toml new.toml", "then start with new.toml"),
    )
    _config(parser)
    parser.add_argument(
        "target", type=Path, metavar="TARGET", help="TOML file that names the new log."
    )


def _config(parser: ArgumentParser) -> None:
    parser.add_argument(
        "config",
        type=Path,
        metavar="CONFIG",
        help="TOML file; `binlog-connector config` explains the keys.",
    )


def _address(text: str) -> str:
    from connector.foundation.settings.values import as_listen_address  # noqa: PLC0415  # takes long

    try:
        return as_listen_address(text)
    except ValueError as error:
        message = f"{text!r} is not HOST:PORT, such as 127.0.0.1:8080"
        raise argparse.ArgumentTypeError(message) from error


def _json_lines(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="One JSON object a line.")


def _key(parser: ArgumentParser) -> None:
    parser.add_argument("--key", metavar="KEY", help="One key, as the JSON that `list` shows.")
