"""How a process chooses between extension modules and sources; each in a process of its own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from pathlib import Path

import pytest

import connector
from connector.foundation import compiled
from tests.stale_build import newer_sources

FOLDER = Path(connector.__file__).parent
WHERE = """
import connector.binlog.payload_reader, connector.binlog.gtid.mysql
print(connector.binlog.payload_reader.__file__, connector.binlog.gtid.mysql.__file__)
"""


def python(*arguments: str, choice: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder that holds a package `connector`."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=os.environ | {"CONNECTOR_COMPILED": choice, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def sources_alone(tmp_path: Path) -> Path:
    """A folder with a copy of the package that was not compiled."""
    extensions = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(FOLDER, tmp_path / "connector", ignore=extensions)
    return tmp_path


@pytest.fixture
def with_extensions(sources_alone: Path) -> Path:
    """A copy of the package with an extension module, though an empty one, beside each source."""
    for source in compiled.sources():
        copy = sources_alone / source.relative_to(FOLDER.parent)
        copy.with_suffix(EXTENSION_SUFFIXES[0]).touch()
    return sources_alone


def test_each_pattern_names_modules() -> None:
    for pattern in (*compiled.COMPILED, *compiled.NOT_COMPILED):
        assert any(FOLDER.glob(pattern)), pattern


def test_no_package_is_compiled_but_its_modules_are() -> None:
    names = {path.relative_to(FOLDER).as_posix() for path in compiled.sources()}
    assert {"binlog/payload_reader.py", "binlog/event.py", "binlog/columns/json.py"} <= names
    assert not any(name.endswith("__init__.py") for name in names)
    assert "replication/protocol/commands.py" not in names


def test_sources_run_where_nothing_was_compiled(sources_alone: Path) -> None:
    done = python("-c", WHERE, choice="auto", folder=sources_alone)
    binlog = f"{sources_alone}/connector/binlog"
    expected = f"{binlog}/payload_reader.py {binlog}/gtid/mysql.py\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_off_runs_the_sources_although_extension_modules_lie_beside_them(
    with_extensions: Path,
) -> None:
    done = python("-c", WHERE, choice="off", folder=with_extensions)
    binlog = f"{with_extensions}/connector/binlog"
    expected = f"{binlog}/payload_reader.py {binlog}/gtid/mysql.py\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_auto_loads_extension_modules_and_no_source_instead(with_extensions: Path) -> None:
    done = python("-c", WHERE, choice="auto", folder=with_extensions)
    assert re.search(r"ImportError: .*payload.*: file too short", done.stderr)


def test_require_says_that_nothing_was_compiled(sources_alone: Path) -> None:
    done = python("-c", "import connector", choice="require", folder=sources_alone)
    assert done.returncode == 1
    assert done.stderr.endswith(
        "ImportError: CONNECTOR_COMPILED is 'require', but no module was compiled for "
        f"{sys.implementation.cache_tag}; install the package again where there is a C compiler, "
        "in a clone of the repository by `make setup`\n"
    )


def test_require_names_the_modules_that_were_not_compiled(with_extensions: Path) -> None:
    module = with_extensions / "connector" / "binlog" / "text_writer"
    module.with_suffix(EXTENSION_SUFFIXES[0]).unlink()
    done = python("-c", "import connector", choice="require", folder=with_extensions)
    tag = sys.implementation.cache_tag
    assert (
        f"these modules were not compiled for {tag}: binlog/text_writer.py; install" in done.stderr
    )


def test_an_unknown_choice_names_the_three(sources_alone: Path) -> None:
    done = python("-c", "import connector", choice="yes", folder=sources_alone)
    assert done.stderr.endswith(
        "ImportError: CONNECTOR_COMPILED is 'yes'; it can be auto, require or off\n"
    )


@pytest.mark.parametrize(
    ("choice", "reason"),
    [("off", "CONNECTOR_COMPILED is 'off'"), ("auto", "no module was compiled for {tag}")],
)
def test_the_version_says_why_the_sources_run(
    sources_alone: Path, choice: str, reason: str
) -> None:
    done = python("-m", "connector", "--version", choice=choice, folder=sources_alone)
    told = f"interpreted: {reason.format(tag=sys.implementation.cache_tag)}"
    expected = f"binlog-connector {version('binlog-connector')} ({told})\n"
    assert (done.returncode, done.stdout) == (0, expected)


@pytest.mark.skipif(compiled.mode() == "interpreted", reason="nothing is compiled here")
def test_extension_modules_are_what_is_imported_by_default() -> None:
    done = python("-c", WHERE, choice="require", folder=FOLDER.parent)
    suffix = EXTENSION_SUFFIXES[0]
    binlog = FOLDER / "binlog"
    expected = f"{binlog}/payload_reader{suffix} {binlog}/gtid/mysql{suffix}\n"
    assert (done.stdout, done.stderr) == (expected, "")


def test_a_source_that_is_newer_than_its_extension_module_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suffix = EXTENSION_SUFFIXES[0]
    (tmp_path / "binlog").mkdir()
    for name in (
        "binlog/payload_reader.py",
        f"binlog/payload_reader{suffix}",
        f"native__mypyc{suffix}",
    ):
        (tmp_path / name).touch()
    monkeypatch.setattr(compiled, "PACKAGE", tmp_path)
    monkeypatch.setenv("CONNECTOR_COMPILED", "auto")
    os.utime(tmp_path / "binlog/payload_reader.py", ns=(0, 0))
    assert newer_sources() == []
    (tmp_path / "binlog/payload_reader.py").touch()
    assert newer_sources() == [tmp_path / "binlog/payload_reader.py"]
