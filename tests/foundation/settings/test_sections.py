"""Settings: a file, the environment, and what is said when they are wrong."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, SecretStr, ValidationError

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.configuration import (
    in_lower_case,
    load_settings,
    log_format,
    world_readable_warning,
)
from connector.foundation.settings.log_folder import folder_of
from connector.foundation.settings.sections import Settings
from connector.stream.sink.connection import client_settings
from connector.stream.source.record_options import outbox_form

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

    from connector.foundation.errors.code import ErrorCode

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


def test_a_variable_that_contradicts_the_file_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(MINIMAL.replace("[kafka]", '[kafka]\nsasl_username = "cdc"'))
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PORT", "1")
    assert message_of(config) == (
        "FILE: kafka: security_protocol SASL_SSL takes sasl_mechanism, sasl_username, and one of "
        "sasl_password, sasl_password_file and sasl_password_command; "
        "BINLOG_CONNECTOR_KAFKA__SECURITY_PROTOCOL of the environment has priority over the file; "
        "`binlog-connector config` explains the key"
    )


def test_two_passwords_of_the_environment_are_refused(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "secret")
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD_FILE", "p")
    assert message_of(config) == (
        "FILE: source: give one of password, password_file and password_command; "
        "BINLOG_CONNECTOR_SOURCE__PASSWORD, BINLOG_CONNECTOR_SOURCE__PASSWORD_FILE of the "
        "environment has priority over the file; `binlog-connector config` explains the key"
    )


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BINLOG_CONNECTOR_SOURCE__PASSWORD", "secret"),
        ("BINLOG_CONNECTOR_SOURCE__PASSWORD_COMMAND", '["echo", "secret"]'),
        ("BINLOG_CONNECTOR_SOURCE", '{"password": "secret"}'),
    ],
)
def test_a_password_of_the_environment_replaces_the_one_of_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    config.write_text(MINIMAL.replace("server_id", 'password_file = "p"\nserver_id'))
    monkeypatch.setenv(variable, value)
    source = load_settings(config).source
    assert (source.password_file, source.read_password()) == (None, "secret")


@pytest.mark.parametrize(
    "variables",
    [
        {"SOURCE__PASSWORD": "", "SOURCE__PASSWORD_COMMAND": "[]"},
        {"SOURCE": '{"password": "", "password_command": []}'},
    ],
)
def test_an_empty_variable_replaces_no_password(
    config: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    secret = tmp_path / "password"
    secret.write_text("secret")
    config.write_text(MINIMAL.replace("server_id", f'password_file = "{secret}"\nserver_id'))
    for name, value in variables.items():
        monkeypatch.setenv(f"BINLOG_CONNECTOR_{name}", value)
    assert load_settings(config).source.read_password() == "secret"
    config.write_text(MINIMAL.replace("server_id", 'password = "secret"\nserver_id'))
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE", '{"password_file": null}')
    monkeypatch.delenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", raising=False)
    assert load_settings(config).source.read_password() == "secret"


def test_other_secrets_of_the_environment_replace_those_of_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(
        MINIMAL.replace("[kafka]", '[kafka]\nsasl_password_file = "p"')
        + '[registry]\npassword_file = "p"\n[metrics]\ntoken_file = "p"\n'
    )
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__SASL_PASSWORD", "of Kafka")
    monkeypatch.setenv("BINLOG_CONNECTOR_REGISTRY__PASSWORD", "of the registry")
    monkeypatch.setenv("BINLOG_CONNECTOR_METRICS__TOKEN", "of the page, for changes")
    settings = load_settings(config)
    assert settings.kafka.read_sasl_password() == "of Kafka"
    assert settings.registry.read_password() == "of the registry"
    assert settings.metrics.read_token() == "of the page, for changes"


def test_an_error_of_pydantic_s_own_shows_no_value() -> None:
    with pytest.raises(ValidationError, match=r"source\.server_id") as caught:
        Settings.model_validate({"name": "shop", "source": {"password": "hunter2"}})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("prefix", ["BINLOG_CONNECTOR_", "binlog_connector_"])
def test_a_section_of_the_environment_and_its_keys_join_those_of_the_file(
    config: Path, monkeypatch: pytest.MonkeyPatch, prefix: str
) -> None:
    config.write_text(MINIMAL.replace("server_id", 'tls = { mode = "required" }\nserver_id'))
    monkeypatch.setenv(f"{prefix}SOURCE__TLS__KEY", "key")
    monkeypatch.setenv(f"{prefix}SOURCE__HOST", "db")
    monkeypatch.setenv(f"{prefix}SOURCE", '{"host": "other", "tls": {"ca": "ca", "key": "old"}}')
    monkeypatch.setenv(f"{prefix}DELIVERY", "null")
    settings = load_settings(config)
    source = settings.source
    assert (source.host, source.server_id) == ("db", 5800)
    assert (source.tls.mode, source.tls.ca, source.tls.key) == ("required", Path("ca"), Path("key"))
    assert settings.delivery.commit_interval_ms == 100


@pytest.mark.parametrize(
    "variables",
    [
        {"SOURCE__HOST": "db", "source": '{"host": "section"}'},
        {"source__host": "lower case", "SOURCE__HOST": "db"},
        {"SOURCE": '{"host": "db", "tls": null}', "SOURCE__TLS__MODE": "required"},
        {"SOURCE": "null", "SOURCE__HOST": "db", "source__tls": "null"},
    ],
)
def test_a_key_wins_over_its_section_and_capitals_over_other_letters(
    config: Path, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str]
) -> None:
    for name, value in variables.items():
        prefix = "BINLOG_CONNECTOR_" if name == name.upper() else "binlog_connector_"
        monkeypatch.setenv(prefix + name, value)
    assert load_settings(config).source.host == "db"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("BINLOG_CONNECTOR_LOG__FORMAT", "json"),
        ("binlog_connector_log__format", "json"),
        ("BINLOG_CONNECTOR_LOG", '{"format": "json"}'),
    ],
)
def test_a_key_is_found_before_the_settings_are_read(
    config: Path, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    config.write_text("this is no TOML")
    assert Settings.peek(config, "log.format") == "json"


def test_a_key_of_the_environment_does_not_hide_that_its_section_is_wrong(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_DELIVERY", "[]")
    monkeypatch.setenv("BINLOG_CONNECTOR_DELIVERY__COMMIT_INTERVAL_MS", "100")
    assert message_of(config) == (
        "FILE: delivery: Input should be a valid dictionary or instance of DeliverySettings; "
        "`binlog-connector config` explains the key"
    )


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
    assert caught.value.code is settings_errors.PASSWORD_FILE
    assert caught.value.text == (
        f"source.password_file {absent}: No such file or directory; name a file that this user may "
        "read"
    )


def test_an_unknown_key_is_named(config: Path) -> None:
    config.write_text(MINIMAL.replace("server_id", "sever_id"))
    with pytest.raises(ConfigError) as caught:
        load_settings(config)
    assert caught.value.code is settings_errors.SEVERAL
    assert message_of(config) == (
        "FILE: 2 settings are wrong:\n"
        "  [C105] FILE: source.server_id is required; give it there, or set "
        "BINLOG_CONNECTOR_SOURCE__SERVER_ID\n"
        "  [C103] FILE: unknown key source.sever_id (did you mean source.server_id?); "
        "`binlog-connector config` lists the keys"
    )


def test_a_variable_that_resembles_no_key_is_named(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__PROT", "1")
    assert message_of(config) == (
        "environment variable BINLOG_CONNECTOR_KAFKA__PROT: there is no key kafka.prot; "
        "`binlog-connector config` lists the keys"
    )


def test_an_unknown_variable_is_named(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SORCE__HOST", "db")
    assert message_of(config) == (
        "environment variable BINLOG_CONNECTOR_SORCE__HOST: there is no key sorce.host (did you "
        "mean source.host?); `binlog-connector config` lists the keys"
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
        "`binlog-connector config` explains the key"
    )


def test_two_passwords_are_one_too_many(config: Path) -> None:
    both = 'password = "a"\npassword_file = "b"\n[kafka]'
    config.write_text(MINIMAL.replace("[kafka]", both))
    assert message_of(config) == (
        "FILE: source: give one of password, password_file and password_command; "
        "`binlog-connector config` explains the key"
    )


def test_a_form_of_decimals_needs_the_profile_that_has_it(config: Path) -> None:
    chosen = '[envelope]\ndecimals = "string"\n'
    config.write_text(MINIMAL + chosen)
    assert message_of(config) == (
        'FILE: envelope: decimals = "string" needs profile = "debezium"; '
        "`binlog-connector config` explains the key"
    )
    config.write_text(MINIMAL + chosen + 'profile = "debezium"\n')
    assert load_settings(config).envelope.decimals == "string"


def test_operations_cannot_be_skipped_in_exact_topics(config: Path) -> None:
    config.write_text(MINIMAL + '[envelope]\nskipped_operations = ["d"]\n')
    assert message_of(config) == (
        'FILE: envelope: skipped_operations = ["d"] needs profile = "debezium"; '
        "`binlog-connector config` explains the key"
    )


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (
            'exclude_columns = ["users.email"]\n[kafka]',
            (
                "source.exclude_columns.0: 'users.email' names no columns: write "
                "database.table.column, as in shop.users.email"
            ),
        ),
        (
            'masks = [{ columns = ["a.b.c"], chars = 1, truncate = 2 }]\n[kafka]',
            "source.masks.0: the mask of a.b.c needs exactly one of chars, truncate and hash",
        ),
    ],
)
def test_a_choice_of_columns_is_checked(config: Path, lines: str, text: str) -> None:
    config.write_text(MINIMAL.replace("[kafka]", lines))
    assert message_of(config) == f"FILE: {text}; `binlog-connector config` explains the key"


def test_a_key_of_records_names_its_columns(config: Path) -> None:
    chosen = '[envelope]\nprofile = "debezium"\nmessage_keys = ["orders.customer"]\n'
    config.write_text(MINIMAL + chosen)
    assert message_of(config) == (
        "FILE: envelope.message_keys.0: 'orders.customer' is no key: write "
        "database.table:column,column, as in shop.orders:customer_id; `binlog-connector config` "
        "explains the key"
    )


def test_a_flat_record_has_fields_of_the_envelope(config: Path) -> None:
    chosen = '[envelope]\nprofile = "debezium"\nshape = "flat"\nflat_fields = ["source.time"]\n'
    config.write_text(MINIMAL + chosen)
    assert message_of(config) == (
        "FILE: envelope.flat_fields.0: 'source.time' is no field of a flat record: write op, "
        "ts_ms, ts_us, ts_ns, or a field of the source, as in source.ts_ms; `binlog-connector "
        "config` explains the key"
    )


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            'flat_deletes = "rewrite"',
            (
                'FILE: envelope: flat_deletes = "rewrite" needs shape = "flat"; '
                "`binlog-connector config` explains the key"
            ),
        ),
        (
            'flat_fields = ["op"]',
            (
                'FILE: envelope: flat_fields = ["op"] needs shape = "flat"; '
                "`binlog-connector config` explains the key"
            ),
        ),
    ],
)
def test_an_envelope_has_no_choices_of_flat_records(config: Path, line: str, text: str) -> None:
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\n{line}\n')
    assert message_of(config) == text
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\nshape = "flat"\n{line}\n')
    assert load_settings(config).envelope.shape == "flat"


@pytest.mark.parametrize(
    ("topic", "text"),
    [
        (
            "shop/orders",
            (
                "envelope.routes.0.topic: 'shop/orders' cannot name a topic: it takes up to 249 "
                "letters, digits, dots, _ and -"
            ),
        ),
        (
            "..",
            (
                "envelope.routes.0.topic: '..' cannot name a topic: it takes up to 249 letters, "
                "digits, dots, _ and -"
            ),
        ),
        (
            "shop.schema",
            "rows cannot go to topic shop.schema, which holds records of the connector's own",
        ),
    ],
)
def test_a_route_leads_to_a_topic_of_rows(config: Path, topic: str, text: str) -> None:
    route = f'routes = [{{ tables = "shop_*.orders", topic = "{topic}" }}]\n'
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\n{route}')
    assert text in message_of(config)


def test_notifications_have_a_topic_of_their_own(config: Path) -> None:
    config.write_text(f'{MINIMAL}[notifications]\nkafka_topic = "shop.heartbeat"\n')
    assert (
        "notifications cannot go to topic shop.heartbeat, which holds other records of the "
        "connector"
    ) in message_of(config)


@pytest.mark.parametrize("header", ["type:", ":type", "", "id"])
def test_a_header_of_an_event_names_a_column(config: Path, header: str) -> None:
    config.write_text(
        f'{MINIMAL}[envelope]\nprofile = "debezium"\n[envelope.outbox]\nheaders = ["{header}"]\n'
    )
    assert message_of(config) == (
        f"FILE: envelope.outbox.headers.0: {header!r} is no header of an event: write column or "
        "column:header, as in type:eventType; `binlog-connector config` explains the key"
    )


def test_exact_topics_have_no_events(config: Path) -> None:
    outbox = '[envelope.outbox]\ntables = ["shop.outbox"]\nheaders = ["type:eventType", "n"]\n'
    config.write_text(MINIMAL + outbox)
    assert 'outbox = {"tables": ["shop.outbox"], ' in message_of(config)
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\n{outbox}')
    form = outbox_form(load_settings(config).envelope.outbox)
    assert form is not None
    assert form.headers == (("type", "eventType"), ("n", "n"))


def test_patterns_of_tables_are_those_of_a_server_with_names_in_lower_case(config: Path) -> None:
    keys = (
        'message_keys = ["Shop.Orders:Customer,Id"]\n'
        'source_types = ["Shop.Orders.Price"]\n'
        'source_types_by_type = ["Shop.*.DECIMAL"]\n'
    )
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\n{keys}')
    envelope = in_lower_case(load_settings(config)).envelope
    assert envelope.message_keys == ["shop.orders:Customer,Id"]
    assert envelope.source_types == ["shop.orders.price"]
    assert envelope.source_types_by_type == ["shop.*.decimal"]


def test_exact_topics_have_no_routes(config: Path) -> None:
    route = 'routes = [{ tables = "a.b", topic = "{database}.{table}" }]\n'
    config.write_text(f"{MINIMAL}[envelope]\n{route}")
    assert 'routes = [{"tables": "a.b", "topic": "{database}.{table}"' in message_of(config)
    config.write_text(f'{MINIMAL}[envelope]\nprofile = "debezium"\n{route}')
    (found,) = load_settings(config).envelope.routes
    assert found.key_field == "__dbz__physicalTableIdentifier"


def test_a_cloud_event_has_an_envelope(config: Path) -> None:
    config.write_text(
        f'{MINIMAL}[envelope]\nprofile = "debezium"\nvalue_format = "cloudevents"\nshape = "flat"'
    )
    assert 'value_format = "cloudevents" needs shape = "envelope"' in message_of(config)


def test_a_file_that_is_not_toml_is_explained(config: Path) -> None:
    config.write_text("name = \n")
    assert message_of(config) == (
        "FILE: not valid TOML: Invalid value (at line 1, column 8); `binlog-connector config` "
        "shows how it is written"
    )


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    assert message_of(tmp_path / "absent.toml") == (
        "FILE: cannot read the configuration: No such file or directory; give the path of a file "
        "such as `binlog-connector config` prints"
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
        f'environment variable {variable}: not JSON; write a list like ["first", "second"], and a '
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


def in_section(section: str, line: str) -> str:
    return MINIMAL.replace(section, f"{section}\n{line}")


@pytest.mark.parametrize(
    ("start", "meant"),
    [
        ("snapoot", "snapshot"),
        ("positon:binlog.000042:4", "position:binlog.000042:4"),
        ("now", None),
        ("", None),
    ],
)
def test_a_start_that_does_not_exist_is_answered_by_those_that_do(
    config: Path, start: str, meant: str | None
) -> None:
    config.write_text(in_section("[source]", f'start = "{start}"'))
    hint = "" if meant is None else f' (did you mean "{meant}"?)'
    with pytest.raises(ConfigError) as caught:
        load_settings(config)
    assert caught.value.code is (
        settings_errors.START if meant is None else settings_errors.SIMILAR_START
    )
    assert message_of(config) == (
        f'FILE: source.start: "{start}" is not snapshot, earliest, latest, gtid:SET, '
        f"position:FILE:POS or timestamp:TIME{hint}; `binlog-connector config` explains the key"
    )


@pytest.mark.parametrize(
    ("start", "code", "form"),
    [
        (
            "gtid",
            settings_errors.START_GTID,
            "gtid:SET, such as gtid:3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77 or gtid:0-1-77",
        ),
        (
            "position:42",
            settings_errors.START_POSITION,
            "position:FILE:POS, such as position:binlog.000042:4",
        ),
        (
            "timestamp:noon",
            settings_errors.START_TIME,
            "timestamp:TIME, such as timestamp:2026-11-21T10:00:00Z",
        ),
    ],
)
def test_a_start_of_a_wrong_form_is_answered_by_the_right_one(
    config: Path, start: str, code: ErrorCode, form: str
) -> None:
    config.write_text(in_section("[source]", f'start = "{start}"'))
    with pytest.raises(ConfigError) as caught:
        load_settings(config)
    assert caught.value.code is code
    assert caught.value.text == (
        f'{config}: source.start: "{start}" is not {form}; `binlog-connector config` explains the '
        "key"
    )


@pytest.mark.parametrize(
    ("key", "name", "hint"),
    [
        ("tables", "erp", ' (did you mean "erp.*"?)'),
        ("exclude_tables", ".orders", ""),
        ("exclude_tables", "erp.", ""),
    ],
)
def test_a_name_without_a_database_or_a_table_is_refused(
    config: Path, key: str, name: str, hint: str
) -> None:
    config.write_text(in_section("[source]", f'{key} = ["{name}"]'))
    with pytest.raises(ConfigError) as caught:
        load_settings(config)
    assert caught.value.code is (settings_errors.DATABASE if hint else settings_errors.TABLE)
    assert message_of(config) == (
        f'FILE: source.{key}.0: "{name}" does not name a table: write DATABASE.TABLE, * for any '
        f"name{hint}; `binlog-connector config` explains the key"
    )


@pytest.mark.parametrize(
    ("section", "line", "said"),
    [
        ("[kafka]", 'topic = "shop"', "kafka.topic (did you mean kafka.topic_prefix?)"),
        ("[kafka]", "prot = 1", "kafka.prot"),
        ("[source]", 'pasword = "x"', "source.pasword (did you mean source.password?)"),
        ("[source]", "partitions = 1", "source.partitions (did you mean kafka.partitions?)"),
        ("[kafka]", "[sorce]", "sorce (did you mean source?)"),
    ],
)
def test_an_unknown_key_is_answered_by_the_nearest_one(
    config: Path, section: str, line: str, said: str
) -> None:
    config.write_text(f"{MINIMAL}{line}" if line[0] == "[" else in_section(section, line))
    assert message_of(config) == (
        f"FILE: unknown key {said}; `binlog-connector config` lists the keys"
    )


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "shop"', 'name = "my shop"',
         "name: a name has ASCII letters, digits, dots, _ and - alone"),
        ('topic_prefix = "shop"', 'topic_prefix = "a.b"',
         "kafka.topic_prefix: a prefix has ASCII letters, digits, _ and - alone"),
        ('["127.0.0.1:9092"]', '["http://k"]',
         "kafka.bootstrap_servers.0: give HOST or HOST:PORT, an IPv6 address in brackets"),
        *(('["127.0.0.1:9092"]', f'["{url}"]',
           (f'kafka.bootstrap_servers.0: "{url}" does not name a folder: write file:// and its '
            "absolute path, as in file:///var/lib/cdc/log"))
          for url in ("file:", "file://", "file:///", "file:log", "file:/log", "file://host/log",
                      "file:///log?a", "file:///log#a")),
        ("[kafka]", '[metrics]\nlisten = "9400"\n[kafka]',
         "metrics.listen: give HOST:PORT to listen on, such as 127.0.0.1:9400"),
        *(("[kafka]", f'[metrics]\nlisten = "127.0.0.1:{port}"\n[kafka]',
           "metrics.listen: a port is a number from 1 to 65535") for port in (0, 65536)),
        *(("[kafka]", f'[metrics]\notlp = "{url}"\n[kafka]',
           ("metrics.otlp: give the address of an OTLP receiver over HTTP, such as "
            "http://127.0.0.1:4318, without a user and a password: OTEL_EXPORTER_OTLP_HEADERS can "
            "hold them"))
          for url in ("127.0.0.1:4318", "https://cdc:secret@collector:4318")),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_form_is_answered_in_words(
    config: Path, old: str, new: str, said: str
) -> None:
    config.write_text(MINIMAL.replace(old, new))
    assert message_of(config) == f"FILE: {said}; `binlog-connector config` explains the key"


@pytest.mark.parametrize(
    ("servers", "folder"),
    [
        ('["file:///var/lib/cdc/log"]', Path("/var/lib/cdc/log")),
        ('["file://localhost/var/my%20log/"]', Path("/var/my log")),
        ('["file", "k:9092"]', None),
    ],
)
def test_a_folder_in_place_of_brokers_is_named_by_a_url(
    config: Path, servers: str, folder: Path | None
) -> None:
    config.write_text(MINIMAL.replace('["127.0.0.1:9092"]', servers))
    assert folder_of(load_settings(config).kafka.bootstrap_servers) == folder


@pytest.mark.parametrize(
    ("servers", "more", "said"),
    [
        ('["file:///log", "k:9092"]', "", "more than the folder: file:///log, k:9092"),
        ('["k:9092", "file:///log"]', "", "more than the folder: k:9092, file:///log"),
        ('["file:///log"]', 'security_protocol = "SSL"', "security_protocol is SSL"),
    ],
)
def test_a_folder_stands_alone_and_takes_no_login(
    config: Path, servers: str, more: str, said: str
) -> None:
    config.write_text(MINIMAL.replace('["127.0.0.1:9092"]', servers) + more)
    with pytest.raises(ConfigError) as refused:
        load_settings(config)
    of_login = settings_errors.FOLDER_LOGIN, settings_errors.FOLDER_ALONE
    assert refused.value.code in of_login
    assert refused.value.text.replace(str(config), "FILE") == (
        f"FILE: kafka: bootstrap_servers names a folder, and {said}; keep the folder alone, "
        "without security_protocol; or name brokers alone; `binlog-connector config` explains the "
        "key"
    )


SASL = """security_protocol = "SASL_SSL"
sasl_mechanism = "PLAIN"
sasl_username = "cdc"
"""


def test_a_password_of_kafka_can_come_from_a_file(config: Path, tmp_path: Path) -> None:
    secret = tmp_path / "kafka"
    secret.write_text("secret\n")
    config.write_text(f'{MINIMAL}{SASL}sasl_password_file = "{secret}"')
    kafka = load_settings(config).kafka
    assert kafka.read_sasl_password() == "secret"
    assert client_settings(kafka)["sasl_plain_password"] == "secret"


def test_a_password_of_kafka_can_come_from_the_environment(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_KAFKA__SASL_PASSWORD", "secret")
    config.write_text(MINIMAL + SASL)
    assert client_settings(load_settings(config).kafka)["sasl_plain_password"] == "secret"


def test_a_missing_file_of_kafkas_password_is_named(config: Path, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    config.write_text(f'{MINIMAL}{SASL}sasl_password_file = "{absent}"')
    with pytest.raises(ConfigError) as caught:
        client_settings(load_settings(config).kafka)
    assert caught.value.text == (
        f"kafka.sasl_password_file {absent}: No such file or directory; name a file that this user "
        "may read"
    )


def test_two_passwords_of_kafka_are_one_too_many(config: Path) -> None:
    config.write_text(f'{MINIMAL}{SASL}sasl_password = "a"\nsasl_password_file = "b"')
    assert message_of(config) == (
        "FILE: kafka: give one of sasl_password, sasl_password_file and sasl_password_command; "
        "`binlog-connector config` explains the key"
    )


def test_two_tokens_are_one_too_many(config: Path) -> None:
    config.write_text(f'{MINIMAL}[metrics]\ntoken = "a"\ntoken_file = "b"')
    assert message_of(config) == (
        "FILE: metrics: give one of token and token_file; "
        "`binlog-connector config` explains the key"
    )


def test_two_passwords_of_the_registry_are_one_too_many(config: Path, tmp_path: Path) -> None:
    config.write_text(f'{MINIMAL}[registry]\npassword = "a"\npassword_file = "b"')
    assert message_of(config) == (
        "FILE: registry: registry.password and registry.password_file are both given; keep one of "
        "the two; `binlog-connector config` explains the key"
    )
    secret = tmp_path / "secret"
    secret.write_text("b\n")
    for line, password in (('password = "a"', "a"), (f'password_file = "{secret}"', "b"), ("", "")):
        config.write_text(f"{MINIMAL}[registry]\n{line}")
        assert load_settings(config).registry.read_password() == password


@pytest.mark.parametrize(
    "url",
    ["registry:8081", "", "ftp://a", "http://", "http://u:p@a", "http://a?b", "http://a:x", "a/b"],
)
def test_a_registry_has_an_url(config: Path, url: str) -> None:
    config.write_text(f'{MINIMAL}[registry]\nurls = ["{url}"]')
    assert message_of(config) == (
        "FILE: registry.urls.0: give the URL of a schema registry, http://host:port or "
        "https://host:port, without a user and a password: registry.username and "
        "registry.password can hold them; `binlog-connector config` explains the key"
    )


def test_a_token_is_read_from_the_file_or_the_configuration(config: Path, tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    for line in (f'token_file = "{file}"', 'token = "0123456789abcdef"'):
        config.write_text(f"{MINIMAL}[metrics]\n{line}")
        assert load_settings(config).metrics.read_token() == "0123456789abcdef"
    config.write_text(MINIMAL)
    assert load_settings(config).metrics.read_token() is None


@pytest.mark.parametrize("key", ["token", "token_file"])
def test_a_short_token_is_refused_and_not_shown(config: Path, tmp_path: Path, key: str) -> None:
    file = tmp_path / "file"
    file.write_text("s3cret")
    value = file if key == "token_file" else "s3cret"
    config.write_text(f'{MINIMAL}[metrics]\n{key} = "{value}"')
    with pytest.raises(ConfigError) as caught:
        load_settings(config).metrics.read_token()
    assert caught.value.text == (
        f"metrics.{key}: the token has 6 characters, and needs 16 or more; take a random one, such "
        "as what `openssl rand -hex 16` prints"
    )


@pytest.mark.parametrize(
    ("password", "mode", "held"),
    [
        ('[source]\npassword = "x"', 0o644, "source.password"),
        ('[kafka]\nsasl_password = "x"', 0o604, "kafka.sasl_password"),
        ('[metrics]\ntoken = "x"', 0o644, "metrics.token"),
        ('[registry]\npassword = "x"', 0o644, "registry.password"),
        (
            '[source]\nmasks = [{ columns = ["a.b.c"], hash = "MD5", salt = "x" }]',
            0o644,
            "source.masks.salt",
        ),
        ('[source]\nmasks = [{ columns = ["a.b.c"], chars = 3 }]', 0o644, None),
        ('[source]\npassword = "x"', 0o640, None),
        ('[source]\npassword = ""', 0o644, None),
        ('[source]\npassword_file = "x"', 0o644, None),
    ],
)
def test_a_password_that_every_user_may_read_is_told(
    config: Path, password: str, mode: int, held: str | None
) -> None:
    section, line = password.split("\n")
    text = in_section(section, line) if section in MINIMAL else f"{MINIMAL}{password}"
    config.write_text(text)
    config.chmod(mode)
    said = world_readable_warning(config)
    assert (None if said is None else said.text) == (
        None
        if held is None
        else f"{config}: every user of this machine may read {held} there; chmod o-r {config}"
    )


def test_the_form_of_the_log_is_known_of_a_configuration_with_mistakes(
    config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_format(config) == "console"
    config.write_text('nme = "shop"\n[log]\nformat = "json"')
    assert log_format(config) == "json"
    config.write_text("log = 1")
    assert log_format(config) == "console"
    config.write_text("[log")
    assert log_format(config) == "console"
    monkeypatch.setenv("BINLOG_CONNECTOR_LOG__FORMAT", "json")
    assert log_format(config) == "json"


REFERENCE = Path(__file__).parents[3] / "configs" / "connector.toml"


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
