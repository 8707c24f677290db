"""The TOML file and the environment become settings, or a line for each wrong key."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from connector.errors import ConfigError
from stream_jobs.settings import load_settings

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
    assert settings.trigger.interval_seconds == 5.0
    assert settings.kafka.max_offsets_per_trigger == 100_000
    assert settings.mirror.zero_dates == "error"
    assert settings.spark.jars == []


def test_the_documented_example_loads(pytestconfig: pytest.Config) -> None:
    settings = load_settings(pytestconfig.rootpath / "configs" / "stream_job.toml")
    assert settings.name == "shop"


def test_every_key_is_documented_with_its_default(pytestconfig: pytest.Config) -> None:
    text = (pytestconfig.rootpath / "configs" / "stream_job.toml").read_text(encoding="utf-8")
    settings = load_settings(pytestconfig.rootpath / "configs" / "stream_job.toml")
    for section_name in ("kafka", "mirror", "trigger", "spark"):
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
                spelled = spelled.replace("'", '"')
                assert re.search(rf"^# {key} = {re.escape(spelled)}$", body, re.MULTILINE), key
            else:
                assert f"\n[{section_name}.{key}]\n" in text, key


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
            MINIMAL.replace('checkpoint = "/data/checkpoint"', ""),
            (
                "{path}: mirror.checkpoint is required; give it there, or set "
                "STREAM_JOB_MIRROR__CHECKPOINT"
            ),
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
            "name = ",
            (
                "{path}: not valid TOML: Invalid value (at end of document); `binlog-connector "
                "config stream_job.toml` shows how it is written"
            ),
        ),
    ],
)
def test_a_wrong_key_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, text)
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
