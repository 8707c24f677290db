"""`verify`: compares what the pipeline has delivered with the source."""

from argparse import Namespace
from pathlib import Path

from connector.cli import command_errors
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors


def run(arguments: Namespace) -> int:
    """Compare mirrors, a replica or topics with the source; return the code of the outcome."""
    of_others = bool(arguments.table) or arguments.file_of_tables is not None
    if of_others:
        _require_foreign(arguments)
    else:
        _require_fitting(arguments)
        arguments.config = Path(arguments.config)
    if arguments.topics:
        from connector.cli.verify_topics import verify_topics  # noqa: PLC0415  # needs no extra

        return verify_topics(arguments)
    try:
        from connector.cli import verify_foreign, verify_mirror  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    if of_others:
        return verify_foreign.verify_foreign(arguments)
    if arguments.forever:
        return verify_mirror.verify_forever(arguments)
    return verify_mirror.verify_mirror(arguments)


def _require_foreign(arguments: Namespace) -> None:
    """Raise ConfigError if options are not those of tables of other programs."""
    others = (
        arguments.topics,
        arguments.mirror is not None,
        arguments.replica is not None,
        bool(arguments.tables),
        arguments.repair,
        arguments.all,
        arguments.forever,
        arguments.first is not None,
        arguments.until is not None,
        arguments.sample is not None,
        arguments.since is not None,
        arguments.state is not None,
    )
    if any(others):
        raise ConfigError(command_errors.FOREIGN_ALONE)


def _require_fitting(arguments: Namespace) -> None:
    """Raise ConfigError if options are of something else than what is compared."""
    topics, replica = arguments.topics, arguments.replica is not None
    if topics + replica + (arguments.mirror is not None) != 1:
        raise ConfigError(command_errors.WHAT)
    parts = [each is not None for each in (arguments.sample, arguments.since, arguments.state)]
    shown = arguments.no_values or arguments.all
    of_tables = bool(arguments.tables) or arguments.repair or shown or any(parts)
    if (topics and of_tables) or (replica and arguments.since is not None):
        raise ConfigError(command_errors.NEEDS_MIRROR)
    not_forever = arguments.json or shown or any(parts)
    if arguments.forever and (topics or not_forever):
        raise ConfigError(command_errors.FOREVER)
    if (arguments.first or arguments.until) and not topics:
        raise ConfigError(command_errors.NEEDS_TOPICS)
    if parts.count(True) > 1:
        raise ConfigError(command_errors.ONE_PART)
