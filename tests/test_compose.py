"""`docker-compose.yml`, without a Docker engine: what can be said of the file itself.

The file is checked against the schema of the Compose Specification, against the files that it
names, and against the settings that the servers of the local stack are started with.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from jsonschema import Draft202012Validator

from connector.foundation.settings.configuration import load_settings
from local_stack.sql_server import MYSQL_SOURCE_SETTINGS
from stream_jobs.settings import load_settings as load_job_settings
from tests.compose import COMPOSE, CONFIGS, ROOT, SERVICES

SCHEMA = ROOT / "tests" / "data" / "compose-spec" / "compose-spec.json"


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


def test_one_command_starts_servers_processes_and_what_shows_them() -> None:
    assert list(SERVICES) == [
        "mysql",
        "kafka",
        "connector",
        "stream_job",
        "verify",
        "prometheus",
        "grafana",
    ]
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


def test_a_service_waits_for_the_health_check_of_what_it_needs() -> None:
    waits = [
        (name, target, how["condition"])
        for name, service in SERVICES.items()
        for target, how in service.get("depends_on", {}).items()
    ]
    assert waits == [
        ("connector", "mysql", "service_healthy"),
        ("connector", "kafka", "service_healthy"),
        ("stream_job", "kafka", "service_healthy"),
        ("verify", "mysql", "service_healthy"),
        ("verify", "kafka", "service_healthy"),
        ("verify", "stream_job", "service_started"),
        ("grafana", "prometheus", "service_started"),
    ]
    healthy = [target for _, target, condition in waits if condition == "service_healthy"]
    assert all("healthcheck" in SERVICES[target] for target in healthy)


def test_mysql_is_started_with_the_settings_that_the_local_stack_uses() -> None:
    settings = {}
    for argument in SERVICES["mysql"]["command"]:
        name, value = argument.removeprefix("--").split("=")
        settings[name.replace("-", "_")] = value
    assert settings == dict(MYSQL_SOURCE_SETTINGS)


def test_the_services_build_stages_of_the_dockerfile() -> None:
    stages = re.findall(r"(?m)^FROM \S+ AS (\w+)$", (ROOT / "Dockerfile").read_text("utf-8"))
    targets = [service["build"]["target"] for service in SERVICES.values() if "build" in service]
    assert targets == ["connector", "stream_job", "stream_job"]
    assert set(targets) <= set(stages)


def test_no_image_runs_as_root() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text("utf-8")
    for target in ("connector", "stream_job"):
        stage = dockerfile.split(f" AS {target}\n")[1].split("\nFROM ")[0]
        assert "USER app\n" in stage


def test_the_connector_has_no_rights_and_writes_temporary_files_alone() -> None:
    service = SERVICES["connector"]
    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]


def test_the_image_is_built_from_files_that_exist() -> None:
    ignore = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    kept = [line[1:] for line in ignore if line.startswith("!")]
    assert {"connector/", "stream_jobs/", "verification/"} <= set(kept)
    assert all((ROOT / name).exists() for name in kept)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    installed = [
        path for paths in project["tool"]["setuptools"]["data-files"].values() for path in paths
    ]
    # The reference files are behind a link.
    for path in [*installed, "configs/connector.toml"]:
        assert any(path.startswith(name) for name in kept), path


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


def test_verify_reads_what_the_connector_and_the_job_are_configured_with(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    service = SERVICES["verify"]
    assert service["environment"] == SERVICES["connector"]["environment"]
    for variable, value in service["environment"].items():
        monkeypatch.setenv(variable, value)
    mounted = dict(mount.removesuffix(":ro").split(":") for mount in service["volumes"])
    paths = {inside: outside for outside, inside in mounted.items()}
    command, config, option, mirror, flag = service["command"]
    assert (command, option, flag) == ("verify", "--mirror", "--forever")
    settings = load_settings(ROOT / paths[config])
    assert load_job_settings(ROOT / paths[mirror]).kafka.topic_prefix == settings.kafka.topic_prefix
    assert settings.verify.listen == "0.0.0.0:9402"
    assert service["ports"] == ["127.0.0.1:9402:9402"]
    assert "mirror:/var/lib/binlog-connector:ro" in service["volumes"]


def test_prometheus_scrapes_each_process_where_it_serves_its_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BINLOG_CONNECTOR_SOURCE__PASSWORD", "any")
    settings = load_settings(CONFIGS / "connector.toml")
    job = load_job_settings(CONFIGS / "stream_job.toml")
    served = {
        "binlog-connector": ("connector", settings.metrics.listen),
        "binlog-connector-mirror": ("stream_job", job.metrics.listen),
        "binlog-connector-verify": ("verify", settings.verify.listen),
    }
    config = yaml.safe_load((ROOT / "configs/prometheus/prometheus.yml").read_text("utf-8"))
    scraped = {
        each["job_name"]: each["static_configs"][0]["targets"] for each in config["scrape_configs"]
    }
    assert scraped == {
        name: [f"{service}:{str(listen).rpartition(':')[2]}"]
        for name, (service, listen) in served.items()
    }
    inside = [mount.split(":")[1] for mount in SERVICES["prometheus"]["volumes"]]
    assert {f"/etc/prometheus/{name}" for name in config["rule_files"]} <= set(inside)


def test_grafana_finds_prometheus_and_the_folder_of_the_dashboard() -> None:
    folder = ROOT / "configs" / "grafana"
    (source,) = yaml.safe_load((folder / "datasource.yml").read_text("utf-8"))["datasources"]
    assert source["url"] == "http://prometheus:9090"
    assert SERVICES["prometheus"]["ports"] == ["127.0.0.1:9090:9090"]
    (provider,) = yaml.safe_load((folder / "provider.yml").read_text("utf-8"))["providers"]
    mounts = dict(mount.removesuffix(":ro").split(":") for mount in SERVICES["grafana"]["volumes"])
    assert (
        mounts["./configs/grafana/dashboard.json"]
        == f"{provider['options']['path']}/dashboard.json"
    )
    assert source["type"] == "prometheus"
