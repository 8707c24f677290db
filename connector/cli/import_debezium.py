"""`import-debezium`: the configuration of a pipeline that follows one of Debezium's connectors."""

import os
import stat
import sys
import tomllib
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from connector.cli import command_errors
from connector.cli.configuration import configure_logging
from connector.cli.exit_codes import warn
from connector.foundation.errors import ConfigError
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.migration import kafka_connect
from connector.stream.migration.client_position import start_after
from connector.stream.migration.conversion import convert
from connector.stream.migration.draft import Draft
from connector.stream.source.server_selection import check_server

_OWN: Final = 0o600


def run(arguments: Namespace) -> int:
    """Write the configuration, and warn of what has no counterpart in it."""
    output: Path | None = arguments.output
    file = kafka_connect.read_connector(arguments.connector)
    if arguments.worker is not None:
        file = kafka_connect.with_worker(file, kafka_connect.read_worker(arguments.worker))
    converted = partial(
        _converted, file, output, arguments.bootstrap_servers, secrets=arguments.secrets
    )
    if arguments.offsets is None:
        draft, _ = converted(start="")
    else:
        # With offsets, the connector's own start does not matter, so it needs no counterpart.
        _, settings = converted(start="earliest")
        draft, _ = converted(start=_start(file, settings, arguments.offsets))
    for warning in draft.warnings:
        warn(str(warning))
    if output is None:
        sys.stdout.write(draft.text())
    else:
        _write(output, draft.text())
    return 0


def _write(output: Path, text: str) -> None:
    """Write the configuration, which may have passwords, so that no other user may read it.

    Raises ConfigError if that fails.
    """
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _OWN)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                # A file that was there before has a mode of its own.
                os.fchmod(descriptor, _OWN)
            file.write(text)
    except OSError as error:
        raise ConfigError(command_errors.OUTPUT, path=output, why=error.strerror) from error


def _converted(
    file: kafka_connect.ConnectorFile,
    output: Path | None,
    bootstrap_servers: str,
    *,
    secrets: bool,
    start: str,
) -> tuple[Draft, Settings]:
    """Return the configuration, and what `run` would read in it."""
    draft = convert(file, bootstrap_servers=bootstrap_servers, secrets=secrets, start=start)
    return draft, Settings.of(tomllib.loads(draft.text()), output or Path("the configuration"))


def _with_password(source: SourceSettings, file: kafka_connect.ConnectorFile) -> SourceSettings:
    """Log in as the connector does, unless the environment has a password."""
    given = source.password.get_secret_value() or source.password_file or source.password_command
    password = file.properties.get("database.password", "")
    if given or "${" in password:
        return source
    return source.model_copy(update={"password": SecretStr(password)})


def _start(file: kafka_connect.ConnectorFile, settings: Settings, offsets: str) -> str:
    """Return the `source.start` of the connector's offset; the source has everything after it."""
    path = Path(offsets)
    read = (
        kafka_connect.file_offset(path, file)
        if path.exists() or "/" in offsets
        else kafka_connect.topic_offset(settings.kafka, offsets, file)
    )
    # What the checks say must not be in the configuration that is printed.
    configure_logging(settings.log)
    source = _with_password(settings.source, file)
    with MysqlServer.connect(source) as server:
        start = start_after(server, read)
    check_server(source.model_copy(update={"start": start}), None)
    return start
