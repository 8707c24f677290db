"""`config`: the reference files of the package."""

import re
import sys
from argparse import Namespace
from enum import StrEnum
from importlib import resources


def run(arguments: Namespace) -> int:
    """Print a reference file, whole or with what a first run needs."""
    reference = Reference(arguments.name)
    sys.stdout.write(reference.minimal() if arguments.minimal else reference.text())
    return 0


class Reference(StrEnum):
    """Files under `configs/`, by their names."""

    CONNECTOR = "connector.toml"
    STREAM_JOB = "stream_job.toml"
    GRANTS = "grants.sql"
    MYSQL = "source.cnf"
    MARIADB = "mariadb.cnf"

    def text(self) -> str:
        """Return the content of the file."""
        configs = resources.files("connector") / "configs"
        folder = configs if self.value.endswith(".toml") else configs / "mysql"
        return (folder / self.value).read_text("utf-8")

    def minimal(self) -> str:
        """Return the keys that one sets in any case, as the file has them; of the others, all."""
        wanted = _MINIMAL.get(self.value)
        if wanted is None:
            return self.text()
        lines = [f"# `binlog-connector config {self.value}` prints every key."]
        section, told = "", ""
        comment: list[str] = []
        for line in self.text().splitlines():
            # Keys without a value are comments, too, and end the one before them.
            key = f"{section}{line.partition(' =')[0]}"
            if line.startswith("["):
                section = line.strip("[]") + "."
            elif key in wanted:
                if section != told:
                    lines += ["", f"[{section.removesuffix('.')}]"]
                lines += [*comment, line]
                told = section
            is_meaning = line.startswith("#") and not _COMMENTED.match(line)
            comment = [*comment, line] if is_meaning else []
        return "\n".join([*lines, ""])


# What a first run needs.
_MINIMAL = {
    Reference.CONNECTOR.value: frozenset(
        {
            *("name", "kafka.bootstrap_servers", "kafka.topic_prefix"),
            *("source.host", "source.user", "source.password", "source.server_id"),
            "source.tables",
        }
    ),
    Reference.STREAM_JOB.value: frozenset(
        {"name", "kafka.bootstrap_servers", "kafka.topic_prefix", "mirror.path"}
    ),
}
_COMMENTED = re.compile(r"# (?:\w+ = |\])")
