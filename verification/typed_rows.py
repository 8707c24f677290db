"""Rows in the JSON of the envelope become columns in the types of a mirror."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pyarrow as pa

from connector.errors import MirrorError, verification
from stream_jobs.apply.envelopes import read_images
from stream_jobs.apply.problems import WrongRecordError
from stream_jobs.apply.values import stored_columns

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from connector.contract import SchemaColumn
    from stream_jobs.apply.values import ZeroDates
    from stream_jobs.schema.table_schema import TableSchema

_NONE_MISSING: Final = pa.chunked_array([[False]])


class TypedRows:
    """Reads the rows of one table."""

    def __init__(self, schema: TableSchema, zero_dates: ZeroDates) -> None:
        """Read rows with the columns of `schema`."""
        self._schema = schema
        self._zero_dates = zero_dates
        self._columns = nullable(schema.columns)

    def of(
        self, values: Sequence[bytes], image: str, names: Collection[str] | None = None
    ) -> pa.Table:
        """Return the image `before` or `after` of records; rows without it have NULLs.

        All columns, or those of `names`. Raises MirrorError for a row that a mirror cannot hold.
        """
        columns = [each for each in self._columns if names is None or each["name"] in names]
        try:
            stored = stored_image(values, image, columns, self._schema.schema_id, self._zero_dates)
        except WrongRecordError as error:
            raise MirrorError(
                verification.UNFIT_ROW, table=self._schema.name, why=error.why
            ) from error
        return pa.Table.from_arrays(stored, names=[column["name"] for column in columns])


def nullable(columns: Iterable[SchemaColumn]) -> list[SchemaColumn]:
    """Return columns that take NULL: the image that a record lacks has NULL everywhere."""
    others = [column.copy() for column in columns]
    for other in others:
        other["nullable"], other["key"] = True, 0
    return others


def stored_image(
    values: Sequence[bytes],
    image: str,
    columns: Sequence[SchemaColumn],
    schema_id: str,
    zero_dates: ZeroDates,
) -> list[pa.Array]:
    """Return the nullable `columns` of the image `before` or `after` of records.

    Raises WrongRecordError for a value that is not JSON of these columns.
    """
    images = read_images(values, image, columns, schema_id)
    return stored_columns(images._replace(missing=_NONE_MISSING), columns, zero_dates)
