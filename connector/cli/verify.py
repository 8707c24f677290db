"""`verify`: compares what the pipeline has delivered with the source."""

from argparse import Namespace
from pathlib import Path

from connector.cli import command_errors
from connector.cli.configuration import configure_logging
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings
from verification.process_folder import process_folder


def run(arguments: Namespace) -> int:
    """Compare mirrors, a replica or topics with the source; return the code of the outcome."""
    # Standard output has the report alone.
    configure_logging(LogSettings(), command="verify")
    of_others = bool(arguments.table) or arguments.file_of_tables is not None
    _require_certificate(arguments)
    if arguments.check is not None:
        return _certificate(arguments)
    if arguments.config is None:
        raise ConfigError(command_errors.NO_CONFIG)
    if of_others:
        _require_foreign(arguments)
    else:
        _require_fitting(arguments)
        arguments.config = Path(arguments.config)
    if arguments.certificate is not None:
        return _certificate(arguments)
    if arguments.topics:
        from connector.cli.verify_topics import verify_topics  # noqa: PLC0415  # needs no extra

        return verify_topics(arguments)
    try:
        from connector.cli import verify_foreign, verify_mirror  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    with process_folder():
        if of_others:
            return verify_foreign.verify_foreign(arguments)
        if arguments.forever:
            return verify_mirror.verify_forever(arguments)
        return verify_mirror.verify_mirror(arguments)


def _certificate(arguments: Namespace) -> int:
    """Make or check a certificate; raises ConfigError without its extra."""
    try:
        from connector.cli import verify_certificate  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    with process_folder():
        if arguments.check is not None:
            return verify_certificate.check_certificate(arguments)
        if arguments.mirror is None:
            return verify_certificate.make_foreign_certificate(arguments)
        return verify_certificate.make_certificate(arguments)


def _require_certificate(arguments: Namespace) -> None:
    """Raise ConfigError if options do not fit --certificate or --check."""
    makes, checks = arguments.certificate is not None, arguments.check is not None
    if (arguments.sign_key is not None and not makes) or (
        arguments.public_key is not None and not checks
    ):
        raise ConfigError(command_errors.KEYS)
    others = (
        arguments.topics,
        arguments.replica is not None,
        arguments.repair,
        arguments.all,
        arguments.forever,
        arguments.sample is not None,
        arguments.since is not None,
        arguments.first is not None,
        arguments.until is not None,
        arguments.state is not None,
    )
    is_foreign = bool(arguments.table) or arguments.file_of_tables is not None
    is_made_of = is_foreign or arguments.mirror is not None
    # Certificates have no values; the rows of a foreign table that differs have some.
    has_values = arguments.no_values and not is_foreign
    if makes and (checks or not is_made_of or has_values or any(others)):
        raise ConfigError(command_errors.CERTIFICATE)
    is_chosen = is_made_of or arguments.no_values or bool(arguments.tables)
    if checks and (is_chosen or any(others)):
        raise ConfigError(command_errors.CHECK)


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
    # What is read of tables.
    read = bool(arguments.tables) or arguments.repair or arguments.pace is not None
    of_tables = read or shown or any(parts)
    if (topics and of_tables) or (replica and arguments.since is not None):
        raise ConfigError(command_errors.NEEDS_MIRROR)
    # What is known of a replica is not kept: it has no versions.
    not_forever = arguments.json or shown or any(parts[:2]) or (replica and parts[2])
    if arguments.forever and (topics or not_forever):
        raise ConfigError(command_errors.FOREVER)
    if (arguments.first or arguments.until) and not topics:
        raise ConfigError(command_errors.NEEDS_TOPICS)
    if parts.count(True) > 1:
        raise ConfigError(command_errors.ONE_PART)
