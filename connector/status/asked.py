"""Asks a running process for its facts, over `metrics.listen`."""

from __future__ import annotations

from http.client import HTTPConnection, HTTPException
from typing import TYPE_CHECKING, NamedTuple

from connector.status.facts import State, from_json
from connector.status.server import STATUS_PATH

if TYPE_CHECKING:
    from connector.settings.sections import Settings
    from connector.status.facts import Facts

_ANSWER_SECONDS = 5.0
# A process that listens at all addresses is asked at that of this machine.
_ANY = {"0.0.0.0": "127.0.0.1", "[::]": "::1", "": "127.0.0.1"}  # noqa: S104  # it is only asked


class NoAnswer(NamedTuple):
    """Why the process could not be asked, and what that says of it."""

    state: State
    reason: str


def ask(settings: Settings) -> Facts | NoAnswer:
    """Return the facts of the process of `settings`, or why there are none."""
    listen = settings.metrics.listen
    if listen is None:
        return NoAnswer(
            State.UNKNOWN, "metrics.listen is not set, so nobody can ask whether a process runs"
        )
    host, _, port = listen.rpartition(":")
    connection = HTTPConnection(
        _ANY.get(host, host.strip("[]")), int(port), timeout=_ANSWER_SECONDS
    )
    try:
        connection.request("GET", STATUS_PATH)
        facts = from_json(connection.getresponse().read())
    except ConnectionRefusedError:
        return NoAnswer(State.STOPPED, f"no process answers at {listen}")
    except (OSError, HTTPException) as error:
        return NoAnswer(State.UNKNOWN, f"{listen} does not answer: {error}")
    except ValueError:
        return NoAnswer(
            State.UNKNOWN, f"another program answers at {listen}, or another version of this one"
        )
    finally:
        connection.close()
    if facts.pipeline != settings.name:
        return NoAnswer(State.STOPPED, f"pipeline {facts.pipeline} answers at {listen}")
    return facts
