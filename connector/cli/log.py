"""`log copy`: the log of a stopped pipeline moves to a folder, to Kafka, or to other brokers."""

from argparse import Namespace
from pathlib import Path

from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from connector.cli.configuration import configure_logging, loaded
from connector.cli.exit_codes import errors, say
from connector.foundation.errors import ConfigError
from connector.foundation.errors.message import visible
from connector.foundation.settings.sections import Settings
from connector.stream.sink import log_copy_errors
from connector.stream.sink.log_copy import copy_log


def run_copy(arguments: Namespace) -> int:
    """Copy the log, and say what to change.

    Raises TransientError or DefiniteError.
    """
    source, target = loaded(arguments.config), loaded(arguments.target)
    configure_logging(source.log, command="log copy", pipeline=source.name)
    _require_two_logs(source, target, arguments.config, arguments.target)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(
        *columns, console=errors(), transient=True, disable=not errors().is_terminal
    ) as display:
        task = display.add_task("", total=None)

        def show(topic: str, done: int, total: int) -> None:
            display.update(task, description=visible(topic), completed=done, total=total)

        offsets = copy_log(source.kafka, target.kafka, show)
    print_moved(offsets, target.kafka.bootstrap_servers, arguments.target)
    return 0


def print_moved(offsets: int, servers: list[str], config: Path) -> None:
    """Say where the log is now, and what to change."""
    named = ", ".join(servers)
    for line in (
        f"the log is in {named}, with the same {offsets} offsets",
        f"connector: start it with {config}",
        f"Spark job: name {named} in kafka.bootstrap_servers, and start it with its tables",
        "do not start either with the old log again",
    ):
        say(visible(line))


def _require_two_logs(source: Settings, target: Settings, path: Path, other: Path) -> None:
    reasons = {
        "name differs": source.name != target.name,
        "kafka.topic_prefix differs": source.kafka.topic_prefix != target.kafka.topic_prefix,
        "kafka.bootstrap_servers is the same": set(source.kafka.bootstrap_servers)
        & set(target.kafka.bootstrap_servers),
    }
    for why, is_so in reasons.items():
        if is_so:
            raise ConfigError(log_copy_errors.SAME_LOG, path=path, other=other, why=why)
