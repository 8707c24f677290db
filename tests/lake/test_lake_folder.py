"""The files of a lake say what the user has chosen, and belong to one folder."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from connector.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.configuration import load_settings
from connector.foundation.settings.log_folder import folder_of
from connector.lake import lake_errors
from connector.lake.lake_folder import LakeFolder, LakeOptions
from connector.lake.lake_pipeline import new_settings
from connector.lake.lake_start import (
    _require_password,
    _with_login_of_environment,
    options_of,
    running,
)
from connector.replication import server_errors
from connector.replication.server.addresses import source_settings
from tests.foundation.errors.texts import shown
from tests.kafka.folder.fake_mounts import mount


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


def test_a_new_lake_on_a_network_file_system_is_refused_before_the_source_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mount(tmp_path, monkeypatch, "fuse.sshfs")
    folder = LakeFolder(tmp_path / "new" / "lake")
    options = options_of("mysql://cdc:x@db/shop", None, [], iceberg=False)
    with (
        pytest.raises(ConfigError) as raised,
        running(folder, options, lambda _: pytest.fail("it was asked"), lambda _: None),
    ):
        pass
    facts = {"folder": folder.path, "kind": "fuse.sshfs"}
    assert str(raised.value) == shown(lake_errors.NETWORK, **facts)
    assert not folder.path.parent.exists()


def test_a_pattern_of_tables_that_names_no_table_is_refused() -> None:
    with pytest.raises(ConfigError) as raised:
        options_of("mysql://cdc:x@db", None, ["shop"], iceberg=False)
    assert str(raised.value) == shown(settings_errors.DATABASE, value="shop")


@pytest.mark.parametrize(
    "url",
    [
        "mysql://cdc:p[w@db/shop",
        "mysql://cdc:p[word]x@db/shop",
        "mysql://cdc:12/word@db/shop",
        "mysql://cdc:12?word@db/shop",
        "mysql://cdc:12?word=@db/shop",
        "mysql://cdc:12#word@db/shop",
    ],
)
def test_nothing_of_a_password_that_is_not_encoded_is_shown(url: str) -> None:
    with pytest.raises(ConfigError) as raised:
        options_of(url, None, [], iceberg=False)
    codes = (server_errors.NOT_ENCODED, server_errors.FORM)
    assert str(raised.value) in [shown(code) for code in codes]


def test_a_database_of_any_name_can_be_named_with_its_code() -> None:
    options = options_of("mysql://cdc:x@db/a%2Fb%40c", None, [], iceberg=False)
    assert options.tables == ["a/b@c.*"]


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("BINLOG_CONNECTOR_SOURCE__PASSWORD", "[C196] "),
        ("STREAM_JOB_MIRROR__FORMATS", "[C110] environment variable STREAM_JOB_MIRROR__FORMATS"),
    ],
)
def test_files_that_the_environment_spoils_are_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str, text: str
) -> None:
    monkeypatch.setenv(variable, "x")
    folder = LakeFolder(tmp_path / "lake")
    options = options_of("mysql://cdc:y@127.0.0.1:1/shop", None, [], iceberg=False)
    with (
        pytest.raises(ConfigError) as raised,
        running(folder, options, lambda _: None, lambda _: None),
    ):
        pass
    assert text in str(raised.value)
    assert variable in str(raised.value)
    assert not folder.path.exists()


VARIABLE = "BINLOG_CONNECTOR_SOURCE__PASSWORD"


def test_a_password_of_the_environment_is_used_at_each_start_and_never_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = LakeFolder(tmp_path / "lake")
    options = options_of("mysql://cdc@db/shop", None, [], iceberg=False)
    monkeypatch.setenv(VARIABLE, "geheim")
    chosen = _with_login_of_environment(folder, options, new_settings)
    assert chosen.followed.read_password() == "geheim"
    folder.lock()
    folder.write(chosen)
    files = [path for path in folder.path.rglob("*") if path.is_file()]
    assert folder.connector_config in files
    assert not [path for path in files if b"geheim" in path.read_bytes()]
    monkeypatch.setenv(VARIABLE, "changed")
    for again in (options, options_of("mysql://cdc:changed@db/shop", None, [], iceberg=False)):
        chosen = _with_login_of_environment(folder, again, new_settings)
        assert not chosen.keeps_password
        folder.require(chosen)
    _require_password(folder)
    assert load_settings(folder.connector_config).source.read_password() == "changed"
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ConfigError) as raised:
        _require_password(folder)
    facts = {"folder": folder.path, "variable": VARIABLE, "url": "mysql://cdc@db:3306"}
    assert str(raised.value) == shown(lake_errors.NO_PASSWORD, **facts)
    folder.unlock()


def test_a_kept_password_and_one_of_the_environment_are_not_in_each_other_s_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path, "mysql://cdc:x@db/shop")
    monkeypatch.setenv(VARIABLE, "y")
    options = options_of("mysql://cdc@db/shop", None, [], iceberg=False)
    assert not _with_login_of_environment(folder, options, new_settings).keeps_password
    assert load_settings(folder.connector_config).source.read_password() == "y"
    assert folder.read_password() == "x"
    other = options_of("mysql://cdc:z@db/shop", None, [], iceberg=False)
    with pytest.raises(ConfigError) as raised:
        _with_login_of_environment(folder, other, new_settings)
    assert str(raised.value) == shown(settings_errors.OTHER_PASSWORD, variables=[VARIABLE])
    monkeypatch.delenv(VARIABLE)
    assert load_settings(folder.connector_config).source.read_password() == "x"


def made(path: Path, url: str) -> LakeFolder:
    folder = LakeFolder(path / "lake")
    folder.lock()
    folder.write(options_of(url, None, [], iceberg=False))
    folder.unlock()
    return folder


def test_the_options_of_a_url_are_those_of_the_connector(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = "mysql://cdc:x@db/shop?connect-timeout=2.5&ssl-mode=VERIFY_CA&ssl-ca=ca.pem"
    folder = made(tmp_path, url)
    source = load_settings(folder.connector_config).source
    assert source.connect_timeout_seconds == 2.5
    assert (source.tls.mode, source.tls.ca) == ("verify_ca", tmp_path / "ca.pem")
    folder.require(options_of(url, None, [], iceberg=False))
    # The user may have written a path from here.
    text = folder.connector_config.read_text()
    folder.connector_config.write_text(text.replace(str(tmp_path / "ca.pem"), "ca.pem"))
    assert load_settings(folder.connector_config).source.tls.ca == Path("ca.pem")
    folder.require(options_of(url, None, [], iceberg=False))
    # What is not said again stays.
    folder.require(options_of("mysql://cdc:x@db/shop", None, [], iceberg=False))


@pytest.mark.parametrize(
    ("query", "listen", "option", "recorded", "wanted"),
    [
        ("?ssl-mode=VERIFY_CA", None, "source.tls.mode", "preferred", "verify_ca"),
        ("?connect-timeout=2", None, "source.connect_timeout_seconds", 10.0, 2.0),
        ("", "127.0.0.1:1", "metrics.listen", "127.0.0.1:9400", "127.0.0.1:1"),
    ],
)
def test_other_options_for_a_lake_that_exists_are_refused(
    tmp_path: Path, query: str, listen: str | None, option: str, recorded: object, wanted: object
) -> None:
    folder = made(tmp_path, "mysql://cdc:x@db/shop")
    text = re.sub(
        r'listen = ".*"', 'listen = "127.0.0.1:9400"', folder.connector_config.read_text()
    )
    folder.connector_config.write_text(text)
    options = options_of(f"mysql://cdc:x@db/shop{query}", None, [], iceberg=False, listen=listen)
    with pytest.raises(ConfigError) as raised:
        folder.require(options)
    facts = {"option": option, "recorded": recorded, "wanted": wanted}
    assert str(raised.value) == shown(
        lake_errors.OTHER_LAKE, folder=folder.path, state=folder.state, **facts
    )
