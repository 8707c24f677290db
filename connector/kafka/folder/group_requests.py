"""The requests about the offsets of consumer groups, by kafka-python's description.

https://kafka.apache.org/protocol.html
"""

from __future__ import annotations

from typing import Any, Final

from kafka.protocol.admin import ListGroupsResponse
from kafka.protocol.consumer import OffsetCommitResponse, OffsetFetchResponse

from connector.kafka.folder.folder_log import FolderLog
from connector.kafka.folder.results import PartitionId, by_topic

_NONE: Final = -1
# Of a group that nobody has joined.
_STATE: Final = "Empty"


def list_groups(log: FolderLog, request: Any) -> Any:
    """Answer with all groups that have offsets."""
    wanted = request.states_filter or [_STATE]
    return ListGroupsResponse(
        groups=[
            ListGroupsResponse.ListedGroup(group_id=name, protocol_type="", group_state=_STATE)
            for name in log.groups.names()
            if _STATE in wanted
        ]
    )


def commit_offsets(log: FolderLog, request: Any) -> Any:
    """Keep the offsets of a group; metadata and epochs of leaders are not kept."""
    refused = log.groups.commit(
        request.group_id,
        {
            (topic.name, each.partition_index): each.committed_offset
            for topic in request.topics
            for each in topic.partitions
        },
    )
    answered = OffsetCommitResponse.OffsetCommitResponseTopic

    def code(place: PartitionId) -> int:
        return int(refused[place].errno) if place in refused else 0

    return OffsetCommitResponse(
        topics=[
            answered(
                name=topic.name,
                partitions=[
                    answered.OffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=code((topic.name, each.partition_index)),
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def fetch_offsets(log: FolderLog, request: Any) -> Any:
    """Answer with the offsets of a group: of some partitions, or of all that it has committed."""
    known = log.groups.of(request.group_id)
    if request.topics is None:
        wanted = by_topic(known)
    else:
        wanted = {topic.name: list(topic.partition_indexes) for topic in request.topics}
    answered = OffsetFetchResponse.OffsetFetchResponseTopic
    return OffsetFetchResponse(
        topics=[
            answered(
                name=topic,
                partitions=[
                    answered.OffsetFetchResponsePartition(
                        partition_index=number,
                        committed_offset=known.get((topic, number), _NONE),
                        metadata="",
                    )
                    for number in numbers
                ],
            )
            for topic, numbers in wanted.items()
        ]
    )
