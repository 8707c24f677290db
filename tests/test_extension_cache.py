"""What was compiled once is not compiled again, and never taken for what it is not."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from connector.foundation import compiled
from tests.length import full_only

PROJECT = Path(__file__).parents[1]
CACHED = runpy.run_path(str(PROJECT / "extension_cache.py"))
KEPT_ENTRIES: int = CACHED["KEPT_ENTRIES"]
NAMES = ["connector.binlog.text_writer", "connector.native__mypyc"]


def cache_in(folder: Path) -> Any:
    return CACHED["ExtensionCache"](folder / "cache")


def built_in(folder: Path) -> dict[str, Path]:
    """Files as a build leaves them."""
    built = {name: folder / f"{name}.so" for name in NAMES}
    for name, path in built.items():
        path.write_bytes(name.encode() * 1000)
    return built


# Builds what others build at the same time; in a process of its own.
BUILD_OFTEN = """
import runpy, sys
from pathlib import Path
project, folder = map(Path, sys.argv[1:])
cache = runpy.run_path(str(project / "extension_cache.py"))["ExtensionCache"](folder / "cache")
built = {path.stem: path for path in folder.glob("*.so")}
for _ in range(20):
    found = cache.find("key", built)
    assert found in (None, {name: path.read_bytes() for name, path in built.items()})
    cache.keep("key", built)
"""


def test_what_was_kept_is_found(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    assert cache.find("key", NAMES) is None
    cache.keep("key", built_in(tmp_path))
    assert cache.find("key", NAMES) == {name: name.encode() * 1000 for name in NAMES}
    assert cache.find("another", NAMES) is None


@pytest.mark.parametrize("damage", ["cut", "changed", "missing", "without sums"])
def test_a_damaged_entry_is_removed_and_kept_anew(tmp_path: Path, damage: str) -> None:
    cache = cache_in(tmp_path)
    cache.keep("key", built_in(tmp_path))
    entry = cache.directory / "compiled" / "key"
    stored = entry / NAMES[0]
    if damage == "cut":
        stored.write_bytes(stored.read_bytes()[:-1])
    elif damage == "changed":
        stored.write_bytes(b"!" + stored.read_bytes()[1:])
    elif damage == "missing":
        stored.unlink()
    else:
        (entry / "SHA256SUMS").unlink()
    assert cache.find("key", NAMES) is None
    assert not entry.exists()
    cache.keep("key", built_in(tmp_path))
    assert cache.find("key", NAMES) is not None


def test_an_entry_without_one_of_the_modules_is_not_taken(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    cache.keep("key", built_in(tmp_path))
    assert cache.find("key", [*NAMES, "connector.binlog.payload_reader"]) is None


def test_the_entries_used_last_stay(tmp_path: Path) -> None:
    cache = cache_in(tmp_path)
    built = built_in(tmp_path)
    for number in range(KEPT_ENTRIES):
        cache.keep(f"key{number}", built)
        os.utime(cache.directory / "compiled" / f"key{number}", (number, number))
    assert cache.find("key0", NAMES) is not None
    cache.keep("one more", built)
    left = {folder.name for folder in (cache.directory / "compiled").iterdir()}
    assert left == {"one more", "key0", *(f"key{n}" for n in range(2, KEPT_ENTRIES))}


def test_builds_at_once_leave_one_complete_entry(tmp_path: Path) -> None:
    built_in(tmp_path)
    command = [sys.executable, "-c", BUILD_OFTEN, str(PROJECT), str(tmp_path)]
    processes = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4
    assert [folder.name for folder in (tmp_path / "cache" / "compiled").iterdir()] == ["key"]
    assert cache_in(tmp_path).find("key", NAMES) is not None


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    cache = cache_in(tmp_path)
    cache.lock("key")
    cache.keep("key", built_in(tmp_path))
    assert cache.find("key", NAMES) is None


def test_where_one_part_of_a_key_ends_matters() -> None:
    key_of = CACHED["key_of"]
    assert key_of([b"ab", b"c"]) != key_of([b"a", b"bc"])
    assert key_of([b"ab", b"c"]) == key_of([b"ab", b"c"])


def small_clone(folder: Path) -> Path:
    """The project with one module to compile."""
    for name in ("binlog", "foundation"):
        (folder / "connector" / name).mkdir(parents=True)
    for name in ("setup.py", "extension_cache.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(PROJECT / name, folder)
    for name in (
        "__init__.py",
        "binlog/__init__.py",
        "binlog/text_writer.py",
        "foundation/__init__.py",
    ):
        shutil.copy(PROJECT / "connector" / name, folder / "connector" / name)
    text = (PROJECT / "connector" / "foundation" / "compiled.py").read_text()
    before, _, rest = text.partition("COMPILED: Final = (\n")
    _, _, after = rest.partition("\n)\n")
    # Nothing is excluded.
    (folder / "connector" / "foundation" / "compiled.py").write_text(
        f'{before}COMPILED: Final = (\n    "binlog/text_writer.py",\n)\n{after}'
    )
    return folder


def native_of(clone: Path) -> bytes:
    """The code that was built in a clone."""
    (path,) = (clone / "connector").glob("native__mypyc*.so")
    return path.read_bytes()


def build(clone: Path, cache: Path, *, pgo: bool = False, fails: bool = False) -> str:
    """Compile a clone in its folder; return what the build says."""
    chosen = {"CONNECTOR_COMPILED": "require", "BINLOG_CONNECTOR_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"],
        cwd=clone,
        env=os.environ | chosen | {"CONNECTOR_PGO": str(int(pgo))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode != 0) is fails, done.stderr
    return done.stderr


@pytest.mark.skipif(compiled.mode() == "interpreted", reason="nothing is compiled here")
@full_only
def test_a_second_clone_does_not_compile_until_it_is_edited(tmp_path: Path) -> None:
    first, second = small_clone(tmp_path / "first"), small_clone(tmp_path / "second")
    cache = tmp_path / "cache"
    taken = f"binlog-connector: taking 1 modules that were compiled before from {cache}\n"
    assert "compiling 1 modules" in build(first, cache)
    assert build(second, cache) == taken
    files = [
        sorted(path.name for path in (clone / "connector").rglob("*.so"))
        for clone in (first, second)
    ]
    assert files[0] == files[1]
    assert len(files[0]) == 2
    imported = subprocess.run(
        [sys.executable, "-c", "import connector.binlog.text_writer as d; print(d.__file__)"],
        cwd=second,
        env=os.environ | {"CONNECTOR_COMPILED": "require", "PYTHONPATH": str(second)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert imported.stdout.startswith(f"{second}/connector/binlog/text_writer.")
    original = native_of(first)
    for clone in (second, first):
        source = clone / "connector" / "binlog" / "text_writer.py"
        source.write_text(source.read_text().replace("_ZERO: Final = 48", "_ZERO: Final = 49"))
    assert "compiling 1 modules" in build(second, cache)
    assert build(first, cache) == taken
    edited = native_of(first)
    assert native_of(second) == edited != original
    # The C code of the original lies in the first clone, the module of the edited one beside it.
    shutil.rmtree(cache)
    shutil.copy(PROJECT / "connector/binlog/text_writer.py", first / "connector" / "binlog")
    assert "compiling 1 modules" in build(first, cache)
    assert native_of(first) != edited


@pytest.mark.skipif(compiled.mode() == "interpreted", reason="nothing is compiled here")
@full_only
def test_what_a_killed_build_left_is_compiled_again(tmp_path: Path) -> None:
    clone = small_clone(tmp_path / "clone")
    build(clone, tmp_path / "cache")
    complete = native_of(clone)
    shutil.rmtree(tmp_path / "cache")
    # As left by a linker that was killed.
    for path in clone.rglob("native__mypyc*.so"):
        path.write_bytes(b"")
    (temporary,) = (clone / "build").glob("temp.*")
    (temporary / "unfinished").touch()
    assert "compiling 1 modules" in build(clone, tmp_path / "cache")
    assert native_of(clone) == complete


@pytest.mark.skipif(compiled.mode() == "interpreted", reason="nothing is compiled here")
@full_only
def test_a_build_by_a_profile_trains_in_a_checkout_and_is_kept_apart(tmp_path: Path) -> None:
    clone, cache = small_clone(tmp_path / "clone"), tmp_path / "cache"
    build(clone, cache)
    plain = native_of(clone)
    assert build(clone, cache, pgo=True, fails=True) == (
        "error: CONNECTOR_PGO is '1', but this is not GCC, or not a checkout\n"
    )
    (clone / "tests").mkdir()
    (clone / "benchmarks").mkdir()
    training = clone / "benchmarks" / "training.py"
    training.write_text("import no_such_module\n")
    said = build(clone, cache, pgo=True, fails=True)
    assert said.endswith("error: CONNECTOR_PGO is '1', but the training failed\n")
    training.write_text("from connector.binlog.text_writer import put_i64\n")
    training.write_text("import connector.binlog.text_writer\n")
    assert "counting what runs often" in build(clone, cache, pgo=True)
    profiled = native_of(clone)
    assert profiled != plain
    # The counters are gone.
    assert b".gcda" not in profiled
    for pgo, expected in ((False, plain), (True, profiled)):
        assert build(clone, cache, pgo=pgo).startswith("binlog-connector: taking 1 modules")
        assert native_of(clone) == expected
    shutil.rmtree(cache)
    assert "compiling 1 modules" in build(clone, cache)
    assert native_of(clone) == plain
