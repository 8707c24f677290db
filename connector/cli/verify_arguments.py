"""The arguments of `verify`."""

from pathlib import Path
from typing import Final

from connector.foundation.argument_parser import ArgumentParser, decimal_number, whole_number

_EXAMPLES: Final = (
    ("verify my.toml --mirror stream_job.toml", "all tables"),
    ("verify my.toml --mirror stream_job.toml shop.orders 'crm.*'", "some of them"),
    ("verify my.toml --mirror stream_job.toml --repair", "copy the rows that differ again"),
    (
        "verify my.toml --mirror stream_job.toml --no-values --json",
        "for a program, without values",
    ),
    ("verify my.toml --replica stream_job.toml", "the tables of the replica"),
    ("verify my.toml --topics", "everything that the topics and the log still have"),
    (
        "verify my.toml --topics --from binlog.000041:4 --to binlog.000042:1187",
        "between two positions of the log",
    ),
    ("verify my.toml --topics --json", "one JSON report, for scripts"),
    (
        "verify mysql://audit@db1 --table shop.orders=delta:/lake/orders",
        "a table that another program writes",
    ),
    (
        "verify my.toml --mirror stream_job.toml --certificate shop.json --sign-key key.pem",
        "checksums that anybody can compute again",
    ),
    (
        "verify mysql://audit@db1 --tables audit.toml --certificate shop.json",
        "the same for tables that other programs have made",
    ),
    ("verify --check shop.json --public-key public.pem", "from the tables alone"),
    ("verify mysql://audit@db1 --check shop.json", "from the source alone"),
)


def verify(parser: ArgumentParser) -> None:
    """Declare the arguments of `verify`."""
    parser.describe(
        """
        Pipeline, Spark job and replica may be running. The command locks nothing, and writes
        nothing except the copies of --repair.

        Exit codes: 0 equal, or stopped (--forever), 4 different, 1 not finished: a server cannot be
        reached, or the pipeline, the mirror or the replica lags, 2 wrong configuration or
        arguments, or no table that can be compared, 3 the log cannot prove all of it, a server
        refuses, or the mirror does not have the cut.
        """,
        *_EXAMPLES,
    )
    parser.add_argument(
        "config",
        nargs="?",
        metavar="CONFIG|URL",
        help="TOML file; `binlog-connector config` explains the keys. With --table, the source: "
        "mysql://USER[:PASSWORD]@HOST[:PORT]. With --check, either of them checks the source.",
    )
    parser.add_argument(
        "tables",
        nargs="*",
        default=[],
        metavar="TABLE",
        help="With --mirror or --replica: shop.orders, or a pattern such as shop.* "
        "[default: all followed tables]",
    )
    _compared(parser)
    _foreign(parser)
    _outcome(parser)
    _part(parser)
    _certificate(parser)


def _compared(parser: ArgumentParser) -> None:
    """Declare what is compared with the tables of the source."""
    group = parser.add_argument_group("What is compared")
    group.add_argument(
        "--mirror",
        type=Path,
        metavar="FILE",
        help="Compare tables with their mirrors, row by row, and the mirrors with their Iceberg "
        "tables by metadata. FILE is the configuration of the Spark job, which has the path of the "
        "mirror and the choices for tables.",
    )
    group.add_argument(
        "--replica",
        type=Path,
        metavar="FILE",
        help="Compare tables with those of the replica, row by row. FILE is the configuration of "
        "`binlog-connector-mirror replica`, which is that of the Spark job.",
    )
    group.add_argument(
        "--topics",
        action="store_true",
        help="Compare the topics with the source's log, record by record.",
    )
    group.add_argument(
        "--from",
        dest="first",
        metavar="FILE:POS|GTIDS",
        help="With --topics: begin here, or after these transactions; by default at the oldest "
        "position that both the topics and the log have. A position is one in the newest server's "
        "log.",
    )
    group.add_argument(
        "--to",
        dest="until",
        metavar="FILE:POS|GTIDS",
        help="With --topics: end here, or with these transactions; by default at the newest "
        "progress.",
    )


def _foreign(parser: ArgumentParser) -> None:
    """Declare what is compared with tables that other programs have made."""
    group = parser.add_argument_group("Tables of other programs")
    group.add_argument(
        "--table",
        action="append",
        default=[],
        metavar="TABLE=TARGET",
        help="Compare a table of the source with a copy that any program has written, such as "
        "shop.orders=delta:/lake/orders, shop.orders=iceberg:/lake/orders, "
        "shop.orders=parquet:/lake/orders, shop.orders=mysql://user:password@db2/shop.orders or "
        "shop.orders=postgresql://user:password@db3/shop.public.orders. A pattern such as "
        "'shop.*=delta:/lake/{table}' names many. May be repeated.",
    )
    group.add_argument(
        "--tables",
        dest="file_of_tables",
        type=Path,
        metavar="FILE",
        help="The same for many tables, with choices for their columns: a TOML file, see "
        "docs/verify.md.",
    )
    group.add_argument(
        "--lag",
        type=decimal_number(0),
        default=60.0,
        metavar="SECONDS",
        help="With --table or --tables: how long a row may have a value that the source has "
        "replaced.",
    )
    group.add_argument(
        "--password-env",
        metavar="NAME",
        help="With --table, --tables or --check: the environment variable that holds the password "
        "of the source.",
    )


def _outcome(parser: ArgumentParser) -> None:
    """Declare the report, and what is done about differences."""
    group = parser.add_argument_group("Report and repair")
    group.add_argument("--json", action="store_true", help="Print one JSON report.")
    group.add_argument(
        "--repair",
        action="store_true",
        help="With --mirror or --replica: let the running pipeline copy the rows that differ, and "
        "compare them again. It deletes surplus rows by their keys; if that is impossible, it "
        "copies the whole table.",
    )
    group.add_argument(
        "--no-values",
        action="store_true",
        help="With --mirror, --replica or --table: print hashes instead of values, except for "
        "keys.",
    )
    group.add_argument(
        "--all",
        action="store_true",
        help="With --mirror, --replica or --table: print a line for each table. By default, with "
        "more than 20 tables, those that are equal or not compared are only counted.",
    )
    group.add_argument(
        "--forever",
        action="store_true",
        help="With --mirror, --replica or --table: compare all tables again and again until "
        "SIGTERM or Ctrl-C; [verify] has the settings, with --table in the file of --tables.",
    )


def _part(parser: ArgumentParser) -> None:
    """Declare which rows are compared, how fast, and how long."""
    group = parser.add_argument_group("Which rows, and how fast")
    group.add_argument(
        "--sample",
        type=decimal_number(0, 100),
        metavar="PERCENT",
        help="With --mirror or --replica: compare only this part of the key ranges, at random. "
        "[default: all rows]",
    )
    group.add_argument(
        "--seed",
        type=whole_number(0),
        metavar="N",
        help="With --sample: choose the same ranges as the run that printed this number. "
        "[default: a random number]",
    )
    group.add_argument(
        "--since",
        metavar="CUT",
        help="With --mirror: compare only keys that have changed since this cut, at the source or "
        "in the mirror. A cut is named by its number, a time, a position FILE:POS, or a GTID or a "
        "set of them; between two cuts, the earlier one is taken. [default: all rows]",
    )
    group.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="With --mirror or --replica: after an interruption, the same command with the same "
        "FILE resumes. FILE is deleted when everything was compared. With --mirror and --forever: "
        "FILE keeps through when each table is equal, across restarts. [default: none]",
    )
    group.add_argument(
        "--rows-per-second",
        type=whole_number(0),
        metavar="N",
        help="With --mirror, --replica, --table, or --check of the source: read at most N rows a "
        "second at the source; 0: no limit. [default: 0; verify.rows_per_second with --forever]",
    )
    group.add_argument(
        "--pace",
        choices=("adaptive", "full"),
        help="How fast the source is read, like snapshot.pace: adapted to its load, or over all "
        "connections. [default: snapshot.pace; adaptive with a URL]",
    )
    group.add_argument(
        "--max-differences",
        type=whole_number(1),
        default=1000,
        metavar="N",
        help="With --mirror, --replica or --table: stop comparing a table after N differences.",
    )
    group.add_argument(
        "--patience",
        type=decimal_number(0),
        default=60.0,
        metavar="SECONDS",
        help="With --mirror, --replica, --table, or --check of the source: how long to wait for a "
        "source or a target that is away, for the pipeline to catch up, and for a mirror or "
        "replica that lags and applies nothing.",
    )


def _certificate(parser: ArgumentParser) -> None:
    """Declare what makes and checks certificates."""
    group = parser.add_argument_group("Certificates")
    group.add_argument(
        "--certificate",
        type=Path,
        metavar="FILE",
        help="With --mirror: compare by checksums at the newest cut, and write to FILE the state "
        "of the source, the versions of the tables, the checksums by ranges of keys, and the SQL "
        "that computes them on each side. With --table and --tables, of Delta and Iceberg tables: "
        "each at the last moment at which the source had the rows of its newest version.",
    )
    group.add_argument(
        "--sign-key",
        type=Path,
        metavar="FILE",
        help="With --certificate: sign it with this Ed25519 private key, in PEM. "
        "[default: no signature]",
    )
    group.add_argument(
        "--check",
        type=Path,
        metavar="FILE",
        help="Compute the checksums of a certificate again: from the versions of the tables that "
        "it names, or from the source if CONFIG or URL is given.",
    )
    group.add_argument(
        "--public-key",
        type=Path,
        metavar="FILE",
        help="With --check: the certificate must be signed with this key, in PEM. "
        "[default: any valid signature is accepted]",
    )
