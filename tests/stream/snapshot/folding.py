"""A topic of millions of records is folded by key, and compared with the table.

Of each row, a checksum is kept: of the bytes that the record has for it, and of the same text made
by the server.
"""

from __future__ import annotations

import multiprocessing
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING
from zlib import crc32

import pymysql
from kafka import TopicPartition
from pymysql.cursors import SSCursor

from tests.integration.harness import consumer_of
from tests.stream.snapshot.large_table import DATABASE, JSON_TEXT, TABLE

if TYPE_CHECKING:
    from local_stack import Endpoint

_PRESENT = 1 << 32
_AFTER = b'"after":'
_SOURCE = b',"source":{'
_TOLD_MAX = 5


@dataclass
class Folded:
    """The rows that a topic leads to, by id: 2^32 and the checksum; 0 where there is none."""

    rows: array[int]
    records: int
    copied: int
    problems: list[str]


def fold(broker: Endpoint, topic: str, ids: int) -> Folded:
    """Read all committed records of a topic; its keys are ids below `ids`."""
    consumer = consumer_of(broker)
    partitions = sorted(consumer.partitions_for_topic(topic) or ())
    consumer.close()
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        parts = pool.starmap(
            _fold_partition, [(broker, topic, number, ids) for number in partitions]
        )
    rows = array("Q", bytes(8 * ids))
    for part in parts:
        # A key is in one partition.
        for row, value in enumerate(part.rows):
            if value:
                rows[row] = value
    return Folded(
        rows,
        sum(part.records for part in parts),
        sum(part.copied for part in parts),
        [problem for part in parts for problem in part.problems],
    )


def _fold_partition(broker: Endpoint, topic: str, number: int, ids: int) -> Folded:
    place = TopicPartition(topic, number)
    consumer = consumer_of(broker)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    end = consumer.end_offsets([place])[place]
    folded = Folded(array("Q", bytes(8 * ids)), 0, 0, [])
    copied = bytearray(ids)
    last = b""
    while consumer.position(place) < end:
        for record in consumer.poll(timeout_ms=500).get(place, ()):
            value = record.value
            if value is None:
                continue
            folded.records += 1
            headers = dict(record.headers)
            sequence, op = headers["cdc.seq"], headers["cdc.op"]
            if sequence <= last:
                _tell(folded, f"{number}@{record.offset}: a sequence does not rise")
            last = sequence
            row = int(record.key[6:-1])  # {"id":7}
            if op == b"d":
                folded.rows[row] = 0
                continue
            if op == b"r":
                folded.copied += 1
                if copied[row]:
                    _tell(folded, f"{number}@{record.offset}: row {row} was copied before")
                copied[row] = 1
            start = value.index(_AFTER) + len(_AFTER) if op != b"u" else value.rindex(_AFTER) + 8
            folded.rows[row] = _PRESENT | crc32(value[start : value.index(_SOURCE, start)])
    consumer.close()
    return folded


def compare(source: Endpoint, folded: Folded) -> list[str]:
    """Return what differs between the table and the topic."""
    rows, differing, count = folded.rows, 0, 0
    examples: list[str] = []
    connection = pymysql.connect(
        host=source.host,
        port=source.port,
        user=source.user,
        password=source.password,
        database=DATABASE,
        cursorclass=SSCursor,
    )
    with connection, connection.cursor() as cursor:
        cursor.execute(f"SELECT id, CRC32({JSON_TEXT}) FROM {TABLE}")
        for row, checksum in cursor:
            count += 1
            if rows[row] != _PRESENT | checksum:
                differing += 1
                examples.append(f"row {row} differs") if len(examples) < _TOLD_MAX else None
    there = sum(1 for value in rows if value)
    problems = [*examples, f"{differing:,} rows differ"] if differing else []
    if there != count:
        problems.append(f"the topic leads to {there:,} rows, the table has {count:,}")
    return problems


def _tell(folded: Folded, problem: str) -> None:
    if len(folded.problems) < _TOLD_MAX:
        folded.problems.append(problem)
