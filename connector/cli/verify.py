"""`verify`: compares what the pipeline has delivered with the source."""

from argparse import Namespace
from pathlib import Path

from connector.cli.configuration import configure_logging
from connector.cli.verify_options import is_foreign, refuse_without_effect
from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import LogSettings
from verification.process_folder import process_folder


def run(arguments: Namespace) -> int:
    """Compare mirrors, a replica or topics with the source; return the code of the outcome."""
    # Standard output has the report alone.
    configure_logging(LogSettings(), command="verify")
    refuse_without_effect(arguments)
    of_others = is_foreign(arguments)
    if not of_others and arguments.check is None:
        arguments.config = Path(arguments.config)
    if arguments.topics:
        from connector.cli.verify_topics import verify_topics  # noqa: PLC0415  # needs no extra

        return verify_topics(arguments)
    try:
        from connector.cli import verify_certificate, verify_foreign, verify_mirror  # noqa: PLC0415
    except ImportError as error:
        raise ConfigError(settings_errors.VERIFY_EXTRA, said=error) from error
    with process_folder():
        if arguments.check is not None:
            return verify_certificate.check_certificate(arguments)
        if arguments.certificate is not None:
            if arguments.mirror is None:
                return verify_certificate.make_foreign_certificate(arguments)
            return verify_certificate.make_certificate(arguments)
        if of_others:
            return verify_foreign.verify_foreign(arguments)
        if arguments.forever:
            return verify_mirror.verify_forever(arguments)
        return verify_mirror.verify_mirror(arguments)
