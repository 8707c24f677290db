"""Prometheus reads what the processes serve: names, rules, and the queries of the dashboard."""

from __future__ import annotations

import json
import re
import subprocess
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from connector.foundation import http_server
from connector.foundation.http_server import Endpoints
from connector.stream.metrics.prometheus import MetricsCollector as OfConnector
from local_stack.prometheus import Prometheus, promtool
from local_stack.server import free_port
from stream_jobs.run.metrics_server import MetricsCollector as OfMirror
from tests.integration.harness import wait_until
from tests.stream.metrics.queries import CONFIGS, RULE_FILES, panel_queries, rules
from tests.stream.metrics.test_exposition import complete
from tests.stream_jobs.report.test_figures import complete as complete_mirror
from tests.verification.test_figures import EQUAL, compared
from verification.metrics import MetricsCollector as OfVerify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from prometheus_client.registry import Collector

    from tests.integration.database_stream import Stream

pytestmark = [pytest.mark.server, pytest.mark.kafka]

RULE_TESTS = sorted((Path(__file__).parents[2] / "stream" / "metrics" / "rules").glob("*.yml"))
COLLECTORS: list[Collector] = [
    OfConnector(complete()),
    OfMirror(complete_mirror()),
    OfVerify(compared(EQUAL)),
]


def called(*arguments: str, given: str = "") -> tuple[int, str]:
    """Return the exit code of promtool, and what it says."""
    run = subprocess.run(
        [*promtool(), *arguments],
        input=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return run.returncode, run.stdout


def scraped(port: int) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
        text: str = answer.read().decode()
    return text


@pytest.fixture(scope="module")
def ports() -> Iterator[list[int]]:
    """Where figures are served that have a value each, of the three processes."""
    with ExitStack() as opened:
        served = []
        for collector in COLLECTORS:
            port = free_port()
            well = Endpoints(collector, lambda: (True, ""), lambda: (True, ""))
            opened.enter_context(http_server.serving(well, f"127.0.0.1:{port}"))
            served.append(port)
        yield served


def test_names_units_and_help_follow_the_conventions_of_prometheus(ports: list[int]) -> None:
    for port in ports:
        assert called("check", "metrics", given=scraped(port)) == (0, "")
    lint, said = called("check", "metrics", given="# TYPE wrong_ms counter\nwrong_ms 1\n")
    assert lint != 0
    assert "wrong_ms" in said


@pytest.mark.parametrize("file", RULE_FILES, ids=lambda file: file.name)
def test_the_rules_are_valid(file: Path) -> None:
    code, said = called("check", "rules", str(file))
    assert code == 0, said


@pytest.mark.parametrize("file", RULE_TESTS, ids=lambda file: file.name)
def test_the_rules_do_what_their_unit_tests_say(file: Path) -> None:
    code, said = called("test", "rules", str(file))
    assert code == 0, said


def test_the_unit_tests_let_every_alert_fire() -> None:
    tested = "".join(file.read_text("utf-8") for file in RULE_TESTS)
    names = [rule["alert"] for rule in rules() if "alert" in rule]
    assert names
    assert [name for name in names if f'{{alertname="{name}"' not in tested] == []


def test_the_configuration_of_the_compose_stack_is_valid() -> None:
    code, said = called("check", "config", str(CONFIGS / "prometheus" / "prometheus.yml"))
    assert code == 0, said


def configured(directory: Path, ports: dict[str, int]) -> None:
    """Write what a private Prometheus reads: our rules, each second, and our jobs at `ports`."""
    directory.mkdir()
    shipped = yaml.safe_load((CONFIGS / "prometheus" / "prometheus.yml").read_text("utf-8"))
    shipped["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    shipped["rule_files"] = [str(file) for file in RULE_FILES]
    shipped["scrape_configs"] = [
        {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}
        for name, port in ports.items()
    ]
    (directory / "prometheus.yml").write_text(yaml.safe_dump(shipped))


def asked(server: Prometheus, query: str) -> list[dict[str, Any]]:
    """Return the series of an instant query; a query that is refused fails the test."""
    text = urllib.parse.urlencode({"query": query})
    url = f"http://127.0.0.1:{server.endpoint.port}/api/v1/query?{text}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        found = json.load(answer)
    assert found["status"] == "success", found
    series: list[dict[str, Any]] = found["data"]["result"]
    return series


def test_every_query_of_the_dashboard_finds_something_in_a_running_prometheus(
    stream: Stream, ports: list[int], tmp_path: Path
) -> None:
    stream.execute("CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
    port = free_port()
    configured(
        tmp_path / "prometheus",
        dict(zip(("connector", "mirror", "verify"), ports, strict=True))
        | {"binlog-connector": port},
    )
    number = 1
    with (
        stream.connector(metrics__listen=f"127.0.0.1:{port}") as connector,
        Prometheus(tmp_path / "prometheus") as prometheus,
    ):
        stream.wait_for_changes(1, connector)
        assert called("check", "metrics", given=scraped(port)) == (0, "")
        queries = panel_queries(".*")

        # A rate needs two scrapes between which there was something to deliver.
        def all_found() -> bool:
            nonlocal number
            number += 1
            stream.execute(f"INSERT INTO t VALUES ({number})")
            return all(asked(prometheus, query) for query in queries.values())

        wait_until(
            all_found,
            lambda: str([name for name, query in queries.items() if not asked(prometheus, query)]),
        )
        # Those of the running pipeline alone, but for copies: none runs now.
        (name,) = {
            series["metric"]["pipeline"]
            for series in asked(prometheus, "binlog_connector_connected == 1")
        }
        others = "mirror_|snapshot|copies|quarantine|differences|repaired|verif|equal_through"
        own = {
            title: query
            for title, query in panel_queries(name).items()
            if not re.search(others, query)
        }
        assert len(own) >= 15
        # The source is asked for the end of its log every five seconds.
        wait_until(
            lambda: all(asked(prometheus, query) for query in own.values()),
            lambda: str([title for title, query in own.items() if not asked(prometheus, query)]),
        )
        (latency,) = asked(
            prometheus, f'pipeline:binlog_connector_latency_seconds:p99_5m{{pipeline="{name}"}}'
        )
        assert 0 < float(latency["value"][1]) < 60
        # Not yet: the alert waits for five minutes.
        connector.kill()
        wait_until(
            lambda: bool(asked(prometheus, 'ALERTS{alertname="StreamDown", alertstate="pending"}')),
            prometheus.log.read_text,
        )
