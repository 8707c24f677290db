"""Whoever answers at the address of a source does not learn the password."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from connector.foundation.errors import ConfigError, ConnectorError
from connector.foundation.settings.sections import SourceSettings
from connector.replication import server_errors
from connector.replication.server.authentication import public_key
from connector.replication.server.mysql_server import MysqlServer
from tests.foundation.errors.texts import text_of
from tests.replication.server.impostor import PUBLIC_KEY, impostor, own_certificate, switch

if TYPE_CHECKING:
    from pathlib import Path

    from tests.replication.server.impostor import Impostor

PASSWORD = "the secret"
_DENIED = b"\xff\x15\x04#28000Access denied"
_KEY = b"\x01" + PUBLIC_KEY
_FULL_LOGIN = b"\x01\x04"
_ANOTHER_KEY = (
    rsa.generate_private_key(65537, 2048)
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
)
_ANOTHER_KIND = (
    Ed25519PrivateKey.generate()
    .public_key()
    .public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
)
# Its algorithm has the number 1.3.101.1, which nobody has given to one.
_UNKNOWN_KIND = b"-----BEGIN PUBLIC KEY-----\nMAowBQYDK2UBAwEA\n-----END PUBLIC KEY-----\n"


def refusal(found: Impostor, **tls: Any) -> ConnectorError:
    settings = SourceSettings.model_validate(
        {
            "port": found.port,
            "password": PASSWORD,
            "server_id": 1,
            "read_timeout_seconds": 5,
            "tls": tls,
        }
    )
    with pytest.raises(ConnectorError) as caught:
        MysqlServer.connect(settings)
    return caught.value


def gave_away(found: Impostor) -> bool:
    return any(PASSWORD.encode() in each for each in found.learned())


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
@pytest.mark.parametrize("method", ["mysql_clear_password", "dialog"])
def test_a_password_is_not_sent_in_clear_text_without_tls(method: str, mode: str) -> None:
    data = b"\x02Password: " if method == "dialog" else b""
    with impostor("caching_sha2_password", switch(method, data), _DENIED) as found:
        error = refusal(found, mode=mode)
        assert error.text == text_of(
            server_errors.CLEAR_TEXT, server=f"source 127.0.0.1:{found.port}", method=method
        )
        assert not gave_away(found)


@pytest.mark.parametrize("mode", ["preferred", "required"])
@pytest.mark.parametrize("method", ["mysql_clear_password", "dialog"])
def test_a_password_is_not_sent_in_clear_text_to_an_unknown_certificate(
    tmp_path: Path, method: str, mode: str
) -> None:
    data = b"\x02Password: " if method == "dialog" else b""
    own = own_certificate(tmp_path / "own.pem")
    request = switch(method, data)
    with impostor("mysql_native_password", request, _DENIED, certificate=own) as found:
        error = refusal(found, mode=mode)
        assert error.message.code is server_errors.CLEAR_TEXT
        assert not gave_away(found)


def test_a_token_is_sent_in_clear_text_to_a_certificate_that_was_checked(tmp_path: Path) -> None:
    own = own_certificate(tmp_path / "own.pem")
    request = switch("mysql_clear_password", b"")
    with impostor("mysql_native_password", request, _DENIED, certificate=own) as found:
        assert "error 1045" in refusal(found, mode="verify_ca", ca=own).text
        assert gave_away(found)


@pytest.mark.parametrize("mode", ["disabled", "preferred"])
@pytest.mark.parametrize(
    ("greeted", "answers", "method"),
    [
        ("caching_sha2_password", (_FULL_LOGIN, _KEY, _DENIED), "caching_sha2_password"),
        (
            "mysql_native_password",
            (switch("caching_sha2_password"), _FULL_LOGIN, _KEY, _DENIED),
            "caching_sha2_password",
        ),
        ("sha256_password", (_KEY, _DENIED), "sha256_password"),
        (
            "mysql_native_password",
            (switch("sha256_password"), _KEY, _DENIED),
            "sha256_password",
        ),
    ],
    ids=["caching", "switch-to-caching", "sha256", "switch-to-sha256"],
)
class TestKeyOfAServerWithoutTls:
    def test_it_is_not_taken(
        self, mode: str, greeted: str, answers: tuple[bytes, ...], method: str
    ) -> None:
        with impostor(greeted, *answers) as found:
            error = refusal(found, mode=mode)
            assert error.text == text_of(
                server_errors.KEY_NOT_CHOSEN, server=f"source 127.0.0.1:{found.port}", method=method
            )
            assert not gave_away(found)

    def test_it_is_not_taken_in_place_of_the_one_in_the_settings(
        self, mode: str, greeted: str, answers: tuple[bytes, ...], method: str, tmp_path: Path
    ) -> None:
        del method
        with_key = tmp_path / "public_key.pem"
        with_key.write_bytes(_ANOTHER_KEY)
        with impostor(greeted, *answers) as found:
            refusal(found, mode=mode, server_public_key=with_key, get_server_public_key=True)
            assert not gave_away(found)

    def test_it_is_taken_if_the_settings_say_so(
        self, mode: str, greeted: str, answers: tuple[bytes, ...], method: str
    ) -> None:
        del method
        with impostor(greeted, *answers) as found:
            assert "error 1045" in refusal(found, mode=mode, get_server_public_key=True).text
            assert gave_away(found)


def test_an_old_login_is_refused() -> None:
    with impostor("mysql_native_password", switch("mysql_old_password"), _DENIED) as found:
        assert "error 2059" in refusal(found).text


def test_a_server_that_asks_for_a_file_gets_none() -> None:
    ok, request = b"\0\0\0\2\0\0\0", b"\xfb/etc/passwd"
    with impostor("mysql_native_password", ok, ok, request) as found:
        server = f"source 127.0.0.1:{found.port}"
        assert refusal(found).text == text_of(server_errors.NOT_MYSQL, server=server)
        found.learned()
        # After the login and two statements, there is at most the end of the session.
        assert found.received[3:] in ([], [b"\x01"])


def test_a_server_that_answers_no_question_is_not_taken_for_one() -> None:
    ok = b"\0\0\0\2\0\0\0"
    with impostor("mysql_native_password", ok, ok, ok) as found:
        server = f"source 127.0.0.1:{found.port}"
        assert refusal(found).text == text_of(server_errors.NOT_MYSQL, server=server)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "No such file or directory"),
        (b"\x00", "no public key in PEM"),
        (_ANOTHER_KIND, "a key of another kind than RSA"),
        (_UNKNOWN_KIND, "a key of another kind than RSA"),
    ],
    # The key is another one in each process, and so would be its name.
    ids=["no file", "no PEM", "no RSA", "no known kind"],
)
def test_a_file_without_a_public_key_is_named(
    tmp_path: Path, content: bytes | None, why: str
) -> None:
    path = tmp_path / "public_key.pem"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        public_key(path)
    assert caught.value.text == text_of(server_errors.PUBLIC_KEY, path=path, why=why)
