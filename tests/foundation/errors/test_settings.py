"""What is wrong with the configuration alone."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import Message
from connector.foundation.settings import settings_errors
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.sections import KafkaSettings, TlsSettings
from connector.kafka import connection_errors
from connector.replication import server_errors
from connector.replication.server.authentication import context_of
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.metrics.prometheus import serving
from connector.stream.sink.connection import client_settings
from tests.foundation.errors.patterns import fits
from tests.foundation.errors.texts import text_of

if TYPE_CHECKING:
    from pathlib import Path

    from connector.foundation.errors.code import ErrorCode

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
    assert said == (
        f"{path}: kafka: security_protocol SASL_SSL takes sasl_mechanism, sasl_username, and "
        "one of sasl_password, sasl_password_file and sasl_password_command; "
        "`binlog-connector config` explains the key"
    )


def test_a_statement_of_heartbeats_without_heartbeats(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    text = MINIMAL.format(failover="", protocol="PLAINTEXT")
    path.write_text(text.replace("[kafka]", 'heartbeat_statement = "DO 1"\n[kafka]'))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert text_of(settings_errors.NO_HEARTBEATS) in caught.value.text


def test_a_limit_of_threads_for_a_pace_that_has_none(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    text = MINIMAL.format(failover="", protocol="PLAINTEXT")
    path.write_text(f'{text}[snapshot]\npace = "full"\nthreads_running_max = 20\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert text_of(settings_errors.FULL_PACE) in caught.value.text


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("[notifications]\nlog = true", "notifications.log", True),
        ('[envelope]\nprofile = "debezium"', "envelope.profile", "debezium"),
    ],
)
def test_rows_without_records_for_what_needs_records(
    tmp_path: Path, section: str, key: str, value: object
) -> None:
    path = tmp_path / "c.toml"
    text = MINIMAL.format(failover="", protocol="PLAINTEXT")
    path.write_text(f'{text}[snapshot]\nto = "mirror"\n{section}\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    expected = Message(settings_errors.LOADED_BY_MIRROR, {"key": key, "value": value})
    assert expected.text in caught.value.text


def test_rows_without_records_of_a_stream_that_begins_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    text = MINIMAL.format(failover="", protocol="PLAINTEXT")
    text = text.replace("[kafka]", 'start = "earliest"\n[kafka]')
    path.write_text(f'{text}[snapshot]\nto = "mirror"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert "source.start = " in caught.value.text


def test_a_text_cannot_be_expanded(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    outbox = '[envelope]\nprofile = "debezium"\n[envelope.outbox]\nexpand_payload = true\n'
    text = MINIMAL.format(failover="", protocol="PLAINTEXT")
    path.write_text(f'{text}{outbox}value_format = "plain"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert text_of(settings_errors.EXPANDED_TEXT) in caught.value.text


def test_a_port_that_no_server_has(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    said = refusal(path, failover='"db:70000"')
    assert said == (
        f"{path}: source.failover_hosts.0: a port is a number from 1 to 65535; `binlog-connector "
        "config` explains the key"
    )


def test_a_pattern_that_a_value_does_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    said = refusal(path, failover='"db:x"')
    assert said == (
        f"{path}: source.failover_hosts.0: give HOST or HOST:PORT, an IPv6 address in brackets; "
        "`binlog-connector config` explains the key"
    )


@pytest.mark.parametrize("key", ["ssl_ca", "ssl_certificate", "ssl_key"])
def test_a_file_that_the_client_of_kafka_could_not_read(tmp_path: Path, key: str) -> None:
    path = tmp_path / "absent.pem"
    assert unusable(key, path) == text_of(
        connection_errors.KAFKA_FILE, key=key, path=path, why="No such file or directory"
    )


@pytest.mark.parametrize("key", ["ssl_ca", "ssl_certificate"])
def test_a_file_that_is_no_certificate(tmp_path: Path, key: str) -> None:
    path = tmp_path / "wrong.pem"
    path.write_text("not PEM")
    said = unusable(key, path)
    # OpenSSL does not give each failure a reason.
    unnamed = text_of(connection_errors.KAFKA_FILE_NOT_PEM, key=key, path=path)
    whys = ("NO_CERTIFICATE_OR_CRL_FOUND", "PEM", "NO_START_LINE")
    named = [text_of(connection_errors.KAFKA_FILE, key=key, path=path, why=why) for why in whys]
    assert said in [unnamed, *named]


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
        ("ca", server_errors.TLS_CA, {"mode": "verify_ca"}),
        ("certificate", server_errors.TLS_CERTIFICATE, {"mode": "required"}),
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
        with pytest.raises(ConfigError) as caught, serving(PipelineMetrics("shop"), listen, {}, {}):
            pass
    assert caught.value.text == text_of(
        settings_errors.METRICS_LISTEN, listen=listen, why="[Errno 98] Address already in use"
    )
