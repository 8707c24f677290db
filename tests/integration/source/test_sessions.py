from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest

from connector.foundation.errors import ConfigError, SourceRefused, SourceUnavailable
from connector.replication import server_errors
from connector.replication.server.mysql_server import MysqlServer
from connector.stream.source.select_session import SelectSession
from tests.foundation.errors.texts import text_of
from tests.integration.source_server import ACCOUNT_PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.integration.source_server import Source

pytestmark = pytest.mark.server


def cipher(source: Source, **changes: Any) -> str:
    with MysqlServer.connect(source.settings(**changes)) as server:
        return str(server.query("SHOW STATUS LIKE 'Ssl_cipher'")[0]["Value"])


def test_the_identity_of_a_mysql_is_its_server_uuid(mysql: Source) -> None:
    ((uuid, version),) = mysql.execute("SELECT @@server_uuid, VERSION()")
    with MysqlServer.connect(mysql.settings()) as server:
        identity = server.identity
    assert (identity.flavour, identity.version, identity.server_uuid) == ("mysql", version, uuid)
    assert identity.version_number[:2] == (8, 0)
    assert identity.server_id == 1
    assert identity.gtid


def test_the_identity_of_a_mariadb_is_stable_and_shaped_like_one(mariadb: Source) -> None:
    identities = set()
    for _ in range(2):
        with MysqlServer.connect(mariadb.settings()) as server:
            identities.add(server.identity)
    (identity,) = identities
    assert identity.flavour == "mariadb"
    assert identity.version_number[:2] == (11, 8)
    assert str(UUID(identity.server_uuid)) == identity.server_uuid
    assert identity.gtid


def test_a_mysql_with_gtid_mode_off_has_no_gtids(without_gtids: Source) -> None:
    with MysqlServer.connect(without_gtids.settings()) as server:
        assert not server.identity.gtid


def test_a_variable_reads_as_the_server_shows_it(source: Source) -> None:
    with MysqlServer.connect(source.settings()) as server:
        assert server.variable("log_bin") == "ON"
        assert server.variable("no_such_variable") is None
        assert server.global_value("server_id") == "1"
        assert server.global_value("no_such_variable") is None


def test_variables_that_are_read_at_once_stay_what_they_were_until_the_end(source: Source) -> None:
    names = ("sync_binlog", "no_such_variable")
    with MysqlServer.connect(source.settings()) as server:
        before = server.variable("sync_binlog")
        changed = "7" if before != "7" else "8"
        try:
            with server.read_at_once(names):
                source.execute(f"SET GLOBAL sync_binlog = {changed}")
                assert server.variable("sync_binlog") == before
                assert server.variable("no_such_variable") is None
                assert server.variable("log_bin") == "ON"
            assert server.variable("sync_binlog") == changed
        finally:
            source.execute(f"SET GLOBAL sync_binlog = {before}")


def test_a_query_takes_arguments_and_returns_rows_by_name(source: Source) -> None:
    with MysqlServer.connect(source.settings()) as server:
        assert server.query("SELECT %s AS a, '%%' AS b", ("it's",)) == [{"a": "it's", "b": "%"}]
        assert server.query("SELECT '%' AS percent") == [{"percent": "%"}]


def test_a_query_without_its_grant_names_the_grant(source: Source) -> None:
    user = source.create_account()
    with (
        MysqlServer.connect(source.settings(user=user)) as server,
        pytest.raises(SourceRefused) as caught,
    ):
        server.query("SHOW BINARY LOGS")
    privilege = "BINLOG MONITOR" if source.is_mariadb else "SUPER, REPLICATION CLIENT"
    assert caught.value.text == (
        f"{source.name}: error 1227: Access denied; you need (at least one of) the {privilege} "
        "privilege(s) for this operation; GRANT REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO "
        "the account of source.user; see `binlog-connector config grants.sql`"
    )


def test_a_wrong_password_is_refused_without_showing_it(source: Source) -> None:
    with pytest.raises(SourceRefused) as caught:
        MysqlServer.connect(source.settings(password="secret of someone"))
    assert caught.value.text == (
        f"{source.name}: error 1045: Access denied for user '{source.user}'@'127.0.0.1' (using "
        "password: YES); check source.user and source.password, and that the account may log in "
        "from this host"
    )


def test_a_password_outside_ascii_works_as_mysql_clients_send_it(source: Source) -> None:
    user = source.create_account()
    source.execute(f"ALTER USER {user} IDENTIFIED BY 'pässwörd→'")
    MysqlServer.connect(source.settings(user=user, password="pässwörd→")).close()


def test_a_locked_account_is_refused(source: Source) -> None:
    user = source.create_account(requirement="ACCOUNT LOCK")
    with pytest.raises(SourceRefused, match=r"error (3118|4151): .*; ALTER USER ... ACCOUNT UNLOC"):
        MysqlServer.connect(source.settings(user=user))


def test_a_port_where_nobody_listens_is_unavailable(source: Source) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    with pytest.raises(SourceUnavailable) as caught:
        MysqlServer.connect(source.settings(port=port))
    assert caught.value.text == (
        f"source 127.0.0.1:{port}: cannot connect: Connection refused; check that the server "
        "runs, source.host, source.port and firewalls"
    )


def test_a_name_that_does_not_exist_is_refused(mysql: Source) -> None:
    port = mysql.server.endpoint.port
    with pytest.raises((SourceRefused, SourceUnavailable)) as caught:
        MysqlServer.connect(mysql.settings(host="no-such-host.invalid"))
    # A machine without any name server cannot tell that the name does not exist.
    assert caught.value.text in {
        f"source no-such-host.invalid:{port}: the name cannot be resolved; check source.host",
        (
            f"source no-such-host.invalid:{port}: the name cannot be resolved for now; check "
            "source.host, and the name servers of this machine"
        ),
    }


def test_too_many_connections_of_an_account_are_transient(source: Source) -> None:
    user = source.create_account(requirement="WITH MAX_USER_CONNECTIONS 1")
    with (
        MysqlServer.connect(source.settings(user=user)),
        pytest.raises(SourceUnavailable, match=r"error (1203|1226): .*; raise "),
    ):
        MysqlServer.connect(source.settings(user=user))


@pytest.mark.parametrize("mode", ["preferred", "required"])
def test_tls_is_used_where_the_server_offers_it(source: Source, mode: str) -> None:
    assert cipher(source, tls={"mode": mode})


def test_tls_can_be_disabled(source: Source) -> None:
    assert not cipher(source, tls={"mode": "disabled", "get_server_public_key": True})


@pytest.mark.parametrize("method", ["caching_sha2_password", "sha256_password"])
class TestAccountThatTheServerHasNotSeen:
    """Nothing of it is in the server's cache yet, so the server wants the password itself."""

    def test_it_logs_in_over_tls(self, mysql: Source, method: str) -> None:
        assert cipher(mysql, user=account(mysql, method), tls={"mode": "required"})

    def test_it_does_not_without_tls(self, mysql: Source, method: str) -> None:
        user = account(mysql, method)
        with pytest.raises(SourceRefused) as caught:
            MysqlServer.connect(mysql.settings(user=user, tls={"mode": "disabled"}))
        assert caught.value.text == text_of(
            server_errors.KEY_NOT_CHOSEN, server=mysql.name, method=method
        )

    def test_it_does_with_the_servers_public_key(self, mysql: Source, method: str) -> None:
        key = mysql.server.directory / "data" / "public_key.pem"
        tls = {"mode": "disabled", "server_public_key": key}
        assert not cipher(mysql, user=account(mysql, method), tls=tls)

    def test_it_does_with_the_key_that_the_server_sends(self, mysql: Source, method: str) -> None:
        tls = {"mode": "disabled", "get_server_public_key": True}
        assert not cipher(mysql, user=account(mysql, method), tls=tls)


def account(mysql: Source, method: str) -> str:
    user = mysql.create_account()
    mysql.execute(f"ALTER USER {user} IDENTIFIED WITH {method} BY '{ACCOUNT_PASSWORD}'")
    return user


def test_an_account_in_the_servers_cache_needs_no_tls(mysql: Source) -> None:
    user = account(mysql, "caching_sha2_password")
    assert cipher(mysql, user=user, tls={"mode": "required"})
    assert not cipher(mysql, user=user, tls={"mode": "disabled"})


def test_the_authority_of_the_server_is_verified(mysql: Source) -> None:
    ca = mysql.server.directory / "data" / "ca.pem"
    assert cipher(mysql, tls={"mode": "verify_ca", "ca": ca})


def test_a_certificate_of_an_unknown_authority_is_refused(mysql: Source) -> None:
    with pytest.raises(SourceRefused) as caught:
        MysqlServer.connect(mysql.settings(tls={"mode": "verify_ca"}))
    assert caught.value.text == (
        f"{mysql.name}: the server's certificate is refused: self-signed certificate in "
        "certificate chain; check source.tls.ca and source.host, or lower source.tls.mode"
    )


def test_a_certificate_for_another_name_is_refused(mysql: Source) -> None:
    ca = mysql.server.directory / "data" / "ca.pem"
    with pytest.raises(SourceRefused) as caught:
        MysqlServer.connect(mysql.settings(tls={"mode": "verify_identity", "ca": ca}))
    assert caught.value.text == (
        f"{mysql.name}: the server's certificate is refused: IP address mismatch, certificate is "
        "not valid for '127.0.0.1'; check source.tls.ca and source.host, or lower source.tls.mode"
    )


def test_a_client_certificate_is_shown_to_a_server_that_requires_one(mysql: Source) -> None:
    user = mysql.create_account(requirement="REQUIRE X509")
    data = mysql.server.directory / "data"
    tls = {"certificate": data / "client-cert.pem", "key": data / "client-key.pem"}
    assert cipher(mysql, user=user, tls=tls)
    with pytest.raises(SourceRefused, match="error 1045: Access denied"):
        MysqlServer.connect(mysql.settings(user=user))


@pytest.mark.parametrize(
    ("tls", "reason"),
    [
        ({"mode": "verify_ca", "ca": "/no/ca.pem"}, "source.tls.ca /no/ca.pem: No such file or "),
        ({"mode": "verify_ca", "ca": __file__}, f"source.tls.ca {__file__}: "),
        ({"certificate": "/no/cert.pem"}, "source.tls.certificate /no/cert.pem: No such file or "),
        ({"certificate": __file__}, f"source.tls.certificate {__file__}: "),
        (
            {"server_public_key": "/no/key.pem"},
            "source.tls.server_public_key /no/key.pem: No such file or ",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    mysql: Source, tls: dict[str, str], reason: str
) -> None:
    with pytest.raises(ConfigError, match=re.escape(reason)):
        MysqlServer.connect(mysql.settings(tls=tls))


def test_the_password_comes_from_a_file(source: Source, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("pass word\n")
    MysqlServer.connect(source.settings(password="", password_file=file)).close()


def test_a_select_takes_its_time_although_the_server_has_a_limit(source: Source) -> None:
    limit = "max_statement_time = 0.5" if source.is_mariadb else "max_execution_time = 500"
    name, _ = limit.split(" = ")
    ((before,),) = source.execute(f"SELECT @@GLOBAL.{name}")
    source.execute(f"SET GLOBAL {limit}")
    try:
        with SelectSession(source.settings()) as session:
            # MySQL returns 1 if it ends a sleep, and MariaDB error 1969.
            assert session.query("SELECT SLEEP(0.8) AS ended") == [{"ended": "0"}]
    finally:
        source.execute(f"SET GLOBAL {name} = {before}")


def test_a_connection_that_breaks_is_unavailable(source: Source) -> None:
    with MysqlServer.connect(source.settings()) as server:
        connection_id = server.query("SELECT CONNECTION_ID() AS id")[0]["id"]
        source.execute(f"KILL {connection_id}")
        with pytest.raises(SourceUnavailable):
            server.query("SELECT 1")
        with pytest.raises(SourceUnavailable) as caught:
            server.query("SELECT 1")
    assert caught.value.text == f"{source.name}: the connection was closed"
