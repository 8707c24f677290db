"""The process of a server that speaks S3 (moto), on a free port of 127.0.0.1."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import run_simple

if TYPE_CHECKING:
    from collections.abc import Iterable


def one_after_the_other(application: Any) -> Any:
    """Let no request begin before the one before it has ended.

    moto looks for an object and writes it in two steps, so that of two writers with
    `If-None-Match: *` both may win; S3 itself has one step.
    """
    turn = threading.Lock()

    def respond(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        with turn:
            return list(application(environment, start))

    return respond


if __name__ == "__main__":
    run_simple(
        "127.0.0.1",
        0,
        one_after_the_other(DomainDispatcherApplication(create_backend_app)),
        threaded=True,
        request_handler=MotoRequestHandler,
    )
