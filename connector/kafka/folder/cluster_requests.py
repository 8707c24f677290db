"""The requests about topics, their settings, and producers, by kafka-python's description.

The cluster has one broker, which leads and coordinates everything. It keeps offsets of consumer
groups, but no members, no rights and no replicas: requests about them are unknown to it.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from kafka import errors
from kafka.admin import ConfigResourceType
from kafka.protocol import admin, consumer, metadata, producer

from connector.kafka.folder import group_requests, topic_settings, transaction_queries
from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.request_fields import outcome
from connector.kafka.folder.results import HOST, PORT, Topic

# The broker, as its clients know it.
NODE: Final = 1
# Of a request with record batches, and of a response.
REQUEST_BYTES_MAX: Final = 256 << 20

# Settings of topics that the log does nothing about, but clients ask for.
_OTHERS: Final[Mapping[str, str]] = {"compression.type": "producer"}
_BROKER: Final[Mapping[str, str]] = {
    "socket.request.max.bytes": str(REQUEST_BYTES_MAX),
    "transaction.max.timeout.ms": str(0x7FFF_FFFF),
}
_COORDINATED: Final = (metadata.CoordinatorType.GROUP, metadata.CoordinatorType.TRANSACTION)
_OWN: Final = 1
_STATIC: Final = 4
_DEFAULT: Final = 5
_SET: Final = 0


def _metadata(log: FolderLog, request: Any) -> Any:
    response = metadata.MetadataResponse
    topics = log.topics()
    named = topics if request.topics is None else [each.name for each in request.topics]
    broker = response.MetadataResponseBroker(node_id=NODE, host=HOST, port=PORT)
    return response(
        brokers=[broker],
        cluster_id=HOST,
        controller_id=NODE,
        topics=[_described(name, topics.get(name)) for name in named],
    )


def _described(name: str, topic: Topic | None) -> Any:
    description = metadata.MetadataResponse.MetadataResponseTopic
    if topic is None:
        code = outcome(topic_settings.check_name, name).code
        code = code or errors.UnknownTopicOrPartitionError.errno
        return description(error_code=code, name=name, topic_id=UUID(int=0), partitions=[])
    partition = description.MetadataResponsePartition
    return description(
        name=name,
        topic_id=UUID(bytes=topic.topic_id),
        partitions=[
            partition(
                partition_index=number,
                leader_id=NODE,
                replica_nodes=[NODE],
                isr_nodes=[NODE],
                offline_replicas=[],
            )
            for number in range(topic.partitions)
        ],
    )


def _create_topics(log: FolderLog, request: Any) -> Any:
    response = admin.CreateTopicsResponse

    def create(topic: Any) -> None:
        topic_settings.check_name(topic.name)
        if topic.name in log.topics():
            raise errors.TopicAlreadyExistsError
        if topic.replication_factor not in (-1, 1):
            raise errors.InvalidReplicationFactorError
        partitions = 1 if topic.num_partitions == -1 else topic.num_partitions
        if partitions < 1:
            raise errors.InvalidPartitionsError
        configuration = {each.name: each.value for each in topic.configs}
        topic_settings.check(configuration)
        if not request.validate_only:
            log.create_topic(topic.name, partitions, configuration)

    results = _results(response.CreatableTopicResult, create, request.topics)
    log.sync()
    return response(topics=results)


def _delete_topics(log: FolderLog, request: Any) -> Any:
    response = admin.DeleteTopicsResponse
    outcomes = [(name, *outcome(log.delete_topic, name)) for name in request.topic_names]
    log.sync()
    return response(
        responses=[
            response.DeletableTopicResult(name=name, error_code=code, error_message=said)
            for name, code, said, _ in outcomes
        ]
    )


def _create_partitions(log: FolderLog, request: Any) -> Any:
    response = admin.CreatePartitionsResponse

    def create(topic: Any) -> None:
        known = log.topics().get(topic.name)
        if known is None:
            raise errors.UnknownTopicOrPartitionError
        if topic.count <= known.partitions:
            raise errors.InvalidPartitionsError
        if not request.validate_only:
            log.add_partitions_to_topic(topic.name, topic.count)

    results = _results(response.CreatePartitionsTopicResult, create, request.topics)
    return response(results=results)


def _delete_records(log: FolderLog, request: Any) -> Any:
    response = admin.DeleteRecordsResponse
    result = response.DeleteRecordsTopicResult

    def deleted(topic: str, partition: Any) -> Any:
        number = partition.partition_index
        code, _, low = outcome(log.delete_records, (topic, number), partition.offset)
        return result.DeleteRecordsPartitionResult(
            partition_index=number, low_watermark=-1 if low is None else low, error_code=code
        )

    topics = [
        result(name=topic.name, partitions=[deleted(topic.name, each) for each in rows])
        for topic in request.topics
        if (rows := topic.partitions)
    ]
    log.sync()
    return response(topics=topics)


def _describe_configs(log: FolderLog, request: Any) -> Any:
    response = admin.DescribeConfigsResponse
    result = response.DescribeConfigsResult
    one = result.DescribeConfigsResourceResult
    topics = log.topics()
    results = []
    for resource in request.resources:
        described: list[Any] = []
        code = 0
        topic = topics.get(resource.resource_name)
        if resource.resource_type == ConfigResourceType.BROKER:
            described = [(name, value, _STATIC) for name, value in _BROKER.items()]
        elif resource.resource_type != ConfigResourceType.TOPIC:
            code = errors.InvalidRequestError.errno
        elif topic is None:
            code = errors.UnknownTopicOrPartitionError.errno
        else:
            own = topic.configuration
            described = [
                (name, value, _OWN if name in own else _DEFAULT)
                for name, value in {**topic_settings.DEFAULTS, **_OTHERS, **own}.items()
            ]
        wanted = resource.configuration_keys
        results.append(
            result(
                error_code=code,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=[
                    one(
                        name=name,
                        value=value,
                        read_only=source == _STATIC,
                        config_source=source,
                        synonyms=[],
                    )
                    for name, value, source in described
                    if not wanted or name in wanted
                ],
            )
        )
    return response(results=results)


def _alter_configs(log: FolderLog, request: Any) -> Any:
    response = admin.IncrementalAlterConfigsResponse

    def alter(resource: Any) -> None:
        topic = log.topics().get(resource.resource_name)
        if resource.resource_type != ConfigResourceType.TOPIC:
            raise errors.InvalidRequestError
        if topic is None:
            raise errors.UnknownTopicOrPartitionError
        configuration = dict(topic.configuration)
        for change in resource.configs:
            if change.config_operation == _SET:
                configuration[change.name] = change.value
            else:
                configuration.pop(change.name, None)
        if not request.validate_only:
            log.change_topic(topic.name, configuration)

    outcomes = [(each, *outcome(alter, each)) for each in request.resources]
    return response(
        responses=[
            response.AlterConfigsResourceResponse(
                error_code=code,
                error_message=said,
                resource_type=each.resource_type,
                resource_name=each.resource_name,
            )
            for each, code, said, _ in outcomes
        ]
    )


def _find_coordinator(_: FolderLog, request: Any) -> Any:
    if request.key_type not in _COORDINATED:
        return metadata.FindCoordinatorResponse(
            error_code=errors.InvalidRequestError.errno, node_id=-1, host="", port=-1
        )
    return metadata.FindCoordinatorResponse(node_id=NODE, host=HOST, port=PORT)


def _init_producer(log: FolderLog, request: Any) -> Any:
    expected = None
    if request.producer_id is not None and request.producer_id >= 0:
        expected = request.producer_id, request.producer_epoch
    code, _, taken = outcome(
        log.init_producer, request.transactional_id, request.transaction_timeout_ms, expected
    )
    producer_id, epoch = taken or (-1, -1)
    return producer.InitProducerIdResponse(
        error_code=code, producer_id=producer_id, producer_epoch=epoch
    )


def _results(kind: Any, act: Callable[[Any], None], topics: Iterable[Any]) -> list[Any]:
    outcomes = [(topic.name, *outcome(act, topic)) for topic in topics]
    return [
        kind(name=name, error_code=code, error_message=said) for name, code, said, _ in outcomes
    ]


class ClusterRequest(NamedTuple):
    """A kind of request: its class, the versions of it that are known, and what answers it."""

    request: Any
    oldest: int
    newest: int
    answer: Callable[[FolderLog, Any], Any]


# By number. Later versions of Metadata name topics by ids alone.
REQUESTS: Final[Mapping[int, ClusterRequest]] = {
    each.request.API_KEY: each
    for each in (
        ClusterRequest(metadata.MetadataRequest, 4, 11, _metadata),
        ClusterRequest(metadata.FindCoordinatorRequest, 1, 3, _find_coordinator),
        ClusterRequest(admin.CreateTopicsRequest, 2, 4, _create_topics),
        ClusterRequest(admin.DeleteTopicsRequest, 1, 5, _delete_topics),
        ClusterRequest(admin.DeleteRecordsRequest, 0, 2, _delete_records),
        ClusterRequest(producer.InitProducerIdRequest, 0, 4, _init_producer),
        ClusterRequest(admin.DescribeConfigsRequest, 1, 4, _describe_configs),
        ClusterRequest(admin.CreatePartitionsRequest, 0, 3, _create_partitions),
        ClusterRequest(admin.IncrementalAlterConfigsRequest, 0, 1, _alter_configs),
        ClusterRequest(admin.ListGroupsRequest, 0, 4, group_requests.list_groups),
        ClusterRequest(consumer.OffsetCommitRequest, 2, 8, group_requests.commit_offsets),
        # Later versions ask for several groups.
        ClusterRequest(consumer.OffsetFetchRequest, 2, 7, group_requests.fetch_offsets),
        ClusterRequest(admin.ListTransactionsRequest, 0, 0, transaction_queries.list_transactions),
        ClusterRequest(
            admin.DescribeTransactionsRequest, 0, 0, transaction_queries.describe_transactions
        ),
        ClusterRequest(
            admin.DescribeProducersRequest, 0, 0, transaction_queries.describe_producers
        ),
    )
}
