"""Writes docs/man/ from the help of the two programs: `make man-pages`."""

from __future__ import annotations

import argparse
import re
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from stream_jobs.run.arguments import COMMANDS, parser_of
from tests.application import commands, parser
from tests.cli import roff

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.foundation.argument_parser import ArgumentParser

FOLDER = Path(__file__).parents[2] / "docs" / "man"
_CONNECTOR, _MIRROR = "binlog-connector", "binlog-connector-mirror"
# Of the page with all keys; a wheel holds no documents.
_KEYS = "`binlog-connector config` prints a file with every key, its default and its meaning."
_VARIABLES = (
    "overrides a key of the configuration; lists and tables are JSON. An unknown key is an error."
)


def pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {
        f"{_CONNECTOR}.1": "\n".join(_connector()) + "\n",
        f"{_MIRROR}.1": "\n".join(_mirror()) + "\n",
    }


def _head(name: str, purpose: str, synopsis: str) -> Iterator[str]:
    yield '.\\" Written by `make man-pages` from the help of the program.'
    yield f'.TH {name.upper()} 1 "" "{_CONNECTOR} {version(_CONNECTOR)}" "User Commands"'
    yield roff.section("Name")
    yield f"{roff.escaped(name)} \\- {roff.escaped(purpose)}"
    yield roff.section("Synopsis")
    yield f"{roff.bold(name)} {synopsis}"


def _connector() -> Iterator[str]:
    program = parser()
    purpose = "streams changes of MySQL and MariaDB into Kafka, and reads binlogs"
    yield from _head(_CONNECTOR, purpose, "\\fICOMMAND\\fR [\\fIARGUMENT\\fR]...")
    yield roff.section("Description")
    yield from roff.paragraphs(program.text)
    yield from _examples(program)
    yield roff.section("Options")
    yield from _arguments(program)
    yield roff.section("Commands")
    for names, _ in commands():
        yield from _command(parser(*names), " ".join(names))
    yield roff.section("Exit status")
    yield from roff.paragraphs(
        "Of `run`; the others say theirs above.\n\n"
        "`0` stopped on request; `1` gave up on a transient error, so that starting again may "
        "help; `2` the configuration is wrong; `3` a restart cannot help, and the last line says "
        "what can; `130` a second signal, or a clean stop took too long."
    )
    yield roff.section("Environment")
    yield from roff.definition(roff.bold("BINLOG_CONNECTOR_SECTION__KEY"), f"{_VARIABLES} {_KEYS}")
    yield from roff.definition(
        roff.bold("CONNECTOR_COMPILED"),
        "`off` runs the Python sources, `require` refuses to run them; else what is installed is "
        "run. `binlog-connector --version` says which.",
    )
    yield roff.section("See also")
    yield f"{roff.bold(_MIRROR)}(1), {roff.bold('mysqlbinlog')}(1)"


def _examples(command: ArgumentParser) -> Iterator[str]:
    if command.examples:
        yield from (".PP", roff.bold("Examples"))
    program = command.prog.partition(" ")[0]
    for each in command.examples:
        yield from (".PP", roff.inline(f"{each.purpose}:"))
        yield from (".RS 4", roff.bold(f"{program} {each.command}"), ".RE")


def _mirror() -> Iterator[str]:
    program = parser_of()
    purpose = "keeps Delta tables equal to the tables of a source"
    yield from _head(_MIRROR, purpose, "[\\fICOMMAND\\fR] \\fICONFIG\\fR [\\fIARGUMENT\\fR]...")
    yield roff.section("Description")
    yield from roff.paragraphs(program.text)
    yield from _examples(program)
    yield roff.section("Options")
    yield from _arguments(program)
    yield roff.section("Commands")
    for name in COMMANDS:
        yield from _command(parser_of(name), name)
    yield roff.section("Environment")
    yield from roff.definition(
        roff.bold("STREAM_JOB_SECTION__KEY"),
        f"{_VARIABLES} {_KEYS.replace('config`', 'config stream_job.toml`')}",
    )
    yield roff.section("See also")
    yield f"{roff.bold(_CONNECTOR)}(1)"


def _command(command: ArgumentParser, name: str) -> Iterator[str]:
    words = command.format_usage().partition("[OPTIONS]")[2].split()
    yield roff.subsection(" ".join([name, *words]))
    yield from roff.paragraphs(command.text)
    yield from _arguments(command)
    yield from _examples(command)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for each in parser._actions:
        if each.dest == "help":
            continue
        names = ", ".join(roff.bold(name) for name in each.option_strings)
        value = each.metavar if isinstance(each.metavar, str) else "|".join(each.choices or ())
        term = " ".join(filter(None, (names, f"\\fI{roff.escaped(value)}\\fR" if value else "")))
        text = re.sub(r"\[default: (.*)\]$", r"Default: \1.", each.help or "")
        if each.nargs in (None, argparse.OPTIONAL) and each.default not in (None, "", []):
            text += f" Default: `{each.default}`."
        yield from roff.definition(term, text)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in pages().items():
        (FOLDER / file).write_text(text, "utf-8")
