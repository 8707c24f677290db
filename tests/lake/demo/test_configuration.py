"""The configuration files of the demo are what a user could have written."""

from __future__ import annotations

import stat
from pathlib import Path

from connector.foundation.settings.configuration import load_settings
from connector.lake.demo.configuration import DemoDirectory
from local_stack.server import Endpoint
from stream_jobs.settings import load_settings as load_job_settings

# Quotes and backslashes belong to paths as much as to passwords.
PASSWORD = 'a"b\\c'


def written(path: Path) -> DemoDirectory:
    path.mkdir(exist_ok=True)
    directory = DemoDirectory(path)
    source = Endpoint("127.0.0.1", 3307, "root", "not this one")
    directory.write_connector_config(source, PASSWORD, "127.0.0.1:9093")
    directory.write_stream_job_config("127.0.0.1:9093", "-Xmx1g", ("delta", "iceberg"))
    return directory


def test_the_connector_reads_the_shop_as_its_least_user(tmp_path: Path) -> None:
    settings = load_settings(written(tmp_path).connector_config)
    assert (settings.source.host, settings.source.port) == ("127.0.0.1", 3307)
    assert (settings.source.user, settings.source.read_password()) == ("cdc", PASSWORD)
    assert settings.source.tables == ["shop.*"]
    assert settings.source.start == "snapshot"
    assert settings.kafka.bootstrap_servers == ["127.0.0.1:9093"]


def test_the_password_is_in_a_file_that_only_its_owner_can_read(tmp_path: Path) -> None:
    directory = written(tmp_path / "a \"b'")
    settings = load_settings(directory.connector_config)
    assert settings.source.password_file is not None
    assert stat.S_IMODE(settings.source.password_file.stat().st_mode) == 0o600
    assert PASSWORD not in directory.connector_config.read_text()


def test_the_spark_job_mirrors_what_the_connector_writes(tmp_path: Path) -> None:
    directory = written(tmp_path)
    job, connector = (
        load_job_settings(directory.stream_job_config),
        load_settings(directory.connector_config),
    )
    assert job.mirror.formats == ["delta", "iceberg"]
    assert job.kafka.topic_prefix == connector.kafka.topic_prefix
    assert job.kafka.bootstrap_servers == connector.kafka.bootstrap_servers
    assert Path(job.mirror.path) / "shop" / "orders" == directory.mirror_of("orders")
