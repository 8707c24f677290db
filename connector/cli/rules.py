"""`rules`: how a server would log a statement, and by which rule."""

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

from connector.cli.configuration import loaded
from connector.cli.exit_codes import say
from connector.foundation.errors.message import visible, visible_lines
from connector.foundation.server_version import ServerVersion
from connector.foundation.settings.sections import SourceSettings
from connector.replication.server.addresses import source_settings
from connector.rules.logging_format import Decision
from connector.rules.procedure_calls import UnrolledCall, possible_decisions
from connector.rules.server import BinlogFormat, Isolation, SessionState
from connector.stream.source.select_session import SelectSession
from connector.stream.source.statement_tables import StatementTables, unrolled


def run(arguments: Namespace) -> int:
    """Say how the source would log each statement; nothing is executed."""
    with SelectSession(_settings(arguments.source)) as session:
        for statement in arguments.statements:
            _say(session, arguments.database, statement)
    return 0


def _settings(source: str) -> SourceSettings:
    if "://" in source:
        return source_settings(source)
    return loaded(Path(source)).source


def _say(session: SelectSession, database: str, statement: str) -> None:
    tables = StatementTables(session, database)
    whole = unrolled(statement, tables)
    state = _state(session)
    say(visible_lines(statement))
    if not whole.called:
        _say_formats(whole, 0, state, tables.server, "")
        return
    if not whole.statements:
        say("  nothing of it is logged")
    for at, each in enumerate(whole.statements):
        text = visible(" ".join(each.text.split()))
        say(f"  {'once' if whole.in_order else 'perhaps'}: {text}")
        _say_formats(whole, at, state, tables.server, "  ")


def _say_formats(
    call: UnrolledCall, at: int, state: SessionState, server: ServerVersion, margin: str
) -> None:
    """Say how one of the statements is logged in each format."""
    for binlog_format in BinlogFormat:
        before = replace(state, binlog_format=binlog_format)
        decisions = possible_decisions(call, before, server)[at]
        mark = "*" if binlog_format is state.binlog_format else " "
        for number, decision in enumerate(decisions):
            head = f"{mark} {binlog_format.value}" if number == 0 else "  or"
            say(f"{margin}{head:<12} {_shown(decision)}")
            for reason in sorted(each.value for each in decision.reasons):
                say(f"{margin}               {reason}")


def _shown(decision: Decision) -> str:
    if decision.refusal is not None:
        return f"refused    {decision.refusal.name} ({decision.refusal.number})"
    return f"{decision.logged_as.value:<10} {decision.rule}"


def _state(session: SelectSession) -> SessionState:
    """Return the settings with which a new session starts."""
    names = ("binlog_format", "transaction_isolation", "tx_isolation", "enforce_gtid_consistency")
    listed = ", ".join(f"'{name}'" for name in names)
    rows = session.query(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({listed})")
    values = {row["Variable_name"]: row["Value"] or "" for row in rows}
    level = values.get("transaction_isolation") or values["tx_isolation"]
    return SessionState(
        BinlogFormat(values.get("binlog_format", "ROW")),
        Isolation[level.replace("-", "_")],
        enforce_gtid_consistency=values.get("enforce_gtid_consistency", "OFF") == "ON",
    )
