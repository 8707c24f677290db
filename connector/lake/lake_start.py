"""Starts a lake, for `up` and for notebooks: what is wrong is said before anything is written.

An existing lake is not checked like a new one: its connector does that at each start.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.foundation.settings import settings_errors
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.credentials import PASSWORDS
from connector.foundation.settings.file_settings import UnfitValueError
from connector.foundation.settings.sections import Settings, SourceSettings
from connector.foundation.settings.values import as_table_pattern
from connector.lake import lake_errors
from connector.lake.lake_folder import LakeFolder, LakeOptions, with_whole_paths
from connector.replication.server.addresses import address_of, source_settings, split_path
from connector.replication.server.identity import version_of
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.followed_tables import base_tables, followed_table_filter
from connector.stream.source.row_image_gaps import key_gaps

if TYPE_CHECKING:
    from connector.lake.lake_pipeline import LakePipeline


def options_of(
    url: str,
    password: str | None,
    tables: Sequence[str],
    *,
    iceberg: bool,
    listen: str | None = None,
) -> LakeOptions:
    """Return the choices for a new lake; `password` replaces that of `url`.

    Without patterns of `tables`, those of the database in `url`. Raises ConfigError for a URL or a
    pattern with a mistake; its text never contains the password.
    """
    server, database = split_path(url)
    source = with_whole_paths(source_settings(server, password=password))
    for pattern in tables:
        try:
            as_table_pattern(pattern)
        except UnfitValueError as error:
            raise ConfigError(error.message.code, **error.message.facts) from error
    patterns = tables or [f"{database}.*" if database else "*.*"]
    return LakeOptions(source, patterns, ["delta", "iceberg"] if iceberg else ["delta"], listen)


def lake_of(path: Path, options: LakeOptions | None) -> LakeFolder:
    """Return the lake in the folder `path`, which may not exist yet.

    Raises ConfigError without the packages of the mirror, and without `options` for a new lake.
    """
    if find_spec("pyspark") is None:
        raise ConfigError(lake_errors.EXTRA, said="No module named 'pyspark'")
    folder = LakeFolder(path)
    if options is None and not folder.is_lake:
        raise ConfigError(lake_errors.NO_SOURCE, folder=path)
    return folder


@contextmanager
def running(
    folder: LakeFolder,
    options: LakeOptions | None,
    check: Callable[[SourceSettings], None],
    tell: Callable[[Message], None],
) -> Iterator[LakePipeline]:
    """Run the two programs of a lake until the block ends; a new lake gets its files first.

    For a new lake, `check` raises what keeps the source from being followed, and `tell` gets what
    the user has to decide. Raises ConfigError for a lake that was made with other options or in
    another folder, that another process keeps, or that has no password, for a new one on a network
    file system, and for tables that the source does not have; SourceRefused if a new password of an
    existing lake is wrong.
    """
    from connector.lake import lake_pipeline  # noqa: PLC0415  # an extra

    if options is not None:
        options = _with_login_of_environment(folder, options, lake_pipeline.new_settings)
    if options is not None and not folder.is_lake:
        folder.require_local_disk()
        check(options.followed)
        _look_at_tables(folder, options.followed, tell)
    folder.lock()
    try:
        if folder.is_lake:
            folder.require_own_path()
            if options is not None:
                folder.require(options)
                if options.keeps_password:
                    _take_password(folder, options.source)
            _require_password(folder)
        elif options is not None:
            folder.write(options)
        with lake_pipeline.LakePipeline(folder) as pipeline:
            yield pipeline
    finally:
        folder.unlock()


def _with_login_of_environment(
    folder: LakeFolder,
    options: LakeOptions,
    new_settings: Callable[[LakeFolder, LakeOptions], Settings],
) -> LakeOptions:
    """Return options with the login that the environment gives both programs, if there is one.

    Raises ConfigError if the programs would refuse the files of the lake, or if the URL has another
    password.
    """
    settings = None if folder.is_lake else new_settings(folder, options)
    given = login_in_environment()
    if not given:
        return options
    used = (settings or load_settings(folder.connector_config)).source
    login = {name: getattr(used, name) for name in PASSWORDS}
    source = options.source.model_copy(update=login)
    own = options.source.read_password()
    if own and own != source.read_password():
        variables = [Settings.variable(f"source.{name}") for name in given]
        raise ConfigError(settings_errors.OTHER_PASSWORD, variables=variables)
    return replace(options, source=source, keeps_password=False)


def login_in_environment() -> list[str]:
    """Return the keys of `[source]` by which the environment gives a password."""
    return sorted(Settings.given_in_environment("source").intersection(PASSWORDS))


def _require_password(folder: LakeFolder) -> None:
    """Raise ConfigError if the lake has kept no password, and nothing else gives one."""
    source = load_settings(folder.connector_config).source
    if source.password_file == folder.password and folder.read_password() is None:
        raise ConfigError(
            lake_errors.NO_PASSWORD,
            folder=folder.path,
            variable=Settings.variable("source.password"),
            url=f"mysql://{source.user}@{source.host}:{source.port}",
        )


def _look_at_tables(
    folder: LakeFolder, source: SourceSettings, tell: Callable[[Message], None]
) -> None:
    """Raise ConfigError if no table is followed; tell which ones cannot be in the lake."""
    with MysqlServer.connect(source) as server:
        wanted = followed_table_filter(server, source)
        followed = [one for one in base_tables(server) if wanted.follows(one.database, one.name)]
        gaps = list(key_gaps(server, version_of(server.identity), followed))
    if not followed:
        address = address_of(source)
        raise ConfigError(lake_errors.NO_MATCH, source=address, patterns=source.tables)
    for gap in gaps:
        facts = {
            "job": folder.job_config,
            "connector": folder.connector_config,
            "tables": [name for name, _ in gap.places],
        }
        tell(Message(lake_errors.KEYLESS, facts))


def _take_password(folder: LakeFolder, source: SourceSettings) -> None:
    """Keep the password of `source` if it is a new one that the server takes."""
    password = source.read_password()
    if password and password != folder.read_password():
        # The server gets it as from the connector, whose file may ask for a certificate.
        used = load_settings(folder.connector_config).source
        new: dict[str, object] = {
            "password": SecretStr(password),
            "password_file": None,
            "password_command": [],
        }
        MysqlServer.connect(used.model_copy(update=new)).close()
        folder.write_password(password)
