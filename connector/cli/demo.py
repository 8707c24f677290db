"""`demo`: the whole pipeline on real servers."""

import logging
from argparse import Namespace

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors


def run(arguments: Namespace) -> int:
    """Run the demo, and return its exit code. Raises ConfigError if packages are missing."""
    try:
        from connector.lake.demo import DemoOptions, run_demo  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.DEMO_EXTRA, said=error) from error
    options = DemoOptions(
        source=arguments.source,
        duration_seconds=arguments.duration,
        rate=arguments.rate,
        formats=tuple(arguments.formats.split(",")),
        kafka=not arguments.no_kafka,
        keep=arguments.keep,
        directory=arguments.directory,
        mysqld=arguments.mysqld,
        address=arguments.address,
        container=arguments.container,
    )
    # The servers' client libraries repeat on standard error what the demo reports better.
    logging.getLogger("kafka").setLevel(logging.CRITICAL)
    return run_demo(options)
