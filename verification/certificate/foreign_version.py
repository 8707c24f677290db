"""A version of another program's table, read again as its certificate says."""

from collections.abc import Iterator
from typing import cast

import pyarrow as pa

from connector.foundation.contract import SchemaColumn
from stream_jobs.errors import MirrorError
from stream_jobs.source.sequence import PackedSequence
from stream_jobs.source.table_schema import TableSchema
from verification.certificate import certificate_errors
from verification.certificate.document import CertifiedForeignTable
from verification.foreign.column_mapping import ColumnMapping, ColumnNames, ColumnPair
from verification.foreign.deletion_marks import MARKS
from verification.foreign.forms import forms_of
from verification.foreign.table_choice import VERSIONED
from verification.foreign.target_rows import TargetRows


class ForeignVersion:
    """Reads the rows of one certified table in the types of the source."""

    def __init__(self, own: CertifiedForeignTable) -> None:
        """Look at the version.

        Raises MirrorError if it is not there, or has other columns, and ConfigError for a place
        that cannot be one.
        """
        target = own.target
        self._target = VERSIONED[target.kind](f"{target.kind}:{target.place}", target.place)
        self._target.read_version(target.version)
        self.table_id = self._target.table_id
        self._mapping = self._mapping_of(own)

    def rows(self) -> Iterator[pa.Table]:
        """Yield the rows that fit the types of the source, some at a time; raises MirrorError.

        A certified version had no others, so a row that is left out is one that differs.
        """
        for rows in TargetRows(self._target, self._mapping).batches():
            yield rows.data.filter(pa.array(~rows.unfit))

    def _mapping_of(self, own: CertifiedForeignTable) -> ColumnMapping:
        columns = tuple(cast("SchemaColumn", column) for column in own.columns)
        names = ColumnNames(mark=own.deletion_mark)
        schema, pairs = self._target.schema, []
        known = set(schema.names)
        for column, read in zip(columns, own.forms, strict=False):
            forms = forms_of(column, schema.field(read.name).type) if read.name in known else []
            fitting = [form for form in forms if form.name == read.form]
            pairs += [ColumnPair(column, read.name, form) for form in fitting[:1]]
        mark = own.deletion_mark
        has_mark = mark is None or (mark in known and mark.lower() in MARKS)
        if not has_mark or not len(pairs) == len(columns) == len(own.forms):
            facts = {"table": own.table, "place": own.target.place}
            raise MirrorError(certificate_errors.OTHER_COLUMNS, **facts)
        database, _, table = own.table.partition(".")
        own_schema = TableSchema(database, table, "", PackedSequence(0, 0), columns)
        return ColumnMapping(own_schema, pairs, names)
