"""Serves the log in a folder: `python -m tests.integration.folder_server FOLDER`.

It holds a connection to the log. When another process has served it and is gone, this one comes
back as the other clients do, and serves if it is the first.
"""

from __future__ import annotations

import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from connector.kafka.failures import BrokersUnreachable
from connector.kafka.folder import door

# As long as the disk is full, nobody can open the log.
_PAUSE_SECONDS: Final = 0.05


def main(folder: Path) -> None:
    """Serve until SIGTERM comes."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    while True:
        try:
            connection = door.connect(folder)
        except BrokersUnreachable:
            time.sleep(_PAUSE_SECONDS)
            continue
        with connection:
            print("serves", flush=True)
            with suppress(ConnectionError):
                connection.recv(1)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
