"""Compiles the modules of the hot path where that is possible; pyproject.toml says all the rest.

`CONNECTOR_COMPILED` in the environment of the build chooses: `auto` compiles where there are a C
compiler and Python's headers and installs the sources alone elsewhere, `require` fails instead of
that, `off` does not compile. Which modules are compiled stands in `connector/compiled.py`.
"""

from __future__ import annotations

import os
import runpy
import sys
import sysconfig
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

# First: it brings distutils where Python has it no longer.
from setuptools import setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

if TYPE_CHECKING:
    from collections.abc import Collection

    from setuptools import Extension

_PROJECT = Path(__file__).parent
# An import would be one of the connector, which may require what is built here.
_COMPILED = runpy.run_path(str(_PROJECT / "connector" / "compiled.py"))
_CHOICE = _COMPILED["choice"]()
_SOURCES = _COMPILED["sources"]()
_NATIVE_MODULE = _COMPILED["NATIVE_MODULE"]

# Commands that make more than metadata.
_BUILDS = {"build", "build_ext", "bdist_wheel", "editable_wheel", "install"}
# All functions lie in one file; only hidden ones are called directly and inlined.
_C_FLAGS = ["-fvisibility=hidden"]


class _CannotCompileError(Exception):
    """Why there will be no extension modules."""


class _BuildExtensions(build_ext):
    """Builds the extension modules, all or none."""

    def run(self) -> None:
        try:
            super().run()
        except (BaseError, CCompilerError) as error:
            _remove_extensions(Path(self.build_lib))
            _do_without(str(error))
            self.extensions = []
            return
        if self.inplace and self.extensions:
            built = {Path(self.get_ext_fullpath(extension.name)) for extension in self.extensions}
            _remove_extensions(_PROJECT, but=built)
            # Newer than the sources, also where an edit of these left the C code as it was.
            Path(self.get_ext_fullpath(_NATIVE_MODULE)).touch()


def _extensions() -> list[Extension]:
    if _CHOICE == "off" or not _BUILDS.intersection(sys.argv):
        return []
    try:
        _require_compiler()
        return _generate_c()
    except _CannotCompileError as error:
        _do_without(str(error))
        return []


def _require_compiler() -> None:
    from distutils.ccompiler import new_compiler
    from distutils.sysconfig import customize_compiler

    compiler = new_compiler()
    customize_compiler(compiler)
    with TemporaryDirectory() as folder:
        probe = Path(folder, "probe.c")
        probe.write_text("#include <Python.h>\n", encoding="ascii")
        try:
            compiler.compile([str(probe)], folder, include_dirs=[sysconfig.get_path("include")])
        except (BaseError, CCompilerError):
            command = " ".join(compiler.compiler_so[:1])
            reason = f"{command} cannot compile a file that includes Python.h"
            raise _CannotCompileError(reason) from None


def _generate_c() -> list[Extension]:
    try:
        from mypyc.build import mypycify
    except ImportError as error:
        raise _CannotCompileError(str(error)) from None
    # Types are checked by `make lint`; most packages that they come from are not here.
    options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
    paths = [path.relative_to(_PROJECT).as_posix() for path in _SOURCES]
    _say(f"compiling {len(paths)} modules, which takes a minute or two")
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
        flags = [flag for flag in extension.extra_compile_args if flag != "-Werror"]
        extension.extra_compile_args = [*flags, *_C_FLAGS]
    return extensions


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
    # The one large file of C takes as long as all others.
    options={"build_ext": {"parallel": os.cpu_count() or 1}},
)
