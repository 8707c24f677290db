"""Reports the state of the running process to systemd and to an OpenTelemetry collector.

A service of `Type=notify` with a watchdog sends datagrams to the socket that systemd names in the
environment. READY says that the process runs and its configuration is right. It does not wait for
the source or Kafka: if one is away at the start, the process waits for it. STATUS says what
`/readyz` says. WATCHDOG comes while `/healthz` says that the main loop turns; without it, systemd
restarts the process.

https://www.freedesktop.org/software/systemd/man/latest/sd_notify.html

The collector is the one of `metrics.otlp`; its packages are an extra.
"""

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Final

from connector.foundation.errors import ConfigError
from connector.foundation.settings import settings_errors
from connector.foundation.settings.sections import MetricsSettings
from connector.stream.metrics.pipeline_metrics import PipelineMetrics, healthz, readyz
from connector.stream.progress.stream_position import Instance

_STATUS_SECONDS: Final = 5.0
_US: Final = 1_000_000


@contextmanager
def systemd_notifications(
    metrics: PipelineMetrics, environment: Mapping[str, str] = os.environ
) -> Iterator[None]:
    """Tell systemd how a pipeline is, in a thread; nothing if it has not started this process."""
    address = environment.get("NOTIFY_SOCKET", "")
    if not address:
        yield
        return
    watchdog_seconds = _watchdog_seconds(environment)
    every = min(_STATUS_SECONDS, watchdog_seconds / 2) if watchdog_seconds else _STATUS_SECONDS
    stop = threading.Event()
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:

        def notify(*lines: str) -> None:
            # A socket that is gone or full must not harm the stream.
            with suppress(OSError):
                at = address.replace("@", "\0", 1) if address.startswith("@") else address
                sender.sendto("\n".join(lines).encode(), socket.MSG_DONTWAIT, at)

        def watch() -> None:
            last_status = ""
            while True:
                status = f"STATUS={'; '.join(readyz(metrics)[1].splitlines())}"
                if status != last_status:
                    notify(status)
                    last_status = status
                if watchdog_seconds and healthz(metrics)[0]:
                    notify("WATCHDOG=1")
                if stop.wait(every):
                    return

        notify("READY=1")
        thread = threading.Thread(target=watch, name="systemd", daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()


def _watchdog_seconds(environment: Mapping[str, str]) -> float:
    """Return how often systemd wants to hear of this process; 0 if it does not."""
    process = environment.get("WATCHDOG_PID", "")
    if process and process != str(os.getpid()):
        return 0.0
    return int(environment.get("WATCHDOG_USEC", "0")) / _US


@contextmanager
def otlp_export(
    metrics: PipelineMetrics, settings: MetricsSettings, instance: Instance
) -> Iterator[None]:
    """Export metrics and spans until the end; do nothing without `metrics.otlp`.

    Raises ConfigError if the packages of the extra are missing.
    """
    if settings.otlp is None:
        yield
        return
    try:
        from connector.stream.metrics.otlp import exporting  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigError(settings_errors.OTLP_EXTRA, said=error) from error
    with exporting(metrics, settings.otlp.rstrip("/"), instance.id):
        yield
