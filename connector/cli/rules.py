"""`rules`: how a server would log a statement, and by which rule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.daemon import exit_code_of, loaded
from connector.foundation.errors.visible import visible, visible_lines

if TYPE_CHECKING:
    from connector.foundation.settings.sections import SourceSettings
    from connector.rules.logging_format import Decision
    from connector.rules.procedure_calls import UnrolledCall
    from connector.rules.server import ServerVersion, SessionState
    from connector.stream.source.select_session import SelectSession


def rules(
    source: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG|URL", help="A TOML file, or mysql://USER[:PASSWORD]@HOST[:PORT]."
        ),
    ],
    statements: Annotated[
        list[str], typer.Argument(metavar="SQL...", help="Statements, each in quotes.")
    ],
    database: Annotated[
        str, typer.Option("--database", "-D", help="The database of names that have none.")
    ] = "",
) -> None:
    """Say how the source would log a statement, and by which rule; nothing is executed.

    Each statement is taken as the first one of its session, and a CALL as the statements that it
    may run. docs/logging-rules.md explains the
    rules. Exit codes: 0 said, 1 transient: the source cannot be reached, 2 wrong arguments, or a
    statement that is not understood, 3 an error that a restart cannot fix.
    """

    def say() -> None:
        from connector.stream.source.select_session import SelectSession  # noqa: PLC0415

        with SelectSession(_settings(source)) as session:
            for statement in statements:
                _say(session, database, statement)

    exit_code_of(say)


def _settings(source: str) -> SourceSettings:
    if "://" in source:
        from connector.replication.server.addresses import source_settings  # noqa: PLC0415

        return source_settings(source)
    return loaded(Path(source)).source


def _say(session: SelectSession, database: str, statement: str) -> None:
    from connector.stream.source.statement_tables import StatementTables, unrolled  # noqa: PLC0415

    tables = StatementTables(session, database)
    whole = unrolled(statement, tables)
    state = _state(session)
    typer.echo(visible_lines(statement))
    if not whole.called:
        _say_formats(whole, 0, state, tables.server, "")
        return
    if not whole.statements:
        typer.echo("  nothing of it is logged")
    for at, each in enumerate(whole.statements):
        text = visible(" ".join(each.text.split()))
        typer.echo(f"  {'once' if whole.in_order else 'perhaps'}: {text}")
        _say_formats(whole, at, state, tables.server, "  ")


def _say_formats(
    unrolled: UnrolledCall, at: int, state: SessionState, server: ServerVersion, margin: str
) -> None:
    """Say how one of the statements is logged in each format."""
    from dataclasses import replace  # noqa: PLC0415  # keeps --help fast

    from connector.rules.procedure_calls import possible_decisions  # noqa: PLC0415
    from connector.rules.server import BinlogFormat  # noqa: PLC0415

    for binlog_format in BinlogFormat:
        before = replace(state, binlog_format=binlog_format)
        decisions = possible_decisions(unrolled, before, server)[at]
        mark = "*" if binlog_format is state.binlog_format else " "
        for number, decision in enumerate(decisions):
            head = f"{mark} {binlog_format.value}" if number == 0 else "  or"
            typer.echo(f"{margin}{head:<12} {_shown(decision)}")
            for reason in sorted(each.value for each in decision.reasons):
                typer.echo(f"{margin}               {reason}")


def _shown(decision: Decision) -> str:
    if decision.refusal is not None:
        return f"refused    {decision.refusal.name} ({decision.refusal.number})"
    return f"{decision.logged_as.value:<10} {decision.rule}"


def _state(session: SelectSession) -> SessionState:
    """Return the settings with which a new session starts."""
    from connector.rules.server import BinlogFormat, Isolation, SessionState  # noqa: PLC0415

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
