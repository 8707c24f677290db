"""Settings: a file, the environment, and what is said when they are wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, SecretStr

from connector.config import Settings
from connector.errors import ConfigError
from connector.settings_file import load_settings

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

MINIMAL = """
name = "shop"
[source]
server_id = 5800
[kafka]
bootstrap_servers = ["127.0.0.1:9092"]
topic_prefix = "shop"
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "connector.toml"
    path.write_text(MINIMAL)
    return path


def message_of(path: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    return caught.value.text.replace(str(path), "FILE")


def test_the_required_keys_are_enough(config: Path) -> None:
    settings = load_settings(config)
    assert (settings.source.host, settings.source.port) == ("127.0.0.1", 3306)
    assert settings.delivery.commit_interval_ms == 100


def test_the_environment_wins_over_the_file(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "secret")
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__SERVER_ID", "77")
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__BOOTSTRAP_SERVERS", '["k1:9092", "k2:9092"]')
    settings = load_settings(config)
    assert settings.source.read_password() == "secret"
    assert settings.source.server_id == 77
    assert settings.kafka.bootstrap_servers == ["k1:9092", "k2:9092"]


def test_a_password_is_never_printed(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "secret")
    assert "secret" not in repr(load_settings(config))


def test_a_password_can_come_from_a_file(config: Path, tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("secret\n")
    config.write_text(MINIMAL.replace("[kafka]", f'password_file = "{secret}"\n[kafka]'))
    assert load_settings(config).source.read_password() == "secret"


def test_a_missing_password_file_is_named(config: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    config.write_text(MINIMAL.replace("[kafka]", f'password_file = "{absent}"\n[kafka]'))
    with pytest.raises(ConfigError) as caught:
        load_settings(config).source.read_password()
    assert caught.value.text == (
        f"source.password_file {absent}: No such file or directory: name a file that this user may "
        "read"
    )


def test_an_unknown_key_is_named(config: Path) -> None:
    config.write_text(MINIMAL.replace("server_id", "sever_id"))
    assert message_of(config) == (
        "FILE: source.server_id is required (or set BINLOG_CONNECTOR_SOURCE__SERVER_ID)\n"
        "FILE: unknown key source.sever_id; configs/connector.toml lists the keys"
    )


def test_an_unknown_variable_is_named(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SORCE__HOST", "db")
    assert message_of(config) == (
        "environment variable BINLOG_CONNECTOR_SORCE__HOST: there is no key sorce.host; "
        "configs/connector.toml lists the keys"
    )


def test_variables_of_other_parts_are_left_alone(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_CACHE", "somewhere")
    assert load_settings(config).name == "shop"


def test_a_value_out_of_range_is_explained(config: Path) -> None:
    config.write_text(MINIMAL.replace("5800", "0"))
    assert message_of(config) == (
        "FILE: source.server_id: Input should be greater than or equal to 1; "
        "configs/connector.toml explains the key"
    )


def test_two_passwords_are_one_too_many(config: Path) -> None:
    both = 'password = "a"\npassword_file = "b"\n[kafka]'
    config.write_text(MINIMAL.replace("[kafka]", both))
    assert message_of(config) == (
        "FILE: source: Value error, give either password or password_file, not both; "
        "configs/connector.toml explains the key"
    )


def test_a_file_that_is_not_toml_is_explained(config: Path) -> None:
    config.write_text("name = \n")
    assert message_of(config) == (
        "FILE: not valid TOML: Invalid value (at line 1, column 8); configs/connector.toml shows "
        "how it is written"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert message_of(tmp_path / "absent.toml") == (
        "FILE: cannot read the configuration: No such file or directory: give the path of a file "
        "such as configs/connector.toml"
    )


@pytest.mark.parametrize(
    ("variable", "text"),
    [("BINLOG_CONNECTOR_SOURCE__TABLES", "shop.*"), ("BINLOG_CONNECTOR_SOURCE", "host=db")],
)
def test_a_variable_that_has_to_be_json_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, text)
    assert message_of(config) == (
        f'environment variable {variable}: not JSON: write a list like ["first", "second"], and a '
        'section like {"key": "value"}'
    )


@pytest.mark.parametrize(
    ("section", "line", "key"),
    [
        ("[kafka]", 'bootstrap_servers = ["kafka:x"]', "kafka.bootstrap_servers.0"),
        ("[kafka]", 'bootstrap_servers = ["kafka:70000"]', "kafka.bootstrap_servers.0"),
        ("[source]", 'failover_hosts = ["db:0"]', "source.failover_hosts.0"),
        ("[kafka]", 'security_protocol = "SASL_SSL"', "kafka"),
    ],
)
def test_what_no_client_could_use_is_refused(
    config: Path, section: str, line: str, key: str
) -> None:
    text = MINIMAL
    if line.startswith("bootstrap_servers"):
        text = text.replace('bootstrap_servers = ["127.0.0.1:9092"]\n', "")
    config.write_text(text.replace(section, f"{section}\n{line}"))
    assert message_of(config).startswith(f"FILE: {key}: ")


REFERENCE = Path(__file__).parents[1] / "configs" / "connector.toml"


def keys_of(model: type[BaseModel], prefix: str = "") -> dict[str, FieldInfo]:
    found: dict[str, FieldInfo] = {}
    for name, field in model.model_fields.items():
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            found |= keys_of(field.annotation, f"{prefix}{name}.")
        else:
            found[prefix + name] = field
    return found


def documented_keys() -> dict[str, str]:
    """The keys of the reference with what is written for each, also those commented out."""
    section = ""
    found = {}
    for line in REFERENCE.read_text().splitlines():
        if header := re.fullmatch(r"\[([a-z._]+)\]", line):
            section = f"{header[1]}."
        elif key := re.fullmatch(r"(?:# )?([a-z_]+) = (.*)", line):
            found[section + key[1]] = key[2]
    return found


def test_the_reference_loads() -> None:
    assert load_settings(REFERENCE).source.tables == ["shop.*"]


def test_the_reference_names_every_key_and_no_other() -> None:
    assert set(documented_keys()) == set(keys_of(Settings))


def test_the_reference_states_each_default() -> None:
    stated = tomllib.loads(REFERENCE.read_text())
    for key, field in keys_of(Settings).items():
        *sections, name = key.split(".")
        values = stated
        for section in sections:
            values = values[section]
        if name in values and not field.is_required() and key != "source.tables":
            default = field.get_default(call_default_factory=True, validated_data={})
            if isinstance(default, SecretStr):
                default = default.get_secret_value()
            assert values[name] == default, key
