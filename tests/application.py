"""The command line with all of its commands, made once."""

from __future__ import annotations

from connector.cli.application import application

app = application()
