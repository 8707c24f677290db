"""URLs in errors, log lines and answers to wrong arguments have no passwords."""

from __future__ import annotations

import io
import json
import sys
import time
from typing import TYPE_CHECKING

import pytest
import structlog

from connector.cli.configuration import configure_logging
from connector.foundation.errors import ConfigError, SinkUnavailable
from connector.foundation.errors.secrets_in_urls import (
    url_without_secrets,
    value_without_secrets,
    without_secrets,
)
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings
from connector.kafka import connection_errors
from connector.stream.status.status_log import RecentEvents
from stream_jobs.replica.loop import ReplicaLines
from stream_jobs.run.console_lines import open_lines
from tests.application import invoke

if TYPE_CHECKING:
    from pathlib import Path

URL = "mysql://cdc:geheim@db:3306/shop"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (URL, "mysql://cdc@db:3306/shop"),
        ("mysql://cdc@db/shop", "mysql://cdc@db/shop"),
        ("mysql://db:3306/a", "mysql://db:3306/a"),
        # Not encoded.
        ("MySQL://cdc:g@e/h?e#i:m@db", "MySQL://cdc@db"),
        ("mysql://me@tenant:geheim@db", "mysql://me@tenant@db"),
        # A path has lost a slash.
        ("jdbc:mysql:/cdc:geheim@db/x: no file", "jdbc:mysql:/cdc@db/x: no file"),
        ("from http://a:geheim@r1/x to http://b:geheim@r2", "from http://a@r1/x to http://b@r2"),
        ("https://cdc@collector/v1", "https://cdc@collector/v1"),
        ("write mysql://USER:PASSWORD@HOST:PORT/", "write mysql://USER:PASSWORD@HOST:PORT/"),
        ("abfss://files@account.example/a", "abfss://files@account.example/a"),
        ("s3://bucket/a:b/c@d", "s3://bucket/a:b/c@d"),
        ("jdbc:h2://h;user=a;PASSWORD=geheim;b=c", "jdbc:h2://h;user=a;PASSWORD;b=c"),
        ("postgresql://h/d?user=a&sslpassword=geheim", "postgresql://h/d?user=a&sslpassword"),
        (
            "https://a.blob/c/k?sp=r&se=2027-01-01&sig=geheim%3D timed out",
            "https://a.blob/c/k?sp=r&se=2027-01-01&sig timed out",
        ),
        (
            "https://s3/b/k?X-Amz-Credential=AK&X-Amz-Security-Token=ge&X-Amz-Signature=he&a=b",
            "https://s3/b/k?X-Amz-Credential&X-Amz-Security-Token&X-Amz-Signature&a=b",
        ),
        (
            "https://s3/k?AWSAccessKeyId=AK&Signature=geheim",
            "https://s3/k?AWSAccessKeyId&Signature",
        ),
        ("https://maps/?key=geheim&keys=a", "https://maps/?key&keys=a"),
        ("rows a:b@c, 12:30?token=a", "rows a:b@c, 12:30?token=a"),
        ("https://h/p#access_token=geheim", "https://h/p#access_token"),
        ("https://h/?jwt=ge&auth=he&sas=im&author=a", "https://h/?jwt&auth&sas&author=a"),
        # Without a name, what follows belongs to the value.
        ("https://h/?password=ge&h@eim&a=b", "https://h/?password&a=b"),
        ("https://h/?token=ab://geheim", "https://h/?token"),
        ("https://h/?token=geheim; again", "https://h/?token; again"),
        (r"mysql:\/\/cdc:geheim@db\/x", r"mysql:\/\/cdc@db\/x"),
        ("a_b://u:geheim@h", "a_b://u@h"),
        # Digits of a password.
        ("mysql://u:12/geheim@db", "mysql://u@db"),
        ("mysql://u:33061234@db", "mysql://u@db"),
        ("http://u:12/geheim@r1:8081/a", "http://u@r1:8081/a"),
        ("http://u:8081x/geheim@r1", "http://u@r1"),
        (r"mysql://ADS\u:geheim@db", r"mysql://ADS\u@db"),
        ("mysql://a,b:geheim@db", "mysql://a,b@db"),
        ("mysql://u:/geheim@db", "mysql://u@db"),
        ("mysql://u:?key=geheim@db", "mysql://u@db"),
        # Quotes and URLs in passwords.
        ("no database 'mysql://u:ge'heim@db'", "no database 'mysql://u@db'"),
        ("no database 'mysql://u:ge',heim@db'", "no database 'mysql://u@db'"),
        ("no database 'mysql://u:3306',geheim@db'", "no database 'mysql://u@db'"),
        ("no database 'mysql://u:ge@',heim@db'", "no database 'mysql://u@db'"),
        ("http://u:ge,http://heim@h", "http://u@h"),
        (r"http://u:12\geheim@h", "http://u@h"),
        # Ports.
        ("http://r:8081/subjects/a@b-value", "http://r:8081/subjects/a@b-value"),
        ("hdfs://n:9000/w/shop@prod/a", "hdfs://n:9000/w/shop@prod/a"),
        ("http://[::1]:8081/a@b", "http://[::1]:8081/a@b"),
        ("http://u:geheim@[::1]:8081/a", "http://u@[::1]:8081/a"),
        # Several in one word.
        ("http://r1:8081,http://u:geheim@r2:8081", "http://r1:8081,http://u@r2:8081"),
        ("http://r1,http://u:geheim@r2", "http://r1,http://u@r2"),
        ("http://a:geheim@r1,http://b:geheim@r2/c", "http://a@r1,http://b@r2/c"),
        ("mysql://a:3306,mysql://u:geheim@b", "mysql://a:3306,mysql://u@b"),
        ("http://a:80?next=http://u:geheim@h", "http://a:80?next=http://u@h"),
        # In other texts.
        ('{"url":"http://r:8081","owner":"a@b"}', '{"url":"http://r:8081","owner":"a@b"}'),
        ('{"url":"mysql://db:3306/a","owner":"a@b"}', '{"url":"mysql://db:3306/a","owner":"a@b"}'),
        ('{"a":"jdbc:mysql://u:geheim@h?key=x","b":1}', '{"a":"jdbc:mysql://u@h?key","b":1}'),
        (r'"{\"a\":\"http://u:geheim@h?key=x\",\"b\":1}"', r'"{\"a\":\"http://u@h?key\",\"b\":1}"'),
        ("COMMENT='http://w:80/t?key=geheim',ENGINE=x", "COMMENT='http://w:80/t?key',ENGINE=x"),
    ],
)
def test_a_text_has_no_secrets_of_urls(text: str, shown: str) -> None:
    assert without_secrets(text) == shown
    assert without_secrets(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("mysql://cdc:ge h@e\nim@db", "mysql://cdc@db"),
        ("a.b=mysql://u:ge heim@db/x?password=ge heim&a=b", "a.b=mysql://u@db/x?password&a=b"),
        ("http://registry:8081/a b@c", "http://registry:8081/a b@c"),
        ("rows a:b c@d", "rows a:b c@d"),
    ],
)
def test_a_url_has_no_secrets_with_white_space(text: str, shown: str) -> None:
    assert url_without_secrets(text) == shown
    assert url_without_secrets(shown) == shown


def test_a_value_of_any_type_has_no_secrets_of_urls() -> None:
    error = ValueError(f"{URL} failed")
    assert value_without_secrets({"a": [{URL}], "b": error, "c": (1, 2.5, True, None)}) == {
        "a": [["mysql://cdc@db:3306/shop"]],
        "b": "mysql://cdc@db:3306/shop failed",
        "c": [1, 2.5, True, None],
    }


@pytest.mark.parametrize("end", ["", "@", ",ab://x:1@"])
@pytest.mark.parametrize("start", ["ab://x?", '"ab://x:'])
@pytest.mark.parametrize(
    "part",
    [
        *("ab:/", "ab", "?token", "&a=", "@", ":/:", "://x:@", "a:", "'", '"ab://x:"', "#a=\\"),
        *("ab:/x:1/", "http:/x:1/", ",ab://x:1/", ",http://x:1/a", ",ab://u:p@"),
    ],
)
def test_a_long_text_of_somebody_else_takes_no_long_time(part: str, start: str, end: str) -> None:
    started = time.process_time()
    without_secrets(start + part * 50_000 + end)
    assert time.process_time() - started < 1


def test_an_error_shows_no_password_of_a_url() -> None:
    urls = ["http://u:geheim@r1", "http://r2?token=geheim"]
    error = SinkUnavailable(connection_errors.AWAY, urls=urls, why=f"{URL} timed out")
    assert "http://u@r1, http://r2?token: no answer: mysql://cdc@db:3306/shop timed" in str(error)
    several = ConfigError(settings_errors.SEVERAL, path=URL, count=1, problems=[URL])
    assert "geheim" not in str(several)


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_line_of_the_log_has_no_password_of_a_url(
    monkeypatch: pytest.MonkeyPatch, form: str
) -> None:
    out = io.StringIO()
    monkeypatch.setattr("sys.stderr", out)
    events = RecentEvents()
    try:
        configure_logging(LogSettings.model_validate({"format": form}), events)
        structlog.get_logger().warning(f"no answer of {URL}", urls=[URL], said={"a": (URL,)})
    finally:
        structlog.reset_defaults()
    assert out.getvalue().count("mysql://cdc@db:3306/shop") == 3
    assert "geheim" not in out.getvalue() + repr(events.newest_first())


@pytest.mark.parametrize("form", ["console", "json"])
def test_a_line_of_the_job_has_no_password_of_a_url(
    capsys: pytest.CaptureFixture[str], form: str
) -> None:
    lines = open_lines(sys.stdout, form)
    lines.write("no_mirror", topic="t", code="M1", error=f"{URL} failed")
    lines.write_trace(ValueError(URL))
    replica = ReplicaLines(sys.stdout, form)
    replica.write("started", target=URL, mirror="s3://bucket/a")
    said = "".join(capsys.readouterr())
    assert said.count("mysql://cdc@db:3306/shop") == 3
    assert "geheim" not in said


@pytest.mark.parametrize(
    "words",
    [
        [URL],
        ["quarantine", URL],
        ["config", URL],
        ["check", "a.toml", URL],
        ["check", URL.replace("mysql", "MYSQL")],
        ["up", "--to", "lake", URL, URL],
        ["up", "--to", "lake", f"--once={URL}"],
        ["dump", "--format", URL, "binlog.000001"],
        ["dump", "--start-position", URL, "binlog.000001"],
        ["import-debezium", URL],
        ["mysql://cdc:ge geheim@db"],
        ["up", "--to", "lake", URL, "mysql://cdc:ge geheim@db"],
        ["up", "--to", "lake", "--once=mysql://cdc:ge geheim@db"],
        ["dump", "--format", "mysql://cdc:ge \\'geheim@db", "binlog.000001"],
        ["dump", "-xmysql://cdc:ge geheim@db", "binlog.000001"],
        ["dump", "--start-position", "mysql://cdc:ge geheim@db", "binlog.000001"],
    ],
)
def test_an_answer_to_wrong_arguments_has_no_password_of_a_url(words: list[str]) -> None:
    done = invoke(words)
    assert done.exit_code
    assert "geheim" not in done.stdout + done.stderr


def test_a_converted_configuration_shows_no_password_of_a_url(tmp_path: Path) -> None:
    path = tmp_path / "debezium.json"
    config = {
        "connector.class": "io.debezium.connector.mysql.MySqlConnector",
        "database.hostname": "db",
        "database.user": "cdc",
        "database.server.id": "5",
        "topic.prefix": "shop",
        "key.converter": "org.apache.kafka.connect.json.JsonConverter",
        "value.converter": "org.apache.kafka.connect.json.JsonConverter",
        "schema.history.internal.kafka.bootstrap.servers": "k1:9092",
        "database.jdbc.driver": f"jdbc:{URL}",
        "odd.option": URL,
    }
    path.write_text(json.dumps({"name": "shop", "config": config}))
    done = invoke(["import-debezium", str(path)])
    assert done.exit_code == 0
    assert done.stdout.count("mysql://cdc@db:3306/shop") == 2
    assert "geheim" not in done.stdout + done.stderr
