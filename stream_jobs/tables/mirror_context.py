"""The objects that the work on all mirrors shares.

There is one context in a job: the storage, the Kafka client, the registry of schemas, the rules
that mirrors follow when columns change, and the table properties of new mirrors.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from stream_jobs.delta.storage import Storage

if TYPE_CHECKING:
    from stream_jobs.pipeline_folder import PipelineFolder
    from stream_jobs.source.client import KafkaClient
    from stream_jobs.tables.schema_rules import SchemaRules


class MirrorContext:
    """The mirror, the brokers, and the schemas."""

    def __init__(
        self,
        storage: Storage,
        base: str,
        client: KafkaClient,
        rules: SchemaRules,
        properties: Mapping[str, str],
        folder: PipelineFolder,
        *,
        accept_partitions: bool,
    ) -> None:
        """Hold them; `base` is the root of `storage`, for errors. New mirrors get `properties`.

        The job has its own files in `folder`.
        """
        self.storage = storage
        self.base = base.rstrip("/")
        self.client = client
        self.registry = rules.registry
        self.rules = rules
        self.properties = properties
        self.folder = folder
        self.accept_partitions = accept_partitions
        # While all files of a mirror of shards may be written again, no other thread commits to it.
        self.rewriting = threading.Lock()
