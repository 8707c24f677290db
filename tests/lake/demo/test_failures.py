"""What the demo says if it cannot go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from connector.lake.demo import DemoOptions, demo_errors, run_demo
from connector.lake.demo.configuration import DemoDirectory
from connector.lake.demo.display import Display
from connector.lake.demo.processes import Connector, StreamJob
from connector.lake.demo.run import StallTimeout, _DemoRun, require_same
from connector.lake.demo.stack import DemoStack
from local_stack.stack_errors import LocalStackError
from tests.foundation.errors.texts import shown

if TYPE_CHECKING:
    from pathlib import Path


def test_a_directory_that_is_not_empty_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert run_demo(DemoOptions(directory=tmp_path)) == 1
    said = capsys.readouterr().out.replace("\n", " ")
    assert f"error: {shown(demo_errors.DIRECTORY, directory=tmp_path)}" in said


def test_a_process_that_does_not_start_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("connector.lake.demo.run.START_SECONDS", -1.0)
    options, directory = DemoOptions(), DemoDirectory(tmp_path)
    stage = DemoStack(options, directory)
    stage.connector = Connector(directory)
    stage.stream_job = StreamJob(directory, tmp_path / "bin/java")
    with pytest.raises(LocalStackError) as caught:
        _DemoRun(options, stage, Display())._wait_until(lambda: False, "connector")
    assert caught.value.text == (
        "the connector did not start within -1 seconds; see its log in the demo's directory"
    )


def test_a_process_that_does_not_move_on_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    patience = StallTimeout("Spark job", 1)
    patience.look(1)
    monkeypatch.setattr("connector.lake.demo.run.STUCK_SECONDS", -1.0)
    patience.look(2)
    with pytest.raises(LocalStackError) as caught:
        patience.look(2)
    assert caught.value.text == (
        "the Spark job did not move on for -1 seconds; see its log in the demo's directory"
    )


def test_a_connector_that_goes_on_elsewhere_is_a_defect() -> None:
    require_same("uuid:1-7", "uuid:1-7")
    with pytest.raises(LocalStackError) as caught:
        require_same("uuid:1-6", "uuid:1-7")
    assert caught.value.text == (
        "the connector resumed after 'uuid:1-6', but its committed progress was 'uuid:1-7'; keep "
        "the demo's directory, and report this as a defect of the connector"
    )
