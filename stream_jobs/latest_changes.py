"""The changes of one topic in a batch become the last change of each key, as typed rows.

    typed records ──latest_changes──▶ one record a key ──typed_changes──▶ rows in the mirror's types

The last change of a key is chosen by its sequence before any JSON is read, so the other changes of
the key are never parsed. The chosen ones are parsed with the exact column list that their
`cdc.schema` names, and completed to the mirror's columns.

A row of the result has the mirror's columns (of a delete only the key) and, under names that no
mirror has::

    _cdc_hi _cdc_lo       the change's sequence
    _cdc_op               c, u or d
    _cdc_superseded       changes of the key in this batch, this one included
    _cdc_source_ts_ms     when the source committed it
    _cdc_position         partition and offset
    _cdc_problem          the number of what is wrong with the change, see `Problems`, or NULL
"""

from __future__ import annotations

import json
from functools import reduce
from typing import TYPE_CHECKING, Literal, NamedTuple

from pyspark.sql import functions as F  # noqa: N812 - the name that Spark's documents use
from pyspark.sql.types import LongType, StringType, StructField, StructType
from pyspark.sql.window import Window

from connector.contract import OP_DELETE
from connector.errors import mirror_records
from stream_jobs.column_types import ColumnType, type_text
from stream_jobs.records import ROW_OPS
from stream_jobs.sequence import HI, LO

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from connector.contract import SchemaColumn
    from stream_jobs.problems import Problems
    from stream_jobs.table_schema import TableSchema

OP = "_cdc_op"
SUPERSEDED = "_cdc_superseded"
SOURCE_TS_MS = "_cdc_source_ts_ms"
POSITION = "_cdc_position"
PROBLEM = "_cdc_problem"

_JSON = "_cdc_json"
_CORRUPT = "_cdc_corrupt"

ZeroDates = Literal["error", "null"]


class ParsedAs(NamedTuple):
    """How records of one schema id become rows of the mirror."""

    schema: TableSchema
    # Columns of the mirror that `schema` lacks, with the value of such rows in them.
    added: Mapping[str, SchemaColumn]


def latest_changes(records: DataFrame, topic: str, stale: Column | None) -> DataFrame:
    """Return the row change with the highest sequence of each key in `topic`.

    Records that match `stale` are left out, and so are tombstones and truncates.
    """
    changes = records.where((F.col("topic") == topic) & F.col("op").isin(*ROW_OPS))
    if stale is not None:
        changes = changes.where(~stale)
    of_key = Window.partitionBy("key")
    rank = F.row_number().over(of_key.orderBy(F.desc("hi"), F.desc("lo")))
    return (
        changes.withColumn(SUPERSEDED, F.count(F.lit(1)).over(of_key))
        .withColumn("rank", rank)
        .where("rank = 1")
        .drop("rank")
    )


def typed_changes(
    latest: DataFrame,
    target: TableSchema,
    parses: Sequence[ParsedAs],
    zero_dates: ZeroDates,
    problems: Problems,
) -> DataFrame:
    """Return `latest` as rows of `target`, each parsed by its own schema.

    `parses` has one entry for each schema id in `latest`. Possible problems are added to
    `problems`.
    """
    parts = [_parsed(latest, target, parse, zero_dates, problems) for parse in parses]
    return reduce(lambda left, right: left.unionByName(right), parts)


def literal(column: SchemaColumn, value: object) -> Column:
    """Return a value in the JSON form of `column` as a constant of its stored type."""
    column_type = ColumnType.of(column)
    schema = StructType([StructField("value", column_type.parsed)])
    text = json.dumps({"value": value}, ensure_ascii=False)
    return column_type.store(F.from_json(F.lit(text), schema)["value"])


def _image(schema: TableSchema, is_delete: Column) -> dict[str, Column]:
    """Return the columns of a change: for a delete the old key, else the row after."""
    image = {
        column["name"]: F.col(f"{_JSON}.after").getField(column["name"])
        for column in schema.columns
    }
    for name in schema.key:
        before = F.col(f"{_JSON}.before").getField(name)
        image[name] = F.when(is_delete, before).otherwise(image[name])
    return image


def _parsed(
    latest: DataFrame,
    target: TableSchema,
    parse: ParsedAs,
    zero_dates: ZeroDates,
    problems: Problems,
) -> DataFrame:
    schema = parse.schema
    is_delete = F.col("op") == OP_DELETE
    image = _image(schema, is_delete)
    values: list[Column] = []
    for column in target.columns:
        name = column["name"]
        if name in image:
            value = ColumnType.of(column).store(image[name])
        else:
            origin = parse.added.get(name, column)
            default = literal(origin, origin.get("added_default"))
            value = F.when(~is_delete, default)
        values.append(value.alias(name))

    found = [
        F.when(
            F.col(f"{_JSON}.{_CORRUPT}").isNotNull(),
            problems.add(mirror_records.NOT_JSON, schema=schema.schema_id),
        ),
        F.when(
            F.when(is_delete, F.col(f"{_JSON}.before").isNull()).otherwise(
                F.col(f"{_JSON}.after").isNull()
            ),
            problems.add(mirror_records.NO_IMAGE),
        ),
        *(
            _problem(column, image[column["name"]], is_delete, schema, zero_dates, problems)
            for column in schema.columns
        ),
    ]
    return (
        latest.where(F.col("schema_id") == schema.schema_id)
        .withColumn(
            _JSON,
            F.from_json(
                F.col("value").cast("string"),
                _value_type(schema),
                {"columnNameOfCorruptRecord": _CORRUPT},
            ),
        )
        .select(
            *values,
            F.col("hi").alias(HI),
            F.col("lo").alias(LO),
            F.col("op").alias(OP),
            SUPERSEDED,
            F.col(f"{_JSON}.source.ts_ms").alias(SOURCE_TS_MS),
            F.struct("partition", "offset").alias(POSITION),
            F.coalesce(*found).alias(PROBLEM),
        )
    )


def _value_type(schema: TableSchema) -> StructType:
    """Return the parsed part of an envelope: the changed row, its old key, and its time."""
    fields = {
        column["name"]: StructField(column["name"], ColumnType.of(column).parsed)
        for column in schema.columns
    }
    return StructType(
        [
            StructField("before", StructType([fields[name] for name in schema.key])),
            StructField("after", StructType(list(fields.values()))),
            StructField("source", StructType([StructField("ts_ms", LongType())])),
            StructField(_CORRUPT, StringType()),
        ]
    )


def _problem(
    column: SchemaColumn,
    parsed: Column,
    is_delete: Column,
    schema: TableSchema,
    zero_dates: ZeroDates,
    problems: Problems,
) -> Column:
    """Return the number of the problem of a column's value; NULL if it can be stored."""
    name, column_type = column["name"], ColumnType.of(column)
    is_key = name in schema.key
    # Only the key of a deleted row is read.
    concerned = F.lit(True) if is_key else ~is_delete
    problem = F.when(F.lit(False), 0)
    if is_key or not column["nullable"]:
        problem = problem.when(
            concerned & parsed.isNull(), problems.add(mirror_records.NO_COLUMN, column=name)
        )
    if column_type.form is not None:
        problem = problem.when(
            concerned & ~column_type.has_form(parsed),
            problems.add(mirror_records.WRONG_FORM, column=name, type=type_text(column)),
        )
    unfit = concerned & parsed.isNotNull() & column_type.store(parsed).isNull()
    if not column_type.is_date:
        wrong = problems.add(mirror_records.WRONG_VALUE, column=name, type=type_text(column))
        return problem.when(unfit, wrong)
    if zero_dates == "null" and not is_key:
        return problem
    zero = mirror_records.ZERO_KEY if is_key else mirror_records.ZERO_DATE
    return problem.when(unfit, problems.add(zero, column=name))
