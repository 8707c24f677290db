"""The way to a log in a folder: the first process that comes serves it to all others.

The process that has the lock of the folder answers at a socket in it. One that finds no answer
there tries to take the lock; when it has it, it opens the log as after a crash, and serves. So any
process may end at any time, and the next one that connects goes on.

A process that is copied by `fork` does not serve: it connects, as all others do.
"""

from __future__ import annotations

import atexit
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from errno import ENOENT
from pathlib import Path
from typing import Final

from connector.foundation.errors.kinds import SinkRefused
from connector.foundation.errors.message import Message
from connector.kafka import connection_errors
from connector.kafka.failures import BrokersUnreachable
from connector.kafka.folder import folder_errors
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.folder_server import FolderServer
from connector.kafka.folder.results import FolderInUse

SOCKET: Final = "socket"
# A process that takes over reads the newest file of the log first.
PATIENCE_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.02
_BACKLOG: Final = 128
# A longer path does not fit into the address of a socket.
_PATH_BYTES_MAX: Final = 100
_OPEN_FILES: Final = Path("/proc/self/fd")

_turn = threading.Lock()
# Those of this process.
_servers: dict[Path, FolderServer] = {}
# Those with a log to which this process had a connection; perhaps another one served it.
_reached_folders: set[Path] = set()


def connect(folder: Path, patience_seconds: float = PATIENCE_SECONDS) -> socket.socket:
    """Return a connection to the server of the log in a folder, which may be this process.

    A process that has the lock has so long to answer. Raises BrokersUnreachable, which says why
    there is no connection.
    """
    until = time.monotonic() + patience_seconds
    while True:
        try:
            connection = _reached(folder)
            if connection is not None:
                _reached_folders.add(folder)
                return connection
            _serve(folder)
        except FolderInUse as error:
            if time.monotonic() > until:
                raise unanswered(folder) from error
            time.sleep(_PAUSE_SECONDS)
        except SinkRefused as error:
            raise BrokersUnreachable(error.message, definite=True) from error
        except OSError as error:
            refused = folder_errors.FolderUnusable(folder, error)
            raise BrokersUnreachable(refused.message, definite=True) from error


def unanswered(folder: Path) -> BrokersUnreachable:
    """Return the error for a process that has the lock, and does not answer."""
    message = Message(connection_errors.FOLDER_IN_USE, {"folder": folder})
    return BrokersUnreachable(message, definite=False)


def _reached(folder: Path) -> socket.socket | None:
    """Return a connection, None without a server. Raises FolderInUse if it takes none, OSError."""
    connection = socket.socket(socket.AF_UNIX)
    # Otherwise it waits without end when so many wait already that there is no more room.
    connection.setblocking(False)
    try:
        with _address(folder) as address:
            connection.connect(address)
    except (FileNotFoundError, ConnectionRefusedError):
        connection.close()
        return None
    except BlockingIOError as error:
        connection.close()
        raise FolderInUse from error
    except BaseException:
        connection.close()
        raise
    connection.setblocking(True)
    return connection


def _serve(folder: Path) -> None:
    """Serve the log. Raises FolderInUse if this process or another does, OSError, SinkRefused."""
    with _turn:
        server = _servers.get(folder)
        if server is not None and not server.is_closed:
            if (folder / SOCKET).is_socket():
                # Another thread was faster.
                raise FolderInUse
            # Somebody has removed it, perhaps with the folder: nobody can come any more.
            server.close()
        if (server is not None or folder in _reached_folders) and not folder.is_dir():
            # What was in it is not made again by an empty log in its place.
            raise FileNotFoundError(ENOENT, os.strerror(ENOENT))
        log = FolderLog(folder)
        try:
            _servers[folder] = FolderServer(log, _listener(folder))
        except BaseException:
            log.close()
            raise


def _listener(folder: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    try:
        # Of a process that has ended: this one has the lock.
        (folder / SOCKET).unlink(missing_ok=True)
        with _address(folder) as address:
            listener.bind(address)
        listener.listen(_BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


@contextmanager
def _address(folder: Path) -> Iterator[str]:
    """Lend the address of a folder's socket."""
    path = folder / SOCKET
    if len(os.fsencode(path)) <= _PATH_BYTES_MAX or not _OPEN_FILES.exists():
        yield str(path)
        return
    descriptor = os.open(folder, os.O_PATH | os.O_DIRECTORY)
    try:
        yield str(_OPEN_FILES / str(descriptor) / SOCKET)
    finally:
        os.close(descriptor)


def close() -> None:
    """End the servers of this process."""
    with _turn:
        servers = list(_servers.values())
        _servers.clear()
        _reached_folders.clear()
    for server in servers:
        server.close()


def _forget() -> None:
    """Leave the folders to the process that this one was copied from."""
    global _turn  # noqa: PLW0603 - another thread of that process may have it
    _turn = threading.Lock()
    for server in _servers.values():
        server.forget()
    _servers.clear()


def _end() -> None:
    """End the servers with the process; a client that connects again now waits for its end."""
    close()
    _turn.acquire()


atexit.register(_end)
os.register_at_fork(after_in_child=_forget)
