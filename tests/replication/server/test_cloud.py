"""Which service runs a server, by what it says of itself."""

from __future__ import annotations

import pytest

from connector.replication.server.identity import Cloud, cloud_of

OWN = {"basedir": "/usr/", "version_comment": "MySQL Community Server - GPL"}


@pytest.mark.parametrize(
    ("version", "variables", "cloud"),
    [
        ("8.0.40", OWN, None),
        ("11.8.6-MariaDB-log", {"basedir": "/usr"}, None),
        ("8.0.40", OWN | {"basedir": "/rdsdbbin/mysql-8.0.40.R2/"}, Cloud.RDS),
        ("11.4.4-MariaDB-log", {"basedir": "/rdsdbbin/mariadb-11.4.4.R1/"}, Cloud.RDS),
        ("8.0.39", {"basedir": "/rdsdbbin/oscar-8.0.mysql_aurora.3.08.0/"}, Cloud.AURORA),
        ("8.0.39", OWN | {"aurora_version": "3.08.0"}, Cloud.AURORA),
        ("8.0.31-google", OWN | {"version_comment": "(Google)"}, Cloud.CLOUD_SQL),
        ("8.0.40-azure", OWN, Cloud.AZURE),
        ("5.7.44-log", OWN | {"azure_server_name": "shop"}, Cloud.AZURE),
    ],
)
def test_a_service_is_known_by_folder_variables_or_version(
    version: str, variables: dict[str, str], cloud: Cloud | None
) -> None:
    assert cloud_of(version, variables) is cloud
