"""`import-debezium`: the configuration of a pipeline that follows one of Debezium's connectors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from connector.cli.daemon import exit_code_of
from connector.cli.exit_codes import warn

if TYPE_CHECKING:
    from connector.foundation.settings.sections import Settings, SourceSettings
    from connector.stream.migration.connect_files import ConnectorFile
    from connector.stream.migration.draft import Draft


def import_debezium(
    connector: Annotated[
        Path,
        typer.Argument(
            metavar="CONNECTOR.json",
            help="What GET /connectors/NAME of Kafka Connect answers, or the properties alone.",
        ),
    ],
    offsets: Annotated[
        str | None,
        typer.Option(
            metavar="TOPIC|FILE",
            help="Go on where the connector stopped: the topic of offset.storage.topic, or a file "
            "with the answer of GET /connectors/NAME/offsets. Without it, the tables are copied as "
            "snapshot.mode says.",
        ),
    ] = None,
    worker: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The properties of Connect's worker, such as connect-distributed.properties: the "
            "converters, brokers and login of connectors that do not name their own.",
        ),
    ] = None,
    bootstrap_servers: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT,…",
            help="Kafka; by default the brokers of the worker, or of the schema history.",
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Write there; by default, print."),
    ] = None,
    secrets: Annotated[bool, typer.Option("--secrets", help="Copy passwords, too.")] = False,
) -> None:
    """Write a configuration from the JSON of a Debezium connector for MySQL or MariaDB.

    A comment tells what became of each property. Warnings name what has no counterpart. With
    --offsets, the position is looked up on the source, which must be reachable; stop the connector
    first. Exit codes: 0 written, 1 a server cannot be reached, 2 the connector cannot be imported,
    3 the source cannot be followed from there.
    """

    def write() -> None:
        from connector.stream.migration.connect_files import (  # noqa: PLC0415
            read_connector,  # --help
            read_worker,
            with_worker,
        )

        file = read_connector(connector)
        if worker is not None:
            file = with_worker(file, read_worker(worker))
        # With offsets, the connector's own start does not matter, so it needs no counterpart.
        start = "" if offsets is None else "earliest"
        draft, settings = _converted(file, output, bootstrap_servers, secrets=secrets, start=start)
        if offsets is not None:
            start = _start(file, settings, offsets)
            draft, _ = _converted(file, output, bootstrap_servers, secrets=secrets, start=start)
        for warning in draft.warnings:
            warn(str(warning))
        if output is None:
            typer.echo(draft.text(), nl=False)
        else:
            output.touch(mode=0o600)
            output.write_text(draft.text(), encoding="utf-8")

    exit_code_of(write)


def _converted(
    file: ConnectorFile,
    output: Path | None,
    bootstrap_servers: str,
    *,
    secrets: bool,
    start: str = "",
) -> tuple[Draft, Settings]:
    """Return the configuration, and what `run` would read in it."""
    import tomllib  # noqa: PLC0415  # keeps --help fast

    from connector.foundation.settings.sections import Settings  # noqa: PLC0415  # keeps --help fast
    from connector.stream.migration.conversion import convert  # noqa: PLC0415  # keeps --help fast

    draft = convert(file, bootstrap_servers=bootstrap_servers, secrets=secrets, start=start)
    return draft, Settings.of(tomllib.loads(draft.text()), output or Path("the configuration"))


def _with_password(source: SourceSettings, file: ConnectorFile) -> SourceSettings:
    """Log in as the connector does, unless the environment has a password."""
    from pydantic import SecretStr  # noqa: PLC0415  # keeps --help fast

    given = source.password.get_secret_value() or source.password_file or source.password_command
    password = file.properties.get("database.password", "")
    if given or "${" in password:
        return source
    return source.model_copy(update={"password": SecretStr(password)})


def _start(file: ConnectorFile, settings: Settings, offsets: str) -> str:
    """Return the `source.start` of the connector's offset; the source has everything after it."""
    from connector.cli.daemon_log import configure_logging  # noqa: PLC0415  # keeps --help fast
    from connector.replication.server.mysql_server import MysqlServer  # noqa: PLC0415  # --help
    from connector.stream.migration.client_position import start_after  # noqa: PLC0415  # keeps --help fast
    from connector.stream.migration.offsets import (  # noqa: PLC0415
        file_offset,  # keeps --help fast
        topic_offset,  # keeps --help fast
    )
    from connector.stream.source.server_selection import check_server  # noqa: PLC0415  # keeps --help fast

    path = Path(offsets)
    read = (
        file_offset(path, file)
        if path.exists() or "/" in offsets
        else topic_offset(settings.kafka, offsets, file)
    )
    # What the checks say must not be in the configuration that is printed.
    configure_logging(settings.log)
    source = _with_password(settings.source, file)
    with MysqlServer.connect(source) as server:
        start = start_after(server, read)
    check_server(source.model_copy(update={"start": start}), None)
    return start
