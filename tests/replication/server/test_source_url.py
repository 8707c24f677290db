from __future__ import annotations

from pathlib import Path

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.settings.sections import TlsSettings
from connector.replication import server_errors
from connector.replication.server.addresses import source_settings


def test_a_url_names_a_server_and_an_account() -> None:
    settings = source_settings("mysql://u%40x:p%2Fw%20%25@db.example:3307/")
    assert (settings.host, settings.port) == ("db.example", 3307)
    assert settings.user == "u@x"
    assert settings.read_password() == "p/w %"


def test_what_a_url_leaves_out_is_as_in_the_configuration() -> None:
    settings = source_settings("mariadb://[::1]")
    assert (settings.host, settings.port, settings.user) == ("::1", 3306, "cdc")
    assert settings.read_password() == ""
    assert settings.tls == TlsSettings()


def test_a_password_of_its_own_comes_in_place_of_the_urls() -> None:
    settings = source_settings("mysql://u:from-url@h/", password="given")
    assert settings.read_password() == "given"


def test_the_options_are_those_of_the_servers_clients() -> None:
    settings = source_settings(
        "mysql://u@h/?ssl-mode=VERIFY_IDENTITY&ssl-ca=/etc/ca%20.pem&ssl-cert=/c.pem&ssl-key=/k.pem"
        "&server-public-key-path=/p.pem&get-server-public-key=1&server-id=7&connect-timeout=2.5"
    )
    assert settings.tls == TlsSettings(
        mode="verify_identity",
        ca=Path("/etc/ca .pem"),
        certificate=Path("/c.pem"),
        key=Path("/k.pem"),
        server_public_key=Path("/p.pem"),
        get_server_public_key=True,
    )
    assert (settings.server_id, settings.connect_timeout_seconds) == (7, 2.5)


def test_the_server_id_is_one_at_random() -> None:
    ids = {source_settings("mysql://h").server_id for _ in range(10)}
    assert len(ids) == 10
    assert min(ids) >= 2**31


@pytest.mark.parametrize(
    "url",
    [
        "http://u:secret@h/",
        "h:3306",
        "mysql://",
        "mysql:///x",
        "mysql://u:secret@h/database",
        "mysql://u:sec#ret@h/",
        "mysql://u:secret@h:x/",
        "mysql://u:secret@h:99999/",
        "mysql://u:sec[ret@h/",
        "mysql://u:?secret@h/",
        "mysql://u:12?secret&x@h:3306/",
    ],
)
def test_another_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        source_settings(url)
    text = raised.value.text
    assert text.startswith("the source's URL is not mysql://user:password@host:port/")
    assert "sec" not in text


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        (
            "ssl_mode=required",
            (
                "the source's URL has the unknown option ssl_mode; there are ssl-mode, ssl-ca, "
                "ssl-cert, ssl-key, server-public-key-path, get-server-public-key, server-id, "
                "connect-timeout"
            ),
        ),
        (
            "ssl-mode=SOMETIMES",
            (
                "the source's URL: ssl-mode: Input should be 'disabled', 'preferred', 'required', "
                "'verify_ca' or 'verify_identity'; correct the URL"
            ),
        ),
        (
            "server-id=0",
            (
                "the source's URL: server-id: Input should be greater than or equal to 1; correct "
                "the URL"
            ),
        ),
    ],
)
def test_an_option_that_does_not_fit_is_refused_by_name(query: str, reason: str) -> None:
    with pytest.raises(ConfigError) as raised:
        source_settings(f"mysql://u:secret@h/?{query}")
    assert raised.value.text == reason


def test_each_option_that_does_not_fit_is_named() -> None:
    with pytest.raises(ConfigError) as raised:
        source_settings("mysql://u:secret@h/?server-id=0&connect-timeout=0")
    assert raised.value.code is server_errors.WRONG_OPTIONS
    lines = raised.value.text.splitlines()
    assert [line.split()[4] for line in lines[1:]] == ["server-id:", "connect-timeout:"]
