"""`config`: the reference files of the package."""

from __future__ import annotations

from enum import StrEnum
from importlib import resources
from typing import Annotated

import typer


class Reference(StrEnum):
    """Files under `configs/`, by their names."""

    CONNECTOR = "connector.toml"
    STREAM_JOB = "stream_job.toml"
    GRANTS = "grants.sql"
    MYSQL = "source.cnf"
    MARIADB = "mariadb.cnf"

    def text(self) -> str:
        """Return the content of the file."""
        configs = resources.files("connector") / "configs"
        folder = configs if self.value.endswith(".toml") else configs / "mysql"
        return (folder / self.value).read_text("utf-8")


def config(
    name: Annotated[
        Reference,
        typer.Argument(
            help="connector.toml: every key of `run`; stream_job.toml: every key of the Spark job; "
            "grants.sql: the account on the source; source.cnf, mariadb.cnf: what the source needs."
        ),
    ] = Reference.CONNECTOR,
) -> None:
    """Print a reference file: every key with its default, and when to change it."""
    typer.echo(name.text(), nl=False)
