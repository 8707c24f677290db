"""The files of a lake say what the user has chosen, and belong to one folder."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING

import pytest

from connector.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.log_folder import folder_of
from connector.lake import lake_errors
from connector.lake.lake_folder import LakeFolder, LakeOptions
from connector.lake.lake_start import options_of
from connector.replication.server.addresses import source_settings
from tests.foundation.errors.texts import shown

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


def test_a_lake_that_was_moved_or_copied_is_refused(tmp_path: Path) -> None:
    first = LakeFolder(tmp_path / "first")
    options = options_of("mysql://cdc:x@db/shop", None, [], iceberg=False)
    first.lock()
    first.write(options)
    first.unlock()
    first.require_own_path()
    (tmp_path / "link").symlink_to(first.path)
    LakeFolder(tmp_path / "link").require_own_path()
    second = LakeFolder(first.path.rename(tmp_path / "second"))
    with pytest.raises(ConfigError) as raised:
        second.require_own_path()
    facts = {"folder": second.path, "made_as": first.path, "state": second.state}
    assert str(raised.value) == shown(lake_errors.MOVED, **facts)


def test_a_pattern_of_tables_that_names_no_table_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        options_of("mysql://cdc:x@db", None, ["shop"], iceberg=False)
    assert str(raised.value) == shown(settings_errors.DATABASE, value="shop")
