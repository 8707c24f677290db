"""`configs/systemd/`: what systemd says of the unit, and whether it names what exists."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from connector.foundation.settings.configuration import load_settings

ROOT = Path(__file__).parents[1]
UNIT = ROOT / "configs/systemd/binlog-connector@.service"
MIRROR = UNIT.with_name("binlog-connector-mirror@.service")
PROGRAM = "/opt/binlog-connector/bin/binlog-connector"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("source", [UNIT, MIRROR], ids=lambda path: path.stem)
def test_systemd_accepts_the_unit(tmp_path: Path, source: Path) -> None:
    unit = tmp_path / source.name
    unit.write_text(source.read_text("utf-8").replace(PROGRAM, "/bin/true"))
    stream = tmp_path / source.name.replace("@", "@crm")
    command = ["systemd-analyze", "verify", str(stream)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_stream_has_a_file_a_password_and_its_own_variables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = UNIT.read_text("utf-8")
    assert f"ExecStart={PROGRAM} run /etc/binlog-connector/%i.toml\n" in text
    assert "EnvironmentFile=-/etc/binlog-connector/%i.env\n" in text
    (name,) = re.findall(r"^Environment=(\w+)=%d/source-password$", text, re.MULTILINE)
    password = tmp_path / "source-password"
    password.write_text("secret\n")
    monkeypatch.setenv(name, str(password))
    config = tmp_path / "crm.toml"
    config.write_text(
        'name = "crm"\n[source]\nhost = "a"\nuser = "b"\nserver_id = 2\ntables = ["crm.*"]\n'
        '[kafka]\nbootstrap_servers = ["k:9092"]\ntopic_prefix = "crm"\n'
    )
    assert load_settings(config).source.password_file == password


@pytest.mark.parametrize("named", ["crm.toml", "crm"])
def test_a_mirror_is_a_file_or_a_folder(tmp_path: Path, named: str) -> None:
    text = MIRROR.read_text("utf-8")
    (line,) = re.findall(r"^ExecStart=/bin/sh -c '(.*)'$", text, re.MULTILINE)
    (tmp_path / named).mkdir()
    script = line.replace("/etc/binlog-connector-mirror/%i", f"{tmp_path}/crm")
    script = script.replace(f"{PROGRAM}-mirror", "echo")
    done = subprocess.run(["/bin/sh", "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == f"run {tmp_path}/{named}\n"
    assert "RestartPreventExitStatus=2 3\n" in text


def test_a_restart_follows_the_exit_codes() -> None:
    text = UNIT.read_text("utf-8")
    assert "Restart=on-failure\n" in text
    assert "RestartPreventExitStatus=2 3\n" in text
    assert "Type=notify\n" in text
