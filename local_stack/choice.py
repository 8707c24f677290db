"""The user's choice of the source becomes a server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from connector.errors import LocalStackError, local_stack
from local_stack.external import ExternalServer, parse_address
from local_stack.mariadb import MariadbServer
from local_stack.mysql import MysqlServer

if TYPE_CHECKING:
    from pathlib import Path

    from local_stack.container import MysqlContainer
    from local_stack.endpoint import Server

Product = Literal["mysql", "mariadb"]


@dataclass(frozen=True, slots=True)
class SourceChoice:
    """The source: a private server, unless one of the last three fields is given."""

    product: Product = "mysql"
    executable: Path | None = None  # a mysqld that the user has installed
    address: str | None = None  # [USER[:PASSWORD]@]HOST[:PORT] of a server that the user runs
    container: bool = False


def source_server(choice: SourceChoice, directory: Path) -> Server:
    """Return the chosen server, not started yet; a private one keeps its files in `directory`.

    Raises LocalStackError for a contradictory choice, or a server that is not available here.
    """
    given = [choice.executable is not None, choice.address is not None, choice.container]
    if sum(given) > 1:
        raise LocalStackError(local_stack.CHOICES)
    if choice.executable is not None:
        if choice.product != "mysql":
            raise LocalStackError(local_stack.MYSQLD_ALONE, product=choice.product)
        return MysqlServer(directory, executable=choice.executable)
    if choice.address is not None:
        return ExternalServer(parse_address(choice.address))
    if choice.container:
        return _container(choice.product)
    return MysqlServer(directory) if choice.product == "mysql" else MariadbServer(directory)


def _container(product: Product) -> MysqlContainer:
    try:
        # Docker's client is in an extra, because only some users need it.
        from local_stack.container import (  # noqa: PLC0415
            MariadbContainer,
            MysqlContainer,
        )
    except ImportError as error:
        raise LocalStackError(local_stack.NO_CONTAINERS, package=error.name) from error
    return MysqlContainer() if product == "mysql" else MariadbContainer()
