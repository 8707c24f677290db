"""The files of a new lake say what the user has chosen, whatever the folder is called."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from connector.foundation.settings.log_folder import folder_of
from connector.lake.lake_folder import LakeFolder, LakeOptions
from connector.replication.server.addresses import source_settings

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", ["lake", "a lake", "100%41", "a#b?c", 'quo"te', "del\x7f"])
def test_both_programs_find_the_log_of_a_lake_with_any_name(tmp_path: Path, name: str) -> None:
    folder = LakeFolder(tmp_path / name)
    source = source_settings("mysql://cdc:x@db", password="x")
    options = LakeOptions(source, ["shop.*"], ["delta"], None)
    for text in folder.new_files(options).values():
        document = tomllib.loads(text.partition("\n")[2])
        assert folder_of(document["kafka"]["bootstrap_servers"]) == folder.state / "log"
