"""Builds the applier of batches from settings."""

import os
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Final

from connector.foundation.errors import ConfigError
from connector.foundation.private_folders import own_folder
from connector.foundation.settings.sections import SnapshotSettings
from connector.replication.server.addresses import candidates, source_settings
from stream_jobs.apply.key_index import IndexFolder
from stream_jobs.apply.task_messages import Task
from stream_jobs.cuts.cut import CutStore
from stream_jobs.cuts.cut_target import CutTargetFinder
from stream_jobs.cuts.state_topics import ProgressTopic, SnapshotTopic
from stream_jobs.delta import change_data, housekeeping
from stream_jobs.delta.storage import Storage
from stream_jobs.delta.storages import storage_of
from stream_jobs.iceberg.catalog_login import CatalogAccess, CatalogLogin, signer_of
from stream_jobs.iceberg.catalog_publisher import CatalogPublisher
from stream_jobs.iceberg.rest_catalog import RestCatalog
from stream_jobs.iceberg.table_files import TableFiles, reader_uri
from stream_jobs.load import load_errors
from stream_jobs.load.loader import Loader, RangeRunner
from stream_jobs.load.source_server import Teller
from stream_jobs.load.source_servers import LoadPlan
from stream_jobs.load.table_loads import TableLoads
from stream_jobs.run.batch import BatchApplier
from stream_jobs.run.cut_coordinator import CutCoordinator
from stream_jobs.run.cut_history import CutHistory
from stream_jobs.run.iceberg_publication import IcebergPublication, PublicationLimits
from stream_jobs.run.job_state import Ownership, claimed
from stream_jobs.settings import IcebergSettings, MirrorSettings, Settings
from stream_jobs.source.client import KafkaClient
from stream_jobs.tables.driver_view import seen_here
from stream_jobs.tables.maintenance import TableMaintenance
from stream_jobs.tables.mirror_context import MirrorContext
from stream_jobs.tables.schema_registry import SchemaRegistry
from stream_jobs.tables.schema_rules import SchemaRules
from stream_jobs.tables.table_options import TableOptionsResolver
from stream_jobs.tables.table_work import Rounds, Runner
from stream_jobs.tables.topic_state import MirrorOffsets, TopicStates

# Where programs of a user keep what is no data and may be lost.
# https://specifications.freedesktop.org/basedir-spec/latest/
_STATE_HOME: Final = "XDG_STATE_HOME"
_HASH_DIGITS: Final = 16


def batch_applier(
    settings: Settings,
    client: KafkaClient,
    run: Runner,
    cores: Callable[[], int],
    is_stopping: Callable[[], bool] = lambda: False,
) -> BatchApplier:
    """Return the applier of the job's batches, whose tasks `run` runs on `cores`.

    The mirror belongs to this process from now on. A batch that waits for another process raises
    StopRequested when the job `is_stopping`. Raises ConfigError for a path of a storage that
    the job does not know, and MirrorError if it cannot be written to, or if the mirror belongs to
    another job.
    """
    kafka, own = settings.kafka, settings.mirror
    storage = storage_of(own.path)
    storage.verify()
    folder, ownership = claimed(settings)
    choices = TableOptionsResolver.of_settings(settings)
    registry = SchemaRegistry(client, kafka.topic_prefix, choices=choices)
    rules = SchemaRules(registry, own.path, own.zero_dates, own.unknown_defaults)
    services = MirrorContext(
        storage,
        own.path,
        client,
        rules,
        delta_properties(own),
        folder,
        accept_partitions=kafka.added_partitions == "accept",
    )
    template, run = task_template(settings, storage), seen_here(run, storage)
    threads, target = own.commits_in_parallel, own.target_file_bytes
    states = TopicStates(storage, own.path, registry, choices, is_stopping)
    targets = CutTargetFinder.of(client, kafka.topic_prefix, choices.skipped)
    merged = states.merged if own.shared else None
    record = CutHistory(CutStore(*folder), settings.cuts_ms, ownership, merged)
    states.is_in_cut = lambda name: record.last is not None and name in record.last.tables
    iceberg = iceberg_publication(settings, services, choices, ownership, record)
    upkeep = TableMaintenance(template, run, cores, threads, target)
    if iceberg is not None:
        upkeep = replace(upkeep, kept_since=iceberg.kept_since)
    prefix = kafka.topic_prefix
    loads = TableLoads(
        services,
        states,
        SnapshotTopic(client, prefix),
        ProgressTopic(client, prefix),
        knows_source=settings.first_load.url is not None,
    )
    applier = BatchApplier(
        services,
        states,
        Rounds(template, run, cores, threads, services.rewriting),
        upkeep,
        CutCoordinator(targets, record, states, kafka.max_offsets_per_trigger),
        ownership,
        iceberg,
        loads,
    )
    # Also if there is no new record, there may be rows that are to be loaded.
    loads.held()
    return applier


def iceberg_publication(
    settings: Settings,
    services: MirrorContext,
    choices: TableOptionsResolver,
    ownership: Ownership,
    cuts: CutHistory,
) -> IcebergPublication | None:
    """Return what publishes versions as Iceberg tables; None if the settings want none.

    Raises MirrorError if the newest of the `cuts` cannot be read, or if the catalog refuses. One
    that does not answer may come back.
    """
    if not choices.is_iceberg:
        return None
    own, iceberg = settings.mirror, settings.iceberg
    limits = PublicationLimits(iceberg.snapshots, settings.cuts_ms, own.commits_in_parallel)
    files = TableFiles(services.storage, reader_uri(own.path), is_shared=own.shared)
    catalog = catalog_publisher(iceberg, files)
    publication = IcebergPublication(
        services, choices, limits, files, catalog, ownership, cuts.recent
    )
    if catalog is not None:
        services.registry.refresh()
        publication.restriction = catalog.verify(publication.tables.places(), limits.threads)
    return publication


def task_template(settings: Settings, storage: Storage) -> Task:
    """Return what all tasks have in common. Raises ConfigError as `KafkaSettings.facts`."""
    kafka, mirror = settings.kafka, settings.mirror
    folder = index_folder(mirror)
    return Task(kafka.facts(), storage, folder, mirror.zero_dates, kafka.max_bytes_per_task)


def table_loader(
    settings: Settings, applier: BatchApplier, run: RangeRunner, tell: Teller
) -> Loader | None:
    """Return what loads the tables of `applier`; None if the settings name no source.

    Raises ConfigError for a wrong URL, or a file of the password that cannot be read.
    """
    own = settings.first_load
    if own.url is None or applier.loads is None:
        return None
    password = own.read_password()
    try:
        source = source_settings(own.url.get_secret_value(), password=password)
    except ConfigError as error:
        raise ConfigError(load_errors.URL, why=error) from error
    more = {"password_command": own.password_command, "failover_hosts": own.replicas}
    sources = candidates(source.model_copy(update=more))
    snapshot = SnapshotSettings(
        pace=own.pace,
        threads_running_max=own.threads_running_max,
        pause_query=own.pause_query,
    )
    # A cluster may have more of them than one connector.
    snapshot = snapshot.model_copy(update={"connections": own.connections})
    template = task_template(settings, applier.services.storage)
    plan = LoadPlan(sources, snapshot, own.range_rows)
    return Loader(applier.services, applier.loads, template, plan, run, applier.check_owner, tell)


def catalog_publisher(own: IcebergSettings, files: TableFiles) -> CatalogPublisher | None:
    """Return what publishes `files` in a catalog; None without one.

    Raises ConfigError if a package is missing.
    """
    if own.catalog is None:
        return None
    token, secret = own.token, own.client_secret
    login = CatalogLogin(
        token="" if token is None else token.get_secret_value(),
        token_file=own.token_file,
        token_command=own.token_command,
        client_id=own.client_id,
        client_secret="" if secret is None else secret.get_secret_value(),
        client_secret_file=own.client_secret_file,
        scope=own.scope,
        token_url=own.token_url,
    )
    signer = signer_of(own.sigv4_service, own.sigv4_region)
    catalog = RestCatalog(CatalogAccess(own.catalog, own.warehouse, login, signer))
    replaces = own.on_foreign_commit == "replace"
    return CatalogPublisher(catalog, files, own.namespace, replaces_foreign=replaces)


def delta_properties(settings: MirrorSettings) -> dict[str, str]:
    """Return the properties of new mirrors, by which all writers of Delta tidy up alike.

    A table that changes every second has 86,400 versions a day. Delta's defaults (10 versions, 30
    days, one week) would keep millions of small files.
    """
    term = f"interval {settings.retention_hours} hours"
    feed = {change_data.PROPERTY: "true"} if settings.change_data_feed else {}
    return feed | {
        housekeeping.CHECKPOINT_INTERVAL: "100",
        housekeeping.LOG_RETENTION: term,
        housekeeping.FILE_RETENTION: term,
    }


def index_folder(settings: MirrorSettings) -> IndexFolder:
    """Return the folder of key indexes: the configured one, or one for this user."""
    path = settings.index_folder or str(own_folder("indexes"))
    return IndexFolder(path, settings.index_bytes_max)


def mirror_offsets(settings: Settings) -> MirrorOffsets:
    """Return what finds the offsets of the mirrors, for a checkpoint that is new."""
    storage, base = storage_of(settings.mirror.path), settings.mirror.path
    return MirrorOffsets(
        storage, base, settings.kafka.topic_prefix, TableOptionsResolver.of_settings(settings)
    )


def checkpoint_of(settings: Settings) -> str:
    """Return where Spark keeps the offsets of the query."""
    return settings.mirror.checkpoint or own_checkpoint(settings)


def own_checkpoint(settings: Settings) -> str:
    """Return a folder for the checkpoint on the disk of the driver, which may be lost.

    It is not shared with another pipeline or another mirror.
    """
    facts = [*settings.kafka.bootstrap_servers, settings.kafka.topic_prefix, settings.mirror.path]
    digest = sha256("\0".join(facts).encode()).hexdigest()[:_HASH_DIGITS]
    state = os.environ.get(_STATE_HOME) or Path.home() / ".local" / "state"
    folder = Path(state) / "binlog-connector" / "checkpoints" / f"{settings.name}-{digest}"
    return folder.absolute().as_uri()
