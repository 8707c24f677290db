"""`docker-compose.yml`, without a Docker engine: what can be said of the file itself.

The file is checked against the schema of the Compose Specification, against the files that it
names, and against the settings that the servers of the local stack are started with.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from jsonschema import Draft202012Validator

from connector.settings.loader import load_settings
from connector.source.checks.preflight import check_source, require
from connector.source.server.mysql_server import MysqlServer as MysqlSession
from local_stack import connect
from local_stack.demo.shop import drop_shop, statements
from local_stack.server_settings import MYSQL_SOURCE_SETTINGS
from stream_jobs.settings import load_settings as load_job_settings

if TYPE_CHECKING:
    from local_stack import MysqlServer

ROOT = Path(__file__).parent.parent
SCHEMA = ROOT / "tests" / "data" / "compose-spec" / "compose-spec.json"
CONFIGS = ROOT / "configs" / "docker"


def read_compose() -> dict[str, Any]:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    return cast("dict[str, Any]", yaml.safe_load(text))


COMPOSE = read_compose()
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
MOUNTS = [
    (name, mount) for name, service in SERVICES.items() for mount in service.get("volumes", [])
]
PORTS = [(name, port) for name, service in SERVICES.items() for port in service.get("ports", [])]


def test_the_file_follows_the_compose_specification() -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    problems = [
        f"{problem.json_path}: {problem.message}"
        for problem in Draft202012Validator(schema).iter_errors(COMPOSE)
    ]
    assert problems == []


def test_one_command_starts_mysql_kafka_the_connector_and_the_spark_job() -> None:
    assert list(SERVICES) == ["mysql", "kafka", "connector", "stream_job"]
    assert all("profiles" not in service for service in SERVICES.values())
    assert SERVICES["mysql"]["image"] == "mysql:8.4"
    assert SERVICES["kafka"]["image"].startswith("apache/kafka:4.")


@pytest.mark.parametrize(("service", "mount"), MOUNTS)
def test_whatever_is_mounted_is_a_file_of_the_project_or_a_declared_volume(
    service: str, mount: str
) -> None:
    source = mount.split(":", maxsplit=1)[0]
    if source.startswith("."):
        assert (ROOT / source).is_file(), f"{service} mounts {source}"
        assert mount.endswith(":ro")
    else:
        assert source in COMPOSE["volumes"]


@pytest.mark.parametrize(("service", "port"), PORTS)
def test_every_port_is_open_to_this_machine_alone(service: str, port: str) -> None:
    assert port.startswith("127.0.0.1:"), service


def test_whoever_depends_on_a_service_waits_for_its_health_check() -> None:
    waits = [
        (name, target, how["condition"])
        for name, service in SERVICES.items()
        for target, how in service.get("depends_on", {}).items()
    ]
    assert waits == [
        ("connector", "mysql", "service_healthy"),
        ("connector", "kafka", "service_healthy"),
        ("stream_job", "kafka", "service_healthy"),
    ]
    assert all("healthcheck" in SERVICES[target] for _, target, _ in waits)


def test_mysql_is_started_with_the_settings_that_the_local_stack_uses() -> None:
    settings = {}
    for argument in SERVICES["mysql"]["command"]:
        name, value = argument.removeprefix("--").split("=")
        settings[name.replace("-", "_")] = value
    assert settings == dict(MYSQL_SOURCE_SETTINGS)


@pytest.mark.server
def test_the_files_that_fill_an_empty_mysql_run_one_after_the_other(
    mysql_server: MysqlServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = [
        mount.split(":", maxsplit=1)[0]
        for mount in SERVICES["mysql"]["volumes"]
        if "/docker-entrypoint-initdb.d/" in mount
    ]
    assert len(sources) == 3
    connection = connect(mysql_server.endpoint)
    with closing(connection), connection.cursor() as cursor:
        for source in sources:
            for statement in statements((ROOT / source).read_text("utf-8")):
                cursor.execute(statement)
        cursor.execute("SELECT COUNT(*) FROM shop.orders JOIN shop.order_lines ON id = order_id")
        assert cursor.fetchone() == (2,)
    require_account_that_copies(mysql_server, monkeypatch)
    drop_shop(mysql_server.endpoint)


def require_account_that_copies(server: MysqlServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Log in as the connector does, and do what its first start asks for."""
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "shop-cdc")
    endpoint = server.endpoint
    address = {"host": endpoint.host, "port": endpoint.port}
    settings = load_settings(CONFIGS / "connector.toml").source.model_copy(update=address)
    with MysqlSession.connect(settings) as session:
        require(check_source(session, settings))
        # The table without a primary key.
        session.query("LOCK TABLES shop.page_views READ")
        session.query("UNLOCK TABLES")


def test_the_services_build_stages_of_the_dockerfile() -> None:
    stages = re.findall(r"(?m)^FROM \S+ AS (\w+)$", (ROOT / "Dockerfile").read_text("utf-8"))
    targets = [service["build"]["target"] for service in SERVICES.values() if "build" in service]
    assert targets == ["connector", "stream_job"]
    assert set(targets) <= set(stages)


def test_no_image_runs_as_root() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    for target in ("connector", "stream_job"):
        stage = dockerfile.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER app\n" in stage


def test_the_image_is_built_from_files_that_exist() -> None:
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = [line[1:] for line in ignore if line.startswith("!")]
    assert "connector/" in kept
    assert all((ROOT / name).exists() for name in kept)


def test_the_connectors_configuration_loads_and_names_the_services(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for variable, value in SERVICES["connector"]["environment"].items():
        monkeypatch.setenv(variable, value)
    settings = load_settings(CONFIGS / "connector.toml")
    assert settings.source.host in SERVICES
    assert settings.kafka.bootstrap_servers == ["kafka:29092"]
    assert (
        "INTERNAL://kafka:29092" in SERVICES["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"]
    )
    users = (CONFIGS / "users.sql").read_text("utf-8")
    assert f"CREATE USER '{settings.source.user}'@" in users
    assert f"IDENTIFIED BY '{settings.source.read_password()}'" in users


def test_the_spark_jobs_configuration_reads_what_the_connector_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "any")
    connector = load_settings(CONFIGS / "connector.toml")
    job = load_job_settings(CONFIGS / "stream_job.toml")
    assert job.kafka.topic_prefix == connector.kafka.topic_prefix
    assert job.kafka.bootstrap_servers == connector.kafka.bootstrap_servers
    volume = "/var/lib/binlog-connector"
    assert f"mirror:{volume}" in SERVICES["stream_job"]["volumes"]
    assert Path(job.mirror.path).is_relative_to(volume)
    assert Path(job.mirror.checkpoint).is_relative_to(volume)
