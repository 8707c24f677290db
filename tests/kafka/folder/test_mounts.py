"""A log is refused on a file system that other machines can mount."""

from __future__ import annotations

from pathlib import Path

import pytest

from connector.foundation.errors.kinds import SinkRefused
from connector.kafka.folder import folder_errors, mounts
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.mounts import network_type
from tests.foundation.errors.texts import shown
from tests.kafka.folder.fake_mounts import OTHERS, mount, write_mounts


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "log").mkdir()
    return tmp_path / "log"


@pytest.mark.parametrize(
    "kind", ["nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "fuse.sshfs", "fuse.s3fs"]
)
@pytest.mark.parametrize("fields", ["", "shared:7 master:1 "])
def test_a_log_on_a_network_file_system_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str, fields: str
) -> None:
    mount(folder, monkeypatch, kind, fields)
    with pytest.raises(SinkRefused) as raised:
        FolderLog(folder)
    assert str(raised.value) == shown(folder_errors.NETWORK, folder=folder, kind=kind)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("kind", ["ext4", "xfs", "tmpfs", "overlay", "fuse.mergerfs", "nfsd"])
def test_a_log_on_another_file_system_is_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    mount(folder, monkeypatch, kind)
    FolderLog(folder).close()


def test_a_link_leads_to_the_file_system_of_its_target(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount(folder, monkeypatch, "nfs4")
    link = folder.parent / "link"
    link.symlink_to(folder)
    assert network_type(link) == "nfs4"


def test_an_unknown_mount_and_a_system_without_proc_keep_nobody_from_a_log(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mounts(folder, monkeypatch, *OTHERS)
    assert network_type(folder) is None
    mount(folder, monkeypatch, "nfs4")
    monkeypatch.setattr(mounts, "_OPEN_FILES", folder / "missing")
    assert network_type(folder) is None


def test_the_file_system_of_this_folder_is_known(folder: Path) -> None:
    # Of a real /proc.
    assert network_type(folder) is None
    assert network_type(Path("/proc")) is None
