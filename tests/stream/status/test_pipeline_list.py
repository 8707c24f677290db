"""Many pipelines in one list."""

from __future__ import annotations

import json
import re
import signal
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from connector.cli import command_errors
from connector.cli.status import list_code
from connector.foundation.settings.file_settings import configuration_files
from connector.foundation.settings.sections import Settings
from connector.stream.metrics.pipeline_metrics import PipelineMetrics
from connector.stream.status.model import Condition, Level, State
from connector.stream.status.page import security_headers
from connector.stream.status.pipeline_list import (
    ListedPipeline,
    PipelineList,
    list_pipelines,
)
from connector.stream.status.pipeline_page import list_html
from connector.stream.status.pipeline_table import render_list
from connector.stream.status.server import serving
from tests import forked_command
from tests.integration.harness import wait_until
from tests.integration.operation.test_health import asked
from tests.integration.operation.test_metrics import free_port
from tests.stream.status.examples import NOW, facts_with
from tests.stream.status.fleet import fleet
from tests.stream.status.test_html import HOSTILE, Outline

if TYPE_CHECKING:
    from collections.abc import Iterator

SICK = (
    "billing", "crm", "media", "search", "shop-eu-central-1-production-primary", "payments",
)  # fmt: skip


def text_of(listed: PipelineList, width: int = 160) -> str:
    out = StringIO()
    Console(file=out, width=width, highlight=False).print(render_list(listed, width))
    return out.getvalue()


def configuration(folder: Path, name: str, listen: str | None, file: str = "") -> Path:
    """Write the configuration of a pipeline; nothing of it but the name and the address is used."""
    path = folder / f"{file or name}.toml"
    metrics = "" if listen is None else f'[metrics]\nlisten = "{listen}"\n'
    path.write_text(
        f'name = "{name}"\n{metrics}'
        '[source]\nhost = "127.0.0.1"\nport = 1\nuser = "cdc"\npassword = "x"\nserver_id = 5\n'
        'tables = ["shop.*"]\n[kafka]\nbootstrap_servers = ["127.0.0.1:1"]\n'
        f'topic_prefix = "{name}"\n'
    )
    path.chmod(0o600)
    return path


@contextmanager
def process_of(name: str, *conditions: Condition) -> Iterator[str]:
    """Serve the status of a pipeline as its process does; yields its address."""
    facts = replace(facts_with(*conditions), pipeline=name)
    settings = Settings.model_validate(
        {
            "name": name,
            "source": {"server_id": 1},
            "kafka": {"bootstrap_servers": ["127.0.0.1:1"], "topic_prefix": name},
        }
    )
    address = f"127.0.0.1:{free_port()}"
    with serving(settings, address, PipelineMetrics(name), lambda: facts):
        yield address


def test_the_sick_ones_come_first_with_the_reason_and_the_latest_of_them_before_others() -> None:
    listed = fleet()
    assert [one.name for one in listed.pipelines[:6]] == list(SICK)
    assert [one.level for one in listed.pipelines[6:]] == [Level.GOOD] * 24
    lines = [line.rstrip() for line in text_of(listed).splitlines()]
    assert lines[0] == "30 pipelines  ● 4 critical  ● 2 warning  ● 24 well  14:13:20 UTC"
    assert lines[3].startswith("billing ")
    text = " ".join(" ".join(lines).split())
    assert "is held back" not in text
    for shown in (
        "by 2 fences;",
        "no process answers at 10.0.4.17:9400",
        "[C202]",
        "1 more reason",
    ):
        assert shown in text, (shown, text)


def test_a_narrow_terminal_has_the_same_names_and_reasons() -> None:
    text = " ".join(text_of(fleet(), 44).split())
    for one in fleet().pipelines:
        assert one.name in text
    for shown in ("● quarantine billing 4 min 10 s late changes of", "[C202]", "1 more reason"):
        assert shown in text, (shown, text)


def test_the_page_has_the_same_and_names_are_harmless_in_it() -> None:
    page = list_html(fleet())
    assert Outline(page).open == []
    text = re.sub(r"<[^>]+>", " ", page)
    for shown in (*SICK, "warehouse", "4 critical", "no process answers", "4 min 10 s", "C202"):
        assert shown in text, shown
    assert page.index(">billing<") < page.index(">media<") < page.index(">accounts<")
    assert '<a href="http://10.0.4.3:9400/">' in page
    plain = ListedPipeline("f", "n", [Condition(State.STOPPED, Level.CRITICAL, "n", "n")])
    hostile = replace(
        plain,
        name=HOSTILE,
        conditions=[Condition(State.STOPPED, Level.CRITICAL, HOSTILE, HOSTILE)],
    )
    pages = [list_html(PipelineList(NOW, [one])) for one in (plain, hostile)]
    assert Outline(pages[0]).tags == Outline(pages[1]).tags
    assert "\u202e" not in pages[1] + text_of(PipelineList(NOW, [hostile]))
    (style,) = re.findall("<style>(.*?)</style>", page, flags=re.DOTALL)
    assert "form-action 'none'" in dict(security_headers())["Content-Security-Policy"]
    assert ".counts" in style
    many = PipelineList(NOW, [replace(plain, name=f"p{number}") for number in range(501)])
    assert "and 1 more pipeline" in list_html(many)


def test_processes_are_asked_and_each_that_says_nothing_is_sick(tmp_path: Path) -> None:
    late = Condition(State.LAGGING, Level.WARNING, "late")
    with process_of("well") as well, process_of("late", late) as behind:
        configuration(tmp_path, "well", well)
        configuration(tmp_path, "late", behind)
        configuration(tmp_path, "gone", f"127.0.0.1:{free_port()}")
        configuration(tmp_path, "other", well)
        configuration(tmp_path, "silent", None)
        (tmp_path / "wrong.toml").write_text('name = "wrong"\nnmae = 1\n')
        (tmp_path / "notes.txt").write_text("no configuration")
        files = configuration_files([tmp_path, tmp_path / "well.toml"])
        assert [file.stem for file in files] == ["gone", "late", "other", "silent", "well", "wrong"]
        listed = list_pipelines(files)
        said = {one.name: one for one in listed.pipelines}
        assert [one.name for one in listed.pipelines[-2:]] == ["late", "well"]
        assert said["well"].lag_seconds == 1.5
        assert said["gone"].state.state is State.STOPPED
        assert "no process answers" in said["gone"].state.reason
        assert said["other"].state.reason == f"pipeline well answers at {well}"
        assert "metrics.listen is not set" in said["silent"].state.reason
        assert said["wrong"].is_refused
        assert "\n" not in said["wrong"].state.reason
        run = forked_command.run("status", str(tmp_path), "--json")
        assert run.returncode == 2, run.stderr
        assert len(json.loads(run.stdout)["pipelines"]) == 6


def test_a_process_serves_the_list_of_a_folder_until_it_is_stopped(tmp_path: Path) -> None:
    port = free_port()
    with process_of("shop") as address:
        configuration(tmp_path, "shop", address)
        process = forked_command.start(
            "status", "--listen", f"127.0.0.1:{port}", str(tmp_path), errors=tmp_path / "log"
        )
        try:
            wait_until(lambda: asked(port, "/healthz")[0] == 200, (tmp_path / "log").read_text)
            code, page = asked(port, "/")
            assert (code, "<title>1 pipeline</title>" in page) == (200, True)
            configuration(tmp_path, "crm", None)

            def names() -> list[str]:
                found = json.loads(asked(port, "/status.json")[1])["pipelines"]
                return [one["name"] for one in found]

            wait_until(lambda: names() == ["crm", "shop"], (tmp_path / "log").read_text)
            assert "1 sick · 2 pipelines" in asked(port, "/")[1]
            assert asked(port, "/", "POST")[0] == 405
            process.send_signal(signal.SIGTERM)
            assert process.wait(30) == 0
        finally:
            process.kill()


def test_two_files_with_one_name_are_told(tmp_path: Path) -> None:
    with process_of("shop") as address:
        files = [configuration(tmp_path, "shop", address, file) for file in ("a", "b")]
        first, second = list_pipelines(files).pipelines
    assert first.state.reason.startswith("b.toml has the same name")
    assert second.state.reason.startswith("a.toml has the same name")
    assert list_code(PipelineList(NOW, [first, second])) == 4


@pytest.mark.parametrize(
    ("conditions", "code"),
    [
        ([], 0),
        ([Condition(State.LAGGING, Level.WARNING, "late")], 1),
        ([Condition(State.STOPPED, Level.CRITICAL, "gone")], 4),
        ([Condition(State.QUARANTINE, Level.CRITICAL, "held")], 3),
    ],
)
def test_the_exit_code_is_that_of_the_pipeline_that_tells_most(
    conditions: list[Condition], code: int
) -> None:
    well = Condition(State.STREAMING, Level.GOOD, "well")
    pipelines = [ListedPipeline("f", "n", [one, well]) for one in (*conditions, well)]
    assert list_code(PipelineList(NOW, pipelines)) == code
    stopped = ListedPipeline("f", "n", [Condition(State.STOPPED, Level.CRITICAL, "gone")])
    assert list_code(PipelineList(NOW, [*pipelines, stopped])) == (code if code == 3 else 4)


def test_wrong_arguments_are_refused(tmp_path: Path) -> None:
    run = forked_command.run("status", str(tmp_path))
    assert (run.returncode, f"[{command_errors.NO_FILES.code}]" in run.stderr) == (2, True)
    file = str(configuration(tmp_path, "shop", None))
    run = forked_command.run("status", "--listen", "127.0.0.1:1", "--json", file)
    assert (run.returncode, f"[{command_errors.LISTEN_ALONE.code}]" in run.stderr) == (2, True)
    for options in (["--table", "shop.*"], ["--limit", "3"], ["--all"]):
        run = forked_command.run("status", str(tmp_path), *options)
        assert (run.returncode, f"[{command_errors.TABLES_OF_ONE.code}]" in run.stderr) == (2, True)
    run = forked_command.run("status", "--listen", "8080", file)
    assert (run.returncode, "is not HOST:PORT" in run.stderr) == (2, True)
