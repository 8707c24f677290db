"""Lets a collector of OpenTelemetry know how the stream is, if the settings name one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from connector.errors import ConfigError
from connector.errors import settings_choices as codes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from connector.metrics.figures import Figures
    from connector.progress.stream_position import Instance
    from connector.settings.sections import MetricsSettings


@contextmanager
def telling_collector(
    figures: Figures, settings: MetricsSettings, instance: Instance
) -> Iterator[None]:
    """Export figures and spans until the end; do nothing without `metrics.otlp`.

    Raises ConfigError if the packages of the extra are missing.
    """
    if settings.otlp is None:
        yield
        return
    try:
        from connector.metrics.otlp import exporting  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(codes.OTLP_EXTRA, said=error) from error
    with exporting(figures, settings.otlp.rstrip("/"), instance.id):
        yield
