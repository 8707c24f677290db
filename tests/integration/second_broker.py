"""A second broker of a cluster."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from local_stack import KafkaBroker
from local_stack.server import HOST, free_port

if TYPE_CHECKING:
    from pathlib import Path


class SecondBroker(KafkaBroker):
    """A broker without a controller, in the cluster of another one."""

    def __init__(self, directory: Path, first: KafkaBroker) -> None:
        """Join the cluster of `first`, which runs."""
        directory.mkdir()
        port = free_port()
        (directory / "port").write_text(str(port))
        kept = "controller_port"
        (directory / kept).write_text((first.directory / kept).read_text())
        self._first = first
        settings = {
            "process.roles": "broker",
            "node.id": "2",
            "listeners": f"PLAINTEXT://{HOST}:{port}",
        }
        super().__init__(directory, settings=settings)

    def _cluster_id(self) -> str:
        about = (self._first.directory / "data" / "meta.properties").read_text()
        found = re.search(r"^cluster\.id=(.*)$", about, re.MULTILINE)
        assert found is not None
        return found[1]
