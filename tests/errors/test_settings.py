"""What is wrong with the configuration alone."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from connector.errors import ConfigError, settings_values
from connector.metrics.figures import Figures
from connector.metrics.server import serving
from connector.settings.loader import load_settings
from connector.settings.sections import KafkaSettings, TlsSettings
from connector.sink.connection import client_settings
from connector.source.server.tls import context_of
from tests.errors.patterns import fits
from tests.errors.texts import says, text, text_of

if TYPE_CHECKING:
    from pathlib import Path

    from connector.errors.code import ErrorCode

MINIMAL = """
name = "shop"
[source]
server_id = 5800
failover_hosts = [{failover}]
[kafka]
bootstrap_servers = ["127.0.0.1:9092"]
topic_prefix = "shop"
security_protocol = "{protocol}"
"""


def refusal(path: Path, *, failover: str = "", protocol: str = "PLAINTEXT") -> str:
    path.write_text(MINIMAL.format(failover=failover, protocol=protocol))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return caught.value.text


def test_a_login_that_is_not_whole(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    said = refusal(path, protocol="SASL_SSL")
    why = text_of(settings_values.LOGIN_NOT_WHOLE, protocol="SASL_SSL")
    assert said == text("config.value", path=path, key="kafka", why=why)


def test_a_port_that_no_server_has(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    said = refusal(path, failover='"db:70000"')
    why = text_of(settings_values.PORT, last=65535)
    assert said == text("config.value", path=path, key="source.failover_hosts.0", why=why)


def test_a_pattern_that_a_value_does_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    said = refusal(path, failover='"db:x"')
    assert says(said, "config.value", path=path, key="source.failover_hosts.0")


@pytest.mark.parametrize("key", ["ssl_ca", "ssl_certificate", "ssl_key"])
def test_a_file_that_the_client_of_kafka_could_not_read(tmp_path: Path, key: str) -> None:
    path = tmp_path / "absent.pem"
    assert unusable(key, path) == text(
        "config.kafka_file", key=key, path=path, why="No such file or directory"
    )


@pytest.mark.parametrize("key", ["ssl_ca", "ssl_certificate"])
def test_a_file_that_is_no_certificate(tmp_path: Path, key: str) -> None:
    path = tmp_path / "wrong.pem"
    path.write_text("not PEM")
    assert says(unusable(key, path), "config.kafka_file", key=key, path=path)


def unusable(key: str, path: Path) -> str:
    settings = KafkaSettings.model_validate(
        {"bootstrap_servers": ["127.0.0.1:9092"], "topic_prefix": "shop", key: path}
    )
    with pytest.raises(ConfigError) as caught:
        client_settings(settings)
    return caught.value.text


@pytest.mark.parametrize(
    ("key", "code", "settings"),
    [
        ("ca", settings_values.TLS_CA, {"mode": "verify_ca"}),
        ("certificate", settings_values.TLS_CERTIFICATE, {"mode": "required"}),
    ],
)
def test_a_file_of_the_source_that_cannot_be_used(
    tmp_path: Path, key: str, code: ErrorCode, settings: dict[str, str]
) -> None:
    absent, wrong = tmp_path / "absent.pem", tmp_path / "wrong.pem"
    wrong.write_text("not PEM")
    for path, why in ((absent, "No such file or directory"), (wrong, None)):
        with pytest.raises(ConfigError) as caught:
            context_of(TlsSettings.model_validate({**settings, key: path}))
        known = {} if why is None else {"why": why}
        assert fits(caught.value.text, code, path=path, **known)


def test_an_address_that_somebody_listens_on() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(ConfigError) as caught, serving(Figures("shop"), listen):
            pass
    assert caught.value.text == text(
        "metrics.listen", listen=listen, why="[Errno 98] Address already in use"
    )
