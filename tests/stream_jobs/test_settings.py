"""The TOML file and the environment become settings, or a line for each wrong key."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_args

import pytest

from connector.foundation.errors import ConfigError
from stream_jobs.apply.modes import MODES
from stream_jobs.run.spark_session import require_one_machine
from stream_jobs.settings import Settings, TableSettings, load_settings
from stream_jobs.tables.table_options import TableOptionsResolver

if TYPE_CHECKING:
    from pathlib import Path

MINIMAL = """
name = "shop"
[kafka]
bootstrap_servers = ["broker:9092"]
topic_prefix = "shop"
[mirror]
path = "/data/mirror"
checkpoint = "/data/checkpoint"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "job.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_required_keys_are_enough_and_the_rest_has_defaults(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, MINIMAL))
    assert settings.trigger.kind == "processingTime"
    assert settings.trigger.interval_seconds == 1.0
    assert settings.kafka.max_offsets_per_trigger == 100_000
    assert settings.mirror.zero_dates == "error"
    assert settings.spark.jars == []


def test_a_folder_in_place_of_brokers_needs_spark_on_this_machine() -> None:
    settings = Settings.model_validate(
        {
            "name": "shop",
            "kafka": {"bootstrap_servers": ["file:///var/lib/cdc/log"], "topic_prefix": "shop"},
            "mirror": {"path": "/data/mirror"},
        }
    )
    for master in ("local[*]", "spark://cluster:7077"):
        session: Any = SimpleNamespace(sparkContext=SimpleNamespace(master=master))
        if master == "local[*]":
            require_one_machine(session, settings)
            continue
        with pytest.raises(ConfigError) as refused:
            require_one_machine(session, settings)
        assert str(refused.value) == (
            "[M829] kafka.bootstrap_servers names a folder, and Spark runs on "
            "spark://cluster:7077; run Spark on the machine that has the folder, without "
            "spark.master, or use Kafka"
        )


def test_the_documented_example_loads(pytestconfig: pytest.Config) -> None:
    settings = load_settings(pytestconfig.rootpath / "configs" / "stream_job.toml")
    assert settings.name == "shop"


def test_every_key_is_documented_with_its_default(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "configs" / "stream_job.toml").read_text(encoding="utf-8")
    settings = load_settings(pytestconfig.rootpath / "configs" / "stream_job.toml")
    for section_name in (
        "kafka",
        "mirror",
        "iceberg",
        "first_load",
        "replica",
        "catalog",
        "trigger",
        "log",
        "metrics",
        "spark",
    ):
        section = getattr(settings, section_name)
        _, _, body = text.partition(f"\n[{section_name}]\n")
        for key, field in type(section).model_fields.items():
            if field.is_required():
                assert re.search(rf"^{key} = ", body, re.MULTILINE), key
            elif field.default is None:
                assert re.search(rf'^# {key} = "', body, re.MULTILINE), key
            elif not isinstance(field.default, dict):
                default = field.default
                spelled = f'"{default}"' if isinstance(default, str) else str(default)
                spelled = str(default).lower() if isinstance(default, bool) else spelled
                spelled = spelled.replace("'", '"')
                assert re.search(rf"^# {key} = {re.escape(spelled)}$", body, re.MULTILINE), key
            else:
                assert f"\n[{section_name}.{key}]\n" in text, key


def test_every_key_of_a_table_is_documented_with_its_default(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "configs" / "stream_job.toml").read_text(encoding="utf-8")
    _, _, rest = text.partition("\n# [[tables]]\n")
    body, _, _ = rest.partition("\n[catalog]\n")
    for key, field in TableSettings.model_fields.items():
        # TOML has no word for None: an example stands there.
        has_text = not field.is_required() and field.get_default() is not None
        value = re.escape(json.dumps(field.get_default())) if has_text else ".+"
        assert re.search(rf"^# {key} = {value}$", body, re.MULTILINE), key


def test_every_mode_has_a_class_and_is_documented(pytestconfig: pytest.Config) -> None:
    modes = get_args(TableSettings.model_fields["mode"].annotation)
    assert set(modes) == set(MODES)
    file = (pytestconfig.rootpath / "configs" / "stream_job.toml").read_text(encoding="utf-8")
    page = (pytestconfig.rootpath / "docs" / "mirror.md").read_text(encoding="utf-8")
    assert [mode for mode in modes if f'#   "{mode}" ' not in file] == []
    assert [mode for mode in modes if f"| `{mode}` |" not in page] == []


@pytest.mark.parametrize(
    ("database", "table", "mode"),
    [("erp", "audit_2026", "journal"), ("erp", "orders", "history"), ("crm", "a", "current")],
)
def test_the_first_pattern_decides(database: str, table: str, mode: str) -> None:
    choices = TableOptionsResolver(
        [
            TableSettings(match=["crm.b", "erp.audit_*"], mode="journal"),
            TableSettings(match=["erp.*"], mode="history"),
        ]
    )
    assert choices.of(database, table).mode == mode


def test_a_table_has_the_formats_of_all_or_its_own() -> None:
    tables = [
        TableSettings(match=["erp.log"], formats=["delta"]),
        TableSettings(match=["erp.orders"], formats=["delta", "iceberg"]),
        TableSettings(match=["erp.*"]),
    ]
    both = TableOptionsResolver(tables, formats=["delta", "iceberg"])
    assert [both.has_iceberg("erp", name) for name in ("log", "orders", "a")] == [False, True, True]
    one = TableOptionsResolver(tables, formats=["delta"])
    assert [one.has_iceberg("erp", name) for name in ("log", "orders", "a")] == [False, True, False]
    assert (one.is_iceberg, TableOptionsResolver(tables[:1]).is_iceberg) == (True, False)


def test_the_salt_of_hashes_comes_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_JOB_MIRROR__HASH_SALT", "salt and no pepper")
    text = MINIMAL + '[[tables]]\nmatch = ["a.b"]\nhash_columns = ["c"]'
    settings = load_settings(write(tmp_path, text))
    assert settings.mirror.hash_salt is not None
    assert settings.mirror.hash_salt.get_secret_value() == "salt and no pepper"
    assert "pepper" not in repr(settings)


@pytest.mark.parametrize("name", ["orders", "a.b.c", ".b", "a.", "{table}", "{a.b}"])
def test_a_name_that_is_no_database_and_table_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a mirror"):
        TableSettings(match=["*.*"], name=name)


def test_the_environment_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS", '["other:9092"]')
    monkeypatch.setenv("STREAM_JOB_KAFKA__SASL_PASSWORD", "a secret")
    login = 'security_protocol = "SASL_SSL"\nsasl_mechanism = "PLAIN"\nsasl_username = "me"\n'
    login += 'ssl_ca = "/ca.pem"\n[mirror]'
    settings = load_settings(write(tmp_path, MINIMAL.replace("[mirror]", login)))
    facts = settings.kafka.facts()
    assert facts.bootstrap_servers == ("other:9092",)
    assert dict(facts.security) == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "me",
        "sasl_plain_password": "a secret",
        "ssl_cafile": "/ca.pem",
    }
    assert "a secret" not in repr(settings)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            MINIMAL + "comits_in_parallel = 3",
            (
                "{path}: unknown key mirror.comits_in_parallel (did you mean "
                "mirror.commits_in_parallel?); `binlog-connector config stream_job.toml` lists the "
                "keys"
            ),
        ),
        (
            MINIMAL.replace('path = "/data/mirror"', ""),
            "{path}: mirror.path is required; give it there, or set STREAM_JOB_MIRROR__PATH",
        ),
        (
            MINIMAL + 'zero_dates = "guess"',
            (
                "{path}: mirror.zero_dates: Input should be 'error' or 'null'; `binlog-connector "
                "config stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL.replace('topic_prefix = "shop"', 'topic_prefix = "a.b"'),
            (
                "{path}: kafka.topic_prefix: a prefix has ASCII letters, digits, _ and - alone; "
                "`binlog-connector config stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL + "[cuts]\nretention_hours = 7",
            (
                "{path}: cuts: cuts would be listed for 7 hours, and the versions of tables can be "
                "read for 6 hours (mirror.retention_hours); set mirror.retention_hours to at least "
                "7, or cuts.retention_hours to at most 6; `binlog-connector config "
                "stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL + '[[tables]]\nmatch = ["a.b"]\nhash_columns = ["c"]',
            (
                "{path}: tables: hash_columns needs a salt; set mirror.hash_salt, best in the "
                "environment as STREAM_JOB_MIRROR__HASH_SALT; `binlog-connector config "
                "stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL + '[[tables]]\nmatch = ["a.b"]\npartition_by = ["c"]\ncluster_by = ["d"]',
            (
                "{path}: tables.0.cluster_by: a table has either partition_by or cluster_by, not "
                "both; `binlog-connector config stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL + '[[tables]]\nmatch = ["a.b"]\nname = "{{schema}}.b"',
            (
                "{path}: tables.0.name: '{{schema}}.b' is not the name of a mirror; write "
                "DATABASE.TABLE; {{database}} and {{table}} stand for the names at the source; "
                "`binlog-connector config stream_job.toml` explains the key"
            ),
        ),
        (
            MINIMAL.replace("[mirror]", '[mirror]\nformats = ["iceberg"]'),
            (
                '{path}: mirror.formats: each mirror is a Delta table; use ["delta"], or ["delta", '
                '"iceberg"] for tables that are both; `binlog-connector config stream_job.toml` '
                "explains the key"
            ),
        ),
        (
            MINIMAL.replace("[kafka]", '[kafka]\nsecurity_protocol = "SSL"').replace(
                "broker:9092", "file:///var/lib/cdc/log"
            ),
            (
                "{path}: kafka: bootstrap_servers names a folder, and security_protocol is SSL; "
                "keep the folder alone, without security_protocol; or name brokers alone; "
                "`binlog-connector config stream_job.toml` explains the key"
            ),
        ),
        (
            "name = ",
            (
                "{path}: not valid TOML: Invalid value (at end of document); `binlog-connector "
                "config stream_job.toml` shows how it is written"
            ),
        ),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text.replace("{{", "{").replace("}}", "}"))
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert caught.value.text == message.format(path=path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.toml"
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert caught.value.text == (
        f"{path}: cannot read the configuration: No such file or directory; give the path of a "
        "file such as `binlog-connector config stream_job.toml` prints"
    )


def test_a_mistyped_environment_variable_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_JOB_MIRROR__PATHS", "/elsewhere")
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, MINIMAL))
    assert caught.value.text == (
        "environment variable STREAM_JOB_MIRROR__PATHS: there is no key mirror.paths (did you mean "
        "mirror.path?); `binlog-connector config stream_job.toml` lists the keys"
    )


def test_a_list_that_is_not_json_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS", "a=b")
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, MINIMAL))
    assert caught.value.text == (
        "environment variable STREAM_JOB_KAFKA__BOOTSTRAP_SERVERS: not JSON; write a list like "
        '["first", "second"], and a section like {"key": "value"}'
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MINIMAL + '[log]\nformat = "console"\n', "console"),
        ("unknown = 1\n[log]\nformat = 7\n", 7),
        ("log = 3\n", None),
        (MINIMAL, None),
        ("name = ", None),
    ],
)
def test_a_value_can_be_read_from_a_file_with_mistakes(
    tmp_path: Path, text: str, found: object
) -> None:
    assert Settings.peek(write(tmp_path, text), "log.format") == found


def test_the_environment_wins_over_a_file_with_mistakes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STREAM_JOB_LOG__FORMAT", "json")
    assert Settings.peek(tmp_path / "missing.toml", "log.format") == "json"


def test_the_address_of_the_figures_is_a_host_and_a_port(tmp_path: Path) -> None:
    path = write(tmp_path, MINIMAL + '[metrics]\nlisten = "9401"\n')
    with pytest.raises(ConfigError) as caught:
        load_settings(path)
    assert caught.value.text.startswith(f"{path}: metrics.listen: ")


def test_the_replica_has_one_password_and_a_database_with_one_name(tmp_path: Path) -> None:
    both = '[replica]\npassword = "a"\npassword_file = "b"\n'
    with pytest.raises(
        ConfigError, match="give one of password, password_file and password_command"
    ):
        load_settings(write(tmp_path, MINIMAL + both))
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, MINIMAL + '[replica]\ndatabase = "{table}_copy"\n'))
    assert (
        "replica.database: '{table}_copy' is not the name of a database in which {database} stands "
        'for that of the mirror; write it like "copy_{database}"; '
    ) in str(caught.value)
    secret = tmp_path / "secret"
    secret.write_text("pass word\n")
    found = load_settings(write(tmp_path, f'{MINIMAL}[replica]\npassword_file = "{secret}"\n'))
    assert found.replica.read_password() == "pass word"


def test_a_password_file_that_is_missing_is_named_with_its_section(tmp_path: Path) -> None:
    for section in ("first_load", "replica"):
        lines = f'{MINIMAL}[{section}]\npassword_file = "{tmp_path}/none"\n'
        found = load_settings(write(tmp_path, lines))
        login = found.replica if section == "replica" else found.first_load
        with pytest.raises(ConfigError, match=rf"{section}\.password_file "):
            login.read_password()


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ('catalog = "catalog:8181"', "[M823] this is not the URL of an Iceberg REST"),
        ('catalog = "https://a@b/api"', "[M823] this is not the URL"),
        (
            'catalog = "https://b/v1/"',
            '[M823] write "https://HOST/PATH", without a login and without /v1',
        ),
        ('token_url = "login"', "[M823] this is not the URL"),
        ('namespace = "{table}"', "[M824] '{table}' is not a namespace in which {database} "),
        ('namespace = "a..b"', "[M824] 'a..b' is not a namespace"),
        (
            'client_id = "a"',
            (
                "[M825] iceberg.client_id needs client_secret or client_secret_file, and these "
                "need client_id"
            ),
        ),
        ('client_secret = "b"', "[M825] iceberg.client_id needs client_secret"),
        (
            'token = "a"\ntoken_file = "b"',
            (
                "[C196] give one of token, token_file, token_command, client_id and sigv4_service "
                "in [iceberg], and one of client_secret and client_secret_file"
            ),
        ),
        ('token = "a"\nclient_id = "a"\nclient_secret = "b"', "[C196] give one of token"),
        (
            'token_file = "a"\nsigv4_service = "glue"\nsigv4_region = "eu-west-1"',
            "[C196] give one of token",
        ),
        (
            'client_id = "a"\nclient_secret = "b"\nsigv4_service = "glue"\nsigv4_region = "c"',
            "[C196] give one of token",
        ),
        (
            'sigv4_service = "glue"',
            "[M825] iceberg.sigv4_service needs sigv4_region, and this needs sigv4_service",
        ),
        ('sigv4_region = "eu-west-1"', "[M825] iceberg.sigv4_service needs sigv4_region"),
    ],
)
def test_a_mistake_about_the_catalog_is_told(tmp_path: Path, lines: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_settings(write(tmp_path, f"{MINIMAL}[iceberg]\n{lines}\n"))
    code, _, text = told.partition(" ")
    assert str(caught.value).startswith(code)
    assert text in str(caught.value)


def test_secrets_of_the_catalog_are_masked(tmp_path: Path) -> None:
    lines = 'catalog = "https://catalog/"\nclient_id = "a"\nclient_secret = "s3cret"'
    settings = load_settings(write(tmp_path, f"{MINIMAL}[iceberg]\n{lines}\n"))
    assert settings.iceberg.catalog == "https://catalog"
    assert "s3cret" not in repr(settings)
