"""The arguments of the commands that need no pipeline: `config`, `explain`, `rules` and `demo`."""

from pathlib import Path

from connector.foundation.argument_parser import ArgumentParser, decimal_number


def config(parser: ArgumentParser) -> None:
    """Declare the arguments of `config`."""
    parser.describe(
        "",
        ("config --minimal > my.toml", "a configuration to start from"),
        ("config > my.toml", "the same with every key"),
        ("config grants.sql", "the statements that create the account on the source"),
    )
    parser.add_argument(
        "name",
        nargs="?",
        choices=["connector.toml", "stream_job.toml", "grants.sql", "source.cnf", "mariadb.cnf"],
        default="connector.toml",
        metavar="NAME",
        help="connector.toml: every key of `run`; stream_job.toml: every key of the Spark job; "
        "grants.sql: the account on the source; source.cnf, mariadb.cnf: what the source needs.",
    )
    parser.add_argument(
        "--minimal", action="store_true", help="Only the keys that a first run needs."
    )


def explain(parser: ArgumentParser) -> None:
    """Declare the arguments of `explain`."""
    parser.describe(
        "",
        ("explain S101", "of a code"),
        ("explain access denied", "of words that you have read"),
        ("explain", "a list of all codes"),
    )
    parser.add_argument(
        "words",
        nargs="*",
        default=[],
        metavar="CODE or WORDS",
        help="The code in brackets before the text of an error, or words of it, also of a server. "
        "Without them: all codes.",
    )


def rules(parser: ArgumentParser) -> None:
    """Declare the arguments of `rules`."""
    parser.describe(
        """
        Each statement is taken as the first one of its session, and a CALL as the statements that
        it may run. docs/logging-rules.md explains the rules. Exit codes: 0 said, 1 transient: the
        source cannot be reached, 2 wrong arguments, or a statement that is not understood, 3 an
        error that a restart cannot fix.
        """,
        ("rules my.toml 'DELETE FROM shop.orders LIMIT 1'", "in each binlog_format"),
        (
            "rules mysql://repl@db -D shop 'UPDATE orders SET state = 2'",
            "with a default database",
        ),
    )
    parser.add_argument(
        "source",
        metavar="CONFIG|URL",
        help="A TOML file, or mysql://USER[:PASSWORD]@HOST[:PORT].",
    )
    parser.add_argument("statements", nargs="+", metavar="SQL", help="Statements, each in quotes.")
    parser.add_argument(
        "--database",
        "-D",
        default="",
        metavar="NAME",
        help="The database of names that have none.",
    )


def demo(parser: ArgumentParser) -> None:
    """Declare the arguments of `demo`."""
    parser.describe(
        """
        Starts private servers, changes a small shop, and kills the connector in the middle. At the
        end, `verify` compares every table row by row, and finds and repairs a row that the demo
        damages. Exit codes: 0 the mirror equals the source, otherwise there is a difference or a
        failure.
        """,
        ("demo", "MySQL, for 40 seconds"),
        ("demo --source mariadb --duration 60 --rate 100", "MariaDB, longer and faster"),
        ("demo --no-kafka", "without a broker: a folder has the log"),
        ("demo --keep", "leave everything running, and say how to connect"),
    )
    parser.add_argument(
        "--source", choices=["mysql", "mariadb"], default="mysql", help="Kind of server."
    )
    parser.add_argument(
        "--duration",
        type=decimal_number(5),
        default=40.0,
        metavar="SECONDS",
        help="Seconds that the workload runs.",
    )
    parser.add_argument(
        "--rate",
        type=decimal_number(1),
        default=50.0,
        metavar="N",
        help="Transactions a second that the workload aims at.",
    )
    parser.add_argument(
        "--formats",
        choices=["delta", "delta,iceberg"],
        default="delta",
        help="What the tables of the mirror are.",
    )
    parser.add_argument(
        "--no-kafka", action="store_true", help="Start no broker: a folder has the log."
    )
    parser.add_argument(
        "--keep", action="store_true", help="Leave everything running until Ctrl-C."
    )
    parser.add_argument(
        "--directory",
        type=Path,
        metavar="FOLDER",
        help="Where data and logs go. [default: a temporary folder]",
    )
    _demo_source(parser)


def _demo_source(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--mysqld",
        type=Path,
        metavar="FILE",
        help="Your own mysqld, instead of the downloaded one.",
    )
    parser.add_argument(
        "--container",
        action="store_true",
        help="The official image of the source, by Docker, instead.",
    )
    parser.add_argument(
        "--address",
        metavar="[USER[:PASSWORD]@]HOST[:PORT]",
        help="Your own running server, instead.",
    )
