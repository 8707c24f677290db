"""Compiles the modules of the hot path where that is possible; pyproject.toml says all the rest.

What was built once from the same sources, by the same tools, is taken from the cache folder
(`extension_cache.py`).

`CONNECTOR_COMPILED` in the environment of the build chooses: `auto` compiles where there are a C
compiler and Python's headers and installs the sources alone elsewhere, `require` fails instead of
that, `off` does not compile. `connector/foundation/compiled.py` lists the compiled modules.

`CONNECTOR_PGO=1` compiles twice, the second time by a profile of the first (GCC, in a checkout): it
takes three times as long, and a tenth of the time at work is saved. Wheels are built so. A level of
optimisation in `CFLAGS`, such as `-O1`, is the one that is used: less of it compiles faster.
"""

from __future__ import annotations

import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
import sysconfig
from contextlib import redirect_stdout
from importlib.metadata import PackageNotFoundError, version
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

# First: it brings distutils where Python has it no longer.
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from distutils.ccompiler import CCompiler

_PROJECT = Path(__file__).parent
# An import would be one of the connector, which may require what is built here.
_COMPILED = runpy.run_path(str(_PROJECT / "connector" / "foundation" / "compiled.py"))
_CHOICE = _COMPILED["choice"]()
_SOURCES = _COMPILED["sources"]()
_NATIVE_MODULE = _COMPILED["NATIVE_MODULE"]
_PGO = os.environ.get("CONNECTOR_PGO") == "1"
# Python's own build reads CFLAGS, too; mypyc's flags come behind them.
_OWN_LEVEL = any(flag.startswith("-O") for flag in os.environ.get("CFLAGS", "").split())

_CACHED = runpy.run_path(str(_PROJECT / "extension_cache.py"))
_CACHE = _CACHED["ExtensionCache"].of_environment()

# Commands that make more than metadata.
_BUILDS = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install"}
# What compiles, and the packages whose types the compiled modules know (see pyproject.toml).
_TOOLS = ("setuptools", "mypy", "mypy-extensions", "librt", "isal", "orjson", "zstandard")
# All functions lie in one file; only hidden ones are called directly and inlined. Warnings about
# generated code tell nobody anything, and to look for them takes longer than to compile.
_C_FLAGS = ["-fvisibility=hidden", "-Wno-all"]
# That file is optimised by all cores, in parts that know of each other.
_LINK_TIME_FLAGS = ["-flto=auto"]
# Training runs in one thread. What it does not call is compiled as without a profile.
_PROFILING_FLAGS = ["-fprofile-generate", "-fprofile-update=single"]
_PROFILED_FLAGS = ["-fprofile-use", "-fprofile-partial-training", "-Wno-missing-profile"]
# The package with the training, and the one with the logs that it reads.
_TRAINING = ("benchmarks", "tests")
_IS_GCC = "#if !defined(__GNUC__) || defined(__clang__)\n#error\n#endif\n"


class _CannotCompileError(Exception):
    """Why there will be no extension modules."""


class _BuildExtensions(build_ext):
    """Builds the extension modules, all or none, or takes those of an earlier build."""

    # What this build is made from, and the modules that an earlier one made from the same.
    key = ""
    kept: ClassVar[dict[str, bytes]] = {}

    def run(self) -> None:
        # A build that was killed leaves files that are cut off, and newer than their sources.
        unfinished = Path(self.build_temp) / "unfinished"
        self.force = self.force or unfinished.exists() or _PGO
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.touch()
        try:
            super().run()
        except (BaseError, CCompilerError) as error:
            _remove_extensions(Path(self.build_lib))
            _do_without(str(error))
            self.extensions = []
            return
        # Nor does a build without a profile go on with what has one.
        if not _PGO:
            unfinished.unlink()
        if self.inplace and self.extensions:
            # setuptools leaves a file there that looks newer.
            for name, content in self.kept.items():
                _replace(Path(self.get_ext_fullpath(name)), content)
            built = {Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions}
            _remove_extensions(_PROJECT, but=built)
            # Newer than the sources, also where an edit of these left the C code as it was.
            Path(self.get_ext_fullpath(_NATIVE_MODULE)).touch()
        # Sources that were edited in the meantime have another key.
        if self.extensions and not self.kept and self.key == _key(_compiler()):
            names = [extension.name for extension in self.extensions]
            _CACHE.keep(self.key, {name: Path(self.get_ext_fullpath(name)) for name in names})

    def build_extensions(self) -> None:
        if not _PGO or self.kept:
            super().build_extensions()
            return
        (native,) = (each for each in self.extensions if each.name == _NATIVE_MODULE)
        compile_flags, link_flags = native.extra_compile_args, native.extra_link_args
        # What was counted before, of other code, lies beside the object files.
        for counts in Path(self.build_temp).rglob("*.gcda"):
            counts.unlink()
        native.extra_compile_args = [*compile_flags, *_PROFILING_FLAGS]
        native.extra_link_args = [*link_flags, *_PROFILING_FLAGS]
        super().build_extensions()
        _train(Path(self.build_lib))
        native.extra_compile_args = [*compile_flags, *_PROFILED_FLAGS]
        native.extra_link_args = link_flags
        super().build_extension(native)

    def build_extension(self, ext: Extension) -> None:
        if not self.kept:
            super().build_extension(ext)
            return
        _replace(Path(self.get_ext_fullpath(ext.name)), self.kept[ext.name])


def _train(built: Path) -> None:
    """Run what was built, which counts how often each branch is taken, and ends with the counts."""
    _say("counting what runs often, to compile again by that")
    with TemporaryDirectory() as folder:
        sources = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(_PROJECT / "connector", Path(folder, "connector"), ignore=sources)
        shutil.copytree(built / "connector", Path(folder, "connector"), dirs_exist_ok=True)
        for name in _TRAINING:
            Path(folder, name).symlink_to(_PROJECT / name)
        command = [sys.executable, "-m", "benchmarks.training"]
        environment = os.environ | {_COMPILED["VARIABLE"]: "require"}
        done = subprocess.run(command, cwd=folder, env=environment, check=False)  # noqa: S603 - ours
    if done.returncode:
        sys.exit("error: CONNECTOR_PGO is '1', but the training failed")


def _replace(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process that runs the file of an earlier build keeps that one.
    path.unlink(missing_ok=True)
    path.write_bytes(content)
    # Older than all C code: the next build that compiles does not take it for its own.
    os.utime(path, (0, 0))


def _extensions() -> list[Extension]:
    if _CHOICE == "off" or not _BUILDS.intersection(sys.argv):
        return []
    try:
        compiler = _compiler()
        _BuildExtensions.key = _key(compiler)
        _CACHE.lock(_BuildExtensions.key)
        _BuildExtensions.kept = _CACHE.find(_BuildExtensions.key, _module_names()) or {}
        if not _BuildExtensions.kept:
            if _PGO and not _can_profile(compiler):
                sys.exit("error: CONNECTOR_PGO is '1', but this is not GCC, or not a checkout")
            return _generate_c(_link_time_flags(compiler))
    except _CannotCompileError as error:
        _do_without(str(error))
        return []
    _say(f"taking {len(_SOURCES)} modules that were compiled before from {_CACHE.directory}")
    return [Extension(name, sources=[]) for name in _BuildExtensions.kept]


def _key(compiler: CCompiler) -> str:
    key: str = _CACHED["key_of"](_made_from(compiler))
    return key


def _module_names() -> list[str]:
    relative = [path.relative_to(_PROJECT).with_suffix("") for path in _SOURCES]
    return [*(".".join(path.parts) for path in relative), _NATIVE_MODULE]


def _made_from(compiler: CCompiler) -> Iterator[bytes]:
    """Yield all that decides what is built."""
    # Compiled modules take types from modules that are not compiled.
    connector = sorted((_PROJECT / "connector").rglob("*.py"))
    for path in [_PROJECT / "setup.py", _PROJECT / "extension_cache.py", *connector]:
        yield path.relative_to(_PROJECT).as_posix().encode()
        yield path.read_bytes()
    for name in _TOOLS:
        yield f"{name} {_version_of(name)}".encode()
    yield " ".join([sys.version, platform.machine(), *platform.libc_ver()]).encode()
    yield " ".join([*compiler.compiler_so, *compiler.linker_so]).encode()
    yield f"CONNECTOR_PGO={_PGO}".encode()
    ask = [*compiler.compiler_so[:1], "--version"]
    yield subprocess.run(ask, capture_output=True, check=False).stdout  # noqa: S603 - Python's own


def _version_of(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "is missing"


def _compiler() -> CCompiler:
    """Return the C compiler that Python was built with, after a try of it."""
    from distutils.ccompiler import new_compiler
    from distutils.sysconfig import customize_compiler

    compiler = new_compiler()
    customize_compiler(compiler)
    if not _can_build(compiler, "#include <Python.h>\n"):
        command = " ".join(compiler.compiler_so[:1])
        reason = f"{command} cannot compile a file that includes Python.h"
        raise _CannotCompileError(reason)
    return compiler


def _link_time_flags(compiler: CCompiler) -> list[str]:
    """Return the flags that optimise while linking, if compiler and linker can do that."""
    wanted = not _OWN_LEVEL and _can_build(compiler, "", _LINK_TIME_FLAGS)
    return _LINK_TIME_FLAGS if wanted else []


def _can_profile(compiler: CCompiler) -> bool:
    is_checkout = all((_PROJECT / name).is_dir() for name in _TRAINING)
    return is_checkout and _can_build(compiler, _IS_GCC)


def _can_build(compiler: CCompiler, source: str, link_time_flags: list[str] | None = None) -> bool:
    """Return whether `source` compiles, and with `link_time_flags` also links."""
    includes = [sysconfig.get_path("include")]
    with TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text(source, encoding="ascii")
        try:
            objects = compiler.compile(
                [str(probe)], folder, include_dirs=includes, extra_postargs=link_time_flags
            )
            if link_time_flags:
                library = str(Path(folder, "probe.so"))
                compiler.link_shared_object(objects, library, extra_postargs=link_time_flags)
        except (BaseError, CCompilerError):
            return False
    return True


def _generate_c(link_time_flags: list[str]) -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        raise _CannotCompileError(str(error)) from None
    # Types are checked by `make lint`; most packages that they come from are not here.
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    paths = [path.relative_to(_PROJECT).as_posix() for path in _SOURCES]
    time = "some minutes" if _PGO else "a minute or two"
    _say(f"compiling {len(paths)} modules, which takes {time}")
    told = StringIO()
    try:
        with redirect_stdout(told):
            extensions = mypycify(
                [*options, *paths],
                opt_level="3",
                debug_level="0",
                group_name=_NATIVE_MODULE.removesuffix("__mypyc"),
            )
    except SystemExit as error:
        _say(told.getvalue())
        reason = f"mypyc refuses a module (exit code {error.code})"
        raise _CannotCompileError(reason) from None
    for extension in extensions:
        # A warning of a newer C compiler is no reason to be slow.
        unwanted = {"-Werror", "-O3"} if _OWN_LEVEL else {"-Werror"}
        flags = [flag for flag in extension.extra_compile_args if flag not in unwanted]
        extension.extra_compile_args = [*flags, *_C_FLAGS]
        # The flags stand there.
        extension.depends = [*(extension.depends or []), "setup.py"]
        if extension.name == _NATIVE_MODULE:
            extension.sources = [_without_indentation(Path(name)) for name in extension.sources]
            extension.extra_compile_args += link_time_flags
            extension.extra_link_args = [*(extension.extra_link_args or []), *link_time_flags]
    return extensions


def _without_indentation(source: Path) -> str:
    """Write a copy of a file of C without indentation, if there is no such copy; return its path.

    mypyc indents deeper and deeper: of 190 MB, 160 MB are blanks, and take the compiler a quarter
    of its time. The object file stays the same.
    """
    flat = source.with_suffix(".flat.c")
    text = re.sub(rb"(?m)^ +", b"", source.read_bytes())
    if not flat.exists() or flat.read_bytes() != text:
        flat.write_bytes(text)
    return flat.as_posix()


def _do_without(reason: str) -> None:
    """Go on without extension modules, or end where they are required."""
    if _CHOICE == "require":
        sys.exit(f"error: CONNECTOR_COMPILED is 'require', but {reason}")
    # What an earlier build left is older than the sources.
    _remove_extensions(_PROJECT)
    _say(f"the package will run interpreted, and slower: {reason}")


def _remove_extensions(root: Path, but: Collection[Path] = ()) -> None:
    kept = {path.resolve() for path in but}
    for path in (root / "connector").rglob("*" + sysconfig.get_config_var("EXT_SUFFIX")):
        if path.resolve() not in kept:
            path.unlink()


def _say(text: str) -> None:
    print(f"binlog-connector: {text}", file=sys.stderr, flush=True)


setup(
    ext_modules=_extensions(),
    cmdclass={"build_ext": _BuildExtensions},
    # The one large file of C takes longer than all others.
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
