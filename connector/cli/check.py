"""Finds the problems that a run would meet at its start, with the code of a run; changes nothing.

Kafka is checked first, as in a run, because it holds the position of the stream. For a source
server, each needed setting and grant is shown with the statement that fixes it. For changes that
would not arrive as rows, there is a paragraph for each rule, with at most a few lines.

Keys of the newest records are compared with the form that the settings choose. A run does not ask
this: consumers may be ready for two forms. A topic may have keys of another form if
`envelope.key_format` was changed, or if another program wrote them, such as Debezium.
"""

from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from rich.console import Console
from rich.table import Table
from rich.text import Text

from connector.binlog.table_filter import TableFilter, has_wildcard
from connector.cli import command_errors, exit_codes
from connector.cli.configuration import configure_logging, loaded
from connector.foundation import errors
from connector.foundation.errors.message import Message, visible
from connector.foundation.formatting import amount
from connector.foundation.record_formats import key_form
from connector.foundation.settings.configuration import in_lower_case
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.replication.server.addresses import address_of, candidates
from connector.replication.server.identity import version_of
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.envelope.options import TopicClaims
from connector.stream.progress.progress_record import Progress
from connector.stream.quarantine.fences import decode_fences
from connector.stream.quarantine.guard import STOP
from connector.stream.sink.checks import NewestKey, check_limits, inspect, newest_keys
from connector.stream.sink.recovery import RecoveredState, require_position
from connector.stream.sink.registered_formats import open_registry
from connector.stream.snapshot import copy_errors
from connector.stream.snapshot.copy_commands import signal_rows
from connector.stream.snapshot.copy_recovery import copy_states
from connector.stream.source import followed_tables
from connector.stream.source.findings import Finding, RowLoggingGap, Severity, global_privileges
from connector.stream.source.record_options import debezium_form, require_same_profile, table_topics
from connector.stream.source.row_logging import not_seen, row_gaps
from connector.stream.source.server_selection import check_server, check_setup, choose_source


def run(arguments: Namespace) -> int:
    """Check Kafka and the source, and say whether `run` would start.

    Raises the worst problem after the others are told.
    """
    settings = loaded(arguments.config)
    configure_logging(settings.log, command="check", pipeline=settings.name)
    console = Console()
    problems, unmatched = check_pipeline(settings, console, exit_codes.errors())
    if problems:
        console.print("not ready", style="bold red")
        exit_codes.tell_all(problems)
    console.print("ready", style="bold green", end="" if unmatched else "\n")
    if unmatched:
        text = f", but source.tables matches no table by {visible(', '.join(unmatched))}"
        console.print(text, style="yellow", markup=False, highlight=False, soft_wrap=True)
    return 0


# All topics of a pipeline mostly have one form, and each takes a few milliseconds.
_TOPICS_MAX: Final = 100


def other_key_forms(
    settings: Settings, tables: Sequence[followed_tables.BaseTable]
) -> Iterator[Message]:
    """Yield what is to be said of each topic of `tables` with keys of another form.

    Raises SinkUnavailable or SinkRefused.
    """
    topics = table_topics(settings)
    followed: dict[str, str] = {}  # a table of each topic
    for table in tables:
        name = f"{table.database}.{table.name}"
        followed.setdefault(topics.of(table.database, table.name), name)
    wanted = "json" if settings.envelope.of_debezium is None else settings.envelope.key_format
    for newest in newest_keys(settings.kafka, followed, _TOPICS_MAX):
        found = key_form(newest.key)
        if found != wanted:
            yield _message(followed[newest.topic], newest, found, wanted)


def _message(table: str, newest: NewestKey, found: str | None, wanted: str) -> Message:
    facts = {
        "table": table,
        "topic": newest.topic,
        "record": newest.record,
        "wanted": wanted,
    }
    if found is None:
        return Message(command_errors.OTHER_KEY, facts)
    return Message(command_errors.KEY_FORM, facts | {"found": found})


_SHOWN_MAX: Final = 5
_TITLE: Final = "Changes of followed tables that would not arrive as whole rows:"
_NOTHING: Final = (
    "Nothing was found that keeps changes of followed tables from arriving as whole rows."
)


def show_row_gaps(console: Console, gaps: Sequence[RowLoggingGap], not_seen: Message) -> None:
    """Show each gap, and what cannot be seen."""
    _print_text(console, Text(_TITLE if any(gap.rule for gap in gaps) else _NOTHING, style="bold"))
    for gap in gaps:
        count = len(gap.places)
        rule = Text(f"{gap.rule}: " if gap.rule else "", style="bold yellow")
        _print_text(console, rule + Text(f"[{gap.problem.shown_code}] {gap.problem.what}"))
        shown = [(visible(name), visible(detail)) for name, detail in gap.places[:_SHOWN_MAX]]
        width = max((len(name) for name, _ in shown), default=0)
        for name, detail in shown:
            _print_text(console, Text(f"  {name:<{width}}  {detail}".rstrip()))
        if count > len(shown):
            _print_text(console, Text(f"  {count - len(shown):,} more of {count:,}"))
        if gap.problem.fix:
            _print_text(console, Text(f"  {gap.problem.fix}", style="green"))
    _print_text(console, Text(f"[{not_seen.shown_code}] {not_seen.text}", style="dim"))


def _print_text(console: Console, text: Text) -> None:
    console.print(text, soft_wrap=True)


_Answer = TypeVar("_Answer")

_MARKS = {
    Severity.ERROR: Text("missing", style="bold red"),
    Severity.WARNING: Text("advice", style="yellow"),
}
_GOOD = Text("ok", style="green")
# An account with one of these sees every table.
_SHOW_ALL = frozenset({"SELECT", "ALL PRIVILEGES"})


def check_pipeline(
    settings: Settings, console: Console, waiting: Console
) -> tuple[list[errors.ConnectorError], list[str]]:
    """Return the problems that would end or delay a run at its start; the worst is the last.

    After them, the patterns of `source.tables` that match no table: a run begins without these.

    `console` shows the findings, `waiting` the current question. Raises ConfigError.
    """
    # Raises for a filter that cannot be evaluated.
    debezium_form(settings.envelope)
    # Raises for a table of signals that is not followed.
    signal_rows(settings, TableFilter(settings.source.tables, settings.source.exclude_tables))
    check = _Check(settings, console, waiting)
    if settings.snapshot.to == "mirror":
        check.tell_of_load()
    recovered = check.kafka()
    check.registry()
    if recovered is None:
        check.servers()
    else:
        check.source(recovered.progress)
        check.topics()
        check.keys()
        check.states(recovered)
    problems = sorted(
        check.problems, key=lambda error: not isinstance(error, errors.TransientError)
    )
    return problems, check.unmatched


def check_sources(
    settings: Settings, console: Console, waiting: Console
) -> list[errors.ConnectorError]:
    """Return the problems that a first run would meet at the source; as `check_pipeline`."""
    check = _Check(settings, console, waiting)
    check.servers()
    return check.problems


class _Check:
    """The checks in the order of a run; each failed check adds a problem."""

    def __init__(self, settings: Settings, console: Console, waiting: Console) -> None:
        self.problems: list[errors.ConnectorError] = []
        self._settings = settings
        self._console = console
        self._waiting = waiting
        # The followed ones of the first source that was shown.
        self._tables: list[followed_tables.BaseTable] = []
        self.unmatched: list[str] = []

    def kafka(self) -> RecoveredState | None:
        """Return the progress of earlier runs; None if it is not known."""
        kafka, name = self._settings.kafka, self._settings.name
        servers = ",".join(kafka.bootstrap_servers)

        def ask() -> RecoveredState:
            check_limits(kafka)
            self._tell(f"reading from Kafka what pipeline {name} has committed")
            found = inspect(kafka, name)
            require_position(kafka, name, found)
            return found

        recovered = self._asked(f"asking Kafka {servers} what it takes", ask)
        if recovered is not None:
            last = recovered.progress
            stands = "begins"
            if last is not None:
                stands = f"goes on at {visible(last.file)}:{last.position}"
            self._print(f"Kafka {servers}: pipeline {name} {stands}")
        return recovered

    def tell_of_load(self) -> None:
        """Say what consumers get of tables whose first rows no topic has."""
        self._print(str(Message(copy_errors.NOT_IN_TOPICS, {})), style="yellow")

    def registry(self) -> None:
        """Ask the schema registry, if records need one, whether it answers and lets us in."""
        registry = open_registry(self._settings)
        if registry is None:
            return
        urls = ", ".join(self._settings.registry.urls)
        url = self._asked(f"asking schema registry {urls}", registry.check)
        if url is not None:
            self._print(f"Schema registry {url}: answers")

    def source(self, last: Progress | None) -> None:
        """Check whether one of the servers can continue after `last`, and show them all."""
        servers = candidates(self._settings.source, last.source if last is not None else "")
        addresses = [address_of(server) for server in servers]
        chosen = self._asked(
            f"asking source {', '.join(addresses)}",
            lambda: choose_source(self._settings.source, last, show=self._show),
        )
        if chosen is None:
            return
        # A run uses the first suitable server and does not ask the others.
        for server in servers[addresses.index(chosen.address) + 1 :]:
            self._tell(f"asking source {address_of(server)}")
            try:
                check_server(server, last, self._show)
            except errors.ConfigError:
                raise
            except errors.ConnectorError as error:
                self._print(str(error), style="yellow")

    def servers(self) -> None:
        """Show the servers, without checking whether they have the next events."""
        for server in candidates(self._settings.source):
            self._asked(
                f"asking source {address_of(server)}", partial(self._look_at_server, server)
            )

    def topics(self) -> None:
        """Show tables that cannot have a topic beside the others; a run may end because of them."""
        claims = TopicClaims(table_topics(self._settings))
        ends = self._settings.quarantine.policy == STOP
        for table in self._tables:
            try:
                claims.of(table.database, table.name)
            except errors.UnsupportedChange as error:
                if ends:
                    self.problems.append(error)
                else:
                    self._print(str(error), style="yellow")

    def keys(self) -> None:
        """Show topics with keys of another form; no problem of a run comes from it."""
        if not self._tables:
            return
        self._tell("looking at the newest keys of the topics")
        try:
            for message in other_key_forms(self._settings, self._tables):
                self._print(str(message), style="yellow")
        except (errors.SinkRefused, errors.SinkUnavailable) as error:
            self._print(str(error), style="yellow")

    def states(self, recovered: RecoveredState) -> None:
        """Check whether the recovered state can be read, and fits to the settings."""
        settings = self._settings

        def read() -> None:
            require_same_profile(settings, recovered.schemas)
            copy_states(settings, recovered.snapshots)
            decode_fences(settings.kafka.topic_prefix, settings.name, recovered.fences)

        self._asked("reading the states of copies and fences", read)

    def _look_at_server(self, settings: SourceSettings) -> None:
        with MysqlServer.connect(settings) as server:
            check_setup(server, settings, Severity.ERROR, self._show)

    def _asked(self, what: str, ask: Callable[[], _Answer]) -> _Answer | None:
        """Show the current step and run it; if it raises, keep the error and return None."""
        self._tell(what)
        try:
            return ask()
        except errors.ConfigError:
            raise
        except errors.ConnectorError as error:
            self.problems.append(error)
            return None

    def _tell(self, what: str) -> None:
        self._waiting.print(f"{what} …", markup=False, style="dim")

    def _show(self, server: MysqlServer, settings: SourceSettings, found: list[Finding]) -> None:
        """Show the findings of one server."""
        tables = followed_tables.base_tables(server)
        followed = followed_tables.followed_table_filter(server, settings)
        self._tables = self._tables or [
            table for table in tables if followed.follows(table.database, table.name)
        ]
        if followed_tables.ignores_case(server):
            self._settings = in_lower_case(self._settings)
        counts = list(table_counts(server, settings, tables))
        self.unmatched = self.unmatched or [each.pattern for each in counts if not each.tables]
        findings = [*found, *([each.finding for each in counts] or [_not_compared()])]
        identity = server.identity
        on = "" if server.cloud is None else f" on {server.cloud.value}"
        version = visible(identity.version)
        self._print(f"Source {address_of(settings)}: {identity.flavour} {version}{on}")
        self._console.print(_table(findings))
        for finding in findings:
            # The error says what is missing.
            if not finding.ok and finding.severity is Severity.WARNING:
                self._console.print(Text(f"{visible(finding.name)}:", "bold"), end=" ")
                self._print(finding.problem.fix)
        self._show_row_gaps(settings, tables)

    def _show_row_gaps(
        self, settings: SourceSettings, tables: list[followed_tables.BaseTable]
    ) -> None:
        """Show what would not arrive as rows, over a session of its own: a run does not ask this.

        So no problem of a run comes from it, not even if the server takes too long to answer.
        """
        self._tell("looking for changes that would not arrive as rows")
        copies = self._settings.schema.on_cascade == "copy"
        try:
            with MysqlServer.connect(settings) as server:
                gaps = list(row_gaps(server, settings, tables, copies=copies))
                rights = not_seen(version_of(server.identity))
        except (errors.SourceRefused, errors.SourceUnavailable) as error:
            self._print(str(error), style="yellow")
        else:
            show_row_gaps(self._console, gaps, rights)

    def _print(self, text: str, style: str | None = None) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True, style=style)


class TableCount(NamedTuple):
    """How many tables a pattern matches."""

    pattern: str
    tables: int

    @property
    def finding(self) -> Finding:
        """The finding: a pattern without a match may be a typing error."""
        value = f"{self.pattern}: {amount(self.tables, 'table')}"
        problem = Message(command_errors.NO_TABLE, {"value": value, "pattern": self.pattern})
        is_good, severity = self.tables > 0, Severity.WARNING
        return Finding("source.tables", value, "a table", is_good, problem, severity)


def table_counts(
    server: MysqlServer, settings: SourceSettings, tables: list[followed_tables.BaseTable]
) -> Iterator[TableCount]:
    """Yield the number of tables for each pattern; none at all if the account sees no table.

    Without rights on tables, it can still follow them.
    """
    if followed_tables.sees_no_tables(tables) and not global_privileges(server) & _SHOW_ALL:
        return
    is_lower = followed_tables.ignores_case(server)
    # Thousands of tables may be named one by one: each is compared with tables of its name.
    by_name: dict[str, list[followed_tables.BaseTable]] = {}
    for table in tables:
        name = f"{table.database}.{table.name}"
        by_name.setdefault(name.lower() if is_lower else name, []).append(table)
    for pattern in settings.tables:
        wanted = TableFilter([pattern], settings.exclude_tables, ignores_case=is_lower)
        name = pattern.lower() if is_lower else pattern
        likely = tables if has_wildcard(pattern) else by_name.get(name, [])
        count = sum(wanted.follows(table.database, table.name) for table in likely)
        yield TableCount(pattern, count)


def _not_compared() -> Finding:
    """Return the finding for an account that sees no table that a pattern might match."""
    value = "not compared: the account sees no table"
    problem = Message(command_errors.NO_TABLE_SEEN, {"value": value})
    return Finding("source.tables", value, "a table", False, problem, Severity.WARNING)


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("setting or grant", no_wrap=True)
    for title in ("value", "wanted", ""):
        table.add_column(title, overflow="fold")
    for finding in findings:
        mark = _GOOD if finding.ok else _MARKS[finding.severity]
        texts = (finding.name, finding.value, finding.wanted)
        table.add_row(*(Text(visible(text)) for text in texts), mark)
    return table
